/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_INGRESS_BPF_H
#define SLUICE_INGRESS_BPF_H
/*
 * Ingress of a host, at tc and, if the daemon finds it available, at XDP in front of it: the sink of telemetry and the
 * place where feedback becomes W and R. ctx.bpf.h has the differences.
 *
 *  1. parse: the message has to be ours, whole, of our version, from a configured peer and, if there is a key, from one
 *     that has it. Others go on to the stack as they are, and are counted by reason.
 *  2. DATA: the telemetry goes to the flow's echo slot, to leave with the next packet of the reverse flow; its VOQ
 *     block is noted (credit.bpf.h); the echo is feedback (feedback.bpf.h); then everything up to the inner packet is
 *     stripped and the stack sees what the sender's stack sent.
 *  3. PROBE is turned round as PROBE_REPLY, which brings back feedback like an echo. A FEEDBACK message (batch.bpf.h)
 *     is feedback, too, and ends here, as does a CREDIT message.
 *  4. XDP only handles these messages. tc sees passed packets as if there were no XDP, and counts them; it sees a
 *     packet that XDP stripped as a plain packet, and cuts its window.
 *
 * With bypass on, packets are still stripped, but nothing is learned and nothing answered: peers hear nothing more from
 * us and switch to plain packets by themselves. The same applies to packets from a peer, or by an interface, that is no
 * longer configured, until the daemon removes it.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/batch.bpf.h"
#include "host/answer.bpf.h"
#include "host/auth.bpf.h"
#include "host/encoding.bpf.h"
#include "host/learn.bpf.h"
#include "host/pass.bpf.h"
#include "host/peer.bpf.h"
#if !CTX_IS_XDP
#include "host/probe.bpf.h"
#endif
#include "host/rwnd.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* The flow of a companion: its headers are the flow's, or in the reply those of its reverse. Returns as ingress_parse(). */
static inline enum sluice_stat ingress_companion(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p)
{
	const struct wire_companion *c = pkt_bytes(ctx, m->offset - sizeof(*c), sizeof(*c));

	if (!c)
		return STAT_RX_TRUNCATED;
	p->key.local = m->ip.dst;
	p->key.remote = m->ip.src;
	if (flow_has_ports(m->ip.proto)) {
		p->key.local_port = c->port[1];
		p->key.remote_port = c->port[0];
	}
	p->key.proto = m->ip.proto;
	p->seq = bpf_ntohl(m->hdr.seq);
	return STAT_RX_DATA;
}

/* Reads and checks the inner packet. Returns an enum sluice_stat. */
VERIFIED_ONCE int ingress_parse(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p)
{
	struct ip_info ip = {};
	const struct tcphdr *tcp;
	const __be16 *l4;
	__u32 wire_bytes;
	__u16 proto;
	int data, reply;

	if (!m || !p)
		return STAT_RX_OTHER;
	wire_bytes = wire_length(&m->hdr);
	proto = m->ip.v6 ? ETH_P_IPV6 : ETH_P_IP;
	data = wire_message(&m->hdr) == WIRE_DATA;
	reply = wire_message(&m->hdr) == WIRE_PROBE_REPLY;
	p->inner = m->offset + wire_bytes;
	if (m->companion)
		return ingress_companion(ctx, m, p);
	if (m->shim.ip_proto != (m->ip.v6 ? IPPROTO_IPV6 : IPPROTO_IPIP))
		return STAT_RX_MISMATCH;
	if (ip_parse(ctx, p->inner, proto, &ip) != IP_OK)
		return STAT_RX_TRUNCATED;
	/* The source never wraps SYN or RST, so port filters in front of us see all that can open a connection. */
	if (data && ip.proto == IPPROTO_TCP) {
		tcp = pkt_bytes(ctx, p->inner + ip.bytes, sizeof(*tcp));
		if (!tcp || ip.total < ip.bytes + sizeof(*tcp))
			return STAT_RX_TRUNCATED;
		if (tcp->syn || tcp->rst)
			return STAT_RX_MISMATCH;
	}
	l4 = pkt_bytes(ctx, p->inner + ip.bytes, 2 * sizeof(*l4));
	if (!l4)
		return STAT_RX_TRUNCATED;
	if ((ip.proto != IPPROTO_TCP && ip.proto != IPPROTO_UDP) ||
	    !addr_equal(&ip.src, reply ? &m->ip.dst : &m->ip.src) ||
	    !addr_equal(&ip.dst, reply ? &m->ip.src : &m->ip.dst))
		return STAT_RX_MISMATCH;
	/* The source does not wrap a Sluice packet again: somebody looped it. */
	if (ip.proto == IPPROTO_UDP && l4[1] == bpf_htons(wire_port))
		return STAT_RX_MISMATCH;
	/* A PROBE's inner packet is only the start of one, and our own when it comes back. */
	if (data && m->ip.total != m->offset - WIRE_ETH_BYTES + wire_bytes + ip.total)
		return STAT_RX_MISMATCH;
	if (WIRE_ETH_BYTES + m->ip.total > ctx_bytes(ctx))
		return STAT_RX_TRUNCATED;
	p->key.local = reply ? ip.src : ip.dst;
	p->key.remote = reply ? ip.dst : ip.src;
	p->key.local_port = l4[!reply];
	p->key.remote_port = l4[reply];
	p->key.proto = ip.proto;
	p->seq = bpf_ntohl(m->hdr.seq);
	return STAT_RX_DATA;
}

/* A packet stripped of m may grant a window to the flow. */
static inline void ingress_window(ctx_t *ctx, struct flow *f, const struct msg *m, const struct control *ctl)
{
	if (rwnd_is_on(ctl) && !flow_is_silent(f))
		rwnd_cut(ctx, f, WIRE_ETH_BYTES + (m->ip.v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)));
}

/*
 * Makes the companion that egress waits for from an incoming ACK: it is small, and goes on unchanged itself. It must come
 * in where the flow goes out, for the companion leaves there.
 */
static inline void ingress_companion_of(ctx_t *ctx, struct flow *f, const struct sluice_addr *remote)
{
#if !CTX_IS_XDP
	struct scratch_space *space = scratch_get();

	if (f->path.ifindex != ctx->ifindex)
		return;
	f->beside.wanted = 0;
	if (!space)
		return;
	if (has_racks())
		voq_beside_ack(f, remote);
	egress_probe(ctx, space, PROBE_OF_ACK);
	space->probe_voq = 0;
#endif
}

/*
 * Makes the companion that a tunnel to src waits for from a small packet that came from there. The host counts as asked
 * only now: no packet might have come.
 */
static inline void ingress_companion_of_any(ctx_t *ctx, const struct host_key *src)
{
#if !CTX_IS_XDP
	struct companion_wanted *w;
	struct scratch_space *space;
	__u64 since_ns, now_ns;
	struct flow *f;
	struct host *h;
	int sent;

	if (ctx->len > COMPANION_ANY_BYTES || ctx->gso_size)
		return;
	w = bpf_map_lookup_elem(&wanted, src);
	space = scratch_get();
	if (!w || !space)
		return;
	since_ns = READ_ONCE(w->since_ns);
	now_ns = bpf_ktime_get_ns();
	if (!since_ns || now_ns > since_ns + COMPANION_WANTED_NS ||
	    __sync_val_compare_and_swap(&w->since_ns, since_ns, 0) != since_ns)
		return;
	space->wanted.key = w->key;
	f = bpf_map_lookup_elem(&flows, &space->wanted.key);
	if (!f || f->path.ifindex != ctx->ifindex)
		return;
	if (has_racks())
		voq_beside_ack(f, &space->wanted.key.remote);
	sent = egress_probe(ctx, space, PROBE_OF_ANY);
	space->probe_voq = 0;
	if (!sent)
		return;
	h = bpf_map_lookup_elem(&hosts, src);
	if (!h)
		return;
	h->asked_ns = now_ns;
	if (h->capable && !h->unanswered_ns)
		h->unanswered_ns = now_ns;
#endif
}

/* Whether packets that come in have nothing for the flow; NULL: there is none. */
static inline int ingress_passes(const struct flow *f)
{
	return !f || (!READ_ONCE(f->beside.wanted) && (f->tx.own_cc || f->wnd.digest || !READ_ONCE(f->tx.mss)));
}

/* A packet that is not ours: its window may be granted to a flow that is. */
static inline void ingress_plain(ctx_t *ctx, const struct control *ctl)
{
	struct flow_key key = {};
	struct ip_info ip = {};
	const struct tcphdr *tcp;
	__u32 at, syn, ack, ack_seq, tcp_bytes;
	struct flow *f;

	if (ip_parse(ctx, WIRE_ETH_BYTES, ctx_protocol(ctx), &ip) != IP_OK)
		return;
	key.domain = ip.domain = domain_of(ctl, ctx_ifindex(ctx));
	if (!ctl->bypass && (ip.proto == IPPROTO_UDP || ip_is_tunnel(ip.proto)))
		ingress_companion_of_any(ctx, host_of_ip(&ip));
	if (ip.proto != IPPROTO_TCP || !rwnd_is_on(ctl))
		return;
	at = WIRE_ETH_BYTES + ip.bytes;
	tcp = pkt_bytes(ctx, at, sizeof(*tcp));
	if (!tcp)
		return;
	key.local = ip.dst;
	key.remote = ip.src;
	key.local_port = tcp->dest;
	key.remote_port = tcp->source;
	key.proto = IPPROTO_TCP;
	syn = tcp->syn;
	tcp_bytes = tcp->doff * 4;
	ack = tcp->ack;
	ack_seq = bpf_ntohl(tcp->ack_seq);
	if (syn && !ack) { /* there is no flow before our side has answered */
		rwnd_offer(ctx, &key, at);
		return;
	}
	if (!syn && pass_is_free(&key, ctl->epoch))
		return;
	f = bpf_map_lookup_elem(&flows, &key);
	if (!syn && ingress_passes(f)) {
		pass_enter(&key, ctl->epoch);
		f = bpf_map_lookup_elem(&flows, &key);
		if (!ingress_passes(f)) /* egress has begun meanwhile */
			pass_end(&key);
	}
	if (!f)
		return;
	if (f->beside.wanted && !syn && ip.total == ip.bytes + tcp_bytes)
		ingress_companion_of(ctx, f, &key.remote);
	if (syn)
		rwnd_syn_ack_in(ctx, f, ack_seq, at);
	else if (f->tx.flags & FLOW_F_TELEM)
		rwnd_cut(ctx, f, at);
}
/* Inlined: BPF functions take at most five arguments. */
static __always_inline int ingress_data(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p, struct host *h,
					const struct control *ctl, struct feedback *fb, enum sluice_stat *verdict)
{
	struct flow *f = 0;

	*verdict = STAT_RX_DATA;
	if (!p->deaf) {
		host_heard(host_of_ip(&m->ip), h, p->now_ns, p->auth_seq);
		f = ingress_learn(ctx, m, p, h, ctl, fb);
		if (trace_is_on(ctl))
			trace_feedback_put(ctx, &p->key, p->now_ns);
	}
	if (encoding_is_copy(ctx, m)) {
		*verdict = STAT_RX_INT_COPY;
		return CTX_DROP;
	}
	if (ctx_strip(ctx, p->inner - WIRE_ETH_BYTES)) {
		*verdict = STAT_RX_STRIP_FAILED;
		return CTX_PASS;
	}
	/* RFC 6040, section 4.2: a mark on the outer header is the inner packet's. */
	if ((m->ip.tos & ECN_MASK) == ECN_CE && ctx_set_ce(ctx, m->ip.v6))
		stats_count(STAT_RX_CE);
	if (f && p->key.proto == IPPROTO_TCP)
		ingress_window(ctx, f, m, ctl);
	return CTX_PASS;
}

/* Whether the interface is no longer configured. It is looked up only while there are such interfaces. */
static inline int ingress_port_leaves(ctx_t *ctx, const struct control *ctl)
{
	const struct port *port;
	__u32 ifindex;

	if (!ctl->ports_leaving)
		return 0;
	ifindex = ctx_ifindex(ctx);
	port = bpf_map_lookup_elem(&ports, &ifindex);
	return port && port->flags & PORT_F_LEAVING;
}

/* The counter of a message with a bad shim or header. */
static inline enum sluice_stat ingress_bad(enum wire_check why)
{
	return why == WIRE_NOT_HPCC    ? STAT_RX_NOT_HPCC :
	       why == WIRE_BAD_VERSION ? STAT_RX_BAD_VERSION :
	       why == WIRE_BAD_MSG     ? STAT_RX_BAD_MSG :
	       why == WIRE_BAD_HOPS    ? STAT_RX_BAD_HOPS :
					 STAT_RX_BAD_LENGTH;
}

/* A PROBE of another host. */
static __always_inline int ingress_question(ctx_t *ctx, struct msg *m, struct ingress_pkt *p, struct host *h,
					    const struct control *ctl, enum sluice_stat *verdict)
{
	if (!ctx_may_return(ctx))
		return CTX_PASS;
	*verdict = STAT_RX_PROBE;
	if (p->deaf)
		return CTX_DROP;
	*verdict = ingress_takes_probe(ctx, m, p, h, ctl);
	if (*verdict == STAT_RX_PROBE)
		host_heard(host_of_ip(&m->ip), h, p->now_ns, p->auth_seq);
	else if (*verdict != STAT_RX_PROBE_OLD || !ingress_is_held(p, h))
		return CTX_DROP;
	return encoding_answer(ctx, m) ? CTX_DROP : ingress_probe(ctx, m, p);
}

static inline int ingress_packet(ctx_t *ctx, enum sluice_stat *verdict)
{
	const struct control *ctl = control_get();
	struct scratch_space *space = scratch_get();
	enum host_standing standing;
	struct ingress_pkt *p;
	struct host *h;
	struct msg *m;

	*verdict = STAT_RX_OTHER;
	if (!ctl || !space)
		return CTX_PASS;
	m = &space->msg;
	switch (msg_may_be_ours(ctx, WIRE_ETH_BYTES, ctx_protocol(ctx)) ? msg_parse(ctx, m) : MSG_NOT_OURS) {
	case MSG_NOT_OURS:
		ingress_plain(ctx, ctl);
		return CTX_PASS;
	case MSG_TRUNCATED:
		*verdict = STAT_RX_TRUNCATED;
		return CTX_PASS;
	case MSG_BAD:
		*verdict = ingress_bad(m->why);
		return CTX_PASS;
	case MSG_OK:
		break;
	}
	m->ip.domain = domain_of(ctl, ctx_ifindex(ctx));
	h = bpf_map_lookup_elem(&hosts, host_of_ip(&m->ip));
	standing = host_standing(&m->ip.src, h, ctl->epoch);
	if (standing == HOST_FOREIGN) {
		*verdict = STAT_RX_FOREIGN;
		return CTX_PASS;
	}
	m->quiet = ctl->bypass || standing == HOST_LEAVING || ingress_port_leaves(ctx, ctl);
	if (ctl->auth && !(m->hdr.flags & WIRE_F_AUTH)) {
		*verdict = STAT_RX_NO_AUTH;
		return CTX_PASS;
	}
	if (wire_is_batch(&m->hdr)) {
		*verdict = batch_take(ctx, m, h, ctl);
		return *verdict == STAT_RX_FEEDBACK || *verdict == STAT_RX_CREDIT || *verdict == STAT_RX_RATE ?
			       CTX_DROP :
			       CTX_PASS;
	}
	p = &space->ingress;
	__builtin_memset(p, 0, sizeof(*p));
	p->key.domain = m->ip.domain;
	*verdict = ingress_parse(ctx, m, p);
	p->sound = *verdict == STAT_RX_DATA;
	if (p->sound && m->hdr.flags & WIRE_F_AUTH)
		*verdict = ctl->auth ? ingress_auth(ctx, m, p) : STAT_RX_BAD_AUTH;
	if (*verdict != STAT_RX_DATA && (m->hdr.flags & WIRE_F_AUTH || wire_message(&m->hdr) == WIRE_DATA))
		return CTX_PASS;
	*verdict = STAT_RX_OTHER;
	if (m->companion)
		stats_count(STAT_RX_COMPANION);
	p->now_ns = bpf_ktime_get_ns();
	p->deaf = m->quiet || auth_is_future(ctl, p->auth_seq, p->now_ns);
	switch (wire_message(&m->hdr)) {
	case WIRE_PROBE:
		return ingress_question(ctx, m, p, h, ctl, verdict);
	case WIRE_PROBE_REPLY:
		*verdict = STAT_RX_PROBE_REPLY;
		if (host_was_asked(host_of_ip(&m->ip), h) && !p->deaf)
			ingress_reply(ctx, m, p, h, ctl, &space->feedback);
		return CTX_DROP;
	default:
		return ingress_data(ctx, m, p, h, ctl, &space->feedback, verdict);
	}
}

#endif

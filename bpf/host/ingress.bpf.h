/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_INGRESS_BPF_H
#define SLUICE_INGRESS_BPF_H
/*
 * Ingress of a host, at tc and, where the daemon finds that it can be had, at XDP in front of it: the
 * sink of telemetry and the place where feedback becomes W and R. What differs is in ctx.bpf.h.
 *
 *  1. parse: is it one of ours, whole, of our version, from a configured peer, and, where there is a
 *     key, from one that has it? What is not goes on to the stack as it is, and is counted by reason.
 *  2. DATA: the telemetry goes to the flow's echo slot, to leave with the next packet of the reverse
 *     flow; what it says of its VOQ is noted (credit.bpf.h); the echo is feedback (feedback.bpf.h); then
 *     everything up to the inner packet is stripped and the stack sees what the sender's stack sent.
 *  3. PROBE is turned round as PROBE_REPLY; what that brings back is feedback like an echo. So is a message
 *     of reports (batch.bpf.h), which ends here, as one of credit does.
 *  4. XDP is for these messages only. What it passes, tc sees as if there were no XDP, and counts;
 *     what it stripped goes by tc as a plain packet, and has its window cut there.
 *
 * With bypass on, packets are still stripped, but nothing is learned and nothing answered: peers
 * hear no more from us and go over to plain packets by themselves. So it is with what comes from a peer, or by an
 * interface, that the configuration has no more, until the daemon takes that away.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/bucket.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/parse.bpf.h"
#include "port/intmd.bpf.h"
#include "host/flow.bpf.h"
#include "host/auth.bpf.h"
#include "port/pod_stamp.bpf.h"
#include "host/rwnd.bpf.h"
#include "host/report.bpf.h"
#include "host/trace.bpf.h"
#include "host/feedback.bpf.h"
#include "rack/credit.bpf.h"
#include "rack/batch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/bucket.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/seq.h"
#include "sluice/abi/stats.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* The hop to the pod behind those of the packet. */
static inline void ingress_pod_hop(struct flow *f, struct ingress_pkt *p)
{
	struct pod_stamp stamp = {};
	__u32 n = p->nhop;

	if (!pod_stamp(f, &stamp, p->nhop_path, HPCC_MAX_HOPS))
		return;
	bound_here(n);
	if (n >= HPCC_MAX_HOPS) /* never; the verifier wants to hear it */
		return;
	p->hop[n] = stamp.hop;
	p->nhop = n + 1;
	p->nhop_path = stamp.nhop_path;
}

/*
 * Puts what is to be told into the echo slot. The slot has a version that is odd while it is written: a
 * CPU that finds it odd leaves its telemetry out (the other's is as new), and egress, which reads
 * without a lock, compares versions before and after.
 */
static inline void ingress_echo_store(struct flow *f, const struct ingress_pkt *p)
{
	struct flow_echo *e = &f->echo;
	__u32 v = *(volatile __u32 *)&e->version;
	int i;

	if (v & 1 || __sync_val_compare_and_swap(&e->version, v, v + 1) != v)
		return;
	e->seq = p->seq;
	e->nhop_path = p->nhop_path;
	e->hops = p->nhop;
	e->form = p->form;
	e->flows = p->flows;
	e->rx_ns = p->now_ns;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		e->hop[i] = p->hop[i];
	__sync_fetch_and_add(&e->version, 1);
}

/* Reads and checks the inner packet. Returns an enum sluice_stat. */
CORE_GLOBAL int ingress_parse(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p)
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
	if (m->shim.ip_proto != (m->ip.v6 ? IPPROTO_IPV6 : IPPROTO_IPIP))
		return STAT_RX_MISMATCH;
	if (ip_parse(ctx, p->inner, proto, &ip) != IP_OK)
		return STAT_RX_TRUNCATED;
	/* The source never wraps SYN or RST, so filters by port in front of us see every one that can open a connection. */
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
	/* The source does not wrap what is Sluice's already: somebody looped it. */
	if (ip.proto == IPPROTO_UDP && l4[1] == bpf_htons(wire_port))
		return STAT_RX_MISMATCH;
	/* A probe's inner packet is only the first bytes of one, and our own when it comes back. */
	if (data && m->ip.total != m->ip.bytes + WIRE_UDP_BYTES + m->intmd + wire_bytes + ip.total)
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

/*
 * Is the tag right, under one of our keys? Leaves the text for ingress_probe(). The tags are compared as
 * numbers: nothing depends on where they differ.
 */
CORE_GLOBAL int ingress_auth(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	const struct auth_keys *k;
	struct wire_auth_text *text;
	const struct wire_auth *auth;
	const struct wire_echo *echo;
	__u64 sent, diff;
	int reply;

	if (!m || !p || !space || !ctl)
		return STAT_RX_BAD_AUTH;
	k = auth_keys_get(ctl);
	if (!k)
		return STAT_RX_BAD_AUTH;
	text = &space->text;
	if (m->hdr.flags & WIRE_F_ECHO) {
		/* At its full length: authentication and the headers of the inner packet follow. */
		echo = pkt_bytes(ctx, m->offset + wire_echo_offset(&m->hdr), sizeof(*echo));
		if (!echo)
			return STAT_RX_TRUNCATED;
		text->echo = *echo;
	}
	auth = pkt_bytes(ctx, p->inner - WIRE_AUTH_BYTES, sizeof(*auth));
	if (!auth)
		return STAT_RX_TRUNCATED;
	sent = (__u64)bpf_ntohl(auth->tag_high) << 32 | bpf_ntohl(auth->tag_low);
	p->auth_seq = (__u64)bpf_ntohl(auth->seq_high) << 32 | bpf_ntohl(auth->seq_low);
	text->seq_high = auth->seq_high;
	text->seq_low = auth->seq_low;
	__builtin_memcpy(text->src, &m->ip.src, sizeof(text->src));
	__builtin_memcpy(text->dst, &m->ip.dst, sizeof(text->dst));
	reply = wire_message(&m->hdr) == WIRE_PROBE_REPLY;
	text->port[0] = reply ? p->key.local_port : p->key.remote_port;
	text->port[1] = reply ? p->key.remote_port : p->key.local_port;
	text->proto = p->key.proto;
	text->hdr = m->hdr;
	diff = auth_tag(text, k->key[0].k0, k->key[0].k1, wire_auth_words(&m->hdr)) ^ sent;
	if (diff && k->n > 1)
		diff = auth_tag(text, k->key[1].k0, k->key[1].k1, wire_auth_words(&m->hdr)) ^ sent;
	return diff || !k->n || !p->auth_seq ? STAT_RX_BAD_AUTH : STAT_RX_DATA;
}

/* The tag of a PROBE that is turned round: its own text, but for addresses and message. */
static __attribute__((noinline)) int ingress_answer_sign(ctx_t *ctx, const struct msg *m, __u8 version_msg)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	const struct auth_keys *k;
	__be64 tag;

	if (!space || !ctl)
		return -EINVAL;
	k = auth_keys_get(ctl);
	if (!k)
		return -EINVAL;
	__builtin_memcpy(space->text.src, &m->ip.dst, sizeof(space->text.src));
	__builtin_memcpy(space->text.dst, &m->ip.src, sizeof(space->text.dst));
	space->text.hdr.version_msg = version_msg;
	tag = bpf_cpu_to_be64(auth_tag(&space->text, k->key[0].k0, k->key[0].k1, wire_auth_words(&m->hdr)));
	return ctx_store(ctx, m->offset + wire_length(&m->hdr) - sizeof(tag), &tag, sizeof(tag));
}

/* What an echo would tell, in a PROBE before it turns round: N, and the hop to the pod. */
static inline void ingress_probe_tell(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 at = m->offset + WIRE_HDR_BYTES, n;
	const struct control *ctl = control_get();
	struct pod_stamp stamp = {};
	const __be16 *nhop_path;
	struct flow *f;
	__be64 hop;
	__be16 v;

	if (!ctl || !m->hdr.max_hops || !p->sound)
		return;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (!f)
		return;
	v = bpf_htons(report_flows(f, ctx_ifindex(ctx), p->now_ns));
	ctx_store(ctx, at + sizeof(*nhop_path), &v, sizeof(v));
	if (!arrival_needs_pod_hop(f, ctl, p->now_ns))
		return;
	nhop_path = pkt_bytes(ctx, at, sizeof(*nhop_path));
	if (!nhop_path || !pod_stamp(f, &stamp, bpf_ntohs(*nhop_path), m->hdr.max_hops))
		return;
	n = (stamp.nhop_path >> 12) - 1;
	hop = bpf_cpu_to_be64(stamp.hop);
	v = bpf_htons(stamp.nhop_path);
	if (!ctx_store(ctx, at + 4 + n * WIRE_HOP_BYTES, &hop, sizeof(hop)))
		ctx_store(ctx, at, &v, sizeof(v));
}

/*
 * Turns a PROBE round as PROBE_REPLY: addresses swapped, which leaves the IP checksum as it is. The
 * copied packet stays on as ballast: cutting it off fails where its checksum is still to be computed
 * (CHECKSUM_PARTIAL over veth: bpf_skb_change_tail() wants to keep the checksum field).
 */
static __attribute__((noinline)) int ingress_probe(ctx_t *ctx, const struct msg *m,
						   const struct ingress_pkt *p)
{
	__u8 from[16], to[16], msg = WIRE_VERSION << 4 | WIRE_PROBE_REPLY;
	__u32 len, src;

	ingress_probe_tell(ctx, m, p);
	len = m->ip.v6 ? 16 : 4;
	src = WIRE_ETH_BYTES + (m->ip.v6 ? 8 : 12);
	bound_here(len); /* behind the call, or the verifier has lost it */
	if (len > sizeof(from)) /* never */
		return CTX_DROP;
	if (ctx_load(ctx, 0, to, 6) || to[0] & MAC_GROUP || ctx_load(ctx, 6, from, 6) ||
	    ctx_store(ctx, 0, from, 6) || ctx_store(ctx, 6, to, 6) ||
	    ctx_load(ctx, src, from, len) || ctx_load(ctx, src + len, to, len) ||
	    ctx_store(ctx, src, to, len) || ctx_store(ctx, src + len, from, len) ||
	    ctx_store(ctx, m->offset + sizeof(m->shim), &msg, sizeof(msg)))
		return CTX_DROP;
	if (m->hdr.flags & WIRE_F_AUTH && ingress_answer_sign(ctx, m, msg))
		return CTX_DROP;
	return ctx_return(ctx);
}

/*
 * Is a PROBE answered? STAT_RX_PROBE, or the counter that says why it is not.
 *
 * With a key each is answered once: it is newer than the last one of its flow. That is no question of the host's newest
 * message: the PROBEs of several flows go by several paths, and the one that comes last comes by the fullest, whose
 * feedback counts most. So a flow that is not known gets its entry here, if the PROBE is not older than the host's newest
 * message by more than AUTH_LATE_NS. Where there is no room for one only what is newer than that message is answered.
 *
 * Then there is a bucket of answers for each host, and one for all that were never heard: an answer is as large as
 * its PROBE, and without a key it goes where somebody says.
 */
static __always_inline enum sluice_stat ingress_takes_probe(ctx_t *ctx, struct ingress_pkt *p, struct host *h,
							    const struct control *ctl)
{
	__u64 floor = auth_floor(h), seen;
	struct flow *f;

	if (p->auth_seq) {
		f = bpf_map_lookup_elem(&flows, &p->key);
		if (!f && p->auth_seq > floor) {
			flow_make(&p->key, ctx_ifindex(ctx), ctl->epoch, STAT_FLOW_MADE_PROBE);
			f = bpf_map_lookup_elem(&flows, &p->key);
		}
		if (f) {
			if ((!f->asked_seq && p->auth_seq <= floor) || !seq_take(&f->asked_seq, 0, p->auth_seq, &seen))
				return STAT_RX_PROBE_OLD;
			f->last_rx_ns = p->now_ns;
		} else if (p->auth_seq <= (h ? h->rx_seq : 0)) {
			return STAT_RX_PROBE_OLD;
		}
	}
	if (h ? bucket_take(&h->answers_ns, p->now_ns, ctl->auth ? BUCKET_HOST_KEY_NS : BUCKET_HOST_NS, BUCKET_HOST_BURST) :
		bucket_strangers(BUCKET_ANSWERS, p->now_ns))
		return STAT_RX_PROBE;
	return STAT_RX_PROBE_LIMITED;
}

/* Whether the inner packet, which is sound, has payload. */
static inline int ingress_has_payload(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 at = p->inner + (m->ip.v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	const __u8 *doff;

	if (p->key.proto != IPPROTO_TCP)
		return 1;
	doff = pkt_bytes(ctx, at + 12, 1);
	return doff && WIRE_ETH_BYTES + m->ip.total > at + (*doff >> 4) * 4;
}

/*
 * Learns from a DATA message: echo slot and feedback. Both blocks are read at their full length,
 * whatever they hold: the headers of the inner packet follow, so the bytes are there. Inlined, as
 * ingress_reply(): as functions of their own, which clang 19 would make of them, they take the
 * stack past 512 bytes ("combined stack size of 5 calls is 560").
 */
static __always_inline struct flow *ingress_learn(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p,
						  const struct host *h, const struct control *ctl)
{
	struct flow *f = bpf_map_lookup_elem(&flows, &p->key);
	__u64 floor = auth_floor(h);
	const struct wire_telem *telem = 0;
	int make, has_echo, voq;
	struct feedback fb = {
		.hops = m->hdr.echo_hops,
		.mode = ctl->mode,
		.trace = trace_is_on(ctl),
		.now_ns = p->now_ns,
	};
	int i;

	/* Before the telemetry: an address in the packet does not outlive it. */
	voq = m->hdr.flags & WIRE_F_VOQ && !intmd_is_copy(ctx, m) && arrival_read(ctx, m, p);
	if (m->intmd) {
		telem = intmd_telem(ctx, m);
		if (telem) {
			p->nhop_path = bpf_ntohs(telem->nhop_path);
			p->nhop = p->nhop_path >> 12;
		}
	} else if (m->hdr.max_hops) {
		telem = pkt_bytes(ctx, m->offset + WIRE_HDR_BYTES, sizeof(*telem));
		if (!telem)
			return f;
		p->nhop_path = bpf_ntohs(telem->nhop_path);
		p->nhop = p->nhop_path >> 12;
		if (p->nhop > m->hdr.max_hops) {
			stats_count(STAT_RX_BAD_TELEM);
			telem = 0;
		}
	}
	/* Data without telemetry may be the first that comes here of a flow of which probes are the telemetry. */
	make = telem || voq || !(m->intmd || m->hdr.max_hops || m->hdr.flags & WIRE_F_ECHO);
	if (!f && make && p->auth_seq && p->auth_seq <= floor) {
		stats_count(STAT_RX_REPLAYED);
		return 0;
	}
	if (!f && make) {
		if (flow_make(&p->key, ctx_ifindex(ctx), ctl->epoch, STAT_FLOW_MADE_RX) == FLOW_FULL)
			stats_count(STAT_RX_FLOW_FULL);
		f = bpf_map_lookup_elem(&flows, &p->key);
	}
	if (!f) {
		if (m->hdr.flags & WIRE_F_ECHO)
			stats_count(STAT_FB_NO_FLOW);
		return 0;
	}
	if (p->auth_seq && (telem || voq) && !auth_takes_telem(f, floor, p->auth_seq, p->now_ns)) {
		stats_count(STAT_RX_REPLAYED);
		return f;
	}
	if (voq)
		arrival_see(f, ctx_ifindex(ctx), p->now_ns);
	else if (telem && f->voq_in)
		f->voq_in = f->voq_pod = 0;
	has_echo = m->hdr.flags & WIRE_F_ECHO;
	if (has_echo && p->auth_seq && !auth_takes_echo(f, floor, p->auth_seq)) {
		has_echo = 0;
		/* Another segment of the packet whose echo was taken is no replay. */
		if (!telem && (p->auth_seq != f->echo_seq || !ingress_has_payload(ctx, m, p)))
			stats_count(STAT_RX_REPLAYED);
	}
	if (!telem && !has_echo) {
		/* Data without either: the flow is active, if this is not from another time. */
		if (make && (!p->auth_seq || auth_takes_telem(f, floor, p->auth_seq, p->now_ns)))
			report_flows(f, ctx_ifindex(ctx), p->now_ns);
		return f;
	}
	f->last_rx_ns = p->now_ns;
	if (f->epoch != ctl->epoch)
		flow_refresh(f, &p->key, f->ifindex, ctl->epoch);
	if (telem) {
		for (i = 0; i < HPCC_MAX_HOPS; i++)
			p->hop[i] = bpf_be64_to_cpu(*(const __be64 *)telem->hop[i]);
		if (arrival_needs_pod_hop(f, ctl, p->now_ns))
			ingress_pod_hop(f, p);
		p->flows = report_flows(f, ctx_ifindex(ctx), p->now_ns);
		if (report_make(f))
			ingress_echo_store(f, p);
	}
	if (has_echo) {
		const struct wire_echo *echo = pkt_bytes(ctx, m->offset + wire_echo_offset(&m->hdr), sizeof(*echo));

		if (!echo) { /* of less than two hops, before a UDP datagram of a few bytes */
			stats_count(STAT_FB_SKIPPED);
			return f;
		}
		if (m->hdr.flags & (WIRE_F_WINDOW | WIRE_F_RATIO)) {
			fb.form = m->hdr.flags & WIRE_F_WINDOW ? RX_WINDOW : RX_RATIO;
			if (m->hdr.echo_hops != 1 || (m->hdr.flags & WIRE_F_WINDOW && m->hdr.flags & WIRE_F_RATIO)) {
				stats_count(STAT_FB_BAD_FORM);
				return f;
			}
		}
		fb.seq = bpf_ntohl(echo->seq);
		fb.flows = bpf_ntohs(echo->flows);
		fb.nhop_path = bpf_ntohs(echo->nhop_path);
		fb.rx_ns = p->now_ns - ((__u64)bpf_ntohs(echo->age) << WIRE_AGE_SHIFT);
		feedback_hops(&fb, echo->hop);
		feedback_take(f, &fb);
	}
	return f;
}

/* The packet, stripped of m, may grant a window to the flow. */
static inline void ingress_window(ctx_t *ctx, struct flow *f, const struct msg *m,
				  const struct control *ctl)
{
	if (rwnd_is_on(ctl))
		rwnd_cut(ctx, f, WIRE_ETH_BYTES + (m->ip.v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)));
}

/* A packet that is none of ours: its window may be granted to a flow that is. */
static inline void ingress_plain(ctx_t *ctx, const struct control *ctl)
{
	struct flow_key key = {};
	struct ip_info ip = {};
	const struct tcphdr *tcp;
	__u32 at, syn, ack;
	struct flow *f;

	if (!rwnd_is_on(ctl) || ip_parse(ctx, WIRE_ETH_BYTES, ctx_protocol(ctx), &ip) != IP_OK ||
	    ip.proto != IPPROTO_TCP)
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
	ack = tcp->ack;
	if (syn && !ack) { /* no flow before our side has answered */
		rwnd_offer(&key, rwnd_syn_scale(ctx, at));
		return;
	}
	f = bpf_map_lookup_elem(&flows, &key);
	if (!f)
		return;
	if (syn)
		rwnd_syn_ack_in(f, rwnd_syn_scale(ctx, at));
	else if (f->flags & FLOW_F_TELEM)
		rwnd_cut(ctx, f, at);
}
/* Inlined: it has more arguments than a function of its own may have. */
static __always_inline int ingress_data(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p, struct host *h,
					const struct control *ctl, enum sluice_stat *verdict)
{
	struct flow *f = 0;

	*verdict = STAT_RX_DATA;
	if (!p->deaf) {
		host_heard(&m->ip.src, h, p->now_ns, p->auth_seq);
		f = ingress_learn(ctx, m, p, h, ctl);
		if (trace_is_on(ctl))
			trace_feedback_put(ctx, &p->key, p->now_ns);
	}
	if (intmd_is_copy(ctx, m)) {
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

/* What a PROBE of ours met on its way, as an echo would tell it. */
static __always_inline void ingress_reply(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p, struct host *h,
					  const struct control *ctl)
{
	const struct wire_telem *telem;
	struct feedback fb = { .mode = ctl->mode, .trace = trace_is_on(ctl), .probe = 1, .rx_ns = p->now_ns,
			       .now_ns = p->now_ns };
	struct flow *f;

	if (!p->sound)
		return;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (p->auth_seq && (!f || !auth_takes_reply(f, p->auth_seq))) {
		stats_count(STAT_RX_REPLAYED);
		return;
	}
	host_heard(&m->ip.src, h, p->now_ns, 0);
	telem = pkt_bytes(ctx, m->offset + WIRE_HDR_BYTES, sizeof(*telem));
	if (!f || !telem || !m->hdr.max_hops)
		return;
	fb.seq = p->seq;
	fb.nhop_path = bpf_ntohs(telem->nhop_path);
	fb.hops = fb.nhop_path >> 12;
	fb.flows = bpf_ntohs(telem->flows);
	if (fb.hops > m->hdr.max_hops) {
		stats_count(STAT_RX_BAD_TELEM);
		return;
	}
	feedback_hops(&fb, telem->hop);
	feedback_take(f, &fb);
	if (fb.trace)
		trace_feedback_put(ctx, &p->key, p->now_ns);
}

/* Is the interface one that the configuration has no more? It is looked up only while there is any. */
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
	switch (msg_parse(ctx, m)) {
	case MSG_NOT_OURS:
		ingress_plain(ctx, ctl);
		return CTX_PASS;
	case MSG_TRUNCATED:
		*verdict = STAT_RX_TRUNCATED;
		return CTX_PASS;
	case MSG_BAD:
		*verdict = m->why == WIRE_NOT_HPCC	  ? STAT_RX_NOT_HPCC
			   : m->why == WIRE_BAD_VERSION ? STAT_RX_BAD_VERSION
			   : m->why == WIRE_BAD_MSG	  ? STAT_RX_BAD_MSG
			   : m->why == WIRE_BAD_HOPS	  ? STAT_RX_BAD_HOPS
						  : STAT_RX_BAD_LENGTH;
		return CTX_PASS;
	case MSG_OK:
		break;
	}
	h = bpf_map_lookup_elem(&hosts, &m->ip.src);
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
			       CTX_DROP : CTX_PASS;
	}
	p = &space->ingress;
	__builtin_memset(p, 0, sizeof(*p));
	*verdict = ingress_parse(ctx, m, p);
	p->sound = *verdict == STAT_RX_DATA;
	if (p->sound && m->hdr.flags & WIRE_F_AUTH)
		*verdict = ctl->auth ? ingress_auth(ctx, m, p) : STAT_RX_BAD_AUTH;
	if (*verdict != STAT_RX_DATA && (m->hdr.flags & WIRE_F_AUTH || wire_message(&m->hdr) == WIRE_DATA))
		return CTX_PASS;
	*verdict = STAT_RX_OTHER;
	p->now_ns = bpf_ktime_get_ns();
	p->deaf = m->quiet || auth_is_future(ctl, p->auth_seq, p->now_ns);
	switch (wire_message(&m->hdr)) {
	case WIRE_PROBE:
		if (!ctx_may_return(ctx))
			return CTX_PASS;
		*verdict = STAT_RX_PROBE;
		if (p->deaf)
			return CTX_DROP;
		*verdict = ingress_takes_probe(ctx, p, h, ctl);
		if (*verdict != STAT_RX_PROBE)
			return CTX_DROP;
		host_heard(&m->ip.src, h, p->now_ns, p->auth_seq);
		/* One after the other: one in the other, they are more than the stack holds. */
		if (m->intmd && intmd_answer(ctx, m, !!intmd_telem(ctx, m)))
			return CTX_DROP;
		return ingress_probe(ctx, m, p);
	case WIRE_PROBE_REPLY:
		*verdict = STAT_RX_PROBE_REPLY;
		if (host_was_asked(&m->ip.src, h) && !p->deaf)
			ingress_reply(ctx, m, p, h, ctl);
		return CTX_DROP;
	default:
		return ingress_data(ctx, m, p, h, ctl, verdict);
	}
}

#endif

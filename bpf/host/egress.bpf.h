/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_EGRESS_BPF_H
#define SLUICE_EGRESS_BPF_H
/*
 * tc egress of a host: the source of telemetry.
 *
 *  1. parse: TCP, UDP and, with telemetry in companions, tunnels over IPv4 or IPv6, whole and without options;
 *     everything else passes untouched.
 *  2. classify: the flow, made if its destination is a configured peer.
 *  3. decide: if the peer does not strip, the packet does not fit, or there is nothing to send along, it goes out
 *     plain. A peer of unknown ability, and a flow without answers, are sent a PROBE.
 *  4. departure: the flow's clock at R becomes the packet's earliest departure time (EDT). That is
 *     also the window of a flow without acknowledgements: in any T no more than W = R * T leaves. A packet that uses a
 *     VOQ leaves when it has credit, if that is later (voq.bpf.h). In a pause of the port nothing leaves before its end
 *     (pfc.bpf.h), even without a clock of its own.
 *  5. act: outer IP + UDP + shim + room for hops, if telemetry is due + its place in the VOQ + the echo of the reverse
 *     flow's telemetry + the tag, if there is a key. The uplink of a node is itself the first hop. Packets with payload
 *     are wrapped with telemetry or without: so a flow keeps one path under ECMP.
 *  6. count: one counter per packet; and a record of the decision while tracing is on.
 *
 * clsact runs before the qdisc and sees GSO packets whole; the kernel repeats the new header on
 * every segment (BPF_F_ADJ_ROOM_FIXED_GSO with ENCAP_L4_UDP).
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "pause/pfc.bpf.h"
#include "rack/voq.bpf.h"
#include "host/auth.bpf.h"
#include "host/delay.bpf.h"
#include "host/departure.bpf.h"
#include "host/egress_parse.bpf.h"
#include "host/egress_plan.bpf.h"
#include "host/egress_trace.bpf.h"
#include "host/encap.bpf.h"
#include "host/encoding.bpf.h"
#include "host/flow.bpf.h"
#include "host/pass.bpf.h"
#include "host/probe.bpf.h"
#include "host/quiet.bpf.h"
#include "host/rwnd.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/companion.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define COMPANION_COPY_SEGMENTS 3 /* segments of a GSO packet that are copied for a companion */

/* The network namespace behind a link that leads to a pod; NULL: it leads to none, or is a port of this host. */
static inline const __s32 *egress_pod(__u32 ifindex)
{
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);

	return port && port->flags & (PORT_F_HOST | PORT_F_SWITCH) ? 0 : bpf_map_lookup_elem(&pods, &ifindex);
}

/*
 * Whether a pod sends in the name of another one: by forging its address it would use up that pod's rate, end its
 * connections, and be taken for it. An address is the pod's to which the node routes it, asked as for a reply that comes
 * in by this port, with its rules and VRFs. Where that is unclear nothing is forged: addresses that the node has itself
 * or routes to no pod (services, and pods behind a bridge, which all come by the bridge), or by a gateway. Two links into
 * one network namespace are one pod's. If the route has several next hops, it is the one that the reply would take.
 */
VERIFIED_ONCE int egress_is_spoofed(struct __sk_buff *ctx, const struct flow_key *key, __u32 v6)
{
	struct bpf_fib_lookup route = { .ifindex = ctx->ifindex };
	__u32 from = ctx->ingress_ifindex;
	const __s32 *sender = egress_pod(from), *other;

	if (!key || !sender)
		return 0;
	route.family = v6 ? AF_INET6 : AF_INET;
	route.l4_protocol = key->proto;
	route.sport = key->remote_port;
	route.dport = key->local_port;
	if (v6) {
		__builtin_memcpy(route.ipv6_src, &key->remote, sizeof(route.ipv6_src));
		__builtin_memcpy(route.ipv6_dst, &key->local, sizeof(route.ipv6_dst));
	} else {
		route.ipv4_src = *(const __be32 *)&key->remote.b[12];
		route.ipv4_dst = *(const __be32 *)&key->local.b[12];
	}
	bpf_fib_lookup(ctx, &route, sizeof(route), 0);
	if (route.ifindex == ctx->ifindex || route.ifindex == from) /* the first also if there is no route */
		return 0;
	/* A gateway would be in the place of the address. */
	if (v6 ? route.ipv6_dst[0] != ((const __u32 *)&key->local)[0] ||
			    route.ipv6_dst[1] != ((const __u32 *)&key->local)[1] ||
			    route.ipv6_dst[2] != ((const __u32 *)&key->local)[2] ||
			    route.ipv6_dst[3] != ((const __u32 *)&key->local)[3] :
		 route.family != AF_INET || route.ipv4_dst != *(const __be32 *)&key->local.b[12])
		return 0;
	other = egress_pod(route.ifindex);
	return other && *other != *sender;
}

/*
 * Sorts out packets that are dropped, or leave as they are, whatever the peer's ability. Notes the progress of the
 * flow's connection. Returns STAT_TX_DATA for a packet that goes on.
 */
static inline enum sluice_stat egress_admit(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
					    const struct control *ctl)
{
	__u32 l4_offset = p->l4_offset + p->jumbo_bytes;
	struct rwnd_syn syn = {};

	f->tx.last_ns = p->now_ns;
	if (rwnd_is_on(ctl) && p->key.proto == IPPROTO_TCP) {
		if (p->syn) {
			pass_end(&p->key);
			rwnd_options_read(ctx, l4_offset, &syn);
			rwnd_syn_out(f, &p->key, p->seq, p->payload_bytes, &syn, p->ack);
		} else if (!p->rst &&
			   rwnd_is_beyond(ctx, f, l4_offset, p->seq + p->payload_bytes + p->fin, p->now_ns)) {
			return STAT_TX_BEYOND;
		} else if (rwnd_wants_socket(f, p->now_ns)) {
			f->wnd.asked_ns = p->now_ns;
			if (rwnd_has_digest(ctx, l4_offset))
				rwnd_digest_found(f);
			else
				rwnd_ask_socket(ctx, f, &p->key, p->v6);
		}
	}
	if (p->syn) { /* a new connection; any earlier one on these ports is over */
		f->tx.flags &= ~FLOW_F_CLOSED;
		f->companion.began_us = 0;
		flow_answered(f);
	}
	if (p->fin || p->rst)
		f->tx.flags |= FLOW_F_CLOSED;
	if (!flow_has_ports(p->key.proto))
		f->tx.flags |= FLOW_F_TUNNEL;
	if (f->tx.flags & FLOW_F_TUNNEL && f->path.telemetry != TELEMETRY_COMPANION) {
		f->tx.flags &= ~FLOW_F_TELEM;
		return flow_has_ports(p->key.proto) ? STAT_TX_ENCAP_FAILED : STAT_TX_OTHER;
	}
	return STAT_TX_DATA;
}

/*
 * Gives the packet its place in the VOQ and its departure time. Returns STAT_TX_DATA, or STAT_TX_HORIZON: it is dropped.
 * Inlined: BPF functions take at most five arguments.
 */
static __always_inline enum sluice_stat egress_schedule(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
							const struct control *ctl, struct scratch_space *space,
							struct voq *v)
{
	int enforced = ctl->mode == MODE_ENFORCE && p->payload_bytes;
	__u64 credit_ns = 0, limit_ns = 0;
	__u32 at = p->telem_bytes;

	egress_pause(ctx, p, ctl);
	if (enforced && egress_is_early(ctx, p, f))
		return STAT_TX_HORIZON;
	if (v) {
		VERIFIER_AT_MOST(at, sizeof(struct wire_telem), STAT_TX_ENCAP_FAILED);
		voq_send(f, v, p->now_ns, p->weight, &space->voq_out);
		voq_rides(f, space);
		voq_hurries(p, f, v, &space->voq_out);
		*(struct wire_voq *)(space->head.blocks + at) = space->voq_out.block;
		limit_ns = v->params.limit_ns;
		credit_ns = limit_ns ? space->voq_out.departure_ns : 0;
	}
	if (!enforced)
		return STAT_TX_DATA;
	if (credit_ns && f->path.port_flags & PORT_F_QUEUE) {
		queue_note_voq(ctx, v, credit_ns, p->young);
		p->credit_ns = credit_ns;
		credit_ns = limit_ns = 0;
	}
	egress_departure(ctx, p, f, credit_ns, limit_ns);
	if (p->credit_ns > p->now_ns && p->credit_ns > ctx->tstamp)
		f->tx.held = HELD_CREDIT;
	return STAT_TX_DATA;
}

/* Puts all headers in front of the packet, which ends at the position seq. */
static inline enum sluice_stat egress_encap(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
					    const struct control *ctl, struct egress_head *head, __u64 seq)
{
	__u32 ours = p->outer_bytes + p->wire_bytes;

	egress_outer(head, p, ctx->len - p->pad_bytes - WIRE_ETH_BYTES + ours, p->wire_bytes);
	head->hdr.version_msg = WIRE_VERSION << 4 | WIRE_DATA;
	head->hdr.max_hops = p->telem_bytes ? p->room : 0;
	if (p->auth_bytes)
		head->hdr.flags |= WIRE_F_AUTH;
	head->hdr.seq = bpf_htonl((__u32)seq);
	if (p->auth_bytes &&
	    !egress_sign(head, p, p->telem_bytes + p->voq_bytes, p->echo_bytes, p->now_ns + ctl->seq_base_ns))
		return STAT_TX_ENCAP_FAILED;
	if (f->path.port_flags & PORT_F_STAMP)
		egress_stamp(ctx, head, p->weight, p->telem_bytes);
	if (bpf_skb_adjust_room(ctx, ours, BPF_ADJ_ROOM_MAC, ENCAP_FLAGS(p->v6)) ||
	    encoding_write(ctx, p, head, ours - p->intmd)) {
		if (p->key.proto == IPPROTO_UDP)
			f->tx.flags |= FLOW_F_TUNNEL;
		return STAT_TX_ENCAP_FAILED;
	}
	return STAT_TX_DATA;
}

/* Notes that the packet is on its way, with the blocks that it carries. */
static inline void egress_sent(const struct egress_pkt *p, struct flow *f, struct host *peer,
			       const struct wire_hdr *hdr)
{
	if (encoding_taken(p)) {
		f->tx.telem_ns = p->now_ns;
		flow_asks(f, p->now_ns);
		if (!peer->unanswered_ns)
			peer->unanswered_ns = p->now_ns;
	} else if (p->payload_bytes) {
		stats_count(STAT_TX_BARE);
	}
	if (p->echo_bytes)
		f->echo.sent = p->echo_version;
	if (hdr->flags & WIRE_F_WINDOW)
		stats_count(STAT_TX_WINDOW);
}

/*
 * Whether the next ACK may become the companion instead of this packet, which the kernel would copy whole before it is
 * cut. Not the first companions, which have to be early, unless the packet exceeds 64 KB; and not if the last one still
 * waits for an ACK. If so the companion's fields from this packet are noted.
 */
static inline int companion_may_wait(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
				     const struct control *ctl)
{
	if (p->key.proto != IPPROTO_TCP || ctx->gso_segs <= COMPANION_COPY_SEGMENTS ||
	    (f->companion.count <= COMPANION_FIRST && ctx->len <= 0xffff) || !rwnd_is_on(ctl))
		return 0;
	if (f->beside.wanted) { /* ingress may have entered the flow while it was set */
		pass_end(&p->key);
		return 0;
	}
	return companion_note(ctx, p, f);
}

/* Sends a companion of the flow, if one is due to the flow or to its VOQ v, if it has one. */
static inline void egress_companion(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
				    struct host *peer, const struct control *ctl, struct scratch_space *space,
				    struct voq *v, __u64 sent)
{
	struct voq_out *out = &space->voq_out;
	struct companion_params params;
	int due, urgent = 0, voq_due = 0;
	__u32 untold = 0;

	companion_due_params(&params, f);
	due = companion_is_due(&f->companion, &params, &f->cc, &f->params, sent, p->now_ns);
	if (v) {
		untold = voq_untold(v, out);
		urgent = out->tells || untold >= v->params.c0 / 2;
		voq_due = urgent || hiercc_says(&v->params, untold, p->now_ns - v->beside_ns);
	}
	if (!due && (!voq_due || (f->beside.wanted && !urgent)))
		return;
	if (companion_is_uncut(ctx, p, f)) {
		if (companion_want(ctx, p, f, space))
			companion_left(&f->companion, sent, p->now_ns);
		return;
	}
	companion_left(&f->companion, sent, p->now_ns);
	if (!urgent && companion_may_wait(ctx, p, f, ctl)) {
		f->beside.wanted = 1;
		pass_end(&p->key);
	} else {
		if (v) {
			space->probe_voq = 1;
			out->departure_ns = egress_leaves_ns(ctx, p, f);
			voq_said(v, out, p->now_ns);
		}
		due = egress_probe(ctx, space, PROBE_OF_DATA);
		space->probe_voq = 0;
		if (!due)
			return;
	}
	peer->asked_ns = p->now_ns;
	if (!peer->unanswered_ns)
		peer->unanswered_ns = p->now_ns;
}

/* A packet of a quiet flow. */
static inline enum sluice_stat egress_quiet(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
					    const struct control *ctl)
{
	if (ctl->mode == MODE_ENFORCE) {
		egress_pause(ctx, p, ctl);
		if (egress_is_early(ctx, p, f))
			return STAT_TX_HORIZON;
		egress_departure(ctx, p, f, 0, 0);
	}
	sock_note_data(ctx, p, f, ctl, __sync_fetch_and_add(&f->tx.bytes, p->weight) + p->weight);
	return STAT_TX_BESIDE;
}

/* Steps 3 to 5 for a known flow. */
static inline enum sluice_stat egress_flow(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
					   const struct control *ctl, struct scratch_space *space)
{
	enum sluice_stat verdict;
	struct host *peer;
	struct voq *v = 0;
	__u64 seq;
	int silent;

	sock_note_take(ctx, f);
	verdict = egress_admit(ctx, p, f, ctl);
	if (verdict != STAT_TX_DATA)
		return verdict;
	p->weight = egress_weight(ctx, p, f, 0);
	if (p->key.proto != IPPROTO_TCP)
		flow_note_burst(f, p->weight);
	if (egress_is_quiet(p, f))
		return egress_quiet(ctx, p, f, ctl);
	if (p->payload_bytes && (!f->companion.began_us || flow_first_ends(f, p->now_ns)))
		flow_begin(f, &p->key, !f->companion.began_us);
	peer = egress_peer(ctx, p, f, ctl, space);
	silent = flow_falls_silent(f, p->now_ns);
	if (peer && !silent)
		f->tx.flags |= FLOW_F_TELEM;
	else
		f->tx.flags &= ~FLOW_F_TELEM;
	if (p->syn && peer && !silent && f->path.telemetry == TELEMETRY_COMPANION && !(f->tx.flags & FLOW_F_TUNNEL) &&
	    !host_window(peer, &f->params, p->now_ns) && egress_probe(ctx, space, PROBE_OF_DATA))
		peer->asked_ns = p->now_ns;
	if (p->syn || p->rst)
		return STAT_TX_HANDSHAKE;
	if (peer && silent)
		return egress_silent(ctx, p, f, peer, space);
	verdict = peer ? egress_plan(ctx, p, f, ctl, space, &v) : egress_unknown(p, f, ctl, &v);
	if (verdict != STAT_TX_DATA)
		return verdict;
	verdict = peer ? egress_fits(ctx, p, f) : STAT_TX_DATA;
	if (verdict != STAT_TX_DATA)
		return verdict;
	verdict = egress_schedule(ctx, p, f, ctl, space, v);
	if (verdict != STAT_TX_DATA)
		return verdict;
	if (!peer) {
		if (p->key.proto != IPPROTO_TCP && flow_is_first(f, p->now_ns)) /* held by its first window */
			__sync_fetch_and_add(&f->tx.bytes, p->weight);
		return STAT_TX_PEER_UNKNOWN;
	}
	seq = __sync_fetch_and_add(&f->tx.bytes, p->weight) + p->weight;
	if (p->beside) {
		egress_companion(ctx, p, f, peer, ctl, space, v, seq);
		if (f->beside.echoes && f->echo.version == f->echo.sent)
			f->beside.echoes = 0;
		sock_note_data(ctx, p, f, ctl, seq);
		return STAT_TX_BESIDE;
	}
	if (egress_is_udp_gso(ctx, p))
		return STAT_TX_UDP_GSO;
	if (encoding_taken(p) && !egress_queue_decides(p))
		delay_note(f, seq, p->now_ns, egress_leaves_ns(ctx, p, f));
	verdict = egress_encap(ctx, p, f, ctl, &space->head, seq);
	if (verdict == STAT_TX_DATA)
		egress_sent(p, f, peer, &space->head.hdr);
	return verdict;
}

static inline enum sluice_stat egress_packet(struct __sk_buff *ctx, struct egress_pkt *p, const struct control *ctl,
					     struct scratch_space *space)
{
	enum sluice_stat verdict;
	__u32 ifindex = ctx->ifindex;
	struct flow *f;

	if (!ctl || !space || ctl->bypass)
		return STAT_TX_BYPASS;
	if (!egress_parse_plain(ctx, p)) {
		verdict = egress_parse(ctx, p);
		if (verdict != STAT_TX_DATA)
			return verdict;
	}
	p->key.domain = domain_of(ctl, ifindex);
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (!f && p->rst)
		return STAT_TX_HANDSHAKE;
	if (!f) {
		switch (flow_make(&p->key, ifindex, ctl->epoch,
				  p->syn && p->ack ? STAT_FLOW_MADE_SYNACK : STAT_FLOW_MADE_TX)) {
		case FLOW_NO_PORT:
			return STAT_TX_NO_PORT;
		case FLOW_NO_PEER:
			return STAT_TX_NO_PEER;
		case FLOW_FULL:
			return STAT_TX_FLOW_FULL;
		case FLOW_OTHER:
			return STAT_TX_OTHER;
		case FLOW_OK:
			break;
		}
		f = bpf_map_lookup_elem(&flows, &p->key);
		if (!f)
			return STAT_TX_FLOW_FULL;
	}
	if (ctx->ingress_ifindex != f->tx.source) { /* the verdict holds for as long as the flow stays there */
		if (egress_is_spoofed(ctx, &p->key, p->v6))
			return STAT_TX_SPOOFED;
		f->tx.source = ctx->ingress_ifindex;
	}
	if (f->path.epoch != ctl->epoch || f->path.ifindex != ifindex)
		flow_refresh(f, &p->key, ifindex, ctl->epoch);
	if (f->path.no_peer || f->path.port_flags & PORT_F_LEAVING || !f->params.t_ns) {
		f->tx.flags &= ~FLOW_F_TELEM;
		return f->path.port_flags & PORT_F_LEAVING ? STAT_TX_NO_PORT : STAT_TX_NO_PEER;
	}
	if (egress_is_quiet_ack(ctx, p, f, ctl))
		return STAT_TX_PLAIN_ACK;
	p->now_ns = bpf_ktime_get_ns();
	return egress_flow(ctx, p, f, ctl, space);
}

static inline int egress_handle(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	struct scratch_space *space = scratch_get();
	enum sluice_stat verdict = STAT_PROBE_SENT, quiet;
	struct egress_pkt p = {};
	int action, paused = 0;

	queue_note_none(ctx);
	quiet = ctl ? sock_is_quiet(ctx, ctl) : STAT_MAX;
	if (quiet != STAT_MAX) {
		stats_count(quiet);
		return TC_ACT_UNSPEC;
	}
	if (space && space->probe_ifindex == ctx->ifindex) {
		action = egress_probe_wrap(ctx, &p, space);
	} else {
		verdict = egress_packet(ctx, &p, ctl, space);
		stats_count(verdict);
		/* TC_ACT_UNSPEC, so that later filters still run. */
		action = verdict == STAT_TX_HORIZON || verdict == STAT_TX_BEYOND || verdict == STAT_TX_SPOOFED ?
				 TC_ACT_SHOT :
				 TC_ACT_UNSPEC;
	}
	if (action == TC_ACT_UNSPEC)
		paused = pfc_hold(ctx);
	if (ctl && trace_is_on(ctl) && (verdict != STAT_PROBE_SENT || (p.now_ns && action != TC_ACT_SHOT)))
		egress_tell(ctx, &p, verdict, paused);
	return action;
}

#endif

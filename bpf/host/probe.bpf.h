/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PROBE_BPF_H
#define SLUICE_PROBE_BPF_H
/*
 * The life of a PROBE.
 *
 *  1. egress_peer() decides when to ask a host whether it strips telemetry, or a path how full it is.
 *  2. egress_probe() sends a clone of the packet at hand, and egress_probe_wrap() makes a PROBE of it. Hops stamp it as
 *     they stamp data.
 *  3. At the other end it is turned round, and comes back as feedback (answer.bpf.h).
 *
 * Only tc asks: XDP only sees arrivals.
 */
#include "lib/base.bpf.h"
#include "lib/bucket.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/auth.bpf.h"
#include "host/companion.bpf.h"
#include "host/delay.bpf.h"
#include "host/egress_parse.bpf.h"
#include "host/encap.bpf.h"
#include "host/encoding.bpf.h"
#include "host/flow.bpf.h"
#include "host/peer.bpf.h"
#include "sluice/cc/companion.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/bucket.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/seq.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* --- 2. the clone --- */

#define EGRESS_PROBE_L4_BYTES 20
#define PROBE_RESENT 2 /* probe_wrapped: and will pass here once more */

/*
 * Sends a PROBE: asks the peer whether it strips, and the path how full it is. A clone of the packet
 * goes out by this interface and so through this program a second time: there it is cut down to its headers and wrapped
 * (egress_probe_wrap), which would not work after the packet was wrapped, or, with beside, made a companion
 * (egress_companion). The packet itself goes on unchanged. A peer without Sluice answers with an ICMP error that nobody
 * waits for. Returns whether it left.
 *
 * The clone is recognised by a note that no packet can forge. bpf_clone_redirect() runs this program for it before it
 * returns, on this CPU with bottom halves off: clsact comes before the qdisc, so no other packet reaches this program
 * by this interface in between. The first packet consumes the note; if a clone never gets here (no memory, a link that
 * is down, a filter in front), the note ends with the call.
 *
 * The kernel tells the qdisc the length that a packet had when it came to this program. A GSO packet's length is that
 * of all segments: a shaper charges it, and drops it if it exceeds its burst. So the clone of one is sent a second time
 * when it is short, and passes here once more.
 */
static inline int egress_probe(struct __sk_buff *ctx, struct scratch_space *space, enum probe_kind kind)
{
	int err, missed;

	space->probe_ifindex = ctx->ifindex;
	space->probe_wrapped = 0;
	space->probe_beside = kind;
	err = bpf_clone_redirect(ctx, ctx->ifindex, 0);
	missed = space->probe_ifindex;
	space->probe_ifindex = 0;
	if (!err && !missed) {
		stats_count(kind ? STAT_COMPANION_SENT : STAT_PROBE_SENT);
		return 1;
	}
	if (space->probe_wrapped) /* and then dropped by the qdisc */
		stats_count(STAT_PROBE_FAILED);
	return 0;
}

/* Writes the tag of a PROBE; its answer has the same sequence. Returns whether there is a key. */
static inline int egress_probe_sign(struct egress_head *head, struct egress_pkt *p, struct flow *f,
				    const struct control *ctl, __u32 voq_bytes)
{
	__u64 seq = auth_seq(ctl);

	if (!egress_sign(head, p, sizeof(struct wire_telem), voq_bytes, seq))
		return 0;
	if (!f->auth.probe_seq)
		f->auth.reply_seq = seq - 1;
	f->auth.probe_seq = seq;
	return 1;
}

/*
 * Just before the flow's next packet can leave, by its clock; 0: now, for no packet of it waits. A companion that leaves
 * right behind a packet of 64 KB reports a queue that is this packet's: over VXLAN on 100 Mbit/s with a T of .5 ms R fell to
 * half of the port.
 */
static inline __u64 egress_next_ns(const struct egress_pkt *p, const struct flow *f)
{
	__u64 waits_ns = f->path.port_flags & PORT_F_EDT ? flow_waits_ns(f, p->now_ns) : 0;

	return waits_ns ? p->now_ns + waits_ns - 1 : 0;
}

/*
 * The position in a PROBE. A PROBE bypasses fq, so its position excludes bytes still queued there. But S of a VOQ
 * counts bytes that have left: with a VOQ block (out) the PROBE waits as its packet does. A companion that is not a clone
 * of its packet leaves between two packets of its flow.
 *
 * The kernel leaves the departure time of a packet to its clone, which waits for it where the port has fq. Elsewhere the time
 * is that of a TCP socket whose packets meet fq behind this device, which would hold the clone for as long as R says: a delay,
 * by which R falls, from 100 to .4 Mbit/s over VXLAN. So the clone has none there.
 */
static inline __u32 egress_probe_position(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
					  const struct voq_out *out)
{
	__u64 wait_ns = 0, at_ns;
	__u32 seq;

	p->now_ns = bpf_ktime_get_ns();
	at_ns = out ? out->departure_ns : p->companion > PROBE_OF_DATA ? egress_next_ns(p, f) : 0;
	if (at_ns > p->now_ns) {
		p->now_ns = at_ns;
		bpf_skb_set_tstamp(ctx, at_ns, BPF_SKB_TSTAMP_DELIVERY_MONO);
	} else if (!(f->path.port_flags & PORT_F_EDT)) {
		bpf_skb_set_tstamp(ctx, 0, BPF_SKB_TSTAMP_UNSPEC);
	}
	if (p->companion <= PROBE_OF_DATA && f->path.port_flags & PORT_F_EDT)
		wait_ns = pacer_wait_ns(p->now_ns, ctx->tstamp);
	seq = flow_left_bytes(f, p->now_ns + wait_ns);
	if (!seq && p->companion && !p->syn)
		seq = 1; /* 0 is a handshake's: ingress_probe_tell() */
	delay_note_probe(f, seq, p->now_ns, p->now_ns + wait_ns);
	return seq;
}

/* The clone of egress_probe(). A clone that cannot become a PROBE must not leave as a second copy of the packet. */
static inline int egress_probe_wrap(struct __sk_buff *ctx, struct egress_pkt *p, struct scratch_space *space)
{
	const struct control *ctl = control_get();
	__u32 wire_bytes = WIRE_HDR_BYTES + sizeof(struct wire_telem), voq_bytes, len, outer;
	int gso = ctx->gso_segs > 1;
	struct egress_head *head;
	struct wire_voq *voq;
	struct flow *f;

	space->probe_ifindex = 0;
	if (space->probe_wrapped == PROBE_RESENT) {
		space->probe_wrapped = 1;
		stats_count(STAT_PROBE_RESENT);
		return TC_ACT_UNSPEC;
	}
	p->companion = space->probe_beside;
	voq_bytes = p->companion && space->probe_voq ? WIRE_VOQ_BYTES : 0;
	wire_bytes += voq_bytes;
	if (!ctl || egress_parse(ctx, p) != STAT_TX_DATA ||
	    (p->companion > PROBE_OF_DATA && companion_turn(ctx, p, space)))
		goto failed;
	p->key.domain = domain_of(ctl, ctx->ifindex);
	if (ctl->auth)
		wire_bytes += WIRE_AUTH_BYTES;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (!f)
		goto failed;
	if (p->companion > PROBE_OF_DATA)
		p->tos = f->beside.tos;
	/*
	 * The kernel keeps the bytes up to a checksum that is still to be computed: 18 bytes for TCP, and a tunnel's
	 * inner headers.
	 */
	len = p->l4_offset + EGRESS_PROBE_L4_BYTES + (p->companion ? wire_bytes : 0);
	if (p->companion ? companion_resize(ctx, p, f, len) : ctx->len > len && bpf_skb_change_tail(ctx, len, 0))
		goto refused;
	head = &space->head;
	outer = p->companion ? 0 : egress_outer_bytes(p);
	p->intmd = p->companion ? 0 : encoding_probe(ctx, f);
	egress_outer(head, p, ctx->len - WIRE_ETH_BYTES + (p->companion ? 0 : outer + p->intmd + wire_bytes),
		     wire_bytes);
	head->hdr.version_msg = WIRE_VERSION << 4 | WIRE_PROBE;
	head->hdr.max_hops = HPCC_MAX_HOPS;
	head->hdr.flags = (ctl->auth ? WIRE_F_AUTH : 0) | (voq_bytes ? WIRE_F_VOQ : 0);
	head->hdr.echo_hops = 0;
	head->hdr.seq = bpf_htonl(egress_probe_position(ctx, p, f, voq_bytes ? &space->voq_out : 0));
	__builtin_memset(head->blocks, 0, sizeof(struct wire_telem) + sizeof(*voq));
	voq = (struct wire_voq *)(head->blocks + sizeof(struct wire_telem));
	if (voq_bytes && space->voq_out.block.tor)
		*voq = space->voq_out.block;
	if (f->path.port_flags & PORT_F_STAMP)
		egress_stamp(ctx, head, ctx->len + (p->companion ? 0 : outer + p->intmd + wire_bytes), !p->intmd);
	if (ctl->auth && !egress_probe_sign(head, p, f, ctl, voq_bytes))
		goto failed;
	if (voq_bytes)
		*voq = space->voq_out.block;
	if (p->companion ?
		    companion_write(ctx, p, f, head, wire_bytes) :
		    bpf_skb_adjust_room(ctx, outer + p->intmd + wire_bytes, BPF_ADJ_ROOM_MAC, ENCAP_FLAGS(p->v6)) ||
			    encoding_write(ctx, p, head, outer + wire_bytes))
		goto refused;
	space->probe_wrapped = 1;
	/* Where companions have the telemetry the answer to a PROBE does not show that they pass. */
	if (p->companion || f->path.telemetry != TELEMETRY_COMPANION)
		flow_asks(f, p->now_ns);
	if (!gso)
		return TC_ACT_UNSPEC;
	space->probe_wrapped = PROBE_RESENT;
	space->probe_ifindex = ctx->ifindex;
	return bpf_redirect(ctx->ifindex, 0);
refused:
	if (p->key.proto == IPPROTO_UDP && !p->companion)
		f->tx.flags |= FLOW_F_TUNNEL;
failed:
	stats_count(STAT_PROBE_FAILED);
	return TC_ACT_SHOT;
}

/* --- 1. when to ask --- */

/* Asks the peer; for a tunnel, whose packets take no second header, by a companion. Returns whether that is on its way. */
static inline int egress_ask(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
			     struct scratch_space *space)
{
	if (p->jumbo_bytes) /* too long except for a companion; a smaller packet will come */
		return 0;
	if (!(f->tx.flags & FLOW_F_TUNNEL) && egress_probe(ctx, space, PROBE_WRAPPED))
		return 1;
	if (!(f->tx.flags & FLOW_F_TUNNEL) || f->path.telemetry != TELEMETRY_COMPANION)
		return 0;
	return companion_is_uncut(ctx, p, f) ? companion_want(ctx, p, f, space) :
					       egress_probe(ctx, space, PROBE_OF_DATA);
}

/*
 * Asks an address that was never heard from: once a second, and all such addresses together within the bucket, because
 * a stranger may have named any victim.
 */
static inline void egress_ask_stranger(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
				       struct scratch_space *space)
{
	const __u64 *asked_ns = bpf_map_lookup_elem(&asked, host_of_flow(&p->key));

	if ((asked_ns && p->now_ns <= *asked_ns + HOST_ASK_NS) || p->now_ns <= f->tx.probe_ns + f->params.t_ns)
		return;
	f->tx.probe_ns = p->now_ns;
	if (!bucket_strangers(BUCKET_ASKS, p->now_ns))
		stats_count(STAT_PROBE_LIMITED);
	else if (egress_ask(ctx, p, f, space))
		bpf_map_update_elem(&asked, host_of_flow(&p->key), &p->now_ns, BPF_ANY);
}

/*
 * The peer, if it strips. Asks if that is not known, and also if a peer that strips was not heard from for long: it may
 * have lost sight of us. SYN, SYN-ACK and RST do not ask: the packets after them show who is at the other end. A UDP
 * flow also asks, once in a base RTT, for feedback that no reply brings; after two if replies bring W, which comes a
 * little more than T apart.
 */
static inline struct host *egress_peer(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
				       const struct control *ctl, struct scratch_space *space)
{
	struct host *h = bpf_map_lookup_elem(&hosts, host_of_flow(&p->key));
	__u64 feedback_ns = f->params.t_ns;
	int ask;

	if (!h) {
		if (!p->syn && !p->rst)
			egress_ask_stranger(ctx, p, f, space);
		return 0;
	}
	if (h->capable && h->heard_ns < ctl->doubt_ns) {
		h->capable = 0;
		h->unanswered_ns = 0;
	}
	if (h->capable && h->unanswered_ns && p->now_ns > h->unanswered_ns + flow_silent_ns(f)) {
		h->unanswered_ns = 0;
		if (!flow_was_paused(f)) {
			h->capable = 0;
			stats_count(STAT_PEER_SILENT);
		}
	}
	ask = (!h->capable || p->now_ns > h->heard_ns + HOST_ASK_NS) &&
	      (!h->asked_ns || p->now_ns > h->asked_ns + HOST_ASK_NS);
	if (f->rx.form == RX_WINDOW)
		feedback_ns *= 2;
	if (h->capable && p->key.proto == IPPROTO_UDP && f->path.telemetry != TELEMETRY_COMPANION &&
	    p->now_ns > f->rx.fb_ns + feedback_ns)
		ask = 1;
	if (ask && !p->syn && !p->rst && p->now_ns > f->tx.probe_ns + f->params.t_ns) {
		f->tx.probe_ns = p->now_ns;
		if (egress_ask(ctx, p, f, space))
			h->asked_ns = p->now_ns;
	}
	return h->capable ? h : 0;
}

/*
 * A packet of a flow that is silent, whose peer is not: it leaves as to a host without Sluice. Once per flow_silent_ns()
 * telemetry is tried again.
 */
static inline enum sluice_stat egress_silent(struct __sk_buff *ctx, const struct egress_pkt *p, struct flow *f,
					     struct host *peer, struct scratch_space *space)
{
	int beside = f->path.telemetry == TELEMETRY_COMPANION, asked;
	__u64 sent;

	if (!p->payload_bytes)
		return STAT_TX_SILENT;
	sent = __sync_fetch_and_add(&f->tx.bytes, p->weight) + p->weight;
	if (p->now_ns < f->companion.left_ns + flow_silent_ns(f) || (p->jumbo_bytes && !beside))
		return STAT_TX_SILENT;
	asked = beside && companion_is_uncut(ctx, p, f) ?
			companion_want(ctx, p, f, space) :
			egress_probe(ctx, space, beside ? PROBE_OF_DATA : PROBE_WRAPPED);
	if (!asked)
		return STAT_TX_SILENT;
	companion_left(&f->companion, sent, p->now_ns);
	peer->asked_ns = p->now_ns;
	if (!peer->unanswered_ns)
		peer->unanswered_ns = p->now_ns;
	return STAT_TX_SILENT;
}

#endif

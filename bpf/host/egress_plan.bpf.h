/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_EGRESS_PLAN_BPF_H
#define SLUICE_EGRESS_PLAN_BPF_H
/* The blocks that a packet takes along, and whether they fit: the sizes in struct egress_pkt that later steps use. */
#include "lib/base.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/voq.bpf.h"
#include "host/echo.bpf.h"
#include "host/encap.bpf.h"
#include "host/encoding.bpf.h"
#include "host/flow.bpf.h"
#include "host/pass.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/wire/wire.h"

/*
 * A packet of several datagrams (UDP_SEGMENT) leaves without our header. Wrapped, and arriving whole as over veth, it
 * would be taken for a tunnel's packet after stripping, and lost. It is paced, and PROBEs bring its feedback.
 */
static inline int egress_is_udp_gso(const struct __sk_buff *ctx, const struct egress_pkt *p)
{
	return p->key.proto == IPPROTO_UDP && ctx->gso_size;
}

/*
 * Chooses the blocks, and fills in those that are known already: INT-MD and the echo. Data with companions has none,
 * unless there is an echo to take along. *voq is the packet's VOQ, or NULL. Returns STAT_TX_DATA, or the counter of a
 * packet that leaves as it is.
 */
static inline enum sluice_stat egress_plan(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
					   const struct control *ctl, struct scratch_space *space, struct voq **voq)
{
	struct egress_head *head = &space->head;

	head->hdr.echo_hops = 0;
	head->hdr.flags = 0;
	p->room = flow_room(f);
	if (p->payload_bytes && flow_telem_is_in_data(f))
		encoding_plan(ctx, p, f, space);
	p->beside = p->payload_bytes && !flow_telem_is_in_data(f);
	if (has_racks() && p->payload_bytes && voq_is_due(f) && (p->beside || !egress_is_udp_gso(ctx, p)))
		*voq = voq_get(f, &p->key.remote, p->now_ns, ctl->epoch);
	if (*voq) {
		p->voq_bytes = WIRE_VOQ_BYTES;
		head->hdr.flags = WIRE_F_VOQ;
	}
	p->auth_bytes = ctl->auth ? WIRE_AUTH_BYTES : 0;
	__builtin_memset(head->blocks, 0, sizeof(struct wire_telem));
	if (!(f->tx.flags & FLOW_F_TUNNEL) && !egress_echo(f, head, p)) /* unreachable */
		return STAT_TX_ENCAP_FAILED;
	if (!p->payload_bytes && !p->echo_bytes)
		return STAT_TX_PLAIN_ACK;
	if (p->echo_bytes)
		p->beside = 0;
	if (p->beside) {
		p->auth_bytes = p->voq_bytes = p->wire_bytes = p->outer_bytes = 0;
		return STAT_TX_DATA;
	}
	p->wire_bytes = WIRE_HDR_BYTES + p->telem_bytes + p->voq_bytes + p->echo_bytes + p->auth_bytes;
	p->outer_bytes = egress_outer_bytes(p) + p->intmd;
	return STAT_TX_DATA;
}

/*
 * Whether UDP to a peer that is not known to strip is still paced: the peer gave feedback and is forgotten, but the flow
 * was not without answers for long, so R fits the path as it was; or it is being asked, and the flow only has its first window. A peer that does not answer has no
 * Sluice, and its flows are not held.
 */
static inline int egress_udp_is_held(const struct egress_pkt *p, const struct flow *f)
{
	const __u64 *asked_ns;

	if (p->key.proto == IPPROTO_TCP || f->rx.feedbacks || !flow_is_first(f, p->now_ns))
		return p->key.proto != IPPROTO_TCP && f->rx.feedbacks && !flow_is_silent(f);
	asked_ns = bpf_map_lookup_elem(&asked, host_of_flow(&p->key));
	return asked_ns && p->now_ns - *asked_ns < FIRST_RTTS * f->params.t_ns;
}

/*
 * A packet to a peer that has not answered yet leaves plain. To a rack it still uses its VOQ: a rack may send C0
 * without credit, and not C0 on top of all that its flows send until the answer comes. A peer that does not answer
 * grants nothing, and its VOQ soon lets everything pass. Returns as egress_plan() does.
 */
static inline enum sluice_stat egress_unknown(const struct egress_pkt *p, struct flow *f, const struct control *ctl,
					      struct voq **voq)
{
	if (has_racks() && p->payload_bytes && voq_is_due(f))
		*voq = voq_get(f, &p->key.remote, p->now_ns, ctl->epoch);
	return *voq || (p->payload_bytes && egress_udp_is_held(p, f)) ? STAT_TX_DATA : STAT_TX_PEER_UNKNOWN;
}

/*
 * The wire bytes of a packet in all its segments, each with `ours` bytes of our headers. Segments of a tunnel also
 * repeat inner headers, which the kernel has counted.
 */
static inline __u32 egress_weight(const struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f,
				  __u32 ours)
{
	__u32 segments = ctx->gso_size ? (p->payload_bytes + ctx->gso_size - 1) / ctx->gso_size : 1;
	__u32 bytes = p->payload_bytes + segments * (p->hdr_bytes + ours);

	return f->tx.flags & FLOW_F_TUNNEL && ctx->gso_size && ctx->wire_len > bytes ? ctx->wire_len : bytes;
}

/*
 * Computes the wire bytes of one segment, and checks that they fit, here and with the bytes that hops add. Notes the
 * largest segment of the flow, the unit of windows. Returns as egress_plan() does.
 */
static inline enum sluice_stat egress_fits(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f)
{
	__u32 ours = p->outer_bytes + p->wire_bytes;
	__u32 segment = (ctx->gso_size ? p->hdr_bytes + ctx->gso_size : ctx->len) + ours, payload;
	int first;

	if (!p->beside && segment + p->growth > f->path.mtu + WIRE_ETH_BYTES) {
		f->tx.flags &= ~FLOW_F_TELEM;
		return STAT_TX_MTU;
	}
	if (!p->beside && ctx->len + ours + p->growth > 0xffff)
		return STAT_TX_TOO_LONG;
	p->weight = egress_weight(ctx, p, f, ours);
	payload = segment - p->hdr_bytes - ours;
	if (payload >= f->tx.mss) {
		first = !f->tx.mss;
		f->tx.mss = payload;
		if (first) /* ingress looks at mss again after it has entered a flow */
			pass_end(&p->key);
		f->tx.segment = p->beside ? segment :
					    p->hdr_bytes + egress_outer_bytes(p) + WIRE_HDR_BYTES + p->voq_bytes +
						    p->auth_bytes + payload + encoding_taken(p);
	}
	return STAT_TX_DATA;
}

#endif

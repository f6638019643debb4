/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ENCODING_BPF_H
#define SLUICE_ENCODING_BPF_H
/*
 * The two encodings of telemetry. All other code works on sizes and on struct wire_telem, and does not know the
 *   encoding.
 *
 *             hpcc (wire.h)                          int-md (intmd.h)
 *  stands     behind our header, where the source    in front of our shim, under a shim of its own,
 *             leaves room for all hops               where each hop makes the packet longer
 *  a hop      writes in place                        moves the outer headers forward
 *  the sink   reads what is there                    converts the stack to what hpcc would have brought
 *  a PROBE    brings it back in its own room         is answered in the room for hpcc, without INT-MD
 *
 *  1. Source: encoding_plan(), encoding_probe(), encoding_write(), and how many bytes that takes.
 *  2. Hop: encoding_hop().
 *  3. Sink: encoding_read(), encoding_is_copy(), encoding_answer().
 *
 * Only tc has sources and hops: XDP only sees arrivals. msg_parse_at() finds our shim after a foreign one.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "port/intmd.bpf.h"
#include "host/flow.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/hpcc.h"
#include "sluice/types.h"
#include "sluice/verifier.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"
#if !CTX_IS_XDP
#include "port/intmd_hop.bpf.h"
#include "port/queue.bpf.h"
#include "host/encap.bpf.h"
#endif

/* --- 3. sink --- */

static inline int encoding_is_in(const struct msg *m)
{
	return m->intmd || m->hdr.max_hops;
}

/* The telemetry of the message in hpcc form, with nHop and pathID in p; NULL: none is readable. */
static __always_inline const struct wire_telem *encoding_read(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p)
{
	const struct wire_telem *telem = 0;

	if (m->intmd)
		telem = intmd_telem(ctx, m);
	else if (m->hdr.max_hops)
		telem = pkt_bytes(ctx, m->offset + WIRE_HDR_BYTES, sizeof(*telem));
	if (!telem)
		return 0;
	p->nhop_path = bpf_ntohs(telem->nhop_path);
	p->nhop = p->nhop_path >> 12;
	if (!m->intmd && p->nhop > m->hdr.max_hops) {
		stats_count(STAT_RX_BAD_TELEM);
		return 0;
	}
	return telem;
}

/* True if the message is a copy that a hop made for its telemetry: the sink discards it. */
static inline int encoding_is_copy(ctx_t *ctx, const struct msg *m)
{
	return intmd_is_copy(ctx, m);
}

/* Moves the telemetry of a PROBE to where its answer carries it. Returns 0 or -EINVAL. */
static inline int encoding_answer(ctx_t *ctx, struct msg *m)
{
	/* One after the other: nested, they exceed the stack. */
	return m->intmd ? intmd_answer(ctx, m, !!intmd_telem(ctx, m)) : 0;
}

#if !CTX_IS_XDP

/* --- 1. source --- */

/*
 * Writes INT-MD for a path of `hops` hops into the scratch space. Returns its bytes, 0 if that is not possible. A
 * node's uplink writes itself as the first hop.
 */
VERIFIED_ONCE int encoding_intmd(struct __sk_buff *ctx, __u32 hops, int stamps)
{
	struct scratch_space *space = scratch_get();
	__u32 ifindex = ctx->ifindex;
	struct qdisc_state state = {};
	const struct port *port;
	struct intmd_space *s;

	if (!space)
		return 0;
	s = &space->intmd;
	intmd_begin(s, hops);
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!stamps || !port)
		return INTMD_SOURCE_BYTES;
	if (egress_uplink_read(ctx, port, &state))
		return INTMD_SOURCE_BYTES;
	intmd_values(s, port, &state);
	s->room_bytes = INTMD_HOP_BYTES; /* the packet's room has not been measured yet */
	intmd_stamp(s);
	return INTMD_SOURCE_BYTES + s->bytes;
}

/* Adds telemetry to the packet's blocks, with room for p->room hops. */
static inline void encoding_plan(struct __sk_buff *ctx, struct egress_pkt *p, const struct flow *f,
				 struct scratch_space *space)
{
	if (f->path.encoding == ENCODING_HPCC)
		p->telem_bytes = WIRE_TELEM_BYTES(p->room);
	if (f->path.encoding == ENCODING_INT_MD) {
		p->intmd = encoding_intmd(ctx, p->room, f->path.port_flags & PORT_F_STAMP);
		p->growth = INTMD_HOP_BYTES * space->intmd.hdr[3];
	}
}

/*
 * Bytes in front of the shim of a PROBE. A PROBE has the room of the hpcc encoding in either case: the telemetry of
 * both encodings comes back in it.
 */
static inline __u32 encoding_probe(struct __sk_buff *ctx, const struct flow *f)
{
	return f->path.encoding == ENCODING_INT_MD ?
		       encoding_intmd(ctx, HPCC_MAX_HOPS, f->path.port_flags & PORT_F_STAMP) :
		       0;
}

/* Bytes of telemetry that the packet takes along; 0: none. */
static inline __u32 encoding_taken(const struct egress_pkt *p)
{
	return p->telem_bytes + p->intmd;
}

/* Bytes of telemetry in each packet of the flow that has payload. */
static inline __u32 encoding_bytes(const struct flow *f)
{
	if (!flow_telem_is_in_data(f))
		return 0;
	if (f->path.encoding == ENCODING_INT_MD)
		return INTMD_SOURCE_BYTES + (f->path.port_flags & PORT_F_STAMP ? INTMD_HOP_BYTES : 0);
	return WIRE_TELEM_BYTES(flow_room(f));
}

/* As egress_head_store(), with p->intmd bytes of INT-MD, not included in bytes, in front of our shim. */
VERIFIED_APART int encoding_intmd_write(struct __sk_buff *ctx, const struct egress_pkt *p,
					const struct egress_head *head, __u32 bytes)
{
	struct scratch_space *space = scratch_get();
	__u32 outer = egress_outer_bytes(p), intmd = p->intmd;

	if (!space)
		return -EINVAL;
	if (p->v6 ? bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v6, sizeof(head->ip.v6) + sizeof(head->udp), 0) :
		    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v4, sizeof(head->ip.v4) + sizeof(head->udp), 0))
		return -EINVAL;
	/* Bounds are checked right before each call: Linux 6.1 forgets those of spilled values. */
	VERIFIER_AT_LEAST(intmd, INTMD_SOURCE_BYTES, -EINVAL);
	VERIFIER_FORGET(intmd);
	if (intmd > INTMD_SOURCE_BYTES + INTMD_HOP_BYTES ||
	    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + outer, &space->intmd.shim, intmd, 0))
		return -EINVAL;
	bytes -= outer;
	VERIFIER_AT_LEAST(bytes, WIRE_HDR_BYTES, -EINVAL);
	VERIFIER_AT_MOST(bytes, sizeof(head->shim) + sizeof(head->hdr) + sizeof(head->blocks), -EINVAL);
	return bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + outer + intmd, &head->shim, bytes, 0);
}

/* Writes the headers into the packet's room. bytes: from the outer IP header on, without INT-MD. */
static inline int encoding_write(struct __sk_buff *ctx, const struct egress_pkt *p, const struct egress_head *head,
				 __u32 bytes)
{
	return p->intmd ? encoding_intmd_write(ctx, p, head, bytes) : egress_head_store(ctx, p, head, bytes);
}

/* --- 2. hop --- */

/* Writes the hop into the room that the source left for it. */
static inline enum sluice_stat encoding_hop_hpcc(struct __sk_buff *ctx, const struct msg *m, const struct port *port,
						 const struct qdisc_state *s)
{
	__u32 at = m->offset + WIRE_HDR_BYTES, nhop;
	const __be16 *nhop_path;
	__be64 stamp;
	__u16 v;

	if ((wire_message(&m->hdr) != WIRE_DATA && wire_message(&m->hdr) != WIRE_PROBE) || !m->hdr.max_hops)
		return STAT_HOP_OTHER;
	nhop_path = pkt_bytes(ctx, at, sizeof(*nhop_path));
	if (!nhop_path)
		return STAT_HOP_BAD;
	v = bpf_ntohs(*nhop_path);
	nhop = v >> 12;
	if (nhop >= m->hdr.max_hops)
		return nhop == m->hdr.max_hops ? STAT_HOP_FULL : STAT_HOP_BAD;
	stamp = bpf_cpu_to_be64(telem_pack(s->speed, bpf_ktime_get_ns(), s->tx_bytes, s->backlog_bytes));
	v = bpf_htons((nhop + 1) << 12 | ((v ^ port->switch_id) & WIRE_PATH_MASK));
	if (bpf_skb_store_bytes(ctx, at + 4 + nhop * WIRE_HOP_BYTES, &stamp, sizeof(stamp), 0) ||
	    bpf_skb_store_bytes(ctx, at, &v, sizeof(v), 0))
		return STAT_HOP_BAD;
	return STAT_HOP_STAMPED;
}

/* Stamps a message with the port, whose queue is in state s. */
static inline enum sluice_stat encoding_hop(struct __sk_buff *ctx, const struct msg *m, const struct port *port,
					    const struct qdisc_state *s)
{
	return m->intmd ? intmd_hop(ctx, m, port, s) : encoding_hop_hpcc(ctx, m, port, s);
}

#endif
#endif

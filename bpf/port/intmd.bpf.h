/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_INTMD_BPF_H
#define SLUICE_INTMD_BPF_H
/*
 * The `int-md` telemetry encoding (intmd.h) in the packets of source, hop and sink. It is in front of Sluice's own
 * shim, so everything after it is unchanged, further on by msg.intmd bytes.
 *
 *  1. Source: writes shim and INT-MD header, and, at a node's uplink, its own hop. The packet grows on its way, so the
 *     source reserves MTU for all the hops that it asks for.
 *  2. Hop: lengthens the packet after its Ethernet header, moves the outer headers forward, and writes its words into
 *     the gap. A GSO packet stays one: only the header that the kernel repeats on every segment grows. The UDP checksum
 *     is 0 and stays so.
 *  3. Sink: reads the stack into the packet form of the other encoding (wire_telem), which the rest of ingress works
 *     on. An unreadable stack is counted by reason, and the packet is still stripped. If E or M shows that hops are
 *     missing, the present ones count: so a source sees that the path is longer than it thought, and asks for more.
 *  4. A PROBE has room for the hpcc encoding as well: the sink writes its result there, and removes the INT-MD before
 *     it turns the packet round. So no hop that knows INT but not Sluice can write into the reply.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/cc/hpcc.h"
#include "sluice/types.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/wire.h"

/* Loads outer headers, shim and INT-MD header of a message from the packet. */
static inline int intmd_load(ctx_t *ctx, const struct msg *m, struct intmd_space *s)
{
	__u32 at = m->offset - m->intmd;

	return m->ip.v6 ? ctx_load(ctx, at - sizeof(s->ip.v6) - sizeof(s->udp), &s->ip.v6,
				   sizeof(s->ip.v6) + sizeof(s->udp) + INTMD_SOURCE_BYTES) :
			  ctx_load(ctx, at - sizeof(s->ip.v4) - sizeof(s->udp), &s->ip.v4,
				   sizeof(s->ip.v4) + sizeof(s->udp) + INTMD_SOURCE_BYTES);
}

/* Adjusts the outer headers of a packet that grows, or shrinks, by bytes. */
static inline void intmd_resize(struct intmd_space *s, int v6, __s32 by)
{
	__be16 *len = v6 ? &s->ip.v6.payload_len : &s->ip.v4.tot_len, old = *len;
	__u32 sum;

	*len = bpf_htons(bpf_ntohs(old) + by);
	if (!v6) { /* RFC 1624, equation 3 */
		sum = (__u16)~s->ip.v4.check + (__u16)~old + *len;
		sum = (sum & 0xffff) + (sum >> 16);
		s->ip.v4.check = ~(sum + (sum >> 16));
	}
	s->udp.len = bpf_htons(bpf_ntohs(s->udp.len) + by);
}

/* Reads the stack in s into s->telem; an enum intmd_verdict. */
VERIFIED_ONCE int intmd_convert(struct intmd_space *s)
{
	int verdict, i;

	if (!s)
		return INTMD_BAD_LENGTH;
	__builtin_memset(&s->telem, 0, sizeof(s->telem));
	verdict = intmd_sink(s->hdr, s->stack, s->bytes, &s->path);
	if (verdict != INTMD_OK && verdict != INTMD_INCOMPLETE)
		return verdict;
	for (i = 0; i < HPCC_MAX_HOPS && i < s->path.hops; i++) {
		const struct hpcc_hop *hop = &s->path.hop[i];

		if (s->fit_bps[i] != hop->bps) {
			s->fit[i] = intmd_speed(hop->bps);
			s->fit_bps[i] = hop->bps;
		}
		*(__be64 *)s->telem.hop[i] = bpf_cpu_to_be64(intmd_pack(s->fit[i], hop, s->path.tx_units[i]));
	}
	s->telem.nhop_path = bpf_htons(s->path.hops << 12 | s->path.path_id);
	return verdict;
}

/* The telemetry of a message, in the other encoding; NULL, and counted, if it is unreadable. */
VERIFIED_APART const struct wire_telem *intmd_telem(ctx_t *ctx, const struct msg *m)
{
	struct scratch_space *space = scratch_get();
	__u32 bytes = m->intmd - INTMD_SOURCE_BYTES;
	struct intmd_space *s;

	if (!space)
		return 0;
	s = &space->intmd;
	VERIFIER_FORGET(bytes);
	if (bytes > sizeof(s->stack)) { /* more words than 5 hops have */
		stats_count(STAT_RX_INT_HOPS);
		return 0;
	}
	s->bytes = bytes;
	if (ctx_load(ctx, m->offset - bytes - sizeof(s->hdr), s->hdr, sizeof(s->hdr)))
		return 0;
	VERIFIER_FORGET(bytes); /* Linux 6.1 has lost its bounds in the call, and learns nothing from != 0 */
	if (bytes >= 4) {
		VERIFIER_FORGET(bytes);
		if (bytes > sizeof(s->stack) || ctx_load(ctx, m->offset - bytes, s->stack, bytes))
			return 0;
	}
	switch (intmd_convert(s)) {
	case INTMD_OK:
		return &s->telem;
	case INTMD_INCOMPLETE:
		if (s->hdr[0] & INTMD_E)
			stats_count(STAT_RX_INT_FULL);
		if (s->hdr[0] & INTMD_M)
			stats_count(STAT_RX_INT_MTU);
		return &s->telem;
	case INTMD_BAD_VERSION:
		stats_count(STAT_RX_INT_VERSION);
		break;
	case INTMD_TOO_MANY_HOPS:
		stats_count(STAT_RX_INT_HOPS);
		break;
	case INTMD_NO_FIELD:
		stats_count(STAT_RX_INT_FIELDS);
		break;
	case INTMD_NO_VALUE:
	case INTMD_BAD_VALUE:
		stats_count(STAT_RX_INT_VALUES);
		break;
	default:
		stats_count(STAT_RX_INT_LENGTH);
	}
	return 0;
}

/* Whether it is a copy, which the sink discards. */
static inline int intmd_is_copy(ctx_t *ctx, const struct msg *m)
{
	const __u8 *first;

	if (!m->intmd)
		return 0;
	first = pkt_bytes(ctx, m->offset - m->intmd + sizeof(struct wire_shim), 1);
	return first && *first & INTMD_D;
}

#define INTMD_UNREADABLE 0xf000 /* as nHop: more hops than there is room for, which is refused */

/*
 * Removes the INT-MD of a PROBE, and stores its content (if readable: intmd_telem() has converted it) in the PROBE's
 * own room.
 */
VERIFIED_ONCE int intmd_answer(ctx_t *ctx, struct msg *m, int readable)
{
	struct scratch_space *space = scratch_get();
	struct intmd_space *s;
	__u32 bytes;

	if (!m || !space)
		return -EINVAL;
	bytes = m->intmd;
	s = &space->intmd;
	if (!readable)
		s->telem.nhop_path = bpf_htons(INTMD_UNREADABLE);
	if (m->hdr.max_hops == HPCC_MAX_HOPS && ctx_store(ctx, m->offset + WIRE_HDR_BYTES, &s->telem, sizeof(s->telem)))
		return -EINVAL;
	if (intmd_load(ctx, m, s) || ctx_strip(ctx, bytes))
		return -EINVAL;
	intmd_resize(s, m->ip.v6, -bytes);
	m->offset -= bytes;
	m->ip.total -= bytes;
	m->intmd = 0;
	return m->ip.v6 ? ctx_store(ctx, WIRE_ETH_BYTES, &s->ip.v6, sizeof(s->ip.v6) + sizeof(s->udp)) :
			  ctx_store(ctx, WIRE_ETH_BYTES, &s->ip.v4, sizeof(s->ip.v4) + sizeof(s->udp));
}

#endif

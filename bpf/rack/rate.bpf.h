/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RATE_BPF_H
#define SLUICE_RATE_BPF_H
/*
 * HierCC at a host whose switch keeps the VOQs (tor.bpf.h; HierCC, section 3.3).
 *
 *  1. egress puts an empty VOQ block into its packets, for the switch to fill in. One packet to each destination in
 *     every period of Equation 1 has a mark: it asks for R.
 *  2. The switch sends R in a RATE message, which batch.bpf.h takes. It is valid for limit_ns: a silent switch leaves
 *     the flow to HPCC, a lost message leaves it as it was, and neither ever stops it.
 *
 * The host's entry in voqs has no more of a VOQ than R and its parameters. CPUs that read R while it is stored get the
 * old or the new value.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/auth.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/once.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/*
 * Makes the block of a packet of the flow, and sets its R as told by the switch. If companions carry the block S counts
 * this host's sent bytes, which shows when the next companion is due; the switch writes its own S.
 */
VERIFIED_ONCE int rate_ask(struct flow *f, struct voq *v, __u64 now_ns, __u32 bytes, struct wire_voq *block)
{
	__u64 told_ns, asked_ns;

	if (!f || !v || !block)
		return 0;
	told_ns = READ_ONCE(v->told_ns);
	asked_ns = READ_ONCE(v->asked_ns);
	v->voq.last_ns = now_ns;
	f->voq.rate_bps = told_ns && now_ns < told_ns + v->params.limit_ns ? v->told_bps : 0;
	__builtin_memset(block, 0, sizeof(*block));
	block->prefixlen = 128;
	if (f->path.telemetry == TELEMETRY_COMPANION) {
		block->total = bpf_htonl((__u32)(__sync_fetch_and_add(&v->voq.sent, bytes) + bytes));
		block->flags = WIRE_VOQ_BESIDE | WIRE_VOQ_SWITCH;
	}
	if (now_ns >= asked_ns + v->hop_params.period_ns &&
	    __sync_val_compare_and_swap(&v->asked_ns, asked_ns, now_ns) == asked_ns) {
		block->flags |= WIRE_VOQ_MARK;
		stats_count(STAT_VOQ_ASKED);
	}
	return 0;
}

/* Takes one entry of a RATE message. A stop is stored as R_min: a stopped host would never ask again. */
VERIFIED_ONCE int rate_take(const struct wire_rate *r)
{
	struct scratch_space *space = scratch_get();
	const struct report_from *from;
	struct voq_key key = {};
	struct voq *v;
	__u64 bps, min, kept = 0;

	if (!r || !space)
		return 0;
	from = &space->from;
	__builtin_memcpy(&key.addr, r->addr, sizeof(key.addr));
	key.prefixlen = r->prefixlen;
	v = bpf_map_lookup_elem(&voqs, &key);
	if (!v || !v->asked_ns) {
		stats_count(STAT_RATE_NO_VOQ);
		return 0;
	}
	if (from->auth_seq && !auth_takes_voq(v, from->floor, from->auth_seq, &kept)) {
		stats_count(STAT_RX_REPLAYED);
		return 0;
	}
	bps = 1000ULL * bpf_ntohl(r->kbps);
	min = 8 * v->hop_params.rate_min;
	v->told_bps = bps > min ? bps : min;
	v->told_ns = r->flags & WIRE_RATE_ALONE ? 0 : from->now_ns;
	stats_count(STAT_RATE_TAKEN);
	return 0;
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <string.h>

#include "hpcc_case.h"

double u_of(const struct hpcc_state *st)
{
	return (double)st->u / Q24_ONE;
}

double bytes(q12_t w)
{
	return (double)w / Q12_ONE;
}

struct hpcc_state flow_new(void)
{
	struct hpcc_state st;

	memset(&st, 0, sizeof(st)); /* padding too: states are compared as memory */
	hpcc_init(&st, &params);
	return st;
}

struct hpcc_ack feedback(__u64 seq, __u32 ts_ns, __u32 tx_bytes, __u32 qlen_bytes)
{
	struct hpcc_ack ack = {
		.seq = seq,
		.snd_nxt = seq + 50000,
		.gap_ns = HPCC_GAP_UNKNOWN,
		.path_id = 7,
		.hops = 1,
		.hop = { { .bps = 100 * GBPS, .ts_ns = ts_ns, .tx_bytes = tx_bytes, .qlen_bytes = qlen_bytes } },
	};

	return ack;
}

struct hpcc_state flow_primed(__u32 qlen_bytes)
{
	struct hpcc_ack ack = feedback(1, 1000, 0, qlen_bytes);
	struct hpcc_state st = flow_new();

	ack.snd_nxt = ack.seq;
	cr_assert_eq(hpcc_new_ack(&st, &params, &ack), HPCC_FIRST);
	return st;
}

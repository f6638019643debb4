/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HPCC_CASE_H
#define HPCC_CASE_H
/* Shared by the tests of include/sluice/cc/hpcc.h: a flow, and feedback to it. */
#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"
#include "model.h"
#include "trace.h"

#define GBPS 1000000000ULL
#define HALF_NS (1LL << 23)

/* The flow of issue 2: 100 Gbit/s, 4.16 us, 52000 bytes. */
static const struct hpcc_params params = {
	.t_ns = 4160,
	.w_init = 52000 * Q12_ONE,
	.w_min = 1000 * Q12_ONE,
	.w_ai = 80 * Q12_ONE,
	.eta = Q24_ONE * 95 / 100,
	.max_stage = 5,
};

double u_of(const struct hpcc_state *st);
double bytes(q12_t w);
struct hpcc_state flow_new(void);
/* Feedback of one hop at 100 Gbit/s. */
struct hpcc_ack feedback(__u64 seq, __u32 ts_ns, __u32 tx_bytes, __u32 qlen_bytes);
/* A flow with a record of one hop: one packet sent, nothing queued, the clock at 1000. */
struct hpcc_state flow_primed(__u32 qlen_bytes);

#endif

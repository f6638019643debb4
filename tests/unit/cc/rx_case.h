/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RX_CASE_H
#define RX_CASE_H
/* Shared by the tests of include/sluice/cc/rx.h. */
#include "sluice/cc/rx.h"

/* The flow of the paper's simulations: 100 Gbit/s, 4.16 us, 52000 bytes. */
static const struct hpcc_params params = {
	.t_ns = 4160,
	.w_init = 52000 * Q12_ONE,
	.w_min = 1000 * Q12_ONE,
	.w_ai = 80 * Q12_ONE,
	.eta = Q24_ONE * 95 / 100,
	.max_stage = 5,
};

#endif

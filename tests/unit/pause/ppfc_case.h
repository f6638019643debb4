/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PPFC_CASE_H
#define PPFC_CASE_H
/* Shared by the tests of include/sluice/pause. */
#include "sluice/pause/ppfc.h"

#define BPS 40000000000ULL
#define LAB_BPS 100000000ULL
#define START 1000000000ULL
#define US 1000ULL
#define MS (1000 * US)

__u64 any(void);

static const struct pfc_params gate = {
	.pause_ns = 20000,
	.xoff = 100000,
	.gap = 2000,
};

/* 4 MB shared of 9 MB, 16 ports of 40 Gbit/s, 1 us. */
struct ppfc_params ppfc_params_usual(void);
struct ppfc_queue queue(__u32 bytes, __s64 increment);

#endif

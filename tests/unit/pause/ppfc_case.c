// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "ppfc_case.h"

__u64 any(void)
{
	static __u64 x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1dULL;
}

struct ppfc_params ppfc_params_usual(void)
{
	struct ppfc_params p;

	ppfc_params_init(&p, 4000000, 9000000, 16, BPS, 1000);
	p.t_thresh_ns = ppfc_t_min(9000000, 16, BPS); /* as the paper has it: 112.5 us */
	return p;
}

struct ppfc_queue queue(__u32 bytes, __s64 increment)
{
	return (struct ppfc_queue){ .bps = BPS, .bytes = bytes, .increment = increment };
}

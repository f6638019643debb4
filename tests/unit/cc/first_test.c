// SPDX-License-Identifier: GPL-2.0-only
/* include/sluice/cc/first.h: how flows share first windows. */
#include <criterion/criterion.h>
#include "sluice/cc/first.h"

TestSuite(first, .timeout = 60);

#define T_NS 4000000ULL

Test(first, first_count__those_of_a_t_or_of_silence)
{
	__u64 now = 1ULL << 42;
	struct first_flows c = {};
	__u32 began[32] = {};
	int i;

	cr_expect_eq(first_counted(&c), 1, "nobody yet");
	for (i = 0; i < 8; i++)
		cr_expect_eq(first_count(&c, &began[i], now + i * 2000, T_NS, 0), (__u32)i + 1);
	cr_expect_eq(first_count(&c, &began[3], now + 20000, T_NS, 0), 8, "it counts once");
	now += 2 * T_NS;
	cr_expect_eq(first_count(&c, &began[8], now, T_NS, 0), 9, "nothing was heard");
	cr_expect_eq(first_count(&c, &began[9], now, T_NS, now - 3 * T_NS), 10, "nor since they began");
	cr_expect_eq(first_count(&c, &began[10], now, T_NS, now - 1000), 1);
	now += FIRST_RTTS * T_NS + 2048;
	cr_expect_eq(first_count(&c, &began[11], now, T_NS, 0), 1, "a path that tells nothing");
	cr_expect_eq(first_counted(&c), 1);
}

Test(first, first_window__bounds)
{
	const q12_t w = q12_from_bytes(50000);

	cr_expect_eq(first_window(w, 1, 0, 1514), w);
	cr_expect_eq(first_window(w, 0, 0, 1514), w);
	cr_expect_eq(first_window(w, 4, 0, 1514), w / 4);
	cr_expect_eq(first_window(w, 1000, 0, 1514), q12_from_bytes(2 * 1514));
	cr_expect_eq(first_window(w, 1, q12_from_bytes(20000), 1514), q12_from_bytes(20000));
	cr_expect_eq(first_window(w, 4, q12_from_bytes(20000), 1514), w / 4);
	cr_expect_eq(first_window(w, 1, q12_from_bytes(60), 1514), q12_from_bytes(2 * 1514),
		     "of a flow below a packet");
	cr_expect_eq(first_window(q12_from_bytes(1000), 2, 0, 1514), q12_from_bytes(1000), "a path of less than two");
}

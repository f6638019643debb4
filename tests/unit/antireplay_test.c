// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/antireplay.h"

TestSuite(antireplay, .timeout = 60);

static struct antireplay window_at(__u32 seq)
{
	struct antireplay w;

	antireplay_init(&w);
	cr_assert_eq(antireplay_accept(&w, seq), ANTIREPLAY_ACCEPTED, "the first, whatever it is");
	return w;
}

Test(antireplay, antireplay_accept__nothing_twice)
{
	static const __u32 starts[] = { 0, 1, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff };
	size_t i;

	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct antireplay w = window_at(starts[i]);
		__u32 k;

		cr_expect_eq(antireplay_accept(&w, starts[i]), ANTIREPLAY_REPLAYED);
		for (k = 1; k <= 200; k++) {
			cr_expect_eq(antireplay_accept(&w, starts[i] + k), ANTIREPLAY_ACCEPTED);
			cr_expect_eq(antireplay_accept(&w, starts[i] + k), ANTIREPLAY_REPLAYED);
		}
		for (k = 200; k > 200 - ANTIREPLAY_WINDOW; k--)
			cr_expect_eq(antireplay_accept(&w, starts[i] + k), ANTIREPLAY_REPLAYED);
		cr_expect_eq(antireplay_accept(&w, starts[i] + k), ANTIREPLAY_OLD);
	}
}

Test(antireplay, antireplay_accept__late_ones_once)
{
	struct antireplay w = window_at(20);
	__u32 k;

	cr_expect_eq(antireplay_accept(&w, 20 + 63), ANTIREPLAY_ACCEPTED);
	cr_expect_eq(antireplay_accept(&w, 20), ANTIREPLAY_REPLAYED, "the last of the window");
	cr_expect_eq(antireplay_accept(&w, 19), ANTIREPLAY_OLD);
	for (k = 21; k < 20 + 63; k++)
		cr_expect_eq(antireplay_accept(&w, k), ANTIREPLAY_ACCEPTED, "%u", k);
	cr_expect_eq(w.seen, ~0ULL);
	cr_expect_eq(antireplay_accept(&w, 20 + 64), ANTIREPLAY_ACCEPTED);
	cr_expect_eq(antireplay_accept(&w, 20), ANTIREPLAY_OLD);
}

Test(antireplay, antireplay_accept__a_jump_forgets_the_window)
{
	static const __u32 jumps[] = { 63, 64, 65, 1000, 0x7fffffff };
	size_t i;

	for (i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct antireplay w = window_at(0xfffffff0);

		cr_expect_eq(antireplay_accept(&w, 0xfffffff0 + jumps[i]), ANTIREPLAY_ACCEPTED);
		cr_expect_eq(antireplay_accept(&w, 0xfffffff0),
			     jumps[i] < 64 ? ANTIREPLAY_REPLAYED : ANTIREPLAY_OLD, "jump %u",
			     jumps[i]);
		cr_expect_eq(antireplay_accept(&w, 0xfffffff0 + jumps[i] - 1), ANTIREPLAY_ACCEPTED,
			     "not used before the jump");
	}
}

/* Half the circle ahead is behind. */
Test(antireplay, antireplay_accept__half_the_circle)
{
	struct antireplay w = window_at(5);

	cr_expect_eq(antireplay_accept(&w, 5 + 0x80000000), ANTIREPLAY_OLD);
	cr_expect_eq(antireplay_accept(&w, 4 + 0x80000000), ANTIREPLAY_ACCEPTED);
}

/* Against a memory of everything, over several wraps. */
Test(antireplay, antireplay_accept__agrees_with_a_full_memory)
{
	unsigned short rng[3] = { 1, 2, 3 };
	int64_t newest = 0xffffff00, seq, k;
	static uint8_t used[1 << 20];
	struct antireplay w = window_at(newest);
	unsigned long verdicts[3] = { 0 };
	int i;

	used[newest % sizeof(used)] = 1;
	for (i = 0; i < 2000000; i++) {
		enum antireplay_verdict want, got;

		seq = newest + nrand48(rng) % 100 - 80;
		if (nrand48(rng) % 1000 == 0)
			seq += nrand48(rng) % 100000;
		if (seq < newest - 100)
			continue;
		want = seq <= newest - 64	   ? ANTIREPLAY_OLD
		       : seq > newest		   ? ANTIREPLAY_ACCEPTED
		       : used[seq % sizeof(used)] ? ANTIREPLAY_REPLAYED
						   : ANTIREPLAY_ACCEPTED;
		for (k = newest + 1; k <= seq; k++)
			used[k % sizeof(used)] = 0;
		if (want == ANTIREPLAY_ACCEPTED)
			used[seq % sizeof(used)] = 1;
		if (seq > newest)
			newest = seq;
		got = antireplay_accept(&w, seq);
		cr_assert_eq(got, want, "sequence %lld, newest %lld: %d", (long long)seq,
			     (long long)newest, got);
		verdicts[got]++;
	}
	for (i = 0; i < 3; i++)
		cr_expect_gt(verdicts[i], 10000);
}

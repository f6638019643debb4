// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "sluice/cc/companion.h"

TestSuite(companion, .timeout = 60);

#define PACKET 1000U
#define T_NS 10000U

struct flow {
	struct companion_state st;
	struct companion_params c;
	struct hpcc_state cc;
	struct hpcc_params p;
	__u64 sent, now_ns;
};

static struct flow flow_new(void)
{
	struct flow f = { .p = { .t_ns = T_NS, .eta = Q24_ONE / 100 * 95 }, .now_ns = 1000 };

	companion_params_init(&f.c, PACKET, T_NS);
	return f;
}

/* Sends packets, that many ns apart. Returns the number of companions that left. */
static int flow_send(struct flow *f, int packets, __u64 apart_ns)
{
	int companions = 0;

	while (packets--) {
		f->sent += PACKET;
		if (companion_is_due(&f->st, &f->c, &f->cc, &f->p, f->sent, f->now_ns)) {
			companion_left(&f->st, f->sent, f->now_ns);
			companions++;
		}
		f->now_ns += apart_ns;
	}
	return companions;
}

/* Past the first ones. */
static struct flow flow_settled(void)
{
	struct flow f = flow_new();

	while (f.st.count < COMPANION_FIRST)
		flow_send(&f, 1, T_NS);
	return f;
}

Test(companion, companion_is_due__not_for_a_flow_that_ends_with_its_first_packets)
{
	struct flow f = flow_new();

	cr_expect_eq(flow_send(&f, COMPANION_AFTER, 0), 0);
	cr_expect_eq(flow_send(&f, 1, 0), 1);
}

Test(companion, companion_is_due__the_first_ones_do_not_wait_for_t)
{
	struct flow f = flow_new();

	cr_expect_eq(flow_send(&f, 1 + COMPANION_AFTER * COMPANION_EARLY, 0), COMPANION_EARLY, "at one moment");
	cr_expect_eq(flow_send(&f, (COMPANION_FIRST - COMPANION_EARLY) * COMPANION_PACKETS, 0),
		     COMPANION_FIRST - COMPANION_EARLY);
	cr_expect_eq(flow_send(&f, 100, 0), 0, "the ninth does");
	f.now_ns += T_NS;
	cr_expect_eq(flow_send(&f, 1, 0), 1);
}

Test(companion, companion_is_due__once_in_t)
{
	struct flow f = flow_settled();

	cr_expect_eq(flow_send(&f, 1000, T_NS / 100), 10);
}

Test(companion, companion_is_due__once_in_8_packets_where_a_window_has_less)
{
	struct flow f = flow_settled();

	cr_expect_eq(flow_send(&f, 800, T_NS / 4), 100);
}

Test(companion, companion_is_due__with_any_packet_after_two_t)
{
	struct flow f = flow_settled();

	f.now_ns += T_NS;
	cr_expect_eq(flow_send(&f, 100, 2 * T_NS), 100);
	cr_expect_eq(flow_send(&f, 100, T_NS), 50, "each second one");
}

Test(companion, companion_is_due__by_packets_alone_while_u_is_above_eta)
{
	struct flow f = flow_settled();

	f.cc.hops = 1;
	f.cc.u = f.p.eta + 1;
	cr_expect_eq(flow_send(&f, 800, 1), 100);
	f.cc.u = 2 * f.p.eta;
	cr_expect_eq(flow_send(&f, 800, 1), 100);
	f.cc.u++;
	cr_expect_eq(flow_send(&f, 800, 1), 400, "of a BDP and more");
	f.cc.u = f.p.eta;
	cr_expect_leq(flow_send(&f, 800, 1), 1, "not at eta");
	f.cc.u = 2 * Q24_ONE;
	f.cc.hops = 0;
	cr_expect_leq(flow_send(&f, 800, 1), 1, "nor by a U of no path");
}

/* One that left before the last commit ends no round. */
Test(companion, companion_is_due__behind_a_commit)
{
	struct flow f = flow_settled();

	f.now_ns = f.st.left_ns;
	cr_expect_eq(flow_send(&f, COMPANION_PACKETS - 1, 1), 0);
	f.cc.last_update_seq = f.st.sent - 1;
	cr_expect_eq(flow_send(&f, 1, 1), 0, "the one under way will");
	f.cc.last_update_seq++;
	cr_expect_eq(flow_send(&f, 1, 1), 1);
	cr_expect_eq(flow_send(&f, 100, 1), 0);
}

Test(companion, companion_is_due__asks_for_one_when_a_flow_has_begun_anew)
{
	struct flow f = flow_settled();

	f.sent = COMPANION_AFTER * PACKET;
	f.now_ns += T_NS;
	cr_expect_eq(flow_send(&f, 1, 0), 1);
}

/* A quiet packet is not due, and one that is not quiet is, packet by packet. */
Test(companion, companion_is_quiet__as_is_due_says)
{
	const q24_t us[] = { Q24_ONE / 2, Q24_ONE, 2 * Q24_ONE };
	struct companion_quiet q;
	struct flow f;
	int kind, i;

	for (kind = 0; kind < 6; kind++) {
		f = flow_new();
		f.cc.hops = 1;
		f.cc.u = us[kind % 3];
		companion_quiet_init(&q, &f.st, &f.c, &f.cc, &f.p);
		cr_expect_not(companion_is_quiet(&q, PACKET, f.now_ns), "nothing is before the first");
		for (i = 0; i < 20000; i++) {
			f.sent += PACKET;
			f.now_ns += (i * 7919ULL) % (i % 1000 < 500 ? T_NS / 16 : T_NS);
			if (kind >= 3 && i % 5 == 0) { /* a commit */
				f.cc.last_update_seq = f.sent;
				companion_quiet_init(&q, &f.st, &f.c, &f.cc, &f.p);
			}
			if (f.st.count)
				cr_assert_neq(companion_is_quiet(&q, f.sent, f.now_ns),
					      companion_is_due(&f.st, &f.c, &f.cc, &f.p, f.sent, f.now_ns), "packet %d", i);
			if (companion_is_due(&f.st, &f.c, &f.cc, &f.p, f.sent, f.now_ns)) {
				companion_left(&f.st, f.sent, f.now_ns);
				companion_quiet_init(&q, &f.st, &f.c, &f.cc, &f.p);
			}
		}
		cr_expect_gt(f.st.count, 1000U);
	}
}

Test(companion, companion_left__the_count_stops)
{
	struct companion_state st = { .count = ~0U };

	companion_left(&st, 1, 1);
	cr_expect_eq(st.count, ~0U);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Packets that take turns over several paths: a record for each. */
#include <criterion/criterion.h>
#include <string.h>

#include "sluice/cc/paths.h"
#include "hpcc_case.h"

TestSuite(paths, .timeout = 60);

#define PATHS_MOST 8
#define STEP_NS 2080 /* between two feedbacks: half a T */

/* A flow, its records, and the last hop of each path: one of 100 Gbit/s that sends at load, with a queue. */
struct turns {
	struct hpcc_state st;
	struct hpcc_paths paths;
	__u64 now_ns, seen_ns, rx_ns;
	double load[PATHS_MOST], tx[PATHS_MOST];
	__u64 at_ns[PATHS_MOST];
	__u32 qlen[PATHS_MOST];
	unsigned int kinds[HPCC_SKIPPED + 1], turned[HPCC_TURN_CROWDED + 1];
};

static struct turns turns_new(double load)
{
	struct turns t = { .now_ns = NSEC_PER_SEC };
	int i;

	hpcc_init(&t.st, &params);
	for (i = 0; i < PATHS_MOST; i++) {
		t.load[i] = load;
		t.at_ns[i] = t.now_ns;
	}
	return t;
}

/* A feedback of that path, as bpf/host/feedback.bpf.h takes it. records: 0: without any, as it was. */
static enum hpcc_kind turn(struct turns *t, unsigned int path, int records)
{
	struct hpcc_paths_at at = { .t_ns = params.t_ns, .path_id = path, .hops = 1 };
	struct hpcc_ack ack;
	enum hpcc_kind kind;

	t->now_ns += STEP_NS;
	t->tx[path] += t->load[path] * 12.5 * (t->now_ns - t->at_ns[path]);
	t->at_ns[path] = t->now_ns;
	at.now_ns = t->now_ns;
	ack = feedback(t->now_ns, t->now_ns & HPCC_TS_MASK, (__u64)t->tx[path] & HPCC_TX_MASK, t->qlen[path]);
	ack.path_id = path;
	ack.snd_nxt = t->now_ns + params.t_ns;
	if (records) {
		t->turned[hpcc_paths_turn(&t->paths, &t->st, &at, t->seen_ns, &t->rx_ns)]++;
		ack.u_other = hpcc_paths_u(&t->paths, &at);
	}
	ack.gap_ns = t->now_ns - t->rx_ns;
	kind = hpcc_new_ack(&t->st, &params, &ack);
	t->seen_ns = t->rx_ns = t->now_ns;
	t->kinds[kind]++;
	return kind;
}

static unsigned int used(const struct turns *t)
{
	struct hpcc_paths_at at = {
		.now_ns = t->now_ns, .t_ns = params.t_ns, .path_id = t->st.path_id, .hops = t->st.hops
	};

	return hpcc_paths_used(&t->paths, &at);
}

Test(paths, turns__of_two_paths_decide)
{
	struct turns t = turns_new(0.5), before = turns_new(0.5);
	int i;

	for (i = 0; i < 400; i++) {
		turn(&t, i % 2, 1);
		turn(&before, i % 2, 0);
	}
	cr_expect_eq(before.kinds[HPCC_FIRST], 400, "without records none decides");
	cr_expect_eq(t.kinds[HPCC_FIRST], 2, "%u", t.kinds[HPCC_FIRST]);
	cr_expect_eq(t.turned[HPCC_TURN_KNOWN], 398);
	cr_expect_float_eq(u_of(&t.st), 0.5, 1e-3, "U %f", u_of(&t.st));
	cr_expect_eq(used(&t), 2);
}

Test(paths, turns__at_random_over_four)
{
	struct turns t = turns_new(0.5);
	unsigned short rng[3] = { 4, 4, 4 };
	int i;

	for (i = 0; i < 1000; i++)
		turn(&t, nrand48(rng) >> 8 & 3, 1);
	cr_expect_leq(t.kinds[HPCC_FIRST], 8, "%u", t.kinds[HPCC_FIRST]);
	cr_expect_eq(t.turned[HPCC_TURN_CROWDED], 0);
	cr_expect_eq(used(&t), 4);
}

/* One of them is full: W is what a flow would have there, whichever path the last feedback was of. */
Test(paths, turns__the_fullest_path_decides)
{
	struct turns t = turns_new(0.4), full = turns_new(1);
	int i;

	t.load[1] = 1;
	t.qlen[1] = full.qlen[1] = 26000;
	for (i = 0; i < 100; i++) {
		turn(&t, i % 2, 1);
		turn(&full, 1, 1);
	}
	cr_expect_lt(t.st.w, 5000 * Q12_ONE, "W %f", bytes(t.st.w));
	cr_expect_lt(full.st.w, 5000 * Q12_ONE, "W %f", bytes(full.st.w));
	turn(&t, 0, 1);
	cr_expect_lt(u_of(&t.st), 0.5, "U is that of the last path: %f", u_of(&t.st));
}

/* A route that changes for good: as before, nothing is left of the old path, however full that was. */
Test(paths, turns__another_path_for_good)
{
	struct turns t = turns_new(0.5), before = turns_new(0.5);
	int i;

	t.load[0] = before.load[0] = 1;
	t.qlen[0] = before.qlen[0] = 26000;
	for (i = 0; i < 200; i++) {
		turn(&t, i >= 100, 1);
		turn(&before, i >= 100, 0);
		cr_assert_eq(t.st.w, before.st.w, "feedback %d", i);
	}
	cr_expect_eq(t.turned[HPCC_TURN_NEW], 2);
	t.now_ns += 9000000;
	turn(&t, 1, 1);
	cr_expect_eq(used(&t), 1);
}

/* A record that is older than a pause is none. */
Test(paths, turns__an_old_record_is_not_restored)
{
	struct turns t = turns_new(0.5);

	turn(&t, 0, 1);
	turn(&t, 1, 1);
	t.now_ns += 9000000;
	cr_expect_eq(turn(&t, 0, 1), HPCC_FIRST);
	cr_expect_eq(t.turned[HPCC_TURN_KNOWN], 0);
	cr_expect_eq(u_of(&t.st), 1);
}

/* More than there are records for: each is crowded, so that delay may take over; with four of them again it is over. */
Test(paths, turns__more_than_there_are_records)
{
	struct turns t = turns_new(0.5);
	int i;

	for (i = 0; i < 100; i++)
		turn(&t, i % (HPCC_PATHS + 1), 1);
	cr_expect_eq(t.turned[HPCC_TURN_CROWDED], 100 - HPCC_PATHS);
	cr_expect_eq(used(&t), HPCC_PATHS + 1);
	hpcc_forget(&t.st); /* as ingress does; the state then has no hops while delay decides */
	for (i = 0; i < 10000; i++) {
		struct hpcc_paths_at at = {
			.now_ns = t.now_ns += STEP_NS, .t_ns = params.t_ns, .path_id = i % 2, .hops = 1
		};

		t.turned[hpcc_paths_turn(&t.paths, &t.st, &at, t.seen_ns, &t.rx_ns)]++;
		cr_assert_eq(t.st.hops, 0);
	}
	cr_expect_lt(t.turned[HPCC_TURN_CROWDED], 104);
	t.st.path_id = 9;
	cr_expect_eq(used(&t), 3, "two, and the one that is asked for");
}

// SPDX-License-Identifier: GPL-2.0-only
/* Obeying: pauses that run out, XON, and storms. */
#include <criterion/criterion.h>

#include "sluice/pause/ppfc.h"
#include "ppfc_case.h"

TestSuite(pfc_obey, .timeout = 60);

static struct pfc_obey_params obey_params(__u64 bps)
{
	struct pfc_obey_params p;

	pfc_obey_init(&p, bps);
	return p;
}

Test(pfc_obey, pfc_obey_init__a_storm_is_four_of_the_longest_pauses_or_100_ms)
{
	cr_expect_eq(obey_params(BPS).storm_ns, 100 * MS);
	cr_expect_eq(obey_params(LAB_BPS).storm_ns, 4 * 335539200ULL);
	cr_expect_eq(obey_params(0).bps, 1);
	cr_expect_lt(obey_params(~0ULL).bps, PFC_BPS_MAX);
}

Test(pfc_obey, pfc_hear__a_pause_runs_out)
{
	struct pfc_obey_params p = obey_params(1000000000);
	struct pfc_obey o = {};

	cr_expect_eq(pfc_state(&o, &p, START), PFC_OPEN);
	cr_expect_eq(pfc_asked(&o, &p, START, 0), 0);
	cr_expect_eq(pfc_hear(&o, &p, START, 100), PFC_PAUSES);
	cr_expect_eq(pfc_state(&o, &p, START), PFC_PAUSED);
	cr_expect_eq(pfc_asked(&o, &p, START, 0), START + 51200);
	cr_expect_eq(pfc_asked(&o, &p, START, START + 60000), START + 60000, "the stack asked for later");
	cr_expect_eq(pfc_asked(&o, &p, START + 51199, 7), START + 51200);
	cr_expect_eq(pfc_state(&o, &p, START + 51199), PFC_PAUSED);
	cr_expect_eq(pfc_state(&o, &p, START + 51200), PFC_EXPIRED);
	cr_expect_eq(pfc_asked(&o, &p, START + 51200, 7), 7);
}

Test(pfc_obey, pfc_hear__the_last_frame_counts)
{
	struct pfc_obey_params p = obey_params(1000000000);
	struct pfc_obey o = {};

	pfc_hear(&o, &p, START, 100);
	cr_expect_eq(pfc_hear(&o, &p, START + 1000, 1000), PFC_REFRESHES);
	cr_expect_eq(pfc_asked(&o, &p, START + 1000, 0), START + 1000 + 512000);
	cr_expect_eq(pfc_hear(&o, &p, START + 2000, 1), PFC_REFRESHES, "a shorter one, too");
	cr_expect_eq(pfc_asked(&o, &p, START + 2000, 0), START + 2512);
	cr_expect_eq(pfc_hear(&o, &p, START + 2600, 1), PFC_PAUSES, "it had run out");
}

Test(pfc_obey, pfc_hear__xon_ends_a_pause_and_is_told_from_its_end)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};

	cr_expect_eq(pfc_hear(&o, &p, START, 0), PFC_RESUMES_NONE);
	pfc_hear(&o, &p, START, 65535);
	cr_expect_eq(pfc_hear(&o, &p, START + 1000, 0), PFC_RESUMES);
	cr_expect_eq(pfc_state(&o, &p, START + 1000), PFC_RESUMED);
	cr_expect_eq(pfc_asked(&o, &p, START + 1000, 5), 5);
	cr_expect_eq(pfc_hear(&o, &p, START + 2000, 0), PFC_RESUMES_NONE);
	pfc_hear(&o, &p, START + MS, 1);
	cr_expect_eq(pfc_state(&o, &p, START + 2 * MS), PFC_EXPIRED);
	cr_expect_eq(pfc_hear(&o, &p, START + 2 * MS, 0), PFC_RESUMES_NONE);
}

Test(pfc_obey, pfc_ended__is_when_the_last_pause_ended)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};
	__u64 until;

	cr_expect_eq(pfc_ended(&o, &p, START), 0);
	pfc_hear(&o, &p, START, 65535);
	cr_expect_eq(pfc_ended(&o, &p, START + 1000), START + 1000, "it lasts");
	pfc_hear(&o, &p, START + 2000, 0);
	pfc_hear(&o, &p, START + 3000, 0);
	cr_expect_eq(pfc_ended(&o, &p, START + MS), START + 2000, "by the first XON");
	pfc_hear(&o, &p, START + MS, 65535);
	until = o.until_ns;
	cr_expect_eq(pfc_ended(&o, &p, until + MS), until, "it ran out");
	pfc_forget(&o);
	cr_expect_eq(pfc_ended(&o, &p, until + MS), 0);
}

/* 65535 quanta again and again, without end. */
Test(pfc_obey, pfc_hear__a_storm_ends_in_its_own_state)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};
	__u64 now, begun = 0;
	__u32 ignored = 0;

	for (now = START; now < START + 1000 * MS; now += 500 * US) {
		enum pfc_heard heard = pfc_hear(&o, &p, now, 65535);

		if (now < START + p.storm_ns) {
			cr_assert_eq(heard, now == START ? PFC_PAUSES : PFC_REFRESHES);
			cr_assert_leq(pfc_asked(&o, &p, now, 0), START + p.storm_ns, "no packet is held beyond");
			continue;
		}
		cr_assert_eq(heard, begun ? PFC_STORM_IGNORED : PFC_STORM_BEGINS);
		begun = begun ? begun : now;
		ignored++;
		cr_assert_eq(pfc_state(&o, &p, now), PFC_STORM);
		cr_assert_eq(pfc_asked(&o, &p, now, 0), 0, "it sends");
	}
	cr_expect_eq(begun, START + p.storm_ns);
	cr_expect_gt(ignored, 1000);
	now -= 500 * US;
	cr_expect_eq(pfc_state(&o, &p, now + p.restore_ns - 1), PFC_STORM);
	cr_expect_eq(pfc_state(&o, &p, now + p.restore_ns), PFC_OPEN);
	cr_expect_eq(pfc_hear(&o, &p, now + p.restore_ns, 10), PFC_PAUSES, "and obeys again");
	cr_expect_eq(pfc_state(&o, &p, now + p.restore_ns), PFC_PAUSED);
}

/* The frames stop, but the last goes beyond storm_ns: the egress sees it by itself. */
Test(pfc_obey, pfc_state__needs_no_frame_to_see_a_storm)
{
	struct pfc_obey_params p = obey_params(LAB_BPS);
	struct pfc_obey o = {};
	__u64 now;

	for (now = START; now < START + p.storm_ns - 100 * MS; now += 100 * MS)
		pfc_hear(&o, &p, now, 65535);
	now = START + p.storm_ns;
	cr_expect_eq(pfc_state(&o, &p, now - 1), PFC_PAUSED);
	cr_expect_eq(pfc_asked(&o, &p, now - 1, 0), now);
	cr_expect_eq(pfc_state(&o, &p, now), PFC_STORM);
	cr_expect_eq(pfc_asked(&o, &p, now, 0), 0);
}

Test(pfc_obey, pfc_hear__xon_ends_a_storm)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};
	__u64 now;

	for (now = START; now <= START + p.storm_ns; now += 500 * US)
		pfc_hear(&o, &p, now, 65535);
	cr_expect_eq(pfc_hear(&o, &p, now, 0), PFC_STORM_ENDS);
	cr_expect_eq(pfc_state(&o, &p, now), PFC_RESUMED);
	cr_expect_eq(pfc_hear(&o, &p, now + 1, 10), PFC_PAUSES);
}

/* Pauses with a break between them are none. */
Test(pfc_obey, pfc_hear__pauses_that_run_out_are_no_storm)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};
	__u64 now;

	for (now = START; now < START + 1000 * MS; now += MS)
		cr_assert_eq(pfc_hear(&o, &p, now, 65535), PFC_PAUSES);
}

Test(pfc_obey, pfc_forget__a_port_that_went_down_is_not_paused)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};

	pfc_hear(&o, &p, START, 65535);
	pfc_forget(&o);
	cr_expect_eq(pfc_state(&o, &p, START), PFC_OPEN);
	cr_expect_eq(pfc_asked(&o, &p, START, 0), 0);
}

/* Packets that came during the pause leave at R from its end on, not at once. */
Test(pfc_obey, pfc_asked__departures_are_spaced_from_the_end)
{
	struct pfc_obey_params p = obey_params(LAB_BPS);
	struct pfc_obey o = {};
	__u64 clock = 0, now = START, first = 0;
	int i;

	pfc_hear(&o, &p, START, 1000);
	for (i = 0; i < 50; i++, now += 10 * US) {
		__u64 t = pacer_departure(now, clock, pfc_asked(&o, &p, now, 0));

		first = i ? first : t;
		cr_assert_eq(t, first + i * pacer_cost_ns(1514, 20000000));
		clock = t + pacer_cost_ns(1514, 20000000);
	}
	cr_expect_eq(first, START + pfc_quanta_ns(1000, LAB_BPS));
}

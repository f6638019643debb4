// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/pause/ppfc.h"

TestSuite(pfc, .timeout = 60);
TestSuite(ppfc, .timeout = 60);

#define BPS 40000000000ULL
#define LAB_BPS 100000000ULL
#define START 1000000000ULL
#define US 1000ULL
#define MS (1000 * US)

static const __u8 mac[6] = { 0x02, 0, 0, 0, 0, 0x17 };

static __u64 any(void)
{
	static __u64 x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x * 0x2545f4914f6cdd1dULL;
}

/* ---- frame ---- */

/* Class 3 for 65535 quanta, class 5 for 258, class 0 may go on. */
static const __u8 golden[PFC_FRAME_BYTES] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x17, 0x88, 0x08, 0x01,
	0x01, 0x00, 0x29, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x02,
};

static struct pfc_frame frame(void)
{
	struct pfc_frame f;

	pfc_build(&f, mac);
	pfc_set(&f, 3, 65535);
	pfc_set(&f, 5, 258);
	pfc_set(&f, 0, 0);
	return f;
}

Test(pfc, pfc_build__is_the_frame_of_the_standard)
{
	struct pfc_frame f = frame();

	cr_expect_arr_eq(&f, golden, sizeof(golden));
	cr_expect_eq(pfc_check(&f, sizeof(f)), PFC_OK);
	cr_expect_eq(pfc_check(&f, 64), PFC_OK, "with its FCS");
}

Test(pfc, pfc_build__names_no_class_by_itself)
{
	struct pfc_frame f;
	__u32 i;

	pfc_build(&f, mac);
	for (i = 0; i < PFC_PRIORITIES; i++)
		cr_expect_not(pfc_enabled(&f, i));
	cr_expect_eq(pfc_check(&f, sizeof(f)), PFC_OK);
}

Test(pfc, pfc_set__comes_back_for_every_class_and_any_quanta)
{
	static const __u32 quanta[] = { 0, 1, 255, 256, 32768, 65534, 65535 };
	struct pfc_frame f;
	__u32 vector, i;

	for (vector = 0; vector < 256; vector++) {
		pfc_build(&f, mac);
		for (i = 0; i < PFC_PRIORITIES; i++)
			if (vector >> i & 1)
				pfc_set(&f, i, quanta[(vector + i) % 7]);
		cr_assert_eq(pfc_check(&f, sizeof(f)), PFC_OK);
		for (i = 0; i < PFC_PRIORITIES; i++) {
			cr_assert_eq(pfc_enabled(&f, i), vector >> i & 1);
			cr_assert_eq(pfc_quanta(&f, i), vector >> i & 1 ? quanta[(vector + i) % 7] : 0);
		}
	}
}

Test(pfc, pfc_check__names_what_is_wrong)
{
	struct pfc_frame f = frame();
	__u32 i;

	for (i = 0; i < 60; i++)
		cr_expect_eq(pfc_check(&f, i), PFC_BAD_LENGTH);
	for (i = 61; i < 1600; i++)
		cr_expect_eq(pfc_check(&f, i), i == 64 ? PFC_OK : PFC_BAD_LENGTH);
	for (i = 0; i < 48; i++) {
		f = frame();
		f.dst[i / 8] ^= 1 << i % 8;
		cr_expect_eq(pfc_check(&f, 60), PFC_BAD_GROUP, "to another address: bit %u", i);
	}
	for (i = 0; i < 16; i++) {
		f = frame();
		f.ethertype[i / 8] ^= 1 << i % 8;
		cr_expect_eq(pfc_check(&f, 60), PFC_NOT_CONTROL);
		cr_expect_eq(pfc_check(&f, 1500), PFC_NOT_CONTROL, "an IP packet is not a bad frame");
		f = frame();
		f.opcode[i / 8] ^= 1 << i % 8;
		/* 0x0001 is PAUSE of 802.3x. */
		cr_expect_eq(pfc_check(&f, 60), i == 0 ? PFC_LINK_PAUSE : PFC_BAD_OPCODE);
	}
	for (i = 0; i < 8; i++) {
		f = frame();
		f.vector[0] = 1 << i;
		cr_expect_eq(pfc_check(&f, 60), PFC_BAD_VECTOR, "reserved bit %u", i + 8);
	}
	f = frame();
	memset(f.pad, 0xff, sizeof(f.pad));
	cr_expect_eq(pfc_check(&f, 60), PFC_OK, "padding is not looked at");
}

static void tshark_reads(const char *dir, const struct pfc_frame *f, const char *fields, const char *want)
{
	char command[800], got[400] = "", path[200];
	const __u8 *b = (const __u8 *)f;
	FILE *file;
	size_t i;

	snprintf(path, sizeof(path), "%s/frame.hex", dir);
	file = fopen(path, "w");
	cr_assert(file);
	fprintf(file, "000000");
	for (i = 0; i < sizeof(*f); i++)
		fprintf(file, " %02x", b[i]);
	fprintf(file, "\n");
	fclose(file);
	snprintf(command, sizeof(command),
		 "cd %s && text2pcap -q frame.hex frame.pcap >/dev/null 2>&1 && "
		 "tshark -r frame.pcap -T fields -E separator=, %s 2>/dev/null",
		 dir, fields);
	file = popen(command, "r");
	cr_assert(file);
	if (!fgets(got, sizeof(got), file))
		got[0] = 0;
	cr_expect_eq(pclose(file), 0);
	got[strcspn(got, "\n")] = 0;
	cr_expect_str_eq(got, want, "%s: %s", fields, got);
}

Test(pfc, frames_are_what_tshark_calls_pfc)
{
	char dir[] = "/tmp/sluice-pfc-XXXXXX", command[100];
	struct pfc_frame f = frame();

	if (system("command -v tshark >/dev/null && command -v text2pcap >/dev/null"))
		cr_skip_test("tshark and text2pcap are needed: apt install tshark");
	cr_assert(mkdtemp(dir));
	tshark_reads(dir, &f,
		     "-e _ws.col.Protocol -e macc.opcode -e macc.cbfc.enbv -e macc.cbfc.pause_time.c0 "
		     "-e macc.cbfc.pause_time.c3 -e macc.cbfc.pause_time.c5 -e eth.dst",
		     "MAC CTRL,0x0101,0x0029,0,65535,258,01:80:c2:00:00:01");
	tshark_reads(dir, &f, "-e macc.cbfc.enbv.not_zero -e macc.dst_address_invalid -e macc.opcode.unknown",
		     ",,");
	/* What we refuse it complains about, too. */
	f.vector[0] = 1;
	tshark_reads(dir, &f, "-e _ws.expert.message", "8 MSbs of ENBV must be 0");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_expect_eq(system(command), 0);
}

/* ---- quanta ---- */

Test(pfc, pfc_quanta_ns__is_512_bit_times)
{
	cr_expect_eq(pfc_quanta_ns(1, 1000000000), 512);
	cr_expect_eq(pfc_quanta_ns(1, BPS), 13, "12.8, and not less");
	cr_expect_eq(pfc_quanta_ns(65535, BPS), 838848);
	cr_expect_eq(pfc_quanta_ns(65535, LAB_BPS), 335539200);
	cr_expect_eq(pfc_quanta_ns(65535, 1), 65535 * 512 * NSEC_PER_SEC);
	cr_expect_eq(pfc_quanta_ns(0, BPS), 0);
	cr_expect_eq(pfc_quanta_ns(5, 0), 0, "no speed, no pause");
}

Test(pfc, pfc_ns_quanta__is_rounded_up_and_saturates)
{
	cr_expect_eq(pfc_ns_quanta(0, BPS), 0);
	cr_expect_eq(pfc_ns_quanta(1, BPS), 1);
	cr_expect_eq(pfc_ns_quanta(512, 1000000000), 1);
	cr_expect_eq(pfc_ns_quanta(513, 1000000000), 2);
	cr_expect_eq(pfc_ns_quanta(838847, BPS), 65535);
	cr_expect_eq(pfc_ns_quanta(838848, BPS), 65535);
	cr_expect_eq(pfc_ns_quanta(~0ULL, BPS), 65535);
	cr_expect_eq(pfc_ns_quanta(1000, 0), 0);
}

Test(pfc, pfc_ns_quanta__lasts_for_as_long_and_less_than_a_quantum_more)
{
	int i;

	for (i = 0; i < 200000; i++) {
		__u64 bps = 1000000 + any() % (PFC_BPS_MAX - 1000000), ns = any() % (MS << any() % 10);
		__u32 quanta = pfc_ns_quanta(ns, bps);

		if (quanta < PFC_QUANTA_MAX)
			cr_assert_geq(pfc_quanta_ns(quanta, bps), ns);
		if (quanta)
			cr_assert((long double)(quanta - 1) * 512e9L / bps < ns);
	}
}

/* ---- who pauses ---- */

Test(pfc, pfc_headroom__is_what_still_comes)
{
	/* 40 Gbit/s for 2 us are 10000 bytes, 1 us more of the loop 5000. */
	cr_expect_eq(pfc_headroom(BPS, 2000, 1000, 1000), 15000 + 1 + 2000 + 84);
	cr_expect_eq(pfc_headroom(LAB_BPS, 10000, 150000, 1514), 2000 + 1 + 3028 + 84);
	cr_expect_gt(pfc_headroom(~0ULL, ~0ULL >> 1, 0, 1514), 1ULL << 37, "saturates");
}

Test(pfc, pfc_params_init__is_100_frames_or_four_rounds)
{
	struct pfc_params p;

	pfc_params_init(&p, 4000000, BPS, 1000, 1000);
	cr_expect_eq(p.pause_ns, 20000);
	cr_expect_eq(p.alpha, Q24_ONE);
	cr_expect_eq(p.xoff, 4000000);
	cr_expect_eq(p.gap, 2000);
	pfc_params_init(&p, ~0ULL, BPS, 1000, 10000);
	cr_expect_eq(p.pause_ns, 40000);
	cr_expect_eq(p.xoff, PFC_BYTES_MAX - 1);
	pfc_params_init(&p, 0, 1000, 1500, PFC_NS_MAX);
	cr_expect_eq(p.pause_ns, PFC_NS_MAX - 1);
}

static const struct pfc_params gate = {
	.pause_ns = 20000,
	.xoff = 100000,
	.gap = 2000,
};

Test(pfc, pfc_ingress__xoff_above_xon_below_and_nothing_between)
{
	struct pfc_told t = {};
	__u64 pause_ns;

	cr_expect_eq(pfc_ingress(&t, &gate, START, 100000, 0, &pause_ns), PFC_NOTHING);
	cr_expect_eq(pfc_ingress(&t, &gate, START, 100001, 0, &pause_ns), PFC_XOFF);
	cr_expect_eq(pause_ns, 20000);
	cr_expect_eq(pfc_ingress(&t, &gate, START + 1, 120000, 0, &pause_ns), PFC_NOTHING, "it was told");
	cr_expect_eq(pfc_ingress(&t, &gate, START + 9999, 98000, 0, &pause_ns), PFC_NOTHING);
	cr_expect_eq(pfc_ingress(&t, &gate, START + 9999, 97999, 0, &pause_ns), PFC_XON);
	cr_expect_eq(pause_ns, 0);
	cr_expect_eq(pfc_ingress(&t, &gate, START + 10000, 99000, 0, &pause_ns), PFC_NOTHING);
}

Test(pfc, pfc_ingress__is_refreshed_before_it_runs_out)
{
	struct pfc_told t = {};
	__u64 pause_ns, now, until = 0;
	int frames = 0;

	for (now = START; now < START + MS; now += 1000) {
		enum pfc_act act = pfc_ingress(&t, &gate, now, 200000, 0, &pause_ns);

		cr_assert_eq(act, now == START ? PFC_XOFF : until <= now + 10000 ? PFC_REFRESH : PFC_NOTHING);
		if (act != PFC_NOTHING) {
			frames++;
			until = now + pause_ns;
		}
		cr_assert_gt(until, now, "never lets go by itself");
	}
	cr_expect_eq(frames, 100, "one every 10 us");
}

Test(pfc, pfc_ingress__with_alpha_xoff_follows_the_free_buffer)
{
	struct pfc_params p = gate;
	struct pfc_told t = {};
	__u64 pause_ns;

	p.alpha = Q24_ONE / 2;
	cr_expect_eq(pfc_threshold(&p, 100000), 50000);
	cr_expect_eq(pfc_threshold(&p, 1ULL << 40), 100000, "no more than xoff");
	p.alpha = 63 * Q24_ONE;
	p.xoff = PFC_BYTES_MAX - 1;
	cr_expect_eq(pfc_threshold(&p, ~0ULL), PFC_BYTES_MAX - 1);
	p.alpha = Q24_ONE / 2;
	cr_expect_eq(pfc_ingress(&t, &p, START, 50000, 100000, &pause_ns), PFC_NOTHING);
	cr_expect_eq(pfc_ingress(&t, &p, START, 50000, 99000, &pause_ns), PFC_XOFF);
	cr_expect_eq(pfc_ingress(&t, &p, START + 1, 1, 0, &pause_ns), PFC_NOTHING);
	cr_expect_eq(pfc_ingress(&t, &p, START + 2, 0, 0, &pause_ns), PFC_XON, "there is nothing to wait for");
}

/* A frame replaces the one before it. */
Test(pfc, pfc_ingress__a_pause_of_the_prediction_is_not_cut_short)
{
	struct pfc_told t = { .predict_ns = START + 50000 };
	__u64 pause_ns;

	cr_expect_eq(pfc_ingress(&t, &gate, START, 200000, 0, &pause_ns), PFC_XOFF);
	cr_expect_eq(pause_ns, 50000);
	cr_expect_eq(pfc_ingress(&t, &gate, START + 20000, 0, 0, &pause_ns), PFC_XON);
	cr_expect_eq(pause_ns, 30000, "the rest of it");
	cr_expect_eq(pfc_ingress(&t, &gate, START + 60000, 200000, 0, &pause_ns), PFC_XOFF);
	cr_expect_eq(pause_ns, 20000);
}

/* ---- who obeys ---- */

static struct pfc_obey_params obey_params(__u64 bps)
{
	struct pfc_obey_params p;

	pfc_obey_init(&p, bps);
	return p;
}

Test(pfc, pfc_obey_init__a_storm_is_four_of_the_longest_pauses_or_100_ms)
{
	cr_expect_eq(obey_params(BPS).storm_ns, 100 * MS);
	cr_expect_eq(obey_params(LAB_BPS).storm_ns, 4 * 335539200ULL);
	cr_expect_eq(obey_params(0).bps, 1);
	cr_expect_lt(obey_params(~0ULL).bps, PFC_BPS_MAX);
}

Test(pfc, pfc_hear__a_pause_runs_out)
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

Test(pfc, pfc_hear__the_last_frame_counts)
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

Test(pfc, pfc_hear__xon_ends_a_pause_and_is_told_from_its_end)
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

/* 65535 quanta again and again, for ever. */
Test(pfc, pfc_hear__a_storm_ends_in_its_own_state)
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
Test(pfc, pfc_state__needs_no_frame_to_see_a_storm)
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

Test(pfc, pfc_hear__xon_ends_a_storm)
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
Test(pfc, pfc_hear__pauses_that_run_out_are_no_storm)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};
	__u64 now;

	for (now = START; now < START + 1000 * MS; now += MS)
		cr_assert_eq(pfc_hear(&o, &p, now, 65535), PFC_PAUSES);
}

Test(pfc, pfc_forget__a_port_that_went_down_is_not_paused)
{
	struct pfc_obey_params p = obey_params(BPS);
	struct pfc_obey o = {};

	pfc_hear(&o, &p, START, 65535);
	pfc_forget(&o);
	cr_expect_eq(pfc_state(&o, &p, START), PFC_OPEN);
	cr_expect_eq(pfc_asked(&o, &p, START, 0), 0);
}

/* What came during the pause leaves at R from its end on, not at once. */
Test(pfc, pfc_asked__departures_are_spaced_from_the_end)
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

/* ---- P-PFC: parameters and prediction ---- */

/* 4 MB shared of 9 MB, 16 ports of 40 Gbit/s, 1 us. */
static struct ppfc_params params(void)
{
	struct ppfc_params p;

	ppfc_params_init(&p, 4000000, 9000000, 16, BPS, 1000);
	return p;
}

Test(ppfc, ppfc_params_init__has_the_values_of_the_paper)
{
	struct ppfc_params p = params();

	cr_expect_eq(p.t_thresh_ns, 112500, "Equation 5");
	cr_expect_eq(p.k_max, 200000);
	cr_expect_eq(p.r, Q24_ONE * 4 / 5);
	cr_expect_eq(p.d_ns, 1000);
}

Test(ppfc, ppfc_t_min__stays_in_range_whatever_comes)
{
	static const __u64 odd[] = { 0, 1, 999, 1000, 1ULL << 32, 1ULL << 40, ~0ULL };
	struct ppfc_params p;
	int i, k;

	for (i = 0; i < 7; i++) {
		for (k = 0; k < 7; k++) {
			ppfc_params_init(&p, odd[i], odd[i], odd[k], odd[(i + k) % 7], odd[k]);
			cr_expect_lt(p.t_thresh_ns, PFC_NS_MAX);
			cr_expect_lt(p.d_ns, PFC_NS_MAX);
			cr_expect_lt(p.k_max, PFC_BYTES_MAX);
		}
	}
	cr_expect_eq(ppfc_t_min(500000, 16, LAB_BPS), 2500000);
}

Test(ppfc, ppfc_remaining__is_by_the_time_that_was_measured)
{
	cr_expect_eq(ppfc_remaining(4000000, 75000, 1000), 53333);
	cr_expect_eq(ppfc_remaining(4000000, 750000, 10000), 53333, "a round that was ten times as late");
	cr_expect_eq(ppfc_remaining(4000000, 0, 1000), PPFC_NEVER);
	cr_expect_eq(ppfc_remaining(4000000, -5, 1000), PPFC_NEVER);
	cr_expect_eq(ppfc_remaining(0, 1, 1000), 0);
	cr_expect_eq(ppfc_remaining(~0ULL, 1, ~0ULL), (PPFC_BUFFER_MAX - 1) * (PFC_NS_MAX - 1), "saturates");
}

static struct ppfc_queue queue(__u32 bytes, __s64 increment)
{
	return (struct ppfc_queue){ .bps = BPS, .bytes = bytes, .increment = increment };
}

Test(ppfc, ppfc_predict__acts_when_the_buffer_lasts_for_less_than_t)
{
	struct ppfc_params p = params();
	struct ppfc_queue q = queue(500000, 10000);

	/* 1125000 bytes at 10000 a us are 112.5 us. */
	cr_expect_eq(ppfc_predict(&q, 1, &p, 1125000, 1000), 0);
	cr_expect_eq(q.acts, 0);
	cr_expect_eq(ppfc_predict(&q, 1, &p, 1124999, 1000), 1);
	cr_expect_eq(q.acts, 1);
	cr_expect_eq(ppfc_predict(&q, 1, &p, 1125000, 1000), 0);
	cr_expect_eq(q.acts, 0, "of this round");
	q = queue(500000, -10000);
	cr_expect_eq(ppfc_predict(&q, 1, &p, 0, 1000), 0, "it gets shorter");
	cr_expect_eq(ppfc_predict(&q, 0, &p, 0, 1000), 0);
}

Test(ppfc, ppfc_predict__a_queue_below_k_max_is_left_to_ecn)
{
	struct ppfc_params p = params();
	struct ppfc_queue q = queue(200000, 75000);

	cr_expect_eq(ppfc_predict(&q, 1, &p, 3800000, 1000), 0);
	q.bytes = 200001;
	cr_expect_eq(ppfc_predict(&q, 1, &p, 3800000, 1000), 1);
}

/* Figure 8: 16:1, 4:1 and 1:1. */
Test(ppfc, ppfc_predict__who_is_not_to_blame_is_left_alone)
{
	struct ppfc_params p = params();
	struct ppfc_queue q[3] = { queue(1000, 0), queue(300000, 15000), queue(600000, 75000) };

	cr_expect_eq(ppfc_predict(q, 3, &p, 3000000, 1000), 1);
	cr_expect(q[2].acts && !q[1].acts && !q[0].acts);
	cr_expect_eq(ppfc_predict(q, 3, &p, 1600000, 1000), 1, "5000 bytes a us leave the longest");
	cr_expect(q[2].acts && !q[1].acts && !q[0].acts);
	cr_expect_eq(ppfc_predict(q, 3, &p, 1100000, 1000), 2, "alone it would use the buffer up, too");
	cr_expect(q[2].acts && q[1].acts && !q[0].acts);
}

/* 16:1 is under pause: what is predicted is its return, and 4:1 is not to blame for that. */
Test(ppfc, ppfc_predict__nobody_stands_in_for_who_is_under_pause)
{
	struct ppfc_params p = params();
	struct ppfc_queue q[2] = { queue(600000, -5000), queue(300000, 15000) };

	q[0].returning = 80000;
	cr_expect_eq(ppfc_predict(q, 2, &p, 3000000, 1000), 0);
	cr_expect(q[0].taken && !q[0].acts && !q[1].taken);
}

Test(ppfc, ppfc_predict__four_equal_queues_share_the_blame)
{
	struct ppfc_params p = params();
	struct ppfc_queue q[4] = { queue(300000, 15000), queue(300000, 15000), queue(300000, 15000),
				   queue(300000, 15000) };

	/* 2.8 MB: 60 KB a us take 47 us; without one of them, 45 less the 2.7 that leave it, 66; without two, 24.7, 114. */
	cr_expect_eq(ppfc_predict(q, 4, &p, 2800000, 1000), 2);
	cr_expect_eq(ppfc_predict(q, 4, &p, 2400000, 1000), 3);
}

Test(ppfc, ppfc_leaving__is_what_there_is_at_most_at_the_speed_of_the_port)
{
	struct ppfc_params p = params();
	struct ppfc_queue q = queue(9000000, 0);

	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 5000);
	q.bytes = 225000; /* 45 of 112.5 us */
	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 2000);
	q.bytes = 0;
	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 0);
	q.bytes = PFC_BYTES_MAX - 1;
	q.bps = 1;
	cr_expect_eq(ppfc_leaving(&q, &p, ~0ULL), 0);
	q.bps = p.t_thresh_ns = 0;
	cr_expect_eq(ppfc_leaving(&q, &p, 1000), 0);
}

Test(ppfc, ppfc_returning__is_what_the_port_did_before_its_pause)
{
	struct ppfc_params p = params();
	struct ppfc_share s = { .bytes = 50000, .increment = 4600 };
	struct pfc_told t = {};
	__u64 end;

	cr_expect_eq(ppfc_returning(&t, &p, START, -300, 1000), 0, "not paused");
	cr_assert(ppfc_tell(&t, START, 10000, BPS, &s, 1000));
	end = START + pfc_quanta_ns(10000, BPS);
	cr_expect_eq(t.predict_ns, end);
	cr_expect_eq(ppfc_returning(&t, &p, START, -300, 1000), 0, "later than T");
	cr_expect_eq(ppfc_returning(&t, &p, end - p.t_thresh_ns, -300, 1000), 4900);
	cr_expect_eq(ppfc_returning(&t, &p, end - 1, 4600, 1000), 0, "it has not stopped yet");
	cr_expect_eq(ppfc_returning(&t, &p, end - 1, 9000, 1000), 0, "it sends more than before");
	cr_expect_eq(ppfc_returning(&t, &p, end - 1, 0, 500), 2300, "a shorter round");
	cr_expect_eq(ppfc_returning(&t, &p, end, -300, 1000), 0, "it is over");
}

/* ---- choice ---- */

Test(ppfc, ppfc_seed__the_same_seed_gives_the_same_ports)
{
	struct ppfc_random a, b, c;
	int i, same = 0;

	ppfc_seed(&a, 7);
	ppfc_seed(&b, 7);
	ppfc_seed(&c, 8);
	for (i = 0; i < 1000; i++) {
		__u32 x = ppfc_draw(&a, 1000);

		cr_assert_lt(x, 1000);
		cr_assert_eq(x, ppfc_draw(&b, 1000));
		same += x == ppfc_draw(&c, 1000);
	}
	cr_expect_lt(same, 10);
	ppfc_seed(&a, -0x9e3779b97f4a7c15ULL);
	cr_expect_neq(a.state, 0, "xorshift would stay there");
	cr_expect_eq(ppfc_draw(&a, 1), 0);
}

/* What a seed draws is part of the interface: a run can be repeated elsewhere. */
Test(ppfc, ppfc_draw__golden)
{
	static const __u32 want[] = { 294046, 843291, 371413, 231147, 859043, 2048, 125953, 587615 };
	struct ppfc_random r;
	size_t i;

	ppfc_seed(&r, 1);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		cr_expect_eq(ppfc_draw(&r, 1000000), want[i]);
}

/* Figure 5: A has 80 %, B and C 10 % each. One draw is all if R is small. */
Test(ppfc, ppfc_choose__in_proportion_to_the_share_of_the_queue)
{
	struct ppfc_share s[3] = { { .bytes = 80000 }, { .bytes = 10000 }, { .bytes = 10000 } };
	struct ppfc_params p = params();
	struct ppfc_random r;
	int count[3] = {}, i, k;

	p.r = Q24_ONE / 100;
	ppfc_seed(&r, 3);
	for (i = 0; i < 100000; i++) {
		for (k = 0; k < 3; k++)
			s[k].increment = 1;
		cr_assert_eq(ppfc_choose(s, 3, &p, &r), 1);
		for (k = 0; k < 3; k++)
			count[k] += s[k].drawn;
	}
	cr_expect(abs(count[0] - 80000) < 800, "%d", count[0]);
	cr_expect(abs(count[1] - 10000) < 500, "%d", count[1]);
	cr_expect(abs(count[2] - 10000) < 500, "%d", count[2]);
}

Test(ppfc, ppfc_choose__until_they_hold_more_than_r)
{
	struct ppfc_params p = params();
	struct ppfc_share s[16];
	struct ppfc_random r;
	int i, k;

	ppfc_seed(&r, 4);
	for (i = 0; i < 10000; i++) {
		__u64 total = 0, held = 0, most = 0;

		for (k = 0; k < 16; k++) {
			s[k] = (struct ppfc_share){ .bytes = any() % 100000, .increment = 1 };
			total += s[k].bytes;
		}
		ppfc_choose(s, 16, &p, &r);
		for (k = 0; k < 16; k++) {
			held += s[k].drawn ? s[k].bytes : 0;
			most = s[k].drawn && s[k].bytes > most ? s[k].bytes : most;
			cr_assert(!s[k].drawn || s[k].bytes, "has nothing in the queue");
		}
		cr_assert_gt(held << 24, total * p.r);
		cr_assert((held - most) << 24 <= total * p.r, "not more than it takes");
	}
	for (k = 0; k < 16; k++)
		s[k] = (struct ppfc_share){ .bytes = 1000, .increment = 1 };
	cr_expect_eq(ppfc_choose(s, 16, &p, &r), 13, "12 of 16 are 75 %%, 13 are 81 %%");
	p.r = Q24_ONE;
	cr_expect_eq(ppfc_choose(s, 16, &p, &r), 16, "all, and it ends");
}

Test(ppfc, ppfc_choose__only_those_that_grow)
{
	struct ppfc_share s[4] = { { .bytes = 70000, .increment = -1 }, { .bytes = 10000, .increment = 0 },
				   { .bytes = 10000, .increment = 1 }, { .bytes = 0, .increment = 5 } };
	struct ppfc_params p = params();
	struct ppfc_random r;
	int i, drawn = 0;

	ppfc_seed(&r, 5);
	for (i = 0; i < 1000; i++) {
		drawn += ppfc_choose(s, 4, &p, &r);
		cr_assert(!s[0].drawn && !s[1].drawn && !s[3].drawn);
	}
	cr_expect(drawn > 100 && drawn < 900, "who does not grow counts for R: %d", drawn);
	cr_expect_eq(ppfc_choose(s, 0, &p, &r), 0);
	cr_expect_eq(ppfc_choose(&s[3], 1, &p, &r), 0, "an empty queue");
}

/* ---- duration ---- */

Test(ppfc, ppfc_duration__is_the_time_in_which_its_bytes_leave)
{
	struct ppfc_params p = params();
	struct ppfc_queue q = queue(800000, 0);
	struct ppfc_share s = { .bytes = 50000 };

	/* All that is in the queue leaves in 160 us: 12500 quanta, and one less to be below the bound. */
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 12499);
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS / 4), 3124, "quanta of the port's own speed");
	q.increment = 75000;
	s.increment = 1000;
	/* In flight 2000 of 50000: 160 * 1.04 us. The bound is 875000 bytes, 175 us. */
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 13000);
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS / 4), 3250);
	s.increment = 10000;
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 13671, "the bound, 13671.9 quanta");
	q.bytes = PFC_BYTES_MAX - 1;
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 65534, "16 bits");
	q = queue(0, 0);
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 0);
	q = queue(800000, 0);
	q.bps = 0;
	cr_expect_eq(ppfc_duration(&s, &q, &p, 1000, BPS), 0, "no speed, no pause");
}

/* Theorem 3.2, with real numbers, whatever comes. */
Test(ppfc, ppfc_duration__stays_below_the_bound)
{
	int i, some = 0;

	for (i = 0; i < 200000; i++) {
		struct ppfc_params p = params();
		struct ppfc_queue q = queue(any() % (1ULL << any() % 31), any() % (1ULL << any() % 30));
		struct ppfc_share s = { .bytes = any() % (q.bytes + 1ULL), .increment = any() % (1ULL << any() % 30) };
		__u64 elapsed = 1 + any() % (1ULL << any() % 31), port = 1000000 + any() % (BPS << any() % 4);
		long double bound, pause;
		__u32 quanta;

		q.bytes = q.bytes < PFC_BYTES_MAX ? q.bytes : PFC_BYTES_MAX - 1;
		q.bps = 1000000 + any() % (BPS << any() % 4);
		p.d_ns = any() % (1ULL << any() % 31);
		quanta = ppfc_duration(&s, &q, &p, elapsed, port);
		pause = quanta * 512e9L / port;
		bound = (q.bytes + (long double)q.increment * p.d_ns / elapsed) * 8e9L / q.bps;
		cr_assert(quanta <= PFC_QUANTA_MAX && (!quanta || pause < bound), "%Lf %Lf", pause, bound);
		some += quanta && quanta < PFC_QUANTA_MAX - 1;
	}
	cr_expect_gt(some, 50000, "of %d", i);
}

/* A queue that all senders fill and that is then left alone for the pause is never empty while they are away. */
Test(ppfc, ppfc_duration__costs_no_throughput)
{
	struct ppfc_params p = params();
	int i;

	for (i = 0; i < 100000; i++) {
		__u64 elapsed = 500 + any() % 5000;
		struct ppfc_queue q = queue(200001 + any() % 4000000, 1 + any() % (80 * elapsed));
		struct ppfc_share s = { .bytes = 1 + any() % q.bytes, .increment = 1 + any() % q.increment };
		__u64 pause = pfc_quanta_ns(ppfc_duration(&s, &q, &p, elapsed, BPS), BPS);
		/* What is there when the last bytes have come, 2 d on: they may stop growing after d. */
		long double there = q.bytes + (long double)q.increment * p.d_ns / elapsed;

		cr_assert(there * 8e9L / BPS + 1 > pause);
		cr_assert_gt(pause, 0);
	}
}

/* ---- the bit against repetition ---- */

Test(ppfc, ppfc_tell__not_again_before_the_pause_has_run_out)
{
	struct ppfc_share s = { .bytes = 50000, .increment = 4600 };
	struct pfc_told t = {};
	__u64 end = START + pfc_quanta_ns(1000, BPS);

	cr_expect_not(ppfc_tell(&t, START, 0, BPS, &s, 1000), "no pause is no XON");
	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 1000));
	cr_expect_not(ppfc_tell(&t, START + 1, 2000, BPS, &s, 1000));
	cr_expect_not(ppfc_tell(&t, end - 1, 2000, BPS, &s, 1000));
	cr_expect(ppfc_tell(&t, end, 2000, BPS, &s, 1000));
}

Test(ppfc, ppfc_tell__not_who_is_xoff)
{
	struct ppfc_share s = { .bytes = 50000, .increment = 4600 };
	struct pfc_told t = {};
	__u64 pause_ns;

	pfc_ingress(&t, &gate, START, 200000, 0, &pause_ns);
	cr_expect_not(ppfc_tell(&t, START + 1, 1000, BPS, &s, 1000));
	pfc_ingress(&t, &gate, START + 2, 0, 0, &pause_ns);
	cr_expect(ppfc_tell(&t, START + 3, 1000, BPS, &s, 1000));
}

Test(ppfc, ppfc_tell__rates_saturate)
{
	struct ppfc_share s = { .bytes = 50000, .increment = PFC_BYTES_MAX - 1 };
	struct pfc_told t = {};

	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 1));
	cr_expect_leq(t.kbps, PFC_BPS_MAX / 1000);
	t = (struct pfc_told){};
	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 0));
	cr_expect_eq(t.kbps, 0);
	t = (struct pfc_told){};
	s.increment = -5;
	cr_expect(ppfc_tell(&t, START, 1000, BPS, &s, 1000));
	cr_expect_eq(t.kbps, 0);
	cr_expect_lt(ppfc_in_flight(PFC_BYTES_MAX - 1, 1, ~0ULL), PFC_BYTES_MAX);
}

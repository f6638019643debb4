// SPDX-License-Identifier: GPL-2.0-only
/* bpf/pause/pfc.bpf.h: frames with pauses are noted and consumed. */
#include <net/if.h>
#include <sys/socket.h>

#include "pfc_case.h"

TestSuite(pfc, .init = pfc_make, .fini = world_drop, .timeout = 60);

static struct pfc_obey obeyed(void)
{
	return pauses_get(WORLD_IFINDEX).obey[LOSSLESS];
}

Test(pfc, frame__is_noted_and_consumed)
{
	static const enum program programs[] = { PFC_INGRESS, INGRESS, TOR_INGRESS };
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct pfc_obey o;
		__u64 before;

		fixture("program %u", programs[i]);
		port_obeys(MODE_ENFORCE);
		before = clock_ns();
		expect_verdict(run(programs[i], &f), VERDICT_DROP);
		expect_counted(STAT_PFC_RX);
		o = obeyed();
		expect_eq(o.state, PFC_PAUSED);
		expect_between(o.since_ns, before, clock_ns());
		/* 32768 quanta of 512 bit times at 100 Gbit/s */
		expect_eq(o.until_ns - o.since_ns, 167773);
		expect_eq(pauses_get(WORLD_IFINDEX).heard[LOSSLESS], 1);
		expect_eq(pauses_get(WORLD_IFINDEX).obey[LOSSLESS + 1].state, PFC_OPEN);
	}
}

Test(pfc, frame__xon_ends_the_pause)
{
	struct frame xon = frame_pfc(1 << LOSSLESS, LOSSLESS, 0);

	port_obeys(MODE_ENFORCE);
	pause_for(500 * MS);
	expect_verdict(run(INGRESS, &xon), VERDICT_DROP);
	expect_counted(STAT_PFC_RX);
	expect_eq(obeyed().state, PFC_RESUMED);
	expect_eq(pauses_get(WORLD_IFINDEX).resumed[LOSSLESS], 1);
}

/* A frame of 64 bytes has its checksum. */
Test(pfc, frame__with_its_checksum)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 9);

	port_obeys(MODE_ENFORCE);
	f.len = 64;
	expect_verdict(run(PFC_INGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_PFC_RX);
}

Test(pfc, frame__that_is_bad_changes_nothing)
{
	static const struct {
		const char *what;
		unsigned int at, len;
		__u8 byte;
		enum sluice_stat stat;
	} cases[] = {
		{ "reserved bits", 16, 60, 0x01, STAT_PFC_BAD_VECTOR },
		{ "all reserved bits", 16, 60, 0xff, STAT_PFC_BAD_VECTOR },
		{ "too short", 19, 59, 0, STAT_PFC_BAD_LENGTH },
		{ "only a header", 19, 14, 0, STAT_PFC_BAD_LENGTH },
		{ "too long", 19, 61, 0, STAT_PFC_BAD_LENGTH },
		{ "a jumbo", 19, 1514, 0, STAT_PFC_BAD_LENGTH },
		{ "PAUSE of 802.3x", 14, 60, 0x00, STAT_PFC_LINK_PAUSE },
		{ "another opcode", 15, 60, 0x02, STAT_PFC_BAD_OPCODE },
		{ "to one host", 0, 60, 0x02, STAT_PFC_BAD_GROUP },
		{ "to another group", 5, 60, 0x02, STAT_PFC_BAD_GROUP },
	};
	unsigned int i;

	port_obeys(MODE_ENFORCE);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
		struct result r;

		fixture("%s", cases[i].what);
		f.b[cases[i].at] = cases[i].byte;
		f.len = cases[i].len;
		r = run(INGRESS, &f);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &f);
		expect_counted(cases[i].stat, STAT_RX_OTHER);
		expect_eq(obeyed().state, PFC_OPEN);
		expect_eq(obeyed().heard_ns, 0);
	}
}

Test(pfc, frame__where_nobody_obeys)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
	struct pfc_port p = pauses_usual();

	fixture("no pauses");
	expect_verdict(run(INGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_PFC_UNWANTED, STAT_RX_OTHER);
	fixture("does not obey");
	p.flags = PFC_F_COUNT;
	pauses_set(WORLD_IFINDEX, &p);
	expect_verdict(run(INGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_PFC_UNWANTED, STAT_RX_OTHER);
	expect_eq(obeyed().state, PFC_OPEN);
	fixture("bypass");
	port_obeys(MODE_ENFORCE);
	control_set(MODE_ENFORCE, 1);
	expect_verdict(run(INGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_PFC_RX);
	expect_eq(obeyed().state, PFC_OPEN);
}

Test(pfc, frame__of_a_priority_that_is_not_lossless)
{
	struct frame f = frame_pfc(0xff, LOSSLESS, 0x8000);
	struct pfc_port p;
	unsigned int prio;

	port_obeys(MODE_ENFORCE);
	f.b[18] = 0xff; /* of priority 0 */
	expect_verdict(run(PFC_INGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_PFC_RX, STAT_PFC_LOSSY, STAT_PFC_LOSSY, STAT_PFC_LOSSY, STAT_PFC_LOSSY, STAT_PFC_LOSSY,
		       STAT_PFC_LOSSY, STAT_PFC_LOSSY);
	p = pauses_get(WORLD_IFINDEX);
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		expect_eq(p.obey[prio].state, prio == LOSSLESS ? PFC_PAUSED : PFC_OPEN);
}

/* 65535 quanta, without end. */
Test(pfc, storm__is_not_obeyed)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0xffff), in = udp(.payload = 1000, .tos = TOS);
	struct pfc_port p;

	port_obeys(MODE_ENFORCE);
	fixture("refreshed for longer than the watchdog lets it");
	p = pauses_get(WORLD_IFINDEX);
	p.params.storm_ns = p.params.restore_ns = 5000 * MS;
	p.obey[LOSSLESS] = (struct pfc_obey){ .since_ns = clock_ns() - 5001 * MS,
					      .heard_ns = clock_ns() - MS,
					      .until_ns = clock_ns() + 300 * MS,
					      .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &p);
	run(PFC_INGRESS, &f);
	run(PFC_INGRESS, &f);
	expect_counted(STAT_PFC_RX, STAT_PFC_RX, STAT_PFC_STORM, STAT_PFC_STORM);
	expect_eq(obeyed().state, PFC_STORM);
	expect_eq(pauses_get(WORLD_IFINDEX).storms[LOSSLESS], 1);
	expect_eq(pauses_get(WORLD_IFINDEX).heard[LOSSLESS], 0);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA);
	fixture("silent for long enough");
	p = pauses_get(WORLD_IFINDEX);
	p.obey[LOSSLESS].heard_ns -= 5000 * MS;
	pauses_set(WORLD_IFINDEX, &p);
	run(PFC_INGRESS, &f);
	expect_counted(STAT_PFC_RX);
	expect_eq(obeyed().state, PFC_PAUSED);
}

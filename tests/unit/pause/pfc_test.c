// SPDX-License-Identifier: GPL-2.0-only
/* Frames, quanta, and pausing. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/pause/ppfc.h"
#include "ppfc_case.h"

TestSuite(pfc, .timeout = 60);

static const __u8 mac[6] = { 0x02, 0, 0, 0, 0, 0x17 };

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
	tshark_reads(dir, &f, "-e macc.cbfc.enbv.not_zero -e macc.dst_address_invalid -e macc.opcode.unknown", ",,");
	/* It also reports each refusal. */
	f.vector[0] = 1;
	tshark_reads(dir, &f, "-e _ws.expert.message", "8 MSbs of ENBV must be 0");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_expect_eq(system(command), 0);
}

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

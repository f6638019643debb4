// SPDX-License-Identifier: GPL-2.0-only
/* INT-MD on its way: instructions, bytes, and hops. */
#include <criterion/criterion.h>

#include "sluice/wire/intmd.h"
#include "intmd_case.h"

TestSuite(intmd, .timeout = 60);

/* ---- the instructions ---- */

Test(intmd, intmd_words__of_every_bitmap)
{
	__u32 bits, want;
	int i;

	for (bits = 0; bits < 1 << 16; bits++) {
		for (want = 0, i = 0; i < 16; i++)
			if (bits & 0x8000 >> i)
				want += i >= 4 && i <= 6 ? 2 : 1;
		cr_assert_eq(intmd_words(bits), want, "%#x: %u", bits, intmd_words(bits));
	}
}

/* Places by walking the bits, for all bitmaps of ours and others. */
Test(intmd, intmd_layout__of_every_bitmap)
{
	__u32 bitmap, ds, words, place[16];
	struct intmd_layout l;
	int i;

	for (bitmap = 0; bitmap < 1 << 16; bitmap++) {
		struct packet p = {};

		ds = bitmap * 0x9e3779b1U >> 16 & 0xe000;
		for (words = 0, i = 0; i < 15; i++) {
			place[i] = bitmap & 0x8000 >> i ? words : INTMD_NONE;
			if (bitmap & 0x8000 >> i)
				words += i >= 4 && i <= 6 ? 2 : 1;
		}
		p.hdr[0] = 0x20;
		ask(&p, 0, bitmap, INTMD_DOMAIN, ds);
		p.hdr[2] = words + !!(ds & 0x8000) + !!(ds & 0x4000) + !!(ds & 0x2000) +
			   (bitmap & 1);
		if (!p.hdr[2] || p.hdr[2] > 31)
			continue;
		cr_assert_eq(intmd_layout(p.hdr, &l), INTMD_OK, "%#x %#x", bitmap, ds);
		cr_assert_eq(l.node, place[0]);
		cr_assert_eq(l.queue, place[3]);
		cr_assert_eq(l.egress, place[5]);
		cr_assert_eq(l.tx, ds & 0x8000 ? words : INTMD_NONE);
		cr_assert_eq(l.speed, ds & 0x4000 ? words + (ds >> 15) : INTMD_NONE);
		p.hdr[2]++;
		cr_assert_neq(intmd_layout(p.hdr, &l), INTMD_OK);
	}
}

/* ---- the bytes ---- */

Test(intmd, intmd_source__bytes)
{
	static const __u8 want[] = { 0x20, 0, 6, 5, 0x94, 0, 'S', 'L', 0xc0, 0, 0, 0 };
	__u8 hdr[INTMD_HDR_BYTES];

	intmd_source(hdr, 5, 0);
	cr_expect_arr_eq(hdr, want, sizeof(want));
	intmd_source(hdr, 255, 1);
	cr_expect_eq(hdr[0], 0x28, "D");
	cr_expect_eq(hdr[3], 255);
}

Test(intmd, intmd_transit__bytes)
{
	static const __u8 want[] = {
		0,    0,    1,	  1,	/* node id */
		7,    1,    2,	  3,	/* queue id, occupancy */
		0x11, 0x22, 0x33, 0x44, /* egress time, ns */
		0x55, 0x66, 0x77, 0x88,
		0x9b, 0xde, 0x02, 0x46, /* txBytes / 128, the low 32 bits */
		0x00, 0x01, 0x86, 0xa0, /* 100000 kbit/s */
	};
	struct packet p = packet_after(1);

	cr_expect_eq(p.bytes, sizeof(want));
	cr_expect_arr_eq(p.stack, want, sizeof(want));
	cr_expect_eq(p.hdr[3], 4, "one hop less");
	cr_expect_eq(p.hdr[0], 0x20);
}

Test(intmd, intmd_transit__the_newest_hop_comes_first)
{
	struct packet p = packet_after(3);

	cr_expect_eq(p.bytes, 72);
	cr_expect_eq(intmd_get32(p.stack), 0x103);
	cr_expect_eq(intmd_get32(p.stack + 24), 0x102);
	cr_expect_eq(intmd_get32(p.stack + 48), 0x101);
}

/* ---- transit ---- */

Test(intmd, intmd_transit__values_that_do_not_fit)
{
	struct packet p = packet_after(0);
	struct intmd_values v = hop_values(0);

	v.qlen_bytes = 1 << 24;
	v.queue_id = 0xff;
	v.tx_bytes = 0xffffffffULL * 128;
	v.node_id = 0xffffffff;
	v.bps = ~0ULL;
	cr_expect_eq(transit(&p, 24, &v), INTMD_OK);
	cr_expect_eq(intmd_get32(p.stack), 0xfffffffe, "all ones is no value");
	cr_expect_eq(intmd_get32(p.stack + 4), 0xfffffffe, "the queue saturates below all ones");
	cr_expect_eq(intmd_get32(p.stack + 16), 0xfffffffe);
	cr_expect_eq(intmd_get32(p.stack + 20), 0xfffffffe);
}

Test(intmd, intmd_transit__no_hop_left_sets_e)
{
	struct packet p = packet_after(5), before = p;
	struct intmd_values v = hop_values(5);

	cr_expect_eq(transit(&p, 1000, &v), INTMD_HOPS_EXCEEDED);
	before.hdr[0] |= INTMD_E;
	cr_expect_arr_eq(&p, &before, sizeof(p), "nothing else has changed");
	cr_expect_eq(transit(&p, 0, &v), INTMD_HOPS_EXCEEDED, "and no M");
	cr_expect_arr_eq(&p, &before, sizeof(p));
}

Test(intmd, intmd_transit__no_room_sets_m)
{
	struct packet p = packet_after(2), before = p;
	struct intmd_values v = hop_values(2);

	cr_expect_eq(transit(&p, 23, &v), INTMD_MTU_EXCEEDED);
	before.hdr[0] |= INTMD_M;
	cr_expect_arr_eq(&p, &before, sizeof(p), "hop count too");
	cr_expect_eq(transit(&p, 24, &v), INTMD_OK, "the next hop has it");
	cr_expect_eq(p.hdr[0] & INTMD_M, INTMD_M, "the flag stays");
}

Test(intmd, intmd_transit__shim_lengths)
{
	static const struct {
		__u32 words;
		enum intmd_verdict want;
	} t[] = {
		{ 0, INTMD_BAD_LENGTH },     { 2, INTMD_BAD_LENGTH },	{ 3, INTMD_OK },
		{ 249, INTMD_OK },	     { 250, INTMD_MTU_EXCEEDED },
		{ 255, INTMD_MTU_EXCEEDED }, { 256, INTMD_BAD_LENGTH },
		{ ~0U, INTMD_BAD_LENGTH },
	};
	__u8 out[INTMD_HOP_BYTES_MAX];
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct packet p = packet_after(0);
		struct intmd_values v = hop_values(0);
		__u32 bytes;

		cr_expect_eq(intmd_transit(p.hdr, t[i].words, 1000, &v, out, &bytes), t[i].want,
			     "%u words", t[i].words);
	}
}

/* All versions and all Hop MLs but the right ones: the packet passes as it is. */
Test(intmd, intmd_transit__wrong_version_or_hop_ml_is_left_alone)
{
	struct intmd_values v = hop_values(0);
	int i;

	for (i = 0; i < 16; i++) {
		struct packet p = packet_after(1), before;

		p.hdr[0] = i << 4;
		before = p;
		if (i == 2)
			continue;
		cr_expect_eq(transit(&p, 1000, &v), INTMD_BAD_VERSION);
		cr_expect_arr_eq(&p, &before, sizeof(p));
	}
	for (i = 0; i < 32; i++) {
		struct packet p = packet_after(1), before;

		p.hdr[2] = i;
		before = p;
		if (i == INTMD_ML)
			continue;
		cr_expect_eq(transit(&p, 1000, &v), INTMD_BAD_ML, "Hop ML %d", i);
		cr_expect_arr_eq(&p, &before, sizeof(p));
	}
}

Test(intmd, intmd_transit__reserved_bits_of_the_header_do_not_matter)
{
	struct packet p = packet_after(0);
	struct intmd_values v = hop_values(0);

	p.hdr[0] |= 1;
	p.hdr[1] = 0xff;
	p.hdr[2] |= 0xe0;
	cr_expect_eq(transit(&p, 1000, &v), INTMD_OK);
	cr_expect_eq(p.bytes, 24);
}

Test(intmd, intmd_transit__what_it_cannot_serve_is_all_ones)
{
	struct packet p = packet_after(0);
	struct intmd_values v = hop_values(0);
	__u32 i;

	/* 0 node, 1 ports, 2 latency, 3 queue, 4 ingress time, 5 egress time, 6 ports, 7, 8, ... */
	ask(&p, 1 + 1 + 1 + 1 + 2 + 2 + 2 + 1 + 1 + 6 + 2 + 1, 0xffff, INTMD_DOMAIN,
	    INTMD_DS_INSTRUCTIONS);
	cr_assert_eq(transit(&p, 1000, &v), INTMD_OK);
	cr_expect_eq(p.bytes, 84);
	for (i = 0; i < 21; i++) {
		__u32 word = intmd_get32(p.stack + 4 * i);

		switch (i) {
		case 0: cr_expect_eq(word, 0x101); break;
		case 3: cr_expect_eq(word, 0x07010203); break;
		case 6: cr_expect_eq(word, 0x11223344); break;
		case 7: cr_expect_eq(word, 0x55667788); break;
		case 18: cr_expect_eq(word, 0x9bde0246); break;
		case 19: cr_expect_eq(word, 100000); break;
		default: cr_expect_eq(word, 0xffffffff, "word %u", i);
		}
	}
	p = packet_after(0);
	v.serves &= ~INTMD_I_QUEUE;
	v.serves_ds = INTMD_DS_TX;
	cr_assert_eq(transit(&p, 1000, &v), INTMD_OK);
	cr_expect_eq(intmd_get32(p.stack), 0x101);
	cr_expect_eq(intmd_get32(p.stack + 4), 0xffffffff);
	cr_expect_eq(intmd_get32(p.stack + 16), 0x9bde0246);
	cr_expect_eq(intmd_get32(p.stack + 20), 0xffffffff);
	v.serves = v.serves_ds = 0;
	cr_assert_eq(transit(&p, 1000, &v), INTMD_OK);
	for (i = 0; i < 6; i++)
		cr_expect_eq(intmd_get32(p.stack + 4 * i), 0xffffffff);
}

/* Another domain's instruction: as long as Hop ML leaves room for it. */
Test(intmd, intmd_transit__another_domain_is_padded)
{
	struct intmd_values v = hop_values(0);
	struct packet p = packet_after(0);

	ask(&p, 4, INTMD_I_NODE | INTMD_I_CHECKSUM, 0x1234, 0x8000);
	cr_expect_eq(transit(&p, 1000, &v), INTMD_OK);
	cr_expect_eq(p.bytes, 16);
	cr_expect_eq(intmd_get32(p.stack), 0x101);
	cr_expect_eq(intmd_get32(p.stack + 4), 0xffffffff);
	cr_expect_eq(intmd_get32(p.stack + 12), 0xffffffff);
	ask(&p, 1, INTMD_I_NODE | INTMD_I_CHECKSUM, 0x1234, 0x8000);
	cr_expect_eq(transit(&p, 1000, &v), INTMD_BAD_ML);
	ask(&p, 3, INTMD_I_NODE | INTMD_I_CHECKSUM, 0x1234, 0);
	cr_expect_eq(transit(&p, 1000, &v), INTMD_BAD_ML, "no DS instruction, no words for it");
	ask(&p, 0, 0, 0, 0);
	cr_expect_eq(transit(&p, 1000, &v), INTMD_BAD_ML, "nothing asked");
}

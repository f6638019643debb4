// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/wire/intmd.h"

TestSuite(intmd, .timeout = 60);

#define ALL_BITS (INTMD_I_NODE | INTMD_I_QUEUE | INTMD_I_EGRESS)

/* A packet's header and stack. */
struct packet {
	__u8 hdr[INTMD_HDR_BYTES];
	__u8 stack[INTMD_STACK_BYTES_MAX + INTMD_HOP_BYTES_MAX];
	__u32 bytes;
};

static struct intmd_values hop_values(int i)
{
	return (struct intmd_values){
		.ts_ns = 0x1122334455667788ULL + i * 1000,
		.tx_bytes = 0xabcdef012345ULL + i * 1466,
		.bps = 100000000ULL * (i + 1),
		.node_id = 0x101 + i,
		.qlen_bytes = 0x10203 + i,
		.queue_id = 7,
		.serves = ALL_BITS,
		.serves_ds = INTMD_DS_INSTRUCTIONS,
	};
}

static enum intmd_verdict transit(struct packet *p, __u32 room, const struct intmd_values *v)
{
	__u8 out[INTMD_HOP_BYTES_MAX];
	enum intmd_verdict err;
	__u32 bytes;

	err = intmd_transit(p->hdr, 3 + p->bytes / 4, room, v, out, &bytes);
	cr_assert_eq(err == INTMD_OK, bytes > 0);
	memmove(p->stack + bytes, p->stack, p->bytes);
	memcpy(p->stack, out, bytes);
	p->bytes += bytes;
	return err;
}

static struct packet packet_after(int hops)
{
	struct packet p = {};
	int i;

	intmd_source(p.hdr, 5, 0);
	for (i = 0; i < hops; i++) {
		struct intmd_values v = hop_values(i);

		cr_assert_eq(transit(&p, 1000, &v), INTMD_OK);
	}
	return p;
}

/* Another question than Sluice's. */
static void ask(struct packet *p, __u32 ml, __u32 bitmap, __u32 domain, __u32 ds)
{
	p->hdr[2] = ml;
	intmd_put16(p->hdr + 4, bitmap);
	intmd_put16(p->hdr + 6, domain);
	intmd_put16(p->hdr + 8, ds);
}

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

/* ---- sink ---- */

Test(intmd, intmd_sink__what_the_hops_said_in_their_order)
{
	struct packet p = packet_after(5);
	struct intmd_path path;
	int i;

	cr_assert_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_OK);
	cr_expect_eq(path.hops, 5);
	cr_expect_eq(path.discard, 0);
	cr_expect_eq(path.path_id, 0x101 ^ 0x102 ^ 0x103 ^ 0x104 ^ 0x105);
	cr_expect_eq(path.first_ts_ns, 0x1122334455667788);
	for (i = 0; i < 5; i++) {
		struct intmd_values v = hop_values(i);

		cr_expect_eq(path.hop[i].bps, v.bps);
		cr_expect_eq(path.hop[i].ts_ns, v.ts_ns & HPCC_TS_MASK);
		cr_expect_eq(path.hop[i].tx_bytes, (v.tx_bytes & ~127ULL) & HPCC_TX_MASK);
		cr_expect_eq(path.tx_units[i], (__u32)(v.tx_bytes >> 7));
		cr_expect_eq(path.hop[i].qlen_bytes, v.qlen_bytes);
	}
}

/* Differences of what was cut are those of what was whole, also where it wraps. */
Test(intmd, intmd_sink__clocks_and_counters_wrap)
{
	static const __u64 starts[] = { 0xfffff0, 0xfffffff0, 0x7fffffff00, 0x7fffff8000, 0xffffffffffff00 };
	struct intmd_path path[2];
	size_t i;
	int k;

	for (i = 0; i < 5; i++) {
		for (k = 0; k < 2; k++) {
			struct intmd_values v = hop_values(0);
			struct packet p = packet_after(0);

			v.ts_ns = starts[i] + k * 4000;
			v.tx_bytes = starts[i] + k * 49920;
			transit(&p, 1000, &v);
			cr_assert_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path[k]), INTMD_OK);
		}
		cr_expect_eq(hpcc_elapsed(path[0].hop[0].ts_ns, path[1].hop[0].ts_ns,
					  HPCC_GAP_UNKNOWN), 4000);
		cr_expect_eq((path[1].hop[0].tx_bytes - path[0].hop[0].tx_bytes) & HPCC_TX_MASK,
			     49920);
		cr_expect_eq(path[1].first_ts_ns - path[0].first_ts_ns, 4000);
	}
}

/*
 * In the 64 bits of an echo, at speeds that the table there has and has not: the rate comes out, also
 * where 32 bits wrap, and the queue in time.
 */
Test(intmd, intmd_pack__keeps_rate_and_queue)
{
	static const __u64 speeds[] = { 10000000, 100000000, 137000000, 200000000, 1800000000, 7777777000,
					30000000000, 100000000000, 3200000000000 };
	static const __u64 starts[] = { 0, (1ULL << 27) - 64000, (1ULL << 32) - 64000, (1ULL << 39) - 64000 };
	size_t i, n;
	int k;

	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		for (n = 0; n < 4; n++) {
			struct hpcc_hop hop[2];
			double rate, queue;

			for (k = 0; k < 2; k++) {
				struct intmd_values v = hop_values(0);
				struct packet p = packet_after(0);
				struct intmd_path path;

				v.bps = speeds[i];
				v.tx_bytes = starts[n] + k * 1280000;
				v.qlen_bytes = 400000;
				transit(&p, 1000, &v);
				cr_assert_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_OK);
				hop[k] = telem_unpack(intmd_pack(intmd_speed(path.hop[0].bps), &path.hop[0],
								 path.tx_units[0]));
				cr_expect_eq(hop[k].ts_ns, v.ts_ns & HPCC_TS_MASK);
			}
			rate = ((hop[1].tx_bytes - hop[0].tx_bytes) & HPCC_TX_MASK) / (double)hop[0].bps *
			       speeds[i];
			queue = hop[1].qlen_bytes / (double)hop[0].bps * speeds[i];
			cr_expect_float_eq(rate, 1280000, 1280000 / 1000., "%llu bit/s, %#llx: %f", speeds[i],
					   starts[n], rate);
			cr_expect_float_eq(queue, 400000, 400000 / 1000., "%llu bit/s: %f", speeds[i], queue);
		}
	}
}

Test(intmd, intmd_sink__flags)
{
	struct packet p = packet_after(2);
	struct intmd_path path;

	p.hdr[0] |= INTMD_D;
	cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_OK);
	cr_expect_eq(path.discard, 1);
	p.hdr[0] = 0x20 | INTMD_E;
	cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_INCOMPLETE);
	cr_expect_eq(path.hops, 2, "what there is was parsed");
	p.hdr[0] = 0x20 | INTMD_M;
	cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_INCOMPLETE);
}

Test(intmd, intmd_sink__lengths)
{
	struct packet p = packet_after(5);
	struct intmd_path path;
	__u32 bytes;

	for (bytes = 0; bytes <= 5 * 24; bytes++) {
		cr_expect_eq(intmd_sink(p.hdr, p.stack, bytes, &path),
			     bytes % 24 ? INTMD_BAD_LENGTH : INTMD_OK, "%u bytes", bytes);
		if (bytes % 24 == 0)
			cr_expect_eq(path.hops, bytes / 24);
	}
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 6 * 24, &path), INTMD_TOO_MANY_HOPS);
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 0xfffffff0, &path), INTMD_TOO_MANY_HOPS);
}

Test(intmd, intmd_sink__instructions_that_do_not_suffice)
{
	struct packet p = packet_after(1);
	struct intmd_path path;

	ask(&p, 5, INTMD_INSTRUCTIONS & ~INTMD_I_QUEUE, INTMD_DOMAIN, INTMD_DS_INSTRUCTIONS);
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 20, &path), INTMD_NO_FIELD);
	ask(&p, 4, INTMD_INSTRUCTIONS & ~INTMD_I_EGRESS, INTMD_DOMAIN, INTMD_DS_INSTRUCTIONS);
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 16, &path), INTMD_NO_FIELD);
	ask(&p, 5, INTMD_INSTRUCTIONS, INTMD_DOMAIN, INTMD_DS_TX);
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 20, &path), INTMD_NO_FIELD);
	ask(&p, 6, INTMD_INSTRUCTIONS, 0x1234, INTMD_DS_INSTRUCTIONS);
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 24, &path), INTMD_NO_FIELD, "another domain");
	ask(&p, 5, INTMD_INSTRUCTIONS & ~INTMD_I_NODE, INTMD_DOMAIN, INTMD_DS_INSTRUCTIONS);
	cr_expect_eq(intmd_sink(p.hdr, p.stack + 4, 20, &path), INTMD_OK, "nodes need no name");
	cr_expect_eq(path.path_id, 0);
	p.hdr[0] = 0x10;
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 20, &path), INTMD_BAD_VERSION);
	p.hdr[0] = 0x20;
	p.hdr[2] = 4;
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 16, &path), INTMD_BAD_ML);
}

Test(intmd, intmd_sink__a_hop_without_a_value)
{
	static const struct {
		int at, bytes;
		enum intmd_verdict want;
	} t[] = {
		{ 0, 4, INTMD_OK },	  { 4, 4, INTMD_NO_VALUE }, { 8, 8, INTMD_NO_VALUE },
		{ 8, 4, INTMD_OK },	  { 12, 4, INTMD_OK },	    { 16, 4, INTMD_NO_VALUE },
		{ 20, 4, INTMD_NO_VALUE }, { 4, 3, INTMD_OK },
	};
	struct intmd_path path;
	size_t i;
	int hop;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		for (hop = 0; hop < 3; hop++) {
			struct packet p = packet_after(3);

			memset(p.stack + 24 * hop + t[i].at, 0xff, t[i].bytes);
			cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), t[i].want,
				     "%d bytes at %d of hop %d", t[i].bytes, t[i].at, hop);
			if (t[i].at != 20)
				continue;
			memset(p.stack + 24 * hop + 20, 0, 4);
			cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_BAD_VALUE,
				     "a speed of 0");
		}
}

Test(intmd, intmd_fold__ids_of_12_bits_are_themselves)
{
	__u32 i;

	for (i = 0; i < 4096; i++)
		cr_assert_eq(intmd_fold(i), i);
	cr_expect_eq(intmd_fold(0xabcdef12), (0xf12 ^ 0xcde ^ 0xab) & 0xfff);
	cr_expect_leq(intmd_fold(0xffffffff), 0xfff);
}

/* Anything: the sanitizers watch the buffers, which are no larger than promised. */
Test(intmd, intmd__survives_nonsense)
{
	unsigned short rng[3] = { 1, 2, 3 };
	__u8 *stack = malloc(INTMD_STACK_BYTES_MAX), *out = malloc(INTMD_HOP_BYTES_MAX);
	unsigned long verdicts[INTMD_INCOMPLETE + 1] = { 0 };
	__u32 i, k, bytes;

	for (i = 0; i < 300000; i++) {
		struct intmd_values v = hop_values(0);
		struct intmd_path path;
		__u8 hdr[INTMD_HDR_BYTES];
		enum intmd_verdict err;

		intmd_source(hdr, nrand48(rng) % 3, 0);
		if (i & 1)
			for (k = 0; k < nrand48(rng) % 8U; k++)
				hdr[nrand48(rng) % INTMD_HDR_BYTES] ^= 1 << nrand48(rng) % 8;
		if (i % 16 == 0)
			for (k = 0; k < INTMD_HDR_BYTES; k++)
				hdr[k] = nrand48(rng);
		for (k = 0; k < INTMD_STACK_BYTES_MAX; k++)
			stack[k] = i & 2 ? 0xff : nrand48(rng);
		v.serves = nrand48(rng);
		v.serves_ds = nrand48(rng);
		err = intmd_sink(hdr, stack, nrand48(rng) % 8 * (nrand48(rng) % 130), &path);
		cr_assert_leq(err, INTMD_INCOMPLETE);
		verdicts[err]++;
		if (err == INTMD_OK || err == INTMD_INCOMPLETE)
			for (k = 0; k < path.hops; k++)
				cr_assert(path.hop[k].bps && path.hop[k].bps < 1ULL << 44 &&
					  path.hop[k].ts_ns <= HPCC_TS_MASK &&
					  path.hop[k].tx_bytes <= HPCC_TX_MASK &&
					  path.hop[k].qlen_bytes < 1 << 27);
		err = intmd_transit(hdr, nrand48(rng) % 300, nrand48(rng) % 200, &v, out, &bytes);
		cr_assert_leq(bytes, INTMD_HOP_BYTES_MAX);
		cr_assert_eq(bytes % 4, 0);
		verdicts[err]++;
	}
	for (i = 0; i <= INTMD_INCOMPLETE; i++)
		if (i != INTMD_BAD_VALUE)
			cr_expect_gt(verdicts[i], 20, "verdict %u: %lu", i, verdicts[i]);
	free(stack);
	free(out);
}

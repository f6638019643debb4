// SPDX-License-Identifier: GPL-2.0-only
/* INT-MD at the sink: the stamps of the hops. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/wire/intmd.h"
#include "intmd_case.h"

TestSuite(intmd_sink, .timeout = 60);

Test(intmd_sink, intmd_sink__what_the_hops_said_in_their_order)
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
Test(intmd_sink, intmd_sink__clocks_and_counters_wrap)
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
		cr_expect_eq(hpcc_elapsed(path[0].hop[0].ts_ns, path[1].hop[0].ts_ns, HPCC_GAP_UNKNOWN), 4000);
		cr_expect_eq((path[1].hop[0].tx_bytes - path[0].hop[0].tx_bytes) & HPCC_TX_MASK, 49920);
		cr_expect_eq(path[1].first_ts_ns - path[0].first_ts_ns, 4000);
	}
}

/*
 * In the 64 bits of an echo, at speeds that the table there has and has not: the rate comes out, also
 * where 32 bits wrap, and the queue in time.
 */
Test(intmd_sink, intmd_pack__keeps_rate_and_queue)
{
	static const __u64 speeds[] = { 10000000,   100000000,	 137000000,    200000000,    1800000000,
					7777777000, 30000000000, 100000000000, 3200000000000 };
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
				hop[k] = telem_unpack(
					intmd_pack(intmd_speed(path.hop[0].bps), &path.hop[0], path.tx_units[0]));
				cr_expect_eq(hop[k].ts_ns, v.ts_ns & HPCC_TS_MASK);
			}
			rate = ((hop[1].tx_bytes - hop[0].tx_bytes) & HPCC_TX_MASK) / (double)hop[0].bps * speeds[i];
			queue = hop[1].qlen_bytes / (double)hop[0].bps * speeds[i];
			cr_expect_float_eq(rate, 1280000, 1280000 / 1000., "%llu bit/s, %#llx: %f", speeds[i],
					   starts[n], rate);
			cr_expect_float_eq(queue, 400000, 400000 / 1000., "%llu bit/s: %f", speeds[i], queue);
		}
	}
}

Test(intmd_sink, intmd_sink__flags)
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

Test(intmd_sink, intmd_sink__lengths)
{
	struct packet p = packet_after(5);
	struct intmd_path path;
	__u32 bytes;

	for (bytes = 0; bytes <= 5 * 24; bytes++) {
		cr_expect_eq(intmd_sink(p.hdr, p.stack, bytes, &path), bytes % 24 ? INTMD_BAD_LENGTH : INTMD_OK,
			     "%u bytes", bytes);
		if (bytes % 24 == 0)
			cr_expect_eq(path.hops, bytes / 24);
	}
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 6 * 24, &path), INTMD_TOO_MANY_HOPS);
	cr_expect_eq(intmd_sink(p.hdr, p.stack, 0xfffffff0, &path), INTMD_TOO_MANY_HOPS);
}

Test(intmd_sink, intmd_sink__instructions_that_do_not_suffice)
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

Test(intmd_sink, intmd_sink__a_hop_without_a_value)
{
	static const struct {
		int at, bytes;
		enum intmd_verdict want;
	} t[] = {
		{ 0, 4, INTMD_OK },  { 4, 4, INTMD_NO_VALUE },	{ 8, 8, INTMD_NO_VALUE },  { 8, 4, INTMD_OK },
		{ 12, 4, INTMD_OK }, { 16, 4, INTMD_NO_VALUE }, { 20, 4, INTMD_NO_VALUE }, { 4, 3, INTMD_OK },
	};
	struct intmd_path path;
	size_t i;
	int hop;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		for (hop = 0; hop < 3; hop++) {
			struct packet p = packet_after(3);

			memset(p.stack + 24 * hop + t[i].at, 0xff, t[i].bytes);
			cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), t[i].want, "%d bytes at %d of hop %d",
				     t[i].bytes, t[i].at, hop);
			if (t[i].at != 20)
				continue;
			memset(p.stack + 24 * hop + 20, 0, 4);
			cr_expect_eq(intmd_sink(p.hdr, p.stack, p.bytes, &path), INTMD_BAD_VALUE, "a speed of 0");
		}
}

Test(intmd_sink, intmd_fold__ids_of_12_bits_are_themselves)
{
	__u32 i;

	for (i = 0; i < 4096; i++)
		cr_assert_eq(intmd_fold(i), i);
	cr_expect_eq(intmd_fold(0xabcdef12), (0xf12 ^ 0xcde ^ 0xab) & 0xfff);
	cr_expect_leq(intmd_fold(0xffffffff), 0xfff);
}

/* Anything: the sanitizers watch the buffers, which are no larger than promised. */
Test(intmd_sink, intmd__survives_nonsense)
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
					  path.hop[k].ts_ns <= HPCC_TS_MASK && path.hop[k].tx_bytes <= HPCC_TX_MASK &&
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

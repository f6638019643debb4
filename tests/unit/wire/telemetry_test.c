// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sluice/wire/telemetry.h"

TestSuite(telemetry, .timeout = 20);

#define MBPS 1000000ULL

static const __u32 table_mbps[TELEM_SPEEDS] = {
	10, 100, 1000, 2500, 5000, 10000, 14000, 20000, 25000, 40000, 50000, 56000, 100000, 200000, 400000, 800000,
};

Test(telemetry, telem_speed_mbps__is_the_table_of_linux)
{
	__u32 code;

	for (code = 0; code < TELEM_SPEEDS; code++)
		cr_expect_eq(telem_speed_mbps(code), table_mbps[code], "code %u", code);
}

Test(telemetry, telem_speed_fit__speeds_of_the_table_as_they_are)
{
	__u32 code;

	for (code = 0; code < TELEM_SPEEDS; code++) {
		struct telem_speed s = telem_speed_fit(table_mbps[code] * MBPS);

		cr_expect_eq(s.code, code, "%u Mbit/s", table_mbps[code]);
		cr_expect_eq(s.scale_q16, 0x10000, "%u Mbit/s", table_mbps[code]);
	}
}

Test(telemetry, telem_speed_fit__others_take_the_next_faster)
{
	static const struct {
		__u64 bps;
		__u32 code, scale_q16;
	} t[] = {
		{ 11 * MBPS, 1, 595782 },				      /* 100 / 11 * 65536 = 595781.8 */
		{ 150 * MBPS, 2, 436907 },				      /* 1000 / 150 * 65536 = 436906.7 */
		{ 99 * MBPS, 1, 66198 },				      /* 100 / 99 * 65536 = 66198.0 */
		{ 1600000 * MBPS, 15, 0x8000 },				      /* beyond the table: half */
		{ 1 * MBPS, 0, 0xa0000 },	{ 10 * MBPS + 1, 1, 655360 }, /* 655359.93 */
		{ 10 * MBPS - 1, 0, 0x10000 },	{ 100, 0, 0xffffffff },	      /* 10^5: saturated */
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct telem_speed s = telem_speed_fit(t[i].bps);

		cr_expect_eq(s.code, t[i].code, "%llu bit/s: code %u", t[i].bps, s.code);
		cr_expect_eq(s.scale_q16, t[i].scale_q16, "%llu bit/s: scale %u", t[i].bps, s.scale_q16);
	}
}

Test(telemetry, telem_pack__golden_vectors)
{
	static const struct {
		__u64 bps, ts_ns, tx_bytes;
		__u32 qlen_bytes;
		__u64 want;
	} t[] = {
		{ 10 * MBPS, 0, 0, 0, 0x0000000000000000 },
		{ 100 * MBPS, 1, 128, 80, 0x1000001000010001 },
		{ 100000 * MBPS, 0x123456, 0xabcde * 128, 0x4321 * 80, 0xc123456abcde4321 },
		{ 800000 * MBPS, 0xffffff, 0xfffff * 128, 0xffff * 80, 0xffffffffffffffff },
		/* each field at its largest, alone */
		{ 10 * MBPS, 0xffffff, 0, 0, 0x0ffffff000000000 },
		{ 10 * MBPS, 0, 0xfffff * 128, 0, 0x0000000fffff0000 },
		{ 10 * MBPS, 0, 0, 0xffff * 80, 0x000000000000ffff },
		/* one beyond: ts and tx wrap */
		{ 25000 * MBPS, 0x1000000, 0x8000000, 0, 0x8000000000000000 },
		{ 25000 * MBPS, 0xfedcba9876543210, 0x8000080, 0, 0x8543210000010000 },
		/* bytes: tx counts whole units, qlen the nearest number of units */
		{ 1000 * MBPS, 0, 127, 39, 0x2000000000000000 },
		{ 1000 * MBPS, 0, 255, 40, 0x2000000000010001 },
		{ 1000 * MBPS, 0, 256, 119, 0x2000000000020001 },
		{ 1000 * MBPS, 0, 0, 120, 0x2000000000000002 },
		/* 11 Mbit/s reports as 100 Mbit/s: 1000 units make 9090, 800 bytes make 7272 */
		{ 11 * MBPS, 7, 128000, 800, 0x100000702382005b },
		/* 1.6 Tbit/s reports as 800 Gbit/s: half */
		{ 1600000 * MBPS, 7, 128000, 8000, 0xf000007001f40032 },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		__u64 got = telem_pack(telem_speed_fit(t[i].bps), t[i].ts_ns, t[i].tx_bytes, t[i].qlen_bytes);

		cr_expect_eq(got, t[i].want, "vector %zu: %#llx, not %#llx", i, got, t[i].want);
	}
}

Test(telemetry, telem_unpack__golden_vectors)
{
	static const struct {
		__u64 v, bps;
		__u32 ts_ns, tx_bytes, qlen_bytes;
	} t[] = {
		{ 0x0000000000000000, 10 * MBPS, 0, 0, 0 },
		{ 0x1000001000010001, 100 * MBPS, 1, 128, 80 },
		{ 0xc123456abcde4321, 100000 * MBPS, 0x123456, 90074880, 1374800 },
		{ 0xffffffffffffffff, 800000 * MBPS, 0xffffff, 134217600, 5242800 },
		{ 0x0ffffff000000000, 10 * MBPS, 0xffffff, 0, 0 },
		{ 0x0000000fffff0000, 10 * MBPS, 0, 134217600, 0 },
		{ 0x000000000000ffff, 10 * MBPS, 0, 0, 5242800 },
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct hpcc_hop h = telem_unpack(t[i].v);

		cr_expect_eq(h.bps, t[i].bps, "vector %zu: %llu bit/s", i, h.bps);
		cr_expect_eq(h.ts_ns, t[i].ts_ns, "vector %zu: ts %u", i, h.ts_ns);
		cr_expect_eq(h.tx_bytes, t[i].tx_bytes, "vector %zu: tx %u", i, h.tx_bytes);
		cr_expect_eq(h.qlen_bytes, t[i].qlen_bytes, "vector %zu: q %u", i, h.qlen_bytes);
		cr_expect_eq(h.pad, 0, "vector %zu: state is compared as memory", i);
	}
}

Test(telemetry, telem_unpack__undoes_telem_pack)
{
	unsigned short rng[3] = { 4, 5, 6 };
	int i;

	for (i = 0; i < 100000; i++) {
		__u64 ts = nrand48(rng) & 0xffffff, tx = (nrand48(rng) & 0xfffff) * 128ULL;
		__u32 qlen = (nrand48(rng) & 0xffff) * 80;
		__u32 mbps = table_mbps[nrand48(rng) % TELEM_SPEEDS];
		struct hpcc_hop h = telem_unpack(telem_pack(telem_speed_fit(mbps * MBPS), ts, tx, qlen));

		cr_assert_eq(h.bps, mbps * MBPS);
		cr_assert_eq(h.ts_ns, ts);
		cr_assert_eq(h.tx_bytes, tx);
		cr_assert_eq(h.qlen_bytes, qlen);
	}
}

Test(telemetry, telem_pack__saturates_the_queue)
{
	struct telem_speed plain = telem_speed_fit(100 * MBPS), tenfold = telem_speed_fit(1 * MBPS);

	cr_expect_eq(telem_pack(plain, 0, 0, 65535 * 80 - 1) & 0xffff, 0xffff);
	cr_expect_eq(telem_pack(plain, 0, 0, 65534 * 80) & 0xffff, 0xfffe);
	cr_expect_eq(telem_pack(plain, 0, 0, 65535 * 80), 0x100000000000ffff);
	cr_expect_eq(telem_pack(plain, 0, 0, 65536 * 80), 0x100000000000ffff);
	cr_expect_eq(telem_pack(plain, 0, 0, ~0U), 0x100000000000ffff, "nothing runs into tx");
	cr_expect_eq(telem_pack(tenfold, 0, 0, 524000) & 0xffff, 65500);
	cr_expect_eq(telem_pack(tenfold, 0, 0, 600000), 0x000000000000ffff);
	cr_expect_eq(telem_pack(tenfold, 0, 0, ~0U), 0x000000000000ffff);
}

/* The stamps of a port at bps at two moments, through the wire and MeasureInflight. */
static double u_measured(__u64 bps, __u64 t_ns, __u64 dt_ns, __u64 tx0, __u64 tx1, __u32 qlen)
{
	struct hpcc_params p = { .t_ns = t_ns, .w_init = q12_from_bytes(100000), .eta = Q24_ONE };
	struct hpcc_ack ack = { .gap_ns = dt_ns, .hops = 1 };
	struct telem_speed s = telem_speed_fit(bps);
	struct hpcc_state st;
	enum hpcc_kind kind;

	hpcc_init(&st, &p);
	ack.hop[0] = telem_unpack(telem_pack(s, 0xfffff0, tx0, qlen));
	hpcc_record(&st, &ack);
	ack.hop[0] = telem_unpack(telem_pack(s, 0xfffff0 + dt_ns, tx1, qlen));
	kind = hpcc_measure(&st, &p, &ack);
	cr_assert_eq(kind, HPCC_FAST, "%llu bit/s: kind %d", bps, kind);
	return (double)st.u / Q24_ONE;
}

static const __u64 speeds[] = {
	1 * MBPS,     9 * MBPS,	     11 * MBPS,	     99 * MBPS,	     100 * MBPS,
	150 * MBPS,   999 * MBPS,    1001 * MBPS,    3333 * MBPS,    100000 * MBPS,
	123456789012, 799999 * MBPS, 1600000 * MBPS, 3200000 * MBPS, 5000000 * MBPS,
};

/*
 * dt = T here, so U is what was measured. The units that the port reports in are coarser or finer
 * by the factor between its speed and that of the table: that much U may be off.
 */
static void expect_u(__u64 bps, __u64 t_ns, __u64 tx0, double load, double queue_bdp)
{
	double bdp = bps * (double)t_ns / 8e9;
	double factor = telem_unpack(telem_pack(telem_speed_fit(bps), 0, 0, 0)).bps / (double)bps;
	double sent = floor(bdp * load), queued = floor(bdp * queue_bdp);
	double want = (sent + queued) / bdp;
	double unit = (128 * fmax(1, 1 / factor) + 128 + 80) / bdp;
	double got = u_measured(bps, t_ns, t_ns, tx0, tx0 + (__u64)sent, queued);

	cr_expect(fabs(got - want) <= unit + 2e-5 * want, "%llu bit/s, tx %llu, load %.2f + %.2f: U = %.6f, not %.6f",
		  bps, tx0, load, queue_bdp, got, want);
}

Test(telemetry, telem_pack__scaled_counters_give_the_u_of_the_true_speed)
{
	size_t i;

	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		/* 200 packets in flight, or what a queue of 16 bits can say */
		__u64 t_ns = fmin(200 * 1500 * 8e9 / speeds[i], 8e6);

		expect_u(speeds[i], t_ns, 0, 0.5, 0);
		expect_u(speeds[i], t_ns, 123456789, 0.95, 0);
		expect_u(speeds[i], t_ns, 1ULL << 40, 1, 0.2);
		expect_u(speeds[i], t_ns, 1, 1, 1.5);
	}
}

/* A scaled counter comes round where 20 bits of the scaled units do. */
Test(telemetry, telem_pack__scaled_counters_wrap_like_others)
{
	size_t i;
	int wrap;

	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		double scale = telem_speed_fit(speeds[i]).scale_q16 / 65536.0;
		__u64 t_ns = fmin(200 * 1500 * 8e9 / speeds[i], 8e6);
		__u64 half = speeds[i] * (double)t_ns / 8e9 / 2;

		for (wrap = 1; wrap < 50; wrap++) {
			__u64 at = (double)wrap * (1 << 27) / scale;

			expect_u(speeds[i], t_ns, at - half, 1, 0);
		}
		/* and, where an integer of 32 bits would, of bytes or of units */
		for (wrap = 1; wrap < 50; wrap++) {
			expect_u(speeds[i], t_ns, ((__u64)wrap << 32) - half, 1, 0);
			expect_u(speeds[i], t_ns, ((__u64)wrap << 39) - half, 1, 0);
		}
		/* and where units times scale pass 2^64 */
		for (wrap = 1; wrap < 50; wrap++) {
			__u64 at = wrap * (0x1p48 / scale * 128);

			if (wrap * (0x1p48 / scale * 128) < 0x1p63)
				expect_u(speeds[i], t_ns, at - half, 1, 0);
		}
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TELEMETRY_H
#define SLUICE_TELEMETRY_H
/*
 * The `hpcc` telemetry encoding (HPCC, SIGCOMM 2019, section 4.1, Figure 7), between host integers
 * and the fields of a hop. Byte order and place in the packet are wire.h's business.
 *
 *     63  60 59                    36 35                20+16-1        16 15               0
 *    +------+------------------------+-----------------------------------+-----------------+
 *    |  B   |        TS, ns          |      txBytes, units of 128 B      |  qLen, 80 B     |
 *    |  4   |          24            |                20                 |       16        |
 *    +------+------------------------+-----------------------------------+-----------------+
 *
 * B is an index into a table of 16 speeds: Linux's SPEED_* from 10 Mbit/s to 800 Gbit/s. U depends only on qLen/B and
 * txBytes/B, so a port of any other speed S announces the next faster speed B of the table and multiplies what it
 * reports by B/S: U comes out exact.
 */
#include "sluice/types.h"
#include "sluice/cc/hpcc.h"

#define TELEM_SPEEDS 16
#define TELEM_TX_UNIT_BYTES 128
#define TELEM_QLEN_UNIT_BYTES 80

/* Mbit/s of speed code B. */
VERIFIED_ONCE __u32 telem_speed_mbps(__u32 code)
{
	switch (code) {
	case 0:
		return 10;
	case 1:
		return 100;
	case 2:
		return 1000;
	case 3:
		return 2500;
	case 4:
		return 5000;
	case 5:
		return 10000;
	case 6:
		return 14000;
	case 7:
		return 20000;
	case 8:
		return 25000;
	case 9:
		return 40000;
	case 10:
		return 50000;
	case 11:
		return 56000;
	case 12:
		return 100000;
	case 13:
		return 200000;
	case 14:
		return 400000;
	default:
		return 800000;
	}
}

/* How a port of a given speed reports: the code that it announces and the factor on its counters. */
struct telem_speed {
	__u32 code;
	__u32 scale_q16; /* B/S in Q16: 1.0 for a speed of the table; saturates below 65536.0 */
};

/*
 * The slowest speed of the table that is not below bps. Above the table the last entry with a
 * factor below 1. bps > 0.
 */
static inline struct telem_speed telem_speed_fit(__u64 bps)
{
	struct telem_speed s = { 0, 0 };
	__u64 scale;

	while (s.code < TELEM_SPEEDS - 1 && telem_speed_mbps(s.code) * 1000000ULL < bps)
		s.code++;
	scale = ((telem_speed_mbps(s.code) * 1000000ULL << 16) + bps / 2) / bps;
	s.scale_q16 = scale > 0xffffffffULL ? 0xffffffffULL : scale;
	return s;
}

/* N as such a port tells it, 16 bits: scaled as all that it reports, rounded up. n < 2^32 */
static inline __u32 telem_flows(const struct telem_speed *s, __u32 n)
{
	__u64 scaled = ((__u64)n * s->scale_q16 + 0xffff) >> 16;

	return scaled < 0xffff ? scaled : 0xffff;
}

/*
 * A hop's 64 bits. ts_ns and tx_bytes are free running and cut to their fields; qlen_bytes
 * saturates at 5.2 MB. The product tx_units * scale may pass 2^64 and still gives the right low
 * bits, so a scaled counter wraps like an unscaled one.
 */
static inline __u64 telem_pack(struct telem_speed s, __u64 ts_ns, __u64 tx_bytes, __u32 qlen_bytes)
{
	__u64 tx = (tx_bytes / TELEM_TX_UNIT_BYTES * s.scale_q16) >> 16;
	__u64 qlen = (((__u64)qlen_bytes * s.scale_q16 >> 16) + TELEM_QLEN_UNIT_BYTES / 2) / TELEM_QLEN_UNIT_BYTES;

	if (qlen > 0xffff)
		qlen = 0xffff;
	return (__u64)(s.code & 0xf) << 60 | (ts_ns & HPCC_TS_MASK) << 36 | (tx & 0xfffff) << 16 | qlen;
}

static inline struct hpcc_hop telem_unpack(__u64 v)
{
	struct hpcc_hop hop = {
		.bps = telem_speed_mbps(v >> 60) * 1000000ULL,
		.ts_ns = (v >> 36) & HPCC_TS_MASK,
		.tx_bytes = ((v >> 16) & 0xfffff) * TELEM_TX_UNIT_BYTES,
		.qlen_bytes = (v & 0xffff) * TELEM_QLEN_UNIT_BYTES,
	};

	return hop;
}

#endif

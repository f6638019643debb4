/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_INTMD_H
#define SLUICE_INTMD_H
/*
 * The `int-md` telemetry encoding: INT-MD of P4.org's INT Dataplane Specification 2.1, section 5.7,
 * between the bytes of the packet and struct hpcc_hop. It follows a shim of type 1 (wire.h).
 *
 *   +-------+-+-+-+-----------------------+---------+---------------+
 *   |  2    |D|E|M|       reserved        | Hop ML  | remaining hops|
 *   +-------+-+-+-+-----------------------+---------+---------------+
 *   |      instruction bitmap       |          domain ID            |
 *   +-------------------------------+-------------------------------+
 *   |        DS instruction         |           DS flags            |
 *   +---------------------------------------------------------------+
 *   | Hop ML words of the newest hop, then of the one before, ...   |
 *
 * A hop's words stand in the order of the bitmap, the most significant bit first, then those of the
 * DS instruction, last the checksum complement. Sluice asks for 6 words a hop:
 *
 *   node id | queue id 8, occupancy 24 | egress time 64 | txBytes | speed
 *
 * In a message it stands in front of Sluice's own shim, which the IP protocol 253 of its shim names:
 *
 *   outer IP | UDP | shim, type 1 | INT-MD header | stack | shim, type 9 | header | ... (wire.h)
 *
 *  1. intmd_source() writes a header; intmd_transit() is a hop: the words to insert behind the
 *     header, and the header's flags; intmd_sink() reads the stack.
 *  2. The specification leaves units to the operator. Sluice's: bytes, ns, kbit/s, and of txBytes 128
 *     bytes, so that 32 bits of it wrap where the 20 of telemetry.h do, at any speed (intmd_pack).
 *  3. All ones is "no value": a word that a hop cannot fill. A real value of all ones is sent minus 1.
 *  4. Nothing here trusts the packet: an inconsistency becomes a verdict, and changes nothing.
 */
#include "sluice/cc/hpcc.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

#define INTMD_HDR_BYTES 12
#define INTMD_VERSION 2
#define INTMD_D 0x08 /* in the first byte: a copy, to be thrown away by the sink */
#define INTMD_E 0x04 /* a hop found no remaining hop count */
#define INTMD_M 0x02 /* a hop found no room within the MTU */
#define INTMD_ML_MAX 31
#define INTMD_HOP_BYTES_MAX (4 * INTMD_ML_MAX)
#define INTMD_STRIDE_BYTES (4 * (INTMD_ML_MAX + 1)) /* reach of the 5 bits of place */
#define INTMD_STACK_BYTES_MAX (INTMD_STRIDE_BYTES * HPCC_MAX_HOPS)

/* Instruction bits (section 5.7) that Sluice fills; a hop fills the others with all ones. */
#define INTMD_I_NODE (1 << 15)
#define INTMD_I_QUEUE (1 << 12)
#define INTMD_I_EGRESS (1 << 10)
#define INTMD_I_CHECKSUM 1
#define INTMD_I_TWO_WORDS (7 << 9) /* bits 4 to 6: ingress and egress time, level 2 ports */

#define INTMD_DOMAIN 0x534c /* bits of the DS instruction: */
#define INTMD_DS_TX (1 << 15)
#define INTMD_DS_SPEED (1 << 14)

#define INTMD_INSTRUCTIONS (INTMD_I_NODE | INTMD_I_QUEUE | INTMD_I_EGRESS)
#define INTMD_DS_INSTRUCTIONS (INTMD_DS_TX | INTMD_DS_SPEED)
#define INTMD_ML 6
#define INTMD_HOP_BYTES (4 * INTMD_ML)
#define INTMD_TX_UNIT_BYTES TELEM_TX_UNIT_BYTES
#define INTMD_QLEN_MAX_BYTES 0xfffffeU

#define INTMD_SHIM_TYPE_NPT (1 << 4 | 2 << 2) /* type 1; the next header has an IP protocol number: */
#define INTMD_NEXT_SLUICE 253		      /* RFC 3692, section 2.1: for experiments */
#define INTMD_SOURCE_BYTES (sizeof(struct wire_shim) + INTMD_HDR_BYTES) /* header bytes that a source prepends */

/*
 * The most that an IP packet grows on its way, without authentication: 228 bytes with IPv4. The stack replaces the
 * telemetry block.
 */
#define INTMD_OVERHEAD_BYTES(outer_ip_bytes)                                                          \
	(WIRE_OVERHEAD_BYTES(outer_ip_bytes) - WIRE_TELEM_BYTES(HPCC_MAX_HOPS) + INTMD_SOURCE_BYTES + \
	 INTMD_HOP_BYTES * HPCC_MAX_HOPS)

_Static_assert(INTMD_OVERHEAD_BYTES(20) == 228, "docs/protocol.md and the MTU advice say so");

enum intmd_verdict {
	INTMD_OK,
	INTMD_BAD_VERSION,
	INTMD_BAD_LENGTH,    /* less than a header, more than a shim can count, or a partial hop */
	INTMD_BAD_ML,	     /* Hop ML does not match the instructions */
	INTMD_HOPS_EXCEEDED, /* transit: no hop left; E was set */
	INTMD_MTU_EXCEEDED,  /* transit: no room; M was set */
	INTMD_TOO_MANY_HOPS, /* sink: more than HPCC_MAX_HOPS */
	INTMD_NO_FIELD,	     /* sink: the instructions lack what HPCC needs */
	INTMD_NO_VALUE,	     /* sink: a hop could not fill what HPCC needs */
	INTMD_BAD_VALUE,     /* sink: a speed of 0 */
	INTMD_INCOMPLETE,    /* sink: parsed, but E or M says that hops are missing */
};

/* Offsets of a hop's words, in words; INTMD_NONE: not asked for. */
#define INTMD_NONE 0xff
struct intmd_layout {
	__u8 words; /* Hop ML */
	__u8 node, queue, egress, tx, speed;
	__u8 pad[2];
};

/* The values that a hop can report. */
struct intmd_values {
	__u64 ts_ns;
	__u64 tx_bytes;
	__u64 bps;
	__u32 node_id;
	__u32 qlen_bytes;
	__u8 queue_id;
	__u8 pad[3];
	__u16 serves;	 /* instruction bits that it can fill */
	__u16 serves_ds; /* DS instruction bits that it can fill */
};

/* The result of a sink: hop[0] is the first on the path. */
struct intmd_path {
	__u64 first_ts_ns; /* of hop[0], at full width: shows gaps that 24 bits cannot */
	__u16 path_id;	   /* node ids, each folded to 12 bits, XORed */
	__u8 hops;
	__u8 discard;		       /* D: the packet is a copy */
	__u32 tx_units[HPCC_MAX_HOPS]; /* txBytes as reported by the hops; hop has the low bits */
	struct hpcc_hop hop[HPCC_MAX_HOPS];
};

static inline __u32 intmd_get16(const __u8 *b)
{
	return b[0] << 8 | b[1];
}

static inline __u32 intmd_get32(const __u8 *b)
{
	return intmd_get16(b) << 16 | intmd_get16(b + 2);
}

static inline void intmd_put16(__u8 *b, __u32 v)
{
	b[0] = v >> 8;
	b[1] = v;
}

static inline void intmd_put32(__u8 *b, __u32 v)
{
	intmd_put16(b, v >> 16);
	intmd_put16(b + 2, v);
}

/* The header of a source whose path may have max_hops hops. discard: the packet is a copy. */
static inline void intmd_source(__u8 hdr[INTMD_HDR_BYTES], __u8 max_hops, int discard)
{
	hdr[0] = INTMD_VERSION << 4 | (discard ? INTMD_D : 0);
	hdr[1] = 0;
	hdr[2] = INTMD_ML;
	hdr[3] = max_hops;
	intmd_put16(hdr + 4, INTMD_INSTRUCTIONS);
	intmd_put16(hdr + 6, INTMD_DOMAIN);
	intmd_put16(hdr + 8, INTMD_DS_INSTRUCTIONS);
	intmd_put16(hdr + 10, 0);
}

/* Words that the bits of an instruction take; the bits are counted without branches. */
static inline __u32 intmd_words(__u32 bits)
{
	__u64 v = bits | (__u64)(bits & INTMD_I_TWO_WORDS) << 16;

	v -= v >> 1 & 0x55555555;
	v = (v & 0x33333333) + (v >> 2 & 0x33333333);
	v = (v + (v >> 4)) & 0x0f0f0f0f;
	return v * 0x01010101 >> 24 & 0xff;
}

/* Where the words of a bit begin, after those of the bits above it. */
static inline __u8 intmd_place(__u32 bitmap, __u32 bit)
{
	return bitmap & bit ? intmd_words(bitmap & ~(2 * bit - 1)) : INTMD_NONE;
}

/*
 * The layout of a header. Bits that the specification reserves take one word each, as it demands, and so do the
 * undefined ones of our domain. The words of another domain's instruction only show in Hop ML: they are those beyond
 * the others.
 */
static inline enum intmd_verdict intmd_layout(const __u8 hdr[INTMD_HDR_BYTES], struct intmd_layout *l)
{
	__u32 bitmap = intmd_get16(hdr + 4), ds = intmd_get16(hdr + 8), ml = hdr[2] & INTMD_ML_MAX;
	__u32 words = intmd_words(bitmap & ~INTMD_I_CHECKSUM), checksum = bitmap & INTMD_I_CHECKSUM;
	int ours = intmd_get16(hdr + 6) == INTMD_DOMAIN;

	if (hdr[0] >> 4 != INTMD_VERSION)
		return INTMD_BAD_VERSION;
	l->words = ml;
	l->node = intmd_place(bitmap, INTMD_I_NODE);
	l->queue = intmd_place(bitmap, INTMD_I_QUEUE);
	l->egress = intmd_place(bitmap, INTMD_I_EGRESS);
	l->tx = l->speed = INTMD_NONE;
	if (ours && ds & INTMD_DS_TX)
		l->tx = words;
	if (ours && ds & INTMD_DS_SPEED)
		l->speed = words + !!(ds & INTMD_DS_TX);
	if (ours)
		words += intmd_words(ds & 0xff) + intmd_words(ds >> 8); /* no DS instruction takes two */
	else if (ds && words + checksum < ml)
		words = ml - checksum;
	return words + checksum == ml && ml ? INTMD_OK : INTMD_BAD_ML;
}

/* A word, or all ones without a value. */
static inline void intmd_put_value(__u8 *b, int known, __u32 v)
{
	intmd_put32(b, !known ? 0xffffffff : v == 0xffffffff ? v - 1 : v);
}

/*
 * Acts as a hop. shim_words: Length of the shim; room_bytes: how much the packet may grow. With INTMD_OK the caller
 * inserts the first *bytes of out INTMD_HDR_BYTES after the start of the header, and adds them to Length and to the
 * lengths of the outer headers. Otherwise nothing is inserted; hdr may have a new flag.
 */
static inline enum intmd_verdict intmd_transit(__u8 hdr[INTMD_HDR_BYTES], __u32 shim_words, __u32 room_bytes,
					       const struct intmd_values *v, __u8 out[INTMD_HOP_BYTES_MAX],
					       __u32 *bytes)
{
	__u32 kbps = v->bps / 1000 < 0xfffffffe ? v->bps / 1000 : 0xfffffffe;
	__u32 qlen = v->qlen_bytes;
	struct intmd_layout l;
	enum intmd_verdict err;
	int i;

	*bytes = 0;
	err = intmd_layout(hdr, &l);
	if (err)
		return err;
	if (shim_words < INTMD_HDR_BYTES / 4 || shim_words > 255)
		return INTMD_BAD_LENGTH;
	if (!hdr[3]) {
		hdr[0] |= INTMD_E;
		return INTMD_HOPS_EXCEEDED;
	}
	/* More than the shim can count is like no room. */
	if (4U * l.words > room_bytes || shim_words + l.words > 255) {
		hdr[0] |= INTMD_M;
		return INTMD_MTU_EXCEEDED;
	}
	for (i = 0; i < INTMD_HOP_BYTES_MAX; i++)
		out[i] = 0xff;
	if (l.node < INTMD_ML_MAX)
		intmd_put_value(out + 4 * l.node, v->serves & INTMD_I_NODE, v->node_id);
	if (qlen > INTMD_QLEN_MAX_BYTES)
		qlen = INTMD_QLEN_MAX_BYTES;
	if (l.queue < INTMD_ML_MAX)
		intmd_put_value(out + 4 * l.queue, v->serves & INTMD_I_QUEUE, (__u32)v->queue_id << 24 | qlen);
	if (l.egress < INTMD_ML_MAX - 1 && v->serves & INTMD_I_EGRESS) {
		intmd_put32(out + 4 * l.egress, v->ts_ns >> 32);
		intmd_put32(out + 4 * l.egress + 4, v->ts_ns);
	}
	if (l.tx < INTMD_ML_MAX)
		intmd_put_value(out + 4 * l.tx, v->serves_ds & INTMD_DS_TX, v->tx_bytes / INTMD_TX_UNIT_BYTES);
	if (l.speed < INTMD_ML_MAX)
		intmd_put_value(out + 4 * l.speed, v->serves_ds & INTMD_DS_SPEED, kbps);
	hdr[3]--;
	*bytes = 4 * l.words;
	return INTMD_OK;
}

/* 32 bits of node id to the 12 of pathID; ids of 12 bits stay as they are. */
static inline __u16 intmd_fold(__u32 node_id)
{
	return (node_id ^ node_id >> 12 ^ node_id >> 24) & 0xfff;
}

/* A hop's word. All places are below Hop ML; the mask is for the verifier, which cannot know. */
static inline __u32 intmd_get_value(const __u8 *b, __u32 place)
{
	return intmd_get32(b + 4 * (place & INTMD_ML_MAX));
}

/*
 * Reads a hop's words into hop. Clock and byte counter are cut to the core's widths, of which all differences are
 * modulo; a clock of 64 bits and a counter of 32 wrap at multiples of them.
 */
static inline enum intmd_verdict intmd_read(const __u8 *b, const struct intmd_layout *l, struct hpcc_hop *hop,
					    __u64 *ts_ns, __u32 *tx_units, __u16 *path_id)
{
	__u32 queue = intmd_get_value(b, l->queue), tx = intmd_get_value(b, l->tx);
	__u32 kbps = intmd_get_value(b, l->speed);

	*ts_ns = (__u64)intmd_get_value(b, l->egress) << 32 | intmd_get_value(b, l->egress + 1);
	if (queue == 0xffffffff || tx == 0xffffffff || kbps == 0xffffffff || *ts_ns == ~0ULL)
		return INTMD_NO_VALUE;
	if (!kbps)
		return INTMD_BAD_VALUE;
	hop->bps = kbps * 1000ULL;
	hop->ts_ns = *ts_ns & HPCC_TS_MASK;
	hop->tx_bytes = tx * INTMD_TX_UNIT_BYTES & HPCC_TX_MASK;
	*tx_units = tx;
	hop->qlen_bytes = queue & 0xffffff;
	hop->pad = 0;
	if (l->node != INTMD_NONE)
		*path_id ^= intmd_fold(intmd_get_value(b, l->node));
	return INTMD_OK;
}

/*
 * stack: the `bytes` after the header, in a buffer of INTMD_STACK_BYTES_MAX. path is complete with INTMD_OK and
 * INTMD_INCOMPLETE. A stack without hops is valid: a path that stamps nothing.
 */
static inline enum intmd_verdict intmd_sink(const __u8 hdr[INTMD_HDR_BYTES], const __u8 *stack, __u32 bytes,
					    struct intmd_path *path)
{
	struct intmd_layout l;
	enum intmd_verdict err;
	__u32 hop_bytes, hops, i, at;
	__u64 ts_ns;

	err = intmd_layout(hdr, &l);
	if (err)
		return err;
	if (l.queue == INTMD_NONE || l.egress == INTMD_NONE || l.tx == INTMD_NONE || l.speed == INTMD_NONE)
		return INTMD_NO_FIELD;
	hop_bytes = 4 * l.words;
	hops = bytes / hop_bytes;
	if (hops * hop_bytes != bytes)
		return INTMD_BAD_LENGTH;
	if (hops > HPCC_MAX_HOPS)
		return INTMD_TOO_MANY_HOPS;
	path->first_ts_ns = 0;
	path->path_id = 0;
	path->hops = hops;
	path->discard = !!(hdr[0] & INTMD_D);
	VERIFIER_FORGET(hops); /* or clang 19 removes i < HPCC_MAX_HOPS, which the verifier needs */
	for (i = 0; i < HPCC_MAX_HOPS && i < hops; i++) {
		/* The newest hop is on top, and the last on the path. */
		at = bytes - (i + 1) * hop_bytes;
		at &= (HPCC_MAX_HOPS - 1) * INTMD_STRIDE_BYTES - 1; /* always true: for the verifier */
		err = intmd_read(stack + at, &l, &path->hop[i], &ts_ns, &path->tx_units[i], &path->path_id);
		if (err)
			return err;
		if (!i)
			path->first_ts_ns = ts_ns;
	}
	return hdr[0] & (INTMD_E | INTMD_M) ? INTMD_INCOMPLETE : INTMD_OK;
}

/* How a hop's speed is announced in 64 bits. The factor is a multiple of 2^-12, 0.03 % too low. */
static inline struct telem_speed intmd_speed(__u64 bps)
{
	struct telem_speed s = telem_speed_fit(bps);

	s.scale_q16 &= ~15U;
	return s;
}

/*
 * A hop of the path as the 64 bits of telemetry.h, the form of echoes. When 32 bits of units wrap, units * scale goes
 * back by a multiple of 2^36: the remaining 20 bits continue without a break.
 */
static inline __u64 intmd_pack(struct telem_speed s, const struct hpcc_hop *hop, __u32 tx_units)
{
	return telem_pack(s, hop->ts_ns, (__u64)tx_units * INTMD_TX_UNIT_BYTES, hop->qlen_bytes);
}

#endif

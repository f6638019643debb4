// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that is read from packets: headers of wire.h, telemetry of telemetry.h and intmd.h, and SipHash against a second
 * implementation, which reads bytes as the paper does.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "sluice/wire/intmd.h"
#include "sluice/wire/siphash.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

/* ---- Headers ---- */

/* Reads every block that a header announces, in a buffer that ends where the message does. */
static void header(struct fuzz *f)
{
	struct wire_shim s = { fuzz_u8(f), fuzz_u8(f), fuzz_u8(f), fuzz_u8(f) };
	struct wire_hdr h = { fuzz_u8(f), fuzz_u8(f), fuzz_u8(f), fuzz_u8(f), fuzz_u32(f) };
	enum wire_check check;
	__u32 bytes, echo;
	__u8 *message;

	if (fuzz_coin(f)) { /* otherwise hardly any would be one */
		s.type_npt = WIRE_SHIM_TYPE_NPT;
		h.version_msg = WIRE_VERSION << 4 | (h.version_msg & 0xf);
		s.length_words = (wire_length(&h) - sizeof(s)) / 4;
	}
	check = wire_check(&s, &h);
	FUZZ_ASSERT((check == WIRE_NOT_HPCC) == (s.type_npt != WIRE_SHIM_TYPE_NPT));
	if (check)
		return;
	bytes = sizeof(s) + 4 * s.length_words;
	FUZZ_ASSERT(bytes == wire_length(&h) && bytes >= WIRE_HDR_BYTES && bytes % 4 == 0);
	FUZZ_ASSERT(h.version_msg >> 4 == WIRE_VERSION && wire_message(&h) >= WIRE_DATA && wire_message(&h) <= WIRE_RATE);
	FUZZ_ASSERT(h.echo_hops <= HPCC_MAX_HOPS && wire_auth_words(&h) * 4 <= sizeof(struct wire_auth_text));
	message = calloc(1, bytes);
	FUZZ_ASSERT(message);
	if (wire_is_batch(&h)) {
		struct wire_batch_text text;

		FUZZ_ASSERT(h.max_hops && h.max_hops <= WIRE_REPORTS_MAX);
		memcpy(text.report, message + WIRE_HDR_BYTES, h.max_hops * WIRE_REPORT_BYTES);
	} else {
		struct wire_telem telem;
		struct wire_echo e;

		FUZZ_ASSERT(h.max_hops <= HPCC_MAX_HOPS);
		FUZZ_ASSERT(bytes <= WIRE_OVERHEAD_BYTES(0) - WIRE_UDP_BYTES + WIRE_VOQ_BYTES + WIRE_AUTH_BYTES);
		memcpy(&telem, message + WIRE_HDR_BYTES, WIRE_TELEM_BYTES(h.max_hops));
		echo = wire_echo_offset(&h);
		if (h.flags & WIRE_F_ECHO)
			memcpy(&e, message + echo, WIRE_ECHO_BYTES(h.echo_hops));
	}
	if (h.flags & WIRE_F_AUTH) {
		struct wire_auth auth;

		memcpy(&auth, message + bytes - sizeof(auth), sizeof(auth));
	}
	free(message);
}

/* ---- Telemetry in 64 bits ---- */

static void telemetry(struct fuzz *f)
{
	__u64 bps = fuzz_in(f, 1, (1ULL << 44) - 1), ts = fuzz_u64(f), tx = fuzz_u64(f), more, v = fuzz_u64(f);
	struct telem_speed s = telem_speed_fit(bps);
	__u64 table = telem_speed_mbps(s.code) * 1000000ULL, want;
	__u32 qlen = fuzz_u32(f), code;
	struct hpcc_hop hop, later;

	/* The slowest speed of the table that is not below it. */
	FUZZ_ASSERT(s.code < TELEM_SPEEDS && (table >= bps || s.code == TELEM_SPEEDS - 1));
	FUZZ_ASSERT(!s.code || telem_speed_mbps(s.code - 1) * 1000000ULL < bps);
	hop = telem_unpack(telem_pack(s, ts, tx, qlen));
	FUZZ_ASSERT(hop.bps == table && hop.ts_ns == (ts & HPCC_TS_MASK) && hop.tx_bytes <= HPCC_TX_MASK);
	/* Within a unit of its value, until it exceeds the field. */
	want = (unsigned __int128)qlen * s.scale_q16 >> 16;
	if (want > 0xffff * TELEM_QLEN_UNIT_BYTES)
		FUZZ_ASSERT(hop.qlen_bytes == 0xffff * TELEM_QLEN_UNIT_BYTES);
	else
		FUZZ_ASSERT(hop.qlen_bytes <= want + TELEM_QLEN_UNIT_BYTES / 2 &&
			    hop.qlen_bytes + TELEM_QLEN_UNIT_BYTES / 2 >= want);
	/* A difference of counters is one of bytes by B/S, within a unit, however they wrap: while tx itself is whole. */
	more = fuzz_in(f, 0, 1 << 26);
	if (s.scale_q16 <= 1 << 16 && tx + more >= tx) {
		later = telem_unpack(telem_pack(s, ts, tx + more, qlen));
		want = more * s.scale_q16 >> 16;
		code = (later.tx_bytes - hop.tx_bytes) & HPCC_TX_MASK;
		if (tx / TELEM_TX_UNIT_BYTES < 1ULL << 47)
			FUZZ_ASSERT(code <= want + 2 * TELEM_TX_UNIT_BYTES && code + 2 * TELEM_TX_UNIT_BYTES >= want);
	}
	/* Every word is a hop that the core may have. */
	hop = telem_unpack(v);
	FUZZ_ASSERT(hop.bps && hop.bps < 1ULL << 44 && hop.ts_ns <= HPCC_TS_MASK && hop.tx_bytes <= HPCC_TX_MASK &&
		    hop.qlen_bytes < 1 << 27);
	s = telem_speed_fit(hop.bps);
	FUZZ_ASSERT(s.code == v >> 60 && s.scale_q16 == 1 << 16);
	FUZZ_ASSERT(telem_pack(s, hop.ts_ns, hop.tx_bytes, hop.qlen_bytes) == v);
}

/* ---- INT-MD ---- */

static void intmd_values(struct fuzz *f, struct intmd_values *v)
{
	*v = (struct intmd_values){ .ts_ns = fuzz_u64(f), .tx_bytes = fuzz_u64(f), .bps = fuzz_any(f) << 1,
				    .node_id = fuzz_u32(f), .qlen_bytes = fuzz_u32(f), .queue_id = fuzz_u8(f) };
	v->serves = fuzz_coin(f) ? INTMD_INSTRUCTIONS : fuzz_u16(f);
	v->serves_ds = fuzz_coin(f) ? INTMD_DS_INSTRUCTIONS : fuzz_u16(f);
}

static void path_holds(const struct intmd_path *path, enum intmd_verdict verdict)
{
	int i;

	if (verdict != INTMD_OK && verdict != INTMD_INCOMPLETE)
		return;
	FUZZ_ASSERT(path->hops <= HPCC_MAX_HOPS && path->path_id <= WIRE_PATH_MASK && path->discard <= 1);
	for (i = 0; i < path->hops; i++) {
		const struct hpcc_hop *hop = &path->hop[i];
		struct hpcc_hop packed = telem_unpack(intmd_pack(intmd_speed(hop->bps), hop, path->tx_units[i]));

		FUZZ_ASSERT(hop->bps && hop->bps < 1ULL << 44 && hop->ts_ns <= HPCC_TS_MASK &&
			    hop->tx_bytes <= HPCC_TX_MASK && hop->qlen_bytes < 1 << 24);
		FUZZ_ASSERT(packed.ts_ns == hop->ts_ns);
	}
}

/* A header and a stack of any origin: its bytes, in a buffer of the size that sinks have. */
static void sink(struct fuzz *f)
{
	__u8 hdr[INTMD_HDR_BYTES], was[INTMD_HDR_BYTES], out[INTMD_HOP_BYTES_MAX];
	__u8 *stack = malloc(INTMD_STACK_BYTES_MAX);
	struct intmd_values v;
	struct intmd_path path;
	enum intmd_verdict verdict;
	__u32 bytes, words = fuzz_u8(f), room = fuzz_u16(f), inserted;
	size_t n, i;
	const uint8_t *at;

	FUZZ_ASSERT(stack);
	intmd_source(hdr, fuzz_u8(f), fuzz_coin(f));
	for (i = fuzz_u8(f) % 8; i; i--)
		hdr[fuzz_u8(f) % INTMD_HDR_BYTES] ^= fuzz_u8(f);
	intmd_values(f, &v);
	memcpy(was, hdr, sizeof(was));
	verdict = intmd_transit(hdr, words, room, &v, out, &inserted);
	FUZZ_ASSERT(inserted <= room && inserted <= INTMD_HOP_BYTES_MAX && inserted % 4 == 0);
	if (verdict == INTMD_OK) {
		FUZZ_ASSERT(inserted == 4U * (was[2] & INTMD_ML_MAX) && hdr[3] == was[3] - 1);
		FUZZ_ASSERT(words + inserted / 4 <= 255);
		hdr[3] = was[3];
	} else {
		FUZZ_ASSERT(!inserted);
		hdr[0] &= ~(INTMD_E | INTMD_M);
		was[0] &= ~(INTMD_E | INTMD_M);
	}
	FUZZ_ASSERT(!memcmp(hdr, was, sizeof(was)));
	/* Whole hops, mostly. */
	bytes = fuzz_u8(f);
	bytes = bytes < 16 ? fuzz_u16(f) % (INTMD_STACK_BYTES_MAX + 1) : bytes % (HPCC_MAX_HOPS + 1) * 4 * (hdr[2] & INTMD_ML_MAX);
	at = fuzz_rest(f, bytes, &n);
	memset(stack, fuzz_u8(f), INTMD_STACK_BYTES_MAX);
	memcpy(stack, at, n);
	verdict = intmd_sink(hdr, stack, bytes, &path);
	FUZZ_ASSERT(verdict != INTMD_HOPS_EXCEEDED && verdict != INTMD_MTU_EXCEEDED);
	path_holds(&path, verdict);
	if (verdict == INTMD_OK)
		FUZZ_ASSERT(path.hops * 4U * (hdr[2] & INTMD_ML_MAX) == bytes);
	free(stack);
}

/* A source, hops of ours, and the sink: the values of the hops come out, first hop first. */
static void path(struct fuzz *f)
{
	__u8 hdr[INTMD_HDR_BYTES], stack[INTMD_STACK_BYTES_MAX], out[INTMD_HOP_BYTES_MAX];
	int hops = fuzz_u8(f) % (HPCC_MAX_HOPS + 1), i, discard = fuzz_coin(f), dark = 0;
	struct intmd_values v[HPCC_MAX_HOPS];
	__u32 bytes, at = 0, id = 0;
	struct intmd_path path;
	enum intmd_verdict verdict;

	intmd_source(hdr, HPCC_MAX_HOPS, discard);
	for (i = 0; i < hops; i++) {
		intmd_values(f, &v[i]);
		if (fuzz_coin(f)) { /* a hop of ours fills in everything */
			v[i].serves = INTMD_INSTRUCTIONS;
			v[i].serves_ds = INTMD_DS_INSTRUCTIONS;
		}
		verdict = intmd_transit(hdr, INTMD_HDR_BYTES / 4 + at / 4, 1000, &v[i], out, &bytes);
		FUZZ_ASSERT(verdict == INTMD_OK && bytes == INTMD_HOP_BYTES);
		memmove(stack + bytes, stack, at);
		memcpy(stack, out, bytes);
		at += bytes;
		id ^= intmd_fold(v[i].serves & INTMD_I_NODE ? v[i].node_id == 0xffffffff ? 0xfffffffe : v[i].node_id : 0xffffffff);
		dark |= (v[i].serves & (INTMD_I_QUEUE | INTMD_I_EGRESS)) != (INTMD_I_QUEUE | INTMD_I_EGRESS) ||
			(v[i].serves_ds & INTMD_DS_INSTRUCTIONS) != INTMD_DS_INSTRUCTIONS || v[i].bps < 1000 ||
			v[i].ts_ns == ~0ULL;
	}
	verdict = intmd_sink(hdr, stack, at, &path);
	FUZZ_ASSERT((verdict == INTMD_OK) == !dark);
	if (dark) {
		FUZZ_ASSERT(verdict == INTMD_NO_VALUE || verdict == INTMD_BAD_VALUE);
		return;
	}
	path_holds(&path, verdict);
	FUZZ_ASSERT(path.hops == hops && path.discard == discard && path.path_id == id);
	for (i = 0; i < hops; i++) {
		__u32 qlen = v[i].qlen_bytes < INTMD_QLEN_MAX_BYTES ? v[i].qlen_bytes : INTMD_QLEN_MAX_BYTES;
		__u64 kbps = v[i].bps / 1000 < 0xfffffffe ? v[i].bps / 1000 : 0xfffffffe;

		FUZZ_ASSERT(path.hop[i].ts_ns == (v[i].ts_ns & HPCC_TS_MASK) && path.hop[i].bps == kbps * 1000);
		FUZZ_ASSERT(path.hop[i].qlen_bytes == qlen);
		if ((__u32)(v[i].tx_bytes / INTMD_TX_UNIT_BYTES) != 0xffffffff)
			FUZZ_ASSERT(path.hop[i].tx_bytes ==
				    (v[i].tx_bytes & ~(INTMD_TX_UNIT_BYTES - 1ULL) & HPCC_TX_MASK));
	}
	if (hops)
		FUZZ_ASSERT(path.first_ts_ns == v[0].ts_ns);
}

/* ---- SipHash ---- */

/* Byte by byte, as section 2 of the paper is written. */
static __u64 siphash_plainly(const __u8 key[16], const __u8 *text, size_t bytes)
{
	static const char name[] = "somepseudorandomlygeneratedbytes";
	__u64 v[4], m;
	size_t block, i, k;

	for (i = 0; i < 4; i++) {
		for (v[i] = k = 0; k < 8; k++)
			v[i] = v[i] << 8 | (__u8)name[8 * i + k];
		for (m = k = 0; k < 8; k++)
			m |= (__u64)key[8 * (i % 2) + k] << 8 * k;
		v[i] ^= m;
	}
	for (block = 0; block <= bytes / 8 + 1; block++) {
		int last = block == bytes / 8 + 1, rounds = last ? 4 : 2;

		for (m = k = 0; k < 8 && !last; k++) {
			size_t at = 8 * block + k;

			m |= (__u64)(at < bytes ? text[at] : k == 7 ? bytes & 0xff : 0) << 8 * k;
		}
		if (last)
			v[2] ^= 0xff;
		v[3] ^= m;
		while (rounds--) {
			v[0] += v[1];
			v[1] = (v[1] << 13 | v[1] >> 51) ^ v[0];
			v[0] = v[0] << 32 | v[0] >> 32;
			v[2] += v[3];
			v[3] = (v[3] << 16 | v[3] >> 48) ^ v[2];
			v[0] += v[3];
			v[3] = (v[3] << 21 | v[3] >> 43) ^ v[0];
			v[2] += v[1];
			v[1] = (v[1] << 17 | v[1] >> 47) ^ v[2];
			v[2] = v[2] << 32 | v[2] >> 32;
		}
		v[0] ^= m;
	}
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void tag(struct fuzz *f)
{
	__u32 word[sizeof(struct wire_batch_text) / 4] = {}, words = fuzz_u8(f) % (sizeof(word) / 4 + 1);
	__u8 bytes[16];
	struct siphash_key key;
	size_t n, i;
	const uint8_t *at;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = fuzz_u8(f);
	memcpy(&key, bytes, sizeof(key));
	at = fuzz_rest(f, 4 * words, &n);
	memcpy(word, at, n);
	FUZZ_ASSERT(siphash(&key, word, words, sizeof(word) / 4) == siphash_plainly(bytes, (__u8 *)word, 4 * words));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };
	int op;

	while ((op = fuzz_op(&f, 6)) >= 0) {
		switch (op) {
		case 0:
			telemetry(&f);
			break;
		case 1:
			tag(&f);
			break;
		case 2:
			path(&f);
			break;
		case 3:
			sink(&f);
			break;
		default:
			header(&f);
		}
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/credit.bpf.h: messages of credit. */
#include <string.h>

#include "credit_case.h"

TestSuite(credit, .init = credit_make, .fini = world_drop, .timeout = 60);
TestSuite(credit_xdp, .init = credit_make, .fini = world_drop, .timeout = 60);

#define F_DUE 1

/* One credit, as in docs/messages.md: to B, or a prefix of it. */
struct one {
	__u32 total, prefixlen; /* 128 */
	__u8 flags;
	__u16 at;
	unsigned int host; /* the last byte of the address; B's own */
};

struct message {
	int v6;
	__u8 next; /* 59 */
	__u64 auth_seq;
	const struct siphash_key *key;
	unsigned int n;
	struct one one[40];
};

static struct voq_key voq_of(int v6, const struct one *o)
{
	struct voq_key k = { .addr = addr_of(v6, HOST_B), .prefixlen = o->prefixlen ?: 128 };
	unsigned int i;

	if (o->host)
		k.addr.b[15] = o->host;
	for (i = k.prefixlen; i < 128; i++)
		k.addr.b[i / 8] &= ~(0x80 >> i % 8);
	return k;
}

/* From the shim on; returns its length. */
static unsigned int message(const struct message *m, __u8 *at)
{
	unsigned int bytes = 12 + 24 * m->n + (m->key ? 16 : 0), k;

	memset(at, 0, bytes);
	at[0] = 0x98;
	at[1] = (bytes - 4) / 4;
	at[3] = m->next ?: 59;
	at[4] = 0x45;
	at[5] = m->n;
	at[6] = m->key ? 2 : 0;
	for (k = 0; k < m->n; k++) {
		struct voq_key voq = voq_of(m->v6, &m->one[k]);
		__u8 *c = at + 12 + 24 * k;

		memcpy(c, &voq.addr, 16);
		put32(c + 16, m->one[k].total);
		c[20] = voq.prefixlen;
		c[21] = m->one[k].flags;
		put16(c + 22, m->one[k].at);
	}
	if (m->key)
		batch_sign(at, bytes, m->n, m->v6, m->key, m->auth_seq);
	return bytes;
}

static struct frame frame_message(const struct message *m)
{
	__u8 bytes[1100];

	return frame_of_batch(m->v6, bytes, message(m, bytes));
}

#define SENT 1000000 /* bytes that a VOQ has sent, and */
#define GRANTED 900000 /* the bytes of these that were granted */

/* A VOQ to B that has sent something; the first total of its credit is that far from where totals wrap. */
static void voq_make(int v6, struct one o, __u64 from)
{
	struct voq_key k = voq_of(v6, &o);
	struct voq v = {};

	hiercc_params_init(&v.params, 12500000000ULL, 1000000, 250000);
	hiercc_hop_params_init(&v.hop_params, 12500000000ULL, 1000000, 12500000);
	hiercc_hop_init(&v.hop, &v.hop_params);
	hiercc_voq_init(&v.voq, clock_ns());
	v.voq.sent = from + SENT;
	v.voq.credit = from + GRANTED;
	v.voq.credit_ns = 1;
	voq_set(k, &v);
}

static struct voq voq_at(int v6, struct one o)
{
	return voq_get(voq_of(v6, &o));
}

#define TO_B ((struct one){})

SinkTest(credit, taken)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 1, .one = { { .total = GRANTED + 50000, .flags = F_DUE } } };
		struct frame in = frame_message(&m);
		__u64 before = clock_ns();
		struct voq v;
		struct result r;

		voq_make(v6, TO_B, 1ULL << 32);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
		v = voq_at(v6, TO_B);
		expect_eq(v.voq.credit, (1ULL << 32) + GRANTED + 50000);
		expect_eq(v.voq.sent, (1ULL << 32) + SENT);
		expect_between(v.voq.credit_ns, before, clock_ns());
		expect_eq(v.credit_seq, 0);
		/* Equation 1 has been asked. */
		expect_between(v.hop.mark_ns, before, clock_ns());
		expect_eq(v.lock, 0);
	}
}

/* The total comes with the note that the port has no more to give, which is kept with the measured rate. */
SinkTest(credit, due__is_kept)
{
	for (int due = 0; due < 2; due++) {
		struct message m = { .n = 1, .one = { { .total = GRANTED + 50000, .flags = due, .at = 4711 } } };
		struct frame in = frame_message(&m);
		struct voq_key k = voq_of(0, &m.one[0]);
		struct voq v;

		voq_make(0, TO_B, 1ULL << 32);
		v = voq_get(k);
		v.voq.mark = v.voq.credit;
		v.voq.mark_ns = clock_ns() - 1000000;
		v.voq.due = !due;
		voq_set(k, &v);
		run(sink, &in);
		v = voq_get(k);
		expect_eq(v.voq.due, due);
		expect_eq(v.voq.mark_at, 4711);
		/* With nothing due at the mark the rate is unknown. */
		expect_between(v.voq.rate, !due, due ? 0 : v.params.rate_first);
	}
}

SinkTest(credit, total__behind_a_wrap)
{
	struct message m = { .n = 1, .one = { { .total = 999 } } };
	struct frame in = frame_message(&m);

	voq_make(0, TO_B, (5ULL << 32) - GRANTED - 1);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
	expect_eq(voq_at(0, TO_B).voq.credit, (5ULL << 32) + 999);
}

/* Without a key: a repeated or overtaken message says nothing new. */
SinkTest(credit, old__changes_nothing)
{
	struct message m = { .n = 1, .one = { { .total = GRANTED + 50000 } } };
	struct frame in = frame_message(&m);
	struct voq v;

	voq_make(0, TO_B, 1ULL << 32);
	run(sink, &in);
	v = voq_at(0, TO_B);
	run(sink, &in);
	m.one[0].total -= 10000;
	in = frame_message(&m);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_RX_CREDIT, STAT_RX_CREDIT, STAT_CREDIT_TAKEN, STAT_CREDIT_OLD,
		       STAT_CREDIT_OLD);
	expect_eq(voq_at(0, TO_B).voq.credit, v.voq.credit);
	expect_eq(voq_at(0, TO_B).voq.credit_ns, v.voq.credit_ns);
}

/* More than was sent, and by more than the one credit that is rounded up. */
SinkTest(credit, ahead__is_refused)
{
	struct message m = { .n = 1, .one = { { .total = SENT + 1025 } } };
	struct frame in = frame_message(&m);
	struct voq before, after;

	voq_make(0, TO_B, 1ULL << 32);
	before = voq_at(0, TO_B);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_AHEAD);
	after = voq_at(0, TO_B);
	expect_eq(memcmp(&before, &after, sizeof(before)), 0);
	m.one[0].total = SENT + 1024;
	in = frame_message(&m);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
}

/* Another host, and the same address with another prefix: that is not the VOQ. */
SinkTest(credit, unknown_voq)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 2, .one = { { .total = SENT, .host = 77 },
								{ .total = SENT, .prefixlen = 120 } } };
		struct frame in = frame_message(&m);

		voq_make(v6, TO_B, 1ULL << 32);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_NO_VOQ, STAT_CREDIT_NO_VOQ);
		expect_eq(voq_at(v6, TO_B).voq.credit, (1ULL << 32) + GRANTED);
		voq_make(v6, m.one[1], 1ULL << 32);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_NO_VOQ, STAT_CREDIT_TAKEN);
		expect_eq(voq_at(v6, m.one[1]).voq.credit, (1ULL << 32) + SENT);
	}
}

/* A VOQ that the daemon has made and that nothing has gone by yet. */
SinkTest(credit, voq_without_params)
{
	struct message m = { .n = 1, .one = { { .total = 5000 } } };
	struct frame in = frame_message(&m);
	struct voq_key k = voq_of(0, &m.one[0]);
	struct voq empty = {}, after;

	voq_set(k, &empty);
	run(sink, &in);
	expect_counted(STAT_RX_CREDIT, STAT_CREDIT_AHEAD);
	after = voq_get(k);
	expect_eq(memcmp(&empty, &after, sizeof(empty)), 0);
}

/* As many as there may be; one more, or none, is malformed. */
SinkTest(credit, full__message)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 32 };
		struct frame in;
		struct result r;
		unsigned int k;

		for (k = 0; k < 33; k++) {
			m.one[k] = (struct one){ .total = GRANTED + 1 + k, .host = 100 + k };
			voq_make(v6, m.one[k], 1ULL << 32);
		}
		in = frame_message(&m);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		for (k = 0; k < 33; k++)
			expect_eq(voq_at(v6, m.one[k]).voq.credit, (1ULL << 32) + GRANTED + (k < 32 ? 1 + k : 0));
		world_ended();
		m.n = 33;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_HOPS);
		m.n = 0;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_HOPS);
	}
}

SinkTest(credit, what_is_wrong__changes_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 2, .one = { { .total = SENT }, { .total = SENT, .host = 77 } } };
		struct frame good = frame_message(&m), in;
		struct voq before, after;
		unsigned int len;

		voq_make(v6, TO_B, 1ULL << 32);
		before = voq_at(v6, TO_B);
		for (len = at_shim(&good) + 12; len < good.len; len++) {
			in = frame_cut(good, len);
			expect_untouched(sink, &in, STAT_RX_TRUNCATED);
		}
		m.next = 4;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_MISMATCH);
		in = good;
		in.b[at_shim(&in) + 4] = 0x35; /* of version 3 */
		expect_untouched(sink, &in, STAT_RX_BAD_VERSION);
		in = good;
		in.b[at_shim(&in) + 5] = 1;
		expect_untouched(sink, &in, STAT_RX_BAD_LENGTH);
		after = voq_at(v6, TO_B);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
	}
}

SinkTest(credit, foreign_peer_and_bypass)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 1, .one = { { .total = SENT } } };
		struct frame good = frame_message(&m), in = good;

		voq_make(v6, TO_B, 1ULL << 32);
		control_set(MODE_DRY_RUN, 1);
		expect_verdict(run(sink, &good), VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT);
		control_set(MODE_DRY_RUN, 0);
		in.b[14 + (v6 ? 8 : 12)] ^= 0x40;
		frame_fix(&in);
		put16(in.b + at_udp(&in) + 6, 0);
		expect_untouched(sink, &in, STAT_RX_FOREIGN);
		expect_eq(voq_at(v6, TO_B).voq.credit, (1ULL << 32) + GRANTED);
	}
}

SinkTest(credit, authentication)
{
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 2, .key = &key, .auth_seq = 1ULL << 40,
				     .one = { { .total = GRANTED + 5000 }, { .total = GRANTED + 5000, .host = 77 } } };
		struct frame good = frame_message(&m), in;
		struct host newest = { .capable = 1, .rx_seq = 1ULL << 40 };
		struct one other = m.one[1];
		struct voq before, after;

		keys_set(&key, 1);
		voq_make(v6, TO_B, 1ULL << 32);
		voq_make(v6, other, 1ULL << 32);
		before = voq_at(v6, TO_B);
		/* Any byte of the message, the tag and its sequence among them. */
		expect_that(world_damaged(sink, &good, at_shim(&good) + 4));
		m.key = &other_key;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH);
		m.key = NULL;
		in = frame_message(&m);
		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
		after = voq_at(v6, TO_B);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
		expect_eq(voq_at(v6, other).voq.credit, (1ULL << 32) + GRANTED);

		run(sink, &good);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN, STAT_CREDIT_TAKEN);
		expect_eq(voq_at(v6, TO_B).credit_seq, 1ULL << 40);
		/* The same again; an older message with a larger total, for one VOQ of the two. */
		run(sink, &good);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED, STAT_RX_REPLAYED);
		after = voq_at(v6, other);
		after.credit_seq = 0;
		voq_set(voq_of(v6, &other), &after);
		m.key = &key;
		m.auth_seq--;
		m.one[0].total = m.one[1].total = GRANTED + 6000;
		in = frame_message(&m);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED, STAT_CREDIT_TAKEN);
		expect_eq(voq_at(v6, TO_B).voq.credit, (1ULL << 32) + GRANTED + 5000);
		expect_eq(voq_at(v6, other).voq.credit, (1ULL << 32) + GRANTED + 6000);
		/* To a VOQ that is new here nothing counts that is older than its host's newest by a second. */
		after.credit_seq = 0;
		voq_set(voq_of(v6, &other), &after);
		host_set(v6, HOST_B, &newest);
		m.auth_seq = (1ULL << 40) - 2 * NSEC_PER_SEC;
		in = frame_message(&m);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED, STAT_RX_REPLAYED);
		keys_set(&key, 0);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH); /* it cannot be checked */
		expect_eq(voq_at(v6, other).voq.credit, (1ULL << 32) + GRANTED + 5000);
	}
}

SinkTest(credit, from_the_future__is_not_taken)
{
	const __u64 day_ns = 86400 * NSEC_PER_SEC, base_ns = 1790000000 * NSEC_PER_SEC;

	keys_set(&key, 1);
	seq_base_set(base_ns);
	FOR_V4_AND_V6(v6) {
		struct message m = { .v6 = v6, .n = 1, .key = &key, .auth_seq = base_ns + clock_ns() + 2 * day_ns,
				     .one = { { .total = GRANTED + 5000 } } };
		struct frame in = frame_message(&m);
		struct voq before, after;
		struct result r;

		voq_make(v6, TO_B, 1ULL << 32);
		before = voq_at(v6, TO_B);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_RX_FUTURE);
		after = voq_at(v6, TO_B);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
		m.auth_seq -= 2 * day_ns;
		in = frame_message(&m);
		run(sink, &in);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
	}
}

Test(credit, hop__does_not_stamp_it)
{
	struct message m = { .n = 5, .one = { { .total = SENT } } };
	struct frame in = frame_message(&m);

	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

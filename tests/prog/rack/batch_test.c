// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feedback for several flows in one message: the reports of ingress to the daemon, the message that the daemon makes of them
 * (user/daemon/reports.c), and what becomes of that at the senders. The messages come from B and are for A.
 */
#include <string.h>
#include <unistd.h>

#include "daemon/reports.h"
#include "sluice/cc/rx.h"
#include "world.h"

TestSuite(batch, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(batch_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

#define F_WINDOW 4
#define F_RATIO 8
#define F_AUTH 2

static const struct siphash_key key = { 3, 4 }, other_key = { 5, 6 };

/* One report, as in docs/messages.md. */
struct one {
	__u16 sport; /* PORT_A */
	__u8 proto;  /* 6 */
	__u8 flags;
	__u16 flows, age, nhop_path;
	__u32 seq, value, value_flags;
};

struct batch {
	int v6;
	__u8 next; /* 59 */
	__u64 auth_seq;
	const struct siphash_key *key;
	unsigned int n;
	struct one one[40];
};

/* From the shim on; returns its length. */
static unsigned int message(const struct batch *m, __u8 *at)
{
	unsigned int bytes = 12 + 24 * m->n + (m->key ? 16 : 0), k;

	memset(at, 0, bytes);
	at[0] = 0x98;
	at[1] = (bytes - 4) / 4;
	at[3] = m->next ?: 59;
	at[4] = 0x44;
	at[5] = m->n;
	at[6] = m->key ? F_AUTH : 0;
	for (k = 0; k < m->n; k++) {
		const struct one *o = &m->one[k];
		__u8 *r = at + 12 + 24 * k;

		put16(r, o->sport ?: PORT_A);
		put16(r + 2, PORT_B);
		r[4] = o->proto ?: 6;
		r[5] = o->flags;
		put16(r + 6, o->flows);
		put32(r + 8, o->seq);
		put16(r + 12, o->age);
		put16(r + 14, o->nhop_path);
		put32(r + 16, o->value);
		put32(r + 20, o->value_flags);
	}
	if (m->key)
		batch_sign(at, bytes, m->n, m->v6, m->key, m->auth_seq);
	return bytes;
}

static struct frame frame(const struct batch *m)
{
	__u8 bytes[1100];

	return frame_of_batch(m->v6, bytes, message(m, bytes));
}

/* The flows from ports PORT_A to PORT_A + n - 1, each with some bytes sent. */
static void flows_run(int v6, unsigned int n)
{
	unsigned int k;

	for (k = 0; k < n; k++)
		flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100, .sport = PORT_A + k }, 1000000);
}

static struct flow flow_at(int v6, unsigned int k)
{
	return flow_get((struct ip_spec){ .v6 = v6, .sport = PORT_A + k });
}

SinkTest(batch, windows__reach_their_flows)
{
	FOR_V4_AND_V6(v6) {
		struct batch m = { .v6 = v6, .n = 3 };
		struct frame in;
		struct result r;
		unsigned int k;

		flows_run(v6, 3);
		for (k = 0; k < 3; k++)
			m.one[k] = (struct one){ .sport = PORT_A + k, .flags = F_WINDOW, .flows = 7, .age = 100,
						 .nhop_path = 2 << 12, .seq = 999000, .value = 200000 + 1000 * k };
		in = frame(&m);
		r = run(sink, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_FEEDBACK, STAT_FB_REPORTED, STAT_FB_REPORTED, STAT_FB_REPORTED, STAT_FB_WINDOW,
			       STAT_FB_WINDOW, STAT_FB_WINDOW);
		for (k = 0; k < 3; k++) {
			expect_eq(flow_at(v6, k).cc.w >> 12, 200000 + 1000 * k);
			expect_eq(flow_at(v6, k).rx.form, RX_WINDOW);
			expect_eq(flow_at(v6, k).rx.flows, 7);
			expect_eq(flow_at(v6, k).rx.told_hops, 2);
			expect_between(clock_ns() - flow_at(v6, k).rx.fb_rx_ns, 100 * 1024, 10000000000ULL);
		}
	}
}

/* As many as there may be, of as many flows; one more is malformed. */
SinkTest(batch, full__message)
{
	struct batch m = { .n = 32 };
	struct frame in;
	struct result r;
	unsigned int k;

	flows_run(0, 32);
	for (k = 0; k < 33; k++)
		m.one[k] = (struct one){ .sport = PORT_A + k, .flags = F_WINDOW, .seq = 1000, .value = 100000 + k };
	in = frame(&m);
	r = run(sink, &in);
	expect_verdict(r, VERDICT_DROP);
	for (k = 0; k < 32; k++)
		expect_eq(flow_at(0, k).cc.w >> 12, 100000 + k);
	m.n = 33;
	in = frame(&m);
	world_ended();
	expect_untouched(sink, &in, STAT_RX_BAD_HOPS);
	m.n = 0;
	in = frame(&m);
	expect_untouched(sink, &in, STAT_RX_BAD_HOPS);
}

SinkTest(batch, what_is_wrong__changes_nothing)
{
	FOR_V4_AND_V6(v6) {
		struct batch m = { .v6 = v6, .n = 1 };
		struct flow before, after;
		struct frame in;

		flows_run(v6, 1);
		before = flow_at(v6, 0);
		m.one[0] = (struct one){ .flags = F_WINDOW | F_RATIO, .value = 5000, .seq = 1000 };
		in = frame(&m);
		run(sink, &in);
		expect_counted(STAT_RX_FEEDBACK, STAT_FB_BAD_FORM);
		m.one[0].flags = 0;
		in = frame(&m);
		run(sink, &in);
		expect_counted(STAT_RX_FEEDBACK, STAT_FB_BAD_FORM);
		m.one[0].flags = F_WINDOW;
		m.one[0].sport = 999;
		in = frame(&m);
		run(sink, &in);
		expect_counted(STAT_RX_FEEDBACK, STAT_FB_NO_FLOW);
		m.one[0].sport = PORT_A;
		m.next = 4;
		in = frame(&m);
		expect_untouched(sink, &in, STAT_RX_MISMATCH);
		m.next = 59;
		in = frame(&m);
		in = frame_cut(in, in.len - 4);
		expect_untouched(sink, &in, STAT_RX_TRUNCATED);
		after = flow_at(v6, 0);
		expect_eq(memcmp(&before, &after, sizeof(before)), 0);
	}
}

/* Clamped and counted, as of an echo. */
SinkTest(batch, absurd__window)
{
	struct batch m = { .n = 1, .one = { { .flags = F_WINDOW, .seq = 1000, .value = 0xffffffff } } };
	struct frame in = frame(&m);
	struct flow f;

	flows_run(0, 1);
	run(sink, &in);
	expect_counted(STAT_RX_FEEDBACK, STAT_FB_REPORTED, STAT_FB_WINDOW, STAT_FB_ABSURD_WINDOW);
	f = flow_at(0, 0);
	expect_eq(f.cc.w, f.params.w_init);
}

SinkTest(batch, authentication)
{
	FOR_V4_AND_V6(v6) {
		struct batch m = { .v6 = v6, .n = 2, .key = &key, .auth_seq = 1ULL << 40 };
		struct flow f;
		struct frame good, in;

		keys_set(&key, 1);
		flows_run(v6, 2);
		m.one[0] = (struct one){ .flags = F_WINDOW, .seq = 1000, .value = 100000 };
		m.one[1] = (struct one){ .flags = F_WINDOW, .seq = 1000, .value = 100000, .sport = PORT_A + 1 };
		good = frame(&m);
		/* Any byte of the message, and of the addresses, which the tag covers too. */
		expect_that(world_damaged(sink, &good, at_shim(&good) + 4));
		m.key = &other_key;
		in = frame(&m);
		expect_untouched(sink, &in, STAT_RX_BAD_AUTH);
		m.key = NULL;
		in = frame(&m);
		expect_untouched(sink, &in, STAT_RX_NO_AUTH);
		expect_eq(flow_at(v6, 0).rx.feedbacks, 0);
		expect_eq(flow_at(v6, 1).rx.feedbacks, 0);
		run(sink, &good);
		expect_counted(STAT_RX_FEEDBACK, STAT_FB_REPORTED, STAT_FB_REPORTED, STAT_FB_WINDOW, STAT_FB_WINDOW);
		f = flow_at(v6, 0);
		expect_eq(f.cc.w >> 12, 100000);
		run(sink, &good);
		expect_counted(STAT_RX_FEEDBACK, STAT_RX_REPLAYED, STAT_RX_REPLAYED);
		keys_set(&key, 0);
		expect_untouched(sink, &good, STAT_RX_BAD_AUTH); /* it cannot be checked */
		expect_eq(flow_at(v6, 0).rx.feedbacks, f.rx.feedbacks);
	}
}

SinkTest(batch, with_bypass__it_is_thrown_away)
{
	struct batch m = { .n = 1, .one = { { .flags = F_WINDOW, .seq = 1000, .value = 100000 } } };
	struct frame in = frame(&m);
	struct result r;

	flows_run(0, 1);
	control_set(MODE_DRY_RUN, 1);
	r = run(sink, &in);
	expect_verdict(r, VERDICT_DROP);
	expect_counted(STAT_RX_FEEDBACK);
	expect_eq(flow_at(0, 0).rx.feedbacks, 0);
}

Test(batch, hop__does_not_stamp_it)
{
	struct batch m = { .n = 5, .one = { { .flags = F_WINDOW, .value = 100000 } } };
	struct frame in = frame(&m);

	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER);
}

/* The daemon's message, byte by byte. */
Test(batch, daemon__makes_what_is_read)
{
	FOR_V4_AND_V6(v6) {
		for (unsigned int auth = 0; auth < 2; auth++) {
			struct batch m = { .v6 = v6, .n = 2, .key = auth ? &key : NULL, .auth_seq = 0x123456789abcdef0 };
			struct auth_keys keys = { .key = { key }, .n = auth };
			struct report report[2] = {};
			struct wire_report entries[2];
			struct message own = { .type = WIRE_FEEDBACK, .entries = entries, .n = 2 };
			__u8 want[MESSAGE_MAX], got[MESSAGE_MAX];
			__u64 now = 5000000000ULL;
			unsigned int k, bytes;

			for (k = 0; k < 2; k++) {
				report[k].key = flow_key_of((struct ip_spec){ .v6 = v6, .reply = 1 });
				report[k].rx_ns = now - 1024 * (k ? 70000 : 300) - 5;
				report[k].value = __builtin_bswap64(123456ULL << 32 | 1);
				report[k].seq = 77;
				report[k].nhop_path = 0x2000;
				report[k].flows = 9;
				report[k].flags = F_WINDOW;
				m.one[k] = (struct one){ .flags = report[k].flags, .flows = 9, .nhop_path = 0x2000, .seq = 77,
							 .age = k ? 0xffff : 300, .value = 123456, .value_flags = 1 };
				report_write(&report[k], now, &entries[k]);
			}
			own.from = report->key.local;
			own.to = report->key.remote;
			bytes = message_write(&own, &keys, m.auth_seq, got);
			expect_eq(bytes, message(&m, want));
			expect_eq(memcmp(want, got, bytes), 0);
		}
	}
}

static __u64 hop_of(__u64 ts_ns, __u64 tx_bytes)
{
	return 12ULL << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 | 100;
}

/* Telemetry arrives, n of them a millisecond apart by their hop, and the receiver is to compute. */
static void telemetry_arrives(enum rx_feedback feedback, int v6, unsigned int n)
{
	struct peer peer = peer_usual();
	unsigned int k;

	peer.feedback = feedback;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
	for (k = 0; k < n; k++) {
		struct frame inner = udp(.v6 = v6, .reply = 1, .payload = 500);
		struct frame in = wrap(&inner, .room = 5, .nhop = 1, .path = 0x123, .seq = 1000 * (k + 1),
				       .hop = { hop_of(k * 1000000, k * 12500000ULL) });

		run(sink, &in);
		clock_pass(1500000); /* T is 1 ms */
	}
}

SinkTest(batch, silence__is_told_to_the_daemon)
{
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1 };
		struct report report[16];
		struct flow f;
		unsigned int n;

		telemetry_arrives(RX_WINDOW, v6, 6);
		n = reports_taken(report, 16);
		expect_between(n, 2, 5);
		f = flow_get(s);
		expect_eq(report[n - 1].seq, 6000);
		expect_eq(report[n - 1].flags, F_WINDOW);
		expect_eq(report[n - 1].value, __builtin_bswap64(f.echo.hop[0]));
		expect_eq(report[n - 1].flows, f.echo.flows);
		expect_eq(report[n - 1].nhop_path, 1 << 12);
		expect_eq(report[n - 1].key.proto, 17);
	}
}

/* Where hops are told, and where something goes back, nothing is handed over. */
SinkTest(batch, echoes__need_no_daemon)
{
	struct ip_spec s = { .udp = 1 };
	struct report report[16];
	struct flow f;

	telemetry_arrives(RX_HOPS, 0, 4);
	expect_eq(reports_taken(report, 16), 0);
	f = flow_get(s);
	f.tx.last_ns = clock_ns() + 1000000000;
	flow_set(s, &f);
	telemetry_arrives(RX_WINDOW, 0, 4);
	expect_eq(reports_taken(report, 16), 0);
}

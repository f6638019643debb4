// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/feedback.bpf.h: delay decides alone where a path does not stamp, and no longer where it does. */
#include "delay_case.h"

TestSuite(bare, .init = delay_make, .fini = world_drop, .timeout = 60);
TestSuite(bare_xdp, .init = delay_make, .fini = world_drop, .timeout = 60);

#define stamped(s, seq, ts) feedback(s, seq, ts, 0)

/* Feedback for a packet that left rtt_ns ago, a T after the one before. */
static struct flow answered(struct ip_spec s, __u64 rtt_ns)
{
	__u64 tx = flow_get(s).tx.bytes + 100000;

	clock_pass(WORLD_T_NS);
	timed_ago(s, tx, tx, rtt_ns);
	unstamped(s, tx);
	return flow_get(s);
}

SinkTest(bare, bare__w_is_the_ceiling)
{
	struct hpcc_state want;
	struct ceiling ceiling;
	struct flow f;
	int i;

	delay_leaves(data);
	expect_counted(STAT_TX_DATA);
	unstamped(data, 1);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	f = flow_get(data);
	expect_eq(f.rx.feedbacks, 0);
	expect_eq(flow_is_bare(&f), 0);
	ceiling = f.ceiling;
	want = f.cc;
	want.u = 0;
	ceiling_begin(&ceiling, &f.params, f.cc.w);

	for (i = 0; i < 12; i++) {
		__u64 rtt_ns = i < 4 ? WORLD_T_NS : 3 * WORLD_T_NS;
		struct ceiling_sample sample = { .w = want.w };

		fixture("sample %d", i);
		f = answered(data, rtt_ns);
		expect_between(f.delay.sample_ns, rtt_ns, rtt_ns + 10000);
		sample.rtt_ns = f.delay.sample_ns;
		sample.seq = sample.snd_nxt = f.tx.bytes;
		if (!ceiling.w)
			want.w = want.wc = f.params.w_init;
		ceiling_feedback(&ceiling, &f.params, &sample);
		ceiling_apply(&ceiling, &f.params, &want, 0);
		expect_eq(f.ceiling.w, ceiling.w);
		expect_eq(f.ceiling.delay_ns, ceiling.delay_ns);
		expect_eq(f.cc.w, want.w);
		expect_eq(f.rx.feedbacks, i + 1);
		expect_eq(flow_is_bare(&f), 1);
	}
	expect_eq(f.cc.w < f.params.w_init, 1);
	expect_eq(f.ceiling.by_delay > 0, 1);
	world_counted((const int[]){ -1 });

	fixture("stamped again");
	stamped(data, f.tx.bytes, 1000);
	expect_counted(STAT_RX_DATA, STAT_FB_FIRST);
	expect_eq(flow_get(data).cc.hops, 1);
	expect_eq(flow_get(data).cc.u, Q24_ONE);
	expect_eq(flow_get(data).cc.w, f.cc.w);
}

/* Some packets are stamped and some are not: the record stays while it is not older than one may be. */
SinkTest(bare, bare__not_a_path_that_stamps_now_and_then)
{
	__u32 ts = 1000;
	struct flow f;
	int i;

	delay_leaves(data);
	for (i = 0; i < 3; i++) {
		fixture("time %d", i);
		stamped(data, 1, ts += 1000);
		world_counted((const int[]){ -1 });
		answered(data, WORLD_T_NS);
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		expect_eq(flow_get(data).cc.hops, 1);
	}
	f = flow_get(data);
	clock_pass(hpcc_idle_ns(f.params.t_ns));
	f = answered(data, WORLD_T_NS);
	expect_counted(STAT_RX_DATA, STAT_FB_DELAY);
	expect_eq(f.cc.hops, 0);
	expect_eq(flow_is_bare(&f), 1);
}

/* An answer before the first data is no delay: the flow begins with its share of W_init all the same. */
SinkTest(bare, bare__before_the_first_data)
{
	struct flow f;

	delay_leaves(data);
	timed_ago(data, 0, 5000, WORLD_T_NS);
	f = flow_get(data);
	f.companion.began_us = 0;
	flow_set(data, &f);
	world_counted((const int[]){ -1 });
	unstamped(data, 5000);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(flow_get(data).rx.feedbacks, 0);
	expect_eq(flow_get(data).rx.fb_ns, 0);
}

SinkTest(bare, bare__without_delay_w_is_w_init)
{
	struct peer peer = peer_usual();
	struct flow f;
	int i;

	delay_leaves(data);
	for (i = 0; i < 4; i++)
		f = answered(data, i < 2 ? WORLD_T_NS : 9 * WORLD_T_NS);
	expect_eq(f.cc.w < f.params.w_init, 1);

	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	delay_leaves(data);
	f = flow_get(data);
	expect_eq(flow_is_bare(&f), 0);
	expect_eq(f.ceiling.w, 0);
	expect_eq(f.cc.w, f.params.w_init);
	world_counted((const int[]){ -1 });
	f = answered(data, 9 * WORLD_T_NS);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(f.cc.w, f.params.w_init);
}

/* In mode observe the delay is measured. */
SinkTest(bare, bare__observed)
{
	q12_t w;

	control_set(MODE_OBSERVE, 0);
	delay_leaves(data);
	w = flow_get(data).cc.w;
	world_counted((const int[]){ -1 });
	expect_between(answered(data, 100 * MS).delay.sample_ns, 100 * MS, 101 * MS);
	expect_counted(STAT_RX_DATA, STAT_FB_DELAY);
	expect_eq(flow_get(data).cc.w, w);
}

/* Packets in that qdisc leave as R says by then: a departure that was noted is not kept. */
SinkTest(bare, bare__packets_that_wait_in_the_qdisc_sluice_tell_no_delay)
{
	struct port port = port_usual();
	struct flow f;
	int i, waits;

	port.flags |= PORT_F_EDT | PORT_F_QUEUE;
	port_change(WORLD_IFINDEX, &port);
	for (waits = 1; waits >= 0; waits--) {
		fixture("waits %d", waits);
		delay_leaves(data);
		for (i = 0; i < 6; i++) {
			f = flow_get(data);
			f.tx.clock_ns = clock_ns() + (waits ? 3 * WORLD_T_NS : 0);
			flow_set(data, &f);
			f = answered(data, i < 2 ? WORLD_T_NS : 3 * WORLD_T_NS);
		}
		expect_eq(f.ceiling.by_delay > 0, !waits);
	}
}

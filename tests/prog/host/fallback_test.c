// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/delay.bpf.h: Swift decides where a path does not stamp, and hands back where it does. */
#include "delay_case.h"

TestSuite(fallback, .init = delay_make, .fini = world_drop, .timeout = 60);
TestSuite(fallback_xdp, .init = delay_make, .fini = world_drop, .timeout = 60);

#define stamped(s, seq, ts) feedback(s, seq, ts, 0)

/* The next feedback is the last of a run that speaks for the other control. */
static void run_is_nearly_over(struct ip_spec s, __u32 swift)
{
	struct flow f = flow_get(s);

	f.fallback.swift = swift;
	f.fallback.run = FALLBACK_RUN - 1;
	f.fallback.since_ns = clock_ns() - 16 * WORLD_T_NS;
	flow_set(s, &f);
}

static void swift_decides(struct ip_spec s)
{
	run_is_nearly_over(s, 0);
	world_counted((const int[]){ -1 });
	unstamped(s, 1);
	expect_counted(STAT_RX_DATA, STAT_FB_TO_SWIFT, STAT_FB_SKIPPED);
	expect_eq(flow_get(s).fallback.swift, 1);
}

SinkTest(fallback, fallback__over_and_back)
{
	__u64 tx = 1 << 20, delay;
	struct swift_ack ack;
	struct hpcc_state want;
	struct flow f;
	int i;

	delay_leaves(data);
	expect_counted(STAT_TX_DATA);
	unstamped(data, 1);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(flow_get(data).fallback.run, 1);
	swift_decides(data);
	f = flow_get(data);
	expect_eq(f.cc.w, f.params.w_init);
	expect_eq(f.rx.feedbacks, 0);
	expect_eq(f.swift.target_ns, WORLD_T_NS * 3 / 2);

	/* Far above the target and below it: W is what swift.h makes of it. */
	for (i = 0; i < 6; i++) {
		fixture("sample %d", i);
		tx += 100000;
		timed_ago(data, tx, tx, i < 3 ? 20 * MS : WORLD_T_NS / 1000);
		want = flow_get(data).cc;
		unstamped(data, tx);
		expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
		f = flow_get(data);
		delay = f.delay.sample_ns;
		expect_eq(delay > f.swift.target_ns, i < 3);
		ack = (struct swift_ack){ .seq = tx, .snd_nxt = tx, .delay_ns = delay };
		expect_eq(swift_new_ack(&want, &f.params, &f.swift, &ack), HPCC_FULL);
		expect_eq(f.cc.w, want.w);
		expect_eq(f.cc.wc, want.wc);
		expect_eq(f.cc.rate_bps, want.rate_bps);
		expect_eq(f.cc.last_update_seq, want.last_update_seq);
		expect_eq(f.rx.feedbacks, i + 1);
		expect_between(clock_ns() - f.rx.fb_ns, 0, 1000 * MS);
	}
	expect_eq(f.cc.w < f.params.w_init, 1);

	fixture("stamped again");
	stamped(data, tx, 1000);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED); /* not yet, and it was not timed */
	expect_eq(flow_get(data).cc.hops, 0);
	run_is_nearly_over(data, 1);
	stamped(data, tx, 2000);
	expect_counted(STAT_RX_DATA, STAT_FB_TO_HPCC, STAT_FB_FIRST);
	expect_eq(flow_get(data).fallback.swift, 0);
	expect_eq(flow_get(data).cc.w, f.cc.w);
	expect_eq(flow_get(data).cc.hops, 1);
	expect_eq(flow_get(data).cc.u, Q24_ONE);
}

/* Some packets are stamped and some are not: the control stays, and delay is measured of both. */
SinkTest(fallback, fallback__of_a_path_that_stamps_now_and_then)
{
	__u32 ts = 1000;
	int i;

	delay_leaves(data);
	stamped(data, 1, ts);
	expect_counted(STAT_TX_DATA, STAT_RX_DATA, STAT_FB_FIRST);
	for (i = 0; i < 3; i++) {
		fixture("HPCC, time %d", i);
		run_is_nearly_over(data, 0);
		stamped(data, 1, ts += 1000);
		world_counted((const int[]){ -1 });
		unstamped(data, 1);
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		expect_eq(flow_get(data).fallback.swift, 0);
		expect_eq(flow_get(data).fallback.run, 1);
		expect_eq(flow_get(data).cc.hops, 1);
	}
	swift_decides(data);
	for (i = 0; i < 3; i++) {
		fixture("Swift, time %d", i);
		run_is_nearly_over(data, 1);
		unstamped(data, 1);
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		timed_ago(data, 5000 + i, 5000 + i, 3 * MS);
		stamped(data, 5000 + i, ts += 1000);
		expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
		expect_eq(flow_get(data).fallback.swift, 1);
		expect_eq(flow_get(data).fallback.run, 1);
	}
}

SinkTest(fallback, fallback__off_keeps_w)
{
	struct peer peer = peer_usual();
	struct flow f;

	delay_leaves(data);
	swift_decides(data);
	timed_ago(data, 5000, 5000, 100 * MS);
	unstamped(data, 5000);
	expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
	f = flow_get(data);
	expect_eq(f.cc.w < f.params.w_init, 1);

	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	delay_leaves(data);
	world_counted((const int[]){ -1 });
	f = flow_get(data);
	expect_eq(f.fallback.swift, 0);
	expect_eq(f.cc.w, f.params.w_init);
	run_is_nearly_over(data, 0);
	timed_ago(data, 9000, 9000, 100 * MS);
	unstamped(data, 9000);
	expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(flow_get(data).fallback.swift, 0);
	expect_eq(flow_get(data).cc.w, f.params.w_init);
}

/* In mode observe the delay is measured, and the control that would decide is shown. */
SinkTest(fallback, fallback__observed)
{
	control_set(MODE_OBSERVE, 0);
	delay_leaves(data);
	swift_decides(data);
	timed_ago(data, 5000, 5000, 100 * MS);
	unstamped(data, 5000);
	expect_counted(STAT_RX_DATA, STAT_FB_SWIFT);
	expect_between(flow_get(data).delay.sample_ns, 100 * MS, 900 * MS);
	expect_eq(flow_get(data).cc.w, flow_get(data).params.w_init);
}

SinkTest(fallback, fallback__target_of_the_configuration)
{
	struct peer peer = peer_usual();

	peer.fallback = 1;
	peer.target_ns = 7 * MS;
	peer_set("10.1.0.0", 96 + 16, &peer);
	delay_leaves(data);
	expect_eq(flow_get(data).swift.target_ns, 7 * MS);
	expect_eq(flow_get(data).swift.fs_range_ns, 35 * MS);
	fixture("a base RTT whose target swift.h cannot hold");
	peer.target_ns = 0;
	peer.t_ns = 134217729;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	delay_leaves(data);
	expect_eq(flow_get(data).swift.target_ns, 0);
	peer.t_ns--;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	delay_leaves(data);
	expect_eq(flow_get(data).swift.target_ns > peer.t_ns, 1);
}

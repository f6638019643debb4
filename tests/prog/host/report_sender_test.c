// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/feedback.bpf.h: the sender takes W from what the receiver tells. */
#include <string.h>

#include "sluice/cc/rx.h"
#include "report_case.h"

TestSuite(report_sender, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(report_sender_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

/* --- the sender: W --- */

SinkTest(report_sender, window__becomes_the_flows)
{
	peers_tell(RX_HOPS, 1000000);
	FOR_V4_AND_V6 (v6) {
		struct flow f;

		report_flow_runs(v6, 1000000);
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_path = 0, .echo_flows = 5,
			 .echo_hop = { 500000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		f = report_flow_of(v6);
		expect_eq(f.cc.w, 500000ULL << 12);
		expect_eq(f.cc.wc, f.cc.w);
		expect_eq(f.cc.rate_bps, hpcc_rate_bps(f.cc.w, 1000000));
		expect_eq(f.rx.form, RX_WINDOW);
		expect_eq(f.rx.told_hops, 1);
		expect_eq(f.cc.hops, 0);
		expect_eq(f.rx.feedbacks, 1);
		expect_eq(f.rx.flows, 5);
		expect_eq(f.rx.lock, 0);

		fixture("an older one is out of date");
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 999, .echo_hop = { 600000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		expect_eq(report_flow_of(v6).cc.w, 500000ULL << 12);
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_hop = { 700000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(report_flow_of(v6).cc.w, 700000ULL << 12);
		fixture("one of another life of the flow does not stop it for good");
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 0xf0000000, .echo_hop = { 400000ULL << 32 });
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 2000, .echo_hop = { 300000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(report_flow_of(v6).cc.w, 300000ULL << 12);
	}
}

SinkTest(report_sender, window__absurd_is_clamped_and_counted)
{
	static const struct {
		__u32 bytes;
		int absurd, low;
	} t[] = { { 0, 1, 1 },	       { 63, 1, 1 },	  { 64, 0, 1 },	       { 1514, 0, 1 },
		  { 100000000, 0, 0 }, { 1 << 27, 1, 0 }, { 0xffffffff, 1, 0 } };
	unsigned int i;

	report_flow_runs(0, 1000000);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct flow f;

		fixture("W %u", t[i].bytes);
		feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 1000 + i, .echo_hop = { (__u64)t[i].bytes << 32 });
		if (t[i].absurd)
			expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_FB_ABSURD_WINDOW);
		else
			expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		f = report_flow_of(0);
		expect_eq(f.cc.w, t[i].low ? f.params.w_min : f.params.w_init);
	}
}

SinkTest(report_sender, window__observed_only)
{
	control_set(MODE_OBSERVE, 0);
	report_flow_runs(0, 1000000);
	feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_hop = { 500000ULL << 32 });
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
	expect_eq(report_flow_of(0).cc.w, report_flow_of(0).params.w_init);
}

/* --- reports without a form, or in another form than before --- */

SinkTest(report_sender, form__malformed_is_counted_and_ignored)
{
	FOR_V4_AND_V6 (v6) {
		struct flow before, after;

		report_flow_runs(v6, 1000000);
		before = report_flow_of(v6);
		feedback(v6, .window = 1, .ratio = 1, .echo_hops = 1, .echo_hop = { 500000ULL << 32 });
		feedback(v6, .window = 1, .echo_hops = 0);
		feedback(v6, .window = 1, .echo_hops = 2, .echo_hop = { 500000ULL << 32 });
		feedback(v6, .ratio = 1, .echo_hops = 1, .echo_hop = { 1ULL << 55 });
		feedback(v6, .ratio = 1, .echo_hops = 5, .echo_hop = { 500000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_BAD_FORM, STAT_RX_DATA, STAT_FB_BAD_FORM, STAT_RX_DATA,
			       STAT_FB_BAD_FORM, STAT_RX_DATA, STAT_FB_BAD_FORM, STAT_RX_DATA, STAT_FB_BAD_FORM);
		after = report_flow_of(v6);
		cr_assert(!memcmp(&after.cc, &before.cc, sizeof(before.cc)));
		expect_eq(report_flow_of(v6).rx.feedbacks, 0);
	}
}

/* From each form to each other one: no difference to the old one is taken. */
SinkTest(report_sender, form__changes_in_mid_flow)
{
	static const __u8 order[] = { RX_HOPS, RX_WINDOW, RX_HOPS };
	unsigned int i, k;

	FOR_V4_AND_V6 (v6) {
		report_flow_runs(v6, 10000000);
		for (i = 0; i < sizeof(order); i++) {
			struct flow f = report_flow_of(v6);

			fixture("IPv%d, step %u: form %u", v6 ? 6 : 4, i, order[i]);
			f.cc.u = 0; /* the rest of it must do no harm */
			f.cc.inc_stage = 4;
			flow_change(v6, f);
			for (k = 0; k < 2; k++) {
				__u32 seq = 100000 * (2 * i + k + 1);

				if (order[i] == RX_HOPS) {
					feedback(v6, .echo_hops = 1, .echo_path = 1, .echo_seq = seq,
						 .echo_hop = { report_hop_of(k * 100000, k * 1250000, 0) });
					expect_counted(STAT_RX_DATA, k ? STAT_FB_FULL : STAT_FB_FIRST);
				} else {
					feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = seq,
						 .echo_hop = { 900000ULL << 32 });
					expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
				}
				f = report_flow_of(v6);
				expect_eq(f.rx.form, order[i]);
				f.cc.last_update_seq = 0;
				flow_change(v6, f);
			}
			cr_assert(f.cc.w >= f.params.w_min && f.cc.w <= f.params.w_init);
		}
	}
}

/* A path that stamps nothing is of no form. */
SinkTest(report_sender, form__is_kept_where_nothing_is_stamped)
{
	report_flow_runs(0, 1000000);
	feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 10, .echo_hop = { 500000ULL << 32 });
	feedback(0, .echo_hops = 0, .echo_seq = 20);
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(report_flow_of(0).rx.form, RX_WINDOW);
	expect_eq(report_flow_of(0).cc.w, 500000ULL << 12);
}

/* The answer to a PROBE brings hops: they do not conflict with W. */
SinkTest(report_sender, probe_reply__is_left_alone_while_windows_come)
{
	struct ip_spec s = { .payload = 100 };
	struct frame first = frame_of(s), head = frame_cut(first, 14 + 20 + 20), probe, in;
	struct host h = { .heard_ns = clock_ns(), .capable = 1, .asked_ns = clock_ns() };
	struct flow f;

	report_flow_runs(0, 1000000);
	host_set(0, HOST_B, &h);
	feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 10, .echo_hop = { 500000ULL << 32 });
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
	probe = wrap(&head, .msg = 2, .room = 5, .nhop = 1, .seq = 500, .hop = { report_hop_of(0, 0, 0) });
	in = frame_turned(probe);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
	expect_eq(report_flow_of(0).rx.form, RX_WINDOW);
	expect_eq(report_flow_of(0).cc.hops, 0);

	fixture("they came long ago");
	f = report_flow_of(0);
	f.rx.fb_ns -= hpcc_idle_ns(f.params.t_ns);
	flow_change(0, f);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
	expect_eq(report_flow_of(0).rx.form, RX_HOPS);
	expect_eq(report_flow_of(0).cc.w, 500000ULL << 12);
}

/* W comes every T and a little more, so UDP sends a PROBE after two. */
Test(report_sender, probe__of_udp_waits_for_the_next_window)
{
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct frame in = frame_of(s);
	struct flow f;

	peers_tell(RX_HOPS, LONG_T_NS);
	hosts_strip();
	run(EGRESS, &in);
	world_counted((const int[]){ -1 });
	f = flow_get(s);
	f.rx.form = RX_WINDOW;
	f.tx.probe_ns = 0;
	f.rx.fb_ns = clock_ns() - LONG_T_NS * 3 / 2;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(s);
	f.rx.fb_ns = clock_ns() - LONG_T_NS * 3;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_eq(flow_get(s).tx.probe_ns > 0, 1);
}

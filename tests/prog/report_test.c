// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/host/report.bpf.h, and what becomes of it at the sender: feedback that is U or W, and N. As in
 * ingress_test.c the frames come from B and are for A: what A tells of them waits in the flow A to B,
 * and so does what B tells of it.
 */
#include <string.h>
#include <unistd.h>

#include "sluice/cc/rx.h"
#include "world.h"

static void make_small(void)
{
	world_make_with(.flows = 1);
}

TestSuite(report, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(report_xdp, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(report_small, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(report_small_xdp, .init = make_small, .fini = world_drop, .timeout = 60);

#define FOR_V4_AND_V6(v6)                                                                          \
	for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

#define LONG_T_NS 200000000ULL /* longer than a test: what is due once per T is due once */

static const struct siphash_key key = { 3, 4 };
static __u64 auth_seq = 1ULL << 40;

static void peers_tell(enum rx_feedback feedback, __u64 t_ns)
{
	struct peer peer = peer_usual();

	peer.feedback = feedback;
	peer.t_ns = t_ns;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

static __u64 hop_of(__u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes)
{
	return 12ULL << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 | qlen_bytes / 80;
}

/* The nth telemetry of a path: 1 ms apart, the hop `full` of two at 120 %, the other at 60 %. */
static struct wire_spec telemetry(unsigned int n, unsigned int full)
{
	struct wire_spec w = { .room = 5, .nhop = 2, .path = 0x123, .seq = 1000 * (n + 1) };
	unsigned int i;

	for (i = 0; i < 2; i++)
		w.hop[i] = hop_of(n * 1000000, n * 12500000ULL * (i == full ? 12 : 6) / 10, 8000);
	return w;
}

static struct result arrives(int v6, struct wire_spec w)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = frame_wrap(&inner, w);

	return run(sink, &in);
}

#define feedback(v6_, ...)                                                                         \
	({                                                                                         \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1);                                  \
		struct frame in_ = wrap(&inner_, .echo = 1, __VA_ARGS__);                          \
		run(sink, &in_);                                                                   \
	})

static struct flow flow_of(int v6)
{
	return flow_get((struct ip_spec){ .v6 = v6 });
}

/* The flow A to B, as its first data packet leaves it. */
static void flow_runs(int v6, __u64 tx_bytes)
{
	flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100 }, tx_bytes);
}

static void flow_change(int v6, struct flow f)
{
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

/* --- the receiver --- */

SinkTest(report, hops__are_told_as_they_came)
{
	struct rx_flow r;

	arrives(0, telemetry(0, 0));
	expect_eq(flow_of(0).echo.form, RX_HOPS);
	expect_eq(flow_of(0).echo.hops, 2);
	expect_eq(report_get((struct ip_spec){}, &r), 0);
	expect_counted(STAT_RX_DATA);
}

SinkTest(report, window__is_what_the_core_computes_once_per_t)
{
	peers_tell(RX_WINDOW, LONG_T_NS);
	FOR_V4_AND_V6(v6) {
		struct ip_spec s = { .v6 = v6 };
		struct rx_flow r, now;
		struct flow_echo e;
		unsigned int n;
		int due;

		arrives(v6, telemetry(0, 1));
		expect_eq(flow_of(v6).echo.version, 0); /* there is no W yet */
		expect_eq(flow_of(v6).rx_kept, 1);
		for (n = 1; n < 6; n++) {
			struct wire_spec w = telemetry(n, 1);
			struct hpcc_ack ack = { .hops = 2, .path_id = 0x123, .gap_ns = 1000000 };
			unsigned int i;

			fixture("IPv%d, telemetry %u", v6 ? 6 : 4, n);
			if (n == 4) { /* T has passed */
				cr_assert(report_get(s, &r));
				r.rx.last_report_ns = r.rx.last_update_ns = 0;
				report_set(s, &r);
			}
			cr_assert(report_get(s, &r));
			for (i = 0; i < 2; i++)
				ack.hop[i] = telem_unpack(w.hop[i]);
			r.params = flow_of(v6).params;
			expect_eq(rx_new_int(&r.rx, &r.params, &ack, clock_ns(), &due), n == 1 || n == 4 ? HPCC_FULL : HPCC_FAST);
			arrives(v6, w);
			cr_assert(report_get(s, &now));
			expect_eq(now.rx.cc.w, r.rx.cc.w);
			expect_eq(now.rx.cc.wc, r.rx.cc.wc);
			expect_eq(now.rx.cc.u, r.rx.cc.u);
			expect_eq(now.lock, 0);
			e = flow_of(v6).echo;
			expect_eq(e.version, n < 4 ? 2 : 4);
			if (n != 1 && n != 4)
				continue;
			expect_eq(due, 1);
			expect_eq(e.form, RX_WINDOW);
			expect_eq(e.hops, 1);
			expect_eq(e.nhop_path, 2 << 12);
			expect_eq(e.hop[0], q12_to_bytes(now.rx.cc.w) << 32);
			expect_eq(e.seq, w.seq);
		}
		cr_assert(now.rx.cc.w < now.params.w_init, "W never moved");
		world_counted((const int[]){ -1 });
	}
}

SinkTest(report, ratio__is_u_with_every_telemetry)
{
	unsigned int full, n;

	peers_tell(RX_RATIO, 1000000);
	FOR_V4_AND_V6(v6) {
		for (full = 0; full < 2; full++) {
			for (n = 0; n < 5; n++) {
				__u32 version = flow_exists((struct ip_spec){ .v6 = v6 }) ? flow_of(v6).echo.version : 0;
				struct flow_echo e;
				struct rx_flow r;

				fixture("IPv%d, hop %u, telemetry %u", v6 ? 6 : 4, full, n);
				arrives(v6, telemetry(n + full * 10, full));
				e = flow_of(v6).echo;
				if (n == 0) /* the first, or one after a pause */
					continue;
				cr_assert(report_get((struct ip_spec){ .v6 = v6 }, &r));
				expect_eq(e.version, version + 2);
				expect_eq(e.form, RX_RATIO);
				expect_eq(e.nhop_path, 2 << 12);
				expect_eq(e.hops, 1);
				expect_eq(e.hop[0], r.rx.cc.u << 32 | full);
				if (n > 1)
					expect_between(r.rx.cc.u, Q24_ONE * 1.19, Q24_ONE * 1.21);
			}
		}
		world_counted((const int[]){ -1 });
	}
}

/* The sender goes by delay there: it must hear so. */
SinkTest(report, unstamped__is_told_as_such)
{
	unsigned int form, i;

	for (form = RX_RATIO; form <= RX_WINDOW; form++) {
		peers_tell(form, LONG_T_NS);
		for (i = 0; i < 3; i++) {
			__u32 version = i + form > 1 ? flow_of(0).echo.version : 0;

			arrives(0, (struct wire_spec){ .room = 5, .seq = 7 + i });
			expect_eq(flow_of(0).echo.version, version + 2);
			expect_eq(flow_of(0).echo.form, RX_HOPS);
			expect_eq(flow_of(0).echo.hops, 0);
			expect_eq(flow_of(0).echo.seq, 7 + i);
		}
	}
}

/* A flow that has been on its way for long: W_init would be many times its share. */
SinkTest(report, window__of_a_flow_that_runs_begins_with_what_arrives)
{
	struct ip_spec s = {};
	struct rx_flow r;
	struct wire_spec w;
	unsigned int n;

	peers_tell(RX_WINDOW, 2000000);
	for (n = 0; n < 4; n++) {
		w = telemetry(n, 1);
		w.seq = 500000000 + n * 1000000;
		arrives(0, w);
		cr_assert(report_get(s, &r));
		cr_assert(r.since_ns, "telemetry %u", n);
		expect_eq(flow_of(0).echo.version, 0);
	}
	clock_pass(2500000);
	w = telemetry(n, 1);
	w.seq = 500000000 + n * 1000000;
	arrives(0, w);
	cr_assert(report_get(s, &r));
	expect_eq(r.since_ns, 0);
	expect_eq(flow_of(0).echo.version, 2);
	/* 4 MB in a little more than T; U is 1.2 and more */
	cr_assert(r.rx.cc.w >> 12 < 4000000 && r.rx.cc.w >> 12 > 4000, "%llu", r.rx.cc.w >> 12);
}

SinkTest(report, state__goes_with_the_form_that_it_was_for)
{
	struct ip_spec s = {};
	struct rx_flow r;
	unsigned int n;

	peers_tell(RX_WINDOW, LONG_T_NS);
	for (n = 0; n < 3; n++)
		arrives(0, telemetry(n, 1));
	cr_assert(report_get(s, &r) && r.form == RX_WINDOW && r.rx.cc.w < r.params.w_init);
	peers_tell(RX_RATIO, LONG_T_NS);
	arrives(0, telemetry(n++, 1));
	cr_assert(report_get(s, &r) && r.form == RX_RATIO);
	expect_eq(r.rx.cc.w, r.params.w_init);
	peers_tell(RX_HOPS, LONG_T_NS);
	arrives(0, telemetry(n++, 1));
	expect_eq(report_get(s, &r), 0);
	expect_eq(flow_of(0).rx_kept, 0);
	expect_eq(flow_of(0).echo.form, RX_HOPS);
	expect_eq(flow_of(0).echo.hops, 2);
	peers_tell(RX_WINDOW, LONG_T_NS);
	arrives(0, telemetry(n++, 1));
	cr_assert(report_get(s, &r) && r.form == RX_WINDOW);
	expect_eq(r.rx.cc.w, r.params.w_init);
}

SinkTest(report_small, map_full__hops_are_told)
{
	struct rx_flow other = {};
	unsigned int n;

	peers_tell(RX_WINDOW, LONG_T_NS);
	report_set((struct ip_spec){ .sport = 77 }, &other);
	for (n = 0; n < 3; n++) {
		arrives(0, telemetry(n, 1));
		expect_counted(STAT_RX_DATA, STAT_RX_REPORT_FULL);
		expect_eq(flow_of(0).echo.form, RX_HOPS);
		expect_eq(flow_of(0).echo.hops, 2);
		expect_eq(flow_of(0).rx_kept, 0);
	}
}

SinkTest(report, state__is_left_alone_while_another_cpu_has_it)
{
	struct rx_flow r, now;

	peers_tell(RX_RATIO, LONG_T_NS);
	arrives(0, telemetry(0, 1));
	arrives(0, telemetry(1, 1));
	cr_assert(report_get((struct ip_spec){}, &r));
	r.lock = 1;
	report_set((struct ip_spec){}, &r);
	arrives(0, telemetry(2, 1));
	cr_assert(report_get((struct ip_spec){}, &now));
	cr_assert(!memcmp(&r, &now, sizeof(r)));
	expect_eq(flow_of(0).echo.version, 2);
}

/* --- on the wire --- */

Test(report, echo__of_each_form)
{
	static const __u8 flags[] = { [RX_HOPS] = 1, [RX_RATIO] = 9, [RX_WINDOW] = 5 };
	unsigned int form;

	FOR_V4_AND_V6(v6) {
		flow_runs(v6, 1000);
		for (form = 0; form < RX_FEEDBACKS; form++) {
			struct frame ack = tcp(.v6 = v6);
			struct flow f = flow_of(v6);
			struct result r;

			fixture("IPv%d, form %u", v6 ? 6 : 4, form);
			f.echo.version += 2;
			f.echo.form = form;
			f.echo.hops = 1;
			f.echo.flows = 0x1234;
			f.echo.hop[0] = 0x1122334455667788;
			flow_change(v6, f);
			r = run(EGRESS, &ack);
			expect_eq(r.out.b[at_shim(&r.out) + 6], flags[form]);
			expect_eq(r.out.b[at_shim(&r.out) + 7], 1);
			expect_eq(get16(r.out.b + at_echo(&r.out) + 8), 0x1234);
			expect_eq(get16(r.out.b + at_echo(&r.out) + 10), 0);
			expect_eq(get64(r.out.b + at_echo(&r.out) + 12), 0x1122334455667788);
			if (form == RX_HOPS)
				expect_counted(STAT_TX_DATA);
			else
				expect_counted(STAT_TX_DATA, form == RX_RATIO ? STAT_TX_RATIO : STAT_TX_WINDOW);
		}
	}
}

/* --- the sender: W --- */

SinkTest(report, window__becomes_the_flows)
{
	peers_tell(RX_HOPS, 1000000);
	FOR_V4_AND_V6(v6) {
		struct flow f;

		flow_runs(v6, 1000000);
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_path = 0, .echo_flows = 5,
			 .echo_hop = { 500000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		f = flow_of(v6);
		expect_eq(f.cc.w, 500000ULL << 12);
		expect_eq(f.cc.wc, f.cc.w);
		expect_eq(f.cc.rate_bps, hpcc_rate_bps(f.cc.w, 1000000));
		expect_eq(f.form, RX_WINDOW);
		expect_eq(f.told_hops, 1);
		expect_eq(f.cc.hops, 0);
		expect_eq(f.feedbacks, 1);
		expect_eq(f.flows, 5);
		expect_eq(f.lock, 0);

		fixture("an older one is out of date");
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 999, .echo_hop = { 600000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_SKIPPED);
		expect_eq(flow_of(v6).cc.w, 500000ULL << 12);
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_hop = { 700000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(flow_of(v6).cc.w, 700000ULL << 12);
		fixture("one of another life of the flow does not stop it for good");
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 0xf0000000, .echo_hop = { 400000ULL << 32 });
		feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = 2000, .echo_hop = { 300000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(flow_of(v6).cc.w, 300000ULL << 12);
	}
}

SinkTest(report, window__absurd_is_clamped_and_counted)
{
	static const struct {
		__u32 bytes;
		int absurd, low;
	} t[] = { { 0, 1, 1 }, { 63, 1, 1 }, { 64, 0, 1 }, { 1514, 0, 1 }, { 100000000, 0, 0 },
		  { 1 << 27, 1, 0 }, { 0xffffffff, 1, 0 } };
	unsigned int i;

	flow_runs(0, 1000000);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct flow f;

		fixture("W %u", t[i].bytes);
		feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 1000 + i, .echo_hop = { (__u64)t[i].bytes << 32 });
		if (t[i].absurd)
			expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_FB_ABSURD_WINDOW);
		else
			expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		f = flow_of(0);
		expect_eq(f.cc.w, t[i].low ? f.params.w_min : f.params.w_init);
	}
}

SinkTest(report, window__observed_only)
{
	control_set(MODE_OBSERVE, 0);
	flow_runs(0, 1000000);
	feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 1000, .echo_hop = { 500000ULL << 32 });
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
	expect_eq(flow_of(0).cc.w, flow_of(0).params.w_init);
}

/* --- the sender: U --- */

SinkTest(report, ratio__is_what_the_core_makes_of_it)
{
	static const __u32 us[] = { 1 << 24, 3 << 23, 1 << 23, 0, 0xffffffff, 15 << 20, 12 << 20, 1 };
	unsigned int i, variant;

	FOR_V4_AND_V6(v6) {
		for (variant = 0; variant < HPCC_VARIANTS; variant++) {
			__u32 base = variant * 2000000;
			struct peer peer = peer_usual();

			if (variant == HPCC_PROBABILISTIC) /* by chance */
				continue;
			peer.variant = variant;
			peer_set("10.1.0.0", 96 + 16, &peer);
			peer_set("fd00:1::", 32, &peer);
			control_next_epoch();
			flow_runs(v6, 1000000);
			for (i = 0; i < 40; i++) {
				struct flow f = flow_of(v6), now;
				struct hpcc_ack ack = { .seq = base + 2000 * i, .snd_nxt = base + 1000000 + 3000 * i };
				enum hpcc_kind kind;

				fixture("IPv%d, variant %u, U %u", v6 ? 6 : 4, variant, i);
				f.tx_bytes = ack.snd_nxt;
				flow_change(v6, f);
				if (f.form != RX_RATIO)
					hpcc_forget(&f.cc);
				kind = rx_ratio(&f.cc, &f.params, &ack, us[i % 8]);
				feedback(v6, .ratio = 1, .echo_hops = 1, .echo_seq = base + 2000 * i,
					 .echo_hop = { (__u64)us[i % 8] << 32 });
				now = flow_of(v6);
				expect_eq(now.cc.u, us[i % 8]);
				if (variant == HPCC_VAI_SF) { /* goes by the time in between, too */
					expect_that(world_ended());
					cr_assert(now.cc.w >= now.params.w_min && now.cc.w <= now.params.w_init);
					continue;
				}
				expect_counted(STAT_RX_DATA, STAT_FB_RATIO, kind == HPCC_FULL ? STAT_FB_FULL : STAT_FB_FAST);
				expect_eq(now.cc.w, f.cc.w);
				expect_eq(now.cc.wc, f.cc.wc);
				expect_eq(now.cc.last_update_seq, f.cc.last_update_seq);
			}
		}
	}
}

/* --- what is of no form, or of another than before --- */

SinkTest(report, form__malformed_is_counted_and_ignored)
{
	FOR_V4_AND_V6(v6) {
		struct flow before, after;

		flow_runs(v6, 1000000);
		before = flow_of(v6);
		feedback(v6, .window = 1, .ratio = 1, .echo_hops = 1, .echo_hop = { 500000ULL << 32 });
		feedback(v6, .window = 1, .echo_hops = 0);
		feedback(v6, .window = 1, .echo_hops = 2, .echo_hop = { 500000ULL << 32 });
		feedback(v6, .ratio = 1, .echo_hops = 0);
		feedback(v6, .ratio = 1, .echo_hops = 5, .echo_hop = { 500000ULL << 32 });
		expect_counted(STAT_RX_DATA, STAT_FB_BAD_FORM, STAT_RX_DATA, STAT_FB_BAD_FORM, STAT_RX_DATA,
			       STAT_FB_BAD_FORM, STAT_RX_DATA, STAT_FB_BAD_FORM, STAT_RX_DATA, STAT_FB_BAD_FORM);
		after = flow_of(v6);
		cr_assert(!memcmp(&after.cc, &before.cc, sizeof(before.cc)));
		expect_eq(flow_of(v6).feedbacks, 0);
	}
}

/* From each form to each other one: nothing of the old one is compared with. */
SinkTest(report, form__changes_in_mid_flow)
{
	static const __u8 order[] = { RX_HOPS, RX_WINDOW, RX_HOPS, RX_RATIO, RX_WINDOW, RX_RATIO, RX_HOPS };
	unsigned int i, k;

	FOR_V4_AND_V6(v6) {
		flow_runs(v6, 10000000);
		for (i = 0; i < sizeof(order); i++) {
			struct flow f = flow_of(v6);

			fixture("IPv%d, step %u: form %u", v6 ? 6 : 4, i, order[i]);
			f.cc.u = 0; /* what is left of it must do no harm */
			f.cc.inc_stage = 4;
			flow_change(v6, f);
			for (k = 0; k < 2; k++) {
				__u32 seq = 100000 * (2 * i + k + 1);

				if (order[i] == RX_HOPS) {
					feedback(v6, .echo_hops = 1, .echo_path = 1, .echo_seq = seq,
						 .echo_hop = { hop_of(k * 100000, k * 1250000, 0) });
					expect_counted(STAT_RX_DATA, k ? STAT_FB_FULL : STAT_FB_FIRST);
				} else if (order[i] == RX_RATIO) {
					feedback(v6, .ratio = 1, .echo_hops = 1, .echo_seq = seq, .echo_hop = { 1ULL << 55 });
					expect_counted(STAT_RX_DATA, STAT_FB_RATIO, STAT_FB_FULL);
				} else {
					feedback(v6, .window = 1, .echo_hops = 1, .echo_seq = seq,
						 .echo_hop = { 900000ULL << 32 });
					expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
				}
				f = flow_of(v6);
				expect_eq(f.form, order[i]);
				f.cc.last_update_seq = 0;
				flow_change(v6, f);
			}
			cr_assert(f.cc.w >= f.params.w_min && f.cc.w <= f.params.w_init);
		}
	}
}

/* A path that stamps nothing is of no form. */
SinkTest(report, form__is_kept_where_nothing_is_stamped)
{
	flow_runs(0, 1000000);
	feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 10, .echo_hop = { 500000ULL << 32 });
	feedback(0, .echo_hops = 0, .echo_seq = 20);
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW, STAT_RX_DATA, STAT_FB_SKIPPED);
	expect_eq(flow_of(0).form, RX_WINDOW);
	expect_eq(flow_of(0).cc.w, 500000ULL << 12);
}

/* The answer to a PROBE brings hops: they do not fight with W. */
SinkTest(report, probe_reply__is_left_alone_while_windows_come)
{
	struct ip_spec s = { .payload = 100 };
	struct frame first = frame_of(s), head = frame_cut(first, 14 + 20 + 20), probe, in;
	struct host h = { .heard_ns = clock_ns(), .capable = 1, .asked_ns = clock_ns() };
	struct flow f;

	flow_runs(0, 1000000);
	host_set(0, HOST_B, &h);
	feedback(0, .window = 1, .echo_hops = 1, .echo_seq = 10, .echo_hop = { 500000ULL << 32 });
	expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
	probe = wrap(&head, .msg = 2, .room = 5, .nhop = 1, .seq = 500, .hop = { hop_of(0, 0, 0) });
	in = frame_turned(probe);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_SKIPPED);
	expect_eq(flow_of(0).form, RX_WINDOW);
	expect_eq(flow_of(0).cc.hops, 0);

	fixture("they came long ago");
	f = flow_of(0);
	f.last_fb_ns -= hpcc_idle_ns(f.params.t_ns);
	flow_change(0, f);
	run(sink, &in);
	expect_counted(STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
	expect_eq(flow_of(0).form, RX_HOPS);
	expect_eq(flow_of(0).cc.w, 500000ULL << 12);
}

/* Where W comes, which is every T and a little more, UDP asks after two. */
Test(report, probe__of_udp_waits_for_the_next_window)
{
	struct ip_spec s = { .udp = 1, .payload = 100 };
	struct frame in = frame_of(s);
	struct flow f;

	peers_tell(RX_HOPS, LONG_T_NS);
	hosts_strip();
	run(EGRESS, &in);
	world_counted((const int[]){ -1 });
	f = flow_get(s);
	f.form = RX_WINDOW;
	f.probe_ns = 0;
	f.last_fb_ns = clock_ns() - LONG_T_NS * 3 / 2;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
	f = flow_get(s);
	f.last_fb_ns = clock_ns() - LONG_T_NS * 3;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_eq(flow_get(s).probe_ns > 0, 1);
}

/* --- N --- */

#define ENDLESS_NS (1ULL << 60) /* an epoch that does not end in a test: number 1 */

static void port_counts(__u64 count_ns, __u64 epoch, __u32 seen)
{
	struct port port = port_usual();

	port.count_ns = count_ns;
	port.count.now = epoch << 32 | seen;
	port_change(WORLD_IFINDEX, &port);
}

static void flow_arrives(int v6, unsigned int n)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500, .dport = 1000 + n),
		     in = wrap(&inner, .room = 5, .nhop = 1, .hop = { hop_of(0, 0, 0) });

	clock_pass(WORLD_T_NS / 8 + 1000); /* N is looked up anew */
	run(sink, &in);
}

static __u32 flows_told(int v6, unsigned int n)
{
	struct ip_spec s = { .v6 = v6, .sport = 1000 + n };

	return flow_get(s).echo.flows;
}

SinkTest(report, flows__are_counted_at_the_port)
{
	unsigned int i, round;

	flow_arrives(0, 1);
	expect_eq(flows_told(0, 1), 0); /* nobody counts */
	FOR_V4_AND_V6(v6) {
		port_counts(ENDLESS_NS, 0, 0);
		for (round = 0; round < 3; round++)
			for (i = 0; i < 20; i++)
				flow_arrives(v6, i);
		flow_arrives(v6, 3);
		expect_eq(flows_told(v6, 3), 20);

		fixture("IPv%d: five were active in the epoch before", v6 ? 6 : 4);
		port_counts(ENDLESS_NS, 0, 5);
		for (i = 20; i < 27; i++) {
			flow_arrives(v6, i);
			expect_eq(flows_told(v6, i), i - 19 < 5 ? 5 : i - 19);
		}
		fixture("IPv%d: nobody was in the epoch before", v6 ? 6 : 4);
		port_counts(ENDLESS_NS, 7, 5);
		flow_arrives(v6, 27);
		expect_eq(flows_told(v6, 27), 1);
	}
}

SinkTest(report, flows__of_a_pod_are_counted_at_its_veth)
{
	struct port port = port_usual();
	unsigned int i;

	port_counts(ENDLESS_NS, 0, 0);
	port.flags = PORT_F_POD;
	port.count_ns = ENDLESS_NS;
	port_set(7, &port);
	for (i = 0; i < 6; i++)
		flow_arrives(0, i);
	for (i = 0; i < 2; i++) {
		struct ip_spec s = { .sport = 1000 + i };
		struct flow f = flow_get(s);

		f.pod_ifindex = 7;
		f.count_mark = 0;
		flow_set(s, &f);
	}
	for (i = 0; i < 6; i++)
		flow_arrives(0, i);
	flow_arrives(0, 0);
	expect_eq(flows_told(0, 0), 2);
	expect_eq(flows_told(0, 5), 6);
	fixture("a veth of 20 Gbit/s, whose stamps say 25");
	port = port_get(7);
	port.speed = (struct telem_speed){ .code = 8, .scale_q16 = 5 << 14 };
	port_set(7, &port);
	flow_arrives(0, 0);
	expect_eq(flows_told(0, 0), 3);
}

/* Two hops, of which one is full, and N. */
static void hops_told(unsigned int n, unsigned int full, __u16 flows)
{
	struct wire_spec w = telemetry(n, full);

	feedback(0, .echo_hops = 2, .echo_path = 0x123, .echo_seq = 1000 * n, .echo_flows = flows,
		 .echo_hop = { w.hop[0], w.hop[1] });
}

static void expect_flows(__u32 n)
{
	struct flow f = flow_of(0);

	expect_eq(f.flows, n);
	expect_between(f.params.w_ai, f.params.w_init * .05 / n * .999, f.params.w_init * .05 / n * 1.001);
}

SinkTest(report, flows__set_w_ai_where_the_last_hop_is_the_bottleneck)
{
	unsigned int n = 0, i;
	struct peer peer = peer_usual();

	flow_runs(0, 1000000);
	expect_flows(100);
	for (i = 0; i < 12; i++)
		hops_told(n++, 0, 400);
	expect_flows(100);
	for (i = 0; i < 12; i++)
		hops_told(n++, 1, 400);
	expect_flows(600);
	hops_told(n++, 1, 7);
	expect_flows(10);
	hops_told(n++, 1, 0); /* a peer that does not count */
	expect_flows(100);
	for (i = 0; i < 20; i++) /* two hops, equally full */
		hops_told(n++, i % 2, 7);
	expect_flows(100);
	hops_told(n++, 1, 400);
	hops_told(n++, 1, 400);
	expect_flows(600);
	world_counted((const int[]){ -1 });
	hops_told(n++, 1, 65535);
	expect_counted(STAT_RX_DATA, STAT_FB_FAST, STAT_FB_ABSURD_FLOWS);
	expect_between(flow_of(0).params.w_ai, flow_of(0).params.w_init * .05 / 24576 * .9,
		       flow_of(0).params.w_init * .05 / 24576 * 1.1);

	fixture("a number of the configuration's");
	peer.flows_fixed = 1;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
	for (i = 0; i < 12; i++)
		hops_told(n++, 1, 400);
	expect_flows(100);
}

/* A flow of which probes are the telemetry is told N by their answers. */
SinkTest(report, flows__are_told_by_the_answer_to_a_probe)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500, .dport = 1003),
			     head = frame_cut(inner, 14 + (v6 ? 40 : 20) + 20), in;
		struct result r;
		unsigned int i;

		port_counts(ENDLESS_NS, 0, 0);
		for (i = 0; i < 6; i++)
			flow_arrives(v6, i);
		in = wrap(&head, .msg = 2, .room = 5, .nhop = 1, .seq = 500, .hop = { hop_of(0, 0, 0) });
		clock_pass(WORLD_T_NS / 8 + 1000);
		r = run(sink, &in);
		expect_eq(get16(r.out.b + at_telem(&r.out)), get16(in.b + at_telem(&in)));
		expect_eq(get16(r.out.b + at_telem(&r.out) + 2), 6);
	}
}

SinkTest(report, flows__by_the_answer_to_a_probe_set_w_ai)
{
	struct frame first = tcp(.payload = 100), head = frame_cut(first, 14 + 20 + 20);
	struct host h = { .heard_ns = clock_ns(), .capable = 1, .asked_ns = clock_ns() };
	unsigned int i;

	flow_runs(0, 1000000);
	host_set(0, HOST_B, &h);
	for (i = 0; i < 12; i++) {
		struct frame probe = wrap(&head, .msg = 2, .room = 5, .nhop = 1, .seq = 500 + i,
					  .hop = { hop_of(i * 1000000, i * 12500000ULL, 8000) }), in;

		put16(probe.b + at_telem(&probe) + 2, 30);
		in = frame_turned(probe);
		run(sink, &in);
	}
	expect_flows(45);
}

SinkTest(report, flows__with_a_ratio)
{
	unsigned int i;

	flow_runs(0, 1000000);
	for (i = 0; i < 12; i++)
		feedback(0, .ratio = 1, .echo_hops = 1, .echo_seq = 10 + i, .echo_flows = 30, .echo_hop = { 1ULL << 55 });
	expect_flows(100);
	for (i = 0; i < 12; i++)
		feedback(0, .ratio = 1, .echo_hops = 1, .echo_seq = 30 + i, .echo_flows = 30, .echo_hop = { 1ULL << 55 | 1 });
	expect_flows(45);
}

/* In window mode the receiver's own W_AI is by N. */
SinkTest(report, flows__in_the_receivers_own_computation)
{
	struct rx_flow r;
	unsigned int n;

	peers_tell(RX_WINDOW, LONG_T_NS);
	port_counts(ENDLESS_NS, 0, 0);
	for (n = 0; n < 12; n++)
		arrives(0, telemetry(n, 0));
	cr_assert(report_get((struct ip_spec){}, &r));
	expect_eq(r.flows, 100);
	for (; n < 24; n++)
		arrives(0, telemetry(n, 1));
	cr_assert(report_get((struct ip_spec){}, &r));
	expect_eq(r.flows, 1);
	expect_between(r.params.w_ai, r.params.w_init * .0499, r.params.w_init * .0501);
}

/* --- authenticated --- */

SinkTest(report, auth__covers_what_is_told)
{
	FOR_V4_AND_V6(v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in;
		unsigned int bit;

		keys_set(&key, 1);
		flow_runs(v6, 1000000);
		in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_seq = 10, .echo_flows = 9,
			  .echo_hop = { 500000ULL << 32 }, .key = &key, .auth_seq = ++auth_seq);
		for (bit = 0; bit < 8 * 20; bit += 3) {
			struct frame forged = in;

			forged.b[at_echo(&in) + bit / 8] ^= 1 << bit % 8;
			expect_untouched(sink, &forged, STAT_RX_BAD_AUTH);
		}
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(flow_of(v6).cc.w, 500000ULL << 12);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		keys_set(&key, 0);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/report.bpf.h: the receiver's computations and reports. */
#include <string.h>

#include "sluice/cc/rx.h"
#include "report_case.h"

static void make_small(void)
{
	world_make_with(.flows = 1);
}

TestSuite(report, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(report_xdp, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(report_small, .init = make_small, .fini = world_drop, .timeout = 60);
TestSuite(report_small_xdp, .init = make_small, .fini = world_drop, .timeout = 60);

static const struct siphash_key key = { 3, 4 };
static __u64 auth_seq = 1ULL << 40;

/* --- the receiver --- */

SinkTest(report, hops__are_told_as_they_came)
{
	struct rx_flow r;

	arrives(0, telemetry(0, 0));
	expect_eq(report_flow_of(0).echo.form, RX_HOPS);
	expect_eq(report_flow_of(0).echo.hops, 2);
	expect_eq(report_get((struct ip_spec){}, &r), 0);
	expect_counted(STAT_RX_DATA);
}

SinkTest(report, window__is_what_the_core_computes_once_per_t)
{
	peers_tell(RX_WINDOW, LONG_T_NS);
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6 };
		struct rx_flow r, now;
		struct flow_echo e;
		unsigned int n;
		int due;

		arrives(v6, telemetry(0, 1));
		expect_eq(report_flow_of(v6).echo.version, 0); /* there is no W yet */
		expect_eq(report_flow_of(v6).rx.kept, 1);
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
			r.params = report_flow_of(v6).params;
			expect_eq(rx_new_int(&r.rx, &r.params, &ack, clock_ns(), &due),
				  n == 1 || n == 4 ? HPCC_FULL : HPCC_FAST);
			arrives(v6, w);
			cr_assert(report_get(s, &now));
			expect_eq(now.rx.cc.w, r.rx.cc.w);
			expect_eq(now.rx.cc.wc, r.rx.cc.wc);
			expect_eq(now.rx.cc.u, r.rx.cc.u);
			expect_eq(now.lock, 0);
			e = report_flow_of(v6).echo;
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

/* Delay controls the sender there: the report must say so. */
SinkTest(report, unstamped__is_told_as_such)
{
	unsigned int i;

	peers_tell(RX_WINDOW, LONG_T_NS);
	for (i = 0; i < 3; i++) {
		__u32 version = i ? report_flow_of(0).echo.version : 0;

		arrives(0, (struct wire_spec){ .room = 5, .seq = 7 + i });
		expect_eq(report_flow_of(0).echo.version, version + 2);
		expect_eq(report_flow_of(0).echo.form, RX_HOPS);
		expect_eq(report_flow_of(0).echo.hops, 0);
		expect_eq(report_flow_of(0).echo.seq, 7 + i);
	}
}

/* A flow that has run for a while: W_init would be many times its share. */
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
		expect_eq(report_flow_of(0).echo.version, 0);
	}
	clock_pass(2500000);
	w = telemetry(n, 1);
	w.seq = 500000000 + n * 1000000;
	arrives(0, w);
	cr_assert(report_get(s, &r));
	expect_eq(r.since_ns, 0);
	expect_eq(report_flow_of(0).echo.version, 2);
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
	peers_tell(RX_HOPS, LONG_T_NS);
	arrives(0, telemetry(n++, 1));
	expect_eq(report_get(s, &r), 0);
	expect_eq(report_flow_of(0).rx.kept, 0);
	expect_eq(report_flow_of(0).echo.form, RX_HOPS);
	expect_eq(report_flow_of(0).echo.hops, 2);
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
		expect_eq(report_flow_of(0).echo.form, RX_HOPS);
		expect_eq(report_flow_of(0).echo.hops, 2);
		expect_eq(report_flow_of(0).rx.kept, 0);
	}
}

SinkTest(report, state__is_left_alone_while_another_cpu_has_it)
{
	struct rx_flow r, now;

	peers_tell(RX_WINDOW, LONG_T_NS);
	arrives(0, telemetry(0, 1));
	arrives(0, telemetry(1, 1));
	cr_assert(report_get((struct ip_spec){}, &r));
	r.lock = 1;
	report_set((struct ip_spec){}, &r);
	arrives(0, telemetry(2, 1));
	cr_assert(report_get((struct ip_spec){}, &now));
	cr_assert(!memcmp(&r, &now, sizeof(r)));
	expect_eq(report_flow_of(0).echo.version, 2);
}

/* --- on the wire --- */

Test(report, echo__of_each_form)
{
	static const __u8 flags[] = { [RX_HOPS] = 1, [RX_WINDOW] = 5 };
	unsigned int form;

	FOR_V4_AND_V6 (v6) {
		report_flow_runs(v6, 1000);
		for (form = RX_HOPS; form <= RX_WINDOW; form += RX_WINDOW) {
			struct frame ack = tcp(.v6 = v6);
			struct flow f = report_flow_of(v6);
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
				expect_counted(STAT_TX_DATA, STAT_TX_WINDOW);
		}
	}
}

/* --- authenticated --- */

SinkTest(report, auth__covers_what_is_told)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1), in;
		unsigned int bit;

		keys_set(&key, 1);
		report_flow_runs(v6, 1000000);
		in = wrap(&inner, .echo = 1, .window = 1, .echo_hops = 1, .echo_seq = 10, .echo_flows = 9,
			  .echo_hop = { 500000ULL << 32 }, .key = &key, .auth_seq = ++auth_seq);
		for (bit = 0; bit < 8 * 20; bit += 3) {
			struct frame forged = in;

			forged.b[at_echo(&in) + bit / 8] ^= 1 << bit % 8;
			expect_untouched(sink, &forged, STAT_RX_BAD_AUTH);
		}
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_FB_WINDOW);
		expect_eq(report_flow_of(v6).cc.w, 500000ULL << 12);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_REPLAYED);
		keys_set(&key, 0);
	}
}

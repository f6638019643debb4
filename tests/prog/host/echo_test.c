// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/echo.bpf.h: the echo goes out with data. How its slot is filled is in echo_slot_test.c. */
#include "egress_case.h"

TestSuite(echo, .init = egress_make, .fini = world_drop, .timeout = 60);

Test(echo, echo__goes_out_once_with_data)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .payload = 50 };
		struct frame in = frame_of(s), want;
		__u32 seq = run(EGRESS, &in).out.len;
		struct result r;

		echo_waits(s, 0);
		r = run(EGRESS, &in);
		seq += r.out.len;
		want = with_echo(&in, &r.out, 5, seq);
		expect_frame(&r.out, &want);
		expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 44 + 36);
		r = run(EGRESS, &in);
		seq += r.out.len;
		want = wrap(&in, .sport = source_port(&r.out), .room = 5, .seq = seq);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
	}
}

Test(echo, echo__goes_out_with_a_pure_ack)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6 };
		struct frame in = frame_of(s), want;
		struct result r;

		expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
		echo_waits(s, 0);
		r = run(EGRESS, &in);
		want = with_echo(&in, &r.out, 0, r.out.len);
		expect_frame(&r.out, &want);
		expect_eq(r.out.len, in.len + (v6 ? 40 : 20) + 8 + 12 + 36);
		expect_counted(STAT_TX_DATA);
		expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	}
}

Test(echo, echo__goes_out_with_a_datagram)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6, .udp = 1 };
		struct frame data = udp(.v6 = v6, .payload = 50), empty = frame_of(s), want;
		__u32 seq = run(EGRESS, &data).out.len;
		struct result r;

		echo_waits(s, 0);
		r = run(EGRESS, &data);
		seq += r.out.len;
		want = with_echo(&data, &r.out, 5, seq);
		expect_frame(&r.out, &want);
		echo_waits(s, 0);
		r = run(EGRESS, &empty);
		seq += r.out.len;
		want = with_echo(&empty, &r.out, 0, seq);
		expect_frame(&r.out, &want);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
	}
}

Test(echo, echo__with_zero_to_five_hops)
{
	struct ip_spec s = {};
	struct frame in = tcp(), want;
	__u32 hops, seq = 0;

	run(EGRESS, &in);
	for (hops = 0; hops <= 5; hops++) {
		struct flow f;
		struct result r;

		fixture("%u hops", hops);
		echo_waits(s, 0);
		f = flow_get(s);
		f.echo.hops = hops;
		f.echo.nhop_path = hops << 12 | 0xabc;
		f.echo.hop[4] = 0x123456789abcdef0;
		flow_set(s, &f);
		r = run(EGRESS, &in);
		seq += r.out.len;
		want = wrap(&in, .sport = source_port(&r.out), .seq = seq, .echo = 1, .echo_seq = 0x89abcdef,
			    .echo_hops = hops, .echo_path = 0xabc, .echo_age = get16(r.out.b + at_echo(&r.out) + 4),
			    .echo_hop = { 0x1111222233334444, 0x5555666677778888, 0x9999aaaabbbbcccc,
					  0xdeadbeefdeadbeef, 0x123456789abcdef0 });
		expect_frame(&r.out, &want);
	}
}

Test(echo, echo__age_in_units_of_1024_ns)
{
	static const __u64 ages_ns[] = { 0, 1024 * 1000, 10 * MS, 60 * MS };
	struct ip_spec s = {};
	struct frame in = tcp();
	unsigned int i;

	run(EGRESS, &in);
	for (i = 0; i < sizeof(ages_ns) / sizeof(ages_ns[0]); i++) {
		__u64 before, after;
		struct result r;

		fixture("%llu ns", ages_ns[i]);
		echo_waits(s, ages_ns[i]);
		before = clock_ns() - flow_get(s).echo.rx_ns;
		r = run(EGRESS, &in);
		after = clock_ns() - flow_get(s).echo.rx_ns;
		expect_between(get16(r.out.b + at_echo(&r.out) + 4), before / 1024, after / 1024);
	}
	fixture("67.2 ms and more do not fit into 16 bits");
	echo_waits(s, 68 * MS);
	expect_eq(get16(run(EGRESS, &in).out.b + 14 + 28 + 12 + 4), 0xffff);
	echo_waits(s, 68 * MS << 8);
	expect_eq(get16(run(EGRESS, &in).out.b + 14 + 28 + 12 + 4), 0xffff);
}

Test(echo, echo__waits_while_it_is_written)
{
	struct ip_spec s = {};
	struct frame in = tcp();
	struct flow f;

	run(EGRESS, &in);
	echo_waits(s, 0);
	f = flow_get(s);
	f.echo.version++;
	flow_set(s, &f);
	expect_counted(STAT_TX_PLAIN_ACK);
	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
	f.echo.version++;
	flow_set(s, &f);
	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
}

Test(echo, echo__is_kept_when_the_packet_does_not_fit)
{
	struct ip_spec s = { .payload = 100 };
	struct frame data = frame_of(s), ack = tcp();
	struct port port = port_usual();

	run(EGRESS, &data);
	echo_waits(s, 0);
	expect_counted(STAT_TX_DATA);
	port.mtu = data.len - 14 + 28 + 12 + 44 + 31;
	port_change(WORLD_IFINDEX, &port);
	expect_untouched(EGRESS, &data, STAT_TX_MTU);
	run(EGRESS, &ack);
	expect_counted(STAT_TX_DATA);
}

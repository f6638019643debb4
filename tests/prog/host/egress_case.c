// SPDX-License-Identifier: GPL-2.0-only
#include "egress_case.h"

void egress_make(void)
{
	world_make();
	hosts_strip();
}

__u16 source_port(const struct frame *f)
{
	return get16(f->b + at_udp(f));
}

__u16 entropy_of(const struct frame *in)
{
	struct result r = run(EGRESS, in);

	return source_port(&r.out);
}

void echo_waits(struct ip_spec s, __u64 age_ns)
{
	struct flow f = flow_get(s);

	f.beside.echoes = 1;
	f.echo.version += 2;
	f.echo.seq = 0x89abcdef;
	f.echo.nhop_path = 3 << 12 | 0xabc;
	f.echo.hops = 3;
	f.echo.rx_ns = clock_ns() - age_ns;
	f.echo.hop[0] = 0x1111222233334444;
	f.echo.hop[1] = 0x5555666677778888;
	f.echo.hop[2] = 0x9999aaaabbbbcccc;
	f.echo.hop[3] = 0xdeadbeefdeadbeef; /* of an earlier packet: not to be sent */
	flow_set(s, &f);
}

struct frame with_echo(const struct frame *in, const struct frame *got, __u8 room, __u32 seq)
{
	return wrap(in, .sport = source_port(got), .room = room, .seq = seq, .echo = 1, .echo_seq = 0x89abcdef,
		    .echo_hops = 3, .echo_path = 0xabc, .echo_age = get16(got->b + at_echo(got) + 4),
		    .echo_hop = { 0x1111222233334444, 0x5555666677778888, 0x9999aaaabbbbcccc });
}

struct asker asker_make(void)
{
	struct asker a = { .ifindex = link_make("") };

	link_attach(EGRESS, LINK_NEAR, 0);
	a.fd = packet_socket(LINK_FAR);
	return a;
}

void egress_expect_probe(const struct asker *a, const struct frame *in, __u32 seq)
{
	struct frame got, want;

	cr_assert(packet_catch(a->fd, &got, 1000), "%sno PROBE", world_fixture());
	want = frame_probe(in, source_port(&got), seq);
	expect_frame(&got, &want);
	cr_assert(!packet_catch(a->fd, &got, 20), "%sa second PROBE", world_fixture());
}

void expect_no_probe(const struct asker *a)
{
	struct frame got;

	cr_assert(!packet_catch(a->fd, &got, 20), "%sa PROBE", world_fixture());
}

void probed_ago(struct ip_spec s, __s64 probe_ago_ns, __s64 fb_ago_ns)
{
	struct flow f = flow_get(s);

	f.tx.probe_ns = probe_ago_ns < 0 ? 0 : clock_ns() - probe_ago_ns;
	f.rx.fb_ns = fb_ago_ns < 0 ? 0 : clock_ns() - fb_ago_ns;
	flow_set(s, &f);
}

struct flow clock_at(struct ip_spec s, __u64 clock, __u64 rate_bps)
{
	struct flow f = flow_get(s);

	f.tx.clock_ns = clock;
	f.cc.rate_bps = rate_bps;
	flow_set(s, &f);
	return f;
}

void enforce_with_fq(void)
{
	struct port port = port_usual();

	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/lib/maps.bpf.h, domain_of(): tenants with the same addresses and ports, behind ports of different routing domains. */
#include <bpf/bpf.h>
#include <string.h>

#include "ingress_case.h"

#define OTHER_DOMAIN 7

TestSuite(domain, .init = world_make, .fini = world_drop, .timeout = 60);

static __u32 other_port;

/* A port in another domain, where A and B strip, too. */
static void domains_make(void)
{
	struct host h = { .heard_ns = clock_ns(), .capable = 1 };
	struct port port;
	int v6, who;

	other_port = link_make("");
	port = port_get(other_port);
	port.domain = OTHER_DOMAIN;
	port_set(other_port, &port);
	domains_set(1);
	hosts_strip();
	for (v6 = 0; v6 < 2; v6++) {
		for (who = HOST_A; who <= HOST_B; who++) {
			struct host_key k = host_of(v6, who);

			k.domain = OTHER_DOMAIN;
			cr_assert(!bpf_map_update_elem(world_map("hosts"), &k, &h, BPF_ANY));
		}
	}
}

static struct flow flow_in(struct ip_spec s, __u16 domain)
{
	struct flow_key k = flow_key_of(s);
	struct flow f;

	k.domain = domain;
	cr_assert(!bpf_map_lookup_elem(world_map("flows"), &k, &f), "%sno flow in domain %u", world_fixture(), domain);
	return f;
}

Test(domain, egress__each_tenant_has_a_flow)
{
	domains_make();
	FOR_V4_AND_V6 (v6) {
		int udp;

		for (udp = 0; udp < 2; udp++) {
			const struct ip_spec s = { .v6 = v6, .udp = udp, .payload = 100 };
			struct frame f = frame_of(s);

			run(EGRESS, &f);
			run(EGRESS, &f, .ifindex = other_port);
			run(EGRESS, &f, .ifindex = other_port);
			expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA);
			expect_eq(flow_in(s, 0).path.ifindex, WORLD_IFINDEX);
			expect_eq(flow_in(s, OTHER_DOMAIN).path.ifindex, other_port);
			expect_eq(flow_in(s, OTHER_DOMAIN).tx.bytes, 2 * flow_in(s, 0).tx.bytes);
		}
	}
	expect_eq(flows_count(), 8);
}

/* Whether a host of the same address in another network strips says nothing of this one. */
Test(domain, host__is_known_in_its_domain)
{
	domains_make();
	FOR_V4_AND_V6 (v6) {
		struct frame f = tcp(.v6 = v6, .payload = 100);
		struct host_key k = host_of(v6, HOST_B);

		k.domain = OTHER_DOMAIN;
		cr_assert(!bpf_map_delete_elem(world_map("hosts"), &k));
		run(EGRESS, &f, .ifindex = other_port);
		expect_counted(STAT_TX_PEER_UNKNOWN);
		run(EGRESS, &f);
		expect_counted(STAT_TX_DATA);
	}
}

/* Telemetry waits in the flow of the port by which it came, and feedback changes that one. */
Test(domain, ingress__telemetry_is_of_its_port)
{
	domains_make();
	FOR_V4_AND_V6 (v6) {
		const struct ip_spec s = { .v6 = v6, .payload = 100 };
		struct frame out = frame_of(s);
		struct frame in =
			from_b(v6, 100, .room = 2, .nhop = 1, .path = 5, .hop = { ingress_hop_of(12, 5, 7 * 128, 0) },
			       .seq = 4711, .echo = 1, .echo_hops = 1, .echo_seq = 50, .echo_path = 5,
			       .echo_hop = { ingress_hop_of(12, 5, 7 * 128, 0) });
		struct flow other;

		run(EGRESS, &out);
		run(EGRESS, &out, .ifindex = other_port);
		other = flow_in(s, 0);
		run(INGRESS, &in, .ifindex = other_port);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_RX_DATA, STAT_FB_FIRST);
		expect_eq(flow_in(s, OTHER_DOMAIN).echo.seq, 4711);
		expect_eq(flow_in(s, OTHER_DOMAIN).rx.feedbacks, 1);
		cr_assert(!memcmp(&other, (struct flow[]){ flow_in(s, 0) }, sizeof(other)),
			  "%sthe other flow has changed", world_fixture());
	}
}

/* A companion that comes back finds the flow of its port. */
Test(domain, reply__is_of_its_port)
{
	domains_make();
	FOR_V4_AND_V6 (v6) {
		const struct ip_spec s = { .v6 = v6, .payload = 100 };
		struct frame out = frame_of(s), in = reply(s, .seq = 50, .room = 5, .nhop = 1, .path = 5,
							   .hop = { ingress_hop_of(12, 5, 7 * 128, 0) });
		struct host h = { .heard_ns = clock_ns(), .capable = 1, .asked_ns = clock_ns() };
		struct host_key k = host_of(v6, HOST_B);

		k.domain = OTHER_DOMAIN;
		cr_assert(!bpf_map_update_elem(world_map("hosts"), &k, &h, BPF_ANY));
		run(EGRESS, &out);
		run(EGRESS, &out, .ifindex = other_port);
		run(INGRESS, &in, .ifindex = other_port);
		expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_RX_PROBE_REPLY, STAT_FB_FIRST);
		expect_eq(flow_in(s, OTHER_DOMAIN).rx.feedbacks, 1);
		expect_eq(flow_in(s, 0).rx.feedbacks, 0);
	}
}

/* Whatever the domain: another path would be taken by those that balance by the outer port. */
Test(domain, egress__outer_port_is_the_same)
{
	struct frame f = tcp(.payload = 100);
	struct result here, there;

	domains_make();
	here = run(EGRESS, &f);
	there = run(EGRESS, &f, .ifindex = other_port);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA);
	expect_eq(get16(here.out.b + at_udp(&here.out)), get16(there.out.b + at_udp(&there.out)));
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/egress.bpf.h: packets that leave a host unchanged. */
#include <string.h>

#include "egress_case.h"

TestSuite(egress, .init = egress_make, .fini = world_drop, .timeout = 60);

/* --- what stays as it is --- */

Test(egress, handshake__is_plain)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .flags = SYN);

		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
		in = tcp(.v6 = v6, .flags = SYN | ACK);
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
		in = tcp(.v6 = v6, .flags = SYN, .payload = 100); /* TCP Fast Open */
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
		in = tcp(.v6 = v6, .flags = RST | ACK);
		expect_untouched(EGRESS, &in, STAT_TX_HANDSHAKE);
	}
}

Test(egress, own_message__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .payload = 100), in = wrap(&inner, .room = 5);

		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		in = wrap(&inner, .msg = 3, .bare = 1);
		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		fixture("IPv%d, whatever is in it", v6 ? 6 : 4);
		in = udp(.v6 = v6, .dport = PORT_WIRE, .payload = 100);
		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		in = udp(.v6 = v6, .dport = PORT_WIRE, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_OWN);
		expect_eq(flows_count(), 0);
	}
}

/* From our port is not to our port. */
Test(egress, own_message__is_known_by_its_destination)
{
	struct frame in = udp(.sport = PORT_WIRE, .payload = 100);

	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
}

Test(egress, other__is_untouched)
{
	static const __u8 echo_request[64] = { 8, 0, 0xf7, 0xff }, bytes[32] = { 1 };
	static const __u8 protos[] = { 47, 50, 132, 136 }; /* GRE, ESP, SCTP, UDP-Lite */
	struct frame in = frame_ip(0, 1, echo_request, sizeof(echo_request));
	unsigned int i;

	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	in = frame_ip(1, 58, echo_request, sizeof(echo_request));
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(protos); i++) {
			fixture("IPv%d, protocol %u", v6 ? 6 : 4, protos[i]);
			in = frame_ip(v6, protos[i], bytes, sizeof(bytes));
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
	}
	in = frame_arp();
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	in = tcp(.payload = 100);
	in.b[14] = 0x55; /* says IPv5 */
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	in = tcp(.v6 = 1, .payload = 100);
	in.b[14] = 0x50;
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	expect_eq(flows_count(), 0);
}

/* Nobody can be asked whether all of a group strip. */
Test(egress, group__is_untouched)
{
	static const __u8 first[] = { 0xff, 0x01, 0x33 }; /* everybody, a group of IPv4, one of IPv6 */
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(first); i++) {
			struct frame in = udp(.v6 = v6, .payload = 100);

			fixture("IPv%d, address %#x:...", v6 ? 6 : 4, first[i]);
			in.b[0] = first[i];
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
			expect_eq(flows_count(), 0);
		}
	}
}

Test(egress, fragment__is_untouched)
{
	struct frame whole = tcp(.payload = 800), in;

	in = frame_with_fragment(whole, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 1, 800);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 0, 8);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 0, 8 * 0x1fff);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = tcp(.v6 = 1, .payload = 800);
	in = frame_with_extension(in, 44);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	expect_eq(flows_count(), 0);
}

Test(egress, fragment__of_a_datagram_is_untouched)
{
	struct frame whole = udp(.payload = 800), in;

	in = frame_with_fragment(whole, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 1, 800);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = frame_with_fragment(whole, 0, 8);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = udp(.v6 = 1, .payload = 800);
	in = frame_with_extension(in, 44);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	/* not even one to our own port, whose later fragments have no port */
	in = udp(.dport = PORT_WIRE, .payload = 800);
	in = frame_with_fragment(in, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	expect_eq(flows_count(), 0);
}

Test(egress, ip_options__are_untouched)
{
	static const __u8 extensions[] = { 0, 43, 51, 60 };
	struct frame in = tcp(.payload = 100);
	unsigned int i;

	in = frame_with_ipv4_option(in);
	expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	in = udp(.payload = 100);
	in = frame_with_ipv4_option(in);
	expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	for (i = 0; i < sizeof(extensions); i++) {
		fixture("next header %u", extensions[i]);
		in = tcp(.v6 = 1, .payload = 100);
		in = frame_with_extension(in, extensions[i]);
		expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
		in = udp(.v6 = 1, .payload = 100);
		in = frame_with_extension(in, extensions[i]);
		expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	}
}

Test(egress, vlan_in_band__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame plain = tcp(.v6 = v6, .payload = 100), in;

		in = frame_with_vlan(plain, 0x8100);
		expect_untouched(EGRESS, &in, STAT_TX_VLAN_INBAND);
		in = frame_with_vlan(plain, 0x88a8);
		expect_untouched(EGRESS, &in, STAT_TX_VLAN_INBAND);
		in = frame_with_vlan(in, 0x8100);
		expect_untouched(EGRESS, &in, STAT_TX_VLAN_INBAND);
	}
}

Test(egress, no_peer__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100, .to = HOST_STRANGER);

		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		in = tcp(.v6 = v6, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		in = tcp(.v6 = v6, .flags = SYN, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		in = udp(.v6 = v6, .payload = 100, .to = HOST_STRANGER);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		expect_eq(flows_count(), 0);
		expect_eq(host_exists(v6, HOST_STRANGER), 0);
	}
}

/* A local address outside the prefixes does not matter: it is the destination that strips. */
Test(egress, no_peer__is_about_the_destination)
{
	struct frame in = tcp(.payload = 100, .from = HOST_STRANGER);

	run(EGRESS, &in);
	expect_counted(STAT_TX_DATA);
}

Test(egress, no_port__is_untouched)
{
	struct frame in = tcp(.payload = 100);

	port_remove(WORLD_IFINDEX);
	expect_untouched(EGRESS, &in, STAT_TX_NO_PORT);
	expect_eq(flows_count(), 0);
}

Test(egress, bypass__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100);

		control_set(MODE_ENFORCE, 1);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		in = tcp(.v6 = v6);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		in = tcp(.v6 = v6, .flags = SYN);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		in = udp(.v6 = v6, .payload = 100);
		expect_untouched(EGRESS, &in, STAT_TX_BYPASS);
		control_set(MODE_ENFORCE, 0);
		in = tcp(.v6 = v6, .payload = 100);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
	}
}

/* Flows that run go on plainly with the epoch, others are not made; and back. */
Test(egress, leaving_peer__is_sent_nothing)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100), other = tcp(.v6 = v6, .sport = 7, .payload = 100);
		struct ip_spec key = { .v6 = v6 };

		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(key).tx.flags & FLOW_F_TELEM, FLOW_F_TELEM);
		peers_leave(1);
		expect_untouched(EGRESS, &in, STAT_TX_NO_PEER);
		expect_eq(flow_get(key).tx.flags & FLOW_F_TELEM, 0);
		expect_untouched(EGRESS, &other, STAT_TX_NO_PEER);
		peers_leave(0);
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(key).tx.flags & FLOW_F_TELEM, FLOW_F_TELEM);
	}
}

/* The same for an interface. */
Test(egress, leaving_port__wraps_nothing)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = tcp(.v6 = v6, .payload = 100), other = tcp(.v6 = v6, .sport = 7, .payload = 100);
		struct ip_spec key = { .v6 = v6 };

		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		port_leaves(WORLD_IFINDEX, 1);
		control_next_epoch();
		expect_untouched(EGRESS, &in, STAT_TX_NO_PORT);
		expect_eq(flow_get(key).tx.flags & FLOW_F_TELEM, 0);
		expect_untouched(EGRESS, &other, STAT_TX_NO_PORT);
		port_leaves(WORLD_IFINDEX, 0);
		control_next_epoch();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
	}
}

/* Cut after every byte: no header is believed that is not there. */
Test(egress, truncated__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole = tcp(.v6 = v6, .payload = 20);
		unsigned int ip_bytes = v6 ? 40 : 20, n;

		for (n = 14 + ip_bytes; n < 14 + ip_bytes + 14; n++) {
			struct frame in = frame_cut(whole, n);

			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
		whole = udp(.v6 = v6, .payload = 20);
		for (n = 14 + ip_bytes; n < 14 + ip_bytes + 8; n++) {
			struct frame in = frame_cut(whole, n);

			fixture("UDP over IPv%d, %u bytes", v6 ? 6 : 4, n);
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
	}
}

/* A TCP header, or one of UDP, that the IP packet has no room for. An echo that waits does not go with it. */
Test(egress, truncated__header_by_its_own_length)
{
	FOR_V4_AND_V6 (v6) {
		struct ip_spec s = { .v6 = v6 };
		unsigned int l4 = 14 + (v6 ? 40 : 20), n;
		struct frame in = tcp(.v6 = v6, .payload = 1000);

		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		for (n = 0; n < 40; n++) {
			fixture("IPv%d, %u bytes for 40", v6 ? 6 : 4, n);
			echo_waits(s, 0);
			in = tcp(.v6 = v6, .payload = n);
			in.b[l4 + 12] = 15 << 4;
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
			expect_eq(flow_get(s).tx.mss, 1000);
		}
		fixture("IPv%d, as many", v6 ? 6 : 4);
		in = tcp(.v6 = v6, .payload = n);
		in.b[l4 + 12] = 15 << 4;
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		expect_eq(flow_get(s).tx.mss, 1000);
		fixture("IPv%d, padding", v6 ? 6 : 4);
		in = udp(.v6 = v6, .payload = 30);
		put16(in.b + (v6 ? 18 : 16), v6 ? 7 : 27);
		expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	}
}

/* Short frames of bridged machines carry padding; the sink tells it from the packet by its length. */
Test(egress, padding__is_not_payload)
{
	struct frame in = tcp(.padding = 6);

	expect_untouched(EGRESS, &in, STAT_TX_PLAIN_ACK);
}

Test(egress, padding__does_not_stop_the_sink)
{
	struct frame in = tcp(.payload = 1, .padding = 5), want = tcp(.payload = 1);
	struct result sent = run(EGRESS, &in), r;

	expect_counted(STAT_TX_DATA);
	r = run(INGRESS, &sent.out);
	expect_counted(STAT_RX_DATA);
	r.out.len = want.len;
	expect_frame(&r.out, &want);
}

/* --- packets that say that they are another's --- */

#define POD 4711
#define OTHER_POD 4712
#define NO_POD 4713
#define SECOND_LEG 4714 /* of POD */

static const struct ip_spec kinds[] = { { .payload = 100 },
					{ .udp = 1, .payload = 100 },
					{ .v6 = 1, .payload = 100 },
					{ .v6 = 1, .udp = 1, .payload = 100 } };

/* The next kind after s; NULL: that was the last. */
static const struct ip_spec *kind_next(const struct ip_spec *s)
{
	s = s ? s + 1 : kinds;
	if (s == kinds + sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	fixture("%s, IPv%d", s->udp ? "UDP" : "TCP", s->v6 ? 6 : 4);
	return s;
}

/* Two pods and another link; the node, which routes, has no route to any of them. */
static void pods_make(void)
{
	static const __u32 ifindex[] = { POD, OTHER_POD, NO_POD, SECOND_LEG };
	unsigned int i;

	hosts_strip();
	sh("echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding && ip link set lo up");
	for (i = 0; i < 4; i++)
		sh("ip link add v%u index %u type veth peer name w%u && ip link set v%u up && ip link set w%u up",
		   ifindex[i], ifindex[i], ifindex[i], ifindex[i], ifindex[i]);
	pod_set(POD, 0);
	pod_set(OTHER_POD, 1);
	pod_set(SECOND_LEG, 0);
	pod_set(WORLD_IFINDEX, 2); /* the node's own port may be a veth, too */
}

/* The node routes A, whose packets they are, to this link. */
static void route_to(__u32 ifindex)
{
	sh("ip route replace 10.1.0.1/32 dev v%u && ip -6 route replace fd00:1::1/128 dev v%u", ifindex, ifindex);
}

static void comes_from(const struct ip_spec *s, __u32 ifindex, int dropped)
{
	struct frame f = frame_of(*s);
	struct result r = run(EGRESS, &f, .ingress_ifindex = ifindex);

	expect_verdict(r, dropped ? VERDICT_DROP : VERDICT_PASS);
	expect_counted(dropped ? STAT_TX_SPOOFED : STAT_TX_DATA);
}

/* Whoever was first: the flow is of the pod to which the node routes its source address. */
Test(egress, spoofed__by_a_pod_without_the_route)
{
	const struct ip_spec *s = NULL;

	pods_make();
	while ((s = kind_next(s))) {
		struct flow had, f;
		int i;

		route_to(POD);
		comes_from(s, OTHER_POD, 1);
		comes_from(s, POD, 0);
		had = flow_get(*s);
		for (i = 0; i < 3; i++) {
			clock_pass(NSEC_PER_SEC);
			hosts_strip();
			comes_from(s, OTHER_POD, 1);
		}
		f = flow_get(*s);
		cr_assert(!memcmp(&f, &had, sizeof(f)), "%sits flow has changed", world_fixture());
		comes_from(s, POD, 0);
		/* The address moves to the other pod. */
		route_to(OTHER_POD);
		comes_from(s, OTHER_POD, 0);
		comes_from(s, POD, 1);
		comes_from(s, OTHER_POD, 0);
	}
}

/* A SYN, FIN or RST of another pod ends no connection and begins none. */
Test(egress, spoofed__handshake_changes_no_flow)
{
	const __u8 flags[] = { SYN, SYN | ACK, FIN | ACK, RST, ACK };
	unsigned int i;

	pods_make();
	route_to(POD);
	FOR_V4_AND_V6 (v6) {
		const struct ip_spec s = { .v6 = v6, .payload = 100 };
		struct flow had, f;

		comes_from(&s, POD, 0);
		had = flow_get(s);
		for (i = 0; i < sizeof(flags); i++) {
			struct frame in = tcp(.v6 = v6, .flags = flags[i]);

			expect_verdict(run(EGRESS, &in, .ingress_ifindex = OTHER_POD), VERDICT_DROP);
			expect_counted(STAT_TX_SPOOFED);
			f = flow_get(s);
			cr_assert(!memcmp(&f, &had, sizeof(f)), "%sits flow has changed", world_fixture());
		}
	}
}

/* Unless two pods have the flow, and the node says which, nothing is certain. */
Test(egress, spoofed__unclear)
{
	const struct ip_spec *s = NULL;

	pods_make();
	while ((s = kind_next(s))) {
		/* No route to the source. */
		comes_from(s, POD, 0);
		comes_from(s, OTHER_POD, 0);
		/* The route leads to no pod: a bridge, or an address of a service. */
		route_to(NO_POD);
		comes_from(s, POD, 0);
		comes_from(s, OTHER_POD, 0);
		/* The packet comes from no pod: a socket here, or another interface. */
		route_to(POD);
		comes_from(s, NO_POD, 0);
		comes_from(s, 0, 0);
		/* By a gateway: the address is somewhere behind the pod, or behind another router. */
		sh("ip route replace 10.1.0.1/32 via 10.9.9.9 dev v%u onlink", POD);
		sh("ip -6 route replace fd00:1::1/128 via fe80::9 dev v%u", POD);
		comes_from(s, OTHER_POD, 0);
		comes_from(s, POD, 0);
		/* The route leads out by the packet's port. */
		route_to(POD);
		sh("ip route replace 10.1.0.1/32 dev lo");
		sh("ip -6 route replace fd00:1::1/128 dev lo");
		comes_from(s, OTHER_POD, 0);
		route_to(POD);
		/* It comes from the pod itself, by another link. */
		comes_from(s, SECOND_LEG, 0);
		sh("ip route del 10.1.0.1/32 && ip -6 route del fd00:1::1/128");
	}
}

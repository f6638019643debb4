// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tunnels: the traffic inside knows nothing of Sluice, and their packets are flows of the outer headers, where telemetry
 * goes beside the data.
 */
#include <string.h>

#include "companion_case.h"
#include "gso_case.h"
#include "sluice/cc/companion.h"

TestSuite(tunnel, .init = egress_make, .fini = world_drop, .timeout = 60);
TestSuite(tunnel_xdp, .init = egress_make, .fini = world_drop, .timeout = 60);

#define IPIP 4
#define IPV6 41
#define GRE 47
#define FOR_PROTOCOLS(proto) for (__u8 proto = IPIP; proto; proto = proto == IPIP ? IPV6 : proto == IPV6 ? GRE : 0)

static const struct ip_spec vxlan = { .udp = 1, .sport = 40000, .dport = 4789 };

Test(tunnel, packet__without_ports_is_a_flow)
{
	struct asker a = asker_make();

	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		FOR_PROTOCOLS(proto)
		{
			struct ip_spec s = { .v6 = v6, .tunnel = proto, .payload = 1000, .tos = 0xb8 };
			struct frame in = frame_of(s), got, want;
			struct result r;
			int i;

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, proto);
			for (i = 0; i <= COMPANION_AFTER; i++) {
				r = run(EGRESS, &in, .ifindex = a.ifindex);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &in);
			}
			expect_counted(STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_TX_BESIDE, STAT_COMPANION_SENT);
			cr_assert(packet_catch(a.fd, &got, 1000), "%sno companion", world_fixture());
			want = companion_of(&in, 2, 3 * in.len);
			ip_sum_take(&got, &want);
			expect_frame(&got, &want);
			expect_eq(flow_get(s).tx.bytes, 3 * in.len);
			expect_untouched(EGRESS, &got, STAT_TX_OWN);
		}
	}
}

/* Where telemetry is in the data they are left alone, as they are to strangers; so are those that had a flow. */
Test(tunnel, packet__without_ports_and_without_companions)
{
	struct peer peer = peer_usual();

	FOR_V4_AND_V6 (v6) {
		FOR_PROTOCOLS(proto)
		{
			struct frame in = frame_of((struct ip_spec){ .v6 = v6, .tunnel = proto, .payload = 100 });

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, proto);
			expect_untouched(EGRESS, &in, STAT_TX_OTHER);
		}
	}
	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		struct frame in = frame_of((struct ip_spec){ .v6 = v6, .tunnel = GRE, .payload = 100 }), stranger;

		stranger = frame_of((struct ip_spec){ .v6 = v6, .tunnel = GRE, .payload = 100, .to = HOST_STRANGER });
		expect_untouched(EGRESS, &stranger, STAT_TX_OTHER);
		expect_untouched(EGRESS, &in, STAT_TX_BESIDE);
	}
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
	FOR_V4_AND_V6 (v6) {
		struct frame in = frame_of((struct ip_spec){ .v6 = v6, .tunnel = GRE, .payload = 100 });

		expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	}
	expect_eq(flows_count(), 2);
}

Test(tunnel, packet__that_is_no_whole_one)
{
	struct frame good = frame_of((struct ip_spec){ .tunnel = IPIP, .payload = 100, .may_fragment = 1 }), in;

	telemetry_beside();
	in = frame_with_ipv4_option(good);
	expect_untouched(EGRESS, &in, STAT_TX_IP_OPTIONS);
	in = frame_with_fragment(good, 1, 0);
	expect_untouched(EGRESS, &in, STAT_TX_FRAGMENT);
	in = good;
	in.b[0] |= 1;
	expect_untouched(EGRESS, &in, STAT_TX_OTHER);
	expect_eq(flows_count(), 0);
}

/* Like UDP, it has no window, and packets that would wait too long are dropped. */
Test(tunnel, packet__that_is_too_early)
{
	struct ip_spec s = { .tunnel = GRE, .payload = 1000 };
	struct frame in = frame_of(s);

	enforce_with_fq();
	telemetry_beside();
	run(EGRESS, &in);
	expect_counted(STAT_TX_BESIDE);
	clock_at(s, clock_ns() + 5 * MS, 1000000000);
	run(EGRESS, &in);
	expect_counted(STAT_TX_BESIDE, STAT_PACED);
	clock_at(s, clock_ns() + 11 * MS, 1000000000);
	expect_verdict(run(EGRESS, &in), VERDICT_DROP);
	expect_counted(STAT_TX_HORIZON);
}

/* A flow with ports that is known for a tunnel's counts the inner headers of each segment, and wraps no echo. */
Test(tunnel, packet__of_segments)
{
	struct frame in = frame_of((struct ip_spec){ .udp = 1, .sport = 40000, .dport = 4789, .payload = 2900 });
	struct flow f;

	telemetry_beside();
	run(EGRESS, &in);
	expect_counted(STAT_TX_BESIDE);
	f = flow_get(vxlan);
	f.tx.flags |= FLOW_F_TUNNEL;
	f.tx.bytes = 0;
	f.companion = (struct companion_state){ .left_ns = clock_ns(), .count = COMPANION_FIRST + 1, .sent = 0 };
	flow_set(vxlan, &f);
	echo_waits(vxlan, 1000);
	expect_untouched(EGRESS, &in, STAT_TX_BESIDE, .gso_size = 1400, .gso_segs = 2, .wire_len = in.len + 100);
	expect_eq(flow_get(vxlan).tx.bytes, in.len + 100);
}

/* --- hop and sink --- */

Test(tunnel, hop__stamps_a_companion)
{
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH;
	port_set(WORLD_IFINDEX, &p);
	FOR_V4_AND_V6 (v6) {
		FOR_PROTOCOLS(proto)
		{
			struct frame data = frame_of((struct ip_spec){ .v6 = v6, .tunnel = proto, .payload = 100 }),
				     in = companion_of(&data, 2, 77), want = in;
			struct result r = run(HOP_MAP, &in);
			__u8 *telem = want.b + companion_at(&want) + COMPANION_TELEM;

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, proto);
			expect_counted(STAT_HOP_STAMPED);
			put16(telem, 1 << 12 | (port_usual().switch_id & 0xfff));
			memcpy(telem + 4, r.out.b + companion_at(&want) + COMPANION_TELEM + 4, 8);
			expect_frame(&r.out, &want);
		}
	}
}

SinkTest(tunnel, companion__is_turned_round_and_heard)
{
	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		FOR_PROTOCOLS(proto)
		{
			struct ip_spec s = { .v6 = v6, .tunnel = proto, .payload = 1000, .reply = 1 };
			struct frame data = frame_of(s), in = companion_of(&data, 2, 0x12345678);
			unsigned int l4 = companion_at(&in);
			struct host h = host_get(v6, HOST_B);
			struct result r;

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, proto);
			put16(in.b + l4 + COMPANION_TELEM, 1 << 12 | 0x321);
			put64(in.b + l4 + COMPANION_TELEM + 4, 12ULL << 60 | 1000ULL << 36);
			r = run(sink, &in);
			expect_verdict(r, VERDICT_REDIRECT);
			expect_counted(STAT_RX_PROBE, STAT_RX_COMPANION);
			expect_eq(get16(r.out.b + l4), COMPANION_NO_PORT);
			expect_eq(get16(r.out.b + l4 + 2), COMPANION_NO_PORT);
			expect_eq(r.out.b[l4 + COMPANION_MESSAGE], 0x43);
			s.reply = 0;
			expect_eq(flow_get(s).rx.last_ns > 0, 1);
			h.asked_ns = clock_ns();
			host_set(v6, HOST_B, &h);
			in.b[l4 + COMPANION_MESSAGE] = 0x43;
			expect_verdict(run(sink, &in), VERDICT_DROP);
			expect_counted(STAT_RX_PROBE_REPLY, STAT_RX_COMPANION, STAT_FB_FIRST);
		}
	}
}

/* A packet that a stack might not take for a broken one is no companion. */
SinkTest(tunnel, companion__with_ports)
{
	telemetry_beside();
	FOR_V4_AND_V6 (v6) {
		FOR_PROTOCOLS(proto)
		{
			struct frame data = frame_of(
					     (struct ip_spec){ .v6 = v6, .tunnel = proto, .reply = 1, .payload = 100 }),
				     in = companion_of(&data, 2, 1);

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, proto);
			put16(in.b + companion_at(&in), 0x4500);
			expect_untouched(sink, &in, STAT_RX_OTHER);
			put16(in.b + companion_at(&in), COMPANION_NO_PORT);
			put16(in.b + companion_at(&in) + 2, 0x0800);
			expect_untouched(sink, &in, STAT_RX_OTHER);
		}
		expect_eq(flows_count(), 0);
	}
}

SinkTest(tunnel, companion__of_another_protocol)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = frame_of((struct ip_spec){ .v6 = v6, .tunnel = 50, .reply = 1, .payload = 100 }),
			     in = companion_of(&data, 2, 1);

		expect_untouched(sink, &in, STAT_RX_OTHER);
	}
}

/* --- VXLAN as the kernel makes it --- */

/* The next frame from the near end, except errors that its stack reports. 0: there is none. */
static int tunnel_catch(int far, struct frame *f, int wait_ms)
{
	while (packet_catch(far, f, wait_ms))
		if (f->b[23] != 1)
			return 1;
	return 0;
}

/* A VXLAN device over the link, without offloads, so that what arrives is what a wire would carry. Returns the far end. */
static int vxlan_link(void)
{
	struct frame f;
	int far;

	link_make("address 02:00:00:00:00:01");
	far = packet_socket(LINK_FAR);
	if (system("ip link add vx0 type vxlan id 7 local 10.1.0.1 remote 10.1.0.2 dstport 4789 "
		   "srcport 40000 40001 dev " LINK_NEAR " 2>&-"))
		cr_skip_test("this kernel has no VXLAN");
	sh("ip address add 10.1.0.1/24 dev " LINK_NEAR);
	sh("ip neighbour add 10.1.0.2 lladdr 02:00:00:00:00:02 dev " LINK_NEAR);
	sh("ip link set vx0 mtu 1400 up && ip address add 10.88.0.1/24 dev vx0");
	sh("ip neighbour add 10.88.0.2 lladdr 02:00:00:00:00:88 dev vx0");
	tso_off(far, LINK_NEAR);
	while (packet_catch(far, &f, 20)) /* what the devices say when they come up */
		;
	telemetry_beside();
	link_attach(EGRESS, LINK_NEAR, 0);
	link_attach(INGRESS, LINK_NEAR, 1);
	return far;
}

/* It is the companion of such a packet. */
static void expect_companion(const struct frame *got, const struct frame *data)
{
	struct frame want = companion_of(data, 2, get32(got->b + companion_at(got) + COMPANION_MESSAGE + 4));

	put16(want.b + 20, get16(got->b + 20)); /* of whatever it is made */
	ip_sum_take(got, &want);
	expect_frame(got, &want);
}

/* Inside it a datagram of 100 bytes is sent, whose companion leaves just before it, or none. */
static void vxlan_send(int far, int has_companion)
{
	struct frame got, data;

	sh("bash -c 'printf %%0100d 0 >/dev/udp/10.88.0.2/9'");
	if (has_companion)
		cr_assert(tunnel_catch(far, &got, 1000), "%snothing left", world_fixture());
	cr_assert(tunnel_catch(far, &data, 1000), "%sno data", world_fixture());
	expect_eq(data.len, 14 + 20 + 16 + 14 + 28 + 100);
	expect_eq(get16(data.b + at_udp(&data) + 2), 4789);
	if (has_companion)
		expect_companion(&got, &data);
}

Test(tunnel, vxlan__asks_by_a_companion)
{
	struct host unknown = {};
	int far = vxlan_link();

	host_set(0, HOST_B, &unknown);
	world_counted((const int[]){ -1 });
	vxlan_send(far, 1);
	expect_counted_attached(STAT_TX_PEER_UNKNOWN, STAT_PROBE_FAILED, STAT_COMPANION_SENT);
	expect_between(host_get(0, HOST_B).asked_ns, 1, clock_ns());
	vxlan_send(far, 0);
	expect_counted_attached(STAT_TX_PEER_UNKNOWN);
}

/* A clone is emptied: no checksum of an inner packet is written into the companion. */
Test(tunnel, vxlan__of_single_packets)
{
	int far = vxlan_link(), i;

	for (i = 0; i < COMPANION_AFTER; i++)
		vxlan_send(far, 0);
	world_counted((const int[]){ -1 });
	vxlan_send(far, 1);
	expect_counted_attached(STAT_TX_BESIDE, STAT_COMPANION_SENT);
}

/* A GSO packet's clone cannot be cut: the next incoming packet becomes the companion, once. */
Test(tunnel, vxlan__of_gso_packets)
{
	struct frame data, got, small = udp(.reply = 1, .sport = 4789, .dport = 4789, .payload = 60), large;
	struct ip_spec inner = { .from = HOST_A, .sport = 1000 };
	int far = vxlan_link(), vx = gso_socket("vx0"), i;
	struct host h = host_get(0, HOST_B);
	struct flow f;

	vxlan_send(far, 0);
	f = flow_get(vxlan);
	f.tx.flags |= FLOW_F_TUNNEL;
	f.companion = (struct companion_state){ .left_ns = 1, .count = COMPANION_FIRST + 1 };
	flow_set(vxlan, &f);
	h.unanswered_ns = 0;
	host_set(0, HOST_B, &h);
	world_counted((const int[]){ -1 });
	send_gso(vx, inner, 3000, 1000);
	for (i = 0; i < 3; i++)
		cr_assert(tunnel_catch(far, &data, 1000), "%ssegment %d", world_fixture(), i);
	expect_counted_attached(STAT_TX_BESIDE);
	expect_eq(flow_get(vxlan).tx.bytes - f.tx.bytes, 3 * data.len);
	expect_eq(host_get(0, HOST_B).unanswered_ns, 0);
	large = udp(.reply = 1, .sport = 4789, .dport = 4789, .payload = 600);
	packet_send(far, &large);
	cr_assert(!tunnel_catch(far, &got, 50), "%sof a large packet", world_fixture());
	packet_send(far, &small);
	cr_assert(tunnel_catch(far, &got, 1000), "%sno companion", world_fixture());
	expect_companion(&got, &data);
	expect_eq(host_get(0, HOST_B).unanswered_ns > 0, 1);
	packet_send(far, &small);
	cr_assert(!tunnel_catch(far, &got, 50), "%sa second one", world_fixture());
	expect_eq(flow_get(vxlan).companion.count, COMPANION_FIRST + 2);
}

/* Inside it a datagram of 6 bytes is sent, and nothing else. */
static void vxlan_send_short(int far)
{
	struct frame got;

	sh("bash -c 'echo hello >/dev/udp/10.88.0.2/9'");
	cr_assert(tunnel_catch(far, &got, 1000), "%snothing left", world_fixture());
	expect_eq(got.len, 14 + 20 + 16 + 14 + 28 + 6);
	cr_assert(!tunnel_catch(far, &got, 20), "%sa companion", world_fixture());
}

/* A short one is not cloned either: its inner checksum would be written into the companion. */
Test(tunnel, vxlan__of_short_packets)
{
	struct frame got, small = udp(.reply = 1, .sport = 4789, .dport = 4789, .payload = 60);
	int far = vxlan_link(), i;
	struct flow f;

	for (i = 0; i < COMPANION_AFTER; i++)
		vxlan_send(far, 0);
	world_counted((const int[]){ -1 });
	vxlan_send_short(far);
	expect_counted_attached(STAT_TX_BESIDE, STAT_PROBE_FAILED);
	f = flow_get(vxlan);
	expect_eq(f.tx.flags & FLOW_F_TUNNEL, FLOW_F_TUNNEL);
	f.companion.left_ns = 1;
	flow_set(vxlan, &f);
	vxlan_send_short(far);
	expect_counted_attached(STAT_TX_BESIDE);
	packet_send(far, &small);
	cr_assert(tunnel_catch(far, &got, 1000), "%sno companion", world_fixture());
	expect_eq(get32(got.b + companion_at(&got) + 8), 0x534c4332);
}

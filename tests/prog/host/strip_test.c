// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/ingress.bpf.h: the stack gets what was sent. */
#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(strip, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(strip_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

SinkTest(strip, strip__gives_the_stack_what_was_sent)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 1000);
		struct frame in = wrap(&inner, .room = 5, .nhop = 2, .seq = 77);
		struct result r = run(sink, &in);

		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA);
	}
}

SinkTest(strip, strip__every_shape)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int room, hops, echo, payload;

		for (room = 0; room <= 5; room++) {
			for (echo = 0; echo <= 6; echo++) {
				struct frame inner, in;
				struct result r;

				hops = echo ? echo - 1 : 0;
				payload = room ? 300 + room : 0;
				fixture("IPv%d, room for %u, %s of %u hops", v6 ? 6 : 4, room,
					echo ? "echo" : "no echo", hops);
				inner = tcp(.v6 = v6, .reply = 1, .payload = payload);
				in = wrap(&inner, .room = room, .echo = echo > 0, .echo_hops = hops);
				r = run(sink, &in);
				expect_verdict(r, VERDICT_PASS);
				expect_frame(&r.out, &inner);
				if (room || flow_exists(*ingress_forward(v6)))
					world_counted((const int[]){ -1 }); /* see feedback__ */
				else
					expect_counted(STAT_RX_DATA, echo ? STAT_FB_NO_FLOW : -1);
			}
		}
	}
}

SinkTest(strip, strip__udp_of_every_shape)
{
	static const unsigned int payloads[] = { 0, 1, 2, 3, 4, 7, 11, 12, 13, 500 };

	FOR_V4_AND_V6 (v6) {
		unsigned int room, echo, i;

		for (i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
			for (room = 0; room <= 5; room += 5) {
				for (echo = 0; echo <= 6; echo++) {
					struct frame inner = udp(.v6 = v6, .reply = 1, .payload = payloads[i]);
					struct frame in = wrap(&inner, .room = room, .echo = echo > 0,
							       .echo_hops = echo ? echo - 1 : 0);
					struct result r = run(sink, &in);

					fixture("IPv%d, %u bytes, room for %u, echo %u", v6 ? 6 : 4, payloads[i], room,
						echo);
					expect_verdict(r, VERDICT_PASS);
					expect_frame(&r.out, &inner);
					world_counted((const int[]){ -1 });
				}
			}
		}
		expect_eq(flow_exists((struct ip_spec){ .v6 = v6, .udp = 1 }), 1);
		expect_eq(flow_exists(*ingress_forward(v6)), 0);
	}
}

/* An Ethernet frame of 60 bytes and less has padding, which the lengths do not count. */
SinkTest(strip, strip__with_ethernet_padding)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 1), in = wrap(&inner, .room = 1);
		struct result r;

		in.len += 30;
		r = run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(r.out.len, inner.len + 30);
		r.out.len = inner.len;
		expect_frame(&r.out, &inner);
	}
}

SinkTest(strip, strip__moves_the_mark_inside)
{
	FOR_V4_AND_V6 (v6) {
		unsigned int ecn;

		for (ecn = 0; ecn < 4; ecn++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .tos = 0xb8 | ecn),
				     in = wrap(&inner, .room = 5), marked = frame_with_ecn(in, CE), want;
			struct result r;

			fixture("IPv%d, ECN %u", v6 ? 6 : 4, ecn);
			r = run(sink, &in);
			expect_frame(&r.out, &inner);
			if (ecn == CE) /* both marked: nothing to move, but to say so */
				expect_counted(STAT_RX_DATA, STAT_RX_CE);
			else
				expect_counted(STAT_RX_DATA);
			r = run(sink, &marked);
			want = ecn ? frame_with_ecn(inner, CE) : inner;
			expect_frame(&r.out, &want);
			if (ecn)
				expect_counted(STAT_RX_DATA, STAT_RX_CE);
			else
				expect_counted(STAT_RX_DATA);
		}
	}
}

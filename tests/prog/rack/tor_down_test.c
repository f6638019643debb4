// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/tor.bpf.h: credit that comes to the switch, and packets on their way down. */
#include <string.h>

#include "tor_case.h"

TestSuite(tor_down, .init = make_switch, .fini = world_drop, .timeout = 60);

Test(tor_down, credit__for_this_switch_ends_here)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = passing(.v6 = v6), in;
		struct result r;

		run(HOP_MAP, &data);
		expect_that(world_ended());
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len);
		r = run(TOR_INGRESS, &in);
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
		expect_eq(voq_get(tor_to_b(v6)).voq.credit, FIRST + data.len);
	}
}

/* Traffic that is not its own is not counted either. */
Test(tor_down, credit__for_others_goes_on)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = passing(.v6 = v6), in[] = {
			message(.v6 = v6, .type = 5, .seq = OTHER, .value = 700),
			message(.v6 = v6, .type = 5, .value = 700),
			message(.v6 = v6, .type = 6, .seq = TOR, .value = 700),
			message(.v6 = v6, .type = 4, .seq = TOR, .value = 700),
			tcp(.v6 = v6, .reply = 1, .payload = 100),
			passing(.v6 = v6),
		};
		unsigned int i;

		run(HOP_MAP, &data);
		expect_that(world_ended());
		for (i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
			struct result r = run(TOR_INGRESS, &in[i]);

			fixture("IPv%d, frame %u", v6 ? 6 : 4, i);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &in[i]);
		}
		world_ended(); /* traffic that is not of this switch is not counted */
		expect_eq(voq_get(tor_to_b(v6)).voq.credit, FIRST);
	}
}

Test(tor_down, credit__that_is_forged_goes_on)
{
	FOR_V4_AND_V6 (v6) {
		struct frame data = passing(.v6 = v6), in;

		run(HOP_MAP, &data);
		expect_that(world_ended());
		keys_set(&key, 1);
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len);
		expect_untouched(TOR_INGRESS, &in, STAT_RX_NO_AUTH);
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len, .key = &other_key,
			     .auth_seq = 1ULL << 40);
		expect_untouched(TOR_INGRESS, &in, STAT_RX_BAD_AUTH);
		expect_eq(voq_get(tor_to_b(v6)).voq.credit, FIRST);
		in = message(.v6 = v6, .type = 5, .seq = TOR, .value = data.len, .key = &key, .auth_seq = 1ULL << 40);
		expect_verdict(run(TOR_INGRESS, &in), VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_CREDIT_TAKEN);
		expect_verdict(run(TOR_INGRESS, &in), VERDICT_DROP);
		expect_counted(STAT_RX_CREDIT, STAT_RX_REPLAYED);
		/* It was signed by the clock of a switch: that of the host, in whose name it comes, is another. */
		expect_eq(host_exists(v6, HOST_B), 0);
		keys_set(&key, 0);
		expect_untouched(TOR_INGRESS, &in, STAT_RX_BAD_AUTH); /* it cannot be checked */
	}
}

Test(tor_down, down__tells_of_what_arrives)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6, .tor = OTHER, .total = 5000, .flows = 3);
		struct sluice_addr a = addr_of(v6, HOST_A), b = addr_of(v6, HOST_B);
		struct arrival_news news[2];
		struct result r;

		port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
		credit_alive(0, 0);
		r = run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED, STAT_ARRIVAL_NEWS);
		expect_eq(memcmp(r.out.b + at_voq(&in), in.b + at_voq(&in), 12), 0);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].ifindex, WORLD_IFINDEX);
		expect_eq(news[0].claim, 5000ULL << 32 | 3);
		expect_eq(news[0].bytes, in.len);
		expect_eq(news[0].packets, 1);
		expect_eq(news[0].key.tor, __builtin_bswap32(OTHER));
		expect_eq(news[0].key.prefixlen, 128);
		expect_eq(memcmp(&news[0].key.addr, &b, 16), 0);
		expect_eq(memcmp(&news[0].from, &a, 16), 0);
		expect_eq(memcmp(&news[0].to, &b, 16), 0);
		/* A packet of its own rack, or without a ToR. */
		in = passing(.v6 = v6);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED);
		in = passing(.v6 = v6, .no_block = 1);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(news_taken(news, 2), 0);
	}
}

/* Credit keeps the queue short: HPCC is told nothing of it. */
Test(tor_down, down__does_not_stamp_what_has_credit)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = passing(.v6 = v6, .tor = OTHER, .total = 5000, .flows = 3), bare = passing(.v6 = v6);
		struct result r;

		port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
		credit_alive(clock_ns(), 100000 * MS);
		r = run(HOP_MAP, &in);
		expect_frame(&r.out, &in);
		expect_counted(STAT_HOP_CREDIT, STAT_ARRIVAL_NEWS);
		run(HOP_MAP, &bare);
		expect_counted(STAT_HOP_STAMPED);
		credit_alive(clock_ns() - 10 * MS, MS);
		run(HOP_MAP, &in);
		expect_counted(STAT_HOP_STAMPED, STAT_ARRIVAL_NEWS);
	}
}

Test(tor_down, down__knows_its_peers)
{
	struct frame in = passing(.tor = OTHER, .total = 5000, .flows = 3);

	port_become(PORT_F_SWITCH | PORT_F_VOQ_DOWN);
	in.b[14 + 12] ^= 0x40;
	frame_fix(&in);
	put16(in.b + at_udp(&in) + 6, 0);
	run(HOP_MAP, &in);
	expect_counted(STAT_HOP_STAMPED);
}

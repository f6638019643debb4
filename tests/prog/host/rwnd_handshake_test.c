// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/rwnd.bpf.h: the window scale of both sides is learnt from the handshake. */
#include <bpf/bpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "rwnd_case.h"

TestSuite(rwnd_handshake, .init = rwnd_make, .fini = world_drop, .timeout = 60);

Test(rwnd_handshake, handshake__of_a_client)
{
	FOR_V4_AND_V6 (v6) {
		int scale;

		for (scale = 0; scale <= 14; scale++) {
			syn_leaves(v6, 3, 0);
			expect_eq(rwnd_flow_of(v6).wnd.wscale_known, 0);
			syn_arrives(v6, scale, 1);
			expect_scale(v6, scale);
		}
	}
}

Test(rwnd_handshake, handshake__of_a_server)
{
	FOR_V4_AND_V6 (v6) {
		int scale;

		for (scale = 0; scale <= 14; scale++) {
			syn_arrives(v6, scale, 0);
			if (scale) /* the scale of the connection before */
				expect_scale(v6, scale - 1);
			else /* no flow before our side has answered */
				expect_eq(flow_exists((struct ip_spec){ .v6 = v6 }), 0);
			syn_leaves(v6, 3, 1);
			expect_scale(v6, scale);
		}
	}
}

/* The SYN came before the attachment, or went from the map meanwhile: its socket will tell. */
Test(rwnd_handshake, handshake__of_a_server_whose_syn_was_not_seen)
{
	syn_arrives(0, 9, 0);
	syn_leaves(0, 3, 1);
	expect_scale(0, 9);
	FOR_V4_AND_V6 (v6) {
		struct flow_key key = flow_key_of((struct ip_spec){ .v6 = v6 });

		bpf_map_delete_elem(world_map("syn_offers"), &key);
		syn_leaves(v6, 3, 1);
		expect_eq(rwnd_flow_of(v6).wnd.wscale_known, 0);
	}
}

Test(rwnd_handshake, handshake__repeated)
{
	FOR_V4_AND_V6 (v6) {
		syn_leaves(v6, 3, 0);
		syn_leaves(v6, 3, 0);
		syn_arrives(v6, 9, 1);
		syn_arrives(v6, 9, 1);
		expect_scale(v6, 9);
		syn_arrives(v6, 8, 0);
		syn_arrives(v6, 8, 0);
		syn_leaves(v6, 3, 1);
		syn_leaves(v6, 3, 1);
		expect_scale(v6, 8);
	}
}

/* A sender of any packet of the flow cannot change the scale of an existing connection. */
Test(rwnd_handshake, handshake__that_nobody_wanted)
{
	FOR_V4_AND_V6 (v6) {
		int server;

		for (server = 0; server < 2; server++) {
			if (server) {
				syn_arrives(v6, 9, 0);
				syn_leaves(v6, 3, 1);
			} else {
				syn_leaves(v6, 3, 0);
				syn_arrives(v6, 9, 1);
			}
			fixture("IPv%d, SYN of somebody", v6 ? 6 : 4);
			syn_arrives(v6, 2, 0);
			expect_scale(v6, 9);
			fixture("IPv%d, SYN-ACK of somebody", v6 ? 6 : 4);
			syn_arrives(v6, 2, 1);
			expect_scale(v6, 9);
		}
	}
}

/* Somebody who does not see the SYN cannot set the scale before the peer does, whose SYN-ACK acknowledges it. */
Test(rwnd_handshake, handshake__with_a_syn_ack_of_somebody_else)
{
	static const __u32 acks[] = { 0, USUAL_SEQ, USUAL_SEQ + 2, USUAL_SEQ + (1u << 31), USUAL_ACK };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		syn_leaves(v6, 3, 0);
		for (i = 0; i < sizeof(acks) / sizeof(acks[0]); i++) {
			struct frame f =
				syn_with_scale((struct ip_spec){ .v6 = v6, .reply = 1, .flags = SYN | ACK }, 14);

			f = with_ack(f, acks[i]);
			expect_untouched(INGRESS, &f, STAT_RX_OTHER);
			expect_eq(rwnd_flow_of(v6).wnd.wscale_known, 0);
		}
		syn_arrives(v6, 7, 1);
		expect_scale(v6, 7);
	}
}

/* RFC 7323, 2.3: more than 14 is 14. */
Test(rwnd_handshake, handshake__scale_above_14)
{
	syn_leaves(0, 3, 0);
	syn_arrives(0, 15, 1);
	expect_scale(0, 14);
	syn_arrives(0, 255, 0);
	syn_leaves(0, 3, 1);
	expect_scale(0, 14);
}

/* RFC 7323, 2.2: in force only where both offer it. */
Test(rwnd_handshake, handshake__one_side_without)
{
	FOR_V4_AND_V6 (v6) {
		fixture("client, none offers it");
		syn_leaves(v6, NO_SCALE, 0);
		syn_arrives(v6, NO_SCALE, 1);
		expect_scale(v6, 0);
		fixture("client, the server does not");
		syn_leaves(v6, 3, 0);
		syn_arrives(v6, NO_SCALE, 1);
		expect_scale(v6, 0);
		fixture("client that does not, a server that does all the same, twice");
		syn_leaves(v6, NO_SCALE, 0);
		syn_arrives(v6, 7, 1);
		syn_arrives(v6, 7, 1);
		expect_scale(v6, 0);
		fixture("then it is a server");
		syn_arrives(v6, 7, 0);
		syn_leaves(v6, 3, 1);
		expect_scale(v6, 7);
		fixture("the next client does");
		syn_leaves(v6, NO_SCALE, 0);
		syn_leaves(v6, 3, 0);
		syn_arrives(v6, 7, 1);
		expect_scale(v6, 7);
		fixture("server, the client does not");
		syn_arrives(v6, NO_SCALE, 0);
		syn_leaves(v6, 3, 1);
		expect_scale(v6, 0);
		fixture("server that does not");
		syn_arrives(v6, 7, 0);
		syn_leaves(v6, NO_SCALE, 1);
		expect_scale(v6, 0);
	}
}

static const struct {
	const char *what;
	unsigned int len;
	__u8 bytes[40];
	int scale;
} option_cases[] = {
	{ "alone, at the very end", 4, { 1, 3, 3, 7 }, 7 },
	{ "first", 8, { 3, 3, 7, 1, 2, 4, 5, 180 }, 7 },
	{ "alone, then the end", 4, { 3, 3, 7, 0 }, 7 },
	{ "as Linux has it", 20, { 2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 3, 3, 0, 0, 0, 0, 1, 3, 3, 7 }, 7 },
	{ "between NOPs", 12, { 1, 1, 1, 1, 3, 3, 7, 1, 1, 1, 1, 1 }, 7 },
	{ "after 37 NOPs",
	  40,
	  { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 7 },
	  7 },
	{ "after an unknown option", 12, { 254, 6, 3, 3, 9, 9, 3, 3, 7, 0, 0, 0 }, 7 },
	{ "behind the end", 8, { 0, 2, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "inside another option", 8, { 254, 8, 1, 3, 3, 7, 1, 1 }, NO_SCALE },
	{ "after an option of length 0", 8, { 254, 0, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "after an option of length 1", 8, { 254, 1, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "after an option that ends behind all", 8, { 254, 200, 3, 3, 7, 1, 1, 1 }, NO_SCALE },
	{ "of length 0", 4, { 3, 0, 7, 0 }, NO_SCALE },
	{ "of length 2", 4, { 3, 2, 7, 0 }, NO_SCALE },
	{ "of length 4", 4, { 3, 4, 7, 7 }, NO_SCALE },
	{ "cut off behind its length", 4, { 1, 1, 3, 3 }, NO_SCALE },
	{ "cut off behind its kind", 4, { 1, 1, 1, 3 }, NO_SCALE },
	{ "no options", 0, {}, NO_SCALE },
};

/* The payload looks like the option: it is none. */
Test(rwnd_handshake, handshake__options_in_any_order)
{
	static const __u8 decoy[] = { 3, 3, 9, 3, 3, 9 }, decoy_tail[] = { 3, 9, 9, 9 };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(option_cases) / sizeof(option_cases[0]); i++) {
			unsigned int len = option_cases[i].len;
			int scale = option_cases[i].scale, tail;

			for (tail = 0; tail < 2; tail++) {
				struct frame f =
					tcp(.v6 = v6, .reply = 1, .flags = SYN | ACK, .options = len, .payload = 6);

				fixture("IPv%d, %s", v6 ? 6 : 4, option_cases[i].what);
				memcpy(f.b + f.len - 6, tail ? decoy_tail : decoy, tail ? 4 : 6);
				f = with_ack(with_options(f, option_cases[i].bytes, len), USUAL_SEQ + 1);
				syn_leaves(v6, 3, 0);
				expect_untouched(INGRESS, &f, STAT_RX_OTHER);
				expect_scale(v6, scale == NO_SCALE ? 0 : scale);
			}
		}
	}
}

/* Our side's answer is read in the same way. */
Test(rwnd_handshake, handshake__options_of_our_side)
{
	unsigned int i;

	for (i = 0; i < sizeof(option_cases) / sizeof(option_cases[0]); i++) {
		struct frame f = tcp(.flags = SYN | ACK, .options = option_cases[i].len);

		fixture("%s", option_cases[i].what);
		f = with_options(f, option_cases[i].bytes, option_cases[i].len);
		hosts_strip();
		syn_arrives(0, 5, 0);
		expect_untouched(EGRESS, &f, STAT_TX_HANDSHAKE);
		expect_scale(0, option_cases[i].scale == NO_SCALE ? 0 : 5);
	}
}

Test(rwnd_handshake, handshake__with_a_stranger)
{
	struct frame f = syn_with_scale((struct ip_spec){ .reply = 1, .from = HOST_STRANGER, .flags = SYN }, 7);

	struct flow_key key = flow_key_of((struct ip_spec){ .to = HOST_STRANGER });
	__u32 scale;

	expect_untouched(INGRESS, &f, STAT_RX_OTHER);
	expect_eq(flows_count(), 0);
	expect_eq(bpf_map_lookup_elem(world_map("syn_offers"), &key, &scale) != 0, 1);
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/ingress.bpf.h: packets that are not ours, or not valid. */
#include <stdlib.h>

#include "sluice/cc/hpcc.h"
#include "ingress_case.h"

TestSuite(ingress, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(ingress_xdp, .init = world_make, .fini = world_drop, .timeout = 60);

/* As expect_untouched(), and no host and no flow is remembered. */
#define expect_refused(frame, stat)                                            \
	do {                                                                   \
		expect_untouched(sink, frame, stat);                           \
		expect_eq(flows_count(), 0);                                   \
		expect_eq(host_exists(0, HOST_B) + host_exists(1, HOST_B), 0); \
	} while (0)

SinkTest(ingress, other__is_untouched)
{
	struct frame in, wrapped;

	FOR_V4_AND_V6 (v6) {
		in = tcp(.v6 = v6, .reply = 1, .payload = 100);
		expect_refused(&in, STAT_RX_OTHER);
		in = udp(.v6 = v6, .dport = 53, .payload = 100);
		expect_refused(&in, STAT_RX_OTHER);
		in = tcp(.v6 = v6, .reply = 1, .payload = 100, .dport = 5463);
		expect_refused(&in, STAT_RX_OTHER);
		wrapped = from_b(v6, 100, .room = 5);
		in = wrapped;
		put16(in.b + at_udp(&in) + 2, 5464);
		expect_refused(&in, STAT_RX_OTHER);
		in = frame_with_vlan(wrapped, 0x8100);
		expect_refused(&in, STAT_RX_OTHER);
	}
	in = frame_arp();
	expect_refused(&in, STAT_RX_OTHER);
	wrapped = from_b(0, 100, .room = 5);
	in = frame_with_ipv4_option(wrapped);
	expect_refused(&in, STAT_RX_OTHER);
	in = frame_with_fragment(wrapped, 1, 0);
	expect_refused(&in, STAT_RX_OTHER);
	in = frame_with_fragment(wrapped, 0, 64);
	expect_refused(&in, STAT_RX_OTHER);
	wrapped = from_b(1, 100, .room = 5);
	in = frame_with_extension(wrapped, 44);
	expect_refused(&in, STAT_RX_OTHER);
}

SinkTest(ingress, foreign__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .from = HOST_STRANGER, .to = HOST_A, .payload = 100),
			     in = wrap(&inner, .room = 5);

		expect_refused(&in, STAT_RX_FOREIGN);
		in = wrap(&inner, .msg = 2);
		expect_refused(&in, STAT_RX_FOREIGN);
		in = wrap(&inner, .msg = 3, .room = 5);
		expect_refused(&in, STAT_RX_FOREIGN);
		expect_eq(host_exists(v6, HOST_STRANGER), 0);
	}
}

SinkTest(ingress, malformed__shim_and_header)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole = from_b(v6, 300, .room = 5), in;
		unsigned int shim = at_shim(&whole), v;

		for (v = 0; v < 256; v++) {
			fixture("IPv%d, shim type and NPT %#x", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim] = v;
			if (v != 0x98)
				expect_refused(&in, STAT_RX_NOT_HPCC);
			fixture("IPv%d, version and message %#x", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 4] = v;
			if (v >> 4 != 4)
				expect_refused(&in, STAT_RX_BAD_VERSION);
			else if (v == 0x40 || v > 0x46)
				expect_refused(&in, STAT_RX_BAD_MSG);
			else if (v > 0x43) /* five reports, credits or rates would be longer */
				expect_refused(&in, STAT_RX_BAD_LENGTH);
			fixture("IPv%d, length %u words", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 1] = v;
			if (v != 13)
				expect_refused(&in, STAT_RX_BAD_LENGTH);
			fixture("IPv%d, room for %u hops", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 5] = v;
			if (v > 5)
				expect_refused(&in, STAT_RX_BAD_HOPS);
			else if (v < 5)
				expect_refused(&in, STAT_RX_BAD_LENGTH);
			fixture("IPv%d, echo of %u hops", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 7] = v;
			if (v > 5)
				expect_refused(&in, STAT_RX_BAD_HOPS);
			fixture("IPv%d, IP protocol %u", v6 ? 6 : 4, v);
			in = whole;
			in.b[shim + 3] = v;
			if (v != (v6 ? 41 : 4))
				expect_refused(&in, STAT_RX_MISMATCH);
		}
		fixture("IPv%d, UDP checksum", v6 ? 6 : 4);
		in = whole;
		put16(in.b + shim - 2, 0xffff);
		expect_refused(&in, STAT_RX_NOT_HPCC);
		fixture("IPv%d, an echo that the length does not count", v6 ? 6 : 4);
		in = whole;
		in.b[shim + 6] |= 1;
		expect_refused(&in, STAT_RX_BAD_LENGTH);
		fixture("IPv%d, a length that counts an echo which is not there", v6 ? 6 : 4);
		in = from_b(v6, 300, .room = 5, .echo = 1, .echo_hops = 2);
		in.b[shim + 6] &= ~1;
		expect_refused(&in, STAT_RX_BAD_LENGTH);
	}
}

/* After every byte: the headers of a packet without payload, so that its end is its headers' end. */
SinkTest(ingress, truncated__at_every_length)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole = from_b(v6, 0, .room = 5, .echo = 1, .echo_hops = 5), in;
		unsigned int n;

		for (n = at_udp(&whole); n < whole.len; n++) {
			fixture("IPv%d, %u of %u bytes", v6 ? 6 : 4, n, whole.len);
			in = frame_cut(whole, n);
			expect_refused(&in, n < at_shim(&whole) ? STAT_RX_OTHER : STAT_RX_TRUNCATED);
		}
	}
}

SinkTest(ingress, truncated__probe)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole = from_b(v6, 0, .msg = 2), in;
		unsigned int n;

		for (n = at_shim(&whole); n < at_telem(&whole); n++) {
			fixture("IPv%d, %u bytes", v6 ? 6 : 4, n);
			in = frame_cut(whole, n);
			expect_refused(&in, STAT_RX_TRUNCATED);
		}
	}
}

SinkTest(ingress, mismatch__inner_addresses)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100), whole, in;
		unsigned int ip, first = v6 ? 8 : 12, last = v6 ? 40 : 20, i;

		whole = wrap(&inner, .room = 5);
		ip = at_hop(&whole, 5);
		for (i = first; i < last; i++) {
			fixture("IPv%d, byte %u", v6 ? 6 : 4, i);
			in = whole;
			in.b[ip + i] ^= 1;
			expect_refused(&in, STAT_RX_MISMATCH);
		}
	}
}

SinkTest(ingress, mismatch__lengths)
{
	FOR_V4_AND_V6 (v6) {
		struct frame whole = from_b(v6, 100, .room = 5), in;
		unsigned int inner = at_hop(&whole, 5) + (v6 ? 4 : 2), outer = 14 + (v6 ? 4 : 2);

		in = whole;
		put16(in.b + inner, get16(in.b + inner) + 1);
		expect_refused(&in, STAT_RX_MISMATCH);
		put16(in.b + inner, get16(in.b + inner) - 2);
		expect_refused(&in, STAT_RX_MISMATCH);
		in = whole;
		put16(in.b + outer, get16(in.b + outer) - 4);
		expect_refused(&in, STAT_RX_MISMATCH);
		in = whole;
		put16(in.b + outer, get16(in.b + outer) + 4);
		expect_refused(&in, STAT_RX_TRUNCATED);
		/* both refer to missing bytes */
		put16(in.b + inner, get16(in.b + inner) + 4);
		expect_refused(&in, STAT_RX_TRUNCATED);
	}
}

SinkTest(ingress, mismatch__inner_is_neither_tcp_nor_udp)
{
	static const __u8 protos[] = { 1, 4, 41, 47, 50, 58, 132, 136 }, bytes[64] = { 8 };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(protos); i++) {
			struct frame inner = frame_ip(v6, protos[i], bytes, sizeof(bytes)),
				     in = wrap(&inner, .room = 5);

			fixture("IPv%d, protocol %u", v6 ? 6 : 4, protos[i]);
			expect_refused(&in, STAT_RX_MISMATCH);
		}
	}
}

static struct frame data_of_b(int v6, __u8 flags)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .flags = flags);

	return wrap(&inner, .room = 5);
}

/* Our egress sends these as they are. Stripped here, they would have passed a filter that looks at ports before us. */
SinkTest(ingress, mismatch__inner_opens_or_resets_a_connection)
{
	static const __u8 refused[] = { SYN, SYN | ACK, SYN | FIN, RST, RST | ACK }, fine[] = { ACK, FIN, FIN | ACK };
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(refused); i++) {
			struct frame in = data_of_b(v6, refused[i]);

			fixture("IPv%d, flags %#x", v6 ? 6 : 4, refused[i]);
			expect_refused(&in, STAT_RX_MISMATCH);
		}
	}
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(fine); i++) {
			struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 100, .flags = fine[i]),
				     in = data_of_b(v6, fine[i]);
			struct result r = run(sink, &in);

			fixture("IPv%d, flags %#x", v6 ? 6 : 4, fine[i]);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &inner);
			expect_counted(STAT_RX_DATA);
		}
	}
}

/* A TCP header that the inner packet does not hold is not looked for in what follows it. */
SinkTest(ingress, truncated__inner_tcp_header)
{
	static const __u8 bytes[20] = { 0x13, 0x89, 0x9c, 0x40, [12] = 0x50, [13] = ACK };
	unsigned int n;

	FOR_V4_AND_V6 (v6) {
		for (n = 0; n < sizeof(bytes); n++) {
			struct frame inner = frame_ip(v6, 6, bytes, n), in = wrap(&inner, .room = 5);

			fixture("IPv%d, %u bytes of TCP", v6 ? 6 : 4, n);
			expect_refused(&in, STAT_RX_TRUNCATED);
		}
	}
}

/* An inner packet that is not plain IP cannot be checked, so nothing is stripped. */
SinkTest(ingress, mismatch__inner_is_not_plain_ip)
{
	struct frame inner = tcp(.reply = 1, .payload = 100), v6 = tcp(.v6 = 1, .reply = 1, .payload = 100), in;
	struct frame edited = frame_with_ipv4_option(inner);

	in = wrap(&edited, .room = 5);
	expect_refused(&in, STAT_RX_TRUNCATED);
	edited = frame_with_fragment(inner, 1, 0);
	in = wrap(&edited, .room = 5);
	put16(in.b + 14 + 6, 0x4000);
	expect_refused(&in, STAT_RX_TRUNCATED);
	edited = frame_with_extension(v6, 0);
	in = wrap(&edited, .room = 5);
	expect_refused(&in, STAT_RX_TRUNCATED);
	in = wrap(&v6, .room = 5, .next = 4);
	expect_refused(&in, STAT_RX_MISMATCH);
	in = wrap(&inner, .room = 5, .next = 41);
	expect_refused(&in, STAT_RX_MISMATCH);
}

/* A message in a message: the source never does that, so somebody looped it. */
SinkTest(ingress, looped__is_untouched)
{
	FOR_V4_AND_V6 (v6) {
		struct frame once = from_b(v6, 100, .room = 5), in = wrap(&once, .room = 5);

		expect_refused(&in, STAT_RX_MISMATCH);
		in = wrap(&in, .room = 5);
		expect_refused(&in, STAT_RX_MISMATCH);
		once = udp(.v6 = v6, .reply = 1, .dport = PORT_WIRE, .payload = 100);
		in = wrap(&once, .room = 5);
		expect_refused(&in, STAT_RX_MISMATCH);
	}
}

/* A thousand frames with random bytes where we look: nothing but counters and what was sound. */
SinkTest(ingress, noise__ends_in_one_counter)
{
	unsigned int i, k;

	srandom(1);
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < 5000; i++) {
			struct frame in = from_b(v6, 100, .room = 5, .echo = 1, .echo_hops = 5);
			unsigned int from = at_udp(&in), span = in.len - from;

			for (k = random() % 4 + 1; k; k--)
				in.b[from + random() % span] = random();
			run(sink, &in);
			run(HOP_MAP, &in);
			run(EGRESS, &in);
		}
	}
	expect_that(world_ended());
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/intmd_hop.bpf.h: a hop that serves INT-MD adds what it was asked for. */
#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "intmd_case.h"

TestSuite(intmd_hop, .init = intmd_make, .fini = world_drop, .timeout = 120);
TestSuite(intmd_hop_xdp, .init = intmd_make, .fini = world_drop, .timeout = 120);

/* A message of A to B with INT-MD. */
#define message(v6_, payload_, ...)                                                         \
	({                                                                                  \
		struct frame inner_ = tcp(.v6 = v6_, .payload = payload_);                  \
		frame_with_int(wrap(&inner_, .seq = 99), (struct int_spec){ __VA_ARGS__ }); \
	})

/* Only a flag is set. */
static void expect_flag(const struct frame *in, enum sluice_stat stat, __u8 flag)
{
	struct result r = run(HOP_MAP, in);
	struct frame want = *in;

	want.b[at_shim(in) + 4] |= flag;
	expect_verdict(r, VERDICT_PASS);
	expect_frame(&r.out, &want);
	expect_counted(stat);
}

Test(intmd_hop, hop__without_a_remaining_hop_sets_e)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(v6, 500);

		port_of_switch(1);
		expect_flag(&in, STAT_HOP_FULL, 4);
		in = message(v6, 500, .flags = 0xa);
		expect_flag(&in, STAT_HOP_FULL, 4);
	}
}

Test(intmd_hop, hop__without_room_in_the_mtu_sets_m)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(v6, 500, .left = 3), f;
		struct port port;

		port_of_switch(0x321);
		port = port_get(WORLD_IFINDEX);
		port.mtu = in.len - 14 + 23;
		port_set(WORLD_IFINDEX, &port);
		expect_flag(&in, STAT_HOP_MTU, 2);
		port.mtu++;
		port_set(WORLD_IFINDEX, &port);
		f = run(HOP_MAP, &in).out;
		expect_eq(f.len, in.len + 24);
		expect_counted(STAT_HOP_STAMPED);
		/* 255 words are all that a shim can count. */
		in = message(v6, 1100, .left = 3, .length = 250);
		expect_flag(&in, STAT_HOP_BAD, 0);
	}
}

/* It fills unknown values with all ones, and also values that are requested of another domain. */
Test(intmd_hop, hop__all_ones_for_what_it_cannot_serve)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(v6, 500, .left = 3, .domain = 0x1234), f,
			     inner = tcp(.v6 = v6, .payload = 500);
		unsigned int at = at_stack(&in), i;

		port_of_switch(0x321);
		f = run(HOP_MAP, &in).out;
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(f.len, in.len + 24);
		expect_eq(get32(f.b + at), 0x321);
		expect_eq(get32(f.b + at + 4), 3300);
		expect_eq(get64(f.b + at + 16), ~0ULL);
		f = run(INGRESS, &f).out;
		expect_frame(&f, &inner);
		expect_counted(STAT_RX_DATA, STAT_RX_INT_FIELDS);

		in = message(v6, 500, .left = 3, .bitmap = 0xffff, .ml = 18 + 2, .ds = 0xc000);
		f = run(HOP_MAP, &in).out;
		expect_counted(STAT_HOP_BAD); /* bits 0 to 15 are 19 words */
		in = message(v6, 500, .left = 3, .bitmap = 0xffff, .ml = 19 + 2, .ds = 0xc000);
		f = run(HOP_MAP, &in).out;
		expect_counted(STAT_HOP_STAMPED);
		expect_eq(f.len, in.len + 84);
		expect_eq(get32(f.b + at), 0x321);
		/* Bit 3, the queue, is word 3; bits 4 to 6 are two words each; ours are the last but one. */
		for (i = 1; i < 21; i++)
			if (i != 3 && i != 6 && i != 7 && i != 18 && i != 19)
				expect_eq(get32(f.b + at + 4 * i), ~0U);
		expect_eq(get32(f.b + at + 12), 3300);
		expect_eq(get32(f.b + at + 72), 777);
		expect_eq(get32(f.b + at + 76), 200000);
		f = run(INGRESS, &f).out;
		expect_frame(&f, &inner);
		expect_counted(STAT_RX_DATA);
	}
}

/* The next frame, and the VLAN tag beside it, which the kernel has taken out of it. */
static void catch_tagged(int fd, struct frame *f, __u32 *tag)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct iovec iov = { f->b, sizeof(f->b) };
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct tpacket_auxdata aux;
	ssize_t n;

	cr_assert(poll(&ready, 1, 1000) == 1, "%snothing arrived", world_fixture());
	n = recvmsg(fd, &m, 0);
	cr_assert(n > 0 && CMSG_FIRSTHDR(&m), "%s%s", world_fixture(), strerror(errno));
	memcpy(&aux, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(aux));
	f->len = n;
	*tag = aux.tp_status & TP_STATUS_VLAN_VALID ? (__u32)aux.tp_vlan_tpid << 16 | aux.tp_vlan_tci : 0;
}

/* Over a device: it leaves with its tag, and with the hop. */
Test(intmd_hop, hop__of_a_frame_with_a_vlan_tag)
{
	static const __u16 types[] = { 0x8100, 0x88a8 };
	struct port port;
	int near, far, one = 1, i;
	__u32 tag;

	port_of_switch(0x321);
	port = port_get(WORLD_IFINDEX);
	port_set(link_make(""), &port);
	link_attach(HOP_MAP, LINK_NEAR, 0);
	near = packet_socket(LINK_NEAR);
	far = packet_socket(LINK_FAR);
	cr_assert(!setsockopt(far, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)));
	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < 2; i++) {
			struct frame in = message(v6, 500, .left = 3), tagged = frame_with_vlan(in, types[i]), got,
				     want;

			packet_send(near, &tagged);
			catch_tagged(far, &got, &tag);
			expect_counted_attached(STAT_HOP_STAMPED);
			expect_eq(tag, (__u32)types[i] << 16 | 42);
			want = message(v6, 500, .left = 2, .hops = 1,
				       .hop = { { 0x321, 3300, get64(got.b + at_stack(&got) + 8), 777, 200000 } });
			expect_frame(&got, &want);
		}
	}
	close(near);
	close(far);
}

Test(intmd_hop, hop__leaves_what_is_unsound)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = message(v6, 500, .left = 3, .version = 3);

		port_of_switch(1);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .ml = 5);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3);
		in.b[at_shim(&in) + 6] = 0;
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .ml = 31);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .length = 2);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .length = 255);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3, .next = 17);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
		in = message(v6, 500, .left = 3);
		put16(in.b + at_udp(&in) + 6, 0x1111);
		expect_untouched(HOP_MAP, &in, STAT_HOP_BAD);
	}
}

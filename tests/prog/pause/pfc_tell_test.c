// SPDX-License-Identifier: GPL-2.0-only
/* bpf/pause/tell.bpf.h: the frame that is made of a packet, in bytes, and that no other packet is taken for it. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>

#include "arrive_case.h"

TestSuite(pfc_tell, .init = pfc_make, .fini = world_drop, .timeout = 60);

/* For any packet, which continues unchanged. System tests and the lab have those of many segments. */
Test(pfc_tell, frame__is_made_of_a_packet)
{
	static const struct ip_spec cases[] = {
		{ .udp = 1, .payload = 1000, .tos = TOS }, { .udp = 1, .payload = 470, .tos = TOS },
		{ .udp = 1, .payload = 450, .tos = TOS },  { .udp = 1, .payload = 20, .tos = TOS },
		{ .payload = 3000, .tos = TOS },	   { .tos = TOS },
	};
	struct arrivals a = arrivals_make();
	unsigned int i;

	FOR_V4_AND_V6 (v6) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct ip_spec s = cases[i];
			struct frame in;
			struct result r;
			__u32 bytes;

			fixture("IPv%d, case %u", v6 ? 6 : 4, i);
			s.v6 = v6;
			in = frame_of(s);
			bytes = in.len < 60 ? 60 : in.len;
			a.all.used_bytes = 0;
			port_pauses(WORLD_IFINDEX, SLOT);
			port_pauses(a.ifindex, IN);
			waits(&a, IN, QUEUE);
			arrive(&a, &in);
			waits(&a, IN, QUEUE + GROWTH);
			expect_counted(STAT_HOP_OTHER);
			r = arrive(&a, &in);
			expect_verdict(r, VERDICT_PASS);
			expect_frame(&r.out, &in);
			expect_counted(STAT_HOP_OTHER, STAT_PFC_TOLD);
			expect_pause(&a, quanta_predicted(bytes));
			expect_no_note();
		}
	}
}

Test(pfc_tell, frame__that_cannot_leave_tells_nobody)
{
	struct arrivals a = arrivals_make();
	struct frame in = udp(.payload = 1000, .tos = TOS);

	sh("ip link del " LINK_NEAR);
	grow(&a, &in);
	arrive(&a, &in);
	expect_counted(STAT_HOP_OTHER, STAT_HOP_OTHER, STAT_PFC_UNTOLD);
	expect_eq(told(IN).told.predict_ns, 0);
	expect_no_note();
}

/* A frame that leaves by a port whose program was removed is not taken for data. */
Test(pfc_tell, clone__begins_as_a_frame_even_if_nothing_cuts_it)
{
	struct arrivals a = arrivals_make();
	struct frame in, got;
	struct pfc_frame want;
	struct result r;

	sh("tc qdisc del dev " LINK_NEAR " clsact");
	FOR_V4_AND_V6 (v6) {
		fixture("IPv%d", v6 ? 6 : 4);
		in = frame_of((struct ip_spec){ .v6 = v6, .udp = 1, .payload = 1000, .tos = TOS });
		a.all.used_bytes = 0;
		port_pauses(WORLD_IFINDEX, SLOT);
		port_pauses(a.ifindex, IN);
		grow(&a, &in);
		r = arrive(&a, &in);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &in);
		expect_counted(STAT_HOP_OTHER, STAT_HOP_OTHER, STAT_PFC_UNTOLD);
		expect_no_note();
		pfc_build(&want, arrive_mac);
		pfc_set(&want, LOSSLESS, quanta_predicted(in.len));
		cr_assert(packet_catch(a.fd, &got, 1000), "%sno clone", world_fixture());
		expect_eq(got.len, in.len);
		cr_assert_arr_eq(got.b, &want, 34, "%sthe clone begins as a frame", world_fixture());
		cr_assert_arr_eq(got.b + 34, in.b + 34, in.len - 34);
	}
}

/* A note for that port, of a packet of that length, on all CPUs, because the program may run on any. */
static void note_set(__u32 ifindex, __u32 bytes)
{
	int fd = world_map("pfc_works"), cpus = libbpf_num_possible_cpus(), cpu;
	struct bpf_map_info info = {};
	__u32 zero = 0, len = sizeof(info), size;
	__u8 *works;

	cr_assert(!bpf_obj_get_info_by_fd(fd, &info, &len));
	size = (info.value_size + 7) / 8 * 8;
	works = calloc(cpus, size);
	cr_assert(works);
	for (cpu = 0; cpu < cpus; cpu++) {
		((__u32 *)(works + cpu * size))[0] = ifindex;
		((__u32 *)(works + cpu * size))[1] = bytes;
	}
	cr_assert(!bpf_map_update_elem(fd, &zero, works, BPF_ANY));
	free(works);
}

Test(pfc_tell, packet__that_is_no_clone_is_never_rewritten)
{
	struct arrivals a = arrivals_make();
	struct frame in = udp(.payload = 1000, .tos = TOS);

	fixture("no note: it leaves by the port by which it came");
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER, .ifindex = a.ifindex, .ingress_ifindex = a.ifindex);
	fixture("another port");
	note_set(a.ifindex + 1, in.len);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER, .ifindex = a.ifindex, .ingress_ifindex = a.ifindex);
	fixture("another length");
	note_set(a.ifindex, in.len + 1);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER, .ifindex = a.ifindex, .ingress_ifindex = a.ifindex);
	fixture("it came in by another port");
	note_set(a.ifindex, in.len);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER, .ifindex = a.ifindex, .ingress_ifindex = WORLD_IFINDEX);
	expect_untouched(HOP_MAP, &in, STAT_HOP_OTHER, .ifindex = a.ifindex);
	fixture("a second packet");
	expect_verdict(run(HOP_MAP, &in, .ifindex = a.ifindex, .ingress_ifindex = a.ifindex), VERDICT_REDIRECT);
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/pause/count.bpf.h: the waiting bytes of each ingress port and priority, exactly, and the alarm. */
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pfc_case.h"

static void make_tracepoints(void)
{
	world_make_with(.tracepoints = 1, .no_kfuncs = 1, .wings = WING_PAUSES);
}

TestSuite(pfc_queue, .init = make_tracepoints, .fini = world_drop, .timeout = 60);

#define SLOW "slow"
#define IN_SLOT 7

static void counted_port(__u32 ifindex, __u32 slot)
{
	struct pfc_port p = { .flags = PFC_F_COUNT, .slot = slot, .lossless = 0xff };
	socklen_t len = sizeof(p.netns_cookie);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	cr_assert(!getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &p.netns_cookie, &len));
	close(fd);
	pauses_set(ifindex, &p);
}

/* Packets that come in by the near end of the link leave by a slow port. Returns the ifindex of the near end. */
static __u32 bridge_make(void)
{
	char options[32];
	__u32 index = 100000 + getpid() * 4;

	snprintf(options, sizeof(options), "index %u", index);
	link_make(options);
	sh("ip link add " SLOW " index %u type veth peer name slow-far index %u", index + 1, index + 2);
	sh("ip link add name sw type bridge mcast_snooping 0 && ip link set sw up");
	sh("for i in " LINK_NEAR " " SLOW
	   "; do ip link set $i master sw && ip link set $i up; done && ip link set slow-far up");
	sh("for i in " LINK_NEAR " " SLOW
	   "; do until bridge link show dev $i | grep -q forwarding; do sleep .01; done; done");
	sh("tc qdisc add dev " SLOW " root tbf rate 8kbit burst 20000 limit 1000000");
	counted_port(index + 1, SLOT);
	return index;
}

static void total_soon(__u64 low, __u64 high)
{
	__u64 until = clock_ns() + 5000 * MS;

	while (clock_ns() < until) {
		if (pauses_slot(SLOT).total >= low && pauses_slot(SLOT).total <= high)
			return;
	}
	expect_between(pauses_slot(SLOT).total, low, high);
}

/* The sum is what tc says. One more may have left between the two readings. */
static void expect_exact(void)
{
	__u64 tx, backlog;

	qdisc_stats(SLOW, &tx, &backlog);
	expect_between(pauses_slot(SLOT).total + FRAME_BYTES, backlog, backlog + FRAME_BYTES);
}

Test(pfc_queue, cells__are_of_ingress_port_and_priority)
{
	__u32 in = bridge_make();
	struct pfc_slot s;

	world_trace();
	counted_port(in, IN_SLOT);
	send_frames(LINK_FAR, 20, 0, 0); /* the burst of tbf */
	send_frames(LINK_FAR, 10, TOS, 0);
	send_frames(SLOW, 5, TOS, 0);
	send_frames(LINK_FAR, 4, 7 << 5, 0);
	total_soon(18000, 19000);
	expect_exact();
	s = pauses_slot(SLOT);
	expect_between(s.bytes[IN_SLOT][LOSSLESS], 9000, 10000);
	expect_eq(s.bytes[0][LOSSLESS], 5000);
	expect_eq(s.bytes[IN_SLOT][7], 4000);
	expect_eq(s.inexact, 0);
	sh("tc qdisc change dev " SLOW " root tbf rate 100mbit burst 20000 limit 1000000");
	send_frames(LINK_FAR, 1, 0, 0); /* wakes it */
	total_soon(0, 0);
	s = pauses_slot(SLOT);
	expect_eq(s.total, 0);
	expect_eq(s.bytes[IN_SLOT][LOSSLESS] + s.bytes[0][LOSSLESS] + s.bytes[IN_SLOT][7] + s.bytes[IN_SLOT][0], 0);
}

/* Packets that the qdisc refuses are not counted; the next packet reveals those that it discards when it is removed. */
Test(pfc_queue, total__is_the_backlog_whatever_is_dropped)
{
	__u64 until;

	bridge_make();
	sh("tc qdisc replace dev " SLOW " root tbf rate 8kbit burst 20000 limit 30000");
	world_trace();
	send_frames(LINK_FAR, 80, TOS, 0);
	total_soon(28000, 30000);
	for (until = clock_ns() + 50 * MS; clock_ns() < until;)
		; /* the last of the 80 are refused */
	expect_exact();
	expect_between(pauses_slot(SLOT).total, 28000, 30000);
	sh("tc qdisc del dev " SLOW " root && tc qdisc add dev " SLOW " root tbf rate 8kbit burst 2000 limit 30000");
	send_frames(SLOW, 6, TOS, 0);
	expect_exact();
	expect_between(pauses_slot(SLOT).total, 3000, 5000);
	expect_between(pauses_slot(SLOT).amended, 28000, 30000);
	expect_eq(pauses_slot(SLOT).bytes[0][LOSSLESS], pauses_slot(SLOT).total);
	sh("tc qdisc change dev " SLOW " root tbf rate 100mbit burst 20000 limit 30000");
	send_frames(SLOW, 1, TOS, 0);
	total_soon(0, 0);
	expect_eq(pauses_slot(SLOT).inexact, 0);
	expect_eq(pauses_slot(SLOT).bytes[0][LOSSLESS], 0);
}

/* Interfaces of other namespaces may have the same number. */
Test(pfc_queue, port__of_another_namespace_is_left_alone)
{
	__u32 in = bridge_make();
	struct pfc_port p = pauses_get(in + 1);

	p.netns_cookie++;
	pauses_set(in + 1, &p);
	world_trace();
	send_frames(SLOW, 40, TOS, 0);
	expect_eq(pauses_slot(SLOT).total, 0);
}

Test(pfc_queue, alarm__rings_once)
{
	struct pfc_slot s = {};

	bridge_make();
	s.wake_bytes = 5000;
	pauses_slot_set(SLOT, &s);
	world_trace();
	send_frames(SLOW, 22, TOS, 0);
	expect_eq(alarms_taken(), 0);
	send_frames(SLOW, 20, TOS, 0);
	expect_eq(alarms_taken(), 1);
	expect_eq(pauses_slot(SLOT).wake_bytes, 0);
}

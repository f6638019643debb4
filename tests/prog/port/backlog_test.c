// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/port/backlog.bpf.h: the state of a switch port's queue in the ports map, for kernels that have no
 * other way to it. The tracepoints see the qdiscs of the whole machine, also those of others that are
 * at work while the tests run, so the link has a number that nobody else's has.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

static void make_tracepoints(void)
{
	world_make_with(.tracepoints = 1, .no_kfuncs = 1);
}

TestSuite(backlog, .init = make_tracepoints, .fini = world_drop, .timeout = 60);

static __u32 slow_link(__u32 index)
{
	char options[32];

	snprintf(options, sizeof(options), "index %u", index);
	expect_eq(link_make(options), index);
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	return index;
}

static __u32 own_number(void)
{
	return 100000 + getpid() * 2;
}

static void port_is(__u32 index, __u32 flags)
{
	struct port p = port_usual();
	socklen_t len = sizeof(p.netns_cookie);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	cr_assert(!getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &p.netns_cookie, &len));
	close(fd);
	p.flags = flags;
	port_set(index, &p);
}

Test(backlog, switch_port__follows_its_qdisc)
{
	__u32 index = slow_link(own_number());
	__u64 tx, backlog;
	struct port p;

	port_is(index, PORT_F_SWITCH);
	world_trace();
	send_frames(LINK_NEAR, 10, 0, 0);
	p = port_get(index);
	expect_eq(p.tx_bytes, 10000);
	expect_eq(p.backlog_bytes, 0);
	send_frames(LINK_NEAR, 50, 0, 0);
	do {
		qdisc_stats(LINK_NEAR, &tx, &backlog);
		p = port_get(index);
	} while (p.tx_bytes + p.backlog_bytes != 60000);
	/* one more may have left between the two readings */
	expect_between(p.tx_bytes, tx, tx + 1000);
	expect_between(p.backlog_bytes, backlog - 1000, backlog);
	expect_between(backlog, 35000, 41000);
}

/* A pod's port, and the uplink of its node. */
Test(backlog, ports_that_stamp__follow_theirs)
{
	static const __u32 flags[] = { PORT_F_POD, PORT_F_HOST | PORT_F_STAMP };
	__u32 index = slow_link(own_number());
	__u64 before;
	unsigned int i;

	world_trace();
	for (i = 0; i < 2; i++) {
		port_is(index, flags[i]);
		before = clock_ns();
		send_frames(LINK_NEAR, 5, 0, 0);
		expect_eq(port_get(index).tx_bytes, 5000 * (i + 1));
		expect_between(port_get(index).sampled_ns, before, clock_ns());
	}
}

Test(backlog, host_port__is_left_alone)
{
	__u32 index = slow_link(own_number());

	port_is(index, PORT_F_HOST);
	world_trace();
	send_frames(LINK_NEAR, 10, 0, 0);
	expect_eq(port_get(index).tx_bytes, 0);
	expect_eq(port_get(index).backlog_bytes, 0);
}

/* Interfaces of different network namespaces may have the same number. */
Test(backlog, switch_port__is_not_that_of_another_namespace)
{
	int first = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	__u32 index = slow_link(own_number());

	world_trace();
	cr_assert(!unshare(CLONE_NEWNET));
	slow_link(index);
	port_is(index, PORT_F_SWITCH);
	send_frames(LINK_NEAR, 10, 0, 0);
	expect_eq(port_get(index).tx_bytes, 10000);
	/* Back where the device has the same number. */
	cr_assert(!setns(first, CLONE_NEWNET));
	send_frames(LINK_NEAR, 5, 0, 0);
	expect_eq(port_get(index).tx_bytes, 10000);
	expect_eq(port_get(index).backlog_bytes, 0);
}

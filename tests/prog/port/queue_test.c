// SPDX-License-Identifier: GPL-2.0-only
/* bpf/port/queue.bpf.h: counters and backlog of the qdiscs of a port. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hop_case.h"

TestSuite(queue, .init = world_make, .fini = world_drop, .timeout = 60);

static __u32 switch_link(const char *options)
{
	struct port p = port_usual();
	__u32 ifindex = link_make(options);

	p.flags = PORT_F_SWITCH;
	port_set(ifindex, &p);
	return ifindex;
}

/* A stamp by `hop` must be what tc says before and after. The qdisc is so slow that it stands still. */
static void expect_qdisc_stamp(__u32 ifindex)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5), want = f;
	__u64 tx, backlog, again_tx, again_backlog, stamp;
	struct result r;

	do {
		qdisc_stats(LINK_NEAR, &tx, &backlog);
		r = run(HOP, &f, .ifindex = ifindex);
		expect_counted(STAT_HOP_STAMPED);
		qdisc_stats(LINK_NEAR, &again_tx, &again_backlog);
	} while (tx != again_tx || backlog != again_backlog);
	stamp = get64(r.out.b + at_hop(&f, 0));
	expect_eq((stamp >> 16) & 0xfffff, (tx / 128) & 0xfffff);
	expect_eq(stamp & 0xffff, (backlog + 40) / 80);
	expect_eq(stamp >> 60, 12);
	put64(want.b + at_hop(&f, 0), stamp);
	put16(want.b + at_telem(&f), 1 << 12 | SWITCH_ID);
	expect_frame(&r.out, &want);
}

Test(queue, qdisc__tbf)
{
	__u32 ifindex;
	__u64 tx, backlog;

	world_needs(HOP);
	ifindex = switch_link("");
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 8kbit burst 20000 limit 1000000");
	fixture("empty");
	expect_qdisc_stamp(ifindex);
	fixture("with a backlog");
	send_frames(LINK_NEAR, 60, 0, 0); /* of 1000 bytes: 20 leave at once */
	qdisc_stats(LINK_NEAR, &tx, &backlog);
	expect_between(tx, 19000, 25000);
	expect_between(backlog, 35000, 41000);
	expect_qdisc_stamp(ifindex);
}

Test(queue, qdisc__htb)
{
	__u32 ifindex;
	__u64 tx, backlog;

	world_needs(HOP);
	ifindex = switch_link("");
	sh("tc qdisc add dev " LINK_NEAR " root handle 1: htb default 1");
	sh("tc class add dev " LINK_NEAR " parent 1: classid 1:1 htb rate 8kbit burst 20000 cburst 20000");
	send_frames(LINK_NEAR, 60, 0, 0);
	qdisc_stats(LINK_NEAR, &tx, &backlog);
	expect_between(backlog, 30000, 45000);
	expect_qdisc_stamp(ifindex);
}

Test(queue, qdisc__below_mq_the_sum_of_the_queues)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);
	__u32 ifindex;
	__u64 stamp;
	int fd, i;

	world_needs(HOP);
	ifindex = switch_link("numtxqueues 4");
	sh("tc qdisc replace dev " LINK_NEAR " root handle 1: mq");
	for (i = 1; i <= 4; i++)
		sh("tc qdisc add dev " LINK_NEAR " parent 1:%d tbf rate 8kbit burst 5000 limit 1000000", i);
	fd = packet_socket(LINK_NEAR);
	for (i = 0; i < 64; i++) {
		struct frame one = udp(.dport = 2000 + i, .payload = 958);

		packet_send(fd, &one);
	}
	stamp = get64(run(HOP, &f, .ifindex = ifindex).out.b + at_hop(&f, 0));
	expect_counted(STAT_HOP_STAMPED);
	/* 64 kB in all, of which at most five packets a queue and second went at once */
	expect_between((stamp & 0xffff) * 80 + ((stamp >> 16) & 0xfffff) * 128, 63500, 64500);
	expect_between((stamp & 0xffff) * 80, 38000, 60000);
}

/* As ethtool -L does. */
static void link_queues_use(unsigned int n)
{
	struct ethtool_channels c = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq ifr = { .ifr_name = LINK_NEAR, .ifr_data = (void *)&c };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	cr_assert(!ioctl(fd, SIOCETHTOOL, &ifr), "channels of " LINK_NEAR ": %s", strerror(errno));
	c.cmd = ETHTOOL_SCHANNELS;
	c.tx_count = n;
	cr_assert(!ioctl(fd, SIOCETHTOOL, &ifr), "%u channels for " LINK_NEAR ": %s", n, strerror(errno));
	close(fd);
}

/* As a NIC is with fewer queues in use than it has: pfifo_fast is in the others, which is not readable. */
Test(queue, qdisc__below_mq_of_the_queues_in_use)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);
	__u32 ifindex;
	int i;

	world_needs(HOP);
	ifindex = switch_link("numtxqueues 4");
	link_queues_use(2);
	sh("tc qdisc replace dev " LINK_NEAR " root handle 1: mq");
	for (i = 1; i <= 2; i++)
		sh("tc qdisc add dev " LINK_NEAR " parent 1:%d tbf rate 8kbit burst 5000 limit 1000000", i);
	expect_qdisc_stamp(ifindex);
	send_frames(LINK_NEAR, 20, 0, 0);
	expect_qdisc_stamp(ifindex);
	fixture("with one more, of pfifo_fast");
	link_queues_use(3);
	expect_untouched(HOP, &f, STAT_HOP_NO_QUEUE, .ifindex = ifindex);
}

Test(queue, qdisc__that_cannot_be_read)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);
	__u32 ifindex;

	world_needs(HOP);
	ifindex = switch_link("");
	sh("tc qdisc replace dev " LINK_NEAR " root pfifo_fast");
	expect_untouched(HOP, &f, STAT_HOP_NO_QUEUE, .ifindex = ifindex);
	sh("tc qdisc replace dev " LINK_NEAR " root handle 1: mq");
	expect_untouched(HOP, &f, STAT_HOP_NO_QUEUE, .ifindex = ifindex);
}

/* There is no queue and no count: a stamp would say that the port is idle. */
Test(queue, qdisc__noqueue)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);
	__u32 ifindex;

	world_needs(HOP);
	ifindex = switch_link("");
	expect_untouched(HOP, &f, STAT_HOP_NO_QUEUE, .ifindex = ifindex);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/port/class.bpf.h: the stamps of a port with several queues, and the account that the tracepoints keep of
 * each queue. The latter see the qdiscs of the whole machine, so the link has a number of its own.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/config.h"
#include "sluice/wire/telemetry.h"
#include "world.h"

static void make_tracepoints(void)
{
	world_make_with(.tracepoints = 1, .no_kfuncs = 1);
}

TestSuite(class, .init = world_make, .fini = world_drop, .timeout = 60);
TestSuite(class_queue, .init = make_tracepoints, .fini = world_drop, .timeout = 60);

#define DSCP_BULK 8
#define BULK_BPS 25000000000ULL

/* DSCP 8 has a quarter of 100 Gbit/s, all else the rest. */
static struct port_classes classes_usual(void)
{
	struct port_classes c = { .n = 2 };

	c.of_dscp[DSCP_BULK] = 1;
	c.share[0].bps = WORLD_BPS - BULK_BPS;
	c.share[1].bps = BULK_BPS;
	c.share[0].speed = telem_speed_fit(c.share[0].bps);
	c.share[1].speed = telem_speed_fit(c.share[1].bps);
	return c;
}

/* Found by fuzzing: a share of 0 bit/s ended the daemon with a division by zero. */
Test(class, share__of_a_port_below_1_mbit)
{
	struct config_class one = { .share_ppm = 900000 };
	struct config_interface i = { .classes = &one, .classes_count = 1 };
	struct port_classes v = {};

	config_classes_value(&i, 422000, &v);
	expect_eq(v.share[0].bps, 379800);
	one.share_ppm = 1;
	config_classes_value(&i, 422000, &v);
	expect_eq(v.share[0].bps, 1);
	one.share_ppm = 300000;
	config_classes_value(&i, 10000000000ULL, &v);
	expect_eq(v.share[0].bps, 3000000000ULL);
}

static void port_of_classes(__u32 flags)
{
	struct port_classes c = classes_usual();
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH | PORT_F_CLASSES | flags;
	p.tx_bytes = 9999999; /* of all, which is unused */
	p.backlog_bytes = 88888;
	port_set(WORLD_IFINDEX, &p);
	classes_set(WORLD_IFINDEX, &c);
}

/* A class whose last packet to leave waited for sojourn_ns, and whose next does so since wait_ns (0: it never does). */
static void queue_of(__u32 class, __u64 tx_bytes, __u64 sojourn_ns, __u64 wait_ns)
{
	struct class_queue q = {
		.tx_bytes = tx_bytes,
		.backlog_bytes = 1500,
		.sojourn_ns = sojourn_ns,
		.head = 7 + CLASS_PACKETS,
		.tail = 8 + CLASS_PACKETS,
		.came_ns = clock_ns(),
	};

	q.packet[7].ns = wait_ns ? q.came_ns - wait_ns : ~0ULL;
	q.packet[7].bytes = 1500;
	class_queue_set(WORLD_IFINDEX, class, &q);
}

static struct hpcc_hop stamp_of(int v6, __u8 tos, int vlan)
{
	struct frame inner = tcp(.v6 = v6, .payload = 700, .tos = tos), f = wrap(&inner, .room = 5);
	struct result r;

	if (vlan)
		f = frame_with_vlan(f, 0x8100);
	r = run(HOP_MAP, &f);
	expect_counted(STAT_HOP_STAMPED);
	return telem_unpack(get64(r.out.b + at_hop(&f, 0) + (vlan ? 4 : 0)));
}

/* qLen of a sojourn time, as the stamp's unit of 80 bytes rounds it. */
static void expect_sojourn(struct hpcc_hop hop, __u64 low_ns, __u64 high_ns)
{
	expect_between(hop.qlen_bytes, hop.bps / 8000 * low_ns / 1000000 - 80, hop.bps / 8000 * high_ns / 1000000 + 80);
}

Test(class, stamp__is_of_the_class_of_the_packet)
{
	int v6;

	port_of_classes(0);
	queue_of(0, 128 * 1000, 20000, 0);
	queue_of(1, 128 * 3000, 300000, 0);
	for (v6 = 0; v6 < 2; v6++) {
		struct hpcc_hop hop = stamp_of(v6, DSCP_BULK << 2 | ECT0, 0);

		fixture("IPv%d", v6 ? 6 : 4);
		expect_eq(hop.bps, BULK_BPS);
		expect_eq(hop.tx_bytes, 128 * 3000);
		expect_sojourn(hop, 300000, 300000);
		/* 75 of 100 Gbit/s is not in the table: reported as 100, in proportion */
		hop = stamp_of(v6, 0, 0);
		expect_eq(hop.bps, WORLD_BPS);
		expect_between(hop.tx_bytes, 128 * 1332, 128 * 1334);
	}
	fixture("VLAN");
	expect_eq(stamp_of(0, DSCP_BULK << 2, 1).bps, BULK_BPS);
}

Test(class, stamp__of_a_dscp_that_no_class_names)
{
	port_of_classes(0);
	queue_of(0, 128 * 1000, 0, 0);
	queue_of(1, 128 * 3000, 0, 0);
	expect_between(stamp_of(0, 63 << 2, 0).tx_bytes, 128 * 1332, 128 * 1334);
	expect_between(stamp_of(0, (DSCP_BULK + 1) << 2, 0).tx_bytes, 128 * 1332, 128 * 1334);
	expect_between(stamp_of(0, (DSCP_BULK >> 1) << 2, 0).tx_bytes, 128 * 1332, 128 * 1334);
}

/* The first waiting packet tells more of the queue than the last that left. */
Test(class, sojourn__is_that_of_the_head_where_it_is_longer)
{
	struct hpcc_hop hop;
	__u64 before;

	port_of_classes(0);
	before = clock_ns();
	queue_of(1, 0, 1000, 1 * MS);
	hop = stamp_of(0, DSCP_BULK << 2, 0);
	expect_sojourn(hop, 1 * MS, 1 * MS + clock_ns() - before);
}

/* On another CPU, after its bytes were read here: there is no first packet whose age could be used. */
Test(class, sojourn__of_a_queue_whose_last_packet_has_just_left)
{
	struct class_seen seen = { .backlog_bytes = 1500, .sojourn_ns = 30000 };
	struct class_queue q;

	port_of_classes(0);
	queue_of(1, 0, 20000, 5 * MS);
	q = class_queue_get(WORLD_IFINDEX, 1);
	q.head = q.tail;
	q.packet[q.head % CLASS_PACKETS].ns = 1;
	class_queue_set(WORLD_IFINDEX, 1, &q);
	expect_sojourn(stamp_of(0, DSCP_BULK << 2, 0), 20000, 20000);

	fixture("of the qdisc sluice");
	class_seen_set(WORLD_IFINDEX, 1, &seen);
	expect_sojourn(stamp_of(0, DSCP_BULK << 2, 0), 30000, 30000);
}

Test(class, sojourn__is_zero_for_an_empty_queue)
{
	struct port_classes c = classes_usual();
	struct class_queue q;

	port_of_classes(0);
	queue_of(1, 0, 5 * MS, 5 * MS);
	q = class_queue_get(WORLD_IFINDEX, 1);
	q.backlog_bytes = 0;
	class_queue_set(WORLD_IFINDEX, 1, &q);
	expect_eq(stamp_of(0, DSCP_BULK << 2, 0).qlen_bytes, 0);

	fixture("the root was empty since");
	queue_of(1, 0, 5 * MS, 5 * MS);
	c.emptied_ns = clock_ns();
	classes_set(WORLD_IFINDEX, &c);
	expect_eq(stamp_of(0, DSCP_BULK << 2, 0).qlen_bytes, 0);
}

Test(class, sojourn__saturates)
{
	struct port_classes c = classes_usual();

	port_of_classes(0);
	c.share[0].bps = 34359744000; /* a second of it is 2^32 + 704 bytes */
	classes_set(WORLD_IFINDEX, &c);
	queue_of(0, 0, ~0ULL, 0);
	queue_of(1, 0, ~0ULL, 0);
	expect_eq(stamp_of(0, 0, 0).qlen_bytes, 0xffff * 80);
	expect_eq(stamp_of(0, DSCP_BULK << 2, 0).qlen_bytes, 0xffff * 80);
}

Test(class, port_without_its_queues__does_not_stamp)
{
	struct frame inner = tcp(.payload = 700), f = wrap(&inner, .room = 5);

	port_of_classes(0);
	expect_untouched(HOP_MAP, &f, STAT_HOP_NO_QUEUE);
	queue_of(0, 0, 0, 0);
	port_of_classes(PORT_F_NO_QUEUE); /* mq */
	expect_untouched(HOP_MAP, &f, STAT_HOP_NO_QUEUE);
}

/* --- the account --- */

#define FRAME_NS (100 * MS) /* at 80 kbit/s */

/* A link on which a second frame waits 50 ms and each further one 100 ms more. */
static __u32 link_with_classes(void)
{
	__u32 index = 100000 + getpid() * 2, i;
	struct port_classes c = classes_usual();
	struct class_queue q = {};
	char options[32];
	socklen_t len = sizeof(c.netns_cookie);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(options, sizeof(options), "index %u", index);
	expect_eq(link_make(options), index);
	sh("tc qdisc add dev " LINK_NEAR " root handle 1: tbf rate 80kbit burst 1500 limit 1000000");
	cr_assert(!getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &c.netns_cookie, &len));
	close(fd);
	classes_set(index, &c);
	for (i = 0; i < 2; i++)
		class_queue_set(index, i, &q);
	return index;
}

static struct class_queue settled(__u32 index, __u32 class, __u64 tx_bytes)
{
	__u64 until = clock_ns() + 30000 * MS;
	struct class_queue q;

	do {
		q = class_queue_get(index, class);
		cr_assert(clock_ns() < until, "class %u: %llu of %llu bytes left, %llu wait, head %u, tail %u", class,
			  q.tx_bytes, tx_bytes, (__u64)q.backlog_bytes, q.head, q.tail);
	} while (q.tx_bytes < tx_bytes);
	return q;
}

Test(class_queue, each_class__has_its_bytes_and_its_sojourn)
{
	__u32 index = link_with_classes();
	struct class_queue q;
	__u64 sent_ns;
	int v6;

	world_trace();
	for (v6 = 0; v6 < 2; v6++) {
		fixture("IPv%d", v6 ? 6 : 4);
		usleep(200 * 1000); /* tokens for one and a half */
		sent_ns = clock_ns();
		send_frames(LINK_NEAR, 2, DSCP_BULK << 2, v6);
		send_frames(LINK_NEAR, 3, 0, v6);
		sent_ns = clock_ns() - sent_ns; /* a packet sent later waits for less */
		q = class_queue_get(index, 0);
		expect_eq(q.tx_bytes + q.backlog_bytes, (v6 + 1) * 3 * FRAME_BYTES);
		q = settled(index, 1, (v6 + 1) * 2 * FRAME_BYTES);
		expect_eq(q.backlog_bytes, 0);
		expect_between(q.sojourn_ns + sent_ns, 30 * MS, 200 * MS + sent_ns);
		q = settled(index, 0, (v6 + 1) * 3 * FRAME_BYTES);
		expect_eq(q.tx_bytes, (v6 + 1) * 3 * FRAME_BYTES);
		expect_eq(q.backlog_bytes, 0);
		expect_eq(q.head, q.tail);
		expect_between(q.sojourn_ns + sent_ns, 250 * MS, 600 * MS + sent_ns);
	}
}

/* The qdisc drops packets that it had accepted, as codel does; no event reports that. */
Test(class_queue, packets_dropped_while_they_wait__are_forgotten)
{
	__u32 index = link_with_classes();
	struct class_queue q;
	__u64 left;

	world_trace();
	send_frames(LINK_NEAR, 12, 0, 0);
	q = class_queue_get(index, 0);
	expect_eq(q.tx_bytes + q.backlog_bytes, 12 * FRAME_BYTES);
	sh("tc qdisc replace dev " LINK_NEAR " parent 1:1 handle 10: bfifo limit 100000");
	left = class_queue_get(index, 0).tx_bytes;
	send_frames(LINK_NEAR, 3, 0, 0);
	q = settled(index, 0, left + 3 * FRAME_BYTES);
	expect_eq(q.tx_bytes, left + 3 * FRAME_BYTES);
	expect_eq(q.backlog_bytes, 0);
	expect_eq(q.head, q.tail);
	expect_between(q.sojourn_ns, 50 * MS, 500 * MS); /* the third, not the first that was dropped */
}

/* More of them than are looked for: until the port is empty the class seems to wait. */
Test(class_queue, port_that_was_empty__has_no_class_that_waits)
{
	__u32 index = link_with_classes();
	struct class_queue q;
	__u64 left;

	world_trace();
	send_frames(LINK_NEAR, 100, 0, 0);
	sh("tc qdisc replace dev " LINK_NEAR " parent 1:1 handle 10: bfifo limit 100000");
	send_frames(LINK_NEAR, 1, DSCP_BULK << 2, 0);
	settled(index, 1, FRAME_BYTES);
	q = class_queue_get(index, 0);
	cr_assert(q.backlog_bytes > 40 * FRAME_BYTES);
	left = q.tx_bytes;
	send_frames(LINK_NEAR, 1, 0, 0);
	expect_between(class_queue_get(index, 0).backlog_bytes, 0, FRAME_BYTES);
	q = settled(index, 0, left + FRAME_BYTES);
	expect_eq(q.backlog_bytes, 0);
}

/* Room is for 1,024: the rest counts as one with the last. */
Test(class_queue, list_that_is_full__keeps_the_bytes)
{
	__u32 index = link_with_classes();
	struct class_queue q;

	sh("tc qdisc replace dev " LINK_NEAR " root handle 1: tbf rate 80kbit burst 1500 limit 2000000");
	world_trace();
	send_frames(LINK_NEAR, 1100, 0, 0);
	q = class_queue_get(index, 0);
	expect_between(q.tail - q.head, CLASS_PACKETS - 10, CLASS_PACKETS);
	expect_between(q.tail, CLASS_PACKETS, CLASS_PACKETS + 20);
	expect_eq(q.backlog_bytes + q.tx_bytes, 1100 * FRAME_BYTES);
	sh("tc qdisc change dev " LINK_NEAR " root handle 1: tbf rate 800mbit burst 100000 limit 2000000");
	send_frames(LINK_NEAR, 1, 0, 0);
	q = settled(index, 0, 1101 * FRAME_BYTES);
	expect_eq(q.tx_bytes, 1101 * FRAME_BYTES);
	expect_eq(q.backlog_bytes, 0);
	expect_eq(q.head, q.tail);
}

Test(class_queue, port_of_another_namespace__is_left_alone)
{
	__u32 index = link_with_classes();

	world_trace();
	cr_assert(!unshare(CLONE_NEWNET));
	sh("ip link add " LINK_NEAR " mtu 9000 index %u type veth peer name " LINK_FAR " mtu 9000", index);
	sh("ip link set " LINK_NEAR " up && ip link set " LINK_FAR " up");
	sh("tc qdisc add dev " LINK_NEAR " root tbf rate 80kbit burst 1500 limit 1000000");
	send_frames(LINK_NEAR, 3, 0, 0);
	expect_eq(class_queue_get(index, 0).tx_bytes, 0);
	expect_eq(class_queue_get(index, 0).backlog_bytes, 0);
}

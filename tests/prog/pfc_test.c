// SPDX-License-Identifier: GPL-2.0-only
/*
 * bpf/pause/pfc.bpf.h: PFC frames and what becomes of them, what leaves in a pause, and what is counted of a queue. The
 * tracepoints see the qdiscs of the whole machine, so the links have numbers of their own.
 */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define MS 1000000ULL
#define LOSSLESS 3
#define TOS (LOSSLESS << 5) /* CS3 */
#define SLOT 5

static void make(void)
{
	world_make();
	hosts_strip();
}

static void make_tracepoints(void)
{
	world_make_with(.tracepoints = 1, .no_kfuncs = 1);
}

TestSuite(pfc, .init = make, .fini = world_drop, .timeout = 60);
TestSuite(pfc_queue, .init = make_tracepoints, .fini = world_drop, .timeout = 60);

static struct pfc_port pauses_usual(void)
{
	struct pfc_port p = { .flags = PFC_F_OBEY, .slot = SLOT, .lossless = 1 << LOSSLESS };

	pfc_obey_init(&p.params, WORLD_BPS);
	p.params.storm_ns = 5000 * MS; /* longer than any pause here */
	return p;
}

/* The port obeys, and has fq. */
static void port_obeys(enum sluice_mode mode)
{
	struct pfc_port pauses = pauses_usual();
	struct port port = port_usual();

	control_set(mode, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	pauses_set(WORLD_IFINDEX, &pauses);
	pauses_count(1);
}

/* As in Figure 31D-1 of 802.3, byte by byte. */
static struct frame frame_pfc(__u16 vector, unsigned int prio, __u16 quanta)
{
	static const __u8 head[] = { 0x01, 0x80, 0xc2, 0, 0, 0x01, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01 };
	struct frame f = { .len = 60 };

	memcpy(f.b, head, sizeof(head));
	f.b[16] = vector >> 8;
	f.b[17] = vector;
	f.b[18 + 2 * prio] = quanta >> 8;
	f.b[19 + 2 * prio] = quanta;
	return f;
}

static struct pfc_obey obeyed(void)
{
	return pauses_get(WORLD_IFINDEX).obey[LOSSLESS];
}

/* The priority is paused until so many ns from now; returns that time. */
static __u64 pause_for(__u64 ns)
{
	struct pfc_port p = pauses_get(WORLD_IFINDEX);
	__u64 now = clock_ns();

	p.obey[LOSSLESS] = (struct pfc_obey){ .until_ns = now + ns, .since_ns = now, .heard_ns = now, .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &p);
	return now + ns;
}

/* ---- Frames ---- */

Test(pfc, frame__is_noted_and_consumed)
{
	static const enum program programs[] = { PFC_INGRESS, INGRESS, TOR_INGRESS };
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct pfc_obey o;
		__u64 before;

		fixture("program %u", programs[i]);
		port_obeys(MODE_ENFORCE);
		before = clock_ns();
		expect_verdict(run(programs[i], &f), VERDICT_DROP);
		expect_counted(STAT_PFC_RX);
		o = obeyed();
		expect_eq(o.state, PFC_PAUSED);
		expect_between(o.since_ns, before, clock_ns());
		/* 32768 quanta of 512 bit times at 100 Gbit/s */
		expect_eq(o.until_ns - o.since_ns, 167773);
		expect_eq(pauses_get(WORLD_IFINDEX).heard[LOSSLESS], 1);
		expect_eq(pauses_get(WORLD_IFINDEX).obey[LOSSLESS + 1].state, PFC_OPEN);
	}
}

Test(pfc, frame__xon_ends_the_pause)
{
	struct frame xon = frame_pfc(1 << LOSSLESS, LOSSLESS, 0);

	port_obeys(MODE_ENFORCE);
	pause_for(500 * MS);
	expect_verdict(run(INGRESS, &xon), VERDICT_DROP);
	expect_counted(STAT_PFC_RX);
	expect_eq(obeyed().state, PFC_RESUMED);
	expect_eq(pauses_get(WORLD_IFINDEX).resumed[LOSSLESS], 1);
}

/* A frame of 64 bytes has its checksum. */
Test(pfc, frame__with_its_checksum)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 9);

	port_obeys(MODE_ENFORCE);
	f.len = 64;
	expect_verdict(run(PFC_INGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_PFC_RX);
}

Test(pfc, frame__that_is_bad_changes_nothing)
{
	static const struct {
		const char *what;
		unsigned int at, len;
		__u8 byte;
		enum sluice_stat stat;
	} cases[] = {
		{ "reserved bits", 16, 60, 0x01, STAT_PFC_BAD_VECTOR },
		{ "all reserved bits", 16, 60, 0xff, STAT_PFC_BAD_VECTOR },
		{ "too short", 19, 59, 0, STAT_PFC_BAD_LENGTH },
		{ "only a header", 19, 14, 0, STAT_PFC_BAD_LENGTH },
		{ "too long", 19, 61, 0, STAT_PFC_BAD_LENGTH },
		{ "a jumbo", 19, 1514, 0, STAT_PFC_BAD_LENGTH },
		{ "PAUSE of 802.3x", 14, 60, 0x00, STAT_PFC_LINK_PAUSE },
		{ "another opcode", 15, 60, 0x02, STAT_PFC_BAD_OPCODE },
		{ "to one host", 0, 60, 0x02, STAT_PFC_BAD_GROUP },
		{ "to another group", 5, 60, 0x02, STAT_PFC_BAD_GROUP },
	};
	unsigned int i;

	port_obeys(MODE_ENFORCE);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
		struct result r;

		fixture("%s", cases[i].what);
		f.b[cases[i].at] = cases[i].byte;
		f.len = cases[i].len;
		r = run(INGRESS, &f);
		expect_verdict(r, VERDICT_PASS);
		expect_frame(&r.out, &f);
		expect_counted(cases[i].stat, STAT_RX_OTHER);
		expect_eq(obeyed().state, PFC_OPEN);
		expect_eq(obeyed().heard_ns, 0);
	}
}

Test(pfc, frame__where_nobody_obeys)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0x8000);
	struct pfc_port p = pauses_usual();

	fixture("no pauses");
	expect_verdict(run(INGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_PFC_UNWANTED, STAT_RX_OTHER);
	fixture("does not obey");
	p.flags = PFC_F_COUNT;
	pauses_set(WORLD_IFINDEX, &p);
	expect_verdict(run(INGRESS, &f), VERDICT_PASS);
	expect_counted(STAT_PFC_UNWANTED, STAT_RX_OTHER);
	expect_eq(obeyed().state, PFC_OPEN);
	fixture("bypass");
	port_obeys(MODE_ENFORCE);
	control_set(MODE_ENFORCE, 1);
	expect_verdict(run(INGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_PFC_RX);
	expect_eq(obeyed().state, PFC_OPEN);
}

Test(pfc, frame__of_a_priority_that_is_not_lossless)
{
	struct frame f = frame_pfc(0xff, LOSSLESS, 0x8000);
	struct pfc_port p;
	unsigned int prio;

	port_obeys(MODE_ENFORCE);
	f.b[18] = 0xff; /* of priority 0 */
	expect_verdict(run(PFC_INGRESS, &f), VERDICT_DROP);
	expect_counted(STAT_PFC_RX, STAT_PFC_LOSSY, STAT_PFC_LOSSY, STAT_PFC_LOSSY, STAT_PFC_LOSSY, STAT_PFC_LOSSY,
		       STAT_PFC_LOSSY, STAT_PFC_LOSSY);
	p = pauses_get(WORLD_IFINDEX);
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		expect_eq(p.obey[prio].state, prio == LOSSLESS ? PFC_PAUSED : PFC_OPEN);
}

/* 65535 quanta for ever. */
Test(pfc, storm__is_not_obeyed)
{
	struct frame f = frame_pfc(1 << LOSSLESS, LOSSLESS, 0xffff), in = udp(.payload = 1000, .tos = TOS);
	struct pfc_port p;

	port_obeys(MODE_ENFORCE);
	fixture("refreshed for longer than the watchdog lets it");
	p = pauses_get(WORLD_IFINDEX);
	p.params.storm_ns = p.params.restore_ns = 5000 * MS;
	p.obey[LOSSLESS] = (struct pfc_obey){ .since_ns = clock_ns() - 5001 * MS, .heard_ns = clock_ns() - MS,
					      .until_ns = clock_ns() + 300 * MS, .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &p);
	run(PFC_INGRESS, &f);
	run(PFC_INGRESS, &f);
	expect_counted(STAT_PFC_RX, STAT_PFC_RX, STAT_PFC_STORM, STAT_PFC_STORM);
	expect_eq(obeyed().state, PFC_STORM);
	expect_eq(pauses_get(WORLD_IFINDEX).storms[LOSSLESS], 1);
	expect_eq(pauses_get(WORLD_IFINDEX).heard[LOSSLESS], 0);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA);
	fixture("silent for long enough");
	p = pauses_get(WORLD_IFINDEX);
	p.obey[LOSSLESS].heard_ns -= 5000 * MS;
	pauses_set(WORLD_IFINDEX, &p);
	run(PFC_INGRESS, &f);
	expect_counted(STAT_PFC_RX);
	expect_eq(obeyed().state, PFC_PAUSED);
}

/* ---- Obeying ---- */

static void flow_at(struct ip_spec s, __u64 bps)
{
	struct flow f = flow_get(s);

	f.clock_ns = 0;
	f.cc.rate_bps = bps;
	flow_set(s, &f);
}

/* From the end of the pause at R, and not all at once. */
Test(pfc, paused_flow__resumes_without_a_burst)
{
	int is_udp, i;

	for (is_udp = 0; is_udp < 2; is_udp++) {
		struct ip_spec s = { .udp = is_udp, .payload = 1000, .tos = TOS };
		struct frame in = frame_of(s);
		struct result r;
		__u64 end;

		fixture(is_udp ? "UDP" : "TCP");
		port_obeys(MODE_ENFORCE);
		hosts_strip();
		run(EGRESS, &in);
		expect_counted(STAT_TX_DATA);
		flow_at(s, 100000000);
		end = pause_for(500 * MS);
		for (i = 0; i < 4; i++) {
			r = run(EGRESS, &in);
			expect_verdict(r, VERDICT_PASS);
			expect_eq(r.ctx.tstamp, end);
			expect_counted(STAT_TX_DATA, STAT_PACED, STAT_PFC_HELD);
			end += r.out.len * 80; /* 80 ns a byte */
			expect_eq(flow_get(s).clock_ns, end);
			expect_eq(flow_get(s).held, HELD_PAUSE);
		}
	}
}

/* A later departure than the end of the pause stays what it is. */
Test(pfc, paused_flow__keeps_its_clock)
{
	struct ip_spec s = { .payload = 1000, .tos = TOS };
	struct frame in = frame_of(s);
	struct flow f;
	__u64 end;

	port_obeys(MODE_ENFORCE);
	run(EGRESS, &in);
	end = pause_for(100 * MS);
	f = flow_get(s);
	f.clock_ns = end + 2 * MS;
	flow_set(s, &f);
	expect_eq(run(EGRESS, &in).ctx.tstamp, end + 2 * MS);
}

/* The horizon begins where the pause ends: what waits in it is not early. */
Test(pfc, paused_flow__of_udp_is_dropped_beyond_the_horizon_only)
{
	struct ip_spec s = { .udp = 1, .payload = 1000, .tos = TOS };
	struct frame in = frame_of(s);
	struct flow f;
	__u64 end;

	port_obeys(MODE_ENFORCE);
	horizon_set(10 * MS, 0);
	run(EGRESS, &in);
	flow_at(s, 100000000);
	end = pause_for(600 * MS);
	run(EGRESS, &in);
	f = flow_get(s);
	f.clock_ns = end + 9 * MS;
	flow_set(s, &f);
	expect_eq(run(EGRESS, &in).ctx.tstamp, end + 9 * MS);
	expect_counted(STAT_TX_DATA, STAT_TX_DATA, STAT_TX_DATA, STAT_PACED, STAT_PACED, STAT_PFC_HELD, STAT_PFC_HELD);
	f.clock_ns = end + 11 * MS;
	flow_set(s, &f);
	expect_verdict(run(EGRESS, &in), VERDICT_DROP);
	expect_counted(STAT_TX_HORIZON);
}

Test(pfc, plain_packet__leaves_at_the_end_of_the_pause)
{
	struct frame empty = tcp(.tos = TOS), stranger = udp(.to = HOST_STRANGER, .payload = 10, .tos = TOS);
	struct frame v6 = tcp(.v6 = 1, .to = HOST_STRANGER, .tos = TOS);
	__u64 end;

	port_obeys(MODE_ENFORCE);
	end = pause_for(500 * MS);
	expect_eq(run(EGRESS, &empty).ctx.tstamp, end);
	expect_counted(STAT_TX_PLAIN_ACK, STAT_PFC_HELD);
	expect_eq(run(EGRESS, &stranger).ctx.tstamp, end);
	expect_counted(STAT_TX_NO_PEER, STAT_PFC_HELD);
	expect_eq(run(EGRESS, &v6).ctx.tstamp, end);
	expect_counted(STAT_TX_NO_PEER, STAT_PFC_HELD);
	expect_eq(run(EGRESS, &stranger, .tstamp = end + MS).ctx.tstamp, end + MS);
	expect_counted(STAT_TX_NO_PEER, STAT_PFC_HELD);
}

Test(pfc, switch_port__holds_what_it_forwards)
{
	struct frame in = udp(.payload = 100, .tos = TOS), other = udp(.payload = 100);
	__u64 end;

	port_obeys(MODE_ENFORCE);
	end = pause_for(500 * MS);
	expect_eq(run(HOP_MAP, &in).ctx.tstamp, end);
	expect_counted(STAT_HOP_OTHER, STAT_PFC_HELD);
	expect_untouched(HOP_MAP, &other, STAT_HOP_OTHER);
}

Test(pfc, pause__holds_nobody_else)
{
	struct frame paused = udp(.to = HOST_STRANGER, .payload = 10, .tos = TOS);
	struct frame other = udp(.to = HOST_STRANGER, .payload = 10, .tos = (LOSSLESS + 1) << 5);
	struct pfc_port p;

	port_obeys(MODE_ENFORCE);
	pause_for(500 * MS);
	fixture("another priority");
	expect_eq(run(EGRESS, &other).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
	fixture("by PCP, and it has no tag");
	p = pauses_get(WORLD_IFINDEX);
	p.trust = PFC_TRUST_PCP;
	pauses_set(WORLD_IFINDEX, &p);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
	p.trust = PFC_TRUST_DSCP;
	pauses_set(WORLD_IFINDEX, &p);
	fixture("dry run");
	control_set(MODE_DRY_RUN, 0);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
	fixture("bypass");
	control_set(MODE_ENFORCE, 1);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_BYPASS);
	fixture("it is over");
	control_set(MODE_ENFORCE, 0);
	pause_for(0);
	expect_eq(run(EGRESS, &paused).ctx.tstamp, 0);
	expect_counted(STAT_TX_NO_PEER);
}

Test(pfc, pause__that_cannot_be_kept_is_counted)
{
	struct frame in = udp(.payload = 1000, .tos = TOS), arp = frame_arp();
	struct pfc_port p;
	struct port port = port_usual();

	port_obeys(MODE_ENFORCE);
	p = pauses_get(WORLD_IFINDEX);
	p.lossless |= 1;
	p.obey[0] = (struct pfc_obey){ .until_ns = clock_ns() + 500 * MS, .since_ns = clock_ns(), .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &p);
	fixture("not IP");
	expect_eq(run(EGRESS, &arp).ctx.tstamp, 0);
	expect_counted(STAT_TX_OTHER, STAT_PFC_UNHELD);
	fixture("no fq");
	pause_for(500 * MS);
	port_change(WORLD_IFINDEX, &port);
	expect_eq(run(EGRESS, &in).ctx.tstamp, 0);
	expect_counted(STAT_TX_DATA, STAT_UNHELD, STAT_PFC_UNHELD);
}

/* ---- Queues ---- */

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

/* What comes in by the near end of the link leaves by a slow one. Returns the ifindex of the near end. */
static __u32 bridge_make(void)
{
	char options[32];
	__u32 index = 100000 + getpid() * 4;

	snprintf(options, sizeof(options), "index %u", index);
	link_make(options);
	sh("ip link add " SLOW " index %u type veth peer name slow-far index %u", index + 1, index + 2);
	sh("ip link add name sw type bridge mcast_snooping 0 && ip link set sw up");
	sh("for i in " LINK_NEAR " " SLOW "; do ip link set $i master sw && ip link set $i up; done && ip link set slow-far up");
	sh("for i in " LINK_NEAR " " SLOW "; do until bridge link show dev $i | grep -q forwarding; do sleep .01; done; done");
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

/* What the qdisc refuses is not counted; what it throws away with itself is found out by the next packet. */
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

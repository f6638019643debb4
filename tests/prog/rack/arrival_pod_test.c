// SPDX-License-Identifier: GPL-2.0-only
/* bpf/rack/credit.bpf.h: arrivals for a pod, whose port is another hop. */
#include "credit_case.h"

TestSuite(arrival_pod, .init = credit_make, .fini = world_drop, .timeout = 60);
TestSuite(arrival_pod_xdp, .init = credit_make, .fini = world_drop, .timeout = 60);

#define POD_IFINDEX 7000 /* of no device: only the map knows it */

static void pod_port_make(void)
{
	struct port p = port_usual();

	p.flags = PORT_F_POD;
	p.sampled_ns = clock_ns() + 3600 * NSEC_PER_SEC;
	port_set(POD_IFINDEX, &p);
}

static void pod_is_known(int v6)
{
	struct flow f = flow_get(*credit_forward(v6));

	f.path.pod_ifindex = POD_IFINDEX;
	flow_set(*credit_forward(v6), &f);
}

static void slot_port(__u32 ifindex)
{
	struct arrival a = arrival_get(SLOT);

	a.ifindex = ifindex;
	arrival_set(SLOT, &a);
}

SinkTest(arrival_pod, pod_hop__only_where_no_credit_keeps_its_queue)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving(.v6 = v6);
		__u64 hour = 3600 * NSEC_PER_SEC;

		pod_port_make();
		slot_make(v6, 128, 1);
		credit_alive(0, 0);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		pod_is_known(v6);
		slot_port(POD_IFINDEX);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		expect_eq(flow_get(*credit_forward(v6)).echo.hops, 2);
		credit_alive(clock_ns(), hour);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*credit_forward(v6)).echo.hops, 1);
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_pod, 1);
		/* The daemon is away. */
		credit_alive(clock_ns() - hour, hour - 1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		/* Traffic without a VOQ is held by HPCC alone; */
		credit_alive(clock_ns(), hour);
		in = tcp(.v6 = v6, .reply = 1, .payload = 500);
		in = wrap(&in, .room = 5, .nhop = 1, .hop = { 0x1111 });
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_RX_POD_HOP);
		expect_eq(flow_get(*credit_forward(v6)).rx.voq_pod, 0);
		/* so is a VOQ to which no credit is dealt out, */
		in = arriving(.v6 = v6, .prefixlen = 127);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP);
		/* or that of another port. */
		slot_port(WORLD_IFINDEX);
		in = arriving(.v6 = v6);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP);
		credit_alive(0, 0);
	}
}

SinkTest(arrival_pod, probe_reply__has_the_pod_hop_only_where_no_credit_keeps_its_queue)
{
	FOR_V4_AND_V6 (v6) {
		struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = arriving(.v6 = v6);
		struct port uplink = port_usual();
		struct result r;

		uplink.flags |= PORT_F_XDP_TX;
		port_set(WORLD_IFINDEX, &uplink);
		pod_port_make();
		slot_make(v6, 128, 1);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		pod_is_known(v6);
		slot_port(POD_IFINDEX);
		credit_alive(clock_ns(), 3600 * NSEC_PER_SEC);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		in = frame_probe(&inner, 0xc777, 0);
		r = run(sink, &in);
		expect_counted(STAT_RX_PROBE);
		expect_eq(get16(r.out.b + at_telem(&r.out)) >> 12, 0);
		credit_alive(0, 0);
		r = run(sink, &in);
		expect_counted(STAT_RX_PROBE, STAT_RX_POD_HOP);
		expect_eq(get16(r.out.b + at_telem(&r.out)) >> 12, 1);
	}
}

/* The port of the news is the pod's, where that is known to have a queue. */
SinkTest(arrival_pod, news__name_the_pods_port)
{
	FOR_V4_AND_V6 (v6) {
		struct frame in = arriving(.v6 = v6), merged = arriving(.v6 = v6, .prefixlen = 100);
		struct arrival_news news[2];

		pod_port_make();
		run(sink, &in);
		pod_is_known(v6);
		run(sink, &in);
		expect_eq(news_taken(news, 2), 2);
		expect_eq(news[0].ifindex, WORLD_IFINDEX);
		expect_eq(news[1].ifindex, POD_IFINDEX);
		/* The VOQ of a prefix belongs to many pods. */
		run(sink, &merged);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].ifindex, WORLD_IFINDEX);
		/* The daemon took it for the uplink's: its bytes are in the slot, with the port. */
		slot_make(v6, 128, 1);
		expect_counted(STAT_RX_DATA, STAT_RX_DATA, STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_ARRIVAL_NEWS,
			       STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP, STAT_RX_POD_HOP);
		run(sink, &in);
		expect_counted(STAT_RX_DATA, STAT_ARRIVAL_NEWS, STAT_RX_POD_HOP);
		expect_eq(news_taken(news, 2), 1);
		expect_eq(news[0].ifindex, POD_IFINDEX);
		expect_eq(news[0].bytes, 0);
		expect_eq(news[0].inner_bytes, 0);
		expect_eq(news[0].packets, 0);
		expect_seen(1, in.len, inner_bytes(&in), (__u64)S_FIRST << 32 | 7);
		/* The veth is gone. */
		port_remove(POD_IFINDEX);
		run(sink, &in);
		expect_counted(STAT_RX_DATA);
		expect_eq(flow_get(*credit_forward(v6)).path.pod_ifindex, 0);
		expect_seen(2, 2 * in.len, 2 * inner_bytes(&in), (__u64)S_FIRST << 32 | 7);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/* bpf/host/rwnd.bpf.h: connections that are older than the program: their socket is asked. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rwnd_case.h"

TestSuite(rwnd_ask, .init = rwnd_make, .fini = world_drop, .timeout = 60);

static socklen_t address_of(struct sockaddr_storage *a, int v6, enum who who, __u16 port)
{
	struct sluice_addr addr = addr_of(v6, who);
	struct sockaddr_in6 *a6 = (void *)a;
	struct sockaddr_in *a4 = (void *)a;

	memset(a, 0, sizeof(*a));
	if (v6) {
		a6->sin6_family = AF_INET6;
		a6->sin6_port = htons(port);
		memcpy(&a6->sin6_addr, addr.b, 16);
		return sizeof(*a6);
	}
	a4->sin_family = AF_INET;
	a4->sin_port = htons(port);
	memcpy(&a4->sin_addr, addr.b + 12, 4);
	return sizeof(*a4);
}

static int socket_at(int v6, enum who who, __u16 port)
{
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_storage a;
	socklen_t len = address_of(&a, v6, who, port);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, len), "binding: %s", strerror(errno));
	return fd;
}

/* The kernel routes to a new IPv6 address a moment after it has accepted it. */
static void connect_to(int fd, const struct sockaddr_storage *to, socklen_t len)
{
	int tries, failed = 1;

	for (tries = 0; failed && tries < 500; tries++) {
		failed = connect(fd, (const struct sockaddr *)to, len);
		if (failed && errno != ENETUNREACH && errno != EADDRNOTAVAIL)
			break;
		if (failed)
			usleep(10000);
	}
	cr_assert(!failed, "connecting: %s", strerror(errno));
}

/* SND.UNA of a socket with nothing in flight: the next sequence that it sends (TCP_REPAIR tells it). */
static __u32 snd_una_of(int fd)
{
	int on = 1, off = 0, queue = TCP_SEND_QUEUE;
	__u32 seq = 0;
	socklen_t len = sizeof(seq);

	cr_assert(!setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), "%s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue));
	getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &seq, &len);
	setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off));
	return seq;
}

static void addresses_make(void)
{
	sh("ip link set lo up && ip address add 10.1.0.1/32 dev lo && ip address add 10.1.0.2/32 dev lo");
	sh("ip address add fd00:1::1/128 dev lo nodad && ip address add fd00:1::2/128 dev lo nodad");
}

/* A's packet, not the first. */
static void data_leaves(int v6, __u32 came_by)
{
	struct frame f = tcp(.v6 = v6, .payload = 100);
	struct flow flow = { 0 };

	hosts_strip();
	if (flow_exists((struct ip_spec){ .v6 = v6 })) {
		flow = rwnd_flow_of(v6);
		flow.wnd.asked_ns = 0;
		flow_set((struct ip_spec){ .v6 = v6 }, &flow);
	}
	run(EGRESS, &f, .ingress_ifindex = came_by);
	expect_counted(STAT_TX_DATA);
}

Test(rwnd_ask, ask__the_socket)
{
	addresses_make();
	FOR_V4_AND_V6 (v6) {
		int listener = socket_at(v6, HOST_B, PORT_B), a = socket_at(v6, HOST_A, PORT_A), b;
		struct sockaddr_storage to;
		socklen_t len = address_of(&to, v6, HOST_B, PORT_B), info_len = sizeof(struct tcp_info);
		struct tcp_info info;
		int small = 1 << 20;

		/* B's windows must have a scale of their own. */
		setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &small, sizeof(small));
		cr_assert(!listen(listener, 1), "%s", strerror(errno));
		data_leaves(v6, 0);
		expect_eq(rwnd_flow_of(v6).wnd.wscale_known, 0);
		connect_to(a, &to, len);
		b = accept(listener, NULL, NULL);
		cr_assert(!getsockopt(a, IPPROTO_TCP, TCP_INFO, &info, &info_len));
		cr_assert(info.tcpi_snd_wscale > 0 && info.tcpi_snd_wscale != info.tcpi_rcv_wscale,
			  "scales %u and %u prove nothing", info.tcpi_snd_wscale, info.tcpi_rcv_wscale);
		data_leaves(v6, 4711); /* of an unknown veth */
		expect_eq(rwnd_flow_of(v6).wnd.wscale_known, 0);
		data_leaves(v6, 0);
		expect_scale(v6, info.tcpi_snd_wscale);
		expect_eq(rwnd_flow_of(v6).wnd.seq_known, FLOW_SEQ_UNA);
		expect_eq(rwnd_flow_of(v6).wnd.snd_una, snd_una_of(a));
		close(a);
		close(b);
		close(listener);
	}
}

/* A listener at the address has no scale: the connection is not its own. */
Test(rwnd_ask, ask__not_a_listener)
{
	addresses_make();
	FOR_V4_AND_V6 (v6) {
		int listener = socket_at(v6, HOST_A, PORT_A);

		cr_assert(!listen(listener, 1), "%s", strerror(errno));
		data_leaves(v6, 0);
		expect_eq(rwnd_flow_of(v6).wnd.wscale_known, 0);
		close(listener);
	}
}

Test(rwnd_ask, ask__not_for_every_packet)
{
	struct frame f = tcp(.payload = 100);
	struct flow flow;

	data_leaves(0, 0);
	flow = rwnd_flow_of(0);
	expect_between(flow.wnd.asked_ns, 1, clock_ns());
	flow.wnd.asked_ns += 3600 * NSEC_PER_SEC;
	flow_set((struct ip_spec){}, &flow);
	run(EGRESS, &f);
	expect_eq(rwnd_flow_of(0).wnd.asked_ns, flow.wnd.asked_ns);
	flow.wnd.asked_ns = 1;
	flow_set((struct ip_spec){}, &flow);
	run(EGRESS, &f);
	expect_between(rwnd_flow_of(0).wnd.asked_ns, flow.wnd.asked_ns + 1, clock_ns());
}

Test(rwnd_ask, ask__only_where_it_matters)
{
	struct frame f = tcp(.payload = 100);
	struct flow flow;
	int own;

	for (own = 0; own < 2; own++) {
		fixture(own ? "own control" : "all known");
		flow = flow_governed(0, 6000, 0);
		flow.tx.own_cc = own;
		flow.wnd.wscale_known = !own;
		flow.wnd.asked_ns = 0;
		flow_set((struct ip_spec){}, &flow);
		run(EGRESS, &f);
		expect_eq(rwnd_flow_of(0).wnd.asked_ns, 0);
		expect_counted(STAT_TX_DATA);
	}
}

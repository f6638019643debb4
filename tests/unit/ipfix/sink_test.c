// SPDX-License-Identifier: GPL-2.0-only
/* A socket that cannot send is replaced. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>
#include "ipfix/sink.h"

static struct sink s;
static char name[64];
static int collector;

static void begin(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	collector = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert(collector >= 0 && !bind(collector, (struct sockaddr *)&at, len));
	cr_assert(!getsockname(collector, (struct sockaddr *)&at, &len));
	snprintf(name, sizeof(name), "udp:127.0.0.1:%u", ntohs(at.sin_port));
	cr_assert(!sink_parse(&s, name));
	cr_assert(sink_ready(&s) && s.sessions == 1);
}

static void end(void)
{
	sink_close(&s);
	close(collector);
}

/* The next datagram of this socket fails, and so does every later one. */
static void socket_break(void)
{
	cr_assert(!shutdown(s.fd, SHUT_WR));
}

TestSuite(sink, .init = begin, .fini = end);

Test(sink, udp__that_cannot_send_is_opened_anew)
{
	__u64 pause_ns = s.backoff_ns;

	sink_send(&s, "a", 1, 2);
	cr_assert(s.records == 2 && !s.lost);
	socket_break();
	sink_send(&s, "b", 1, 3);
	cr_assert(s.lost == 3 && s.state == SINK_CLOSED && s.fd < 0);
	cr_assert(!sink_ready(&s), "not at once");
	s.again_ns = 0;
	cr_assert(sink_ready(&s) && s.sessions == 2);
	socket_break();
	sink_send(&s, "c", 1, 1);
	cr_assert(s.backoff_ns == 4 * pause_ns, "a socket that was opened and sent nothing begins no new pause");
	s.again_ns = 0;
	cr_assert(sink_ready(&s));
	sink_send(&s, "d", 1, 5);
	cr_assert(s.records == 7 && s.backoff_ns == pause_ns);
}

Test(sink, udp__without_a_collector_keeps_its_socket)
{
	unsigned int i;

	close(collector);
	for (i = 0; i < 4; i++)
		sink_send(&s, "a", 1, 1);
	cr_assert(s.state == SINK_OPEN && s.sessions == 1);
}

Test(sink, reopen__does_not_wait)
{
	socket_break();
	sink_send(&s, "a", 1, 1);
	cr_assert(!sink_ready(&s));
	sink_reopen(&s);
	cr_assert(sink_ready(&s) && s.sessions == 2);
}

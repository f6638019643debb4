// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that sends UDP as programs do, and one that counts what arrives.
 *
 * usage: datagrams receive PORT IDLE_MS
 *	counts until nothing has arrived for IDLE_MS, from the first datagram on.
 * usage: datagrams send ADDRESS PORT BYTES COUNT OPTION...
 *	sends COUNT datagrams of BYTES payload from a new socket that blocks.
 *	burst=N every=US   N at a time, each US microseconds
 *	gso=N              N of them with one call (UDP_SEGMENT)
 *	rate=N             SO_MAX_PACING_RATE of N bytes/s
 *	txtime=US          SO_TXTIME: all at once, each US microseconds after the one before
 *
 * Each prints {"datagrams": N, "ms": N} and ends with 0, or with 1 and the reason on stderr; "ms" is from the first
 * datagram to the last one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "tool.h"

#define BYTES_MAX 65000
#define NSEC_PER_USEC 1000LL
#define FIRST_NS (10 * 1000 * 1000LL) /* from the first call to the first SO_TXTIME */

struct shape {
	long long burst, every, gso, rate, txtime;
};

static void print(unsigned int n, long long first_ns, long long last_ns)
{
	printf("{\"datagrams\": %u, \"ms\": %lld}\n", n, (last_ns - first_ns) / 1000000);
}

static int receive_all(const char *port, const char *idle_ms)
{
	const struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(atoi(port)) };
	const struct timeval idle = { atoi(idle_ms) / 1000, atoi(idle_ms) % 1000 * 1000 };
	long long first_ns = 0, last_ns = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), room = 4 << 20;
	char buf[BYTES_MAX];
	unsigned int n = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any)))
		die(port);
	while (recv(fd, buf, sizeof(buf), 0) >= 0) {
		last_ns = now_ns();
		if (!n++) {
			first_ns = last_ns;
			if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle)))
				die("SO_RCVTIMEO");
		}
	}
	if (errno != EAGAIN)
		die("recv");
	print(n, first_ns, last_ns);
	return 0;
}

static int socket_to(const char *address, const char *port, int bytes, const struct shape *s)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	const struct sock_txtime txtime = { .clockid = CLOCK_MONOTONIC };
	struct addrinfo *to;
	int fd;

	if (getaddrinfo(address, port, &hints, &to)) {
		errno = EINVAL;
		die(address);
	}
	fd = socket(to->ai_family, SOCK_DGRAM, 0);
	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen))
		die(address);
	freeaddrinfo(to);
	if (s->rate && setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &s->rate, sizeof(s->rate)))
		die("SO_MAX_PACING_RATE");
	if (s->txtime && setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)))
		die("SO_TXTIME");
	if (s->gso && setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof(bytes)))
		die("UDP_SEGMENT");
	return fd;
}

/* at_ns: its SO_TXTIME; 0: it has none. */
static void send_one(int fd, int bytes, long long at_ns)
{
	static char buf[BYTES_MAX];
	char control[CMSG_SPACE(sizeof(at_ns))] = { 0 };
	struct iovec data = { buf, bytes };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (at_ns) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_TXTIME;
		c->cmsg_len = CMSG_LEN(sizeof(at_ns));
		memcpy(CMSG_DATA(c), &at_ns, sizeof(at_ns));
	}
	if (sendmsg(fd, &m, 0) != bytes && errno != ENOBUFS)
		die("sendmsg");
}

static int send_all(const char *address, const char *port, int bytes, int count, const struct shape *s)
{
	int fd = socket_to(address, port, bytes, s), at_once = s->gso ?: 1, n;
	long long began_ns = now_ns();

	if (bytes < 1 || bytes * at_once > BYTES_MAX) {
		errno = EINVAL;
		die("BYTES");
	}
	for (n = 0; n < count; n += at_once) {
		if (s->burst && n % s->burst == 0)
			wait_until(began_ns + n / s->burst * s->every * NSEC_PER_USEC);
		send_one(fd, bytes * at_once, s->txtime ? began_ns + FIRST_NS + n * s->txtime * NSEC_PER_USEC : 0);
	}
	print(n, began_ns, now_ns());
	return 0;
}

int main(int argc, char **argv)
{
	struct shape s = { 0 };
	int i;

	if (argc == 4 && !strcmp(argv[1], "receive"))
		return receive_all(argv[2], argv[3]);
	for (i = 6; i < argc; i++)
		if (sscanf(argv[i], "burst=%lld", &s.burst) + sscanf(argv[i], "every=%lld", &s.every) +
			    sscanf(argv[i], "gso=%lld", &s.gso) + sscanf(argv[i], "rate=%lld", &s.rate) +
			    sscanf(argv[i], "txtime=%lld", &s.txtime) <
		    1)
			break;
	if (argc > 5 && i == argc && !strcmp(argv[1], "send"))
		return send_all(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]), &s);
	fprintf(stderr, "usage: datagrams receive PORT IDLE_MS | send ADDRESS PORT BYTES COUNT [OPTION=N]...\n");
	return 2;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * held ADDRESS PORT WAIT_MS: three datagrams of one flow, of 1000, 1001 and 64 bytes: the first is to leave in WAIT_MS
 * (SO_TXTIME), the others have no time of their own.
 * held ADDRESS PORT WAIT_MS FLOWS COUNT: COUNT datagrams of 1000 bytes of each of FLOWS flows, all to leave in WAIT_MS; 0:
 * at once, in turns, and then how many ns one took.
 */
#include <arpa/inet.h>
#include <linux/net_tstamp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tool.h"

/* at_ns: 0 for a datagram without a time. */
static int send_one(int fd, struct sockaddr_in *to, size_t bytes, unsigned long long at_ns)
{
	static char data[1500];
	union {
		char bytes[CMSG_SPACE(sizeof(at_ns))];
		struct cmsghdr align;
	} control = {};
	struct iovec io = { data, bytes };
	struct msghdr m = { .msg_name = to, .msg_namelen = sizeof(*to), .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (at_ns) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control.bytes);
		head = CMSG_FIRSTHDR(&m);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_TXTIME;
		head->cmsg_len = CMSG_LEN(sizeof(at_ns));
		memcpy(CMSG_DATA(head), &at_ns, sizeof(at_ns));
	}
	return sendmsg(fd, &m, 0) < 0;
}

/* A socket that may say when, or -1. */
static int socket_make(void)
{
	struct sock_txtime txtime = { .clockid = CLOCK_MONOTONIC };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), bytes = 1 << 22;

	if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)) ||
			setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes))))
		return -1;
	return fd;
}

#define FLOWS_MAX 10000

/* at_ns: 0 for datagrams without a time. */
static int send_many(struct sockaddr_in *to, unsigned long flows, unsigned long count, unsigned long long at_ns)
{
	static int fd[FLOWS_MAX];
	unsigned long long begun_ns;
	unsigned long flow, i;

	for (flow = 0; flow < flows && flow < FLOWS_MAX; flow++) {
		fd[flow] = socket_make();
		if (fd[flow] < 0 || connect(fd[flow], (struct sockaddr *)to, sizeof(*to)) ||
		    send_one(fd[flow], to, 1000, at_ns))
			return 1;
	}
	begun_ns = now_ns();
	for (i = 1; i < count; i++)
		for (flow = 0; flow < flows && flow < FLOWS_MAX; flow++)
			if (send_one(fd[flow], to, 1000, at_ns))
				return 1;
	if (!at_ns)
		printf("%llu\n", (now_ns() - begun_ns) / ((count - 1) * flows));
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	unsigned long long at_ns;
	int fd, failed;

	if ((argc != 4 && argc != 6) || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: held ADDRESS PORT WAIT_MS [FLOWS COUNT]\n");
		return 2;
	}
	to.sin_port = htons(strtoul(argv[2], NULL, 10));
	at_ns = strtoull(argv[3], NULL, 10) ? now_ns() + strtoull(argv[3], NULL, 10) * 1000000 : 0;
	if (argc == 6) {
		failed = send_many(&to, strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10), at_ns);
	} else {
		fd = socket_make();
		failed = fd < 0 || send_one(fd, &to, 1000, at_ns) || send_one(fd, &to, 1001, 0) ||
			 send_one(fd, &to, 64, 0);
	}
	if (failed)
		perror("held");
	return failed;
}

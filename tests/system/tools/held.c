// SPDX-License-Identifier: GPL-2.0-only
/*
 * held ADDRESS PORT WAIT_MS: three datagrams of one flow, of 1000, 1001 and 64 bytes: the first is to leave in WAIT_MS
 * (SO_TXTIME), the others have no time of their own.
 */
#include <arpa/inet.h>
#include <linux/net_tstamp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static unsigned long long clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

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

int main(int argc, char **argv)
{
	struct sock_txtime txtime = { .clockid = CLOCK_MONOTONIC };
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (argc != 4 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: held ADDRESS PORT WAIT_MS\n");
		return 2;
	}
	to.sin_port = htons(strtoul(argv[2], NULL, 10));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof(txtime)) ||
	    send_one(fd, &to, 1000, clock_ns() + strtoull(argv[3], NULL, 10) * 1000000) || send_one(fd, &to, 1001, 0) ||
	    send_one(fd, &to, 64, 0)) {
		perror("held");
		return 1;
	}
	return 0;
}

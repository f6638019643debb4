// SPDX-License-Identifier: GPL-2.0-only
/*
 * An application that asks and waits for the answer, over one TCP connection of a stack that is not ours, and says
 * how long the slowest answer took.
 *
 * usage: ask serve PORT CONTROL
 *	answers each question after 2 ms, one connection after the other, until it is killed
 * usage: ask ADDRESS PORT LOCAL_PORT CONTROL COUNT
 *	asks COUNT times, 100 times a second or, after a slow answer, at once, 4,000 bytes there and back.
 *	Prints {"answers": N, "slowest_us": N, "median_us": N} and ends with 0, or with 1 and the reason on stderr.
 * CONTROL: the congestion control of the socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

#define BYTES 4000
#define ANSWER_US 2000
#define INTERVAL_NS (10 * 1000 * 1000LL)

/* NULL: any address, IPv6 and IPv4. */
static struct sockaddr_in6 address_of(const char *address, const char *port)
{
	const struct addrinfo hints = { .ai_family = AF_INET6, .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_V4MAPPED | AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	struct addrinfo *found;
	struct sockaddr_in6 result;

	if (getaddrinfo(address, port, &hints, &found)) {
		errno = EINVAL;
		die(address ?: port);
	}
	result = *(struct sockaddr_in6 *)found->ai_addr;
	freeaddrinfo(found);
	return result;
}

static int socket_open(const char *port, const char *control)
{
	struct sockaddr_in6 local = address_of(NULL, port);
	int fd = socket(AF_INET6, SOCK_STREAM, 0), one = 1, zero = 0;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("a socket");
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)))
		die(control);
	if (bind(fd, (struct sockaddr *)&local, sizeof(local)))
		die(port);
	return fd;
}

static void bytes_send(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	for (; len; bytes += n, len -= n) {
		n = send(fd, bytes, len, MSG_NOSIGNAL);
		if (n < 0)
			die("sending");
	}
}

/* Returns whether all of them came, and not the end of the connection. */
static int bytes_receive(int fd, char *bytes, size_t len)
{
	ssize_t n;

	for (; len; bytes += n, len -= n) {
		n = recv(fd, bytes, len, 0);
		if (n < 0)
			die("receiving");
		if (!n)
			return 0;
	}
	return 1;
}

static void serve(const char *port, const char *control)
{
	int fd = socket_open(port, control), client;
	char bytes[BYTES];

	if (listen(fd, 16))
		die(port);
	for (;;) {
		client = accept(fd, NULL, NULL);
		if (client < 0)
			die("accepting");
		while (bytes_receive(client, bytes, sizeof(bytes))) {
			usleep(ANSWER_US);
			bytes_send(client, bytes, sizeof(bytes));
		}
		close(client);
	}
}

static int by_size(const void *a, const void *b)
{
	const long long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* How long the answer took. */
static long long ask(int fd)
{
	static char bytes[BYTES];
	long long begun_ns = now_ns();

	bytes_send(fd, bytes, sizeof(bytes));
	if (!bytes_receive(fd, bytes, sizeof(bytes))) {
		errno = EPIPE;
		die("the answer");
	}
	return now_ns() - begun_ns;
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 to;
	long long *took, begun_ns;
	int fd, count, i;

	if (argc == 4 && !strcmp(argv[1], "serve"))
		serve(argv[2], argv[3]);
	count = argc == 6 ? atoi(argv[5]) : 0;
	if (count <= 0) {
		fputs("usage: ask serve PORT CONTROL | ask ADDRESS PORT LOCAL_PORT CONTROL COUNT\n", stderr);
		return 1;
	}
	took = calloc(count, sizeof(*took));
	to = address_of(argv[1], argv[2]);
	fd = socket_open(argv[3], argv[4]);
	if (!took || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die(argv[1]);
	begun_ns = now_ns();
	for (i = 0; i < count; i++) {
		wait_until(begun_ns + i * INTERVAL_NS);
		took[i] = ask(fd);
	}
	qsort(took, count, sizeof(*took), by_size);
	printf("{\"answers\": %d, \"slowest_us\": %lld, \"median_us\": %lld}\n", count, took[count - 1] / 1000,
	       took[count / 2] / 1000);
	return 0;
}

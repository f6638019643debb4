// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection whose segments have a digest, as BGP with a password: TCP-MD5 (md5) or, from Linux 6.7 on, TCP-AO (ao).
 *
 * digest KIND serve ADDRESS PORT: takes one connection from ADDRESS, and what it sends until its end.
 * digest KIND send ADDRESS PORT: sends without an end, under Reno.
 *
 * Exit 3: the kernel does not have that digest.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY "sesame"
#define EXIT_UNSUPPORTED 3
#define AO_ADD_KEY 38 /* linux/tcp.h has it since 6.7 */

struct ao_add {
	struct sockaddr_storage addr;
	char alg_name[64];
	int ifindex;
	unsigned int flags;
	unsigned short reserved;
	unsigned char prefix, sndid, rcvid, maclen, keyflags, keylen, key[80];
} __attribute__((aligned(8)));

static int fail(const char *what)
{
	fprintf(stderr, "digest: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static int key_set(int fd, const char *kind, const struct addrinfo *peer)
{
	struct tcp_md5sig md5 = { .tcpm_keylen = strlen(KEY) };
	struct ao_add ao = { .alg_name = "hmac(sha1)",
			     .prefix = peer->ai_family == AF_INET ? 32 : 128,
			     .sndid = 100,
			     .rcvid = 100,
			     .keylen = strlen(KEY) };
	struct sockaddr_storage any = {};

	memcpy(&any, peer->ai_addr, peer->ai_addrlen);
	/* A key is for all ports of its host. */
	if (peer->ai_family == AF_INET)
		((struct sockaddr_in *)&any)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&any)->sin6_port = 0;
	if (!strcmp(kind, "ao")) {
		memcpy(&ao.addr, &any, sizeof(any));
		memcpy(ao.key, KEY, strlen(KEY));
		return setsockopt(fd, IPPROTO_TCP, AO_ADD_KEY, &ao, sizeof(ao));
	}
	memcpy(&md5.tcpm_addr, &any, sizeof(any));
	memcpy(md5.tcpm_key, KEY, strlen(KEY));
	return setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &md5, sizeof(md5));
}

static int serve(int fd, const struct addrinfo *peer, const char *port)
{
	static char buf[65536];
	struct sockaddr_storage local = {};
	int on = 1, conn;

	local.ss_family = peer->ai_family;
	/* The port is at the same place in both families. */
	((struct sockaddr_in *)&local)->sin_port = htons(atoi(port));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (void *)&local, peer->ai_addrlen) || listen(fd, 1))
		return fail("listen");
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		return fail("accept");
	while (read(conn, buf, sizeof(buf)) > 0)
		;
	return EXIT_SUCCESS;
}

static int send_all(int fd, const struct addrinfo *peer)
{
	static char buf[65536];

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4))
		return fail("reno");
	if (connect(fd, peer->ai_addr, peer->ai_addrlen))
		return fail("connect");
	while (write(fd, buf, sizeof(buf)) > 0)
		;
	return fail("send");
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *peer;
	int fd;

	if (argc != 5 || getaddrinfo(argv[3], argv[4], &hints, &peer)) {
		fprintf(stderr, "usage: digest md5|ao serve|send ADDRESS PORT\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	fd = socket(peer->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail("socket");
	if (key_set(fd, argv[1], peer)) {
		fail("key");
		return errno == ENOPROTOOPT || errno == ENOENT || errno == EOPNOTSUPP ? EXIT_UNSUPPORTED : EXIT_FAILURE;
	}
	return !strcmp(argv[2], "serve") ? serve(fd, peer, argv[4]) : send_all(fd, peer);
}

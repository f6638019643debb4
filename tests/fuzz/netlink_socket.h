/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_NETLINK_SOCKET_H
#define TESTS_NETLINK_SOCKET_H
/*
 * A socket to rtnetlink that is none, by --wrap, for one program: the fuzzer, or the unit tests (lib/netlink_case.c). Each
 * of them sends, receives and closes in its own way.
 */
#include <libmnl/libmnl.h>
#include <sys/socket.h>

#define PORT 7

struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags);
int __wrap_mnl_socket_bind(struct mnl_socket *s, unsigned int groups, pid_t pid);
int __wrap_mnl_socket_setsockopt(const struct mnl_socket *s, int type, void *buf, socklen_t len);
unsigned int __wrap_mnl_socket_get_portid(const struct mnl_socket *s);
ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *s, const void *req, size_t bytes);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *s, void *buf, size_t size);
int __wrap_mnl_socket_close(struct mnl_socket *s);

struct mnl_socket *__wrap_mnl_socket_open2(int bus, int flags)
{
	static char nothing;

	(void)bus;
	(void)flags;
	return (struct mnl_socket *)&nothing;
}

int __wrap_mnl_socket_bind(struct mnl_socket *s, unsigned int groups, pid_t pid)
{
	(void)s;
	(void)groups;
	(void)pid;
	return 0;
}

int __wrap_mnl_socket_setsockopt(const struct mnl_socket *s, int type, void *buf, socklen_t len)
{
	(void)s;
	(void)type;
	(void)buf;
	(void)len;
	return 0;
}

unsigned int __wrap_mnl_socket_get_portid(const struct mnl_socket *s)
{
	(void)s;
	return PORT;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NETNS_H
#define SLUICE_NETNS_H
/* Network namespaces beside this one. */
#include "lib/util.h"

/*
 * Calls fn, in a thread of its own, in each other network namespace of this machine that has a name in /run/netns or a
 * process. missed: how many could not be entered, which needs CAP_SYS_ADMIN. 0, or -errno.
 */
int netns_each(void (*fn)(void *ctx), void *ctx, unsigned int *missed);
/* This namespace's number for the network namespace of fd: 0, or -ENOENT: no link leads there; or -errno. */
int netns_id(int fd, __s32 *id);
/*
 * Calls fn for each address in the network namespace with this number, except for those of a link or a host. 0, or
 * -errno; -EACCES: it needs CAP_NET_ADMIN.
 */
int netns_addresses(__s32 id, void (*fn)(const struct sluice_addr *addr, void *ctx), void *ctx);

#endif

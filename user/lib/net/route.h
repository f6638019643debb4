/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NET_ROUTE_H
#define SLUICE_NET_ROUTE_H
/* Shared by route.c and route_find.c: prefixes as routes write them. */
#include <libmnl/libmnl.h>
#include "lib/route.h"

/* The address bytes of a prefix as its own family writes them, and the numbers of those bytes and bits. */
const __u8 *prefix_bytes(const struct peer_key *p, int *family, int *len, int *bits);
/* Address bytes of an attribute, as a mapped address for IPv4; :: if it is too short. */
struct sluice_addr attr_addr(const struct nlattr *a, int family);
/* Every route of a family, of all tables; protocol: only those of it, which the kernel sorts out; 0: of any. */
int routes_dump(int family, __u8 protocol, mnl_cb_t cb, void *data);

/* A route by its own attributes; one that we could not copy has no interface. */
struct route_msg {
	struct route route;
	struct peer_key prefix;
};
void route_parse(const struct nlmsghdr *nlh, struct route_msg *out);

#endif

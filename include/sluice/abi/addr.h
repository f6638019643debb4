/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_ADDR_H
#define SLUICE_ABI_ADDR_H
/* Addresses in map keys. */
#include "sluice/types.h"

/* Addresses are IPv6; an IPv4 address is the mapped ::ffff:a.b.c.d. Network byte order. */
struct sluice_addr {
	__u8 b[16];
};

/* A host: its address, in the routing domain of the interface by which it is reached (struct port). */
struct host_key {
	__u8 b[16]; /* as in struct sluice_addr */
	__u16 domain;
};

_Static_assert(sizeof(struct host_key) == 18, "hashed as a whole: no padding");

#endif

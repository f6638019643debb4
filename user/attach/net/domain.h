/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_DOMAIN_H
#define SLUICE_ATTACH_DOMAIN_H
#include "lib/pins.h"

/* The routing domain of an interface, and its VRF (0: none). 0, or -errno: both are 0. */
int domain_get(__u32 ifindex, __u16 *domain, __u32 *vrf);
/* Notes the VRFs of all ports, and whether there are several domains. */
void domains_apply(const struct pins *pins);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PEERS_H
#define SLUICE_ATTACH_PEERS_H
#include "lib/config.h"
#include "lib/pins.h"

/*
 * Makes the peers map match the configuration, and marks peers that it no longer has as leaving. c gets the measured T
 * of its prefixes.
 */
int peers_apply(const struct pins *pins, struct config *c);
/* Writes a peer of the configuration to the map. 0, or -errno. */
int peer_set(const struct pins *pins, const struct config *c, const struct config_peer *p);

struct leaving {
	__u64 longest_ns; /* base RTT */
	unsigned int peers;
};

/* Adds how many peers leave, and the longest base RTT of all. 0, or -errno with a message. */
int peers_leaving(const struct pins *pins, struct leaving *l);
void peers_drop_leaving(const struct pins *pins);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_DEVICES_H
#define SLUICE_CONFIG_DEVICES_H
/* From the entries of the file to the interfaces of this machine. */
#include "lib/config.h"

/* The Ethernet devices of this network namespace. */
struct devices {
	unsigned int n;
	char name[][IFNAMSIZ];
};

/* NULL: see errno. To be freed. */
struct devices *devices_read(void);

int config_is_pattern(const char *name);
/* The entry that a device of this name takes: that of its name, or else the first whose pattern matches. NULL: none. */
const struct config_interface *config_entry_of(const struct config *c, const char *name);

/* Makes the list of interfaces: those of the entries without a pattern. 0, or -ENOMEM. */
int config_interfaces_begin(struct config *c);
/*
 * Adds the devices that a pattern matches. They take the places of interfaces by pattern that are gone; all others keep
 * theirs. 0, or -ENOMEM.
 */
int config_interfaces_take(struct config *c, const struct devices *d);
void config_interfaces_free(struct config *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NIC_H
#define SLUICE_NIC_H
/*
 * Ports with pauses whose NIC does PFC itself (dcb.h): its priorities are set, and its counters are read. v: the port's
 * entry in pfc_ports; acts: Sluice enforces, and bypass is off.
 */
#include "lib/config.h"
#include "lib/pins.h"

/* Whether a NIC supports a configuration: changes nothing. 0, or -errno with a message. */
int nic_check(const struct pins *pins, const struct config *c);

/*
 * Plans the NIC's setting: PFC_F_NIC*, nic_was and nic_set of v, which has the previous ones. 0, or -errno with a
 * message. Then v goes into the map, and then the NIC is set: a crash in between has changed nothing.
 */
int nic_plan(const char *name, struct pfc_port *v, int acts);
int nic_tell(const char *name, const struct pfc_port *v);

/* Restores the previous PFC, if the NIC still has our setting. 0, or -errno with a message: another try may succeed. */
int nic_restore(const char *name, const struct pfc_port *v);

/*
 * Once a second: reads its counters. Returns 1 if v has a new plan. *silent: it has no counters except those of struct
 * ieee_pfc; 0 at first.
 */
int nic_follow(const char *name, struct pfc_port *v, int acts, struct pfc_nic *n, int *silent,
	       struct msg_limit *limit);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDITS_PORT_H
#define SLUICE_CREDITS_PORT_H
/* The ports that VOQs arrive by, their rings, and what a round has to do for them. */
#include "daemon/credits_state.h"

/* --- a round: the ports that grant in it, and the slots whose racks are told at its end --- */

/* Adds the port to this round: its packets may grant, and port_grant() follows. */
void port_visit(struct credits *c, __u32 port, __u64 now);
/* Tells the VOQ at the end of this round. */
void slot_tell(struct credits *c, __u32 i);
/* Grants the credit that packets have left over; notes which VOQs to tell. */
void port_grant(struct credits *c, __u32 port);

/* --- rings --- */

/*
 * Waits for the ring of a port: a packet holds it for less than a microsecond, and a lock whose CPU is gone is broken
 * after TRYLOCK_NS. Returns the time, for ring_leave().
 */
__u64 ring_enter(struct credits *c, __u32 port);
void ring_leave(struct credits *c, __u32 port, __u64 since);
/* Whether ingress notes the packets of the slot, by which its port grants. */
void slot_watch(struct credits *c, __u32 i, __u32 watched);
/* Moves the slot to another port; CREDITS_NONE: to none. */
void ring_move(struct credits *c, __u32 i, __u32 port);
/* Sets the parameters of the slot's peer. */
void ring_params(struct credits *c, __u32 i);

/* --- ports --- */

void credit_port_read(struct credits *c, struct credit_port *p);
/*
 * Credit is counted in wire bytes. Packets that leave by a pod's veth do not have our headers, so it takes credit for
 * more than its speed to fill it.
 */
void port_rate(struct credits *c, __u32 port);
/* The index of the port, or CREDITS_NONE. */
__u32 port_index(struct credits *c, __u32 ifindex);

#endif

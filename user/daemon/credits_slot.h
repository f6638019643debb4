/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDITS_SLOT_H
#define SLUICE_CREDITS_SLOT_H
/* Slots of arriving VOQs, and the messages of credit to their racks. */
#include "daemon/credits_state.h"

/* The configured peer with the longest prefix, or CREDITS_NONE. */
__u32 peer_find(const struct credits *c, const struct sluice_addr *a);

/* An idle slot for a VOQ that has none, or CREDITS_NONE. */
__u32 slot_new(struct credits *c, const struct arrival_key *key);
void slot_free(struct credits *c, __u32 i);
/* Forgets all arriving VOQs. */
void slots_forget(struct credits *c);
void slot_activate(struct credits *c, __u32 i);
void slot_deactivate(struct credits *c, __u32 i);
/* Moves a slot to another port, if that turns out to grant it. */
void slot_to_port(struct credits *c, __u32 i, __u32 port);

/* Takes ingress's notes on the slot's VOQ since the last time. */
void slot_learn(struct credits *c, __u32 i);
/* Sends the totals of all slots to be told, rack by rack. */
void credits_tell(struct credits *c);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sets of programs that a configuration wants, and the wings (abi/control.h): by its entries, so that an interface
 * that appears and matches a pattern finds its programs.
 */
#include "attach/prog/prog_room.h"
#include "attach/prog/sets.h"
#include "sluice.skel.h"

unsigned int sets_wanted(const struct config *c)
{
	unsigned int sets = c->node.uplink ? SET_BIT(SET_PODS) | SET_BIT(SET_BACKLOG) : 0;
	unsigned int k;

	for (k = 0; k < c->entries_count; k++) {
		const struct config_interface *i = &c->entries[k];

		if (i->role == PORT_F_HOST)
			sets |= SET_BIT(SET_HOST);
		else
			sets |= SET_BIT(SET_SWITCH) | SET_BIT(SET_BACKLOG);
		if (i->voqs == PORT_F_VOQ_UP)
			sets |= SET_BIT(SET_VOQS);
		if (i->classes_count && i->queue != CONFIG_QUEUE_SLUICE)
			sets |= SET_BIT(SET_CLASSES);
		if (i->pfc && i->role == PORT_F_SWITCH)
			sets |= SET_BIT(SET_PFC);
	}
	return sets;
}

__u8 wings_wanted(const struct config *c)
{
	unsigned int k;
	__u8 wings = 0;

	for (k = 0; k < c->entries_count; k++) {
		if (c->entries[k].pfc)
			wings |= WING_PAUSES;
		if (c->entries[k].voqs)
			wings |= WING_RACKS;
	}
	for (k = 0; k < c->peers_count; k++)
		if (c->peers[k].hiercc)
			wings |= WING_RACKS;
	return wings;
}

unsigned int sets_missing(const struct prog_room *prog, unsigned int sets, __u8 wings)
{
	const unsigned int winged = SET_BIT(SET_HOST) | SET_BIT(SET_SWITCH) | SET_BIT(SET_VOQS);
	unsigned int i;

	for (i = 0; i < SET_N; i++)
		if (prog->of[i] && (!(winged & SET_BIT(i)) || !(wings & ~prog->of[i]->rodata->wings)))
			sets &= ~SET_BIT(i);
	return sets;
}

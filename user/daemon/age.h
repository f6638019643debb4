/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_AGE_H
#define SLUICE_AGE_H
/* Once a second all flows: those that are idle or closed are forgotten, and the watcher sees them. */
#include "daemon/credits.h"
#include "daemon/ppfc.h"
#include "daemon/rtts.h"
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"
#include "lib/util.h"

/* To be filled in: the first six. */
struct age {
	const struct pins *pins;
	int rx_states;		 /* the map */
	__u32 flows_room;	 /* of the map of flows */
	struct credits *credits; /* these two run on meanwhile */
	struct ppfc *ppfc;
	struct rtts *rtts;
	const struct watcher *watcher; /* or NULL */
	int crowded;		       /* the flow map was nearly full a tick ago */
	int empty;		       /* it had no entry, */
	__u64 made;		       /*   and this many had been made before it was looked through */
	struct msg_limit limit, crowded_limit;
};

void age_tick(struct age *a, const struct config *c, __u64 now_ns);

#endif

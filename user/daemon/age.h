/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_AGE_H
#define SLUICE_AGE_H
/* Once a second, all flows: idle and closed ones are forgotten, and the watcher sees them. */
#include <stdbool.h>
#include "daemon/credits.h"
#include "daemon/ppfc.h"
#include "daemon/rtts.h"
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"
#include "lib/util.h"

/* The caller fills in the first six members. */
struct age {
	const struct pins *pins;
	int rx_states;		 /* the map */
	int flow_paths;		 /* the map */
	__u32 flows_room;	 /* capacity of the map of flows */
	struct credits *credits; /* credits and the next are run in between */
	struct ppfc *ppfc;
	struct rtts *rtts;
	const struct watcher *watcher; /* or NULL */
	bool crowded;		       /* the flow map was nearly full at the last tick */
	bool empty;		       /* the flow map had no entry */
	__u64 made;		       /* entries made before the last walk */
	struct msg_limit limit, crowded_limit;
};

void age_tick(struct age *a, const struct config *c, __u64 now_ns);

#endif

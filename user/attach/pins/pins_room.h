/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PINS_ROOM_H
#define SLUICE_ATTACH_PINS_ROOM_H
/* What pins/ knows between two calls. */
#include "lib/util.h"

struct adopt;

struct pins_room {
	char dir[256];
	int lock_fd;
	struct adopt *adopt; /* the maps are of another version, and are being converted; else NULL */
#define KEPT_PINS 64
	struct {
		char name[32];
		int fd;
	} kept[KEPT_PINS]; /* what is pinned, links at tcx left aside */
	unsigned int kept_n;
	struct msg_limit limit;
};

#endif

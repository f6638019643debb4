/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PARTS_H
#define SLUICE_PARTS_H
/* The daemon's work over the maps: what it sends, grants and pauses, and flows that are forgotten. */
#include "attach/dataplane.h"
#include "daemon/age.h"
#include "daemon/loop.h"
#include "daemon/reports.h"
#include "daemon/rtts.h"
#include "daemon/tor.h"

struct parts {
	const struct pins *pins;
	const struct config *config; /* in force; the caller's */
	struct messages *messages;
	struct reports *reports;
	struct credits *credits;
	struct tor *tor;
	struct ppfc *ppfc;
	struct rtts *rtts;
	struct age age;
};

/* Over the maps of dp, which stay open longer. 0, or -errno with a message: parts_close() closes what is open. */
int parts_open(struct parts *p, const struct dataplane *dp, const struct config *c);
/* Neighbours that are paused are let go. */
void parts_close(struct parts *p);

/* Once a second. now_ns: of the tick. */
void parts_tick(struct parts *p, __u64 now_ns);
/* w is told from now on; NULL: nobody. */
void parts_report_to(struct parts *p, const struct watcher *w);
/* The loop runs each part when it has something to do. 0, or -errno. */
int parts_watch(struct parts *p, struct loop *loop);

#endif

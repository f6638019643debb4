/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PARTS_H
#define SLUICE_PARTS_H
/* The daemon's work over the maps: messages, grants, pauses, and forgetting flows. */
#include <systemd/sd-event.h>
#include "attach/dataplane.h"
#include "daemon/age.h"
#include "daemon/reports.h"
#include "daemon/rtts.h"
#include "daemon/tor.h"

struct parts {
	const struct pins *pins;
	const struct config *config; /* in force; owned by the caller */
	struct messages *messages;
	struct reports *reports;
	struct credits *credits;
	struct tor *tor;
	struct ppfc *ppfc;
	struct rtts *rtts;
	struct age age;
};

/* Opens the parts over the maps of dp, which stay open longer. 0, or -errno with a message: call parts_close(). */
int parts_open(struct parts *p, const struct dataplane *dp, const struct config *c);
/* A new configuration is in force. */
void parts_reload(struct parts *p, const struct dataplane *dp, const struct config *c);
/* Releases paused neighbours. */
void parts_close(struct parts *p);

/* Once a second. now_ns: of the tick. */
void parts_tick(struct parts *p, __u64 now_ns);
/* Sets the watcher; NULL: none. */
void parts_report_to(struct parts *p, const struct watcher *w);
/* Adds the parts to the loop, which runs each when it has work. 0, or -errno. */
int parts_watch(struct parts *p, sd_event *loop);

#endif

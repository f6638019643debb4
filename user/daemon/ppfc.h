/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_LOOP_H
#define SLUICE_PPFC_LOOP_H
/* Pauses (sluice/pause/pfc.h, sluice/pause/ppfc.h): which ports have them, and what their neighbours are told. */
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"

struct ppfc;

/* alarms_fd: the ring of queues that get long while the loop sleeps. 0, or -errno. */
int ppfc_open(const struct pins *pins, int alarms_fd, struct ppfc **ppfc);
/* Whom XOFF holds is let go. */
void ppfc_close(struct ppfc *p);

/* A configuration, or ports that changed; it stays the caller's and in use until the next. */
void ppfc_apply(struct ppfc *p, const struct config *config);

/*
 * To be waited for; then call ppfc_run(). While all queues are short nothing makes it ready. It may be called at
 * any time, and is within what takes long: nothing is done before its time.
 */
int ppfc_fd(const struct ppfc *p);
void ppfc_run(struct ppfc *p);

/* Once a second: says what the watchdog did, and reads what NICs did. */
void ppfc_tick(struct ppfc *p);

/* Who is told of pauses by prediction from now on; NULL: nobody. */
void ppfc_watch(struct ppfc *p, const struct watcher *w);

#endif

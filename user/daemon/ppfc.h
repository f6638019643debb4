/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_LOOP_H
#define SLUICE_PPFC_LOOP_H
/* Pauses (sluice/pause/pfc.h, sluice/pause/ppfc.h): the ports that have them, and the frames to their neighbours. */
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"

struct ppfc;

/* alarms_fd: the ring of queues that get long while the loop sleeps. 0, or -errno. */
int ppfc_open(const struct pins *pins, int alarms_fd, struct ppfc **ppfc);
/* Releases neighbours held by XOFF. */
void ppfc_close(struct ppfc *p);

/* Applies a configuration, or changed ports; the caller keeps it valid until the next call. */
void ppfc_apply(struct ppfc *p, const struct config *config);

/*
 * Wait for it, then call ppfc_run(). While all queues are short it never becomes ready. ppfc_run() may be called at any
 * time, also during long operations: it does nothing before its time.
 */
int ppfc_fd(const struct ppfc *p);
void ppfc_run(struct ppfc *p);

/* Once a second: reports the watchdog's actions, and reads the NICs' counters. */
void ppfc_tick(struct ppfc *p);

/* Sets the watcher of predicted pauses; NULL: none. */
void ppfc_watch(struct ppfc *p, const struct watcher *w);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDITS_H
#define SLUICE_CREDITS_H
/* HierCC at the receiver (sluice/rack/hiercc.h, part 2): grants credit for arrivals, port by port. */
#include "daemon/messages.h"
#include "daemon/watcher.h"
#include "lib/pins.h"

struct credits;

/*
 * news_fd: the ring of packets of unwatched VOQs. The state of an earlier daemon is forgotten: the arrivals meanwhile
 * are unknown, and each VOQ begins anew with its next packet. 0, or -errno.
 */
int credits_open(const struct pins *pins, int news_fd, struct messages *messages, struct credits **credits);
void credits_close(struct credits *c);

/* Applies a configuration, at the start or a new one; the caller keeps it valid until the next call. */
void credits_apply(struct credits *c, const struct config *config);

/*
 * Wait for it, then call credits_run(). While no VOQ is active it never becomes ready. credits_run() may be called at
 * any time, also during long operations: it does nothing before its time.
 */
int credits_fd(const struct credits *c);
void credits_run(struct credits *c);

/* Once a second: follows changed ports, ages VOQs, at either end. */
void credits_tick(struct credits *c);

/* Sets the watcher of VOQs to other racks; NULL: none. */
void credits_watch(struct credits *c, const struct watcher *w);

#endif

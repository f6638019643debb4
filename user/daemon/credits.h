/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDITS_H
#define SLUICE_CREDITS_H
/* HierCC at the receiver (sluice/rack/hiercc.h, part 2): what arrives is granted, port by port. */
#include "daemon/messages.h"
#include "daemon/watcher.h"
#include "lib/pins.h"

struct credits;

/*
 * news_fd: the ring of packets of VOQs that are not watched. What an earlier daemon knew is forgotten: what
 * arrived meanwhile is unknown, and each VOQ begins anew with its next packet. 0, or -errno.
 */
int credits_open(const struct pins *pins, int news_fd, struct messages *messages, struct credits **credits);
void credits_close(struct credits *c);

/* A configuration, at the start or a new one; it stays the caller's and in use until the next. */
void credits_apply(struct credits *c, const struct config *config);

/*
 * To be waited for; then call credits_run(). While no VOQ is active nothing makes it ready. It may be called at any
 * time, and is within what takes long: nothing is done before its time.
 */
int credits_fd(const struct credits *c);
void credits_run(struct credits *c);

/* Once a second: ports that changed, VOQs that are idle; at either end. */
void credits_tick(struct credits *c);

/* Who is told of VOQs to other racks from now on; NULL: nobody. */
void credits_watch(struct credits *c, const struct watcher *w);

#endif

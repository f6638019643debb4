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

/* --- steps of credits_run() and credits_tick(), which tests call one by one --- */

/* One round: learns from the active slots, grants, tells. */
void credits_round(struct credits *c);
/* Takes a record of the ring of news. */
int news_take(void *ctx, void *data, size_t size);
/* True if the slot is no longer active. */
int slot_rests(struct credits *c, __u32 i, __u64 now);
void credits_sleep(struct credits *c);

#define CREDITS_IDLE_EPOCHS 2 /* a slot rests after so long without a packet */
#define CREDITS_AGE_STEP 256  /* VOQs of this host that are checked in one step */

struct voq_age_ctx {
	struct credits *c;
	__u64 now_ns;
};
int voq_age(const struct voq_key *key, const struct voq *v, void *ctx);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TOR_H
#define SLUICE_TOR_H
/* A switch as a ToR of HierCC (bpf/rack/tor.bpf.h): tells its hosts R. */
#include "daemon/messages.h"

struct tor;

/* map_fd: the ring of tor_news. 0, or -errno. */
int tor_open(int map_fd, struct messages *messages, struct tor **tor);
void tor_close(struct tor *t);

/* Wait for it, then call tor_run(). */
int tor_fd(const struct tor *t);
void tor_run(struct tor *t, const struct config *c, __u64 seq_base_ns);

/* Once a second: forgets hosts that no longer ask. */
void tor_tick(struct tor *t);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TOR_H
#define SLUICE_TOR_H
/* A switch as a ToR of HierCC (bpf/rack/tor.bpf.h): what its hosts are told of R. */
#include "daemon/messages.h"

struct tor;

/* map_fd: the ring of what is to be told. 0, or -errno. */
int tor_open(int map_fd, struct messages *messages, struct tor **tor);
void tor_close(struct tor *t);

/* To be waited for; then call tor_run(). */
int tor_fd(const struct tor *t);
void tor_run(struct tor *t, const struct config *c, __u64 seq_base_ns);

/* Once a second: hosts that ask no longer are forgotten. */
void tor_tick(struct tor *t);

#endif

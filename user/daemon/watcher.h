/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_WATCHER_H
#define SLUICE_WATCHER_H
#include "sluice/abi/abi.h"

/* Callbacks that sum up the daemon's observations. All are set. */
struct watcher {
	void *ctx;
	/* Once a second, each flow, and each VOQ of this rack. */
	void (*flow)(void *ctx, const struct flow_key *key, const struct flow *f, __u64 now_ns);
	void (*voq)(void *ctx, const struct voq *v, __u64 now_ns);
	/* Each predicted pause, and how long the buffer would have lasted. */
	void (*predicted)(void *ctx, __u64 lead_ns);
};

#endif

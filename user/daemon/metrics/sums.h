/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_SUMS_H
#define SLUICE_METRICS_SUMS_H
/* The sums of a tick: by state, by peer, the busiest flows, histograms. */
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"

struct metrics;

#define METRICS_SENT_SLOTS (1 << 16)

#define BUCKETS 19
/* Bounds of buckets in ns; one more bucket takes the rest. */
extern const __u64 metrics_bounds[BUCKETS];

struct histogram {
	__u64 count[BUCKETS + 1];
	double sum_s;
};

/* The bytes of a flow at the previous tick. If two flows share a slot neither is measured: flow_why() judges both. */
struct sent {
	__u64 flow; /* hash of its key */
	__u64 tx_bytes, at_ns;
};

/* Sums of the flows to one prefix. */
struct peer_sum {
	struct peer_key key;
	__u64 rtt_ns, measured_ns, rtt_changes; /* as in the peers map */
	__u64 flows, held[FLOW_HOLDS], rate_bps, window_bytes, queue_ns, age_ns;
	q24_t u;
};

struct top_flow {
	struct flow_key key;
	const char *held; /* NULL: no feedback */
	__u64 tx_bytes, rate_bps, window_bytes, queue_ns;
};

struct state_sum {
	const char *name;
	__u64 flows;
};

/* The watcher that makes the sums. */
struct watcher sums_watcher(struct metrics *m);
/* At the first flow of a tick. */
void tick_begin(struct metrics *m);
/* Takes the peers of the configuration, and makes room for its busiest flows. */
void peers_take(struct metrics *m, const struct config *c);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_H
#define SLUICE_METRICS_H
/* Metrics for Prometheus: the counters of stats.h, and gauges and histograms from the daemon's tick. */
#include <stdio.h>
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"

struct metrics;

/* Listens at the configured place. A failure is reported and stops nothing: the tick retries. */
int metrics_open(const struct pins *pins, const struct config *c, struct metrics **m);
void metrics_reload(struct metrics *m, const struct config *c);
void metrics_close(struct metrics *m);

/* Wait for it, whether or not it listens; then call metrics_serve(), which does not wait for clients. */
int metrics_fd(const struct metrics *m);
void metrics_serve(struct metrics *m);

/* Its watcher, which takes flows, VOQs and pauses until metrics_close(). */
const struct watcher *metrics_watcher(const struct metrics *m);
/* To be called after all flows of a tick. */
void metrics_tick(struct metrics *m);

/* Prints HELP and TYPE of all metrics. */
void metrics_list(FILE *to);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_H
#define SLUICE_METRICS_H
/* What Prometheus is told: the counters of stats.h, and gauges and histograms that the daemon's tick makes. */
#include <stdio.h>
#include "daemon/watcher.h"
#include "lib/config.h"
#include "lib/pins.h"

struct metrics;

/* Listens where the configuration says. That this fails is said and stops nothing: the tick tries again. */
int metrics_open(const struct pins *pins, const struct config *c, struct metrics **m);
void metrics_reload(struct metrics *m, const struct config *c);
void metrics_close(struct metrics *m);

/* To be waited for, whether or not it listens; then call metrics_serve(), which does not wait for clients. */
int metrics_fd(const struct metrics *m);
void metrics_serve(struct metrics *m);

/* It is told of flows, VOQs and pauses until metrics_close(). */
const struct watcher *metrics_watcher(const struct metrics *m);
/* After all flows of a tick. */
void metrics_tick(struct metrics *m);

/* HELP and TYPE of all metrics there are. */
void metrics_list(FILE *to);

#endif

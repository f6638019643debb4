/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_TEXT_H
#define SLUICE_METRICS_TEXT_H
/* The text that Prometheus reads. */
struct MHD_Response;
struct metrics;

/* NULL if the counters cannot be read, or there is no memory. */
struct MHD_Response *text_make(struct metrics *m);

#endif

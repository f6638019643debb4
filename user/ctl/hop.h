/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HOP_H
#define SLUICE_HOP_H
/* Hops as telemetry tells them. */
#include "lib/pins.h"

struct why;

/*
 * Puts what a port of this machine really has in place of what telemetry tells of the first hop: speed and queue.
 * Returns the ratio of real to told bytes, 0 if the first hop is elsewhere or not known.
 */
double hop_own(const struct pins *p, struct flow *f);
/* "50 Mbit/s", or "up to 100 Mbit/s" of a port elsewhere; returns buf, of HOP_STRLEN bytes. */
#define HOP_STRLEN 48
const char *hop_speed_text(__u64 bps, int own, char *buf);

/* The number of hops reported. */
unsigned int why_hops(const struct flow *f);
/* The used share of a hop's speed, from 0 to 1; -1: unknown. */
double hop_busy(const struct why *w, unsigned int i);
/* The same in words; returns buf, of HOP_STRLEN bytes. */
const char *hop_busy_text(const struct why *w, unsigned int i, char *buf);
/* Whether packets wait at a hop that sends less than half of its speed. */
int hop_is_shaped(const struct why *w, unsigned int i);

#endif

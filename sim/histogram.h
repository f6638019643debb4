/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_HISTOGRAM_H
#define SLUICE_SIM_HISTOGRAM_H
/*
 * Counts of values by their logarithm: 64 buckets between two powers of two, so a percentile is right to 0.8 %. Values below
 * 128 are exact, and so are mean and largest. Adding a value takes no memory; of a histogram that is zero at first, only the
 * pages that are used take any.
 */
#include <stdint.h>

#define HISTOGRAM_BITS 6
#define HISTOGRAM_TOP 40 /* bits of a value; larger values are in the last bucket */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_TOP - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

struct histogram {
	uint64_t count, sum, max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline void histogram_add(struct histogram *h, uint64_t v)
{
	uint32_t shift = v >> HISTOGRAM_BITS ? 63 - HISTOGRAM_BITS - __builtin_clzll(v) : 0;
	uint64_t i = ((uint64_t)shift << HISTOGRAM_BITS) + (v >> shift);

	h->buckets[i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1]++;
	h->count++;
	h->sum += v;
	if (v > h->max)
		h->max = v;
}

/* The value that this part of all values does not exceed. */
double histogram_percentile(const struct histogram *h, double part);
double histogram_mean(const struct histogram *h);

#endif

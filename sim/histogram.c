// SPDX-License-Identifier: GPL-2.0-only
/* See histogram.h. */
#include <math.h>
#include "sim/histogram.h"

/* The middle of a bucket. */
static double bucket_value(uint32_t i)
{
	uint32_t shift = i >> HISTOGRAM_BITS > 1 ? (i >> HISTOGRAM_BITS) - 1 : 0;
	uint64_t from = (uint64_t)(i - (shift << HISTOGRAM_BITS)) << shift;

	return from + ((1ULL << shift) - 1) / 2.0;
}

double histogram_percentile(const struct histogram *h, double part)
{
	uint64_t seen = 0, wanted = ceil(part * h->count);
	uint32_t i;

	for (i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		seen += h->buckets[i];
		if (seen && seen >= wanted)
			break;
	}
	return fmin(bucket_value(i), h->max);
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum / h->count : NAN;
}

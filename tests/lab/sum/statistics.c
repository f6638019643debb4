// SPDX-License-Identifier: GPL-2.0-only
/* Percentiles, Jain's index and rank correlation. */
#include <math.h>

#include "sum.h"

uint64_t percentile(const uint64_t *sorted, size_t count, double part)
{
	size_t rank = part * count;

	if (!count)
		return 0;
	if (rank < part * count)
		rank++;
	return sorted[rank ? rank - 1 : 0];
}

double jain(const double *rate, int count)
{
	double sum = 0, squares = 0;
	int i;

	for (i = 0; i < count; i++) {
		sum += rate[i];
		squares += rate[i] * rate[i];
	}
	return squares > 0 ? sum * sum / (count * squares) : 1;
}

/* The rank of a value among n: those below it, and half of the equal ones. */
static double rank(const double *value, int n, int i)
{
	int k, below = 0, same = 0;

	for (k = 0; k < n; k++) {
		below += value[k] < value[i];
		same += value[k] == value[i];
	}
	return below + (same - 1) / 2.0;
}

double rank_correlation(const double *a, const double *b, int n)
{
	double xy = 0, xx = 0, yy = 0;
	int i;

	for (i = 0; i < n; i++) {
		double x = rank(a, n, i) - (n - 1) / 2.0, y = rank(b, n, i) - (n - 1) / 2.0;

		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

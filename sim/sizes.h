/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SIZES_H
#define SLUICE_SIM_SIZES_H
/* Distributions of flow sizes: published ones by name, others from a file of lines "BYTES PERCENT". */
#include <stdint.h>

struct sizes {
	uint32_t count;
	double *bytes, *percent; /* percentage of flows that are at most this large; the last is 100 */
};

/* Returns 0, or -1 with a message. */
int sizes_load(const char *name, struct sizes *s);
void sizes_free(struct sizes *s);
double sizes_mean(const struct sizes *s);
/* The size for a number in [0, 1). At least 1. */
uint64_t sizes_draw(const struct sizes *s, double uniform);

#endif

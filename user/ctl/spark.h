/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SPARK_H
#define SLUICE_SPARK_H
/* A value as a bar, and its last minute as a row of small columns, in UTF-8 or in ASCII. */
#include <linux/types.h>
#include <stdbool.h>

#define SPARK_SAMPLES 60

/* The newest sample is the last one; of a young history the first ones are missing. */
struct spark {
	__u32 value[SPARK_SAMPLES];
	unsigned int n;
};

void spark_add(struct spark *s, __u32 value);
__u32 spark_max(const struct spark *s);

#define SPARK_STRLEN (3 * SPARK_SAMPLES + 1) /* the longest text: three bytes for each column */

/*
 * Writes exactly `width` columns, each with the largest of its samples: width divides SPARK_SAMPLES. full is the value
 * of the highest column; a value above 0 is always told from 0.
 */
void spark_format(const struct spark *s, unsigned int width, __u32 full, bool utf8, char buf[SPARK_STRLEN]);
/* Writes exactly `width` columns, at most SPARK_SAMPLES, of which value / full are filled. */
void bar_format(__u32 value, __u32 full, unsigned int width, bool utf8, char buf[SPARK_STRLEN]);

/* The smallest of 1, 2 and 5 times a power of ten that is at least value. */
__u32 spark_scale(__u32 value);

/* The number of bytes of text that fill at most `columns` columns of a terminal, for text of one column a character. */
int columns_cut(const char *text, int columns);

#endif

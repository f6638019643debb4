// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include "ctl/spark.h"

#define LEVELS 8

static const char *const levels_utf8[LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const levels_ascii[LEVELS] = { "_", ".", ":", "-", "=", "+", "*", "#" };
static const char *const eighths[LEVELS] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };

void spark_add(struct spark *s, __u32 value)
{
	memmove(s->value, s->value + 1, sizeof(s->value) - sizeof(s->value[0]));
	s->value[SPARK_SAMPLES - 1] = value;
	s->n += s->n < SPARK_SAMPLES;
}

__u32 spark_max(const struct spark *s)
{
	__u32 max = 0;
	unsigned int i;

	for (i = SPARK_SAMPLES - s->n; i < SPARK_SAMPLES; i++)
		if (s->value[i] > max)
			max = s->value[i];
	return max;
}

/* 0 for the value 0 only. */
static unsigned int level_of(__u32 value, __u32 full)
{
	__u64 level = full ? ((__u64)value * (LEVELS - 1) + full - 1) / full : 0;

	return level < LEVELS - 1 ? level : LEVELS - 1;
}

void spark_format(const struct spark *s, unsigned int width, __u32 full, bool utf8, char buf[SPARK_STRLEN])
{
	unsigned int each = SPARK_SAMPLES / width, first = SPARK_SAMPLES - s->n, i, k;
	const char *const *levels = utf8 ? levels_utf8 : levels_ascii;
	char *to = buf;
	__u32 max;

	for (i = 0; i < width; i++) {
		if ((i + 1) * each <= first) {
			to = stpcpy(to, " ");
			continue;
		}
		for (k = i * each, max = 0; k < (i + 1) * each; k++)
			if (k >= first && s->value[k] > max)
				max = s->value[k];
		to = stpcpy(to, levels[level_of(max, full)]);
	}
}

void bar_format(__u32 value, __u32 full, unsigned int width, bool utf8, char buf[SPARK_STRLEN])
{
	unsigned int parts = utf8 ? LEVELS : 1, filled, i;
	char *to = buf;

	if (value > full)
		value = full;
	filled = full ? ((__u64)value * width * parts + full / 2) / full : 0;
	for (i = 0; i < width; i++, filled -= filled < parts ? filled : parts) {
		if (filled >= parts)
			to = stpcpy(to, utf8 ? "█" : "#");
		else if (filled)
			to = stpcpy(to, eighths[filled]);
		else
			to = stpcpy(to, utf8 ? " " : ".");
	}
}

__u32 spark_scale(__u32 value)
{
	__u64 power = 1;

	while (5 * power < value)
		power *= 10;
	return value <= power ? power : value <= 2 * power ? 2 * power : 5 * power;
}

int columns_cut(const char *text, int columns)
{
	const char *p = text;

	for (; *p; p++)
		if ((*p & 0xc0) != 0x80 && columns-- <= 0)
			break;
	return p - text;
}

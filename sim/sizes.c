// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "sim/engine.h"
#include "sim/sizes.h"

struct point {
	double bytes, percent;
};

/* clang-format off: a line is a point */

/* DCTCP (SIGCOMM 2010), web search, as the authors of HPCC published it with their simulator. */
static const struct point websearch[] = {
	{ 0, 0 },    { 10e3, 15 }, { 20e3, 20 }, { 30e3, 30 }, { 50e3, 40 },  { 80e3, 53 }, { 200e3, 60 },
	{ 1e6, 70 }, { 2e6, 80 },  { 5e6, 90 },	 { 10e6, 97 }, { 30e6, 100 }, {},
};

/* Inside the Social Network's (Datacenter) Network (SIGCOMM 2015), Hadoop; as above. */
static const struct point fb_hadoop[] = {
	{ 0, 0 },     { 100, 1 },    { 200, 2 },    { 300, 5 },	   { 350, 15 }, { 400, 20 },   { 500, 30 },
	{ 600, 40 },  { 700, 50 },   { 1e3, 60 },   { 2e3, 67 },   { 7e3, 70 }, { 30e3, 72 },  { 50e3, 82 },
	{ 80e3, 87 }, { 120e3, 90 }, { 300e3, 95 }, { 1e6, 97.5 }, { 2e6, 99 }, { 10e6, 100 }, {},
};

/* Alibaba's storage, 2019; as above. */
static const struct point ali_storage[] = {
	{ 0, 0 },	 { 4e3, 22.93 },   { 8e3, 69.21 },   { 16e3, 80.61 }, { 32e3, 90.47 },
	{ 64e3, 93.53 }, { 128e3, 96.77 }, { 256e3, 97.53 }, { 2e6, 100 },    {},
};

/*
 * From the same SIGCOMM 2015 paper, the flows of a cache follower within its data centre (Figure 6), in the points that
 * the authors of netbench read off, rounded.
 */
static const struct point cache_follower[] = {
	{ 100, 0 },	{ 335, 7.6 },	 { 450, 13.9 },	  { 730, 18.2 },   { 1320, 21 },    { 2400, 24.8 },
	{ 4400, 28.8 }, { 7600, 34.5 },	 { 12300, 39.5 }, { 19100, 45 },   { 27900, 49.3 }, { 41600, 55.8 },
	{ 53700, 60.8 }, { 81400, 68.3 }, { 106e3, 72.8 }, { 147e3, 78.9 }, { 210e3, 84 },   { 316e3, 88.8 },
	{ 560e3, 94.2 }, { 1.02e6, 97.8 }, { 1.66e6, 99.1 }, { 2e6, 100 }, {},
};

/* VL2 (SIGCOMM 2009), data mining, in packets of 1460 bytes as in pFabric (SIGCOMM 2013). */
static const struct point data_mining[] = {
	{ 1460, 50 },	  { 2920, 60 },	    { 4380, 70 },    { 10220, 80 },	 { 389820, 90 },
	{ 3.076e6, 95 }, { 97.33e6, 99 }, { 973.3e6, 100 }, {},
};

static const struct {
	const char *name;
	const struct point *points;
} published[] = {
	{ "websearch", websearch },
	{ "fb-hadoop", fb_hadoop },
	{ "ali-storage", ali_storage },
	{ "cache-follower", cache_follower },
	{ "data-mining", data_mining },
	{},
};
/* clang-format on */

static void sizes_add(struct sizes *s, double bytes, double percent)
{
	s->bytes = grow(s->bytes, s->count + 1, sizeof(*s->bytes));
	s->percent = grow(s->percent, s->count + 1, sizeof(*s->percent));
	s->bytes[s->count] = bytes;
	s->percent[s->count++] = percent;
}

static int sizes_read(const char *path, struct sizes *s)
{
	FILE *from = fopen(path, "r");
	unsigned int line = 0;
	char text[128], rest[2];
	double bytes, percent;
	int err = 0;

	if (!from) {
		msg("sizes '%s': %s: name a file, or write websearch, fb-hadoop, ali-storage, cache-follower or data-mining", path, strerror(errno));
		return -1;
	}
	while (!err && fgets(text, sizeof(text), from)) {
		line++;
		if (text[strspn(text, " \t\n")] == '#' || !text[strspn(text, " \t\n")])
			continue;
		if (sscanf(text, "%lf %lf %1s", &bytes, &percent, rest) != 2 || bytes < 0 || percent < 0 ||
		    percent > 100) {
			msg("%s:%u: not BYTES PERCENT: write for example '10000 15', the part of flows that are at most as large",
			    path, line);
			err = -1;
		} else if (s->count && (bytes < s->bytes[s->count - 1] || percent < s->percent[s->count - 1])) {
			msg("%s:%u: less than in the line before: both columns grow", path, line);
			err = -1;
		} else {
			sizes_add(s, bytes, percent);
		}
	}
	fclose(from);
	if (!err && (!s->count || s->percent[s->count - 1] != 100)) {
		msg("%s: the last line does not say 100: it is the largest flow", path);
		err = -1;
	}
	return err;
}

int sizes_load(const char *name, struct sizes *s)
{
	const struct point *p;
	unsigned int i;

	*s = (struct sizes){};
	for (i = 0; published[i].name; i++) {
		if (strcmp(published[i].name, name))
			continue;
		for (p = published[i].points; p->percent || p == published[i].points; p++)
			sizes_add(s, p->bytes, p->percent);
		return 0;
	}
	if (!sizes_read(name, s))
		return 0;
	sizes_free(s);
	return -1;
}

void sizes_free(struct sizes *s)
{
	free(s->bytes);
	free(s->percent);
	*s = (struct sizes){};
}

/* Sizes are uniform between two points. */
double sizes_mean(const struct sizes *s)
{
	double mean = s->bytes[0] * s->percent[0] / 100;
	uint32_t i;

	for (i = 1; i < s->count; i++)
		mean += (s->bytes[i] + s->bytes[i - 1]) / 2 * (s->percent[i] - s->percent[i - 1]) / 100;
	return mean;
}

uint64_t sizes_draw(const struct sizes *s, double uniform)
{
	double percent = uniform * 100, bytes;
	uint32_t i = 0;

	while (i < s->count - 1 && s->percent[i] < percent)
		i++;
	bytes = s->bytes[i];
	if (i && s->percent[i] > s->percent[i - 1])
		bytes = s->bytes[i - 1] + (s->bytes[i] - s->bytes[i - 1]) * (percent - s->percent[i - 1]) /
						  (s->percent[i] - s->percent[i - 1]);
	return bytes < 1 ? 1 : bytes;
}

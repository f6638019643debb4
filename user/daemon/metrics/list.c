// SPDX-License-Identifier: GPL-2.0-only
/* The list of all metrics, in words: their names, and the lines HELP and TYPE in front of their values. */
#include "daemon/metrics.h"
#include "daemon/metrics/list.h"

static const struct metric_about {
	const char *name, *type, *help;
} about[METRIC_MAX] = {
#define METRIC_ABOUT(symbol, name, type, help) { name, type, help },
	METRICS(METRIC_ABOUT)
#undef METRIC_ABOUT
};

static void head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

const char *metric_begin(FILE *f, enum metric n)
{
	head(f, about[n].name, about[n].type, about[n].help);
	return about[n].name;
}

void metric_value(FILE *f, enum metric n, double v)
{
	const char *name = metric_begin(f, n);

	fprintf(f, "%s %.15g\n", name, v);
}

void counter_begin(FILE *f, unsigned int stat)
{
	char name[64];

	snprintf(name, sizeof(name), "sluice_%s_total", stat_names[stat]);
	head(f, name, "counter", stat_help[stat]);
}

void metrics_list(FILE *f)
{
	unsigned int i;

	for (i = 0; i < STAT_MAX; i++)
		counter_begin(f, i);
	for (i = 0; i < METRIC_MAX; i++)
		metric_begin(f, i);
}

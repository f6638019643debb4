// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include "lib/variant.h"

static const char *const names[HPCC_VARIANTS] = {
	[HPCC_PLAIN] = "plain",
	[HPCC_HIGH_AI] = "high-ai",
	[HPCC_PROBABILISTIC] = "probabilistic",
	[HPCC_VAI_SF] = "vai-sf",
};

const char *variant_name(__u32 variant)
{
	return variant < HPCC_VARIANTS ? names[variant] : "unknown";
}

/* The number of a name, or -EINVAL. */
static int name_find(const char *const *list, unsigned int n, const char *name)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return i;
	return -EINVAL;
}

int variant_parse(const char *name, enum hpcc_variant *variant)
{
	int i = name_find(names, HPCC_VARIANTS, name);

	if (i < 0)
		return i;
	*variant = i;
	return 0;
}

static const char *const feedbacks[RX_FEEDBACKS] = {
	[RX_HOPS] = "hops",
	[RX_RATIO] = "ratio",
	[RX_WINDOW] = "window",
};

const char *feedback_name(__u32 feedback)
{
	return feedback < RX_FEEDBACKS ? feedbacks[feedback] : "unknown";
}

int feedback_parse(const char *name, enum rx_feedback *feedback)
{
	int i = name_find(feedbacks, RX_FEEDBACKS, name);

	if (i < 0)
		return i;
	*feedback = i;
	return 0;
}

const char *kind_name(enum hpcc_kind kind)
{
	switch (kind) {
	case HPCC_FIRST:
		return "first";
	case HPCC_FAST:
		return "fast";
	case HPCC_FULL:
		return "full";
	default:
		return "skipped";
	}
}

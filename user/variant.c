// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include "variant.h"

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

int variant_parse(const char *name, enum hpcc_variant *variant)
{
	unsigned int i;

	for (i = 0; i < HPCC_VARIANTS; i++) {
		if (!strcmp(name, names[i])) {
			*variant = i;
			return 0;
		}
	}
	return -EINVAL;
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
	unsigned int i;

	for (i = 0; i < RX_FEEDBACKS; i++) {
		if (!strcmp(name, feedbacks[i])) {
			*feedback = i;
			return 0;
		}
	}
	return -EINVAL;
}

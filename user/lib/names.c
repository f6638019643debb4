// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/config.h"
#include "lib/names.h"
#include "sluice/cc/rx.h"

const struct word flag_words[] = { { "false", 0 }, { "true", 1 }, {} };

const struct word mode_words[] = {
	{ "observe", MODE_OBSERVE },
	{ "dry-run", MODE_DRY_RUN },
	{ "enforce", MODE_ENFORCE },
	{},
};

const struct word beyond_words[] = { { "drop", 0 }, { "mark", 1 }, {} };

const struct word telemetry_words[] = {
	{ "auto", CONFIG_TELEMETRY_AUTO },
	{ "every", TELEMETRY_EVERY },
	{ "rtt", TELEMETRY_RTT },
	{ "congestion", TELEMETRY_CONGESTION },
	{ "probe", TELEMETRY_PROBE },
	{ "companion", TELEMETRY_COMPANION },
	{},
};

const struct word encoding_words[] = { { "hpcc", ENCODING_HPCC }, { "int-md", ENCODING_INT_MD }, {} };

const struct word variant_words[] = {
	{ "plain", HPCC_PLAIN },
	{ "high-ai", HPCC_HIGH_AI },
	{ "probabilistic", HPCC_PROBABILISTIC },
	{ "vai-sf", HPCC_VAI_SF },
	{},
};

const struct word vai_preset_words[] = { { "derived", VAI_DERIVED }, { "paper", VAI_PAPER }, {} };

const struct word feedback_words[] = { { "hops", RX_HOPS }, { "ratio", RX_RATIO }, { "window", RX_WINDOW }, {} };

const struct word hiercc_words[] = { { "false", VOQS_OFF }, { "true", VOQS_HERE }, { "tor", VOQS_TOR }, {} };

const struct word role_words[] = { { "host", PORT_F_HOST }, { "switch", PORT_F_SWITCH }, {} };

const struct word voqs_words[] = { { "up", PORT_F_VOQ_UP }, { "down", PORT_F_VOQ_DOWN }, {} };

const struct word xdp_words[] = {
	{ "auto", CONFIG_XDP_AUTO },
	{ "native", CONFIG_XDP_NATIVE },
	{ "generic", CONFIG_XDP_GENERIC },
	{ "off", CONFIG_XDP_OFF },
	{},
};

const struct word pfc_words[] = {
	{ "off", CONFIG_PFC_OFF },
	{ "obey", CONFIG_PFC_OBEY },
	{ "pfc", CONFIG_PFC_PAUSE },
	{ "ppfc", CONFIG_PFC_PREDICT },
	{},
};

const struct word queue_words[] = {
	{ "auto", CONFIG_QUEUE_AUTO },
	{ "sluice", CONFIG_QUEUE_SLUICE },
	{ "fq", CONFIG_QUEUE_FQ },
	{},
};

const struct word trust_words[] = { { "dscp", PFC_TRUST_DSCP }, { "pcp", PFC_TRUST_PCP }, {} };

const char *word_name(const struct word *words, unsigned int value)
{
	for (; words->name; words++)
		if (words->value == value)
			return words->name;
	return "unknown";
}

int word_parse(const struct word *words, const char *name, unsigned int *value)
{
	for (; words->name; words++) {
		if (strcmp(words->name, name))
			continue;
		*value = words->value;
		return 0;
	}
	return -EINVAL;
}

const char *words_list(const struct word *words, char *buf, size_t size)
{
	const struct word *w;
	size_t n = 0;

	for (*buf = 0, w = words; w->name && n < size; w++)
		n += snprintf(buf + n, size - n, "%s%s", w == words ? "" : w[1].name ? ", " : " or ", w->name);
	return buf;
}

const char *mode_name(unsigned int mode)
{
	return word_name(mode_words, mode);
}

const char *telemetry_name(unsigned int telemetry)
{
	return word_name(telemetry_words, telemetry);
}

const char *variant_name(unsigned int variant)
{
	return word_name(variant_words, variant);
}

const char *feedback_name(unsigned int feedback)
{
	return word_name(feedback_words, feedback);
}

const char *kind_name(enum hpcc_kind kind)
{
	static const struct word words[] = {
		{ "first", HPCC_FIRST }, { "fast", HPCC_FAST }, { "full", HPCC_FULL }, { "skipped", HPCC_SKIPPED }, {}
	};

	return word_name(words, kind);
}

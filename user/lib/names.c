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
	{ "companion", TELEMETRY_COMPANION },
	{},
};

const struct word encoding_words[] = { { "hpcc", ENCODING_HPCC }, { "int-md", ENCODING_INT_MD }, {} };

const struct word variant_words[] = { { "plain", HPCC_PLAIN }, { "vai-sf", HPCC_VAI_SF }, {} };

const struct word stages_words[] = { { "time", HPCC_STAGES_TIME }, { "rounds", HPCC_STAGES_ROUNDS }, {} };

const struct word vai_preset_words[] = { { "derived", VAI_DERIVED }, { "paper", VAI_PAPER }, {} };

const struct word feedback_words[] = { { "hops", RX_HOPS }, { "window", RX_WINDOW }, {} };

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

const struct word attach_words[] = {
	{ "auto", CONFIG_ATTACH_AUTO },
	{ "clsact", CONFIG_ATTACH_CLSACT },
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

#define NEAREST_CHARS 24 /* a longer name is taken for something else */

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * The number of edits from a to b: a letter more, less or other, or two neighbours swapped (the optimal string alignment
 * distance). Both have at most NEAREST_CHARS letters.
 */
static unsigned int edits_between(const char *a, const char *b)
{
	unsigned int d[NEAREST_CHARS + 1][NEAREST_CHARS + 1], n = strlen(a), m = strlen(b), i, j;

	for (i = 0; i <= n; i++)
		d[i][0] = i;
	for (j = 0; j <= m; j++)
		d[0][j] = j;
	for (i = 1; i <= n; i++) {
		for (j = 1; j <= m; j++) {
			d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = least(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

/* A third of the letters may be wrong, two at most. */
void nearest_begin(struct nearest *n, const char *name)
{
	unsigned int most = strlen(name) / 3;

	*n = (struct nearest){ .name = name, .edits = least(most, 2) + 1 };
}

void nearest_offer(struct nearest *n, const char *candidate)
{
	unsigned int edits;

	if (strlen(n->name) > NEAREST_CHARS || strlen(candidate) > NEAREST_CHARS)
		return;
	edits = edits_between(n->name, candidate);
	if (edits >= n->edits)
		return;
	n->edits = edits;
	n->best = candidate;
}

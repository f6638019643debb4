// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include "lib/knobs.h"

#define KNOB_TIME_MAX_NS NSEC_PER_SEC

const struct knob knobs[] = {
	{ "mode", "mode", FIELD(struct control, mode), FIELD(struct config, mode), mode_words,
	  "observe, dry-run or enforce", "what is done with what is measured" },
	{ "receive_window", "receive_window", FIELD(struct control, rwnd), FIELD(struct config, tcp.receive_window),
	  flag_words, "true or false", "foreign TCP stacks are held by their receive window" },
	{ "horizon", "horizon_ns", FIELD(struct control, horizon_ns), FIELD(struct config, horizon_ns), NULL,
	  "a time of at most 1s, as 10ms (0us: the default)", "how long a UDP packet may wait for its departure" },
	{ "beyond", "beyond", FIELD(struct control, horizon_mark), FIELD(struct config, pacing.mark), beyond_words,
	  "drop or mark", "what happens to one that would have to wait for longer" },
	{},
};

int knob_parse(const struct knob *k, const char *text, __u64 *value)
{
	unsigned int word;
	__u64 ns;

	if (k->words && word_parse(k->words, text, &word))
		return -EINVAL;
	if (!k->words && (units_time(text, &ns) || ns > KNOB_TIME_MAX_NS))
		return -EINVAL;
	*value = k->words ? word : ns;
	return 0;
}

const char *knob_format(const struct knob *k, __u64 value, char *buf)
{
	if (k->words)
		snprintf(buf, KNOB_STRLEN, "%s", word_name(k->words, value));
	else if (value)
		snprintf(buf, KNOB_STRLEN, "%gus", value / 1e3);
	else
		snprintf(buf, KNOB_STRLEN, "0us (the default)");
	return buf;
}

void knobs_take(struct control *ctl, const struct config *c)
{
	const struct knob *k;

	for (k = knobs; k->name; k++)
		field_set(ctl, &k->control, field_get(c, &k->config));
}

int knobs_equal(const struct control *a, const struct control *b)
{
	const struct knob *k;

	for (k = knobs; k->name && field_get(a, &k->control) == field_get(b, &k->control); k++)
		;
	return !k->name;
}

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_KNOBS_H
#define SLUICE_KNOBS_H
/*
 * The knobs of the control map, which programs read with every packet, one row each. The daemon writes them from its
 * configuration, `sluicectl set` changes them temporarily, and the daemon logs each change.
 */
#include "lib/config.h"
#include "lib/field.h"

struct knob {
	const char *name; /* its key in the configuration, without the section; NULL: the end of the list */
	const char *json;
	struct field control;	  /* of struct control */
	struct field config;	  /* of struct config */
	const struct word *words; /* NULL: a time in ns */
	const char *values;	  /* the possible values, in words */
	const char *help;
};

extern const struct knob knobs[];

/* Whether a knob is on or off only: its JSON is a boolean. */
static inline int knob_is_flag(const struct knob *k)
{
	return k->words == flag_words;
}

/* Returns 0, or -EINVAL without a change. A time is at most 1 s. */
int knob_parse(const struct knob *k, const char *text, __u64 *value);
/* The value as a person reads it; returns buf. */
#define KNOB_STRLEN 64
const char *knob_format(const struct knob *k, __u64 value, char *buf);

/* Sets all knobs from the configuration. */
void knobs_take(struct control *ctl, const struct config *c);
/* Whether all knobs are equal. */
int knobs_equal(const struct control *a, const struct control *b);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NAMES_H
#define SLUICE_NAMES_H
/*
 * The names of enums, in one place: for the configuration, for output, and for option values. Each list gives the name
 * of a value, the value of a name, and the words that a message offers.
 */
#include <stddef.h>
#include "sluice/cc/hpcc.h"

struct word {
	const char *name; /* NULL: the end of the list */
	unsigned int value;
};

extern const struct word flag_words[];	    /* false, true */
extern const struct word mode_words[];	    /* enum sluice_mode */
extern const struct word beyond_words[];    /* 1: mark instead of dropping */
extern const struct word telemetry_words[]; /* enum telemetry_mode */
extern const struct word encoding_words[];  /* enum sluice_encoding */
extern const struct word variant_words[];   /* enum hpcc_variant */
extern const struct word stages_words[];    /* enum hpcc_stages */
extern const struct word vai_preset_words[]; /* enum vai_preset */
extern const struct word feedback_words[];  /* enum rx_feedback */
extern const struct word hiercc_words[];    /* enum voqs_where */
extern const struct word role_words[];	    /* PORT_F_HOST, PORT_F_SWITCH */
extern const struct word voqs_words[];	    /* PORT_F_VOQ_UP, PORT_F_VOQ_DOWN */
extern const struct word xdp_words[];	    /* enum config_xdp */
extern const struct word attach_words[];    /* enum config_attach */
extern const struct word pfc_words[];	    /* enum config_pfc */
extern const struct word queue_words[];	    /* enum config_queue */
extern const struct word trust_words[];	    /* enum pfc_trust */

/* The name of a value; "unknown" if it has none. */
const char *word_name(const struct word *words, unsigned int value);
/* Returns 0, or -EINVAL without a change. */
int word_parse(const struct word *words, const char *name, unsigned int *value);
/* "hops, ratio or window", in buf. */
const char *words_list(const struct word *words, char *buf, size_t size);

/*
 * The name that a mistyped one is closest to: begin with the mistyped name, offer each that there is; best: NULL if none
 * is close.
 */
struct nearest {
	const char *name, *best;
	unsigned int edits; /* from name to best */
};
void nearest_begin(struct nearest *n, const char *name);
void nearest_offer(struct nearest *n, const char *candidate);

const char *mode_name(unsigned int mode);
const char *telemetry_name(unsigned int telemetry);
const char *variant_name(unsigned int variant);
const char *feedback_name(unsigned int feedback);
const char *kind_name(enum hpcc_kind kind);

#endif

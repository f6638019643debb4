/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_KEYS_H
#define SLUICE_CONFIG_KEYS_H
/*
 * The keys of the configuration, a row for each. From it come the value in struct config, its default, the message about a
 * wrong one (tables.c), and what `sluiced --list-keys` prints.
 */
#include <stdbool.h>
#include "lib/field.h"
#include "lib/names.h"

struct config_key;

/* How a value is written. */
struct config_kind {
	/*
	 * Writes the value of text into `of`. -EINVAL: not a value; -ERANGE: a number outside the range of the key;
	 * -ENOMEM. On these errors nothing is changed or printed. NULL: a list, a section or entries.
	 */
	int (*parse)(const struct config_key *k, const char *text, void *of);
	/* As parse, for each text of a list; -EEXIST: the list has the value already. */
	int (*add)(const struct config_key *k, const char *text, void *of);
};

extern const struct config_kind config_word, config_number, config_flows, config_fraction, config_q24, config_share;
extern const struct config_kind config_time, config_rtt, config_speed, config_bytes;
extern const struct config_kind config_string; /* owned by the configuration: see config_free() */
extern const struct config_kind config_id, config_listen, config_prefix;
extern const struct config_kind config_bits, config_prefixes; /* lists */
extern const struct config_kind config_section, config_entries;

struct config_table {
	const struct config_key *keys; /* terminated by one without a name */
	size_t size;		       /* of an entry; 0: a section, whose fields belong to struct config */
};

struct config_key {
	const char *name;
	const struct config_kind *kind;
	struct field field; /* in struct config, or in the entry */
	bool required;
	bool zero; /* 0 selects the default */
	const struct word *words;
	double min, max;     /* in the unit of the field; max 0: none */
	unsigned int most;   /* characters of a text, or entries of a list; 0: CONFIG_TEXT_MAX characters */
	const char *chars;   /* allowed in a text; NULL: all */
	const char *range;   /* the values in words, as in "eta '2' is not a number from 0.5 to 1"; NULL: words */
	const char *note;    /* a note on the values in the list of keys */
	const char *one;     /* what a message calls an entry of a list; NULL: the key */
	const char *refusal; /* "is unknown"; NULL: "is not RANGE" */
	const char *example;
	const char *advice;    /* what to write instead; NULL: "for example EXAMPLE", or words */
	const char *preset;    /* the default as written in the file; NULL: 0 or NULL */
	const char *otherwise; /* the meaning of NULL or 0, in words */
	const char *reload;    /* the effect of SIGHUP */
	const char *meaning;
	struct field given;		  /* set to 1 if the file has the key */
	struct field inherits;		  /* in struct config: the value of an entry that lacks the key */
	const struct config_table *table; /* of a section, or of each entry */
	struct field count;		  /* number of entries, or of values of a list */
	struct field label;		  /* in an entry: its first value, as in the file */
};

#define CONFIG_TEXT_MAX 64
#define CONFIG_SPEED_MIN_BPS 100000
#define CONFIG_SPEED_MAX_BPS 1000000000000 /* products in flow_params() stay below 2^64 */

extern const struct config_table config_top, config_interface_table, config_peer_table;

/* The values of a key in words: its range, or the words. */
const char *config_key_range(const struct config_key *k, char *buf, size_t size);
/* "hpcc or int-md", "for example 12us". */
const char *config_key_advice(const struct config_key *k, char *buf, size_t size);

#endif

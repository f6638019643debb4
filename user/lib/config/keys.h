/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_KEYS_H
#define SLUICE_CONFIG_KEYS_H
/*
 * The keys of the configuration, a row for each. From it come the schema of libcyaml (schema.c), the value in struct config,
 * its default, the message about a wrong one (load.c), and what `sluiced --list-keys` prints.
 */
#include <stdbool.h>
#include "lib/field.h"
#include "lib/names.h"

struct config_key;

/* How a value is written. */
struct config_kind {
	/*
	 * Writes the value of text into of. -EINVAL: it is none; -ERANGE: it is a number, but outside of the range of the
	 * key; -ENOMEM. Without a change and a message in each of these cases. NULL: of a list, a section or entries.
	 */
	int (*parse)(const struct config_key *k, const char *text, void *of);
	/* As parse, for each text of a list; -EEXIST: the value is there already. */
	int (*add)(const struct config_key *k, const char *text, void *of);
};

extern const struct config_kind config_word, config_number, config_flows, config_fraction, config_q24, config_share;
extern const struct config_kind config_time, config_rtt, config_speed, config_bytes;
extern const struct config_kind config_string; /* which the configuration owns: see config_free() */
extern const struct config_kind config_id, config_listen, config_prefix;
extern const struct config_kind config_bits, config_prefixes; /* lists */
extern const struct config_kind config_section, config_entries;

struct config_table {
	const struct config_key *keys; /* up to one without a name */
	size_t size;		       /* of an entry; 0: a section, whose fields are those of struct config */
};

struct config_key {
	const char *name;
	const struct config_kind *kind;
	struct field field; /* of struct config, or of the entry */
	bool required;
	bool zero; /* 0 stands for the default */
	const struct word *words;
	double min, max;     /* in the unit of the field; max 0: none */
	unsigned int most;   /* characters of a text, or entries of a list; 0: CONFIG_TEXT_MAX characters */
	const char *chars;   /* allowed in a text; NULL: all */
	const char *range;   /* the values in words, as in "eta '2' is not a number from 0.5 to 1"; NULL: words */
	const char *note;    /* what the list of keys says of the values besides */
	const char *one;     /* how a message names an entry of a list; NULL: as the key */
	const char *refusal; /* "is unknown"; NULL: "is not RANGE" */
	const char *example;
	const char *advice;    /* what to write; NULL: "for example EXAMPLE", or words */
	const char *preset;    /* the default, as it is written in the file; NULL: 0 or NULL */
	const char *otherwise; /* what NULL or 0 means, in words */
	const char *reload;    /* what SIGHUP does with it */
	const char *meaning;
	struct field given;		  /* set to 1 where the file has the key */
	struct field inherits;		  /* of struct config: the value of an entry that lacks the key */
	const struct config_table *table; /* of a section, or of each entry */
	struct field count;		  /* of entries, or of a list */
	struct field label;		  /* of an entry: its first value, as in the file */
};

#define CONFIG_TEXT_MAX 64
#define CONFIG_SPEED_MIN_BPS 100000
#define CONFIG_SPEED_MAX_BPS 1000000000000 /* products in flow_params() stay below 2^64 */

extern const struct config_table config_top, config_interface_table, config_peer_table;

/* What the file says, as libcyaml reads it: an array of these for each mapping, one for each key of its table. */
struct config_text {
	void *is; /* char *, char ** (list), or struct config_text * (section, entries); NULL: it says nothing */
	unsigned int count; /* of a list, or of entries */
};

unsigned int config_keys_count(const struct config_table *t);
/* The values of a key in words: its range, or the words. */
const char *config_key_range(const struct config_key *k, char *buf, size_t size);
/* "hpcc or int-md", "for example 12us". */
const char *config_key_advice(const struct config_key *k, char *buf, size_t size);

#endif

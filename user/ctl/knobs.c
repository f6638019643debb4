// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl set: the knobs of the control map, which programs look at with every packet. The daemon writes them
 * from its configuration when it starts, at SIGHUP, and when an interface changes: what is set here is for a try.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/config.h"
#include "ctl/show.h"

#define HORIZON_MAX_NS NSEC_PER_SEC

struct knob {
	const char *name; /* of its key in the configuration, without the section */
	const char *json;
	const char *values;
	int (*parse)(const char *text, __u64 *value);
	void (*format)(__u64 value, char *buf, size_t size);
	__u64 (*get)(const struct control *c);
	void (*set)(struct control *c, __u64 value);
	const char *help;
};

static int knob_word_parse(const char *text, __u64 *value, const char *const *words, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (strcmp(text, words[i]))
			continue;
		*value = i;
		return 0;
	}
	return -EINVAL;
}

static int mode_parse(const char *text, __u64 *value)
{
	const char *const words[] = { mode_name(0), mode_name(1), mode_name(2) };

	return knob_word_parse(text, value, words, 3);
}

static void mode_format(__u64 value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", mode_name(value));
}

static __u64 mode_get(const struct control *c)
{
	return c->mode;
}

static void mode_set(struct control *c, __u64 value)
{
	c->mode = value;
}

static const char *const bool_words[] = { "false", "true" };

static int bool_parse(const char *text, __u64 *value)
{
	return knob_word_parse(text, value, bool_words, 2);
}

static void bool_format(__u64 value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", bool_words[!!value]);
}

static __u64 window_get(const struct control *c)
{
	return c->rwnd;
}

static void window_set(struct control *c, __u64 value)
{
	c->rwnd = value;
}

static int horizon_parse(const char *text, __u64 *value)
{
	__u64 ns;

	if (units_time(text, &ns) || ns > HORIZON_MAX_NS)
		return -EINVAL;
	*value = ns;
	return 0;
}

static void horizon_format(__u64 value, char *buf, size_t size)
{
	if (value)
		snprintf(buf, size, "%gus", value / 1e3);
	else
		snprintf(buf, size, "0us (a base RTT)");
}

static __u64 horizon_get(const struct control *c)
{
	return c->horizon_ns;
}

static void horizon_set(struct control *c, __u64 value)
{
	c->horizon_ns = value;
}

static const char *const knob_beyond_words[] = { "drop", "mark" };

static int beyond_parse(const char *text, __u64 *value)
{
	return knob_word_parse(text, value, knob_beyond_words, 2);
}

static void beyond_format(__u64 value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", knob_beyond_words[!!value]);
}

static __u64 beyond_get(const struct control *c)
{
	return c->horizon_mark;
}

static void beyond_set(struct control *c, __u64 value)
{
	c->horizon_mark = value;
}

static const struct knob knobs[] = {
	{ "mode", "mode", "observe, dry-run or enforce", mode_parse, mode_format, mode_get, mode_set,
	  "what is done with what is measured" },
	{ "receive_window", "receive_window", "true or false", bool_parse, bool_format, window_get, window_set,
	  "foreign TCP stacks are held by their receive window" },
	{ "horizon", "horizon_ns", "a time of at most 1s, as 10ms (0us: a base RTT)", horizon_parse, horizon_format,
	  horizon_get, horizon_set, "how long a UDP packet may wait for its departure" },
	{ "beyond", "beyond", "drop or mark", beyond_parse, beyond_format, beyond_get, beyond_set,
	  "what happens to one that would have to wait for longer" },
	{},
};

const char *knob_name(unsigned int i, const char **values)
{
	*values = knobs[i].values;
	return knobs[i].name;
}

static void knob_json(struct json_object *o, const struct knob *k, const char *key, __u64 value)
{
	char text[64];

	if (k->parse == horizon_parse) {
		add_u64(o, key, value);
	} else if (k->parse == bool_parse) {
		add_bool(o, key, !!value);
	} else {
		k->format(value, text, sizeof(text));
		add_string(o, key, text);
	}
}

static int knobs_show(const struct control *c)
{
	struct json_object *o = show_options.json ? json_object_new_object() : NULL;
	const struct knob *k;
	char text[64], left[96], last[192];

	for (k = knobs; k->name; k++) {
		if (o) {
			knob_json(o, k, k->json, k->get(c));
			continue;
		}
		k->format(k->get(c), text, sizeof(text));
		snprintf(left, sizeof(left), "%-16s %-18s ", k->name, text);
		snprintf(last, sizeof(last), "%s: %s", k->help, k->values);
		line_print(left, last);
	}
	return o ? show_json(o) : EXIT_DONE;
}

static int knob_turn(struct control *c, const struct knob *k, __u64 value)
{
	__u64 was = k->get(c);
	char from[64], to[64], key[64];
	struct json_object *o;
	int alive = now_ns() < c->heartbeat_ns + 3 * NSEC_PER_SEC;

	k->set(c, value);
	if (was != value)
		msg("this lasts until SIGHUP, a restart of sluiced, or an interface that changes brings the configuration back: write it there to keep it");
	if (was != value && k->set == mode_set)
		msg("the default congestion control of new sockets stays as it is: only the configuration changes that (tcp: default)");
	if (!alive)
		msg("no sluiced runs: the next one that adopts these maps writes its configuration over it");
	if (show_options.json) {
		o = json_object_new_object();
		add_string(o, "key", k->name);
		snprintf(key, sizeof(key), "was%s", k->parse == horizon_parse ? "_ns" : "");
		knob_json(o, k, key, was);
		snprintf(key, sizeof(key), "value%s", k->parse == horizon_parse ? "_ns" : "");
		knob_json(o, k, key, value);
		return show_json(o);
	}
	k->format(was, from, sizeof(from));
	k->format(value, to, sizeof(to));
	printf("%s: %s -> %s\n", k->name, from, to);
	return EXIT_DONE;
}

int cmd_set(int argc, char **argv)
{
	const struct knob *k = knobs;
	struct pins p;
	__u64 value;
	int err;

	if (argc != 1 && argc != 3) {
		msg("usage: sluicectl set KEY VALUE, or without both what there is to set");
		return EXIT_USAGE;
	}
	if (argc == 3) {
		for (; k->name && strcmp(k->name, argv[1]); k++)
			;
		if (!k->name) {
			msg("'%s' cannot be set while it runs: write mode, receive_window, horizon or beyond; the rest is in the configuration, and SIGHUP reads it again",
			    argv[1]);
			return EXIT_USAGE;
		}
		if (k->parse(argv[2], &value)) {
			msg("%s '%s': write %s", k->name, argv[2], k->values);
			return EXIT_USAGE;
		}
	}
	err = show_open(&p);
	if (err)
		return err;
	err = argc == 3 ? knob_turn(p.ctl, k, value) : knobs_show(p.ctl);
	pins_close(&p);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl set: the knobs of the control map, which programs read with every packet. The daemon writes them from its
 * configuration when it starts, at SIGHUP, and when an interface changes: values set here are temporary. As text a knob
 * is a word and its help, as JSON a typed value, so the two forms are separate.
 */
#include <stdio.h>
#include <string.h>
#include "lib/knobs.h"
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"

static void knob_json(const struct knob *k, const char *key, __u64 value)
{
	if (knob_is_flag(k))
		out_bool(key, value);
	else if (k->words)
		out_string(key, word_name(k->words, value));
	else
		out_u64(key, value);
}

static int knobs_show(const struct control *c)
{
	char text[KNOB_STRLEN], left[96], last[192];
	const struct knob *k;

	out_object(NULL);
	for (k = knobs; k->name; k++) {
		__u64 value = field_get(c, &k->control);

		if (out_json) {
			knob_json(k, k->json, value);
			continue;
		}
		snprintf(left, sizeof(left), "%-16s %-18s ", k->name, knob_format(k, value, text));
		snprintf(last, sizeof(last), "%s: %s", k->help, k->values);
		line_print(left, last);
	}
	return out_done();
}

static int knob_turn(struct control *c, const struct knob *k, __u64 value)
{
	__u64 was = field_get(c, &k->control);
	char from[KNOB_STRLEN], to[KNOB_STRLEN], key[64];
	int alive = now_ns() < c->heartbeat_ns + 3 * NSEC_PER_SEC;

	field_set(c, &k->control, value);
	if (was != value)
		msg("this lasts until SIGHUP, a restart of sluiced, or an interface that changes brings the configuration back: write it there to keep it");
	if (was != value && k->words == mode_words)
		msg("the default congestion control of new sockets stays as it is: only the configuration changes that (tcp: default)");
	if (!alive)
		msg("no sluiced runs: the next one that adopts these maps writes its configuration over it");
	if (!out_json) {
		printf("%s: %s -> %s\n", k->name, knob_format(k, was, from), knob_format(k, value, to));
		return EXIT_DONE;
	}
	out_object(NULL);
	out_string("key", k->name);
	snprintf(key, sizeof(key), "was%s", k->words ? "" : "_ns");
	knob_json(k, key, was);
	snprintf(key, sizeof(key), "value%s", k->words ? "" : "_ns");
	knob_json(k, key, value);
	return out_done();
}

/* "mode, receive_window, horizon or beyond", in buf. */
static const char *knobs_list(char *buf, size_t size)
{
	const struct knob *k;
	size_t n = 0;

	for (k = knobs; k->name && n < size; k++)
		n += snprintf(buf + n, size - n, "%s%s", k == knobs ? "" : k[1].name ? ", " : " or ", k->name);
	return buf;
}

int cmd_set(int argc, char **argv)
{
	const struct knob *k = knobs;
	char names[128];
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
			msg("'%s' cannot be set while it runs: write %s; the rest is in the configuration, and SIGHUP reads it again",
			    argv[1], knobs_list(names, sizeof(names)));
			return EXIT_USAGE;
		}
		if (knob_parse(k, argv[2], &value)) {
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

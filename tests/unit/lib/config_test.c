// SPDX-License-Identifier: GPL-2.0-only
/* The table of keys: each row holds what it says of its default, its example, and its range. */
#include <criterion/criterion.h>
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "lib/config.h"
#include "lib/config/keys.h"

/* Room for what a row of any table writes. */
union any {
	struct config config;
	struct config_interface interface;
	struct config_class class;
	struct config_peer peer;
};

typedef void each_fn(const struct config_table *t, const struct config_key *k, const char *section);

static unsigned int rows;

/* Calls fn for each key that has a value; section: that of the key, "" if it has none. */
static void keys_each(const struct config_table *t, const char *section, each_fn *fn)
{
	const struct config_key *k;

	for (k = t->keys; k->name; k++) {
		if (k->table)
			keys_each(k->table, k->name, fn);
		else
			fn(t, k, section);
		rows += !k->table;
	}
}

static int value_take(const struct config_key *k, const char *text, union any *of)
{
	int err;

	memset(of, 0, sizeof(*of));
	err = k->kind->parse ? k->kind->parse(k, text, of) : k->kind->add(k, text, of);
	if (!err && k->kind == &config_string)
		free(*(char **)field_at(of, &k->field));
	return err;
}

static void preset_is_taken(const struct config_table *t, const struct config_key *k, const char *section)
{
	union any of;

	(void)t;
	if (k->preset)
		cr_assert(!value_take(k, k->preset, &of), "%s: %s: the default %s", section, k->name, k->preset);
	cr_assert(!k->zero || k->preset || !k->min, "%s: %s: 0 stands for no default", section, k->name);
}

Test(config, keys__default_is_within_the_range)
{
	keys_each(&config_top, "", preset_is_taken);
	cr_assert(rows > 50, "%u rows", rows);
}

/* The last of the words, with which no flag is off. */
static const char *example_of(const struct config_key *k)
{
	const struct word *w = k->words;

	while (w && w[1].name)
		w++;
	return w ? w->name : k->example;
}

static void example_is_taken(const struct config_table *t, const struct config_key *k, const char *section)
{
	char range[160], advice[192];
	union any of;

	(void)t;
	cr_assert(example_of(k) && !value_take(k, example_of(k), &of), "%s: %s: the example", section, k->name);
	cr_assert(*config_key_range(k, range, sizeof(range)) && *config_key_advice(k, advice, sizeof(advice)));
	cr_assert(k->reload && k->meaning && *k->meaning, "%s: %s: a row that says nothing", section, k->name);
}

Test(config, keys__example_is_taken)
{
	keys_each(&config_top, "", example_is_taken);
}

static const char *unit_of(const struct config_key *k)
{
	return k->kind == &config_time				     ? "ns" :
	       k->kind == &config_speed				     ? "bit" :
	       k->kind == &config_bytes				     ? "B" :
	       k->kind == &config_number || k->kind == &config_flows ? "" :
								       NULL;
}

/* value with its unit; false: values of this kind have no bounds. */
static int bound_text(const struct config_key *k, double value, char *buf, size_t size)
{
	if (k->kind == &config_fraction)
		snprintf(buf, size, "%.17g", value);
	else if (unit_of(k))
		snprintf(buf, size, "%.0f%s", value, unit_of(k));
	return k->kind == &config_fraction || unit_of(k);
}

static double step_of(const struct config_key *k)
{
	return k->kind == &config_fraction ? DBL_EPSILON : 1;
}

static void bounds_hold(const struct config_table *t, const struct config_key *k, const char *section)
{
	char text[64];
	union any of;

	(void)t;
	if (bound_text(k, k->min, text, sizeof(text)))
		cr_assert(!value_take(k, text, &of), "%s: %s: %s is refused", section, k->name, text);
	if (bound_text(k, k->min - step_of(k), text, sizeof(text)) && k->min && !(k->zero && k->min == 1))
		cr_assert(value_take(k, text, &of) == -ERANGE, "%s: %s: %s is taken", section, k->name, text);
	if (bound_text(k, k->max, text, sizeof(text)) && k->max)
		cr_assert(!value_take(k, text, &of), "%s: %s: %s is refused", section, k->name, text);
	if (bound_text(k, k->max + step_of(k), text, sizeof(text)) && k->max)
		cr_assert(value_take(k, text, &of) == -ERANGE, "%s: %s: %s is taken", section, k->name, text);
}

Test(config, keys__bounds)
{
	keys_each(&config_top, "", bounds_hold);
}

/* The quantity that stands in a text behind a word, in the unit of the key, as "100 ms" behind "to "; -1: there is none. */
static double quantity_behind(const struct config_key *k, const char *text, const char *word)
{
	const char *at = strstr(text, word), *unit;
	char number[32] = "", end;
	union any of;
	int n = 0;

	if (!at || sscanf(at + strlen(word), "%31[0-9.]%n", number, &n) != 1)
		return -1;
	unit = at + strlen(word) + n;
	unit += *unit == ' ' && unit_of(k) && *unit_of(k);
	sscanf(unit, "%7[a-zA-Z/]%c", number + strlen(number), &end);
	if (!unit_of(k) || !*unit_of(k))
		return strtod(number, NULL);
	number[strcspn(number, "/")] = 0; /* "kbit/s" */
	return value_take(k, number, &of) ? -1 : (double)field_get(&of, &k->field);
}

/* The range in a message is that of the row: the same, or rounded down by less than a hundredth. */
static void range_is_said(const struct config_table *t, const struct config_key *k, const char *section)
{
	static const char *const least[] = { "from ", "between " }, *const most[] = { " to ", " and ", "up to ",
										      "at most " };
	unsigned int i;
	double said;

	(void)t;
	for (i = 0; k->range && (unit_of(k) || k->kind == &config_fraction) && i < sizeof(least) / sizeof(least[0]);
	     i++) {
		said = quantity_behind(k, k->range, least[i]);
		if (said > 0 && k->min)
			cr_assert_float_eq(said, k->min, k->min * 1e-9, "%s: %s: '%s', and the least is %g", section,
					   k->name, k->range, k->min);
	}
	for (i = 0;
	     k->range && k->max && (unit_of(k) || k->kind == &config_fraction) && i < sizeof(most) / sizeof(most[0]);
	     i++) {
		said = quantity_behind(k, k->range, most[i]);
		if (said > 0)
			cr_assert(said <= k->max && said > 0.99 * k->max, "%s: %s: '%s', and the most is %g", section,
				  k->name, k->range, k->max);
	}
}

Test(config, keys__ranges_in_words)
{
	keys_each(&config_top, "", range_is_said);
}

/* --- numbers: plain decimal ones and nothing else --- */

/* The place of the number in the example of a kind; NULL: it has none. */
static const char *number_of(const struct config_kind *kind, const char *example)
{
	static const struct config_kind *const plain[] = { &config_number, &config_flows, &config_fraction,
							   &config_q24,	   &config_share, &config_time,
							   &config_rtt,	   &config_speed, &config_bytes,
							   &config_bits };
	unsigned int i;

	if (kind == &config_prefix || kind == &config_prefixes)
		return strchr(example, '/') + 1;
	if (kind == &config_listen)
		return strrchr(example, ':') + 1;
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (kind == plain[i])
			return example;
	return NULL;
}

static void number_is_plain(const struct config_table *t, const struct config_key *k, const char *section)
{
	static const char *const
		in_front[] = { "+", "-", " ", "\t", "0x", "0", "1e", "\xd9\xa1", "'", "~" },
		*const behind[] = { ".", "e1", "E0", "p1", "_", " ", ",", "\xd9\xa1", "x", "..", ".1.1" },
		*const at_end[] = { " ", "\t", "%", "/", "s ", "\n" }, *const alone[] = { "",	      "nan",	"inf",
											  "infinity", "NAN(1)", ".",
											  "0x10" };
	const char *example = k->kind == &config_id ? "7" : k->kind == &config_rtt ? "12us" : k->example;
	const char *number = example ? number_of(k->kind, example) : NULL;
	int lead = number ? number - example : 0, digits = number ? strspn(number, "0123456789.") : 0;
	char text[96];
	union any of;
	unsigned int i;

	(void)t;
	if (k->kind == &config_id)
		number = example, digits = 1;
	if (!number || !digits)
		return;
	cr_assert(!value_take(k, example, &of), "%s: %s: %s", section, k->name, example);
#define REFUSED(list, ...)                                                                                  \
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {                                              \
		snprintf(text, sizeof(text), __VA_ARGS__);                                                  \
		if (strcmp(text, example) && !(*number == '0' && !strcmp(list[i], "0x")))                   \
			cr_expect(value_take(k, text, &of), "%s: %s: '%s' passes", section, k->name, text); \
	}
	REFUSED(in_front, "%.*s%s%s", lead, example, in_front[i], number);
	REFUSED(behind, "%.*s%s%s", lead + digits, example, behind[i], number + digits);
	REFUSED(at_end, "%s%s", example, at_end[i]);
	REFUSED(alone, "%.*s%s%s", lead, example, alone[i], number + digits);
#undef REFUSED
}

Test(config, keys__numbers_are_plain)
{
	keys_each(&config_top, "", number_is_plain);
}

/* --- the same by the file: the message has the line and what is right --- */

static int file = -1, said = -1; /* the second is what goes to stderr */

/* A line "key: value" after in_front, in brackets if it is a list. */
static void line_write(const char *in_front, const struct config_key *k, const char *text)
{
	dprintf(file, k->kind->add ? "%s%s: [%s]\n" : "%s%s: %s\n", in_front, k->name, text);
}

/* The key with this text, and what else a section or an entry cannot do without. */
static void keys_write(const struct config_table *t, const char *in_front, const char *others,
		       const struct config_key *k, const char *text)
{
	const struct config_key *o;

	line_write(in_front, k, text);
	for (o = t->keys; o->name; o++)
		if (o != k && o->required && !o->table)
			line_write(others, o, example_of(o));
}

static void file_write(const struct config_table *t, const struct config_key *k, const char *section, const char *text)
{
	cr_assert(!ftruncate(file, 0) && !lseek(file, 0, SEEK_SET));
	if (!*section) {
		keys_write(t, "", "", k, text);
	} else if (!strcmp(section, "classes")) {
		dprintf(file, "interfaces:\n  - name: p1\n    role: switch\n    id: 1\n    classes:\n");
		keys_write(t, "      - ", "        ", k, text);
	} else if (t->size) {
		dprintf(file, "%s:\n", section);
		keys_write(t, "  - ", "    ", k, text);
	} else {
		dprintf(file, "%s:\n", section);
		keys_write(t, "  ", "  ", k, text);
	}
	if (strcmp(section, "interfaces") && strcmp(section, "classes"))
		dprintf(file, "interfaces: [{name: p1, role: switch, id: 1}]\n");
}

/* The error that loading the file gives; "" if it is accepted. */
static const char *file_load(char *buf, size_t size)
{
	struct config *c = NULL;
	char path[64];
	ssize_t n;
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	cr_assert(!ftruncate(said, 0) && !lseek(said, 0, SEEK_SET));
	err = config_load(path, &c);
	n = pread(said, buf, size - 1, 0);
	buf[n > 0 ? n : 0] = 0;
	cr_assert(err ? !c && *buf : !*buf, "%d, and says: %s", err, buf);
	config_free(c);
	return buf;
}

static void refused_as(const struct config_table *t, const struct config_key *k, const char *section, const char *text)
{
	char buf[1024], range[160], what[192], line[32];
	int at = !*section ? 1 : strcmp(section, "classes") ? 2 : 6;

	file_write(t, k, section, text);
	file_load(buf, sizeof(buf));
	if (k->kind == &config_number)
		snprintf(what, sizeof(what), "is more than %.0f", k->max);
	else if (k->words)
		snprintf(what, sizeof(what), "is not known");
	else
		snprintf(what, sizeof(what), "is not %s", config_key_range(k, range, sizeof(range)));
	snprintf(line, sizeof(line), ": line %d: ", at);
	cr_assert(strstr(buf, line) && strstr(buf, k->refusal ?: what) && strstr(buf, text) && strstr(buf, ": write "),
		  "%s: %s: %s: %s", section, k->name, text, buf);
}

static void wrong_is_refused(const struct config_table *t, const struct config_key *k, const char *section)
{
	static const struct {
		const struct config_kind *kind;
		const char *text;
	} wrong[] = {
		{ &config_word, "nonsense" }, { &config_flows, "many" },   { &config_fraction, "95%" },
		{ &config_share, "0%" },      { &config_time, "12" },	   { &config_speed, "25" },
		{ &config_bytes, "80" },      { &config_id, "rack" },	   { &config_listen, "9463" },
		{ &config_prefix, "all" },    { &config_prefixes, "all" }, { &config_bits, "64" },
	};
	char text[64];
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (k->kind == wrong[i].kind)
			refused_as(t, k, section, wrong[i].text);
	if (k->max && bound_text(k, k->max + step_of(k), text, sizeof(text)))
		refused_as(t, k, section, text);
	/* A 0 is the default, or has a message of its own. */
	if (k->min && k->kind != &config_number && bound_text(k, k->min - step_of(k), text, sizeof(text)) &&
	    !(k->zero && k->min == 1))
		refused_as(t, k, section, text);
}

static void example_is_loaded(const struct config_table *t, const struct config_key *k, const char *section)
{
	char buf[1024];

	/* Keys that refer to an interface, a file or another key are for tests/system/config.sh. */
	if (!strcmp(section, "node") || !strcmp(section, "classes") || t == &config_interface_table)
		return;
	if (!strcmp(section, "metrics") && !strcmp(k->name, "pods")) /* it needs node */
		return;
	file_write(t, k, section, example_of(k));
	cr_assert_str_empty(file_load(buf, sizeof(buf)), "%s: %s: %s: %s", section, k->name, example_of(k), buf);
}

static void said_begin(void)
{
	file = memfd_create("sluice.yaml", MFD_CLOEXEC);
	said = memfd_create("said", MFD_CLOEXEC);
	cr_assert(file >= 0 && said >= 0 && dup2(said, STDERR_FILENO) == STDERR_FILENO);
	said = STDERR_FILENO;
}

Test(config, file__wrong_value_is_refused_with_line_and_range, .init = said_begin)
{
	keys_each(&config_top, "", wrong_is_refused);
}

Test(config, file__example_is_taken, .init = said_begin)
{
	keys_each(&config_top, "", example_is_loaded);
}

/* --- files that are no configuration --- */

#define SOUND "interfaces: [{name: p1, role: switch, id: 1}]\n"

/* Loads text; the message has to say each of the words, or there is none. */
static void file_is(const char *text, const char *words)
{
	char buf[4096];

	cr_assert(!ftruncate(file, 0) && !lseek(file, 0, SEEK_SET));
	cr_assert(write(file, text, strlen(text)) == (ssize_t)strlen(text));
	file_load(buf, sizeof(buf));
	if (*words)
		cr_expect(strstr(buf, words), "%.60s: not '%s' but: %s", text, words, buf);
	else
		cr_expect_str_empty(buf, "%.60s: %s", text, buf);
}

Test(config, file__second_document_is_refused, .init = said_begin)
{
	file_is(SOUND, "");
	file_is("---\n" SOUND "...\n# the end\n", "");
	file_is(SOUND "---\nmode: dry-run\n", ": line 2: a second YAML document begins here");
	file_is("# nothing\n---\n---\n" SOUND, ": line 3: a second YAML document begins here");
	file_is(SOUND "...\nmode: dry-run\n", ": line 3: this is not YAML");
	file_is(SOUND "...\n---\n", ": line 3: a second YAML document begins here");
	file_is(SOUND "--- [\n", ": line 2: a second YAML document begins here");
}

/* Time that the CPU spends on loading a file of the same text, again and again. */
static double seconds_of(const char *begin, const char *again, unsigned int bytes, const char *words)
{
	size_t room = strlen(begin) + bytes + strlen(again) + 1, n;
	char *text = malloc(room);
	clock_t from = clock();

	n = snprintf(text, room, "%s", begin);
	while (n < strlen(begin) + bytes)
		n += snprintf(text + n, room - n, "%s", again);
	file_is(text, words);
	free(text);
	return (clock() - from) / (double)CLOCKS_PER_SEC;
}

Test(config, file__any_takes_a_moment, .init = said_begin)
{
	static const struct {
		const char *begin, *again, *words;
	} files[] = {
		{ "", "[", ": line 1: is nested more than" },
		{ "", "[\n", ": line 17: is nested more than" },
		{ "", "{a: ", ": line 1: is nested more than" },
		{ "", "- ", ": line 1: is nested more than" },
		{ "", "? ", ": line 1: is nested more than" },
		{ "", "&a [", ": line 1: is nested more than" },
		{ SOUND, "mode: enforce\n", "more mistakes follow" },
		{ SOUND, "m: 1\n", "more mistakes follow" },
		{ SOUND "auth: none\npeers:\n", "- {prefix: 10.0.0.0/8, base_rtt: 1}\n", "entries: write 1 to" },
		{ "", "]", "this is not YAML" },
		{ "mode: ", "a", "characters: write 1 to" },
		{ "mode: \"", "\\\"", "this is not YAML" },
		{ "", "%TAG ! a\n", "this is not YAML" },
		{ "", "# \n", "the file is empty" },
		{ "", "---\n", "a second YAML document" },
		{ "", "!", "keys with values" },
		{ "", "a ", "keys with values" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		double s = seconds_of(files[i].begin, files[i].again, 200000, files[i].words);

		cr_expect(s < 3, "200 KB of '%s' take %.1f s", files[i].again, s);
	}
}

/* Nothing enters an alias that no table names, and a list of aliases is no longer than another. */
Test(config, file__aliases_do_not_multiply, .init = said_begin)
{
	char *text = calloc(1, 100000);
	clock_t from = clock();
	size_t n = sprintf(text, "interfaces:\n");
	unsigned int i;

	file_is("interfaces: [{name: p1, role: &is switch, id: &one 1}, {name: p2, role: *is, id: *one}]\n", "");
	file_is(SOUND "mode: *none\n", ": line 2: this is not YAML: found undefined alias");
	file_is("interfaces: &a [*a]\n", ": line 1: interfaces: takes keys with values");
	file_is("interfaces: &a\n  - {name: p1, role: switch, id: 1, classes: *a}\n",
		": line 2: interfaces: p1: classes: 'name' is no key here");
	file_is("a: &a [x, x]\nb: &b [*a, *a, *a, *a]\ninterfaces: [*b, *b, *b, *b]\n",
		": line 2: interfaces: takes keys with values");
	n += sprintf(text + n, "  - {name: p1, role: switch, id: 1, classes: &c [&s {share: 1%%, dscp: [8, 8]}");
	n += sprintf(text + n, ", *s, *s, *s, *s, *s, *s, *s]}\n");
	for (i = 2; i <= 1024; i++)
		n += sprintf(text + n, "  - {name: p%u, role: switch, id: 1, classes: *c}\n", i);
	file_is(text, "more mistakes follow");
	n = sprintf(text, SOUND "peers:\n");
	for (i = 0; i <= 1024; i++)
		n += sprintf(text + n, "  - &a%u x\n", i);
	file_is(text, ": line 1027: is one of more than 1024 anchors: write values without '&' in front");
	cr_expect(clock() - from < 3 * CLOCKS_PER_SEC, "%.1f s", (clock() - from) / (double)CLOCKS_PER_SEC);
	free(text);
}

/* Many mistakes, of which each has its line. */
Test(config, file__many_mistakes_take_a_moment, .init = said_begin)
{
	char *text = calloc(1, 100000);
	clock_t from = clock();
	size_t n = sprintf(text, SOUND "auth: none\npeers:\n");
	unsigned int i;

	for (i = 0; i < 1024; i++)
		n += sprintf(text + n, "  - {prefix: 10.%u.%u.0/24, base_rtt: 0x1ms}\n", i / 256, i % 256);
	file_is(text, "more mistakes follow");
	n = sprintf(text, SOUND "auth: none\npeers:\n");
	for (i = 0; i < 1024; i++)
		n += sprintf(text + n, "  - {prefix: 10.0.0.0/24, base_rtt: 1ms}\n");
	file_is(text, ": line 5: peers: 10.0.0.0/24 is named twice");
	cr_expect(clock() - from < 3 * CLOCKS_PER_SEC, "%.1f s", (clock() - from) / (double)CLOCKS_PER_SEC);
	free(text);
}

Test(config, peer__inherits_what_it_does_not_say, .init = said_begin)
{
	char path[64];
	struct config *c = NULL;

	dprintf(file,
		"auth: none\n"
		"hpcc: {enabled: false, variant: vai-sf, feedback: window, encoding: int-md, telemetry: every}\n"
		"hiercc: {enabled: true, port_speed: 10Gbit}\n"
		"interfaces: [{name: eth0, role: host}]\n"
		"peers:\n"
		"  - {prefix: 10.0.0.0/8, base_rtt: 30us}\n"
		"  - {prefix: 10.1.0.0/16, base_rtt: 30us, hpcc: true, hiercc: false, variant: plain, feedback: hops,\n"
		"     encoding: hpcc, telemetry: companion, port_speed: 1Gbit}\n");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	cr_assert(!config_load(path, &c));
	cr_expect(!c->peers[0].hpcc && c->peers[1].hpcc);
	cr_expect(c->peers[0].hiercc == VOQS_HERE && c->peers[1].hiercc == VOQS_OFF);
	cr_expect(c->peers[0].variant == HPCC_VAI_SF && c->peers[1].variant == HPCC_PLAIN);
	cr_expect(c->peers[0].feedback == RX_WINDOW && c->peers[1].feedback == RX_HOPS);
	cr_expect(c->peers[0].encoding == ENCODING_INT_MD && c->peers[1].encoding == ENCODING_HPCC);
	cr_expect(c->peers[0].telemetry == TELEMETRY_EVERY && c->peers[1].telemetry == TELEMETRY_COMPANION);
	cr_expect(c->peers[0].port_bps == 10000000000 && c->peers[1].port_bps == 1000000000);
	config_free(c);
}

/* A key that is given stays; the preset fills in the others, Token_Thresh not being one of them. */
Test(config, vai__preset_of_the_paper, .init = said_begin)
{
	static const struct vai_tuning none,
		want = { .ai_div = 1000, .ai_cap = 100, .bank_cap = 500, .dampener_div = 8, .every = 30 };
	static const struct {
		const char *keys;
		const struct vai_tuning *want;
	} cases[] = { { "preset: paper, bank_cap: 500", &want }, { "preset: derived", &none } };
	char path[64];
	size_t i;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	for (i = 0; i < 2; i++) {
		struct config *c = NULL;
		struct peer p;

		cr_assert(!ftruncate(file, 0) && !lseek(file, 0, SEEK_SET));
		dprintf(file,
			"auth: none\ninterfaces: [{name: eth0, role: host}]\npeers: [{prefix: 10.0.0.0/8, base_rtt: 30us}]\n"
			"vai: {%s}\n",
			cases[i].keys);
		cr_assert(!config_load(path, &c));
		p = config_peer_value(c, c->peers);
		cr_expect_arr_eq(&p.vai, cases[i].want, sizeof(p.vai), "%s", cases[i].keys);
		config_free(c);
	}
}

/* Telemetry goes beside the data, but for INT-MD, which cannot. */
Test(config, telemetry__goes_by_the_encoding, .init = said_begin)
{
	char path[64];
	struct config *c = NULL;

	dprintf(file, "auth: none\n"
		      "interfaces: [{name: eth0, role: host}]\n"
		      "peers:\n"
		      "  - {prefix: 10.0.0.0/8, base_rtt: 30us}\n"
		      "  - {prefix: 10.1.0.0/16, base_rtt: 30us, encoding: int-md}\n"
		      "  - {prefix: 10.2.0.0/16, base_rtt: 30us, telemetry: every}\n"
		      "  - {prefix: 10.3.0.0/16, base_rtt: 30us, encoding: int-md, telemetry: auto}\n"
		      "  - {prefix: 10.4.0.0/16, base_rtt: 30us, feedback: window}\n"
		      "  - {prefix: 10.5.0.0/16, base_rtt: 30us, hiercc: true}\n");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	cr_assert(!config_load(path, &c));
	cr_expect_eq(c->peers[0].telemetry, TELEMETRY_COMPANION);
	cr_expect_eq(c->peers[1].telemetry, TELEMETRY_EVERY);
	cr_expect_eq(c->peers[2].telemetry, TELEMETRY_EVERY);
	cr_expect_eq(c->peers[3].telemetry, TELEMETRY_EVERY);
	cr_expect_eq(c->peers[4].telemetry, TELEMETRY_EVERY);
	cr_expect_eq(c->peers[5].telemetry, TELEMETRY_EVERY);
	config_free(c);
}

/* Without the key sluiced leaves the qdisc alone. */
Test(config, queue__is_left_alone_by_default, .init = said_begin)
{
	struct config *c = NULL;
	char path[64];

	dprintf(file, "interfaces:\n"
		      "  - {name: p1, role: switch, id: 1}\n"
		      "  - {name: p2, role: switch, id: 1, queue: sluice}\n"
		      "  - {name: p3, role: switch, id: 1, queue: fq, classes: [{share: 70%%}]}\n");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	cr_assert(!config_load(path, &c));
	cr_expect_eq(c->interfaces[0].queue, CONFIG_QUEUE_AUTO);
	cr_expect_eq(c->interfaces[1].queue, CONFIG_QUEUE_SLUICE);
	cr_expect_eq(c->interfaces[2].queue, CONFIG_QUEUE_FQ);
	config_free(c);
}

/* The setup of the first interface of a file. */
static struct queue_setup setup_of(const char *interfaces)
{
	struct queue_setup v = {};
	struct config *c = NULL;
	char path[64];

	cr_assert(!ftruncate(file, 0) && !lseek(file, 0, SEEK_SET));
	dprintf(file, "interfaces: [%s]\n", interfaces);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	cr_assert(!config_load(path, &c), "%s", interfaces);
	if (config_has_setup(&c->interfaces[0]))
		config_setup_value(&c->interfaces[0], &v);
	config_free(c);
	return v;
}

Test(config, setup__is_what_the_qdisc_is_told, .init = said_begin)
{
	struct queue_setup v;

	v = setup_of("{name: p1, role: switch, id: 1, queue: sluice, classes: [{dscp: [46], share: 10%, strict: true}, "
		     "{share: 60%}, {dscp: [8, 10], share: 30%}]}");
	cr_expect_eq(v.bps, 0);
	cr_expect_eq(v.limit_bytes, CONFIG_LIMIT_BYTES);
	cr_expect_eq(v.classes, 3);
	cr_expect_eq(v.strict, 1);
	cr_expect(v.share[0] == 100000 && v.share[1] == 600000 && v.share[2] == 300000);
	cr_expect(v.of_dscp[46] == 0 && v.of_dscp[0] == 1 && v.of_dscp[63] == 1 && v.of_dscp[8] == 2 &&
		  v.of_dscp[10] == 2);
	v = setup_of("{name: p1, role: switch, id: 1, queue: sluice, rate: 50Mbit, limit: 200KB}");
	cr_expect_eq(v.bps, 50000000);
	cr_expect_eq(v.limit_bytes, 200000);
	cr_expect_eq(v.classes, 0);
	v = setup_of("{name: p1, role: switch, id: 1, queue: sluice}");
	cr_expect_eq(v.limit_bytes, 0, "it has none");
	v = setup_of("{name: p1, role: switch, id: 1, queue: fq, classes: [{share: 70%}]}");
	cr_expect_eq(v.classes, 0, "another qdisc's");
}

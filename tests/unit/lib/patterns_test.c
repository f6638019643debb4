// SPDX-License-Identifier: GPL-2.0-only
/* Interfaces by pattern: which entry a device takes, and the places of devices that come and go. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "lib/config/devices.h"

/* Names that begin with zz are those of no device here. */
static struct config *loaded(const char *text)
{
	int fd = memfd_create("sluice.yaml", MFD_CLOEXEC);
	struct config *c = NULL;
	char path[64];

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	config_load(path, &c);
	close(fd);
	return c;
}

/* Takes up the devices with these names, of a list that NULL ends. */
static void take(struct config *c, ...)
{
	struct devices *d = calloc(1, sizeof(*d) + 16 * sizeof(d->name[0]));
	const char *name;
	va_list names;

	va_start(names, c);
	while ((name = va_arg(names, const char *)))
		snprintf(d->name[d->n++], IFNAMSIZ, "%s", name);
	va_end(names);
	cr_assert(!config_interfaces_take(c, d));
	free(d);
}

static unsigned int id_of(const struct config *c, const char *name)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (!strcmp(c->interfaces[k].name, name))
			return c->interfaces[k].id;
	return 0;
}

Test(patterns, device__takes_the_entry_of_its_name_or_else_the_first_pattern)
{
	struct config *c = loaded("interfaces:\n"
				  "  - {name: 'zz[1-3]', role: switch, id: 1}\n"
				  "  - {name: 'zz*', role: switch, id: 2, speed: 10Gbit}\n"
				  "  - {name: 'zz?', role: switch, id: 3}\n"
				  "  - {name: zz2, role: switch, id: 4}\n"
				  "  - {name: 'z?x', role: switch, id: 5}\n");

	cr_assert(c);
	cr_expect_eq(c->interfaces_count, 1, "what has a name is there before its device");
	take(c, "zz1", "zz2", "zz4", "zz10", "zyx", "eth0", "z", NULL);
	cr_expect_eq(c->interfaces_count, 5);
	cr_expect_eq(id_of(c, "zz1"), 1);
	cr_expect_eq(id_of(c, "zz2"), 4);
	cr_expect_eq(id_of(c, "zz4"), 2);
	cr_expect_eq(id_of(c, "zz10"), 2);
	cr_expect_eq(id_of(c, "zyx"), 5);
	cr_expect_eq(config_matches(c, &c->entries[1]), 2);
	cr_expect_eq(config_matches(c, &c->entries[2]), 0);
	cr_expect_eq(config_matches(c, &c->entries[3]), 0, "it is no pattern");
	cr_expect_str_eq(c->interfaces[1].configured, "zz1");
	cr_expect_eq(c->interfaces[2].speed_bps, 10000000000);
	config_free(c);
}

Test(patterns, device__takes_the_place_of_one_that_is_gone)
{
	struct config *c = loaded("interfaces:\n"
				  "  - {name: zz0, role: switch, id: 1}\n"
				  "  - {name: 'zz*', role: switch, id: 2}\n");

	cr_assert(c);
	take(c, "zz1", "zz2", "zz3", NULL);
	take(c, "zz1", "zz3", NULL);
	cr_expect_eq(c->interfaces_count, 4, "it may come back");
	take(c, "zz3", "zz4", "zz1", NULL);
	cr_expect_eq(c->interfaces_count, 4);
	cr_expect_str_eq(c->interfaces[0].name, "zz0");
	cr_expect_str_eq(c->interfaces[1].name, "zz1");
	cr_expect_str_eq(c->interfaces[2].name, "zz4");
	cr_expect_str_eq(c->interfaces[3].name, "zz3");
	config_free(c);
}

/* An interface of the file that was renamed keeps its entry, and the new bearer of its name has none until a reload. */
Test(patterns, device__of_a_renamed_interface_takes_none)
{
	struct config *c = loaded("interfaces:\n"
				  "  - {name: zz0, role: switch, id: 1}\n"
				  "  - {name: 'zz*', role: switch, id: 2}\n");

	cr_assert(c && !config_interface_rename(c, &c->interfaces[0], "zz9"));
	take(c, "zz9", "zz0", NULL);
	cr_expect_eq(c->interfaces_count, 1);
	config_free(c);
}

/* n devices, of which all match; returns the pattern that was left without room, NULL: none. */
static const char *crowded(const char *text, unsigned int n)
{
	struct devices *d = calloc(1, sizeof(*d) + n * sizeof(d->name[0]));
	struct config *c = loaded(text);
	static char pattern[IFNAMSIZ];

	cr_assert(c && d);
	for (d->n = 0; d->n < n; d->n++)
		snprintf(d->name[d->n], IFNAMSIZ, "zz%u", d->n);
	cr_assert(!config_interfaces_take(c, d));
	cr_expect(c->interfaces_count <= CONFIG_INTERFACES);
	snprintf(pattern, sizeof(pattern), "%s", c->crowded ? c->crowded->pattern : "");
	free(d);
	config_free(c);
	return *pattern ? pattern : NULL;
}

Test(patterns, device__without_room_is_left_alone)
{
	cr_expect_null(crowded("interfaces: [{name: 'zz*', role: switch, id: 1}]", 1024));
	cr_expect_str_eq(crowded("interfaces: [{name: 'zz*', role: switch, id: 1}]", 1025), "zz*");
	cr_expect_null(crowded("interfaces: [{name: 'zz*', role: switch, id: 1, classes: [{share: 9%}]}]", 64));
	cr_expect_str_eq(crowded("interfaces: [{name: 'zz*', role: switch, id: 1, classes: [{share: 9%}]}]", 65),
			 "zz*");
	cr_expect_null(crowded("interfaces: [{name: 'zz*', role: host, pfc: obey}]", 63));
	cr_expect_str_eq(crowded("interfaces: [{name: 'zz?', role: host, pfc: obey},\n"
				 " {name: 'zz*', role: host, pfc: obey}]",
				 64),
			 "zz*");
}

Test(patterns, devices__are_those_with_ethernet)
{
	struct devices *d = devices_read();
	unsigned int k;

	cr_assert(d);
	for (k = 0; k < d->n; k++)
		cr_expect(strcmp(d->name[k], "lo"));
	free(d);
}

Test(patterns, list__names_what_each_matches)
{
	struct config *c =
		loaded("interfaces: [{name: 'zz?', role: switch, id: 1}, {name: 'zz*', role: switch, id: 1}]");
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	cr_assert(c && to);
	take(c, "zz1", "zz2", NULL);
	config_patterns_list(c, to);
	fclose(to);
	cr_expect_str_eq(text, "zz?: 2 interfaces: zz1 zz2\nzz*: 0 interfaces:\n");
	free(text);
	config_free(c);
}

/* The uplink is a name, and may be one that a pattern of the role host matches. */
Test(patterns, uplink__may_match)
{
	static const char rest[] = "auth: none\npeers: [{prefix: 10.0.0.0/8, base_rtt: 1ms}]\n"
				   "node: {uplink: zz0, id: 1, pod_cidrs: [10.1.0.0/16]}\n";
	const struct {
		const char *name, *role;
		int sound;
	} cases[] = { { "zz*", "host", 1 }, { "zz*", "switch, id: 1", 0 }, { "zz?1", "host", 0 } };
	struct config *c;
	char text[512];
	unsigned int k;

	for (k = 0; k < 3; k++) {
		snprintf(text, sizeof(text), "interfaces: [{name: '%s', role: %s}]\n%s", cases[k].name, cases[k].role,
			 rest);
		c = loaded(text);
		cr_expect_eq(c != NULL, cases[k].sound, "%s, role %s", cases[k].name, cases[k].role);
		config_free(c);
	}
}

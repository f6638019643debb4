// SPDX-License-Identifier: GPL-2.0-only
/* The configuration: read by its keys (tables.c), then config_check() checks the values against each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/config/check.h"
#include "lib/config/devices.h"
#include "lib/config/keys.h"
#include "lib/config/tables.h"

const char *config_device_name(const char *configured, char buf[IFNAMSIZ])
{
	unsigned int ifindex = if_nametoindex(configured);

	if (!ifindex || !if_indextoname(ifindex, buf))
		snprintf(buf, IFNAMSIZ, "%s", configured);
	return buf;
}

/* A device has one name that the kernel uses, and any number of others. 0, or -ENOMEM. */
static int devices_name(struct config *c)
{
	struct config_interface *e;
	char name[IFNAMSIZ];
	int err = 0;

	for (e = c->entries; e < c->entries + c->entries_count && !err; e++) {
		if (config_is_pattern(e->name))
			e->pattern = e->name;
		else if (strcmp(config_device_name(e->configured, name), e->name))
			err = config_interface_rename(c, e, name);
	}
	return err;
}

/* Finds the interfaces of this machine. */
static int interfaces_find(struct tables *t, struct config *c)
{
	int err = devices_name(c) ?: config_interfaces_begin(c) ?: config_follow(c);

	if (err == -ENOSPC)
		return config_bad(
			t, &c->crowded->name,
			"interfaces: %s: matches more interfaces than there is room for: %u, with classes %u, with pfc %u: write a pattern that matches fewer",
			c->crowded->name, CONFIG_INTERFACES, CONFIG_CLASS_PORTS, CONFIG_PFC_PORTS);
	if (err && err != -ENOMEM)
		msg("interfaces: looking for those that a pattern matches: %s", strerror(-err));
	return err;
}

static int values_check(struct tables *t, void *config)
{
	return interfaces_find(t, config) ?: config_check(t, config);
}

static void patterns_warn(const struct config *c)
{
	const struct config_interface *e;

	for (e = c->entries; e < c->entries + c->entries_count; e++)
		if (e->pattern && !config_matches(c, e))
			msg("interfaces: '%s' matches no interface yet, besides those of other entries: one that appears is attached; 'ip -br link' has the names",
			    e->pattern);
}

int config_load(const char *path, struct config **config)
{
	struct tables t = {
		.path = path,
		.top = &config_top,
		.kind = "configuration",
		.instead = "give another file",
		.page = "docs/configuration.md",
		.check = values_check,
	};
	struct config *c = calloc(1, sizeof(*c));
	int err = c ? tables_load(&t, c) : -ENOMEM;

	if (err == -ENOMEM)
		msg("%s: %s: nothing was changed", path, strerror(ENOMEM));
	if (err) {
		config_free(c);
		return err;
	}
	patterns_warn(c);
	*config = c;
	return 0;
}

void config_keys_list(FILE *to)
{
	tables_list(to, &config_top);
}

void config_free(struct config *c)
{
	if (!c)
		return;
	explicit_bzero(&c->keys, sizeof(c->keys));
	config_interfaces_free(c);
	tables_free(&config_top, c);
	free(c);
}

int config_interface_rename(struct config *c, struct config_interface *i, const char *name)
{
	char *is = strdup(name), *uplink = config_is_uplink(c, i->name) ? strdup(name) : NULL;

	if (!is || (config_is_uplink(c, i->name) && !uplink)) {
		free(is);
		free(uplink);
		return -ENOMEM;
	}
	if (uplink) {
		free(c->node.uplink);
		c->node.uplink = uplink;
	}
	free(i->name);
	i->name = is;
	return 0;
}

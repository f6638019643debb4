// SPDX-License-Identifier: GPL-2.0-only
/* The configuration: read by its keys (tables.c), then config_check() checks the values against each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/config/check.h"
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
	char name[IFNAMSIZ];
	unsigned int k;
	int err = 0;

	for (k = 0; k < c->interfaces_count; k++)
		if (strcmp(config_device_name(c->interfaces[k].configured, name), c->interfaces[k].name))
			err = err ?: config_interface_rename(c, &c->interfaces[k], name);
	return err;
}

static int values_check(struct tables *t, void *config)
{
	return devices_name(config) ?: config_check(t, config);
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

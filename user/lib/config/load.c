// SPDX-License-Identifier: GPL-2.0-only
/* The configuration: read by its keys (tables.c), then config_check() checks the values against each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "lib/config/check.h"
#include "lib/config/keys.h"
#include "lib/config/tables.h"

int config_load(const char *path, struct config **config)
{
	struct tables t = {
		.path = path,
		.top = &config_top,
		.kind = "configuration",
		.instead = "give another file",
		.page = "docs/configuration.md",
	};
	struct config *c = calloc(1, sizeof(*c));
	int err = c ? tables_load(&t, c) ?: config_check(path, c) : -ENOMEM;

	if (err == -ENOMEM)
		msg("%s: %s: nothing was changed", path, strerror(ENOMEM));
	if (err) {
		config_free(c);
		return err;
	}
	*config = c;
	return 0;
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

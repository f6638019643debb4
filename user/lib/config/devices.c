// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces by name and by pattern.
 *
 *  1. An entry of the file with a name is an interface, whether or not the device exists.
 *  2. One with a pattern stands for each Ethernet device that it matches and that no other entry names. Of several
 *     patterns the first counts. Loopback and tunnels without Ethernet headers match none.
 *  3. Devices may appear later. Then the interface takes the place of one by pattern that is gone, so the list only
 *     grows to the most that there were at a time, and no interface moves: the data plane knows them by their places.
 */
#include <errno.h>
#include <fnmatch.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include "lib/config/devices.h"

/* --- devices --- */

static int is_ethernet(const struct ifaddrs *i)
{
	const struct sockaddr_ll *link = (const struct sockaddr_ll *)i->ifa_addr;

	return link && link->sll_family == AF_PACKET && link->sll_hatype == ARPHRD_ETHER;
}

struct devices *devices_read(void)
{
	struct ifaddrs *list, *i;
	unsigned int n = 0;
	struct devices *d;

	if (getifaddrs(&list))
		return NULL;
	for (i = list; i; i = i->ifa_next)
		n += is_ethernet(i);
	d = calloc(1, sizeof(*d) + n * sizeof(d->name[0]));
	for (i = list; d && i; i = i->ifa_next)
		if (is_ethernet(i))
			snprintf(d->name[d->n++], IFNAMSIZ, "%s", i->ifa_name);
	freeifaddrs(list);
	return d;
}

static int device_exists(const struct devices *d, const char *name)
{
	unsigned int k;

	for (k = 0; k < d->n && strcmp(d->name[k], name); k++)
		;
	return k < d->n;
}

/* --- entries --- */

int config_is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

const struct config_interface *config_entry_of(const struct config *c, const char *name)
{
	const struct config_interface *e, *first = NULL;

	for (e = c->entries; e < c->entries + c->entries_count; e++) {
		if (!e->pattern && !strcmp(e->name, name))
			return e;
		if (!first && e->pattern && !fnmatch(e->pattern, name, 0))
			first = e;
	}
	return first;
}

/* --- interfaces --- */

static int interface_is_listed(const struct config *c, const char *name)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (!strcmp(c->interfaces[k].name, name) || !strcmp(c->interfaces[k].configured, name))
			return 1;
	return 0;
}

/* Whether one more like e, in this place, is within the limits of the maps. */
static int interface_fits(const struct config *c, const struct config_interface *e, unsigned int place)
{
	unsigned int k, classes = !!e->classes_count, pauses = e->pfc != CONFIG_PFC_OFF;

	for (k = 0; k < c->interfaces_count; k++) {
		classes += k != place && c->interfaces[k].classes_count;
		pauses += k != place && c->interfaces[k].pfc;
	}
	return place < CONFIG_INTERFACES && (!e->classes_count || classes <= CONFIG_CLASS_PORTS) &&
	       (!e->pfc || pauses <= CONFIG_PFC_PORTS);
}

static int interface_take(struct config *c, const struct config_interface *e, const char *name)
{
	struct config_interface *i = c->interfaces;
	unsigned int place;
	char *own;

	for (place = 0; place < c->interfaces_count && !i[place].gone; place++)
		;
	if (!interface_fits(c, e, place)) {
		c->crowded = e;
		return 0;
	}
	own = strdup(name);
	if (!own)
		return -ENOMEM;
	if (place == c->interfaces_count)
		c->interfaces_count++;
	free(i[place].name);
	i[place] = *e;
	i[place].name = own;
	snprintf(i[place].configured, sizeof(i[place].configured), "%s", name);
	return 0;
}

int config_interfaces_take(struct config *c, const struct devices *d)
{
	const struct config_interface *e;
	unsigned int k;
	int err = 0;

	for (k = 0; k < c->interfaces_count; k++)
		c->interfaces[k].gone = c->interfaces[k].pattern && !device_exists(d, c->interfaces[k].name);
	for (k = 0; k < d->n && !err; k++) {
		e = config_entry_of(c, d->name[k]);
		if (e && e->pattern && !interface_is_listed(c, d->name[k]))
			err = interface_take(c, e, d->name[k]);
	}
	return err;
}

int config_interfaces_begin(struct config *c)
{
	const struct config_interface *e;
	struct config_interface *i;

	c->interfaces = calloc(CONFIG_INTERFACES, sizeof(*i));
	if (!c->interfaces)
		return -ENOMEM;
	for (e = c->entries; e < c->entries + c->entries_count; e++) {
		if (e->pattern)
			continue;
		i = &c->interfaces[c->interfaces_count];
		*i = *e;
		i->name = strdup(e->name);
		if (!i->name)
			return -ENOMEM;
		c->interfaces_count++;
	}
	return 0;
}

void config_interfaces_free(struct config *c)
{
	while (c->interfaces_count)
		free(c->interfaces[--c->interfaces_count].name);
	free(c->interfaces);
}

/* --- what a pattern matches --- */

int config_follow(struct config *c)
{
	const struct config_interface *was = c->crowded;
	struct devices *d;
	unsigned int k;
	int err;

	for (k = 0; k < c->entries_count && !c->entries[k].pattern; k++)
		;
	if (k == c->entries_count)
		return 0;
	d = devices_read();
	err = d ? config_interfaces_take(c, d) : -errno;
	free(d);
	return err ?: c->crowded != was ? -ENOSPC : 0;
}

unsigned int config_matches(const struct config *c, const struct config_interface *entry)
{
	unsigned int k, n = 0;

	for (k = 0; k < c->interfaces_count; k++)
		n += c->interfaces[k].pattern && c->interfaces[k].pattern == entry->pattern;
	return n;
}

void config_patterns_list(const struct config *c, FILE *to)
{
	const struct config_interface *e;
	unsigned int k;

	for (e = c->entries; e < c->entries + c->entries_count; e++) {
		if (!e->pattern)
			continue;
		fprintf(to, "%s: %u interface%s:", e->pattern, config_matches(c, e), PLURAL(config_matches(c, e)));
		for (k = 0; k < c->interfaces_count; k++)
			if (c->interfaces[k].pattern == e->pattern)
				fprintf(to, " %s", c->interfaces[k].name);
		fputc('\n', to);
	}
}

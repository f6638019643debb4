// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rate, limit and classes of a port whose qdisc is `sluice`, in the map that its programs read. It is written before the
 * qdisc is installed, which finds its classes there, and removes the entry when it is deleted.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "attach/dataplane_int.h"
#include "lib/maps.h"
#include "sluice.skel.h"
#include "sluice/queue/port.h"

static int setups_fd(const struct dataplane *dp)
{
	return bpf_map__fd(dp->skel->maps.queue_ports);
}

static struct queue_port setup_key(const struct link_info *link)
{
	return (struct queue_port){ .netns_cookie = link->netns_cookie, .ifindex = link->ifindex };
}

int queue_setup_differs(struct dataplane *dp, const struct config_interface *i, const struct link_info *link)
{
	struct queue_port key = setup_key(link);
	struct queue_setup was = {};
	int had = !bpf_map_lookup_elem(setups_fd(dp), &key, &was);

	return had != config_has_setup(i) || was.classes != i->classes_count;
}

int queue_setup_apply(struct dataplane *dp, const struct config_interface *i, const struct link_info *link)
{
	struct queue_port key = setup_key(link);
	struct queue_setup v = {};
	int err;

	if (!config_has_setup(i)) {
		queue_setup_remove(dp, link);
		return 0;
	}
	config_setup_value(i, &v);
	err = bpf_map_update_elem(setups_fd(dp), &key, &v, BPF_ANY) ? -errno : 0;
	if (err)
		msg("%s: the map queue_ports: %s: its rate and its classes stay as they were", i->name, strerror(-err));
	return err;
}

void queue_setup_remove(struct dataplane *dp, const struct link_info *link)
{
	struct queue_port key = setup_key(link);

	map_remove(setups_fd(dp), "queue_ports", &key);
}

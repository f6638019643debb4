// SPDX-License-Identifier: GPL-2.0-only
/* Ports that have pauses, in the map pfc_ports: each has a slot, its index in the map pfc_slots (daemon/ppfc.c). */
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include "attach/port/nic.h"
#include "attach/port/ppfc_port.h"
#include "lib/maps.h"

/* A free slot, 0 if there is none. */
static __u32 slot_find(const struct pins *pins)
{
	__u64 taken = 1; /* slot 0 */
	struct pfc_port v;
	__u32 ifindex, next;
	int more = map_next(pins->pfc_ports, "pfc_ports", NULL, &next), found = 0;

	while (more > 0 && found >= 0) {
		ifindex = next;
		found = map_find(pins->pfc_ports, "pfc_ports", &ifindex, &v);
		if (found > 0)
			taken |= 1ULL << v.slot % PFC_SLOTS;
		more = map_next(pins->pfc_ports, "pfc_ports", &ifindex, &next);
	}
	if (more < 0 || found < 0)
		return 0;
	return ~taken ? __builtin_ctzll(~taken) : 0;
}

int ppfc_port_set(const struct pins *pins, const struct config *c, const struct config_interface *i,
		  const struct link_info *link, const struct port *port)
{
	static const __u32 flags[] = {
		[CONFIG_PFC_OBEY] = PFC_F_OBEY,
		[CONFIG_PFC_PAUSE] = PFC_F_OBEY | PFC_F_PAUSE,
		[CONFIG_PFC_PREDICT] = PFC_F_OBEY | PFC_F_PAUSE | PFC_F_PREDICT,
	};
	static const struct pfc_slot empty;
	struct pfc_port v = {};
	int err, had;

	if (i->pfc == CONFIG_PFC_OFF)
		return ppfc_port_forget(pins, link->ifindex);
	had = map_find(pins->pfc_ports, "pfc_ports", &link->ifindex, &v);
	if (had < 0)
		return had;
	if (!had) {
		v.slot = slot_find(pins);
		err = !v.slot ? -ENOSPC : bpf_map_update_elem(pins->pfc_slots, &v.slot, &empty, BPF_ANY) ? -errno : 0;
		if (err) {
			msg("%s: a slot for its pauses: %s", i->name, strerror(-err));
			return err;
		}
	}
	v.netns_cookie = port->netns_cookie;
	pfc_obey_init(&v.params, port->speed_bps);
	if (c->watchdog_ns)
		v.params.storm_ns = v.params.restore_ns = c->watchdog_ns;
	v.flags = flags[i->pfc] | (v.flags & (PFC_F_NIC | PFC_F_NIC_LLD | PFC_F_NIC_SET));
	if (i->role == PORT_F_SWITCH && !(port->flags & PORT_F_NO_QUEUE))
		v.flags |= PFC_F_COUNT;
	v.lossless = c->lossless;
	v.trust = c->pfc.trust;
	memcpy(v.mac, link->mac, sizeof(v.mac));
	if (!link->up) {
		v.flags |= PFC_F_DOWN;
		memset(v.obey, 0, sizeof(v.obey)); /* pfc_forget() */
	}
	err = nic_plan(i->name, &v, c->mode == MODE_ENFORCE && !pins->ctl->bypass);
	if (err)
		return err;
	err = bpf_map_update_elem(pins->pfc_ports, &link->ifindex, &v, BPF_ANY) ? -errno : 0;
	if (err) {
		msg("%s: the map of pauses: %s", i->name, strerror(-err));
		return err;
	}
	return nic_tell(i->name, &v);
}

int ppfc_port_forget(const struct pins *pins, __u32 ifindex)
{
	char name[IFNAMSIZ];
	struct pfc_port v;
	int had = map_find(pins->pfc_ports, "pfc_ports", &ifindex, &v), err = 0;

	if (had <= 0)
		return had;
	if (if_indextoname(ifindex, name))
		err = nic_restore(name, &v);
	if (!err)
		err = map_remove(pins->pfc_ports, "pfc_ports", &ifindex);
	return err < 0 ? err : 0;
}

int ppfc_port_by_nic(const struct pins *pins, __u32 ifindex)
{
	struct pfc_port v;

	return map_find(pins->pfc_ports, "pfc_ports", &ifindex, &v) > 0 && v.flags & PFC_F_NIC;
}

int ppfc_port_follows(const struct pins *pins, __u32 ifindex, int up)
{
	struct pfc_port v;

	return bpf_map_lookup_elem(pins->pfc_ports, &ifindex, &v) || (v.flags & PFC_F_DOWN ? 0 : 1) == up;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Ports, their classes, their pauses, and pods. */
#include "control.h"
#include "expect.h"
#include "load.h"
#include "maps.h"

/* Of 100 Gbit/s, code 12, which is in the table: factor 1. */
struct port port_usual(void)
{
	struct port p = {
		.speed_bps = WORLD_BPS,
		.speed = { .code = 12, .scale_q16 = 1 << 16 },
		.flags = PORT_F_HOST | PORT_F_XDP_TX,
		.mtu = WORLD_MTU,
		.switch_id = 0x123,
		.name = "world",
	};

	return p;
}

void port_set(__u32 ifindex, const struct port *port)
{
	map_set(skel->maps.ports, &ifindex, port);
	wings_use(port->flags & (PORT_F_VOQ_UP | PORT_F_VOQ_DOWN) ? WING_RACKS : 0);
}

void port_change(__u32 ifindex, const struct port *port)
{
	port_set(ifindex, port);
	control_next_epoch();
}

void port_remove(__u32 ifindex)
{
	bpf_map_delete_elem(bpf_map__fd(skel->maps.ports), &ifindex);
}

struct port port_get(__u32 ifindex)
{
	struct port p;

	cr_assert(map_get(skel->maps.ports, &ifindex, &p), "%sno port %u", fixture_text, ifindex);
	return p;
}

void port_leaves(__u32 ifindex, int leave)
{
	struct port port = port_get(ifindex);

	port.flags &= ~PORT_F_LEAVING;
	port.flags |= leave ? PORT_F_LEAVING : 0;
	port_set(ifindex, &port);
	ports_leaving_set(leave);
}

void classes_set(__u32 ifindex, const struct port_classes *classes)
{
	map_set(skel->maps.classes, &ifindex, classes);
}

void class_queue_set(__u32 ifindex, __u32 class, const struct class_queue *queue)
{
	struct class_key key = { ifindex, class };

	map_set(skel->maps.class_queues, &key, queue);
}

void class_seen_set(__u32 ifindex, __u32 class, const struct class_seen *seen)
{
	struct queue_class_key key = { .port.ifindex = ifindex, .class = class };

	map_set(skel->maps.queue_classes, &key, seen);
}

struct class_queue class_queue_get(__u32 ifindex, __u32 class)
{
	struct class_key key = { ifindex, class };
	struct class_queue q;

	cr_assert(map_get(skel->maps.class_queues, &key, &q), "%sno class %u of port %u", fixture_text, class, ifindex);
	return q;
}

void pauses_set(__u32 ifindex, const struct pfc_port *pauses)
{
	wings_use(WING_PAUSES);
	map_set(skel->maps.pfc_ports, &ifindex, pauses);
}

struct pfc_port pauses_get(__u32 ifindex)
{
	struct pfc_port p = {};

	cr_assert(map_get(skel->maps.pfc_ports, &ifindex, &p));
	return p;
}

void queue_pauses_set(__u32 ifindex, const struct queue_pauses *p)
{
	struct queue_port key = { .ifindex = ifindex };

	map_set(skel->maps.queue_pauses, &key, p);
}

struct queue_pauses queue_pauses_get(__u32 ifindex)
{
	struct queue_port key = { .ifindex = ifindex };
	struct queue_pauses p = {};

	cr_assert(map_get(skel->maps.queue_pauses, &key, &p));
	return p;
}

struct pfc_slot pauses_slot(__u32 slot)
{
	struct pfc_slot s = {};

	cr_assert(map_get(skel->maps.pfc_slots, &slot, &s));
	return s;
}

void pauses_slot_set(__u32 slot, const struct pfc_slot *s)
{
	wings_use(WING_PAUSES);
	map_set(skel->maps.pfc_slots, &slot, s);
}

void pod_set(__u32 ifindex, __s32 netnsid)
{
	map_set(skel->maps.pods, &ifindex, &netnsid);
}

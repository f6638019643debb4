// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl ports: pauses, both those that were heard and those that were sent, and the queues between them. */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include "ctl/show.h"

#define PORTS_ASLEEP_NS (100 * 1000 * 1000ULL) /* growth of a round longer ago is none */

struct ports_row {
	__u32 ifindex;
	char name[16];
	struct pfc_port port;
};

struct ports_view {
	struct ports_row rows[PFC_SLOTS];
	__u32 count;
	struct pfc_slot slots[PFC_SLOTS];
	__u64 now;
	int asleep;
};

static struct ports_view view;

static void ports_read(const struct pins *p)
{
	__u32 ifindex, next, slot;
	struct port known;
	int more = !bpf_map_get_next_key(p->pfc_ports, NULL, &next);

	while (more && view.count < PFC_SLOTS) {
		struct ports_row *row = &view.rows[view.count];

		ifindex = next;
		if (!bpf_map_lookup_elem(p->pfc_ports, &ifindex, &row->port) &&
		    !bpf_map_lookup_elem(p->ports, &ifindex, &known)) {
			row->ifindex = ifindex;
			snprintf(row->name, sizeof(row->name), "%.15s", known.name);
			view.count++;
		}
		more = !bpf_map_get_next_key(p->pfc_ports, &ifindex, &next);
	}
	for (slot = 0; slot < PFC_SLOTS; slot++)
		bpf_map_lookup_elem(p->pfc_slots, &slot, &view.slots[slot]);
	view.now = now_ns();
	view.asleep = view.now > view.slots[0].round_ns + PORTS_ASLEEP_NS;
}

static const char *state_name(enum pfc_state state)
{
	static const char *const names[] = { "open", "paused", "expired", "resumed", "storm" };

	return state <= PFC_STORM ? names[state] : "unknown";
}

/* What its neighbour has to keep to. */
static const char *told_name(const struct pfc_told *t)
{
	return t->xoff && t->until_ns > view.now ? "xoff" : t->predict_ns > view.now ? "predicted" : "-";
}

static __u64 left_ns(__u64 until)
{
	return until > view.now ? until - view.now : 0;
}

static __u64 told_left_ns(const struct pfc_told *t)
{
	__u64 xoff = t->xoff ? left_ns(t->until_ns) : 0, predicted = left_ns(t->predict_ns);

	return xoff > predicted ? xoff : predicted;
}

/* What came in by the port and is here, and what waits in its own queue. */
static __u64 bytes_in(const struct ports_row *r, __u32 prio)
{
	__u64 bytes = 0;
	__u32 k;

	for (k = 0; k < view.count; k++)
		if (view.rows[k].port.flags & PFC_F_COUNT)
			bytes += view.slots[view.rows[k].port.slot % PFC_SLOTS].bytes[r->port.slot % PFC_SLOTS][prio];
	return bytes;
}

static __u64 bytes_out(const struct ports_row *r, __u32 prio)
{
	const struct pfc_slot *s = &view.slots[r->port.slot % PFC_SLOTS];
	__u64 bytes = 0;
	__u32 in;

	for (in = 0; in < PFC_SLOTS; in++)
		bytes += s->bytes[in][prio];
	return bytes;
}

static const char *heard_state(const struct ports_row *r, __u32 prio)
{
	if (r->port.flags & PFC_F_NIC)
		return "nic";
	return state_name(pfc_state(&r->port.obey[prio], &r->port.params, view.now));
}

static __u64 heard_left_ns(const struct ports_row *r, __u32 prio)
{
	return left_ns(pfc_asked(&r->port.obey[prio], &r->port.params, view.now, 0));
}

/* Who fills the queue. */
static struct json_object *ports_by_ingress(const struct ports_row *r, __u32 prio)
{
	const struct pfc_slot *s = &view.slots[r->port.slot % PFC_SLOTS];
	struct json_object *o = json_object_new_object();
	__u32 k;

	if (s->bytes[0][prio])
		add_u64(o, "", s->bytes[0][prio]);
	for (k = 0; k < view.count; k++)
		if (s->bytes[view.rows[k].port.slot % PFC_SLOTS][prio])
			add_u64(o, view.rows[k].name, s->bytes[view.rows[k].port.slot % PFC_SLOTS][prio]);
	return o;
}

static void add_s64(struct json_object *o, const char *key, __s64 v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

static struct json_object *priority_json(const struct ports_row *r, __u32 prio)
{
	const struct pfc_class *of = &view.slots[r->port.slot % PFC_SLOTS].of[prio];
	struct json_object *o = json_object_new_object();

	add_u64(o, "priority", prio);
	add_u64(o, "in_bytes", bytes_in(r, prio));
	add_s64(o, "in_growth_bytes", view.asleep ? 0 : of->in_growth);
	add_u64(o, "queue_bytes", bytes_out(r, prio));
	add_s64(o, "queue_growth_bytes", view.asleep ? 0 : of->out_growth);
	json_object_object_add(o, "queue_by_ingress_bytes", ports_by_ingress(r, prio));
	add_string(o, "told", told_name(&of->told));
	add_u64(o, "told_left_ns", told_left_ns(&of->told));
	add_u64(o, "xoffs", of->xoffs);
	add_u64(o, "refreshes", of->refreshes);
	add_u64(o, "xons", of->xons);
	add_u64(o, "predicted", of->predicted);
	add_string(o, "state", heard_state(r, prio));
	add_u64(o, "left_ns", heard_left_ns(r, prio));
	add_u64(o, "heard", r->port.heard[prio]);
	add_u64(o, "resumed", r->port.resumed[prio]);
	add_u64(o, "storms", r->port.storms[prio]);
	return o;
}

static const struct pfc_nic *nic_of(const struct ports_row *r)
{
	return &view.slots[r->port.slot % PFC_SLOTS].nic;
}

/* Who says for which priorities the NIC does PFC. */
static const char *nic_told_by(const struct ports_row *r)
{
	return r->port.flags & PFC_F_NIC_SET ? "sluice" : r->port.flags & PFC_F_NIC_LLD ? "dcbx" : "host";
}

static struct json_object *nic_json(const struct ports_row *r)
{
	struct json_object *o = json_object_new_object(), *priorities = json_object_new_array();
	const struct pfc_nic *n = nic_of(r);
	__u32 prio;

	add_string(o, "told_by", nic_told_by(r));
	add_u64(o, "capability", n->capability);
	for (prio = 0; prio < PFC_PRIORITIES; prio++) {
		struct json_object *p = json_object_new_object();

		add_u64(p, "priority", prio);
		add_bool(p, "enabled", n->enabled >> prio & 1);
		add_u64(p, "requests", n->requests[prio]);
		add_u64(p, "indications", n->indications[prio]);
		json_object_array_add(priorities, p);
	}
	json_object_object_add(o, "priorities", priorities);
	return o;
}

static int ports_json(void)
{
	struct json_object *o = json_object_new_object(), *buffer = json_object_new_object(), *list = json_object_new_array();
	const struct pfc_slot *all = &view.slots[0];
	__u32 k, prio;

	add_bool(buffer, "asleep", view.asleep);
	add_u64(buffer, "free_bytes", all->free_bytes);
	add_u64(buffer, "elapsed_ns", all->elapsed_ns);
	if (!view.asleep && all->remaining_ns != ~0ULL)
		add_u64(buffer, "remaining_ns", all->remaining_ns);
	json_object_object_add(o, "buffer", buffer);
	for (k = 0; k < view.count; k++) {
		const struct ports_row *r = &view.rows[k];
		struct json_object *port = json_object_new_object(), *priorities = json_object_new_array();

		add_string(port, "name", r->name);
		add_bool(port, "obeys", r->port.flags & (PFC_F_OBEY | PFC_F_NIC));
		add_bool(port, "pauses", r->port.flags & PFC_F_PAUSE);
		add_bool(port, "predicts", r->port.flags & PFC_F_PREDICT);
		add_bool(port, "down", r->port.flags & PFC_F_DOWN);
		add_bool(port, "counted", r->port.flags & PFC_F_COUNT);
		add_u64(port, "queue_bytes", view.slots[r->port.slot % PFC_SLOTS].total);
		add_u64(port, "amended_bytes", view.slots[r->port.slot % PFC_SLOTS].amended);
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (r->port.lossless >> prio & 1 || bytes_in(r, prio) || bytes_out(r, prio))
				json_object_array_add(priorities, priority_json(r, prio));
		json_object_object_add(port, "priorities", priorities);
		if (r->port.flags & PFC_F_NIC)
			json_object_object_add(port, "nic", nic_json(r));
		json_object_array_add(list, port);
	}
	json_object_object_add(o, "ports", list);
	return show_json(o);
}

static const struct table_column port_columns[] = {
	{ "PORT", -16, 0 },    { "PRIO", 4, 1 },      { "IN BYTES", 10, 5 }, { "GROWTH", 9, 8 },
	{ "QUEUE", 10, 4 },    { "GROWTH", 9, 9 },    { "TOLD", -9, 2 },     { "LEFT us", 8, 10 },
	{ "XOFF", 7, 6 },      { "XON", 7, 11 },      { "PREDICT", 7, 12 },  { "STATE", -8, 3 },
	{ "LEFT us", 8, 13 },  { "HEARD", 7, 7 },     { "XON", 7, 14 },	     { "STORMS", 6, 15 },
};
#define PORT_COLUMNS (sizeof(port_columns) / sizeof(port_columns[0]))

static void ports_line(const struct ports_row *r, __u32 prio)
{
	const struct pfc_class *of = &view.slots[r->port.slot % PFC_SLOTS].of[prio];
	const __u64 numbers[] = {
		bytes_in(r, prio), 0, bytes_out(r, prio), 0, 0, told_left_ns(&of->told) / 1000, of->xoffs + of->refreshes,
		of->xons, of->predicted, 0, heard_left_ns(r, prio) / 1000, r->port.heard[prio], r->port.resumed[prio],
		r->port.storms[prio],
	};
	table_cell cells[PORT_COLUMNS];
	unsigned int i;

	for (i = 2; i < PORT_COLUMNS; i++)
		snprintf(cells[i], sizeof(cells[i]), "%llu", numbers[i - 2]);
	snprintf(cells[0], sizeof(cells[0]), "%s", r->name);
	snprintf(cells[1], sizeof(cells[1]), "%u", prio);
	snprintf(cells[3], sizeof(cells[3]), "%lld", view.asleep ? 0 : of->in_growth);
	snprintf(cells[5], sizeof(cells[5]), "%lld", view.asleep ? 0 : of->out_growth);
	snprintf(cells[6], sizeof(cells[6]), "%s", told_name(&of->told));
	snprintf(cells[11], sizeof(cells[11]), "%s", r->port.flags & PFC_F_DOWN ? "down" : heard_state(r, prio));
	table_line(port_columns, PORT_COLUMNS, cells);
}

static const struct table_column nic_columns[] = {
	{ "NIC", -16, 0 }, { "PRIO", 4, 1 }, { "PFC", -4, 2 }, { "TOLD BY", -8, 5 }, { "REQUESTS", 12, 4 }, { "INDICATIONS", 12, 3 },
};
#define NIC_COLUMNS (sizeof(nic_columns) / sizeof(nic_columns[0]))

/* Of the priorities that are lossless, enabled, or were ever paused. */
static void nics_print(void)
{
	table_cell cells[NIC_COLUMNS];
	__u32 k, prio, printed = 0;

	for (k = 0; k < view.count; k++) {
		const struct ports_row *r = &view.rows[k];
		const struct pfc_nic *n = nic_of(r);

		for (prio = 0; r->port.flags & PFC_F_NIC && prio < PFC_PRIORITIES; prio++) {
			if (!((r->port.lossless | n->enabled) >> prio & 1) && !n->requests[prio] &&
			    !n->indications[prio])
				continue;
			if (!printed++) {
				putchar('\n');
				table_line(nic_columns, NIC_COLUMNS, NULL);
			}
			snprintf(cells[0], sizeof(cells[0]), "%s", r->name);
			snprintf(cells[1], sizeof(cells[1]), "%u", prio);
			snprintf(cells[2], sizeof(cells[2]), "%s", n->enabled >> prio & 1 ? "on" : "off");
			snprintf(cells[3], sizeof(cells[3]), "%s", nic_told_by(r));
			snprintf(cells[4], sizeof(cells[4]), "%llu", n->requests[prio]);
			snprintf(cells[5], sizeof(cells[5]), "%llu", n->indications[prio]);
			table_line(nic_columns, NIC_COLUMNS, cells);
		}
	}
}

int cmd_ports(int argc, char **argv)
{
	const struct pfc_slot *all = &view.slots[0];
	char text[128];
	struct pins p;
	__u32 k, prio;
	int err;

	(void)argv;
	if (argc > 1) {
		msg("ports takes no arguments");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	ports_read(&p);
	pins_close(&p);
	if (show_options.json)
		return ports_json();
	if (!view.count) {
		puts("no interface has pauses (pfc: in the configuration)");
		return EXIT_DONE;
	}
	if (all->round_ns) {
		if (view.asleep)
			snprintf(text, sizeof(text), "all queues are short");
		else if (all->remaining_ns != ~0ULL)
			snprintf(text, sizeof(text), "%llu bytes free, for %llu us at this growth", all->free_bytes,
				 all->remaining_ns / 1000);
		else
			snprintf(text, sizeof(text), "%llu bytes free, and it does not get less", all->free_bytes);
		printf("buffer: ");
		words_print(text, 8, 8);
	}
	table_line(port_columns, PORT_COLUMNS, NULL);
	for (k = 0; k < view.count; k++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (view.rows[k].port.lossless >> prio & 1)
				ports_line(&view.rows[k], prio);
	nics_print();
	return EXIT_DONE;
}

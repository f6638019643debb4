// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl ports: pauses, received and sent, and the queues between them. As text: a sentence on the buffer, a table
 * of the lossless priorities of all ports, and a table of NICs. As JSON each port is one object.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/pods.h"
#include "ctl/show.h"

#define PORTS_ASLEEP_NS (100 * 1000 * 1000ULL) /* growth in a round longer ago counts as none */

struct ports_row {
	__u32 ifindex;
	char name[16];
	struct pfc_port port;
};

struct ports_view {
	struct ports_row rows[PFC_SLOTS];
	__u32 count;
	struct pfc_slot slots[PFC_SLOTS];
	struct pods pods;
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
	pods_read(&view.pods, p);
	view.now = now_ns();
	view.asleep = view.now > view.slots[0].round_ns + PORTS_ASLEEP_NS;
}

static const char *state_name(enum pfc_state state)
{
	static const char *const names[] = { "open", "paused", "expired", "resumed", "storm" };

	return state <= PFC_STORM ? names[state] : "unknown";
}

/* The pause that the neighbour has to obey. */
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

/* Bytes that came in by the port and are still here, and bytes in its own queue. */
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

/* Bytes of the queue by ingress port. */
static void ports_by_ingress(const struct ports_row *r, __u32 prio)
{
	const struct pfc_slot *s = &view.slots[r->port.slot % PFC_SLOTS];
	__u32 k;

	out_object("queue_by_ingress_bytes");
	if (s->bytes[0][prio])
		out_u64("", s->bytes[0][prio]);
	for (k = 0; k < view.count; k++)
		if (s->bytes[view.rows[k].port.slot % PFC_SLOTS][prio])
			out_u64(view.rows[k].name, s->bytes[view.rows[k].port.slot % PFC_SLOTS][prio]);
	out_end();
}

static __u64 sent_sum(const struct pfc_sent *s)
{
	return s->xoffs + s->refreshes + s->xons + s->predicted;
}

/* Pauses sent at packets; the others were sent in the daemon's rounds. */
static void ports_at_packets(const struct pfc_sent *s)
{
	out_object("told_at_packets");
	out_u64("xoffs", s->xoffs);
	out_u64("refreshes", s->refreshes);
	out_u64("xons", s->xons);
	out_u64("predicted", s->predicted);
	out_end();
}

/* clang-format off */
static const struct table_column port_columns[] = {
	{ "PORT",     -16,  0, "port" },
	{ "PRIO",       4,  1, "priority" },
	{ "IN BYTES",  10,  5, "in_bytes" },
	{ "GROWTH",     9,  8, "in_growth_bytes" },
	{ "QUEUE",     10,  4, "queue_bytes" },
	{ "GROWTH",     9,  9, "queue_growth_bytes" },
	{ "TOLD",      -9,  2, "told" },
	{ "LEFT us",    8, 10, "told_left_ns" },
	{ "XOFF",       7,  6, "sent" },
	{ "XON",        7, 11, "xons" },
	{ "PREDICT",    7, 12, "predicted" },
	{ "PACKETS",    7, 16, "at_packets" },
	{ "STATE",     -8,  3, "state" },
	{ "LEFT us",    8, 13, "left_ns" },
	{ "HEARD",      7,  7, "heard" },
	{ "XON",        7, 14, "resumed" },
	{ "STORMS",     6, 15, "storms" },
	{ "POD",      -24, 17, "pod" }, /* if there are pods */
};
#define PORT_COLUMNS (sizeof(port_columns) / sizeof(port_columns[0]))
/* clang-format on */

static void priority_put(const struct ports_row *r, __u32 prio)
{
	const struct pod *pod = pods_find_link(&view.pods, r->ifindex);
	char text[POD_STRLEN];
	const struct pfc_class *of = &view.slots[r->port.slot % PFC_SLOTS].of[prio];

	out_row();
	out_cell("port", "%s", r->name);
	out_u64("priority", prio);
	out_u64("in_bytes", bytes_in(r, prio));
	out_s64("in_growth_bytes", view.asleep ? 0 : of->in_growth);
	out_u64("queue_bytes", bytes_out(r, prio));
	out_s64("queue_growth_bytes", view.asleep ? 0 : of->out_growth);
	if (out_json)
		ports_by_ingress(r, prio);
	out_string("told", told_name(&of->told));
	out_ns("told_left_ns", told_left_ns(&of->told));
	out_u64("xoffs", of->xoffs + of->packets.xoffs);
	out_u64("refreshes", of->refreshes + of->packets.refreshes);
	out_cell("sent", "%llu", of->xoffs + of->refreshes + of->packets.xoffs + of->packets.refreshes);
	out_u64("xons", of->xons + of->packets.xons);
	out_u64("predicted", of->packets.predicted);
	out_cell("at_packets", "%llu", sent_sum(&of->packets));
	if (out_json)
		ports_at_packets(&of->packets);
	out_string("state", heard_state(r, prio));
	if (r->port.flags & PFC_F_DOWN)
		out_cell("state", "down");
	out_ns("left_ns", heard_left_ns(r, prio));
	out_u64("heard", r->port.heard[prio]);
	out_u64("resumed", r->port.resumed[prio]);
	out_u64("storms", r->port.storms[prio]);
	if (pod)
		out_cell("pod", "%s", pod_format(pod, text));
	out_row_end();
}

static const struct pfc_nic *nic_of(const struct ports_row *r)
{
	return &view.slots[r->port.slot % PFC_SLOTS].nic;
}

/* The side that chose the priorities for which the NIC does PFC. */
static const char *nic_told_by(const struct ports_row *r)
{
	return r->port.flags & PFC_F_NIC_SET ? "sluice" : r->port.flags & PFC_F_NIC_LLD ? "dcbx" : "host";
}

/* clang-format off */
static const struct table_column nic_columns[] = {
	{ "NIC",         -16, 0, "nic" },
	{ "PRIO",          4, 1, "priority" },
	{ "PFC",          -4, 2, "enabled" },
	{ "SET BY",       -8, 5, "by" },
	{ "REQUESTS",     12, 4, "requests" },
	{ "INDICATIONS",  12, 3, "indications" },
};
#define NIC_COLUMNS (sizeof(nic_columns) / sizeof(nic_columns[0]))
/* clang-format on */

static void nic_priority_put(const struct ports_row *r, __u32 prio)
{
	const struct pfc_nic *n = nic_of(r);

	out_row();
	out_cell("nic", "%s", r->name);
	out_u64("priority", prio);
	out_bool("enabled", n->enabled >> prio & 1);
	out_cell("by", "%s", nic_told_by(r));
	out_u64("requests", n->requests[prio]);
	out_u64("indications", n->indications[prio]);
	out_row_end();
}

static void nic_json(const struct ports_row *r)
{
	__u32 prio;

	out_object("nic");
	out_string("told_by", nic_told_by(r));
	out_u64("capability", nic_of(r)->capability);
	out_array("priorities");
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		nic_priority_put(r, prio);
	out_end();
	out_end();
}

static void port_json(const struct ports_row *r)
{
	__u32 prio;

	out_object(NULL);
	out_string("name", r->name);
	pod_json(pods_find_link(&view.pods, r->ifindex));
	out_bool("obeys", r->port.flags & (PFC_F_OBEY | PFC_F_NIC));
	out_bool("pauses", r->port.flags & PFC_F_PAUSE);
	out_bool("predicts", r->port.flags & PFC_F_PREDICT);
	out_bool("down", r->port.flags & PFC_F_DOWN);
	out_bool("counted", r->port.flags & PFC_F_COUNT);
	out_u64("queue_bytes", view.slots[r->port.slot % PFC_SLOTS].total);
	out_u64("amended_bytes", view.slots[r->port.slot % PFC_SLOTS].amended);
	out_array("priorities");
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		if (r->port.lossless >> prio & 1 || bytes_in(r, prio) || bytes_out(r, prio))
			priority_put(r, prio);
	out_end();
	if (r->port.flags & PFC_F_NIC)
		nic_json(r);
	out_end();
}

static int ports_json(void)
{
	const struct pfc_slot *all = &view.slots[0];
	__u32 k;

	out_object(NULL);
	out_object("buffer");
	out_bool("asleep", view.asleep);
	out_u64("free_bytes", all->free_bytes);
	out_u64("elapsed_ns", all->elapsed_ns);
	if (!view.asleep && all->remaining_ns != ~0ULL)
		out_u64("remaining_ns", all->remaining_ns);
	out_end();
	out_array("ports");
	for (k = 0; k < view.count; k++)
		port_json(&view.rows[k]);
	return out_done();
}

/* For priorities that are lossless, enabled, or were ever paused. */
static void nics_print(void)
{
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
				out_table(nic_columns, NIC_COLUMNS);
			}
			nic_priority_put(r, prio);
		}
	}
}

static void buffer_print(void)
{
	const struct pfc_slot *all = &view.slots[0];
	char text[128];

	if (!all->round_ns)
		return;
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

int cmd_ports(int argc, char **argv)
{
	struct pins p;
	__u32 k, prio;
	int err;

	(void)argv;
	if (arguments_refused(argc, "ports"))
		return EXIT_USAGE;
	err = show_open(&p);
	if (err)
		return err;
	ports_read(&p);
	pins_close(&p);
	if (out_json)
		return ports_json();
	if (!view.count) {
		puts("no interface has pauses (pfc: in the configuration)");
		return EXIT_DONE;
	}
	buffer_print();
	out_table(port_columns, PORT_COLUMNS - !view.pods.n);
	for (k = 0; k < view.count; k++)
		for (prio = 0; prio < PFC_PRIORITIES; prio++)
			if (view.rows[k].port.lossless >> prio & 1)
				priority_put(&view.rows[k], prio);
	nics_print();
	return EXIT_DONE;
}

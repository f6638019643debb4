// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl queue: the qdiscs `sluice` of this network namespace, by their map and what the kernel counts. */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"
#include "lib/classes.h"
#include "lib/net.h"
#include "lib/qdisc.h"
#include "lib/queues.h"

/* clang-format off */
static const struct table_column queue_columns[] = {
	{ "PORT",       -8,  0, "interface" },
	{ "CLASS",      -8,  3, "class" },
	{ "PACKETS",     8,  1, "waiting_packets" },
	{ "BYTES",      10,  4, "waiting_bytes" },
	{ "NEW",         6,  9, "new_flows" },
	{ "TURNS",       6,  8, "turn_flows" },
	{ "HELD",        6,  5, "held_flows" },
	{ "NEXT us",    10,  6, "next" },
	{ "VOQS",        6, 15, "waiting_voqs" },
	{ "PAUSED",      7, 17, "paused_flows" },
	{ "OVERTOOK",   10, 10, "beside_packets" },
	{ "ACCEPTED",   12,  7, "taken" },
	{ "FULL",        8,  2, "full" },
	{ "FLOW FULL",  10, 11, "flow_full" },
	{ "FLOWS FULL", 11, 12, "flows_full" },
	{ "BEYOND",      8, 13, "beyond" },
	{ "MEMORY",      8, 14, "memory" },
	{ "STALE",      -6, 16, "stale" },
};
/* clang-format on */
#define COLUMNS (sizeof(queue_columns) / sizeof(queue_columns[0]))

static const struct qdisc_found *qdisc_find(const struct qdisc_found *list, int n, const struct queue_seen *q)
{
	int i;

	for (i = 0; i < n; i++)
		if (list[i].ifindex == q->ifindex && list[i].parent == q->parent && !strcmp(list[i].q.kind, "sluice"))
			return &list[i];
	return NULL;
}

static void queue_show(const struct queue_seen *q, const struct qdisc_found *f, __u64 now)
{
	char text[32], name[IFNAMSIZ] = "?";
	__u64 held_ns = queue_held_ns(q, now);
	unsigned int i;

	if_indextoname(q->ifindex, name);
	snprintf(text, sizeof(text), "%x:%x", TC_H_MAJ(q->parent) >> 16, TC_H_MIN(q->parent));
	out_row();
	out_string("interface", name);
	out_string("class", q->parent == TC_H_ROOT ? "root" : text);
	out_u64("waiting_packets", f ? f->packets : 0);
	out_u64("waiting_bytes", f ? f->bytes : 0);
	out_u64("new_flows", q->fresh_flows);
	out_u64("turn_flows", q->ring_flows);
	out_u64("held_flows", q->held_flows);
	out_u64("held_for_ns", held_ns);
	if (held_ns)
		out_cell("next", "%llu", held_ns / 1000);
	out_u64("waiting_voqs", q->waiting_voqs);
	out_u64("voq_packets", q->voq_packets);
	out_u64("paused_flows", q->paused_flows);
	out_u64("pauses", q->pauses);
	out_u64("beside_packets", q->beside);
	out_object("packets");
	for (i = 0; i < QUEUE_VERDICTS; i++)
		out_u64(queue_verdict_names[i], q->packets[i]);
	out_end();
	out_row_end();
}

/* The classes of a switch port (sluice/queue/port.h), each as a row of its own. */
static void queue_classes_show(const struct queue_seen *q)
{
	struct class_seen seen[CLASSES_MAX];
	char name[IFNAMSIZ] = "?", text[32];
	unsigned int n, i;

	n = classes_of_queue(show_pin_dir, q, seen);
	if_indextoname(q->ifindex, name);
	for (i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "class %u", i + 1);
		out_row();
		out_string("interface", name);
		out_string("class", text);
		out_u64("waiting_packets", seen[i].backlog_packets);
		out_u64("waiting_bytes", seen[i].backlog_bytes);
		out_u64("sojourn_ns", seen[i].sojourn_ns);
		out_u64("tx_packets", seen[i].tx_packets);
		out_u64("tx_bytes", seen[i].tx_bytes);
		out_object("packets");
		out_u64(queue_verdict_names[QUEUE_TAKEN], seen[i].tx_packets + seen[i].backlog_packets);
		out_u64(queue_verdict_names[QUEUE_FULL], seen[i].full);
		out_end();
		out_row_end();
	}
}

/* Reports why there is nothing to show. */
static void queue_none(int err, const char *name)
{
	if (err == -ENOENT)
		msg("%s: no sluiced has registered the qdisc 'sluice' there: 'sluicectl probe' says whether this kernel has it; give the --pin-dir of the one that registered it",
		    show_pin_dir);
	else if (err == -EPERM || err == -EACCES)
		msg("%s: not allowed: run it as root", show_pin_dir);
	else if (err == -EPROTO)
		msg("%s: the qdisc 'sluice' there is of another version of Sluice: use its own sluicectl, or start sluiced again",
		    show_pin_dir);
	else if (err)
		msg("%s: reading the map 'queues': %s", show_pin_dir, strerror(-err));
	else
		msg("%s%s not have the qdisc 'sluice': write 'queue: sluice' for it in the configuration (see docs/queue.md), or run 'tc qdisc replace dev %s root sluice'",
		    name ?: "the interfaces here", name ? " does" : " do", name ?: "...");
}

int cmd_queue(int argc, char **argv)
{
	struct qdisc_found *found;
	struct queue_seen *list;
	struct link_info link;
	unsigned int n, i;
	__u64 now = now_ns(); /* before it is read: the first departure comes after it */
	int err, found_n;

	if (argc > 2) {
		msg("queue takes one interface at most");
		return EXIT_USAGE;
	}
	err = link_get(argc > 1 ? argv[1] : "lo", &link);
	if (err) {
		msg("%s: no such interface: %s", argc > 1 ? argv[1] : "lo", strerror(-err));
		return EXIT_FAILED;
	}
	err = queues_list(show_pin_dir, link.netns_cookie, argc > 1 ? link.ifindex : 0, &list, &n);
	/* To a program an empty list says as much as the sentence. */
	if (out_json && argc == 1 && ((!err && !n) || err == -ENOENT)) {
		free(list);
		out_array(NULL);
		return out_done();
	}
	if (err || !n) {
		queue_none(err, argc > 1 ? link.name : NULL);
		free(list);
		return EXIT_FAILED;
	}
	found_n = qdiscs_read(0, &found);
	if (found_n < 0)
		msg("reading the qdiscs: %s: what waits in them is not known", strerror(-found_n));
	out_array(NULL);
	out_table(queue_columns, COLUMNS);
	for (i = 0; i < n; i++) {
		queue_show(&list[i], qdisc_find(found, found_n, &list[i]), now);
		queue_classes_show(&list[i]);
	}
	free(found);
	free(list);
	return out_done();
}

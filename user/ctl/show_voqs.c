// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl voqs, credits: both ends of HierCC. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include "ctl/show.h"

struct voqs_ctx {
	const struct pins *pins;
	struct json_object *list; /* NULL: as text */
	__u64 now;
	unsigned int shown;
};

/* R that the switch of this rack told last, bits/s; 0: none, or too long ago. */
static __u64 voq_told(const struct voq *v, __u64 now)
{
	return v->told_ns && now < v->told_ns + v->params.limit_ns ? v->told_bps : 0;
}

/* What its packets find. */
static const char *voq_state(const struct voq *v, __u64 now)
{
	if (v->voq.last_ns + v->params.idle_ns < now)
		return "idle";
	if (voq_is_at_tor(v))
		return voq_told(v, now) ? "tor" : "tor, silent";
	if (!hiercc_queue(&v->voq, &v->params))
		return "covered";
	if (v->voq.short_ns && v->voq.short_ns + v->params.limit_ns <= now)
		return "alone";
	return "waits";
}

static const char *destination_format(const struct sluice_addr *addr, __u32 prefixlen, char *buf)
{
	struct peer_key key = { .prefixlen = prefixlen, .addr = *addr };

	return prefixlen == 128 ? addr_format(addr, buf) : prefix_format(&key, buf);
}

static const char *interface_format(const struct pins *p, __u32 ifindex, char *buf)
{
	struct port port;

	if (!bpf_map_lookup_elem(p->ports, &ifindex, &port))
		snprintf(buf, IFNAMSIZ, "%.15s", port.name);
	else
		snprintf(buf, IFNAMSIZ, "%u", ifindex);
	return buf;
}

static __u64 voq_left(const struct voq *v)
{
	__u64 covered = v->voq.credit + v->params.c0;

	return covered > v->voq.sent ? covered - v->voq.sent : 0;
}

static const struct table_column voq_columns[] = {
	{ "DESTINATION", -24, 0 }, { "PORT", -8, 6 },	     { "S BYTES", 14, 9 },  { "CREDIT", 10, 5 }, { "Q_VOQ", 10, 3 },
	{ "R_CRED Mb/s", 12, 7 },  { "R Mbit/s", 12, 2 },    { "F", 5, 4 },	    { "WAITS us", 10, 8 }, { "STATE", -11, 1 },
};

static const struct table_column credit_columns[] = {
	{ "RACK", -15, 0 }, { "DESTINATION", -16, 1 }, { "PORT", -8, 7 },    { "S BYTES", 14, 8 },  { "GRANTED", 14, 9 },
	{ "DUE", 10, 3 },   { "F", 5, 4 },	       { "LAST ms", 10, 5 }, { "REFUSED", 8, 6 },   { "STATE", -6, 2 },
};
#define COLUMNS 10 /* of both */

static int voq_show(const struct voq_key *k, const struct voq *v, void *ctx)
{
	struct voqs_ctx *c = ctx;
	char dst[PREFIX_STRLEN], name[IFNAMSIZ], waiting[24] = "-";
	__u64 credit_bps = 8 * hiercc_credit_rate(&v->voq, &v->params);
	__u64 waiting_ns = age_ns(c->now, v->voq.short_ns);
	table_cell cells[COLUMNS];
	const char *state = voq_state(v, c->now);
	struct json_object *o;

	if (!v->voq.last_ns)
		return 0; /* that of a prefix, which nobody needed yet */
	if (!strcmp(state, "idle") || !strcmp(state, "covered"))
		waiting_ns = 0;
	destination_format(&k->addr, k->prefixlen, dst);
	interface_format(c->pins, v->ifindex, name);
	if (!c->list) {
		if (!c->shown++)
			table_line(voq_columns, COLUMNS, NULL);
		if (waiting_ns)
			snprintf(waiting, sizeof(waiting), "%llu", waiting_ns / 1000);
		snprintf(cells[0], sizeof(cells[0]), "%s", dst);
		snprintf(cells[1], sizeof(cells[1]), "%s", name);
		snprintf(cells[2], sizeof(cells[2]), "%llu", v->voq.sent - HIERCC_TOTAL_FIRST);
		snprintf(cells[3], sizeof(cells[3]), "%llu", voq_left(v));
		snprintf(cells[4], sizeof(cells[4]), "%u", hiercc_queue(&v->voq, &v->params));
		snprintf(cells[5], sizeof(cells[5]), "%.3f", credit_bps / 1e6);
		snprintf(cells[6], sizeof(cells[6]), "%.3f", (voq_is_at_tor(v) ? voq_told(v, c->now) : 8 * v->hop.rate) / 1e6);
		snprintf(cells[7], sizeof(cells[7]), "%u", rx_counted(&v->count));
		snprintf(cells[8], sizeof(cells[8]), "%s", waiting);
		snprintf(cells[9], sizeof(cells[9]), "%s%s", state, v->hop.stopped ? ", stopped" : "");
		table_line(voq_columns, COLUMNS, cells);
		return 0;
	}
	o = json_object_new_object();
	add_string(o, "destination", dst);
	add_bool(o, "merged", k->prefixlen != 128);
	add_string(o, "interface", name);
	add_u64(o, "sent_bytes", v->voq.sent - HIERCC_TOTAL_FIRST);
	add_u64(o, "granted_bytes", v->voq.credit - HIERCC_TOTAL_FIRST);
	add_u64(o, "credit_bytes", voq_left(v));
	add_u64(o, "queue_bytes", hiercc_queue(&v->voq, &v->params));
	add_u64(o, "credit_rate_bps", credit_bps);
	add_u64(o, "flow_rate_bps", 8 * v->hop.rate);
	add_u64(o, "told_rate_bps", voq_told(v, c->now));
	add_bool(o, "stopped", v->hop.stopped);
	add_u64(o, "flows", rx_counted(&v->count));
	add_u64(o, "waiting_ns", waiting_ns);
	add_string(o, "state", state);
	add_u64(o, "alone_packets", v->alone);
	add_u64(o, "last_sent_age_ns", age_ns(c->now, v->voq.last_ns));
	add_u64(o, "last_credit_age_ns", age_ns(c->now, v->voq.credit_ns));
	add_u64(o, "c0_bytes", v->params.c0);
	add_u64(o, "limit_ns", v->params.limit_ns);
	json_object_array_add(c->list, o);
	return 0;
}

static int arrival_show(const struct arrival_key *k, __u32 slot, void *ctx)
{
	struct voqs_ctx *c = ctx;
	char tor[INET_ADDRSTRLEN], dst[PREFIX_STRLEN], name[IFNAMSIZ], addr[PREFIX_STRLEN];
	table_cell cells[COLUMNS];
	struct json_object *o;
	struct hiercc_due d;
	struct arrival a;
	__u64 due, age;

	if (bpf_map_lookup_elem(c->pins->arrivals, &slot, &a) || bpf_map_lookup_elem(c->pins->credits, &slot, &d))
		return 0;
	inet_ntop(AF_INET, &k->tor, tor, sizeof(tor));
	destination_format(&k->addr, k->prefixlen, dst);
	interface_format(c->pins, a.ifindex, name);
	due = d.sent > d.granted ? d.sent - d.granted : 0;
	age = age_ns(c->now, a.last_ns);
	if (!c->list) {
		if (!c->shown++)
			table_line(credit_columns, COLUMNS, NULL);
		snprintf(cells[0], sizeof(cells[0]), "%s", tor);
		snprintf(cells[1], sizeof(cells[1]), "%s", dst);
		snprintf(cells[2], sizeof(cells[2]), "%s", name);
		snprintf(cells[3], sizeof(cells[3]), "%llu", d.sent ? d.sent - HIERCC_TOTAL_FIRST : 0);
		snprintf(cells[4], sizeof(cells[4]), "%llu", d.sent ? d.granted - HIERCC_TOTAL_FIRST : 0);
		snprintf(cells[5], sizeof(cells[5]), "%llu", due);
		snprintf(cells[6], sizeof(cells[6]), "%u", d.flows);
		snprintf(cells[7], sizeof(cells[7]), "%.1f", age / 1e6);
		snprintf(cells[8], sizeof(cells[8]), "%llu", a.claims_cut + a.claims_jumped);
		snprintf(cells[9], sizeof(cells[9]), "%s", a.watched ? "active" : "idle");
		table_line(credit_columns, COLUMNS, cells);
		return 0;
	}
	o = json_object_new_object();
	add_string(o, "rack", tor);
	add_string(o, "destination", dst);
	add_string(o, "interface", name);
	/* Since the VOQ was seen first, or began anew: S itself is known by its low 32 bits. */
	add_u64(o, "sent_bytes", d.sent ? d.sent - HIERCC_TOTAL_FIRST : 0);
	add_u64(o, "granted_bytes", d.sent ? d.granted - HIERCC_TOTAL_FIRST : 0);
	add_u64(o, "due_bytes", due);
	add_u64(o, "flows", d.flows);
	add_u64(o, "arrived_bytes", a.seen.bytes);
	add_u64(o, "arrived_packets", a.seen.packets);
	add_u64(o, "last_arrival_age_ns", age);
	add_string(o, "from", addr_format(&a.from, addr));
	add_bool(o, "active", !!a.watched);
	add_u64(o, "claims_jumped", a.claims_jumped);
	add_u64(o, "claims_cut", a.claims_cut);
	json_object_array_add(c->list, o);
	return 0;
}

static int voqs_run(int argc, const char *name, const char *none, int (*each)(const struct pins *p, struct voqs_ctx *c))
{
	struct voqs_ctx c = { .now = now_ns() };
	struct pins p;
	int err;

	if (argc > 1) {
		msg("%s takes no arguments", name);
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	c.pins = &p;
	if (show_options.json)
		c.list = json_object_new_array();
	err = each(&p, &c);
	pins_close(&p);
	if (err) {
		msg("reading the maps: %s", strerror(-err));
		json_object_put(c.list);
		return EXIT_FAILED;
	}
	if (c.list)
		return show_json(c.list);
	if (!c.shown)
		puts(none);
	return EXIT_DONE;
}

static int voqs_each(const struct pins *p, struct voqs_ctx *c)
{
	__u32 cursor = 0;

	return pins_some_voqs(p, &cursor, 0, voq_show, c);
}

static int arrivals_each(const struct pins *p, struct voqs_ctx *c)
{
	return pins_each_arrival(p, arrival_show, c);
}

int cmd_voqs(int argc, char **argv)
{
	(void)argv;
	return voqs_run(argc, "voqs", "no VOQs: nothing was sent to peers with hiercc", voqs_each);
}

int cmd_credits(int argc, char **argv)
{
	(void)argv;
	return voqs_run(argc, "credits", "no credits: nothing came by VOQs of other racks", arrivals_each);
}

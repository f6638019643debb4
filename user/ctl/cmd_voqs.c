// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl voqs, credits: both ends of HierCC. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"

struct voqs_ctx {
	const struct pins *pins;
	__u64 now;
	unsigned int shown;
};

/* R that the switch of this rack last told, bits/s; 0: none, or too long ago. */
static __u64 voq_told(const struct voq *v, __u64 now)
{
	return v->told_ns && now < v->told_ns + v->params.limit_ns ? v->told_bps : 0;
}

/* The state in which its next packet will find it. */
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

/* clang-format off */
static const struct table_column voq_columns[] = {
	{ "DESTINATION", -24, 0, "destination" },
	{ "PORT",         -8, 6, "interface" },
	{ "S BYTES",      14, 9, "sent_bytes" },
	{ "CREDIT",       10, 5, "credit_bytes" },
	{ "Q_VOQ",        10, 3, "queue_bytes" },
	{ "R_CRED Mb/s",  12, 7, "credit_rate_bps" },
	{ "R Mbit/s",     12, 2, "rate" },
	{ "F",             5, 4, "flows" },
	{ "WAITS us",     10, 8, "waits" },
	{ "STATE",       -11, 1, "state" },
};

static const struct table_column credit_columns[] = {
	{ "RACK",        -15, 0, "rack" },
	{ "DESTINATION", -16, 1, "destination" },
	{ "PORT",         -8, 7, "interface" },
	{ "S BYTES",      14, 8, "sent_bytes" },
	{ "GRANTED",      14, 9, "granted_bytes" },
	{ "DUE",          10, 3, "due_bytes" },
	{ "F",             5, 4, "flows" },
	{ "LAST ms",      10, 5, "last" },
	{ "REFUSED",       8, 6, "refused" },
	{ "STATE",        -6, 2, "state" },
};
/* clang-format on */
#define COLUMNS 10 /* columns of both tables */

static int voq_show(const struct voq_key *k, const struct voq *v, void *ctx)
{
	struct voqs_ctx *c = ctx;
	char text[PREFIX_STRLEN], name[IFNAMSIZ];
	__u64 told_bps = voq_told(v, c->now), waiting_ns = age_ns(c->now, v->voq.short_ns);
	const char *state = voq_state(v, c->now);

	if (!v->voq.last_ns)
		return 0; /* that of a prefix, not needed yet */
	if (!strcmp(state, "idle") || !strcmp(state, "covered"))
		waiting_ns = 0;
	if (!c->shown++)
		out_table(voq_columns, COLUMNS);
	out_row();
	out_string("destination", destination_format(&k->addr, k->prefixlen, text));
	out_bool("merged", k->prefixlen != 128);
	out_string("interface", interface_format(c->pins, v->ifindex, name));
	out_u64("sent_bytes", v->voq.sent - HIERCC_TOTAL_FIRST);
	out_u64("granted_bytes", v->voq.credit - HIERCC_TOTAL_FIRST);
	out_u64("credit_bytes", voq_left(v));
	out_u64("queue_bytes", hiercc_queue(&v->voq, &v->params));
	out_rate("credit_rate_bps", 8 * hiercc_credit_rate(&v->voq, &v->params));
	out_u64("flow_rate_bps", 8 * v->hop.rate);
	out_u64("told_rate_bps", told_bps);
	out_cell("rate", "%.3f", (voq_is_at_tor(v) ? told_bps : 8 * v->hop.rate) / 1e6);
	out_bool("stopped", v->hop.stopped);
	out_u64("flows", rx_counted(&v->count));
	out_u64("waiting_ns", waiting_ns);
	if (waiting_ns)
		out_cell("waits", "%llu", waiting_ns / 1000);
	out_string("state", state);
	out_u64("alone_packets", v->alone);
	out_u64("last_sent_age_ns", age_ns(c->now, v->voq.last_ns));
	out_u64("last_credit_age_ns", age_ns(c->now, v->voq.credit_ns));
	out_u64("c0_bytes", v->params.c0);
	out_u64("limit_ns", v->params.limit_ns);
	out_row_end();
	return 0;
}

/* The port that grants it: whether its packets may grant, and its errors. Returns how much longer they may. */
static __u64 ring_show(const struct voqs_ctx *c, __u32 ring)
{
	struct credit_ring r = {};
	__u64 lease_ns;

	if (bpf_map_lookup_elem(c->pins->credit_rings, &ring, &r))
		memset(&r, 0, sizeof(r));
	lease_ns = r.ring.lease_ns > c->now ? r.ring.lease_ns - c->now : 0;
	out_u64("port_lease_ns", lease_ns);
	out_u64("port_turned_away", r.ring.turned_away);
	out_u64("port_locks_broken", r.ring.broken);
	out_u64("port_clock_jumps", r.ring.jumps);
	return lease_ns;
}

static int arrival_show(const struct arrival_key *k, __u32 slot, void *ctx)
{
	struct voqs_ctx *c = ctx;
	char text[PREFIX_STRLEN], name[IFNAMSIZ];
	struct hiercc_due d;
	struct credit credit;
	struct arrival a;
	__u64 lease_ns;

	if (bpf_map_lookup_elem(c->pins->arrivals, &slot, &a) || bpf_map_lookup_elem(c->pins->credits, &slot, &credit))
		return 0;
	d = credit.due;
	if (!c->shown++)
		out_table(credit_columns, COLUMNS);
	out_row();
	out_string("rack", inet_ntop(AF_INET, &k->tor, text, sizeof(text)));
	out_string("destination", destination_format(&k->addr, k->prefixlen, text));
	out_string("interface", interface_format(c->pins, a.ifindex, name));
	/* Since the VOQ was first seen, or began anew: only the low 32 bits of S itself are known. */
	out_u64("sent_bytes", d.sent ? d.sent - HIERCC_TOTAL_FIRST : 0);
	out_u64("granted_bytes", d.sent ? d.granted - HIERCC_TOTAL_FIRST : 0);
	out_u64("due_bytes", d.sent > d.granted ? d.sent - d.granted : 0);
	out_u64("flows", d.flows);
	out_u64("arrived_bytes", a.seen.bytes);
	out_u64("arrived_packets", a.seen.packets);
	out_u64("last_arrival_age_ns", age_ns(c->now, a.last_ns));
	out_cell("last", "%.1f", age_ns(c->now, a.last_ns) / 1e6);
	out_string("from", addr_format(&a.from, text));
	out_bool("active", a.watched);
	lease_ns = ring_show(c, a.ring);
	out_cell("state", "%s", !a.watched ? "idle" : lease_ns ? "active" : "lapsed");
	out_u64("claims_jumped", a.claims.jumped);
	out_u64("claims_cut", a.claims.cut);
	out_cell("refused", "%llu", a.claims.cut + a.claims.jumped);
	out_row_end();
	return 0;
}

static int voqs_run(int argc, const char *name, const char *none, int (*each)(const struct pins *p, struct voqs_ctx *c))
{
	struct voqs_ctx c = { .now = now_ns() };
	struct pins p;
	int err;

	if (arguments_refused(argc, name))
		return EXIT_USAGE;
	err = show_open(&p);
	if (err)
		return err;
	c.pins = &p;
	out_array(NULL);
	err = each(&p, &c);
	pins_close(&p);
	if (err) {
		msg("reading the maps: %s", strerror(-err));
		out_drop();
		return EXIT_FAILED;
	}
	if (!out_json && !c.shown)
		puts(none);
	return out_done();
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

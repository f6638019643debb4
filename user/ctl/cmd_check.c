// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl check [FILE]: whether sluiced would start here with this configuration, and work. The file is read as
 * sluiced reads it, followed by probe's findings for its interfaces in their roles. Nothing is changed.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/config.h"
#include "attach/dataplane.h"
#include "attach/hook/attached.h"
#include "attach/net/routes.h"
#include "attach/port/port_describe.h"
#include "attach/qdisc/queue.h"
#include "attach/qdisc/queue_root.h"
#include "lib/dcb.h"
#include "lib/net.h"
#include "lib/qdisc.h"
#include "lib/route.h"
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/probe.h"
#include "sluice/cc/base_rtt.h"

/* sluiced makes the pin directory, but not its parent. */
static void check_pin_dir(struct probe_report *r, const struct config *c)
{
	char path[256], mend[300], text[320], *parent;

	snprintf(path, sizeof(path), "%s", c->pin_dir);
	parent = dirname(path);
	if (!access(parent, F_OK) || errno == EACCES) {
		probe_report_add(r, "pin_dir", PROBE_OK, c->pin_dir, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%s: %s", parent, strerror(errno));
	snprintf(mend, sizeof(mend), "mkdir -p %s", parent);
	probe_report_add(r, "pin_dir", PROBE_MISSING, text, mend);
}

/* Checks whether the NIC obeys pauses, and reports how. */
static int check_nic(struct probe_report *r, const struct config *c, const struct config_interface *i,
		     const char *check)
{
	char text[256], mend[96], have[DCB_PRIORITIES_STRLEN], wanted[DCB_PRIORITIES_STRLEN];
	enum dcb_verdict verdict;
	struct dcb d;

	if (link_dcb_get(i->name, &d))
		return 0;
	verdict = dcb_judge(&d, c->lossless | d.pfc.pfc_en);
	if (verdict == DCB_NONE)
		return 0;
	dcb_priorities_format(d.pfc.pfc_en, have);
	dcb_priorities_format(c->lossless, wanted);
	if (verdict == DCB_TOO_MANY) {
		snprintf(
			text, sizeof(text),
			"the NIC does PFC for %u priorities at a time: has %s, and %s are to be lossless: write fewer in pfc: lossless, or take it from the others",
			d.pfc.pfc_cap, have, wanted);
		snprintf(mend, sizeof(mend), "dcb pfc set dev %s prio-pfc all:off", i->name);
		probe_report_add(r, check, PROBE_MISSING, text, mend);
	} else if (verdict != DCB_SETTABLE && c->lossless & ~d.pfc.pfc_en) {
		snprintf(
			text, sizeof(text),
			"DCBX of the NIC is not the host's, or is CEE: PFC stays enabled for %s, and %s are to be lossless: let it be the host's, or say the same priorities at the switch",
			have, wanted);
		snprintf(mend, sizeof(mend), "dcb dcbx set dev %s host ieee", i->name);
		probe_report_add(r, check, PROBE_LESS, text, mend);
	} else {
		snprintf(text, sizeof(text), "pauses are kept by the NIC, for priorities %s", wanted);
		probe_report_add(r, check, PROBE_OK, text, NULL);
	}
	return 1;
}

/* Pauses are obeyed by fq, and sent by queue length. */
static void check_pauses(struct probe_report *r, const struct config *c, const struct config_interface *i)
{
	char check[64], text[160];
	struct link_info link;
	struct qdisc_info q;

	if (!i->pfc || link_get(i->name, &link) || qdisc_get(link.ifindex, &q))
		return;
	snprintf(check, sizeof(check), "%s pfc", i->name);
	if (i->role == PORT_F_SWITCH && (q.unreadable || !strcmp(q.root, "mq") || !strcmp(q.root, "mqprio"))) {
		snprintf(text, sizeof(text),
			 "the queue of %s cannot be read, as that of fq, tbf or htb can: its neighbour is not paused",
			 q.root);
		probe_report_get(r, check, PROBE_LESS, text, ADVICE_LENGTH, i->name);
	} else if (check_nic(r, c, i, check)) {
		return;
	} else if (link_lacks_times(link.ifindex, &q)) {
		snprintf(text, sizeof(text),
			 "not every leaf of its qdiscs is fq (root: %s): pauses of its neighbour hold nothing", q.root);
		probe_report_get(r, check, PROBE_LESS, text, ADVICE_TIMES, i->name);
	} else {
		probe_report_add(r, check, PROBE_OK, "pauses are kept by fq", NULL);
	}
}

/* Whether 'queue: sluice' would be refused. */
static void check_queue(struct probe_report *r, const struct config_interface *i)
{
	char check[64], why[256], text[352], mend[96], root[48];
	struct qdisc_tree *t;
	struct link_info link;

	if (i->queue != CONFIG_QUEUE_SLUICE)
		return;
	snprintf(check, sizeof(check), "%s qdisc", i->name);
	if (queue_try(why, sizeof(why))) {
		snprintf(text, sizeof(text), "'queue: sluice' is refused: %s", why);
		probe_report_advise(r, check, PROBE_MISSING, text, "write 'queue: fq' for this interface");
		return;
	}
	if (link_get(i->name, &link) || qdisc_tree_get(link.ifindex, &t))
		return;
	if (root_is_ours(t) || root_is_sluice(t) || root_is_replaceable(t)) {
		probe_report_add(r, check, PROBE_OK, "sluiced installs 'sluice', and puts back what was there", NULL);
	} else {
		snprintf(text, sizeof(text), "'queue: sluice' is refused: the root qdisc %s could not be put back",
			 root_format(&t->root, &t->child, root, sizeof(root)));
		snprintf(mend, sizeof(mend), "tc qdisc del dev %s root", i->name);
		probe_report_add(r, check, PROBE_MISSING, text, mend);
	}
	free(t);
}

struct check_front {
	struct probe_report *r;
	const char *check;
};

static void check_front_add(const struct before *b, void *ctx)
{
	const struct check_front *f = ctx;
	char text[BEFORE_STRLEN];

	probe_report_advise(f->r, f->check, PROBE_LESS, before_format(b, text), before_advice(b));
}

/* Programs of others that packets meet before Sluice's. */
static void check_in_front(struct probe_report *r, const struct config *c, const struct config_interface *i)
{
	struct check_front f = { r, NULL };
	char check[64];
	struct link_info link;

	if (link_get(i->name, &link))
		return;
	snprintf(check, sizeof(check), "%s in front", i->name);
	f.check = check;
	before_each(c->pin_dir, link.ifindex, interface_takes_tcx(i), i->role == PORT_F_HOST || i->voqs || i->pfc,
		    check_front_add, &f);
}

static int device_is_governed(__u32 ifindex, const void *ctx)
{
	const struct config *c = ctx;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].role == PORT_F_HOST && if_nametoindex(c->interfaces[k].name) == ifindex)
			return 1;
	return 0;
}

/* Whether what leaves by a device is governed there, or by devices below it; reports it. */
static int check_device(struct probe_report *r, const struct config *c, const char *check, __u32 ifindex)
{
	char text[256], name[IFNAMSIZ] = "?", by[IFNAMSIZ] = "?";
	struct link_below below = { .has = LINK_HAS };

	if_indextoname(ifindex, name);
	snprintf(text, sizeof(text), "routed by %s", name);
	if (!device_is_governed(ifindex, c)) {
		link_below_find(ifindex, device_is_governed, c, &below);
		if_indextoname(below.which, by);
		snprintf(text, sizeof(text), "routed by %s, above %s", name, by);
	}
	if (below.has == LINK_HAS)
		probe_report_add(r, check, PROBE_OK, text, NULL);
	if (below.has == LINK_HAS_PARTLY) {
		if_indextoname(below.missing, by);
		snprintf(
			text, sizeof(text),
			"routed by %s, of whose ports %s is no interface of a host here: what leaves by it is not governed",
			name, by);
		probe_report_advise(r, check, PROBE_LESS, text,
				    "add all its ports with role: host, or itself in the place of them");
	}
	return below.has != LINK_HAS_NOT;
}

/* Reports where packets to a peer leave, and whether its route has room for telemetry. */
static void check_peer(struct probe_report *r, const struct config *c, const struct routes *rs,
		       const struct config_peer *p)
{
	char check[96], text[REFUSAL_STRLEN], name[IFNAMSIZ], change[ROUTE_STRLEN], mend[ROUTE_STRLEN + 32];
	const struct route_found *f;
	const __u32 *table;
	__u32 ifindex = 0;

	snprintf(check, sizeof(check), "peer %s", p->prefix);
	if (dataplane_peer_refused(c, p, rs, text, change)) {
		snprintf(mend, sizeof(mend), "ip route change %s", change);
		probe_report_add(r, check, PROBE_MISSING, text, *change ? mend : NULL);
		return;
	}
	for (table = routes_tables(rs); *table; table++) {
		f = routes_find(rs, &p->key, *table);
		if (!f || !f->best)
			continue;
		if (check_device(r, c, check, f->best->ifindex))
			return;
		ifindex = ifindex ?: f->best->ifindex;
	}
	if (!ifindex && p->telemetry == TELEMETRY_COMPANION) {
		probe_report_add(r, check, PROBE_OK, "routed by several routes, none of which needs another MTU", NULL);
	} else if (!ifindex) {
		probe_report_advise(
			r, check, PROBE_LESS,
			"no single route covers it: its route gets no MTU with room for telemetry",
			"name prefixes as they are routed (ip route), or give its routes an mtu (docs/configuration.md, Routes)");
	} else if (if_indextoname(ifindex, name)) {
		snprintf(text, sizeof(text),
			 "routed by %s, which is no interface of a host here: what is sent there is not governed",
			 name);
		probe_report_advise(r, check, PROBE_LESS, text,
				    "add that interface with role: host, or leave the peer out");
	}
}

static void check_peers(struct probe_report *r, const struct config *c)
{
	struct routes *rs;
	unsigned int i;
	int err;

	if (!c->peers_count)
		return;
	rs = dataplane_routes_read(c, 1, &err);
	if (err)
		probe_report_add(r, "routes", PROBE_LESS, strerror(-err), NULL);
	for (i = 0; rs && i < c->peers_count; i++)
		check_peer(r, c, rs, &c->peers[i]);
	routes_free(rs);
}

/* Packets that pass two interfaces of a host are governed and counted twice. */
static void check_twice(struct probe_report *r, const struct config *c, const struct config_interface *i)
{
	char check[64], text[160], name[IFNAMSIZ] = "?";
	struct link_below below;

	if (i->role != PORT_F_HOST)
		return;
	link_below_find(if_nametoindex(i->name), device_is_governed, c, &below);
	if (below.has == LINK_HAS_NOT)
		return;
	if_indextoname(below.which, name);
	snprintf(check, sizeof(check), "%s above %s", i->name, name);
	snprintf(text, sizeof(text),
		 "both have role: host, and what leaves by %s passes %s: it is counted and held twice", i->name, name);
	probe_report_advise(r, check, PROBE_LESS, text, "leave one of them out");
}

/* Compares T of each prefix with the T that a running daemon has measured, if there is one. */
static void check_rtts(struct probe_report *r, const struct config *c)
{
	char check[96], text[192], mend[64], is[UNITS_STRLEN];
	const struct config_peer *p;
	unsigned int i;
	struct pins pins;
	struct peer v;

	if (pins_open(c->pin_dir, &pins))
		return;
	for (i = 0; i < c->peers_count; i++) {
		p = &c->peers[i];
		/* The look-up finds the longest prefix in the map. */
		if (bpf_map_lookup_elem(pins.peers, &p->key, &v) || v.prefixlen != p->key.prefixlen || !v.measured_ns)
			continue;
		units_time_format((v.measured_ns + 500) / 1000 * 1000, is);
		snprintf(check, sizeof(check), "base_rtt %s", p->prefix);
		if (p->rtt_auto || !base_rtt_is_off(p->base_rtt_ns, v.measured_ns)) {
			snprintf(text, sizeof(text), "%s was measured", is);
			probe_report_add(r, check, PROBE_OK, text, NULL);
			continue;
		}
		snprintf(text, sizeof(text), "the file has %llu us and %s was measured, more than a quarter off: %s",
			 p->base_rtt_ns / 1000, is,
			 p->base_rtt_ns > v.measured_ns ? "queues are longer than they have to be" :
							  "ports are not full");
		snprintf(mend, sizeof(mend), "write base_rtt: %s, or auto", is);
		probe_report_advise(r, check, PROBE_LESS, text, mend);
	}
	pins_close(&pins);
}

/* Checks whether the congestion control's name belongs to another program. */
static void check_control(struct probe_report *r, const struct config *c)
{
	char names[1024] = " ", wanted[32], text[128];
	struct pins pins;
	FILE *f = c->tcp.name ? fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "re") : NULL;
	int ours = 0;

	if (!f)
		return;
	if (!fgets(names + 1, sizeof(names) - 2, f))
		names[1] = 0;
	fclose(f);
	names[strcspn(names, "\n")] = ' ';
	snprintf(wanted, sizeof(wanted), " %s ", c->tcp.name);
	if (!strstr(names, wanted))
		return;
	if (!pins_open(c->pin_dir, &pins)) {
		ours = !strcmp(pins.ctl->cc_name, c->tcp.name);
		pins_close(&pins);
	}
	if (ours)
		return;
	snprintf(text, sizeof(text), "there is another congestion control of the name %s", c->tcp.name);
	probe_report_advise(r, "tcp: name", PROBE_MISSING, text, "write another one");
}

static void check_patterns(struct probe_report *r, const struct config *c)
{
	const struct config_interface *e;
	char text[64];
	unsigned int n;

	for (e = c->entries; e < c->entries + c->entries_count; e++) {
		n = config_matches(c, e);
		snprintf(text, sizeof(text), "matches %u interface%s", n, PLURAL(n));
		if (e->pattern)
			probe_report_add(r, e->pattern, n ? PROBE_OK : PROBE_LESS, text, n ? NULL : "ip -br link");
	}
}

static void check_config(struct probe_report *r, const struct config *c)
{
	char why[REFUSAL_STRLEN];
	unsigned int i;
	__u32 roles;
	int err;

	check_pin_dir(r, c);
	check_control(r, c);
	check_patterns(r, c);
	qdiscs_hold();
	for (i = 0; i < c->interfaces_count; i++) {
		err = dataplane_interface_refused(&c->interfaces[i], why);
		if (err && err != -ENODEV) {
			probe_report_add(r, c->interfaces[i].name, PROBE_MISSING, why, NULL);
			continue;
		}
		roles = c->interfaces[i].role;
		/* The first hop of a node of pods stamps. */
		if (config_is_uplink(c, c->interfaces[i].name))
			roles |= PORT_F_SWITCH;
		probe_interface(r, c->interfaces[i].name, roles, c->interfaces[i].speed_bps);
		check_twice(r, c, &c->interfaces[i]);
		check_pauses(r, c, &c->interfaces[i]);
		check_queue(r, &c->interfaces[i]);
		check_in_front(r, c, &c->interfaces[i]);
	}
	qdiscs_release();
	check_peers(r, c);
	check_rtts(r, c);
	if (c->auth && !strcmp(c->auth, "none"))
		probe_report_add(
			r, "auth", PROBE_LESS,
			"none: whoever can send to this host can tell it how fast to send; a key, the same on all hosts, fixes it with auth: /etc/sluice/key",
			"(umask 077; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n' >/etc/sluice/key)");
}

int cmd_check(int argc, char **argv)
{
	const char *file = argc > 1 ? argv[1] : CONFIG_PATH;
	struct probe_report r = {};
	struct config *c;
	int err;

	if (argc > 2) {
		msg("usage: sluicectl check [FILE]: " CONFIG_PATH " if none is named");
		return EXIT_USAGE;
	}
	out_array(NULL);
	memory_keep_private();
	err = config_load(file, &c);
	if (err) {
		if (out_json)
			probe_report_add(&r, "configuration", PROBE_MISSING, msg_said(), NULL);
		out_done();
		return EXIT_FAILED;
	}
	probe_report_add(&r, "configuration", PROBE_OK, file, NULL);
	probe_kernel(&r);
	check_config(&r, c);
	config_free(c);
	out_done();
	return r.worst == PROBE_MISSING ? EXIT_UNSUPPORTED : EXIT_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The state of an interface in the kernel now, whatever the maps say. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attach/hook/attached.h"
#include "attach/hook/filter.h"
#include "attach/hook/tcx.h"
#include "attach/hook/xdp.h"
#include "attach/prog/bpf_id.h"
#include "lib/net.h"

/* --- ours --- */

int port_has_ingress(const struct pins *p, __u32 ifindex, const struct port *port)
{
	struct pfc_port pauses;

	if (port->flags & (PORT_F_HOST | PORT_F_VOQ_UP))
		return 1;
	return !(port->flags & PORT_F_POD) && !bpf_map_lookup_elem(p->pfc_ports, &ifindex, &pauses);
}

static int hook_see(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where, struct attached *a)
{
	__u32 id;

	if (!tcx_find(pin_dir, ifindex, where, &id))
		a->tcx = 1;
	else if (!clsact_filter_find(ifindex, where, &id))
		a->clsact = 1;
	else
		return 0;
	return 1;
}

void attached_see(const struct pins *p, const char *pin_dir, __u32 ifindex, const struct port *port, struct attached *a)
{
	struct link_info link;

	memset(a, 0, sizeof(*a));
	/* A link of that name may be another one, and its index that of another network namespace. */
	if (link_get(port->name, &link) || link.ifindex != ifindex || link.netns_cookie != port->netns_cookie)
		return;
	a->known = 1;
	a->egress = hook_see(pin_dir, ifindex, BPF_TC_EGRESS, a);
	a->ingress = hook_see(pin_dir, ifindex, BPF_TC_INGRESS, a);
	a->xdp = port->flags & PORT_F_XDP && xdp_is_there(ifindex, counters_id(p));
	if (port->flags & PORT_F_LEFT)
		return;
	if (!a->egress)
		strcat(a->missing, "egress");
	if (!a->ingress && port_has_ingress(p, ifindex, port))
		strcat(a->missing, *a->missing ? ", ingress" : "ingress");
	if (port->flags & PORT_F_XDP && !a->xdp)
		strcat(a->missing, *a->missing ? ", XDP" : "XDP");
}

/* --- in front of ours --- */

struct before_ctx {
	void (*fn)(const struct before *b, void *ctx);
	void *ctx;
	struct before b;
};

static void before_filter(const struct filter_found *f, void *ctx)
{
	struct before_ctx *c = ctx;
	char id[16], *end;

	if (f->chain || f->priority >= DP_TC_PRIORITY)
		return;
	c->b.priority = f->priority;
	c->b.prog_id = f->prog_id;
	snprintf(c->b.name, sizeof(c->b.name), "%s", *f->name ? f->name : f->kind);
	snprintf(id, sizeof(id), ":[%u]", f->prog_id); /* as libbpf adds it */
	end = strstr(c->b.name, id);
	if (end)
		*end = 0;
	c->fn(&c->b, c->ctx);
}

static void before_hook(const char *pin_dir, __u32 ifindex, int tcx, struct before_ctx *c)
{
	__u32 ids[TCX_PROGRAMS_MAX], own = 0, hook = c->b.where == BPF_TC_EGRESS ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS;
	int n = tcx_programs(ifindex, c->b.where, ids), i;

	/* Ours would be the first. */
	if (tcx && tcx_find(pin_dir, ifindex, c->b.where, &own))
		return;
	c->b.priority = 0;
	for (i = 0; i < n && ids[i] != own; i++) {
		c->b.prog_id = ids[i];
		prog_name(ids[i], c->b.name, sizeof(c->b.name));
		c->fn(&c->b, c->ctx);
	}
	if (!tcx)
		filters_each(ifindex, TC_H_MAKE(TC_H_CLSACT, hook), before_filter, c);
}

void before_each(const char *pin_dir, __u32 ifindex, int tcx, int ingress,
		 void (*fn)(const struct before *b, void *ctx), void *ctx)
{
	struct before_ctx c = { .fn = fn, .ctx = ctx, .b.where = BPF_TC_INGRESS };

	if (ingress)
		before_hook(pin_dir, ifindex, tcx, &c);
	c.b.where = BPF_TC_EGRESS;
	before_hook(pin_dir, ifindex, tcx, &c);
}

const char *before_advice(const struct before *b)
{
	if (!b->priority)
		return "start sluiced again, which puts its own first, or let that program end with TCX_NEXT";
	if (kernel_has_tcx())
		return "leave 'attach: clsact' out and start sluiced again: its programs are the first then, by tcx";
	return "give that filter a preference above 21603, or let it end with 'continue' (TC_ACT_UNSPEC)";
}

const char *before_format(const struct before *b, char *buf)
{
	char which[48] = "";

	if (b->prog_id)
		snprintf(which, sizeof(which), "id %u%s", b->prog_id, b->priority ? ", " : "");
	if (b->priority)
		snprintf(which + strlen(which), sizeof(which) - strlen(which), "preference %u", b->priority);
	snprintf(buf, BEFORE_STRLEN, "%s: the %s%s%s (%s) runs before Sluice's: packets that it ends with 'ok' %s",
		 b->where == BPF_TC_EGRESS ? "egress" : "ingress", b->priority ? "filter" : "tcx program",
		 *b->name ? " " : "", b->name, which,
		 b->where == BPF_TC_EGRESS ? "leave without Sluice" : "arrive with their telemetry, which is lost");
	return buf;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The changes of sluiced to this machine: each as the kernel has it now, and the previous state as it was recorded. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include "attach/hook/attached.h"
#include "attach/qdisc/queue_apply.h"
#include "attach/qdisc/queue_root.h"
#include "ctl/health.h"
#include "lib/dcb.h"
#include "lib/route.h"

struct changes {
	const struct pins *pins;
	const char *pin_dir;
	change_fn fn;
	void *ctx;
};

static void change(const struct changes *c, const char *kind, const char *object, const char *was, const char *is)
{
	c->fn(kind, object, was, is, c->ctx);
}

static void pfc_changes(const struct changes *c, __u32 ifindex, const char *name)
{
	char was[DCB_PRIORITIES_STRLEN], is[DCB_PRIORITIES_STRLEN];
	struct pfc_port v;

	if (bpf_map_lookup_elem(c->pins->pfc_ports, &ifindex, &v) || !(v.flags & PFC_F_NIC_SET))
		return;
	change(c, "pfc", name, dcb_priorities_format(v.nic_was, was), dcb_priorities_format(v.nic_set, is));
}

static int port_changes(__u32 ifindex, const struct port *port, void *ctx)
{
	const struct changes *c = ctx;
	struct attached a;

	attached_see(c->pins, c->pin_dir, ifindex, port, &a);
	if (!a.known)
		return 0;
	if (port->flags & PORT_F_OUR_CLSACT)
		change(c, "clsact", port->name, "", "added");
	if (a.egress || a.ingress)
		change(c, a.tcx ? "tcx" : "filters", port->name, "",
		       a.egress && a.ingress ? "egress, ingress" :
		       a.egress		     ? "egress" :
					       "ingress");
	if (a.xdp)
		change(c, "xdp", port->name, "", port->flags & PORT_F_XDP_GENERIC ? "generic" : "native");
	pfc_changes(c, ifindex, port->name);
	return 0;
}

static void qdisc_change(__u32 ifindex, const struct qdisc *root, const struct qdisc *child, void *ctx)
{
	const struct changes *c = ctx;
	char name[IFNAMSIZ], was[64];

	if (if_indextoname(ifindex, name))
		change(c, "qdisc", name, root_format(root, child, was, sizeof(was)), "sluice");
}

static void route_change(const struct peer_key *prefix, const struct route *r, void *ctx)
{
	const struct changes *c = ctx;
	char text[PREFIX_STRLEN], name[IFNAMSIZ] = "?", is[64];

	/* Another daemon of this network namespace has those by other interfaces. */
	if (bpf_map_lookup_elem(c->pins->ports, &r->ifindex, &(struct port){}))
		return;
	if_indextoname(r->ifindex, name);
	snprintf(is, sizeof(is), "dev %s mtu %u", name, r->mtu);
	change(c, "route", prefix_format(prefix, text), "", is);
}

/* Unless somebody has changed it since. */
static void sysctl_change(const struct changes *c)
{
	const struct control *ctl = c->pins->ctl;
	char is[32];

	default_control(is, sizeof(is));
	if (ctl->cc_default[0] && !strcmp(is, ctl->cc_name))
		change(c, "sysctl", "net.ipv4.tcp_congestion_control", ctl->cc_default, is);
}

void changes_each(const struct pins *p, const char *pin_dir, change_fn fn, void *ctx)
{
	struct changes c = { p, pin_dir, fn, ctx };
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* a filter that is missing is no error here */

	pins_each_port(p, port_changes, &c);
	queue_was_each(pin_dir, qdisc_change, &c);
	route_each_ours(route_change, &c);
	sysctl_change(&c);
	libbpf_set_print(print);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Devices on top of others: VLANs and macvlans on a link, bonds and bridges on their ports. */
#include <errno.h>
#include <string.h>
#include "lib/net.h"
#include "lib/util.h"

#define DEPTH_MAX 4 /* of a stack: a VLAN on a bond on two NICs has 2 */

/* Kinds whose packets leave by the one device below. */
static int is_on_one(const char *kind)
{
	static const char *const kinds[] = { "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec" };
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i]))
			return 1;
	return 0;
}

/* Each packet leaves by one of its ports. */
static int is_of_ports(const char *kind)
{
	return !strcmp(kind, "bond") || !strcmp(kind, "team");
}

/* Tunnels between Ethernets. Without a 'dev' they leave as the routes to the other end say, and have no lower device. */
static int is_tunnel(const char *kind)
{
	return !strcmp(kind, "vxlan") || !strcmp(kind, "gretap") || !strcmp(kind, "ip6gretap");
}

struct times {
	int depth;
	unsigned int devices;
	__u32 lacks; /* the first device that loses them */
};

static __u32 lacks_times(__u32 ifindex, const struct qdisc_info *q, int depth);

static void times_below(__u32 ifindex, void *ctx)
{
	struct times *t = ctx;
	struct qdisc_info q;

	t->devices++;
	if (!t->lacks)
		t->lacks = qdisc_get(ifindex, &q) ? ifindex : lacks_times(ifindex, &q, t->depth + 1);
}

static __u32 lacks_times(__u32 ifindex, const struct qdisc_info *q, int depth)
{
	struct times t = { .depth = depth };
	struct link_kin kin;
	int err;

	if (q->leaves && q->fq == q->leaves)
		return 0;
	if (depth >= DEPTH_MAX)
		return ifindex;
	err = link_kin_get(ifindex, &kin);
	if (err) {
		msg("interface %u: looking for a device below it: %s: departure times are taken as lost there", ifindex,
		    strerror(-err));
		return ifindex;
	}
	if (is_of_ports(kin.kind) && link_ports_each(ifindex, times_below, &t))
		return ifindex;
	if ((is_on_one(kin.kind) || is_tunnel(kin.kind)) && kin.lower)
		times_below(kin.lower, &t);
	return t.devices ? t.lacks : ifindex;
}

__u32 link_lacks_times(__u32 ifindex, const struct qdisc_info *q)
{
	return lacks_times(ifindex, q, 0);
}

int link_may_keep_times(__u32 ifindex, const struct qdisc_info *q)
{
	struct link_kin kin;

	if (q->fq || q->ours)
		return q->fq > q->ours;
	return !link_kin_get(ifindex, &kin) && kin.kind[0];
}

struct search {
	int (*is)(__u32 ifindex, const void *ctx);
	const void *ctx;
	int depth;
	unsigned int ports, found;
	struct link_below *below;
};

static void below_find(__u32 ifindex, struct search *s);

static void search_below(__u32 ifindex, void *ctx)
{
	struct search *s = ctx, deeper = { s->is, s->ctx, s->depth + 1, 0, 0, &(struct link_below){} };

	s->ports++;
	if (s->is(ifindex, s->ctx))
		*deeper.below = (struct link_below){ LINK_HAS, ifindex, 0 };
	else if (deeper.depth < DEPTH_MAX)
		below_find(ifindex, &deeper);
	s->found += deeper.below->has == LINK_HAS;
	s->below->which = s->below->which ?: deeper.below->which;
	s->below->missing = s->below->missing ?: deeper.below->missing;
	if (deeper.below->has == LINK_HAS_NOT)
		s->below->missing = ifindex;
}

static void below_find(__u32 ifindex, struct search *s)
{
	struct link_kin kin;

	if (link_kin_get(ifindex, &kin))
		return;
	if (is_on_one(kin.kind) && kin.lower)
		search_below(kin.lower, s);
	else if (is_of_ports(kin.kind) || !strcmp(kin.kind, "bridge"))
		link_ports_each(ifindex, search_below, s);
	if (!s->below->which) /* nowhere */
		*s->below = (struct link_below){};
	else if (s->found && (s->found == s->ports || !is_of_ports(kin.kind)))
		*s->below = (struct link_below){ LINK_HAS, s->below->which, 0 };
	else
		s->below->has = LINK_HAS_PARTLY;
}

void link_below_find(__u32 ifindex, int (*is)(__u32 ifindex, const void *ctx), const void *ctx,
		     struct link_below *below)
{
	struct search s = { is, ctx, 0, 0, 0, below };

	*below = (struct link_below){};
	below_find(ifindex, &s);
}

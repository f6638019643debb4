// SPDX-License-Identifier: GPL-2.0-only
/* The classes of an htb at the root of an interface: their rates, and which of them packets go through. */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include "lib/net/htb.h"
#include "lib/net/netlink.h"

/* Rate and ceil; a second attribute has each of them if the first is too narrow for it. */
static void class_rates(struct htb_class *c, const struct nlattr *options)
{
	struct tc_htb_opt opt = {};
	__u64 rate = 0, ceil = 0;
	const struct nlattr *a;

	mnl_attr_for_each_nested (a, options) {
		__u16 type = mnl_attr_get_type(a), len = mnl_attr_get_payload_len(a);

		if (type == TCA_HTB_PARMS)
			attr_struct(a, &opt, sizeof(opt));
		if (type == TCA_HTB_RATE64 && len >= sizeof(__u64))
			rate = mnl_attr_get_u64(a);
		if (type == TCA_HTB_CEIL64 && len >= sizeof(__u64))
			ceil = mnl_attr_get_u64(a);
	}
	c->rate_bps = shaper_bps(rate ?: opt.rate.rate);
	c->ceil_bps = shaper_bps(ceil ?: opt.ceil.rate);
	c->is_leaf = !opt.level;
}

int htb_take(const struct nlmsghdr *nlh, void *ctx)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	struct htb_class c = { .id = tc->tcm_handle, .parent = tc->tcm_parent };
	const struct nlattr *a;
	struct htb *h = ctx;

	if (nlh->nlmsg_type != RTM_NEWTCLASS || TC_H_MAJ(tc->tcm_handle) != TC_H_MAJ(h->handle))
		return MNL_CB_OK;
	mnl_attr_for_each (a, nlh, sizeof(*tc))
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			class_rates(&c, a);
	if (h->n == h->room) {
		unsigned int room = h->room ? 2 * h->room : 8;
		struct htb_class *more = realloc(h->class, room * sizeof(*more));

		if (!more) {
			errno = ENOMEM;
			return MNL_CB_ERROR;
		}
		h->class = more;
		h->room = room;
	}
	h->class[h->n++] = c;
	return MNL_CB_OK;
}

static const struct htb_class *htb_find(const struct htb *h, __u32 id)
{
	unsigned int i;

	for (i = 0; i < h->n; i++)
		if (h->class[i].id == id)
			return &h->class[i];
	return NULL;
}

/* A class without a parent has nobody to borrow from: it sends at its rate, whatever its ceil is. */
__u64 htb_top_bps(const struct htb *h)
{
	__u64 sum = 0;
	unsigned int i;

	for (i = 0; i < h->n; i++)
		if (h->class[i].parent == TC_H_ROOT)
			sum += h->class[i].rate_bps;
	return sum;
}

unsigned int htb_leaves(const struct htb *h)
{
	unsigned int i, n = 0;

	for (i = 0; i < h->n; i++)
		n += h->class[i].is_leaf;
	return n;
}

/*
 * A leaf sends at its own rate, or at that of a class above it from which it borrows, if all of them are idle
 * otherwise. No ceil on the way there is exceeded; one further up does not count.
 */
static __u64 htb_drain_bps(const struct htb *h, const struct htb_class *c)
{
	__u64 ceil = ~0ULL, best = 0;
	int depth;

	for (depth = 0; c && depth < TC_HTB_MAXDEPTH; depth++) {
		if (c->ceil_bps < ceil)
			ceil = c->ceil_bps;
		if (best < ceil && best < c->rate_bps)
			best = c->rate_bps < ceil ? c->rate_bps : ceil;
		c = htb_find(h, c->parent);
	}
	return best;
}

enum htb_verdict htb_judge(const struct htb *h, __u32 default_minor, int has_filters, __u64 *bps)
{
	const struct htb_class *c = htb_find(h, TC_H_MAKE(h->handle, default_minor));

	*bps = 0;
	if (!c || !c->is_leaf)
		return HTB_UNSHAPED;
	if (has_filters && htb_leaves(h) > 1)
		return HTB_SEVERAL;
	*bps = htb_drain_bps(h, c);
	return *bps ? HTB_SHAPED : HTB_NONE; /* the kernel makes no class without a rate */
}

static int htb_read(__u32 ifindex, struct htb *h)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	tc_request(nlh, RTM_GETTCLASS, NLM_F_DUMP, ifindex);
	return nl_talk(nlh, htb_take, h);
}

int htb_rate(__u32 ifindex, __u32 handle, __u64 *bps)
{
	struct htb h = { .handle = handle };
	int err = htb_read(ifindex, &h);

	*bps = err ? 0 : htb_top_bps(&h);
	free(h.class);
	return err;
}

int htb_default_get(__u32 ifindex, __u32 handle, __u32 default_minor, enum htb_verdict *verdict, __u64 *bps)
{
	struct htb h = { .handle = handle };
	int err = htb_read(ifindex, &h), filters = 0;

	/* One leaf class gets all that is shaped, whatever the filters are. */
	if (!err && htb_leaves(&h) > 1)
		filters = filters_of_qdisc(ifindex, handle);
	if (filters < 0)
		err = filters;
	*bps = 0;
	*verdict = err ? HTB_NONE : htb_judge(&h, default_minor, filters, bps);
	free(h.class);
	return err;
}

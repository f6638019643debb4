// SPDX-License-Identifier: GPL-2.0-only
/* The rate of an htb, by its classes as the kernel reports them. */
#include <criterion/criterion.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include "lib/net/htb.h"
#include "lib/net/netlink.h"

#define MBIT 1000000ULL

/* A class as the case writes it: numbers of class and parent (0: none), Mbit/s, and its level (0: a leaf). */
struct class
{
	__u32 minor, parent;
	__u64 rate, ceil;
	__u32 level;
};

static char buf[512];

static struct nlmsghdr *message(__u32 id, __u32 parent)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));

	nlh->nlmsg_type = RTM_NEWTCLASS;
	tc->tcm_handle = id;
	tc->tcm_parent = parent;
	return nlh;
}

/* As htb_dump_class() of the kernel has it: rates of 2^32 bytes per second and more are in attributes of their own. */
static void give(struct htb *h, const struct class *c)
{
	struct nlmsghdr *nlh = message(h->handle | c->minor, c->parent ? h->handle | c->parent : TC_H_ROOT);
	__u64 rate = c->rate * MBIT / 8, ceil = c->ceil * MBIT / 8;
	struct tc_htb_opt opt = { .rate.rate = rate >> 32 ? ~0U : rate,
				  .ceil.rate = ceil >> 32 ? ~0U : ceil,
				  .level = c->level };
	struct nlattr *nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);

	mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof(opt), &opt);
	if (rate >> 32)
		mnl_attr_put_u64(nlh, TCA_HTB_RATE64, rate);
	if (ceil >> 32)
		mnl_attr_put_u64(nlh, TCA_HTB_CEIL64, ceil);
	mnl_attr_nest_end(nlh, nest);
	cr_assert_eq(htb_take(nlh, h), MNL_CB_OK);
}

#define CLASSES 4 /* at most; those with number 0 are none */

static void expect_judged(int line, const struct class *list, int has_filters, enum htb_verdict verdict, __u64 mbit)
{
	struct htb h = { .handle = 0x80010000 };
	enum htb_verdict judged;
	__u64 bps = 1;
	int i;

	for (i = 0; i < CLASSES && list[i].minor; i++)
		give(&h, &list[i]);
	judged = htb_judge(&h, 0x10, has_filters, &bps);
	cr_expect_eq(judged, verdict, "line %d: verdict %d, not %d", line, judged, verdict);
	cr_expect_eq(bps, mbit * MBIT, "line %d: %llu bit/s", line, bps);
	free(h.class);
}

/* The default class is 0x10. */
#define JUDGED(verdict, mbit, filters, ...) \
	expect_judged(__LINE__, (const struct class[CLASSES]){ __VA_ARGS__ }, filters, verdict, mbit)

Test(htb, the_rate_is_that_at_which_its_queue_drains)
{
	/* Alone: nobody lends, and its own ceil holds if it is less. */
	JUDGED(HTB_SHAPED, 50, 0, { 0x10, 0, 50, 50, 0 });
	JUDGED(HTB_SHAPED, 50, 0, { 0x10, 0, 50, 90, 0 });
	JUDGED(HTB_SHAPED, 30, 0, { 0x10, 0, 50, 30, 0 });
	/* The parent lends its rate, up to the own ceil. */
	JUDGED(HTB_SHAPED, 50, 0, { 0x10, 1, 20, 80, 0 }, { 1, 0, 50, 50, 7 });
	JUDGED(HTB_SHAPED, 40, 0, { 0x10, 1, 20, 40, 0 }, { 1, 0, 50, 50, 7 });
	JUDGED(HTB_SHAPED, 30, 0, { 1, 0, 50, 30, 7 }, { 0x10, 1, 20, 80, 0 });
	/* Its own rate is not held by those above. */
	JUDGED(HTB_SHAPED, 70, 0, { 0x10, 1, 70, 80, 0 }, { 1, 0, 50, 50, 7 });
	/* The parent lends also the rate that it borrows. */
	JUDGED(HTB_SHAPED, 60, 0, { 0x10, 2, 10, 90, 0 }, { 2, 1, 20, 60, 6 }, { 1, 0, 80, 80, 7 });
	JUDGED(HTB_SHAPED, 80, 0, { 0x10, 2, 10, 90, 0 }, { 2, 1, 20, 85, 6 }, { 1, 0, 80, 80, 7 });
}

Test(htb, rates_beyond_32_bits_are_whole_and_no_rate_is_beyond_a_terabit)
{
	JUDGED(HTB_SHAPED, 40000, 0, { 0x10, 0, 40000, 40000, 0 });
	JUDGED(HTB_SHAPED, 40000, 0, { 0x10, 1, 10, 40000, 0 }, { 1, 0, 100000, 100000, 7 });
	JUDGED(HTB_SHAPED, 1000000, 0, { 0x10, 0, 2000000, 2000000, 0 });
	cr_expect_eq(shaper_bps(~0ULL), 1000000 * MBIT); /* and not what is left of it in 64 bits */
	cr_expect_eq(shaper_bps(1), 8);
}

Test(htb, without_a_default_class_that_is_a_leaf_packets_are_unshaped)
{
	JUDGED(HTB_UNSHAPED, 0, 0, { 0 });
	JUDGED(HTB_UNSHAPED, 0, 0, { 0x20, 0, 50, 50, 0 });
	JUDGED(HTB_UNSHAPED, 0, 1, { 0x20, 0, 50, 50, 0 });
	JUDGED(HTB_UNSHAPED, 0, 0, { 0x10, 0, 50, 50, 7 }, { 0x20, 0x10, 50, 50, 0 });
}

Test(htb, several_leaves_are_one_queue_only_without_filters)
{
	JUDGED(HTB_SHAPED, 20, 0, { 0x10, 0, 20, 20, 0 }, { 0x20, 0, 30, 30, 0 });
	JUDGED(HTB_SEVERAL, 0, 1, { 0x10, 0, 20, 20, 0 }, { 0x20, 0, 30, 30, 0 });
	JUDGED(HTB_SHAPED, 50, 1, { 0x10, 1, 20, 80, 0 }, { 1, 0, 50, 50, 7 });
}

/* The kernel makes neither: no rate of 0, and no class that is above itself. */
Test(htb, what_the_kernel_never_reports_ends_without_a_rate)
{
	JUDGED(HTB_NONE, 0, 0, { 0x10, 0, 0, 50, 0 });
	JUDGED(HTB_NONE, 0, 0, { 0x10, 0, 50, 0, 0 });
	JUDGED(HTB_SHAPED, 50, 0, { 0x10, 0x10, 50, 50, 0 });
	JUDGED(HTB_SHAPED, 60, 0, { 0x10, 1, 50, 90, 0 }, { 1, 0x10, 60, 90, 7 });
}

Test(htb, classes_of_other_qdiscs_and_cut_ones_are_not_taken)
{
	struct htb h = { .handle = 0x10000 }, other = { .handle = 0x20000 };
	struct tc_ratespec cut = { .rate = 1000 };
	struct nlmsghdr *nlh;
	struct nlattr *nest;
	__u64 bps;

	give(&other, &(const struct class){ 0x10, 0, 50, 50, 0 });
	htb_take((struct nlmsghdr *)buf, &h);
	nlh = message(0x10010, TC_H_ROOT);
	nlh->nlmsg_type = RTM_NEWQDISC;
	htb_take(nlh, &h);
	cr_expect_eq(h.n, 0);
	cr_expect_eq(htb_top_bps(&h), 0);
	/* Without options, and with less of them than a rate and a ceil. */
	htb_take(message(0x10010, TC_H_ROOT), &h);
	cr_expect_eq(htb_judge(&h, 0x10, 0, &bps), HTB_UNSHAPED);
	h.n = 0;
	nlh = message(0x10010, TC_H_ROOT);
	nest = mnl_attr_nest_start(nlh, TCA_OPTIONS);
	mnl_attr_put(nlh, TCA_HTB_PARMS, sizeof(cut), &cut);
	mnl_attr_put_u32(nlh, TCA_HTB_RATE64, 7);
	mnl_attr_nest_end(nlh, nest);
	htb_take(nlh, &h);
	cr_expect_eq(htb_judge(&h, 0x10, 0, &bps), HTB_NONE);
	cr_expect_eq(htb_top_bps(&h), 8000);
	free(h.class);
	free(other.class);
}

Test(htb, the_rate_of_a_port_is_that_of_the_classes_without_a_parent)
{
	struct htb h = { .handle = 0x10000 };
	__u32 i;

	for (i = 1; i <= 100; i++)
		give(&h, &(const struct class){ i, i % 2 ? 0 : i - 1, 3, 9, i % 2 ? 7 : 0 });
	cr_expect_eq(h.n, 100);
	cr_expect_eq(htb_top_bps(&h), 150 * MBIT);
	cr_expect_eq(htb_leaves(&h), 50);
	free(h.class);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The rate that a shaper at the root of an interface leaves of its speed. */
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include "lib/net/netlink.h"

/* A second attribute has the rate if the first is too narrow for it. */
static __u64 shaper_rate(const struct nlattr *options, __u16 narrow, __u16 wide)
{
	const struct nlattr *a;
	__u64 bytes = 0, more = 0;

	mnl_attr_for_each_nested (a, options) {
		/* Both struct tc_tbf_qopt and struct tc_htb_opt begin with the rate. */
		if (mnl_attr_get_type(a) == narrow && mnl_attr_get_payload_len(a) >= sizeof(struct tc_ratespec))
			bytes = ((const struct tc_ratespec *)mnl_attr_get_payload(a))->rate;
		if (mnl_attr_get_type(a) == wide && mnl_attr_get_payload_len(a) >= sizeof(__u64))
			more = mnl_attr_get_u64(a);
	}
	return (more ?: bytes) * 8;
}

__u64 tbf_rate(const struct nlattr *options)
{
	return shaper_rate(options, TCA_TBF_PARMS, TCA_TBF_RATE64);
}

/* A class without a parent has nobody to borrow from: it sends at its rate, whatever its ceil is. */
static int htb_class(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;
	__u64 *sum = data;

	if (nlh->nlmsg_type != RTM_NEWTCLASS || tc->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	mnl_attr_for_each (a, nlh, sizeof(*tc))
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			*sum += shaper_rate(a, TCA_HTB_PARMS, TCA_HTB_RATE64);
	return MNL_CB_OK;
}

int htb_rate(__u32 ifindex, __u64 *bps)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;

	*bps = 0;
	nlh->nlmsg_type = RTM_GETTCLASS;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = ifindex;
	return nl_talk(nlh, htb_class, bps);
}

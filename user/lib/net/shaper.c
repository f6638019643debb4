// SPDX-License-Identifier: GPL-2.0-only
/* The rates of shapers, from their attributes. */
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include "lib/net/netlink.h"

/* The most that `speed` may be in the configuration; no interface is as fast. */
#define SHAPER_MAX_BPS 1000000000000ULL

__u64 shaper_bps(__u64 bytes)
{
	return bytes < SHAPER_MAX_BPS / 8 ? bytes * 8 : SHAPER_MAX_BPS;
}

/* A second attribute has the rate if the first is too narrow for it. */
__u64 tbf_rate(const struct nlattr *options)
{
	const struct nlattr *a;
	struct tc_tbf_qopt opt = {};
	__u64 more = 0;

	mnl_attr_for_each_nested (a, options) {
		if (mnl_attr_get_type(a) == TCA_TBF_PARMS)
			attr_struct(a, &opt, sizeof(opt));
		if (mnl_attr_get_type(a) == TCA_TBF_RATE64 && mnl_attr_get_payload_len(a) >= sizeof(__u64))
			more = mnl_attr_get_u64(a);
	}
	return shaper_bps(more ?: opt.rate.rate);
}

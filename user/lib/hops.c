// SPDX-License-Identifier: GPL-2.0-only
/* The bytes that a hop sent, by its reports in two feedbacks. */
#include "lib/hops.h"

__u64 hop_sent(const struct flow *old, const struct flow *now, unsigned int i, __u64 *ns)
{
	const struct hpcc_hop *from = &old->cc.last[i], *to = &now->cc.last[i];
	__s64 dt;

	*ns = 0;
	if (i >= now->cc.hops || i >= HPCC_MAX_HOPS || old->cc.hops != now->cc.hops ||
	    old->cc.path_id != now->cc.path_id || from->bps != to->bps || !to->bps)
		return 0;
	dt = hpcc_elapsed(from->ts_ns, to->ts_ns, (__s64)(now->rx.fb_rx_ns - old->rx.fb_rx_ns));
	if (dt <= 0 || dt > (__s64)((NSEC_PER_SEC * 8 << HPCC_TX_BITS) / to->bps))
		return 0;
	*ns = dt;
	return hpcc_sent(from->tx_bytes, to->tx_bytes, to->bps, dt);
}

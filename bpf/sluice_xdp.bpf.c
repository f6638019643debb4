// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sink at XDP, as a separate object: the daemon loads it for each interface that uses it, over the maps of
 * sluice.bpf.c, and libxdp makes it one of several programs there.
 */
#define SLUICE_XDP

#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "host/ingress.bpf.h"

SEC("xdp")
int ingress_xdp(struct xdp_md *ctx)
{
	enum sluice_stat verdict;
	int action;

	ctx_drop_counted(ctx);
	action = ingress_packet(ctx, &verdict);
	if (verdict != STAT_RX_DATA && verdict != STAT_RX_PROBE && verdict != STAT_RX_PROBE_REPLY &&
	    verdict != STAT_RX_FEEDBACK && verdict != STAT_RX_CREDIT && verdict != STAT_RX_RATE &&
	    verdict != STAT_RX_INT_COPY && verdict != STAT_RX_PROBE_OLD && verdict != STAT_RX_PROBE_LIMITED)
		return XDP_PASS;
	stats_count(verdict);
	stats_count(STAT_RX_XDP);
	if (verdict == STAT_RX_DATA)
		ctx_set_counted(ctx);
	return action;
}

char LICENSE[] SEC("license") = "GPL";

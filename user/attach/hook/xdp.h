/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_XDP_H
#define SLUICE_ATTACH_XDP_H
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

struct bpf_object;

/* The maps that it shares with the programs at tc. */
struct xdp_maps {
	const struct pins *pins;
	const struct bpf_object *obj;
	int running; /* what is attached has them, too: it may stay */
};

/* libxdp logs one level lower, like libbpf. */
void xdp_init(void);
/*
 * Puts the sink of a host's interface where the configuration wants it. Returns PORT_F_XDP*, or 0 if it is at tc alone,
 * which is never an error; prints the reason if loud.
 */
__u32 xdp_apply(const struct xdp_maps *m, const struct config *c, const struct config_interface *i,
		const struct link_info *link, int loud);
int xdp_is_there(__u32 ifindex, __u32 stats_id);
/* Detaches programs that use these counters, and nothing else. */
void xdp_remove(__u32 ifindex, __u32 stats_id);
/* Removes the pins of libxdp for an interface that is gone; 0: for any. */
void xdp_forget(__u32 ifindex, __u32 stats_id);

/* Loads the XDP program, and discards it: 0, or -errno. */
int xdp_try(void);

#endif

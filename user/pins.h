/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PINS_H
#define SLUICE_PINS_H
/* The pinned maps, as every user of them opens and reads them. */
#include "util.h"

#define PINS(X) X(flows) X(hosts) X(peers) X(ports) X(pods) X(classes) X(class_queues) X(stats) X(control)

struct pins {
#define PINS_FD(name) int name;
	PINS(PINS_FD)
#undef PINS_FD
	/* The entry of control, mapped: daemon and sluicectl change one field and leave the others. */
	struct control *ctl;
};

/*
 * Opens all maps in dir. -ENOENT: nothing is pinned there; -EACCES/-EPERM: not allowed; -EPROTO: the
 * maps are of another SLUICE_ABI. On an error nothing is open.
 */
int pins_open(const char *dir, struct pins *p);
void pins_close(struct pins *p);

/* Sums over the CPUs. out has STAT_MAX entries. */
int pins_stats(const struct pins *p, __u64 *out);
extern const char *const stat_names[STAT_MAX];
extern const char *const stat_help[STAT_MAX];

/* Calls fn for every flow, until it returns non-zero, which is then returned. Or -errno. */
int pins_each_flow(const struct pins *p,
		   int (*fn)(const struct flow_key *key, const struct flow *flow, void *ctx),
		   void *ctx);
/* Likewise for ports; the map may be changed by fn. */
int pins_each_port(const struct pins *p,
		   int (*fn)(__u32 ifindex, const struct port *port, void *ctx), void *ctx);

#endif

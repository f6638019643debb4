/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PINS_H
#define SLUICE_PINS_H
/* The pinned maps, as every user of them opens and reads them. */
#include "lib/maps.h"
#include "lib/util.h"

#define PINS(X)                                                                                                        \
	X(flows)                                                                                                       \
	X(hosts)                                                                                                       \
	X(asked)                                                                                                       \
	X(peers)                                                                                                       \
	X(ports)                                                                                                       \
	X(pods)                                                                                                        \
	X(classes) X(class_queues) X(stats) X(control) X(voqs) X(arrival_slots) X(arrivals) X(credits) X(credit_rings) \
		X(pfc_ports) X(pfc_slots) X(trace)

#define PINS_ONE(name) +1
#define PINS_COUNT (0 PINS(PINS_ONE))

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
/* As far as they are there, at least those without which nothing can be adopted or taken off: control, ports, stats. */
int pins_open_some(const char *dir, struct pins *p);
void pins_close(struct pins *p);

/* Sums over the CPUs, of one, and of all of them: out has STAT_MAX entries. 0, or -errno. */
int pins_stat(const struct pins *p, enum sluice_stat which, __u64 *out);
int pins_stats(const struct pins *p, __u64 *out);
extern const char *const stat_names[STAT_MAX];
extern const char *const stat_help[STAT_MAX];

/* What happens to the packets of a flow; whether its socket obeys W is the socket's (ss -ti). */
enum flow_state {
	FLOW_OBSERVED, /* these three as enum sluice_mode */
	FLOW_DRY_RUN,
	FLOW_GOVERNED,
	FLOW_NO_FEEDBACK,
	FLOW_PLAIN,
	FLOW_BYPASSED,
	FLOW_CLOSED,
	FLOW_STATES,
};
extern const char *const flow_state_names[FLOW_STATES];
enum flow_state flow_state(const struct flow *f, const struct control *ctl);

/* "host", "switch" or "pod". */
const char *port_role(const struct port *port);

/* "tcp", "udp", or a tunnel's: "ipip", "ipv6" (in IPv4), "gre". */
const char *flow_protocol(const struct flow_key *k);

/* What holds a flow: enum flow_held as it stands in struct flow, and W. */
#define FLOW_HOLDS 6
extern const char *const flow_hold_names[FLOW_HOLDS];

/* What its last packet waited for: "rate", "hop", "credit", "pause", "window", or "none", as where it is not governed. */
const char *flow_why(const struct flow_key *k, const struct flow *f, const struct control *ctl, __u64 now);
/*
 * What holds it, where it is known what it sends: less than half of R is not what R lets it, and W only where as much
 * as W is under way, which is so where the round trip is much longer than base_rtt.
 */
const char *flow_holds(const struct flow_key *k, const struct flow *f, const struct control *ctl, __u64 now,
		       __u64 sent_bps);
/* Wire bytes sent since the packet that the last feedback was for, and whether that is as much as W. */
__u32 flow_under_way(const struct flow *f);
int flow_fills_w(const struct flow *f, __u64 now);

/* How long the queue of a hop is, and the longest of a flow's path. */
__u64 hop_queue_ns(const struct hpcc_hop *h);
__u64 flow_queue_ns(const struct flow *f);

/* Whether the VOQ is at the switch of this rack. */
int voq_is_at_tor(const struct voq *v);

/* Calls fn for every flow, until it returns non-zero, which is then returned. Or -errno. */
int pins_each_flow(const struct pins *p, int (*fn)(const struct flow_key *key, const struct flow *flow, void *ctx),
		   void *ctx);
/* Likewise for the VOQs that packets arrive of, each with its slot in arrivals and credits. */
int pins_each_arrival(const struct pins *p, int (*fn)(const struct arrival_key *key, __u32 slot, void *ctx), void *ctx);
/*
 * Likewise for VOQs to other racks, max of them (0: all) from *cursor on, which is 0 at first, and at the end;
 * the map may be changed by fn.
 */
int pins_some_voqs(const struct pins *p, __u32 *cursor, __u32 max,
		   int (*fn)(const struct voq_key *key, const struct voq *voq, void *ctx), void *ctx);
/* Calls fn for every prefix, until it returns non-zero, which is then returned. Or -errno. */
int pins_each_peer(const struct pins *p, int (*fn)(const struct peer_key *key, const struct peer *peer, void *ctx),
		   void *ctx);
/* Likewise for ports; the map may be changed by fn. */
int pins_each_port(const struct pins *p, int (*fn)(__u32 ifindex, const struct port *port, void *ctx), void *ctx);

#endif

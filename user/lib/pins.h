/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PINS_H
#define SLUICE_PINS_H
/* The pinned maps: how all programs open and read them. */
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
		X(pfc_ports) X(pfc_slots) X(trace) X(domains)

#define PINS_ONE(name) +1
#define PINS_COUNT (0 PINS(PINS_ONE))

struct pins {
#define PINS_FD(name) int name;
	PINS(PINS_FD)
#undef PINS_FD
	/* The entry of control, mmapped: daemon and sluicectl change single fields. */
	struct control *ctl;
};

/*
 * Opens all maps in dir. -ENOENT: nothing is pinned there; -EACCES/-EPERM: not allowed; -EPROTO: the
 * maps are of another SLUICE_ABI. On an error nothing is open.
 */
int pins_open(const char *dir, struct pins *p);
/* Says why pins_open() failed with err, and what to do. */
void pins_refused(const char *dir, int err);
/* Opens the maps that exist, at least those needed to adopt or detach: control, ports, stats. */
int pins_open_some(const char *dir, struct pins *p);
void pins_close(struct pins *p);

/* Sums over the CPUs of one counter, and of all: out has STAT_MAX entries. 0, or -errno. */
int pins_stat(const struct pins *p, enum sluice_stat which, __u64 *out);
int pins_stats(const struct pins *p, __u64 *out);
extern const char *const stat_names[STAT_MAX];
extern const char *const stat_help[STAT_MAX];

/* How the packets of a flow are treated; ss -ti shows whether its socket obeys W. */
enum flow_state {
	FLOW_OBSERVED, /* this and the next two as enum sluice_mode */
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

/* The constraint on a flow: enum flow_held as in struct flow, and W. */
#define FLOW_HELD_WINDOW (HELD_PAUSE + 1)
#define FLOW_HOLDS (FLOW_HELD_WINDOW + 1)
extern const char *const flow_hold_names[FLOW_HOLDS];

/* The constraint of its last packet: "rate", "hop", "credit", "pause", "window", or "none", also if it is not governed. */
const char *flow_why(const struct flow_key *k, const struct flow *f, const struct control *ctl, __u64 now);
/* Whether a pause of its port holds its priority. The qdisc `sluice` obeys it, and no packet enters it then that would say so. */
int flow_is_paused(const struct pins *p, const struct flow *f, __u64 now);
/*
 * The constraint on it, given its sending rate: below half of R it is not R, and it is W only if as much as W is under
 * way, which happens when the round trip is much longer than base_rtt.
 */
const char *flow_holds(const struct flow_key *k, const struct flow *f, const struct control *ctl, __u64 now,
		       __u64 sent_bps);
/* Wire bytes sent since the packet of the last feedback, and whether they are as many as W. */
__u32 flow_under_way(const struct flow *f);
int flow_fills_w(const struct flow *f, __u64 now);

/* The queueing delay at a hop, and the longest on a flow's path. */
__u64 hop_queue_ns(const struct hpcc_hop *h);
__u64 flow_queue_ns(const struct flow *f);

/* Whether the VOQ is at the switch of this rack. */
int voq_is_at_tor(const struct voq *v);

/* Calls fn for every flow, until it returns non-zero, which is then returned. Or -errno. */
int pins_each_flow(const struct pins *p, int (*fn)(const struct flow_key *key, const struct flow *flow, void *ctx),
		   void *ctx);
/* The same for the VOQs with arriving packets, each with its slot in arrivals and credits. */
int pins_each_arrival(const struct pins *p, int (*fn)(const struct arrival_key *key, __u32 slot, void *ctx), void *ctx);
/*
 * The same for VOQs to other racks, max of them (0: all) from *cursor on, which is 0 at the start, and at the end; fn
 * may change the map.
 */
int pins_some_voqs(const struct pins *p, __u32 *cursor, __u32 max,
		   int (*fn)(const struct voq_key *key, const struct voq *voq, void *ctx), void *ctx);
/* Calls fn for every prefix, until it returns non-zero, which is then returned. Or -errno. */
int pins_each_peer(const struct pins *p, int (*fn)(const struct peer_key *key, const struct peer *peer, void *ctx),
		   void *ctx);
/* The same for ports; fn may change the map. */
int pins_each_port(const struct pins *p, int (*fn)(__u32 ifindex, const struct port *port, void *ctx), void *ctx);

#endif

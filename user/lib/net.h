/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NET_H
#define SLUICE_NET_H
/* Requests of the daemon to the kernel's network stack, by libmnl and ioctl. */
#include <net/if.h>
#include "lib/util.h"

struct link_info {
	char name[IFNAMSIZ];
	__u32 ifindex;
	__u32 mtu;
	__u16 type;	 /* ARPHRD_* */
	__u64 speed_bps; /* from the driver; 0: unknown */
	__u64 netns_cookie;
	__u8 mac[6];
	int up; /* the interface is up, and so is its link */
};

/* 0, or -ENODEV if there is no such interface. */
int link_get(const char *name, struct link_info *info);

/* One of its addresses, IPv4 if there is any; not link-local. 0, or -EADDRNOTAVAIL. */
int link_address(const char *name, struct sluice_addr *addr);

/* The queueing disciplines of an interface. */
struct qdisc_info {
	char root[16];	     /* kind: "fq", "mq", "tbf", "noqueue" ... */
	unsigned int leaves; /* qdiscs without children */
	unsigned int fq;     /* leaves that are fq or sluice, which keep departure times */
	unsigned int ours;   /* leaves that are sluice */
	unsigned int
		unreadable; /* leaves whose length cannot be read: noqueue, pfifo_fast; all if mq has more than PORT_QUEUES_MAX */
	int ingress; /* there is an ingress qdisc instead of clsact */
	int clsact;
	__u64 shaper_bps; /* rate of a root tbf, or of the top classes of a root htb; 0: neither */
};
int qdisc_get(__u32 ifindex, struct qdisc_info *info);

/* What an htb does with packets. */
enum htb_verdict {
	HTB_NONE,   /* it is not known, or the qdisc is no htb */
	HTB_SHAPED, /* all that no filter takes goes through one class */
	HTB_UNSHAPED, /* its default class does not exist or has classes below it: packets that no filter takes have no rate */
	HTB_SEVERAL, /* filters share packets out among several leaf classes */
	HTB_VERDICTS
};
/*
 * Judges the htb with this handle and minor number of its default class. bps: the rate at which the queue of that class
 * drains while nothing else is sent; 0 unless it is HTB_SHAPED. 0, or -errno.
 */
int htb_default_get(__u32 ifindex, __u32 handle, __u32 default_minor, enum htb_verdict *verdict, __u64 *bps);

/* A filter of a qdisc or hook (parent: TC_H_CLSACT and TC_H_MIN_*). */
struct filter_found {
	__u32 handle, priority, chain;
	const char *kind;
	const char *name; /* of a bpf filter, as 'tc filter show' has it; "": it has none */
	__u32 prog_id;	  /* of a bpf filter */
};
/* In the order in which packets meet them. 0, also if there is no such hook, or -errno. */
int filters_each(__u32 ifindex, __u32 parent, void (*fn)(const struct filter_found *f, void *ctx), void *ctx);

/* Filters on the clsact hooks of an interface, ours and others'; negative: -errno. */
int filters_count(__u32 ifindex);
/*
 * The program of the bpf filter with this handle and priority at a hook (parent: TC_H_CLSACT and TC_H_MIN_*); -ENOENT:
 * there is none, also where there is no such hook or interface. It is looked for in a dump: a request for one filter
 * holds its qdisc while it waits for the lock of the network configuration, and another program that deletes the qdisc
 * then gets EBUSY.
 */
int filter_bpf_find(__u32 ifindex, __u32 parent, __u32 handle, __u32 priority, __u32 *prog_id);

/*
 * Routes. A managed prefix needs a route whose MTU leaves room for telemetry. Sluice's routes carry their own protocol
 * number, which identifies them after a crash.
 */
#define ROUTE_PROTO 83

struct route {
	__u32 ifindex;
	__u32 table; /* RT_TABLE_MAIN, or that of a VRF */
	__u32 mtu;   /* 0: the interface's */
	__u32 metric;
	__u8 protocol; /* ROUTE_PROTO: one of ours */
	__u8 scope;    /* RT_SCOPE_*: without a gateway, LINK */
	__u8 onlink;   /* the gateway is on the interface, whatever the addresses are */
	__u8 has_gateway;
	__u8 has_source;
	struct sluice_addr gateway, source;
	/* Other metrics of the route (congctl, initcwnd, hoplimit ...), as the kernel gave them, except the MTU. */
	__u16 metrics_len;
	__u8 metrics[192] __attribute__((aligned(4)));
};
/*
 * What routes lead to prefixes, from one dump of each family for all of them: a dump of 100,000 routes takes a tenth of
 * a second. First routes_want(), then routes_read(), then routes_find().
 */
struct route_found {
	struct peer_key prefix;
	__u32 table;
	/*
	 * The narrowest route that is not ours and covers the whole prefix, with the lowest metric; NULL: there is none, or
	 * it has several next hops or none, one of the other family or in a tunnel, or is for some packets only (TOS,
	 * source). Narrower routes within the prefix are ignored.
	 */
	const struct route *best;
	const struct route *ours; /* our route of exactly the prefix; NULL: none. Who changes it says so here */
	int best_len;
	int exact; /* best is the route of exactly this prefix, not of a wider one */
};
struct routes;
struct routes *routes_new(void);
int routes_want(struct routes *rs, const struct peer_key *prefix, __u32 table);
/* The tables that prefixes were wanted of, ended by 0. */
const __u32 *routes_tables(const struct routes *rs);
/* only_ours: best is not looked for, which spares the kernel and us all other routes. 0, or -errno. */
int routes_read(struct routes *rs, int only_ours);
/* NULL: it was not wanted. */
struct route_found *routes_find(const struct routes *rs, const struct peer_key *prefix, __u32 table);
/* A copy that lives as long as rs; NULL: no memory. */
const struct route *routes_keep(struct routes *rs, const struct route *r);
/* Calls fn for each route of ours by any interface, also to prefixes that were not wanted; only after routes_read(). */
typedef void our_route_fn(const struct peer_key *prefix, const struct route *r, void *ctx);
void routes_each_ours(const struct routes *rs, our_route_fn *fn, void *ctx);
void routes_free(struct routes *rs);
/* Whether both send packets the same way, of the same size. */
int route_is_alike(const struct route *a, const struct route *b);
/*
 * Adds a route of ours to the prefix that sends packets as r does, or replaces an existing one (replace); -EEXIST if
 * there is one and replace is 0.
 */
int route_add(const struct peer_key *prefix, const struct route *r, int replace);
/* Removes our route, of the table and by the interface of r; 0 also if it was gone. */
int route_remove(const struct peer_key *prefix, const struct route *r);
/* The route as arguments of 'ip route change', limited to those of the path. */
#define ROUTE_STRLEN (4 * PREFIX_STRLEN)
const char *route_format(const struct peer_key *prefix, const struct route *r, char *buf);
const char *route_hop_format(const struct route *r, char *buf);
/* Removes the routes of ROUTE_PROTO by this interface: 0, or -errno. */
int route_remove_ours(__u32 ifindex);
/* Calls fn for each of them, of this network namespace. 0, or -errno. */
int route_each_ours(our_route_fn *fn, void *ctx);

/*
 * Every link whose other end is in another network namespace, with this namespace's number for that one, and the bridge
 * that the link is a port of (0: none).
 */
int links_behind(void (*fn)(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx), void *ctx);

/*
 * Calls fn, in a thread of its own, in each other network namespace of this machine that has a name in /run/netns or a
 * process. missed: how many could not be entered, which needs CAP_SYS_ADMIN. 0, or -errno.
 */
int netns_each(void (*fn)(void *ctx), void *ctx, unsigned int *missed);
/* This namespace's number for the network namespace of fd: 0, or -ENOENT: no link leads there; or -errno. */
int netns_id(int fd, __s32 *id);
/*
 * Calls fn for each address in the network namespace with this number, except for those of a link or a host. 0, or
 * -errno; -EACCES: it needs CAP_NET_ADMIN.
 */
int netns_addresses(__s32 id, void (*fn)(const struct sluice_addr *addr, void *ctx), void *ctx);

/*
 * The interface of every route of the table main or of a VRF whose destination is within one of the prefixes or covers
 * one, except for default and multipath routes.
 */
int routes_meeting(const struct peer_key *prefixes, unsigned int count, void (*fn)(__u32 ifindex, void *ctx),
		   void *ctx);

/* Whether there is a device under the link, and VLANs on it. */
struct link_stack {
	int device;
	int vlans;
};
int link_stack_get(__u32 ifindex, struct link_stack *s);

/* How a link is stacked. */
struct link_kin {
	char kind[16]; /* "vlan", "bond"; "": hardware, or one that has no kind */
	__u32 lower;   /* the device that it is on, in this namespace; 0: none, or several, of which it is the master */
	__u32 master;  /* of which it is a port: a bridge, a bond, a VRF; 0: none */
	__u32 table;   /* of a VRF: its routes; otherwise 0 */
};
int link_kin_get(__u32 ifindex, struct link_kin *kin);
/* The table with the routes of a link: RT_TABLE_MAIN, or that of the VRF of which it is a port. */
__u32 link_table(__u32 ifindex);
/* Calls fn for each port of a bridge, bond or VRF. 0, or -errno. */
int link_ports_each(__u32 master, void (*fn)(__u32 ifindex, void *ctx), void *ctx);

/*
 * Departure times of packets are kept where they leave a link, whose own qdiscs are q, by every leaf of these, or of
 * those of the devices that it is on: 0. Otherwise a device that loses them, the link or one on which it is.
 */
__u32 link_lacks_times(__u32 ifindex, const struct qdisc_info *q);
/*
 * Whether the packets of a link leave by a device below it for which is() is true: by the one that it is on, by every
 * port of a bond, by any port of a bridge.
 */
enum link_has { LINK_HAS_NOT, LINK_HAS_PARTLY, LINK_HAS };
struct link_below {
	enum link_has has;
	__u32 which;   /* such a device */
	__u32 missing; /* LINK_HAS_PARTLY: a port that is none */
};
void link_below_find(__u32 ifindex, int (*is)(__u32 ifindex, const void *ctx), const void *ctx,
		     struct link_below *below);
/* Whether this host has an address on the link, or on a VLAN of it; not link-local. Negative: -errno. */
int link_has_address(__u32 ifindex);

/* Calls fn for every interface of this network namespace. */
int links_each(void (*fn)(__u32 ifindex, void *ctx), void *ctx);

/* Counters of an interface, and the current queue of its root qdisc. */
struct link_load {
	__u32 ifindex;
	__u32 drops; /* of the root qdisc */
	__u64 tx_bytes, rx_bytes;
	__u64 backlog_bytes;
};
int link_load_get(__u32 ifindex, struct link_load *l);

struct dcb;
struct ieee_pfc;

/*
 * PFC of a NIC (dcb.h). -EOPNOTSUPP: not supported by driver or kernel; else 0, or -errno, including a refusal by the
 * driver.
 */
int link_dcb_get(const char *name, struct dcb *d);
int link_pfc_set(const char *name, const struct ieee_pfc *pfc);
/* Its PFC frames by priority from ethtool -S; -EOPNOTSUPP: no known counter of them. */
int link_pfc_counters(const char *name, __u64 *sent, __u64 *received);

/* A socket that reports changes of links, qdiscs and routes; the fd, or -errno. */
int net_watch_open(void);
#define NET_CHANGED_LINK 1
#define NET_CHANGED_ROUTE 2
/* Or somebody asked for its counters: until Linux 6.12 all listeners get the answer too. */
#define NET_CHANGED_QDISC 4
/* Drains it; returns what changed. */
int net_watch_read(int fd);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NET_H
#define SLUICE_NET_H
/* What the daemon asks and tells the kernel's network stack, by libmnl and ioctl. */
#include <net/if.h>
#include "lib/util.h"

struct link_info {
	char name[IFNAMSIZ];
	__u32 ifindex;
	__u32 mtu;
	__u16 type;	 /* ARPHRD_* */
	__u64 speed_bps; /* as the driver says; 0: unknown */
	__u64 netns_cookie;
	__u8 mac[6];
	int up; /* it is up, and so is the link */
};

/* 0, or -ENODEV where there is no such interface. */
int link_get(const char *name, struct link_info *info);

/* One of its addresses, an IPv4 one if there is any; not link-local. 0, or -EADDRNOTAVAIL. */
int link_address(const char *name, struct sluice_addr *addr);

/* The queueing disciplines of an interface. */
struct qdisc_info {
	char root[16];	    /* kind: "fq", "mq", "tbf", "noqueue" ... */
	unsigned int leaves; /* qdiscs that have no other below them */
	unsigned int fq;     /* leaves that are fq or sluice, which keep departure times */
	unsigned int
		unreadable; /* leaves whose length cannot be read: noqueue, pfifo_fast; all of more than PORT_QUEUES_MAX below mq */
	int ingress;	    /* there is an ingress qdisc, in the place of clsact */
};
int qdisc_get(__u32 ifindex, struct qdisc_info *info);

/*
 * Every qdisc of every interface: where it hangs (TC_H_ROOT, TC_H_INGRESS ...) and its kind.
 * tbf_bps: its rate, if it is a tbf, else 0.
 */
int qdiscs_each(void (*fn)(__u32 ifindex, __u32 parent, const char *kind, __u64 tbf_bps, void *ctx),
		void *ctx);

/* Filters on the clsact hooks of an interface, ours and others'; negative: -errno. */
int filters_count(__u32 ifindex);

/*
 * Routes. A managed prefix needs a route whose MTU leaves room for telemetry. Sluice's routes carry
 * a protocol number of their own, by which they are found again after a crash.
 */
#define ROUTE_PROTO 83

struct route {
	__u32 ifindex;
	__u32 mtu; /* 0: the interface's */
	__u32 metric;
	__u8 protocol; /* ROUTE_PROTO: one of ours */
	__u8 scope;    /* RT_SCOPE_*: without a gateway, LINK */
	__u8 onlink;   /* the gateway is on the interface, whatever the addresses say */
	__u8 has_gateway;
	__u8 exact; /* it is the route of the prefix itself, not of a wider one */
	__u8 has_source;
	struct sluice_addr gateway, source;
	/* What else the kernel knows of the way (congctl, initcwnd, hoplimit ...): attributes as it gave them, but for the MTU. */
	__u16 metrics_len;
	__u8 metrics[192] __attribute__((aligned(4)));
};
/*
 * The narrowest route of the main table that is not ours and covers the whole prefix, with the lowest metric; -ENETUNREACH
 * if there is none, or it has several next hops or none, one of the other family or in a tunnel, or is for some packets only
 * (TOS, source). Narrower routes within the prefix stay what they are.
 * ours, if given: the route of exactly the prefix that is; its ifindex is 0 where there is none.
 */
int route_covering(const struct peer_key *prefix, struct route *r, struct route *ours);
/* Do they send packets the same way, of the same size? */
int route_is_alike(const struct route *a, const struct route *b);
/*
 * Adds a route of ours to the prefix that sends packets as r does, or puts it in the place of the one that is there
 * (replace); -EEXIST if one is there and is not to be replaced.
 */
int route_add(const struct peer_key *prefix, const struct route *r, int replace);
/* Removes ours; 0 also if it was gone. */
int route_remove(const struct peer_key *prefix, __u32 ifindex);
/* The route as the arguments of 'ip route change', and of these only the way. */
#define ROUTE_STRLEN (4 * PREFIX_STRLEN)
const char *route_format(const struct peer_key *prefix, const struct route *r, char *buf);
const char *route_hop_format(const struct route *r, char *buf);
/*
 * Removes the routes of ROUTE_PROTO on this interface, but for those of which keep, if given, returns
 * true. Number removed, or -errno.
 */
int route_remove_ours(__u32 ifindex, int (*keep)(const struct peer_key *prefix, const void *ctx),
		      const void *ctx);

/*
 * Every link whose other end is in another network namespace, this one's number for that, and the
 * bridge that the link is a port of (0: none).
 */
int links_behind(void (*fn)(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx), void *ctx);

/*
 * The interface of every route of the table main, but for default routes and those of several next
 * hops, whose destinations lie in one of the prefixes or cover one.
 */
int routes_meeting(const struct peer_key *prefixes, unsigned int count,
		   void (*fn)(__u32 ifindex, void *ctx), void *ctx);

/* Is there a device under the link, and are there VLANs on it? */
struct link_stack {
	int device;
	int vlans;
};
int link_stack_get(__u32 ifindex, struct link_stack *s);

/* Calls fn for every interface of this network namespace. */
int links_each(void (*fn)(__u32 ifindex, void *ctx), void *ctx);

/* What an interface has sent and received, and the queue of its root qdisc now. */
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
 * PFC of a NIC (dcb.h). -EOPNOTSUPP: driver or kernel knows of no such thing; else 0, or -errno, also of the driver that
 * refuses.
 */
int link_dcb_get(const char *name, struct dcb *d);
int link_pfc_set(const char *name, const struct ieee_pfc *pfc);
/* Its PFC frames by priority from ethtool -S; -EOPNOTSUPP: no counter there is known to be of them. */
int link_pfc_counters(const char *name, __u64 *sent, __u64 *received);

/* A socket that reports changes of links, qdiscs and routes; the fd, or -errno. */
int net_watch_open(void);
#define NET_CHANGED_LINK 1
#define NET_CHANGED_ROUTE 2
/* Or somebody asked for its counters: until Linux 6.12 everybody who listens hears the answer too. */
#define NET_CHANGED_QDISC 4
/* Drains it; what changed. */
int net_watch_read(int fd);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_NET_H
#define SLUICE_NET_H
/* Links, their qdiscs and the filters on them, by requests to the kernel's network stack: libmnl and ioctl. */
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
 * Every link whose other end is in another network namespace, with this namespace's number for that one, and the bridge
 * that the link is a port of (0: none).
 */
int links_behind(void (*fn)(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx), void *ctx);

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
 * Whether some packets may meet fq although the link lacks times: at one of its leaves, or behind a virtual link, where not
 * all can be seen: the other end of a veth, or where the routes of a tunnel lead.
 */
int link_may_keep_times(__u32 ifindex, const struct qdisc_info *q);
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
/*
 * The same for n interfaces: the kernel lists all qdiscs each time, so they are read once. On entry l has the ifindexes
 * in ascending order, and otherwise zeros; an interface that is not in this network namespace gets the ifindex 0. If
 * the qdiscs cannot be read that is -errno, and the queues are 0; -EINTR: they changed again and again meanwhile.
 */
int link_loads_get(struct link_load *l, unsigned int n);

/* A socket that reports changes of links, qdiscs and routes; the fd, or -errno. */
int net_watch_open(void);
#define NET_CHANGED_LINK 1
#define NET_CHANGED_ROUTE 2
/* Or somebody asked for its counters: until Linux 6.12 all listeners get the answer too. */
#define NET_CHANGED_QDISC 4
/* Drains it; returns what changed. */
int net_watch_read(int fd);

#endif

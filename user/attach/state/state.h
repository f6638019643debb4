/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_STATE_H
#define SLUICE_ATTACH_STATE_H
/*
 * What the data plane knows between two calls: a part for each room, which writes it alone, except for those files that
 * lead from one room to the next (dataplane.c, lifetime.c). port/ reads the parts of others, too.
 */
#include "attach/net/routes.h"
#include "attach/pins/pins_room.h"
#include "attach/prog/prog_room.h"
#include "attach/qdisc/qdisc_room.h"
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

/* --- port/ --- */

/* A link whose other end is in another network namespace. */
struct pod_link {
	__u32 ifindex, master;
	__s32 netnsid;
	int routed;  /* a pod CIDR is routed to it */
	int ingress; /* it has a qdisc `ingress`, which takes the place of clsact: programs are attached by tcx */
	__u64 bps;   /* rate of its tbf or htb; 0: none */
	__u32 htb, htb_default; /* handle of its htb (0: none), and minor number of the default class */
	enum htb_verdict verdict;
	int told; /* why its htb gets no stamp was said */
};

struct pods_list {
	struct pod_link *link; /* sorted by ifindex */
	unsigned int n, room;
};

struct port_room {
	struct {
		__u32 ifindex;
		char name[IFNAMSIZ];
		__u32 before;	    /* sum of the programs in front of ours that were last reported; 0: none */
	} known[CONFIG_INTERFACES]; /* names of the configured interfaces when they were attached */
	struct {
		__u64 since_ns, last_ns, next_ns;
		unsigned int times;
	} put_back; /* watch.c: how often in a minute something was put back, and when that goes on */
	unsigned int ticks;
	int pods_changed;
	struct pods_list pods; /* as of the last look */
	unsigned int pods_stamped;
	struct msg_limit limit, pod_limit, htb_limit[HTB_VERDICTS];
};

/* --- all of them --- */

struct dataplane {
	struct pins pins;
	int linger_fd; /* a timer: when leaving peers and ports are removed */
	struct pins_room pin;
	struct prog_room prog;
	struct qdisc_room qdisc;
	struct peer_routes routes;
	int routes_changed;
	struct port_room port;
};

#endif

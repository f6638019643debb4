/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_STATE_H
#define SLUICE_ATTACH_STATE_H
/*
 * What the rooms of the data plane know between two calls. A room writes its own part; dataplane.c and lifetime.c, which
 * call all of them, write any.
 */
#include "attach/net/routes.h"
#include "attach/state/pins_room.h"
#include "attach/state/qdisc_room.h"
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

struct sluice_bpf;

/* --- prog/ --- */

/* Programs that are loaded together. Only the sets that the configuration wants are loaded: verification is slow. */
enum program_set {
	SET_HOST,    /* egress and ingress */
	SET_SWITCH,  /* hop */
	SET_VOQS,    /* tor */
	SET_PODS,    /* pod_hop */
	SET_BACKLOG, /* tracepoints, where stamps need them */
	SET_CLASSES, /* tracepoints of ports with classes */
	SET_PFC,     /* tracepoints of switch ports with pauses, and the program that hears them */
	SET_N
};
#define SET_BIT(set) (1U << (set))

/* Each loads a set that was not there, or one of host, switch and VOQs with one of the two wings that it lacked. */
#define RELOADS_MAX (SET_N + 3 * 2)

struct prog_room {
	struct sluice_bpf *skel;	      /* the maps, and the programs wanted at the start */
	struct sluice_bpf *more[RELOADS_MAX]; /* programs wanted by reloads, over the same maps; NULL at the end */
	struct sluice_bpf *of[SET_N];	      /* the object in which a set is loaded last; NULL: none */
	unsigned char *elf;		      /* the object with the configured congestion control's name */
	int tracepoints;		      /* this run attached the tracepoints of backlog */
	int class_tracepoints;		      /* this run attached the tracepoints of classes */
	int pfc_tracepoints;		      /* this run attached the tracepoints of pauses */
	__u64 cc_back_ns;		      /* when the default congestion control was put back; 0: never */
	char cc_others[16];		      /* one that somebody insists on; "" */
	__u64 seq_base_ns;		      /* as it was at the last look: ingress moves it, too */
	__u64 clock_said_ns;		      /* when the clock was last reported as off */
};

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
	int fresh;     /* this run made the pins */
	int lost;      /* some of the pins are missing, and are made anew */
	int running;   /* the attached programs are this run's */
	int linger_fd; /* a timer: when leaving peers and ports are removed */
	struct pins_room pin;
	struct prog_room prog;
	struct qdisc_room qdisc;
	struct peer_routes routes;
	int routes_changed;
	struct port_room port;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_MARKS_H
#define SLUICE_MARKS_H
/*
 * The memory of flows and ports from one look at the maps to the next: their counters at the last record, and their
 * high-water marks since then.
 */
#include "lib/net.h"
#include "sluice/abi/flow.h"
#include "sluice/abi/port.h"

#define MARKS_MAX 65536		/* flows; as max_flows by default */
#define BUSY_UNKNOWN 0xffffffff /* a hop was not seen twice, or its counter may have wrapped */

struct hop_mark {
	__u64 queue_ns;
	__u32 queue_bytes;
	__u32 busy_ppm; /* share of its speed that it sent at, or BUSY_UNKNOWN */
};

struct flow_mark {
	struct flow_mark *next; /* in its bucket */
	struct flow_key key;
	struct flow flow; /* at the last look that found it */
	__u64 look;	  /* the number of that look */
	__u64 begin_ns;	  /* of the time that the next record covers; the counters then: */
	__u64 begin_bytes, begin_feedbacks;
	/* The highest since then. hops: entries of hop[]; 0: no feedback came */
	q24_t u;
	__u32 hops;
	struct hop_mark hop[HPCC_MAX_HOPS];
};

struct port_mark {
	__u32 ifindex;
	struct port port;
	struct link_load load; /* at the last look */
	__u64 look, begin_ns, begin_bytes, backlog_bytes;
	__u32 begin_drops;
};

struct marks {
	struct flow_mark *bucket[4096];
	struct port_mark *port;
	unsigned int flows, ports;
	__u64 look;		   /* the number of the current or last look; 0: none yet */
	__u64 now_ns, before_ns;   /* of the last look, and of the one before; before_ns 0: there is none */
	/* Looks at flows for which there was no room; the same when the current or last look began. */
	unsigned long long beyond, beyond_then;
	int crowded; /* the look before it had such flows */
};

/* Begins a look; after a failed one the next is like the first. */
void marks_look(struct marks *m, __u64 now_ns);
void marks_look_failed(struct marks *m);
/* A flow and a port that the look found. 0, or -ENOMEM. */
int marks_flow(struct marks *m, const struct flow_key *key, const struct flow *flow);
int marks_port(struct marks *m, __u32 ifindex, const struct port *port, const struct link_load *load);

/* Whether the last look no longer found it. */
static inline int mark_is_gone(const struct flow_mark *f, const struct marks *m)
{
	return f->look != m->look;
}

/*
 * Calls fn for each flow that sent something since its last record, and for each port. The next records begin here, and
 * flows and ports that are gone are forgotten.
 */
void marks_each_flow(struct marks *m, void (*fn)(const struct flow_mark *f, void *ctx), void *ctx);
void marks_each_port(struct marks *m, void (*fn)(const struct port_mark *p, void *ctx), void *ctx);
void marks_free(struct marks *m);

#endif

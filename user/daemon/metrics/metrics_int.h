/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_INT_H
#define SLUICE_METRICS_INT_H
/*
 * Shared by the files of the metrics: metrics.c (theory, begin, tick, end), sums.c (the sums of a tick), text.c (the
 * text made from them), pods.c (the busiest pods) and http.c (requests and clients).
 */
#include <microhttpd.h>
#include <sys/socket.h>
#include <time.h>
#include "daemon/metrics.h"
#include "daemon/metrics/list.h"

/* Enough places that a client that has just connected is not yet the oldest when its request comes. */
#define METRICS_CLIENTS 256
#define METRICS_RETRY_TICKS 30
#define METRICS_SENT_SLOTS (1 << 16)

#define BUCKETS 19
/* Bounds of buckets in ns; one more bucket takes the rest. */
extern const __u64 metrics_bounds[BUCKETS];

struct histogram {
	__u64 count[BUCKETS + 1];
	double sum_s;
};

/* The bytes of a flow at the previous tick. If two flows share a slot neither is measured: flow_why() judges both. */
struct sent {
	__u64 flow; /* hash of its key */
	__u64 tx_bytes, at_ns;
};

/* Sums of the flows to one prefix. */
struct peer_sum {
	struct peer_key key;
	__u64 rtt_ns, measured_ns, rtt_changes; /* as in the peers map */
	__u64 flows, held[FLOW_HOLDS], rate_bps, window_bytes, queue_ns, age_ns;
	q24_t u;
};

struct top_flow {
	struct flow_key key;
	const char *held; /* NULL: no feedback */
	__u64 tx_bytes, rate_bps, window_bytes, queue_ns;
};

struct pods_told;

struct state_sum {
	const char *name;
	__u64 flows;
};

/* A connection, from the library's callback at its start until it ends or is dismissed. */
struct client {
	struct MHD_Connection *connection;
	struct sluice_addr addr; /* 0: it came by a Unix socket */
};

struct metrics {
	const struct pins *pins;
	char pin_dir[256];
	struct watcher watcher;
	int epoll_fd; /* includes the epoll of http */
	struct MHD_Daemon *http;
	struct client client[METRICS_CLIENTS]; /* in order of arrival */
	unsigned int clients;
	struct MHD_Response *text; /* since the last tick; NULL: not requested yet */
	int wanted;
	struct sockaddr_storage listen;
	socklen_t listen_len;
	char listen_text[128];
	unsigned int ticks;
	time_t start;
	struct msg_limit limit;

	/* Of the current tick, or the last one. */
	int fresh; /* it begins */
	struct control ctl;
	struct state_sum state[FLOW_STATES];
	struct peer_sum *peer; /* by prefix length, the longest first, then by address */
	unsigned int peers;
	struct top_flow *top; /* by bytes, descending */
	unsigned int tops, tops_max;
	struct pods_told *pods;				   /* NULL: pods are not told one by one */
	struct sent *sent;				   /* METRICS_SENT_SLOTS entries */
	struct histogram queue, age, pacing, credit, lead; /* since the daemon's start */
};

/* --- sums.c --- */

/* The watcher that makes the sums. */
struct watcher sums_watcher(struct metrics *m);
/* At the first flow of a tick. */
void tick_begin(struct metrics *m);
/* Takes the peers of the configuration, and makes room for its busiest flows. */
void peers_take(struct metrics *m, const struct config *c);

/* --- pods.c --- */

/* Makes room for the busiest pods of the configuration. */
void pods_told_take(struct metrics *m, const struct config *c);
void pods_told_free(struct metrics *m);
/* At the first flow of a tick. */
void pods_told_begin(struct pods_told *p);
/* An active flow. held: index in flow_hold_names; -1: it has no feedback. */
void pods_told_flow(struct pods_told *p, const struct flow *f, int held);
/* After all flows of a tick. */
void pods_told_tick(struct pods_told *p);
/* A veth with a queue, while the text is made. */
void pods_told_port(struct pods_told *p, __u32 ifindex, const struct port *port);
void pods_told_text(FILE *f, const struct metrics *m);

/* --- text.c --- */

/* The name of a metric, after its HELP and TYPE were printed. */
const char *metric_begin(FILE *f, enum metric n);

/* NULL if the counters cannot be read, or there is no memory. */
struct MHD_Response *text_make(struct metrics *m);

/* --- http.c --- */

void http_open(struct metrics *m);
void http_close(struct metrics *m);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_STATE_H
#define SLUICE_METRICS_STATE_H
/*
 * What a tick leaves behind for requests. metrics.c makes and ends it, sums.c has the members of the current tick, http.c
 * those of its server and clients; text.c reads it.
 */
#include <microhttpd.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include "daemon/metrics/http.h"
#include "daemon/metrics/sums.h"

struct pods_told;

struct metrics {
	const struct pins *pins;
	char pin_dir[256];
	struct watcher watcher;
	int epoll_fd; /* includes the epoll of http */
	struct MHD_Daemon *http;
	struct client client[METRICS_CLIENTS]; /* in order of arrival */
	unsigned int clients;
	struct MHD_Response *text; /* since the last tick; NULL: not requested yet */
	bool wanted;
	struct sockaddr_storage listen;
	socklen_t listen_len;
	char listen_text[128];
	unsigned int ticks;
	time_t start;
	struct msg_limit limit;

	/* Of the current tick, or the last one. */
	bool fresh; /* it begins */
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

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_HTTP_H
#define SLUICE_METRICS_HTTP_H
/* Requests, the clients that make them, and the listening socket. */
#include <microhttpd.h>
#include "lib/util.h"

struct metrics;

/* Enough places that a client that has just connected is not yet the oldest when its request comes. */
#define METRICS_CLIENTS 256
#define METRICS_RETRY_TICKS 30

/* A connection, from the library's callback at its start until it ends or is dismissed. */
struct client {
	struct MHD_Connection *connection;
	struct sluice_addr addr; /* 0: it came by a Unix socket */
};

void http_open(struct metrics *m);
void http_close(struct metrics *m);

#endif

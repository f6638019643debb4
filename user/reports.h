/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPORTS_H
#define SLUICE_REPORTS_H
/*
 * Feedback for flows to which nothing goes back: a program cannot make a packet, so ingress hands it over
 * (struct report), and here it is sent, that of many flows in one message.
 */
#include "config.h"

struct reports;

/* map_fd: the ring of reports. 0, or -errno. */
int reports_open(int map_fd, struct reports **reports);
void reports_close(struct reports *r);

/* To be waited for; then call reports_read(). It waits a little for more to come before it sends. */
int reports_fd(const struct reports *r);
/* seq_base_ns: of the control map. */
void reports_read(struct reports *r, const struct config *c, __u64 seq_base_ns);

/*
 * The message (from the shim on) of so many reports of one pair of addresses, up to WIRE_REPORTS_MAX, into
 * buf of REPORTS_MESSAGE_MAX bytes; sent at now_ns. keys: n = 0 for none; seq: of authentication. Returns
 * its length.
 */
#define REPORTS_MESSAGE_MAX 1024
unsigned int reports_message(const struct report *report, unsigned int n, __u64 now_ns,
			     const struct auth_keys *keys, __u64 seq, void *buf);

#endif

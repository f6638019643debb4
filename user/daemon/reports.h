/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPORTS_H
#define SLUICE_REPORTS_H
/*
 * Feedback for flows to which nothing goes back: a program cannot make a packet, so ingress hands it over
 * (struct report), and here it is sent, that of many flows in one message.
 */
#include "daemon/messages.h"

struct reports;

/* map_fd: the ring of reports. 0, or -errno. */
int reports_open(int map_fd, struct messages *messages, struct reports **reports);
void reports_close(struct reports *r);

/* To be waited for; then call reports_read(). It waits a little for more to come before it sends. */
int reports_fd(const struct reports *r);
/* seq_base_ns: of the control map. */
void reports_read(struct reports *r, const struct config *c, __u64 seq_base_ns);

/* As it goes into the message, at now_ns. */
void report_write(const struct report *report, __u64 now_ns, struct wire_report *w);

#endif

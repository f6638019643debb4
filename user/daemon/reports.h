/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPORTS_H
#define SLUICE_REPORTS_H
/*
 * Feedback for flows without packets going back: a program cannot make a packet, so ingress hands it over (struct
 * report), and this file sends it, for many flows in one message.
 */
#include "daemon/messages.h"

struct reports;

/* map_fd: the ring of reports. 0, or -errno. */
int reports_open(int map_fd, struct messages *messages, struct reports **reports);
void reports_close(struct reports *r);

/* Wait for it, then call reports_read(), which waits a little for more reports before it sends. */
int reports_fd(const struct reports *r);
/* seq_base_ns: of the control map. */
void reports_read(struct reports *r, const struct config *c, __u64 seq_base_ns);

/* Writes a report as in the message, at now_ns. */
void report_write(const struct report *report, __u64 now_ns, struct wire_report *w);

#endif

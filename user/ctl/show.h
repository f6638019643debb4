/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SHOW_H
#define SLUICE_SHOW_H
#include "ctl/flow_list.h"
#include "ctl/out.h"

extern const char *show_pin_dir; /* --pin-dir, or where sluiced pins its maps */

/* Whether a command without arguments was given some; reports it. */
int arguments_refused(int argc, const char *command);
/* Opens the pinned maps; EXIT_DONE, or another code with a message. */
int show_open(struct pins *p);

/* A flow, in words and as JSON, from its entry alone. */
#define FLOW_STRLEN (2 * PREFIX_STRLEN + 32)
const char *flow_format(const struct flow_key *k, char *buf);		  /* "LOCAL:PORT -> REMOTE:PORT" */
const char *row_why(const struct flow_row *r, const struct flow_list *l); /* flow_why(), with earlier looks */
/*
 * A flow of UDP that sent for a moment, too short for more than one feedback, and is silent now: a DNS query, for one. Its entry stays until
 * flow_timeout; lists for reading leave it out.
 */
int row_is_spent(const struct flow_row *r, const struct flow_list *l);
const char *flow_control(const struct flow *f);
struct pod;
const struct pod *row_pod(const struct flow_row *r,
			  const struct flow_list *l); /* NULL: it is no pod's, or has no name */
/*
 * Its line in the table, or the heading if row is NULL. watched: with its current sending rate. width: columns of the
 * screen; 0: unlimited.
 */
void flow_line(const struct flow_row *row, const struct flow_list *l, int watched, int width, char *buf, size_t size);
/* An element of the open list (out.h). */
void flow_json(const struct flow_row *row, const struct flow_list *l, int watched);

/*
 * Puts what a port of this machine really has in place of what telemetry tells of the first hop: speed and queue.
 * Returns the ratio of real to told bytes, 0 if the first hop is elsewhere or not known.
 */
double hop_own(const struct pins *p, struct flow *f);
/* "50 Mbit/s", or "up to 100 Mbit/s" of a port elsewhere; returns buf, of HOP_STRLEN bytes. */
#define HOP_STRLEN 48
const char *hop_speed_text(__u64 bps, int own, char *buf);

/* The value of --peer, with an error message: 0 or -EINVAL. */
int peer_parse(const char *text, struct peer_key *peer);

/*
 * The next option of a command, by its letter in the table of sluicectl.c, with its value in optarg; -1: there is none
 * left; '?' after a message.
 */
int option_next(int argc, char **argv, int (*run)(int argc, char **argv));

int cmd_status(int argc, char **argv);
int cmd_flows(int argc, char **argv);
int cmd_voqs(int argc, char **argv);
int cmd_credits(int argc, char **argv);
int cmd_queue(int argc, char **argv);
int cmd_pods(int argc, char **argv);
int cmd_ports(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_bypass(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_int(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_support(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);

#endif

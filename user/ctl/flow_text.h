/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FLOW_TEXT_H
#define SLUICE_FLOW_TEXT_H
/* A flow, in words, from its entry alone. */
#include "ctl/flow_list.h"
#include "lib/pins.h"

struct pod;

#define FLOW_STRLEN (2 * PREFIX_STRLEN + 32)
const char *flow_format(const struct flow_key *k, char *buf);		  /* "LOCAL:PORT -> REMOTE:PORT" */
const char *row_why(const struct flow_row *r, const struct flow_list *l); /* flow_why(), with earlier looks */
/*
 * A flow of UDP that sent for a moment, too short for more than one feedback, and is silent now: a DNS query, for one. Its entry stays until
 * flow_timeout; lists for reading leave it out.
 */
int row_is_spent(const struct flow_row *r, const struct flow_list *l);
const char *flow_control(const struct flow *f);
const struct pod *row_pod(const struct flow_row *r,
			  const struct flow_list *l); /* NULL: it is no pod's, or has no name */
/*
 * Its line in the table, or the heading if row is NULL, into buf of FLOW_LINE_STRLEN. watched: with its current sending
 * rate. width: columns of the screen; 0: unlimited.
 */
#define FLOW_LINE_STRLEN 512
void flow_line(const struct flow_row *row, const struct flow_list *l, int watched, int width, char *buf);

#endif

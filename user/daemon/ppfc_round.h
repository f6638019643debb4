/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_ROUND_H
#define SLUICE_PPFC_ROUND_H
/* A round of the loop and its frames, packets' decisions between rounds, the tracepoints' counts. */
#include "daemon/ppfc_state.h"

/* Whether pauses are sent, not only counted. */
static inline int ppfc_acts(const struct pins *pins)
{
	return pins->ctl->mode == MODE_ENFORCE && !pins->ctl->bypass;
}

void ppfc_round(struct ppfc *p);
void frame_begin(struct ppfc_port *port);
/* Sends the pending frames of all ports. */
void frames_send(struct ppfc *p);
/* Ignores pauses that packets sent before this daemon. */
void packets_begin(struct ppfc_port *port, const struct pfc_slot *s);
/* Extends the lease of packets, if they may pause at all. */
void lease_extend(struct ppfc *p);
/* Ends the lease of packets. */
void lease_end(struct ppfc *p);
/* Sets the parameters that packets use, from the applied configuration. */
void rule_apply(struct ppfc *p);
/* Corrects sums that differed by the same number of bytes SUM_TIMES times. */
void counts_settle(struct ppfc *p);
/* Forgets a queue that was discarded without an event. */
void queue_forget(struct ppfc *p, __u32 slot);

#endif

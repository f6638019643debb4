/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_RTT_H
#define SLUICE_SIM_RTT_H
/*
 * T as measured by base_rtt: auto (sluice/cc/base_rtt.h), over all hosts. The scenario sets the length of its second
 * (hpcc.rtt_second): at 100 Gbit/s eight real seconds would be a billion packets.
 */
#include "sim/flow.h"
#include "sim/result.h"
#include "sim/scenario.h"

/* take(s) is called when rtt_t_ns() has changed. */
void rtt_begin(const struct scenario *s, void (*take)(const struct scenario *s));
/* T as measured or, before that, its start value; 0: it is not measured. */
uint64_t rtt_t_ns(void);
/* Takes an ACK of a flow, with these hops. */
void rtt_on_ack(struct sim_flow *f, const struct sim_packet *p, const struct hpcc_ack *ack);
/* T at the end, and the longest and the shortest since the first measurement; NULL: it is not measured. */
struct json_object *rtt_result(void);

#endif

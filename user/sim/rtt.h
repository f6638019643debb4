/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_RTT_H
#define SLUICE_SIM_RTT_H
/*
 * T as base_rtt: auto measures it (sluice/cc/base_rtt.h), of all hosts together. A second of that is as long as the scenario
 * says (hpcc.rtt_second): at 100 Gbit/s eight of them would be a billion packets.
 */
#include "sim/flow.h"
#include "sim/result.h"
#include "sim/scenario.h"

/* take(s) is called when rtt_t_ns() has changed. */
void rtt_begin(const struct scenario *s, void (*take)(const struct scenario *s));
/* T as measured, or, before that, as it begins; 0: it is not measured. */
uint64_t rtt_t_ns(void);
/* An ACK came for a flow, with these hops. */
void rtt_on_ack(struct sim_flow *f, const struct sim_packet *p, const struct hpcc_ack *ack);
/* T at the end, and the longest and the shortest once it was measured; NULL: it is not. */
struct json_object *rtt_result(void);

#endif

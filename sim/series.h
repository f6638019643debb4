/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SERIES_H
#define SLUICE_SIM_SERIES_H
/*
 * Events over time: CSV lines "time_us,what,which,value", every run.series. Rates are means since the previous samples.
 *
 *	queue_bytes, tx_bps	of each sampled port; of the first SERIES_PORTS, if there are more
 *	queue_bytes_max		the longest queue of all sampled ports
 *	flow_bps		payload that a flow receives: of the first SERIES_FLOWS, while they go on
 *	load_bps		payload that all flows of a load receive
 *	pauses, dropped, marked	frames of PFC and packets, of all switches, since the samples before
 */
#include "sim/scenario.h"

#define SERIES_PORTS 64
#define SERIES_FLOWS 32

/*
 * Writes to that file; NULL: there is no series. Returns 0, or -1 with a message. After measure_begin().
 */
int series_begin(const struct scenario *s, const char *path);
void series_sample(void); /* every run.sample */
/* Returns 0, or -1 with a message if not everything could be written. */
int series_end(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REPORT_CASE_H
#define REPORT_CASE_H
/*
 * Shared by the tests of feedback that is W, and of N: packets whose receiver computes for their sender. The frames come
 * from B and are for A: A's report on them waits in the flow A to B, and so does B's report on that flow.
 */
#include "sluice/cc/rx.h"
#include "world.h"

#define LONG_T_NS 200000000ULL /* longer than a test: an event due once per T is due once */

/* The peers compute this form of feedback, with this base RTT. */
void peers_tell(enum rx_feedback feedback, __u64 t_ns);
__u64 report_hop_of(__u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes);
/* The nth telemetry of a path: 1 ms apart, the hop `full` of two at 120 %, the other at 60 %. */
struct wire_spec telemetry(unsigned int n, unsigned int full);
/* Data of B arrives. */
struct result arrives(int v6, struct wire_spec w);

#define feedback(v6_, ...)                                                \
	({                                                                \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1);         \
		struct frame in_ = wrap(&inner_, .echo = 1, __VA_ARGS__); \
		run(sink, &in_);                                          \
	})

struct flow report_flow_of(int v6);
/* The flow A to B, as its first data packet leaves it. */
void report_flow_runs(int v6, __u64 tx_bytes);
/* Writes the flow A to B back. */
void flow_change(int v6, struct flow f);

#endif

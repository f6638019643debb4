/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TRACE_CASE_H
#define TRACE_CASE_H
/* Shared by the tests of records: flows that somebody traces, and the records of them. */
#include "sluice/cc/rx.h"
#include "world.h"

static const struct ip_spec a_to_b = { .payload = 1000 };

struct control wish(void);
unsigned int records(void);
void trace_all(void);
/* The only record since the last time. */
struct trace the_record(void);
/* It is of the flow A to B, now, and has so much of this frame as there is room for. */
void expect_record(const struct trace *r, struct ip_spec s, const struct frame *f);
__u64 trace_hop_of(__u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes);
/* The nth echo of a path of two hops, of which the second one is full. */
struct frame echo(int v6, unsigned int n, unsigned int payload);

#endif

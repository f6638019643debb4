/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef POD_CASE_H
#define POD_CASE_H
/*
 * Shared by the tests of a node of pods. A is a pod of this node and B somewhere else, so packets of B arrive for A, and the
 * flow that it teaches something is A to B.
 */
#include "world.h"

void pod_make(void);
void pod_make_old(void);

#define NODE_ID 0x123
#define TX_BYTES (1000 * 128ULL + 127)
#define BACKLOG_BYTES (50 * 80ULL)
#define STAMP_TS (0xffffffULL << 36)

void expect_time(__u64 stamp, __u64 before, __u64 after);
/* A packet from B to the pod, with nhop hops. */
struct frame from_b(int v6, __u8 room, __u8 nhop);

#endif

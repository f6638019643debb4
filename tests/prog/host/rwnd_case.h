/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RWND_CASE_H
#define RWND_CASE_H
/*
 * Shared by the tests of bpf/host/rwnd.bpf.h: handshakes, and flows whose window is cut. A is the local side, so what B sends
 * arrives at ingress, and the flow whose window that grants is A to B.
 */
#include "world.h"

void rwnd_make(void);

#define NO_SCALE (-1)
#define USUAL_SEQ 1000000 /* of tcp() */
#define USUAL_ACK 2000000

/* The offset of the TCP header in a plain frame. */
unsigned int at_tcp(const struct frame *f);
/* With these bytes as TCP options. */
struct frame with_options(struct frame f, const __u8 *options, unsigned int len);
/* With another acknowledgement number. */
struct frame with_ack(struct frame f, __u32 ack);
/* MSS, and the scale if there is one. */
struct frame syn_with_scale(struct ip_spec s, int scale);
struct flow rwnd_flow_of(int v6);
/* A sends a SYN, with ack a SYN-ACK, with this window scale, or with NO_SCALE; or it arrives from B. */
void syn_leaves(int v6, int scale, int ack);
void syn_arrives(int v6, int scale, int ack);
/* B's scale, as A's flow has it. */
void expect_scale(int v6, int scale);
/* A has sent up to end, and what is before una is acknowledged. */
void flow_sent(int v6, __u32 una, __u32 end);
/* A has sent up to end since. */
void flow_sends_more(int v6, __u32 end);
/* A flow whose window is w_bytes and whose peer's windows have this scale. All that it sent is acknowledged. */
struct flow flow_governed(int v6, unsigned int w_bytes, unsigned int scale);
struct frame with_window(struct frame f, __u16 window);
/* An ACK of B with its window, time stamps and SACK. */
struct frame granted(int v6, __u32 ack, __u16 window);
/* Runs f through ingress: its window must become this, and nothing else must change. */
void expect_window(const struct frame *f, __u16 window);
/* The window of f after ingress, in its unit. */
__u16 window_of(const struct frame *f);

#endif

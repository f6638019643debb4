/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ARRIVE_CASE_H
#define ARRIVE_CASE_H
/*
 * Shared by the tests of pauses at packets: a switch whose packets from the link leave by the world's port. 20 ms pass on the
 * clock where a frame is waited for in vain, so pauses are longer than that.
 */
#include "pfc_case.h"

#define IN 7	/* slot of the link's near end, */
#define OTHER 9 /* and of a port that there is only in the maps */
#define OTHER_IFINDEX 200000
#define ARRIVE_BPS 10000000ULL
#define ARRIVE_K_MAX 10000
#define QUEUE 50000
#define GROWTH 10000

extern const __u8 arrive_mac[6]; /* of all ports */

struct arrivals {
	__u32 ifindex; /* of the link's near end, where hop_map is attached */
	int fd;	       /* at its far end, where the neighbour is */
	struct pfc_slot all;
};

struct arrivals arrivals_make(void);
/* The port of a slot begins anew. */
void port_pauses(__u32 ifindex, __u32 slot);
/* Packets may pause for that long from now on; 0: they may not. */
void lease_set(struct arrivals *a, __u64 ns);
/* That many bytes of a port and the lossless priority wait at the world's port. */
void waits(struct arrivals *a, __u32 in, __u64 bytes);
/* A packet begins a window, and then the queue grows: the next one ends it, and its port is to be told. */
void grow(struct arrivals *a, const struct frame *in);
/* The next packet of the link comes into the queue. */
struct result arrive(const struct arrivals *a, const struct frame *in);
struct pfc_class told(__u32 slot);
/* As Algorithm 3 has it for grow(), of a port that has all of the queue. */
__u32 quanta_predicted(__u32 frame_bytes);
/* The neighbour gets this frame and no other. */
void expect_pause(const struct arrivals *a, __u32 quanta);
void expect_no_frame(const struct arrivals *a);
/* No CPU has a note of a clone. */
void expect_no_note(void);

#endif

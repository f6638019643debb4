/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GSO_CASE_H
#define GSO_CASE_H
/*
 * Packets that the kernel segments, or whose checksum it computes, after egress has seen them. A test run cannot say that a
 * packet is such a one, so these go over a link with the program attached; the offloads of its near end are off, so that
 * what arrives at the far end is what a wire would carry.
 */
#include "world.h"

void gso_make(void);
/* The device does no segmentation and no checksums: the kernel does both in front of it. */
void tso_off(int fd, const char *device);
/* A packet socket whose frames may be larger than the MTU. */
int gso_socket(const char *device);
/*
 * Sends what TCP or UDP hands down: a packet whose checksum is still to be computed, of many segments
 * for a gso_size.
 */
void send_gso(int fd, struct ip_spec s, unsigned int payload, unsigned int gso_size);
/* One segment as it must leave: the inner packet that would have been sent without GSO. */
struct frame segment(struct ip_spec s, unsigned int from, unsigned int bytes, int inner_id);
/* The next frame is the PROBE of a packet with that payload, and any checksum. */
void gso_expect_probe(int far, struct ip_spec s, unsigned int payload, __u32 seq);
/* Egress at the near end, without TSO. Returns the socket to send by; *far receives at the other end. */
int gso_link(int *far);

#endif

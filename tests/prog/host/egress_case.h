/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EGRESS_CASE_H
#define EGRESS_CASE_H
/* Shared by the tests of egress. The peers strip telemetry unless a test says otherwise. */
#include "world.h"

/* A world whose hosts A and B are known to strip. */
void egress_make(void);
/* The source port of the outer UDP header. */
__u16 source_port(const struct frame *f);
/* The outer source port of the packet that egress makes of `in`. */
__u16 entropy_of(const struct frame *in);
/* Three hops have been collected by a packet of the reverse flow that arrived age_ns ago. */
void echo_waits(struct ip_spec s, __u64 age_ns);
/* How the packet with that echo must look; age and source port as they are. */
struct frame with_echo(const struct frame *in, const struct frame *got, __u8 room, __u32 seq);

/* A link whose near end asks, and what arrives at its far end. */
struct asker {
	__u32 ifindex;
	int fd;
};

struct asker asker_make(void);
/* Exactly one PROBE arrived, made of this packet. */
void egress_expect_probe(const struct asker *a, const struct frame *in, __u32 seq);
void expect_no_probe(const struct asker *a);
/* The flow's last probe, and its last feedback, so long ago; -1: never. */
void probed_ago(struct ip_spec s, __s64 probe_ago_ns, __s64 fb_ago_ns);
/* Sets the flow's pacing clock and rate, and returns the flow. */
struct flow clock_at(struct ip_spec s, __u64 clock, __u64 rate_bps);
/* The mode is enforce, and the port has fq. */
void enforce_with_fq(void);

#endif

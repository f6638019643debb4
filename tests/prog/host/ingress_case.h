/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INGRESS_CASE_H
#define INGRESS_CASE_H
/*
 * Shared by the tests of ingress. The frames come from B and are for A, so the flow whose telemetry they carry is B to A, and
 * the flow that they have feedback for, and into whose echo slot their telemetry goes, is A to B.
 */
#include <string.h>

#include "sluice/cc/hpcc.h"
#include "world.h"

/* A wrapped reply of B with that payload. */
#define from_b(v6_, payload_, ...)                                                     \
	({                                                                             \
		struct frame inner_ = tcp(.v6 = v6_, .reply = 1, .payload = payload_); \
		wrap(&inner_, __VA_ARGS__);                                            \
	})

static const struct ip_spec a_to_b, a_to_b_v6 = { .v6 = 1 };

const struct ip_spec *ingress_forward(int v6);
/* The flow A to B, as its first packet leaves it, with wire bytes sent so far. */
void ingress_flow_runs(int v6, __u64 tx_bytes);
/* One hop's report as the wire has it, put together from the picture in telemetry.h. */
__u64 ingress_hop_of(unsigned int code, __u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes);

/* The result that the programs must have for an echo, by the same header on the host. */
struct feedback {
	unsigned int hops;
	__u16 path;
	__u64 hop[5];
	__u32 seq;
	__s64 gap_ns; /* since the last feedback */
	int probe;    /* it comes with a PROBE_REPLY and not as an echo */
	int udp;      /* for the flow of UDP */
};

/* An answer to the question that A asked with a packet like s, with what it collected. */
struct frame reply_of(struct ip_spec s, struct wire_spec w);

#define reply(s, ...) reply_of(s, (struct wire_spec){ __VA_ARGS__ })

/*
 * Sends the feedback, by an ACK or with data or in a PROBE_REPLY, and expects that the flow's state is
 * what hpcc.h makes of it, field by field. Returns the kind.
 */
enum hpcc_kind expect_feedback(const struct feedback *fb, unsigned int payload, enum sluice_mode mode);
/* A port of 100 Gbit/s that sends at permille of its speed, with a queue. */
void hop_advance(struct feedback *fb, unsigned int n, __u64 dt_ns, unsigned int permille, __u64 qlen_bytes);
/* B was asked a minute ago, and has been silent since. */
void host_asked(int v6);

/* Three flows between A and B: all have been asked for, and only one is answered. */
extern struct ip_spec three[3];

struct memory {
	struct flow flow[3];
	struct host host;
};

/* The state of the three flows and of B. */
struct memory remember(int v6);
/* All three flows run, and B was asked. */
void three_flows(int v6);

/* The frame changes no flow and, with host_too, nothing of what is known of B. */
#define expect_nothing_learned(v6, in, host_too, verdict, ...)                                                      \
	do {                                                                                                        \
		struct memory was_ = remember(v6), is_;                                                             \
		unsigned int flows_ = flows_count();                                                                \
		struct result r_ = run(sink, in);                                                                   \
                                                                                                                    \
		expect_verdict(r_, verdict);                                                                        \
		expect_counted(__VA_ARGS__);                                                                        \
		is_ = remember(v6);                                                                                 \
		cr_assert(!memcmp(was_.flow, is_.flow, sizeof(is_.flow)), "%sa flow changed", world_fixture());     \
		if (host_too)                                                                                       \
			cr_assert(!memcmp(&was_.host, &is_.host, sizeof(is_.host)), "%swhat is known of B changed", \
				  world_fixture());                                                                 \
		expect_eq(flows_count(), flows_);                                                                   \
	} while (0)

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_TRACE_H
#define SLUICE_ABI_TRACE_H
/* Records of decisions, for sluicectl trace. */
#include "sluice/abi/flow.h"
#include "sluice/cc/hpcc.h"
#include "sluice/types.h"

#define TRACE_LEASE_NS (2 * NSEC_PER_SEC)
#define TRACE_PACKET_BYTES 256 /* of a packet: all headers of ours, and usually those of the inner packet */

enum trace_event {
	TRACE_DEPARTURE,
	TRACE_DROP,
	TRACE_PROBE,
	TRACE_FEEDBACK,
};

/* Egress's decision for a packet. */
struct trace_departure {
	__u64 departure_ns; /* of a dropped packet: the departure that it would have had */
	__u64 w_bytes;
	__u64 rate_bps;	      /* of the flow's clock */
	__u64 tx_bytes;	      /* of the flow, with this packet */
	__u32 inflight_bytes; /* of its socket, without this packet */
	__u8 inflight_known;
	__u8 held; /* enum flow_held */
	__u8 priority;
	__u8 pad;
};

/* Feedback, and the decision that it led to. */
struct trace_feedback {
	__u64 now_ns;	     /* of the packet that brought it */
	struct hpcc_ack ack; /* hop[]: only with RX_HOPS */
	q12_t w_before, w, wc, w_ai;
	q24_t u;
	__u64 rate_before_bps, rate_bps;
	__u64 t_ns;
	__u32 flows;							   /* N behind w_ai */
	__u32 delay_ns;							   /* 0: it was not timed */
	__u32 ts_before_ns[HPCC_MAX_HOPS], tx_before_bytes[HPCC_MAX_HOPS]; /* of the hops, in the feedback before */
	__u8 compared; /* 0: the feedback before was of another path */
	__u8 kind;							   /* enum hpcc_kind */
	__u8 form;							   /* enum rx_feedback */
	__u8 probe;
	__u8 bare; /* no hop is known: delay decides */
	__u8 variant;
	__u8 inc_stage;
	__u8 bottleneck;
};

/* A record in the ring: a decision, and the packet that it was for or that brought the feedback. */
struct trace {
	__u64 ns; /* CLOCK_MONOTONIC */
	struct flow_key key;
	__u32 event;   /* enum trace_event */
	__u32 verdict; /* enum sluice_stat; not of feedback */
	__u32 ifindex;
	__u32 packet_bytes; /* length of the packet */
	__u32 kept_bytes;   /* bytes of it kept here */
	__u32 pad;
	union {
		struct trace_departure departure;
		struct trace_feedback feedback;
	};
	__u8 packet[TRACE_PACKET_BYTES];
};

_Static_assert(sizeof(struct trace_feedback) == 288, "trace feedback");
_Static_assert(sizeof(struct trace) == 616, "trace");

#endif

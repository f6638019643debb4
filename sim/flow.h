/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_FLOW_H
#define SLUICE_SIM_FLOW_H
/*
 * Flows, and the hosts at their ends.
 *
 *  1. A flow sends while less than its window is in flight, each packet at its departure: a packet's time at its rate
 *     after the previous one. Flows of a host take turns.
 *  2. The receiver acknowledges each packet, or every few; the ACK brings telemetry and mark back. Out-of-order data is
 *     discarded (go-back-N), and a NACK tells where to restart; or it is kept (selective repeat), and each answer is a NACK that
 *     tells the first hole and how much is kept, as SACK does, until there is no hole.
 *  3. A scheme (scheme.h) turns the content of an ACK into window and rate.
 */
#include <stdint.h>
#include "sluice/cc/base_rtt.h"
#include "sluice/cc/ceiling.h"
#include "sluice/cc/companion.h"
#include "sluice/cc/rx.h"
#include "sim/net.h"

struct dcqcn {
	double rate, target, alpha;  /* bit/s */
	uint64_t counted;	     /* bytes since the last increase by bytes */
	uint64_t alpha_ns, timer_ns; /* due times of its timers; 0: not set */
	uint32_t by_time, by_bytes;
	uint8_t marked; /* 1: marked since the last update of alpha */
};

struct timely {
	double rate, rtt_ns, diff_ns; /* bit/s; the last sample, and the smoothed difference */
	uint64_t since;		      /* position sent at the last update of the rate */
	uint32_t fast;		      /* completions in a row without a positive gradient */
};

/* DCTCP and CUBIC: windows in bytes. */
struct tcp {
	double window, threshold, alpha;
	double most, back, friendly;   /* CUBIC: W_max, K in seconds, W_est */
	uint64_t acked, marked, round; /* bytes in this round, and the end of the round */
	uint64_t recover;	       /* no second decrease before this is acknowledged */
	uint64_t epoch_ns;	       /* CUBIC: start of the increase; 0: it has not begun */
};

struct range {
	uint64_t from, to;
};

/* The scheme sluice, besides hpcc_state and ceiling: as in the kernel, parameters are a flow's own. */
struct sluice_flow {
	struct hpcc_params params;
	uint32_t flows; /* N in force; 0: the scenario's */
	uint32_t feedbacks;
	uint64_t window_at, lost; /* position at which the window began whose losses are counted, and those, in bytes */
	uint8_t told;		  /* 1: its handshake was answered */
	uint8_t own_port;	  /* certainty that the receiver's port is the bottleneck */
	/* receiver */
	uint32_t mark, counted; /* epoch in which it was counted, and N by then */
	uint64_t count_ns;	/* when it is counted next */
};

struct sim_flow {
	uint32_t from, to;	    /* hosts */
	uint32_t group;		    /* index of its workload entry */
	uint64_t size;		    /* bytes of payload; 0: endless */
	uint64_t start_ns;	    /* NEVER_NS: a trigger will start it */
	uint64_t done_ns, acked_ns; /* when the last byte arrived, and when its ACK did; 0: not yet */
	uint32_t fires;		    /* trigger that its end fires; 0: none */
	uint32_t next;		    /* flow that starts by the same trigger, or NONE */
	uint8_t class;
	uint8_t in_turn; /* 1: it is in its host's list of flows that may send */
	uint8_t probed;	 /* selective repeat: the timer wants the last packet sent again, or that was done */
	uint8_t opening; /* 1: its handshake is not answered */
	uint8_t lost;	 /* NACK was heard: retransmission continues from snd_nxt */
	/* sender */
	uint64_t snd_una, snd_nxt, snd_max; /* positions of payload */
	/* Selective repeat: the range to retransmit (equal: none), how far that has been done, and what the receiver holds. */
	uint64_t hole, hole_end, resent, sacked;
	uint64_t left_ns;      /* departure of the last packet */
	uint64_t departure_ns; /* departure of the next packet */
	uint64_t late_ns;      /* lateness of the next packet */
	uint64_t paced_ns;     /* when the sent bytes have had their time at the flow's rate */
	uint32_t in_burst;     /* packets sent of the current burst */
	struct companion_state companion;
	struct base_rtt_least least; /* its smallest round trips */
	uint64_t rto_ns;	     /* due time of the timer; 0: it is off */
	uint64_t window;	     /* bytes on the wire; 0: none */
	uint64_t rate_bps;	     /* 0: the port's */
	uint64_t limit_bps;	     /* limit of the workload; 0: none */
	struct hpcc_state cc;
	struct ceiling ceiling;
	uint64_t fb_rx_ns;
	uint64_t hop_bps, hop_told_bps; /* rate of its first hop, and the rate on its way to it; 0: none */
	uint64_t voq_left_ns;
	uint32_t voq_mark;
	union {
		struct dcqcn dcqcn;
		struct timely timely;
		struct tcp tcp;
		struct rx_state rx; /* Rx-HPCC, at the receiver */
		struct sluice_flow sluice;
	};
	/* receiver */
	uint64_t rcv_nxt;
	uint64_t cnp_ns, nack_ns;
	uint32_t unacked;   /* packets */
	uint32_t waiting;   /* the last of them, if unacked > 0 */
	uint64_t ack_ns;    /* latest time of its ACK; 0: the timer is off */
	struct range *held; /* out-of-order ranges, sorted */
	uint32_t held_count;
};

/* The behaviour of all hosts. */
struct host_rules {
	uint32_t payload;     /* bytes of a full packet */
	uint32_t header;      /* header bytes of a packet on the wire */
	uint32_t ack;	      /* bytes of an ACK */
	uint32_t ack_every;   /* packets per ACK */
	uint64_t ack_late_ns; /* how long an ACK waits for another packet */
	uint32_t
		burst; /* packets that leave back to back, as the stack makes them from one large packet; 0: as Linux does */
	uint32_t stamps;  /* packets of a burst, from the first on, that carry telemetry */
	uint32_t slack;	  /* packets beyond the window, as TCP needs one for delayed ACKs */
	uint64_t late_ns; /* departures are late by up to this: a timer's slack */
	uint64_t rto_ns;
	int handshake; /* a flow begins with one */
	int selective; /* out-of-order data is kept */
	int windows;   /* 0: flows are held by rates only */
};
extern struct host_rules host_rules;

/* Starts flows when as many others have been acknowledged to their end as it waits for. */
struct trigger {
	uint32_t left;	/* of those; 0: it has fired */
	uint32_t first; /* flow that it starts, or NONE */
};

struct traffic {
	struct sim_flow *list;
	uint32_t count, endless;
	uint32_t done, acked;	  /* flows whose last byte has arrived, and those whose sender knows it */
	struct trigger *triggers; /* numbered from 1 on: 0 is none */
	uint32_t triggers_count;
	uint64_t sent_again;		 /* retransmitted packets */
	uint64_t companions, sent_bytes; /* companions, and wire bytes of data */
};
extern struct traffic traffic;

/* Adds a flow that begins at start_ns; NEVER_NS: when a trigger starts it. Returns its number. */
uint32_t flow_add(uint32_t from, uint32_t to, uint64_t size, uint64_t start_ns, uint32_t group, uint32_t class);
/* Adds a trigger that waits for so many flows. Returns its number. */
uint32_t trigger_add(uint32_t waits);
/* The trigger will start the flow. */
void trigger_starts(uint32_t trigger, uint32_t flow);
/* Called when snd_una has advanced: whether that was the end of the flow. */
void flow_acknowledged(struct sim_flow *f);
/* Wire bytes of the first `payload` bytes of a flow. */
uint64_t flow_wire_bytes(uint64_t payload);
/* The least time from a flow's start to the arrival of its last byte: alone, at the speed of the path. */
uint64_t flow_ideal_ns(const struct sim_flow *f);
/* Bytes on the wire that are under way: neither acknowledged, nor kept by the receiver, nor known to be lost. */
uint64_t flow_inflight(const struct sim_flow *f);
#endif

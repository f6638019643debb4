/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_FLOW_H
#define SLUICE_SIM_FLOW_H
/*
 * Flows, and the hosts at their ends.
 *
 *  1. A flow sends while less than its window is on its way, each packet at its departure: a packet's time at its rate
 *     after the one before. Flows of a host take turns.
 *  2. The receiver acknowledges each packet, or every few; the ACK brings telemetry and mark back. What comes out of order
 *     is kept (selective repeat) or thrown away (go-back-N), and a NACK says from where on.
 *  3. A scheme (scheme.h) turns what an ACK brings into window and rate.
 */
#include <stdint.h>
#include "sluice/cc/base_rtt.h"
#include "sluice/cc/companion.h"
#include "sluice/cc/rx.h"
#include "sim/net.h"

struct dcqcn {
	double rate, target, alpha;  /* bit/s */
	uint64_t counted;	     /* bytes since the last increase by bytes */
	uint64_t alpha_ns, timer_ns; /* when each of its timers is due; 0: never */
	uint32_t by_time, by_bytes;
	uint8_t marked; /* since alpha was updated last */
};

struct timely {
	double rate, rtt_ns, diff_ns; /* bit/s; the last sample, and the smoothed difference */
	uint64_t since;		      /* position sent when the rate was updated last */
	uint32_t fast;		      /* completions without a positive gradient */
};

/* DCTCP and CUBIC: windows in bytes. */
struct tcp {
	double window, threshold, alpha;
	double most, back, friendly;   /* CUBIC: W_max, K in seconds, W_est */
	uint64_t acked, marked, round; /* of this round, and where it ends */
	uint64_t recover;	       /* no second decrease before this is acknowledged */
	uint64_t epoch_ns;	       /* CUBIC: when the increase began; 0: it has not */
};

struct range {
	uint64_t from, to;
};

struct sim_flow {
	uint32_t from, to;	    /* hosts */
	uint32_t group;		    /* entry of the workload */
	uint64_t size;		    /* bytes of payload; 0: endless */
	uint64_t start_ns, done_ns; /* done_ns 0: it goes on */
	uint8_t class;
	uint8_t in_turn; /* is in its host's list of flows that may send */
	uint8_t lost;	 /* NACK was heard: what is sent again is sent from snd_nxt on */
	/* sender */
	uint64_t snd_una, snd_nxt, snd_max; /* positions of payload */
	uint64_t hole, hole_end;	    /* selective repeat: what is to be sent again; equal: nothing */
	uint64_t left_ns;		    /* when the last packet was to leave */
	uint64_t departure_ns;		    /* of the next packet, */
	uint64_t late_ns;		    /* of which it is late by that */
	uint64_t paced_ns;		    /* when all that was sent has had its time at the flow's rate */
	uint32_t in_burst;		    /* packets of the current burst that were sent */
	struct companion_state companion;
	struct base_rtt_least least; /* its smallest round trips */
	uint64_t rto_ns;	     /* when the timer is due; 0: it is off */
	uint64_t window;	     /* bytes on the wire; 0: none */
	uint64_t rate_bps;	     /* 0: the port's */
	uint64_t limit_bps;	     /* of the workload; 0: none */
	struct hpcc_state cc;
	uint64_t fb_rx_ns;
	uint64_t hop_bps, hop_told_bps; /* the rate of its first hop, and the one that is on its way; 0: none */
	uint64_t voq_left_ns;
	uint32_t voq_mark;
	union {
		struct dcqcn dcqcn;
		struct timely timely;
		struct tcp tcp;
		struct rx_state rx; /* Rx-HPCC, at the receiver */
	};
	/* receiver */
	uint64_t rcv_nxt;
	uint64_t cnp_ns, nack_ns;
	uint32_t unacked;   /* packets */
	uint32_t waiting;   /* the last of them, with unacked > 0 */
	uint64_t ack_ns;    /* when it is acknowledged at the latest; 0: the timer is off */
	struct range *held; /* out of order, sorted */
	uint32_t held_count;
};

/* What hosts do, the same for all. */
struct host_rules {
	uint32_t payload;     /* bytes of a full packet */
	uint32_t header;      /* bytes in front of it on the wire */
	uint32_t ack;	      /* bytes of an ACK */
	uint32_t ack_every;   /* packets */
	uint64_t ack_late_ns; /* an ACK waits for so long for another packet */
	uint32_t burst;	      /* packets that leave in a row, as the stack makes them of one large packet */
	uint32_t stamps;      /* packets of a burst, from its first on, that carry telemetry */
	uint32_t slack;	      /* packets on top of the window, as TCP needs one for delayed ACKs */
	uint64_t late_ns;     /* departures are late by up to that: a timer's slack */
	uint64_t rto_ns;
	int selective; /* what comes out of order is kept */
	int windows;   /* 0: only rates hold a flow back */
};
extern struct host_rules host_rules;

struct traffic {
	struct sim_flow *list;
	uint32_t count, done, endless;
	uint64_t sent_again;		 /* packets */
	uint64_t companions, sent_bytes; /* of data on the wire */
};
extern struct traffic traffic;

void hosts_begin(void);
void hosts_end(void);
/* A flow that begins at that time. Returns its number. */
uint32_t flow_add(uint32_t from, uint32_t to, uint64_t size, uint64_t start_ns, uint32_t group, uint32_t class);
/* Bytes on the wire of the first bytes of a flow. */
uint64_t flow_wire_bytes(uint64_t payload);
/* The least time from a flow's start to the arrival of its last byte: alone, at the speed of the path. */
uint64_t flow_ideal_ns(const struct sim_flow *f);
uint64_t flow_inflight(const struct sim_flow *f);
/* The rate of a flow has changed, and so has the departure of its next packet. */
void flow_rate_changed(uint32_t flow);

/* A packet of data arrives at its host. */
void receiver_take(uint32_t host, uint32_t packet);
/* What a host sends before all data: ACKs and the like. */
void host_control(uint32_t host, uint32_t packet);

void receiver_on_ack(uint32_t flow); /* EVENT_ACK */
void host_on_flow(uint32_t flow);    /* EVENT_FLOW */
void host_on_timer(uint32_t flow);   /* EVENT_TIMER */
void host_on_wake(uint32_t host);    /* EVENT_HOST */

#endif

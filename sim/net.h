/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_NET_H
#define SLUICE_SIM_NET_H
/*
 * The network: hosts and switches, joined by links of two ports each.
 *
 *	host --port--wire--> switch: ingress counter, shared buffer, queue of the egress port --wire--> ...
 *
 *  1. A packet is one entry of a pool, which queues and wires hand on. A receiver turns it round as its ACK. Packets
 *     have classes: 0 for ACKs, CNPs and other control, which go first and are never paused or dropped, then the data
 *     classes by deficit round robin.
 *  2. A port sends at its speed, exactly: the remainder below a nanosecond is kept. It asks the queue, or the host, for
 *     the next packet when the previous one has left.
 *  3. A switch routes by destination, over equal paths by a hash of the flow; has one buffer that ports share by dynamic
 *     thresholds; marks ECN by the queue (RED); sends PFC by ingress counters (pfc.h) or before that by prediction
 *     (ppfc.h); and stamps telemetry (telemetry.h) when the packet leaves the queue or, as ours do, when it enters it.
 */
#include <stdint.h>
#include "sim/engine.h"
#include "sluice/cc/hpcc.h"
#include "sluice/pause/pfc.h"
#include "sluice/wire/telemetry.h"

#define CLASSES 3 /* 0: control */
#define PATHS_MAX 64

enum packet_kind {
	PACKET_DATA,
	PACKET_ACK,
	PACKET_NACK,	  /* seq is expected, and a later packet came */
	PACKET_CNP,	  /* for DCQCN */
	PACKET_COMPANION, /* carries telemetry instead of the data */
	PACKET_ECHO,	  /* a companion on its way back */
	PACKET_WINDOW,	  /* for Rx-HPCC: seq is W in bytes */
};

struct sim_packet {
	uint32_t next; /* next in its queue, on its wire, or in the free list */
	uint32_t flow;
	uint32_t bytes;		     /* wire bytes, without preamble and gap */
	uint32_t ingress;	     /* ingress port of its current switch */
	uint32_t to;		     /* host */
	uint64_t seq;		     /* DATA: first byte of the payload; ACK, NACK: next expected byte */
	uint64_t told;		     /* ACK: position after the packet that it answers */
	uint64_t sent_ns;	     /* when it left its host */
	uint64_t rx_ns;		     /* ACK: arrival of the packet that it answers */
	uint64_t due_ns;	     /* on a wire: its arrival */
	uint64_t hop[HPCC_MAX_HOPS]; /* telem_pack() */
	uint32_t payload;
	uint32_t flows;		       /* N, as its receiver counts it */
	uint32_t held;		       /* NACK: bytes that the receiver holds out of order */
	uint64_t held_from;	       /* NACK: the first of them, the end of the first hole */
	uint32_t voq_total, voq_flows; /* S and F */
	uint32_t credit_total;	       /* total granted to its VOQ */
	uint16_t credit_at;	       /* time of that grant */
	uint16_t path_id;
	uint8_t hops, kind, class, ce;
	uint8_t carries;	    /* telemetry: switches stamp it */
	uint8_t credit, credit_due; /* whether it carries credit, and whether more is due */
};

struct sim_queue {
	uint32_t first, last;
	uint32_t bytes;
	uint32_t weight, deficit;
};

struct sim_port {
	uint32_t node, peer; /* peer: the port at the other end */
	uint64_t bps, delay_ns;
	uint64_t free_ps; /* when the last packet will have left */
	uint32_t sending; /* current packet, or NONE */
	uint32_t wire_first, wire_last;
	uint32_t turn;	/* data class whose turn it is */
	uint32_t bytes; /* bytes in all queues */
	uint32_t peak_bytes;
	struct sim_queue queue[CLASSES];
	uint64_t tx_bytes;
	struct telem_speed speed; /* speed in its telemetry */
	uint16_t id;		  /* for the pathID */
	uint8_t waking;		  /* EVENT_FREE is due */
	/* Pauses: of this port by its neighbour, and of the neighbour by the switch of this port */
	struct pfc_obey obey[CLASSES];
	struct pfc_obey_params obey_params;
	struct pfc_told told[CLASSES];
	uint32_t paused_for[CLASSES]; /* egress port whose queue last caused a predicted pause of it */
	struct pfc_params pfc;
	uint32_t headroom;	      /* bytes for each data class that comes in by this port */
	uint32_t in_bytes[CLASSES];   /* bytes in the buffer that came in by this port */
	uint32_t over_bytes[CLASSES]; /* bytes of in_bytes that are in headroom */
	uint32_t over_peak;	      /* most bytes of one class in headroom */
	uint64_t paused_ns[CLASSES];  /* total pause times */
	uint32_t xoffs, predicted, xons;
};

struct sim_node {
	uint32_t ports_first, ports; /* in the list of ports */
	uint32_t is_host;	     /* 1: its port is ports_first */
	uint32_t number;	     /* among hosts, or switches */
	/* of a switch */
	uint64_t buffer_bytes;		 /* shared, without headroom */
	uint64_t used_bytes, peak_bytes; /* of the shared buffer */
	uint64_t dropped;
	struct route *routes; /* by host */
};

/* The ports of a switch that lead to a host by a shortest path. */
struct route {
	uint32_t first; /* index in net.paths */
	uint32_t count;
};

struct sim_net {
	struct sim_node *nodes;
	struct sim_port *ports;
	struct sim_packet *packets;
	uint32_t nodes_count, ports_count, hosts_count, packets_count, packets_free;
	uint32_t *hosts; /* node of each host */
	uint32_t *paths, paths_count;
	uint64_t dropped, marked;
};
extern struct sim_net net;

/* The functions of nodes that the network calls. Nodes include net.h, and the network none of them: main fills this in. */
struct net_ends {
	/* The host's next packet for its port, or NONE; then it wakes its port when there is one. */
	uint32_t (*host_next)(uint32_t host);
	void (*host_receive)(uint32_t host, uint32_t packet);
	/* A packet arrives at a switch by one of its ports. */
	void (*switch_receive)(uint32_t node, uint32_t ingress, uint32_t packet);
	/* A packet leaves the buffer of the switch. */
	void (*switch_sent)(uint32_t port, struct sim_packet *p);
};
extern struct net_ends net_ends;

/* The behaviour of all switches. */
struct switch_rules {
	int stamp_enqueue; /* telemetry shows the moment when a packet enters the queue */
	int stamp_none;
	int rx_rate; /* telemetry counts the bytes that came in for the port, not those that left (HPCC, section 3.4) */
	int ecn;
	int pfc, predict;
	int arrival;		   /* pauses are decided when a packet enters the buffer, not only in rounds */
	double alpha;		   /* of dynamic thresholds, for queues and PFC */
	uint64_t ecn_min, ecn_max; /* bytes, for a port of 25 Gbit/s; others in proportion */
	double ecn_most;	   /* chance of a mark at ecn_max */
	uint64_t round_ns;	   /* time between two rounds of pauses; 0: with each packet that leaves */
	uint64_t round_late_ns;	   /* most that a round is late */
	uint64_t round_cost_ns;	   /* cost of each pause of a round, which later ones wait for */
	uint32_t frame;		   /* largest frame, bytes */
};
extern struct switch_rules rules;

/* --- building --- */

uint32_t net_node(int is_host, uint64_t buffer_bytes);
/* Joins two nodes; both ports have that speed. */
void net_join(uint32_t a, uint32_t b, uint64_t bps, uint64_t delay_ns);
/* Makes the ports, consecutive for each node, and finds all shortest paths. 0, or -1 if a host cannot be reached. */
int net_build(void);
void net_free(void);
/* The port of a switch that a packet of the flow takes to a host. */
uint32_t net_port_to(uint32_t node, uint32_t host, uint32_t flow);

/* --- packets --- */

uint32_t packet_new(void);
void packet_free(uint32_t p);

/* --- running --- */

/* Time in ns, rounded up, of bytes at a port. */
uint64_t port_time_ns(const struct sim_port *p, uint64_t bytes);
/* Sends a waiting packet, if there is one. */
void port_kick(uint32_t port);
void net_on_wire(uint32_t port); /* EVENT_WIRE */
void net_on_free(uint32_t port); /* EVENT_FREE */
int port_is_paused(const struct sim_port *p, uint32_t class);
#endif

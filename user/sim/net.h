/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_NET_H
#define SLUICE_SIM_NET_H
/*
 * The network: hosts and switches, joined by links of two ports each.
 *
 *	host --port--wire--> switch: ingress counter, shared buffer, queue of the egress port --wire--> ...
 *
 *  1. A packet is one entry of a pool, which the queues and wires that it passes hand on. A receiver turns it round as
 *     its ACK. Packets of classes: 0 for ACKs, CNPs and other control, which go first and are never paused or dropped,
 *     then those of data by deficit round robin.
 *  2. A port sends at its speed, exactly: the remainder below a nanosecond is kept. It asks the queue, or the host, for the
 *     next packet when the last one has left.
 *  3. A switch routes by destination, over equal paths by a hash of the flow; has one buffer that ports share by dynamic
 *     thresholds; marks ECN by the queue (RED); sends PFC by ingress counters (pfc.h) or before that by prediction
 *     (ppfc.h); and stamps telemetry (telemetry.h) where the packet leaves the queue, or where it enters it, as ours do.
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
	PACKET_NACK,	  /* seq is expected, and something later came */
	PACKET_CNP,	  /* of DCQCN */
	PACKET_COMPANION, /* carries telemetry beside the data */
	PACKET_ECHO,	  /* a companion on its way back */
	PACKET_WINDOW,	  /* of Rx-HPCC: seq is W in bytes */
};

struct sim_packet {
	uint32_t next; /* in its queue, on its wire, or of the free ones */
	uint32_t flow;
	uint32_t bytes;	  /* on the wire, without preamble and gap */
	uint32_t ingress; /* port of the switch that it is in */
	uint32_t to;	  /* host */
	uint64_t seq;	  /* DATA: of the first byte of the payload; ACK, NACK: of the next byte that is expected */
	uint64_t told;	  /* ACK: the position behind the packet that it answers */
	uint64_t sent_ns; /* when it left its host */
	uint64_t rx_ns;	  /* ACK: when the packet that it answers arrived */
	uint64_t due_ns;  /* on a wire: when it arrives */
	uint64_t hop[HPCC_MAX_HOPS]; /* telem_pack() */
	uint32_t payload;
	uint32_t voq_total, voq_flows; /* S and F */
	uint32_t credit_total;	       /* what its VOQ was granted, */
	uint16_t credit_at;	       /* and when */
	uint16_t path_id;
	uint8_t hops, kind, class, ce;
	uint8_t carries;	    /* telemetry: switches stamp it */
	uint8_t credit, credit_due; /* whether it has that; more is due */
};

struct sim_queue {
	uint32_t first, last;
	uint32_t bytes;
	uint32_t weight, deficit;
};

struct sim_port {
	uint32_t node, peer; /* peer: the port at the other end */
	uint64_t bps, delay_ns;
	uint64_t free_ps; /* when the last packet has left */
	uint32_t sending; /* packet, or NONE */
	uint32_t wire_first, wire_last;
	uint32_t turn;	/* class of data whose turn it is */
	uint32_t bytes; /* in all queues */
	uint32_t peak_bytes;
	struct sim_queue queue[CLASSES];
	uint64_t tx_bytes;
	struct telem_speed speed; /* as telemetry has it */
	uint16_t id;		  /* for the pathID */
	uint8_t waking;		  /* EVENT_FREE is due */
	/* Pauses: of this port by its neighbour, and of the neighbour by the switch that this port belongs to */
	struct pfc_obey obey[CLASSES];
	struct pfc_obey_params obey_params;
	struct pfc_told told[CLASSES];
	uint32_t paused_for[CLASSES]; /* port of the switch for whose queue it was paused by prediction last */
	struct pfc_params pfc;
	uint32_t headroom;	      /* bytes for each class of data that comes in by this port */
	uint32_t in_bytes[CLASSES];   /* what came in by this port and is in the buffer, */
	uint32_t over_bytes[CLASSES]; /* and of that, what is in headroom */
	uint32_t over_peak;	      /* most that one class had in headroom */
	uint64_t paused_ns[CLASSES];  /* in all */
	uint32_t xoffs, predicted, xons;
};

struct sim_node {
	uint32_t ports_first, ports; /* of the list of ports */
	uint32_t is_host;	     /* then its port is ports_first */
	uint32_t number;	     /* among hosts, or switches */
	/* of a switch */
	uint64_t buffer_bytes;		 /* shared, without headroom */
	uint64_t used_bytes, peak_bytes; /* of the shared part */
	uint64_t dropped;
	struct route *routes; /* by host */
};

/* The ports of a switch that lead to a host by a shortest path. */
struct route {
	uint32_t first; /* of net.paths */
	uint32_t count;
};

struct sim_net {
	struct sim_node *nodes;
	struct sim_port *ports;
	struct sim_packet *packets;
	uint32_t nodes_count, ports_count, hosts_count, packets_count, packets_free;
	uint32_t *hosts; /* node of each */
	uint32_t *paths, paths_count;
	uint64_t dropped, marked;
};
extern struct sim_net net;

/* What switches do, the same for all. */
struct switch_rules {
	int stamp_enqueue; /* telemetry of the moment at which a packet enters the queue */
	int rx_rate;	   /* it tells the bytes that came in for the port, not those that left (000, section 3.4) */
	int ecn;
	int pfc, predict;
	int arrival;		   /* pauses are decided where a packet enters the buffer, not by looks alone */
	double alpha;		   /* of dynamic thresholds, of queues and of PFC */
	uint64_t ecn_min, ecn_max; /* bytes, for a port of 25 Gbit/s; others in proportion */
	double ecn_most;	   /* chance of a mark at ecn_max */
	uint64_t round_ns;	   /* between two looks at the queues for pauses; 0: with each packet that leaves, */
	uint64_t round_late_ns;	   /* and by how much a look is late at most */
	uint64_t round_cost_ns;	   /* of each pause of a round, which later ones wait for */
	uint32_t frame;		   /* largest, bytes */
};
extern struct switch_rules rules;

/* --- building --- */

uint32_t net_node(int is_host, uint64_t buffer_bytes);
/* Joins two nodes; both ports have that speed. */
void net_join(uint32_t a, uint32_t b, uint64_t bps, uint64_t delay_ns);
/* Makes the ports, side by side for each node, and finds all shortest paths. Returns 0, or -1 where a host cannot be reached. */
int net_build(void);
void net_free(void);
/* The port of a switch that a packet of the flow takes to a host. */
uint32_t net_port_to(uint32_t node, uint32_t host, uint32_t flow);

/* --- packets --- */

uint32_t packet_new(void);
void packet_free(uint32_t p);

/* --- running --- */

/* Nanoseconds, rounded up, that bytes take at a port. */
uint64_t port_time_ns(const struct sim_port *p, uint64_t bytes);
/* Looks for something to send. */
void port_kick(uint32_t port);
void net_on_wire(uint32_t port); /* EVENT_WIRE */
void net_on_free(uint32_t port); /* EVENT_FREE */
/* Buffers and pauses by the rules, when all is built. */
void switches_begin(void);
/* A packet comes to a switch by one of its ports. */
void switch_receive(uint32_t node, uint32_t ingress, uint32_t packet);
/* A packet leaves the buffer of the switch. */
void switch_sent(uint32_t port, struct sim_packet *p);
int port_is_paused(const struct sim_port *p, uint32_t class);
void net_on_voq(uint32_t packet);  /* EVENT_VOQ */
void net_on_pause(uint32_t frame); /* EVENT_PAUSE */
void net_on_round(uint32_t node);  /* EVENT_SWITCH */

/* --- of the hosts --- */

/* The next packet that the host has for its port, or NONE; then host_wake() is called when there is one. */
uint32_t host_next(uint32_t host);
void host_receive(uint32_t host, uint32_t packet);

#endif

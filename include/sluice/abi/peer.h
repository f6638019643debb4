/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_PEER_H
#define SLUICE_ABI_PEER_H
/* Hosts, the configured prefixes that contain them, and keys. */
#include "sluice/abi/addr.h"
#include "sluice/cc/rx.h"
#include "sluice/cc/vai.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"
#include "sluice/wire/siphash.h"

/* State of a remote address. All writers are racy and idempotent. */
struct host {
	__u64 heard_ns;	     /* ingress: last Sluice message from it */
	__u64 unanswered_ns; /* egress: oldest data since then; 0: none */
	__u64 asked_ns;	     /* egress: last PROBE to it */
	__u32 capable;	     /* it strips telemetry */
	__u32 epoch;	     /* epoch in which it was found in a peer's prefix */
	__u64 rx_seq;	     /* ingress, compare-and-swap: newest sequence of an authenticated message from it */
	__u64 answers_ns;    /* ingress, compare-and-swap: the bucket of answers to its PROBEs (bucket.h) */
	__u64 rate_bps;	     /* ingress: R of the flow to it that last had feedback */
	__u64 rate_ns;	     /* when rate_bps was stored; 0: no flow has had feedback */
	__u64 bound_ns;	     /* ingress: when a flow to it was last cut for what no hop reports (ceiling.h); 0: never */
	/* Sequences that are too old, in units of 2^WIRE_HELD_SHIFT ns; a time of 0: never. */
	__u32 old_at;  /* ingress: time of its last PROBE that was older than rx_seq allows */
	__u32 old_by;  /* ingress: by how much */
	__u32 held_at; /* ingress: when it last said that it holds a newer sequence of ours */
	__u32 held_by; /* ingress: how much newer than our PROBE's */
};

/* The keys: the first signs, each is accepted. The daemon only writes a slot that is not in use (control). */
struct auth_keys {
	struct siphash_key key[2];
	__u32 n;
	__u32 pad;
};

#define AUTH_SLOTS 2

struct peer_key {
	__u32 prefixlen; /* 0..128; IPv4 prefixes plus 96 */
	struct sluice_addr addr;
};

/* How packets to a peer ask for telemetry. Received packets may use either encoding. */
enum sluice_encoding {
	ENCODING_HPCC,
	ENCODING_INT_MD,
};

/* Packets that collect telemetry on the way to a peer. Maps of older versions may hold the numbers in between. */
enum telemetry_mode {
	TELEMETRY_EVERY,	 /* all packets with payload */
	TELEMETRY_COMPANION = 4, /* companions; packets leave as the stack made them (companion.h) */
	TELEMETRY_MODES,	 /* others behave as TELEMETRY_EVERY */
};

/* Parameters of a destination prefix, from the configuration. */
struct peer {
	__u64 t_ns;	   /* base RTT in force */
	__u64 measured_ns; /* base RTT as measured; 0: not yet */
	__u32 t_auto;	   /* 1: t_ns follows measured_ns or, while that is 0, the port (base_rtt.h) */
	__u32 t_changes;   /* how often the measured T has changed */
	q24_t eta;
	q12_t w_ai;	   /* 0: w_init * (1 - eta) / flows */
	__u32 flows;	   /* N: flows that are expected to share a port */
	__u32 flows_fixed; /* 1: the receiver's count is ignored, or w_ai is set */
	__u32 feedback;	   /* enum rx_feedback: how arrivals from the peer are reported to it */
	__u32 max_stage;
	__u16 variant;	 /* enum hpcc_variant */
	__u16 stages;	 /* enum hpcc_stages */
	__u32 delay;	 /* 1: delays and losses that no hop reports bound W */
	__u32 encoding;	 /* enum sluice_encoding */
	__u32 telemetry; /* enum telemetry_mode */
	__u32 hpcc_off;	 /* 1: W and R are not HPCC's */
	__u32 hiercc;	 /* enum voqs_where: the VOQs of packets to it */
	__u64 voq_bps;	 /* speed of its hosts' ports; 0: that of the port by which the VOQ leaves */
	__u64 voq_c0;	 /* bytes; 0: the default of hiercc_params_init(), as with all members below */
	__u64 voq_limit_ns;
	__u64 voq_period_ns; /* time between two grants there, not 0 */
	__u32 prefixlen;     /* key prefix length of the VOQ of the whole prefix; 0: there is none */
	__u32 leaving; /* 1: no longer a peer: it is sent nothing of ours, and arriving headers are still stripped */
	struct vai_tuning vai;
	struct hiercc_tuning voq;
};

_Static_assert(sizeof(struct peer) == 160, "peer");

#endif

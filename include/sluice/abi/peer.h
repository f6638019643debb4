/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_PEER_H
#define SLUICE_ABI_PEER_H
/* Hosts, the prefixes of the configuration that they lie in, and keys. */
#include "sluice/abi/addr.h"
#include "sluice/cc/rx.h"
#include "sluice/cc/sparse.h"
#include "sluice/cc/vai.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"
#include "sluice/wire/siphash.h"

/* What is known about a remote address. All writers are racy and idempotent. */
struct host {
	__u64 heard_ns;	     /* ingress: last Sluice message from it */
	__u64 unanswered_ns; /* egress: oldest data since then; 0: none */
	__u64 asked_ns;	     /* egress: last question */
	__u32 capable;	     /* it strips telemetry */
	__u32 epoch;	     /* in which it was seen to lie in a peer's prefix */
	__u64 rx_seq;	     /* ingress, compare-and-swap: newest sequence of an authenticated message from it */
	__u64 answers_ns;    /* ingress, compare-and-swap: the bucket of answers to its PROBEs (bucket.h) */
	q12_t w;	     /* ingress: W of the flow to it that had feedback last, */
	__u64 w_ns;	     /*   and when; 0: none has had */
};

/* The keys: the first signs, each is believed. The daemon writes a slot that is not in use (control). */
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

/* How packets to a peer ask for telemetry. What comes is read in either. */
enum sluice_encoding {
	ENCODING_HPCC,
	ENCODING_INT_MD,
};

/* Parameters of a destination prefix, from the configuration. */
struct peer {
	__u64 t_ns;	   /* base RTT in force */
	__u64 measured_ns; /* the same as it was measured; 0: not yet */
	__u32 t_auto;	   /* 1: the one is the other, or, while that is 0, what the port says (base_rtt.h) */
	__u32 t_changes;   /* so often it was measured to be another one */
	q24_t eta;
	q12_t w_ai;	   /* 0: w_init * (1 - eta) / flows */
	__u32 flows;	   /* N: flows that are expected to share a port; */
	__u32 flows_fixed; /*   1: whatever the receiver counts, or w_ai is set */
	__u32 feedback;	   /* enum rx_feedback: what it is told of what arrives from there */
	__u32 max_stage;
	__u32 variant;	 /* enum hpcc_variant */
	__u32 fallback;	 /* 1: by delay where nothing is stamped */
	__u32 target_ns; /* of that delay; 0: by t_ns */
	__u32 encoding;	 /* enum sluice_encoding */
	__u32 telemetry; /* enum telemetry_mode */
	__u32 hpcc_off;	 /* 1: W and R are not HPCC's */
	__u32 hiercc;	 /* enum voqs_where: packets to it go by VOQs */
	__u64 voq_bps;	 /* speed of its hosts' ports; 0: as fast as the port by which the VOQ leaves */
	__u64 voq_c0;	 /* bytes; 0: the default of hiercc_params_init(), as with all that follow */
	__u64 voq_limit_ns;
	__u64 voq_period_ns; /* between two grants there, not 0 */
	__u32 prefixlen;     /* as in its key, for the VOQ of all of it; 0: there is none */
	__u32 leaving;	     /* 1: no peer any more: it is sent nothing of ours, and what it still sends is stripped */
	struct vai_tuning vai;
	struct hiercc_tuning voq;
};

_Static_assert(sizeof(struct peer) == 168, "peer");

#endif

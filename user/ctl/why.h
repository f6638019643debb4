/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_WHY_H
#define SLUICE_WHY_H
/* Observations of a flow by `sluicectl why`, the verdict on it, and the sentences for that. */
#include <stdbool.h>
#include "ctl/pods.h"
#include "lib/queues.h"

enum why_verdict {
	WHY_CLOSED,
	WHY_BYPASS,
	WHY_PLAIN,
	WHY_IDLE,
	WHY_OBSERVE, /* observe, dry-run: nothing is held */
	WHY_START,   /* no feedback yet */
	WHY_CREDIT,
	WHY_PAUSE,
	WHY_HOP,
	WHY_RATE,
	WHY_WINDOW,
	WHY_UNHELD, /* it sends more than it may */
	WHY_NOTHING,
};

struct why {
	struct flow_key key;
	struct flow flow;      /* its entry at the end */
	const struct pod *pod; /* NULL: it is no pod's, or has no name */
	struct control ctl;
	__u64 now_ns, took_ns;
	unsigned int looks, held[FLOW_HOLDS], full; /* full: looks with as much as W under way */
	__u64 sent_bps, rate_bps, under_way;	    /* R, and bytes without feedback: the mean of all looks */
	__u64 feedbacks_per_s;
	__u64 hop_bytes[HPCC_MAX_HOPS], hop_ns[HPCC_MAX_HOPS], hop_queue_ns[HPCC_MAX_HOPS]; /* the longest */
	unsigned int hop_queued[HPCC_MAX_HOPS]; /* looks in which packets waited there */
	bool own; /* the first hop is the port of this machine, and its speed and bytes are the real ones */
	char port[16];
	__u32 port_flags;
	__u64 heard_ns;		 /* when its peer was last heard from; 0: never */
	bool peer_strips;	 /* its peer is known to strip telemetry */
	__u64 held_by_ns;	 /* the sequence that its peer holds of this host is newer by that much; 0: it is not */
	struct peer peer;	 /* its prefix; t_ns 0: there is none */
	__u64 short_ns;		 /* since when its VOQ lacks credit; 0: it does not, or has no VOQ of its own */
	struct queue_seen queue; /* the qdiscs `sluice` of its interface: their sum */
	__u64 netns_cookie;	 /* of its interface */
	unsigned int queues;	 /* the number of them; 0: it has none, or they cannot be read */
	__u64 queue_drops;	 /* packets that they dropped during the looks, of whichever flow */
	enum why_verdict verdict;
	char answer[512], because[512], decision[512], next[512], window[512], base_rtt[512], queue_line[512];
};

/* A sentence for a verdict. */
struct why_line {
	enum why_verdict verdict;
	int (*when)(const struct why *w); /* NULL: always */
	const char *text;
};

/* Reads the qdiscs `sluice` of its interface; the second time, also what they dropped since the first. */
void why_queues(struct why *w);
/* Their sentence, in w. */
void queue_sentence(struct why *w);

/* The sentences of the verdict, in w. */
void why_sentences(struct why *w);
int why_print(const struct why *w);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_GRANT_H
#define SLUICE_HIERCC_GRANT_H
/* HierCC (hiercc.h) at the receiver ToR: claims of VOQs, and the credit that their port grants. */
#include "sluice/once.h"
#include "sluice/rack/hiercc_params.h"

#define HIERCC_NONE 0xffffffffU
#define HIERCC_PACKET_MIN 64 /* smallest packet with payload, bytes, approximately */

/* The data plane's notes on a VOQ since the entry was made; starts as zeros. */
struct hiercc_seen {
	__u64 claim; /* S << 32 | F of the packet with the highest S */
	__u64 bytes; /* bytes that arrived in total */
	__u64 packets;
};

/*
 * Takes an arriving packet, which carries S (including itself) and F. An overtaken packet changes nothing; one that is
 * behind by reorder bytes or more comes from a sender that began anew. CPUs share this: a packet that loses the race
 * still counts in bytes, and the next one carries S again.
 *
 * Without bytes it is a companion of data that is not seen: the advance of S is taken for arrivals, in packets of the
 * smallest size. The next companion makes up for one that is lost, late or loses the race. Returns the bytes that were
 * counted.
 */
static inline __u32 hiercc_see(struct hiercc_seen *s, __u32 total, __u32 flows, __u32 bytes, __u32 packets,
			       __u32 reorder)
{
	__u64 new = (__u64)total << 32 | flows;
	int i, beside = packets && !bytes;

	packets = beside ? 0 : packets;
	for (i = 0; i < HIERCC_TRIES; i++) {
		__u64 old = READ_ONCE(s->claim);
		__s64 ahead = (__s32)(total - (__u32)(old >> 32));

		if (READ_ONCE(s->bytes) && ahead < 0 && ahead > -(__s64)reorder)
			break;
		if (__sync_val_compare_and_swap(&s->claim, old, new) != old)
			continue;
		if (beside) {
			bytes = READ_ONCE(s->bytes) && ahead >= 0 ? ahead : HIERCC_PACKET_MIN;
			packets = (bytes + HIERCC_PACKET_MIN - 1) / HIERCC_PACKET_MIN;
		}
		break;
	}
	__sync_fetch_and_add(&s->bytes, bytes);
	__sync_fetch_and_add(&s->packets, packets);
	return bytes;
}

/* A copy that concurrent notes do not change. Bytes are read first: the claim then covers these or later ones. */
static inline struct hiercc_seen hiercc_seen_now(const struct hiercc_seen *s)
{
	struct hiercc_seen seen;

	seen.bytes = READ_ONCE(s->bytes);
	seen.packets = READ_ONCE(s->packets);
	seen.claim = READ_ONCE(s->claim);
	return seen;
}

/* A VOQ as its port keeps it; starts as zeros. Written by one thread. */
struct hiercc_due {
	__u64 sent;		 /* S; 0: nothing is known yet */
	__u64 granted;		 /* Csent: the total told to the sender */
	__u64 bytes, packets;	 /* of hiercc_seen, as far as they were judged */
	__u64 unseen;		 /* bytes of S that did not arrive; 1/8 of those that do are forgiven */
	__u64 epoch_ns;		 /* when this epoch began */
	__u32 in_epoch, in_last; /* packets in this epoch and in the last */
	__u32 flows;		 /* F as believed, 1..RX_FLOWS_MAX */
	__u32 turn;		 /* bytes left of its turn in `round` */
	__u32 next;		 /* next in the port's ring; its own index if it is alone */
	__u32 round;		 /* the last round in which it had a turn; 0: none */
	__u8 listed;		 /* 1: it is in a ring of its port */
	__u8 pad[3];
	__u32 held; /* bytes of S that must arrive before they are granted (hiercc_ring.h) */
};

/* A downstream port. Its two rings hold exactly the VOQs that are due credit. */
struct hiercc_port {
	__u64 rate;   /* speed times eta, bytes/s, < HIERCC_RATE_MAX */
	__u64 budget; /* bytes that may be granted now */
	__u64 rest;   /* of a byte, in 10^-9 */
	__u32 before; /* the VOQ before the next in turn; HIERCC_NONE: the round is over */
	__u32 done;   /* the last VOQ that is done with this round; HIERCC_NONE: there is none */
	__u32 active; /* VOQs in both rings */
	__u32 round;  /* round of both rings, > 0 */
	__u32 delta;  /* one credit, bytes, as in hiercc_params */
};

static inline void hiercc_port_init(struct hiercc_port *port, __u64 rate)
{
	*port = (struct hiercc_port){
		.rate = rate, .before = HIERCC_NONE, .done = HIERCC_NONE, .round = 1, .delta = HIERCC_DELTA_BYTES
	};
}

enum hiercc_claim {
	HIERCC_LEARNED, /* S advanced, or stayed */
	HIERCC_FIRST,	/* a VOQ that was not known, or not since a restart */
	HIERCC_JUMPED,	/* a sender that began anew, or an impossible claim */
	HIERCC_CUT,	/* the claim exceeded the most that a VOQ may be due */
};

/* Claims of a VOQ that were not believed. Written by one judge at a time. */
struct hiercc_claims {
	__u64 jumped;
	__u64 cut;    /* bytes cut in total */
	__u64 unseen; /* bytes of cut beyond those that arrived */
};

/* Counts after hiercc_judge(). */
static inline void hiercc_claims_count(struct hiercc_claims *c, const struct hiercc_due *d,
				       const struct hiercc_params *p, enum hiercc_claim verdict)
{
	c->jumped += verdict == HIERCC_JUMPED;
	c->cut += verdict == HIERCC_CUT;
	c->unseen += verdict == HIERCC_CUT && d->unseen == p->debt_max;
}

/* A ring is identified by its last VOQ, whose next is the first; HIERCC_NONE: it is empty. */
static inline void hiercc_ring_add(__u32 *last, struct hiercc_due *voqs, __u32 i)
{
	if (*last == HIERCC_NONE) {
		voqs[i].next = i;
	} else {
		voqs[i].next = voqs[*last].next;
		voqs[*last].next = i;
	}
	*last = i;
}

/* Removes VOQ i, searching from the first one. Returns true if it was there. */
static inline int hiercc_ring_remove(__u32 *last, struct hiercc_due *voqs, __u32 i)
{
	__u32 before = *last;

	if (before == HIERCC_NONE)
		return 0;
	while (voqs[before].next != i) {
		before = voqs[before].next;
		if (before == *last)
			return 0;
	}
	voqs[before].next = voqs[i].next;
	if (*last == i)
		*last = before == i ? HIERCC_NONE : before;
	return 1;
}

/* Appends to a ring: all others have their turn first. A VOQ that comes back in a round has the rest of its turn. */
static inline void hiercc_enlist(struct hiercc_port *port, struct hiercc_due *voqs, __u32 i)
{
	struct hiercc_due *d = &voqs[i];

	if (d->listed)
		return;
	d->listed = 1;
	hiercc_ring_add(d->round == port->round && !d->turn ? &port->done : &port->before, voqs, i);
	port->active++;
}

/* Removes from its ring. A VOQ that is not the first of this round is searched for in both rings. */
static inline void hiercc_unlist(struct hiercc_port *port, struct hiercc_due *voqs, __u32 i)
{
	struct hiercc_due *d = &voqs[i];

	if (!d->listed)
		return;
	if (!hiercc_ring_remove(&port->before, voqs, i))
		hiercc_ring_remove(&port->done, voqs, i);
	d->listed = 0;
	port->active--;
}

static inline void hiercc_count_packets(struct hiercc_due *d, const struct hiercc_params *p, __u64 now_ns,
					__u64 packets)
{
	if (now_ns - d->epoch_ns >= p->epoch_ns) {
		d->in_last = now_ns - d->epoch_ns < 2 * p->epoch_ns ? d->in_epoch : 0;
		d->in_epoch = 0;
		d->epoch_ns = now_ns;
	}
	packets += d->in_epoch;
	d->in_epoch = packets < RX_FLOWS_MAX ? packets : RX_FLOWS_MAX;
}

/*
 * Takes all sent bytes as granted, except for the last `owed`. Bytes that were claimed before and did not arrive are
 * not forgotten: a jump and a claim of debt_max, in turn, would be granted debt_max each time for two packets of any
 * size.
 */
static inline void hiercc_begin(struct hiercc_due *d, const struct hiercc_params *p, __u32 total, __u64 owed)
{
	d->sent = HIERCC_TOTAL_FIRST + total;
	d->granted = d->sent - (owed < p->debt_max ? owed : p->debt_max);
}

/*
 * Judges the notes on a VOQ since the last call; now_ns by a clock that does not go back. budget: bytes that the port
 * may grant by now, many if its loop was late: its senders continued at their rates meanwhile.
 */
static inline enum hiercc_claim hiercc_judge(struct hiercc_due *d, const struct hiercc_params *p,
					     const struct hiercc_seen *seen, __u64 now_ns, __u64 budget)
{
	__u64 arrived, most, owed, late = budget < p->debt_max ? budget : p->debt_max;
	__u64 debt_max = p->debt_max + late / p->delta * p->delta;
	__u32 total = seen->claim >> 32, flows = seen->claim;
	enum hiercc_claim verdict = HIERCC_LEARNED;
	__s64 ahead;

	/* The data plane's entry was made anew: all of its counts are new. */
	if (seen->bytes < d->bytes || seen->packets < d->packets)
		d->bytes = d->packets = 0;
	arrived = seen->bytes - d->bytes;
	hiercc_count_packets(d, p, now_ns, seen->packets - d->packets);
	d->bytes = seen->bytes;
	d->packets = seen->packets;
	most = d->in_epoch > d->in_last ? d->in_epoch : d->in_last;
	flows = flows < most ? flows : most;
	d->flows = flows > RX_FLOWS_MAX ? RX_FLOWS_MAX : flows ? flows : 1;

	ahead = (__s32)(total - (__u32)d->sent);
	if (!d->sent) {
		if (!arrived)
			return HIERCC_LEARNED;
		owed = total < p->c0 ? total : p->c0; /* everything, if the VOQ has only just begun */
		hiercc_begin(d, p, total, owed > arrived ? owed : arrived);
		verdict = HIERCC_FIRST;
	} else if (ahead < -(__s64)p->debt_max || ahead > (__s64)(arrived + p->debt_max)) {
		hiercc_begin(d, p, total, arrived);
		verdict = HIERCC_JUMPED;
	} else if (ahead > 0) {
		d->sent += ahead;
		d->unseen += ahead;
	}
	if (verdict == HIERCC_LEARNED) {
		__u64 forgiven = arrived + arrived / 8;

		d->unseen -= d->unseen < forgiven ? d->unseen : forgiven;
		/* The excess is less than the advance of S: Csent stays below S plus a credit. */
		if (d->unseen > p->debt_max) {
			d->granted += d->unseen - p->debt_max;
			d->unseen = p->debt_max;
			verdict = HIERCC_CUT;
		}
		if (d->granted + debt_max < d->sent) {
			d->granted = d->sent - debt_max;
			verdict = HIERCC_CUT;
		}
	}
	return verdict;
}

/*
 * The same for VOQ i, which is then in the ring if it is due credit. To be called after hiercc_budget(). voqs: all VOQs
 * of the port.
 */
static inline enum hiercc_claim hiercc_learn(struct hiercc_port *port, struct hiercc_due *voqs, __u32 i,
					     const struct hiercc_params *p, const struct hiercc_seen *seen,
					     __u64 now_ns)
{
	enum hiercc_claim verdict = hiercc_judge(&voqs[i], p, seen, now_ns, port->budget);

	if (voqs[i].granted < voqs[i].sent)
		hiercc_enlist(port, voqs, i);
	return verdict;
}

/*
 * Advances the budget: credit leaves at the port's rate. A loop that was away for longer than HIERCC_NS_MAX grants for
 * that long.
 */
static inline void hiercc_budget(struct hiercc_port *port, __u64 elapsed_ns)
{
	__u64 more;

	if (elapsed_ns >= HIERCC_NS_MAX)
		elapsed_ns = HIERCC_NS_MAX - 1;
	more = port->rate * elapsed_ns + port->rest; /* < 2^37 * 2^26 + 2^30 */
	port->budget += more / NSEC_PER_SEC;
	port->rest = more % NSEC_PER_SEC;
}

/*
 * Grants credit to the next VOQ and returns it, or HIERCC_NONE when the budget or all that is due is used up. To be
 * called until then; afterwards the totals of the returned VOQs are sent and, because a message may get lost, those of
 * all that sent anything in the last epoch. WRR, interleaved: a round is at most F credits for each VOQ, and over when
 * every VOQ that is due any has had them; a call grants one credit, or as many as an eighth of the budget holds: within
 * a round the split of credit that is told at once makes no difference. Each call handles one VOQ of the ring, so only
 * active VOQs cost work. Credit that nobody was due is not saved up, except for one.
 */
static inline __u32 hiercc_grant(struct hiercc_port *port, struct hiercc_due *voqs)
{
	struct hiercc_due *d;
	__u32 i, bytes, due, slice, delta = port->delta;

	if (port->before == HIERCC_NONE) {
		port->before = port->done;
		port->done = HIERCC_NONE;
		port->round++;
		port->round += !port->round;
	}
	if (port->before == HIERCC_NONE && port->budget > delta)
		port->budget = delta;
	if (port->before == HIERCC_NONE || port->budget < delta)
		return HIERCC_NONE;
	i = voqs[port->before].next;
	d = &voqs[i];
	if (d->round != port->round) {
		d->round = port->round;
		d->turn = d->flows * delta; /* < 2^14 * 2^16 */
	}
	/* Whole credits: the bytes due are < 2^28. */
	due = d->sent > d->granted ? d->sent - d->granted : 0;
	due = (due + delta - 1) / delta * delta;
	bytes = due < d->turn ? due : d->turn;
	slice = port->budget / (8 * delta) * delta; /* budget < 2^34 */
	slice = slice ? slice : delta;
	bytes = bytes < slice ? bytes : slice;
	d->granted += bytes;
	d->turn -= bytes;
	port->budget -= bytes;
	if (d->granted >= d->sent) {
		hiercc_unlist(port, voqs, i);
	} else if (d->turn) {
		port->before = i;
	} else {
		hiercc_ring_remove(&port->before, voqs, i);
		hiercc_ring_add(&port->done, voqs, i);
	}
	return i;
}

#endif

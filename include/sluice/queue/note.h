/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_NOTE_H
#define SLUICE_QUEUE_NOTE_H
/*
 * The note that egress leaves with a packet for the qdisc `sluice`, in the five words that a packet has for that
 * (skb->cb): its VOQ and when it has credit there, whether it goes before other packets of it, the R that gave it its
 * departure time, how long it may wait, and the priority whose pauses hold it.
 */
#include "sluice/types.h"

struct queue_note {
	__u32 voq_low, voq_high; /* a number that no other VOQ of this machine has; both 0: it uses none */
	__u32 credit;		 /* when it has credit there: CLOCK_MONOTONIC in units of 16 ns, modulo 2^32 */
	__u32 kbps;		 /* R of the clock that gave it its departure time; 0: something else did */
	__u32 mark; /* QUEUE_NOTE_MARK, its class, whether it is young, its patience; anything else: there is no note */
};

#define QUEUE_NOTE_MARK 0x51d00000U
#define QUEUE_NOTE_CLASS_SHIFT 16 /* four bits: a priority and one, or 0 */
#define QUEUE_NOTE_CLASS (0xfU << QUEUE_NOTE_CLASS_SHIFT)
#define QUEUE_NOTE_LOW 0xffffU
#define QUEUE_NOTE_YOUNG 0x8000U /* it goes before the others of its VOQ */
#define QUEUE_NOTE_PATIENCE 0x7fffU
#define QUEUE_NOTE_CREDIT_SHIFT 4    /* 16 ns: 34 s either way, where credit comes within 10 s */
#define QUEUE_NOTE_PATIENCE_SHIFT 15 /* 32.8 us: up to 1.07 s */

static inline int queue_note_is_valid(const struct queue_note *n)
{
	return (n->mark & ~(QUEUE_NOTE_LOW | QUEUE_NOTE_CLASS)) == QUEUE_NOTE_MARK;
}

/* The bits of mark for a packet that pauses of a priority hold. */
static inline __u32 queue_note_class(__u32 prio)
{
	return (prio + 1) << QUEUE_NOTE_CLASS_SHIFT;
}

/* Bit n: pauses of priority n hold the packet; 0: none do. */
static inline __u32 queue_note_priorities(__u32 mark)
{
	__u32 class = (mark & QUEUE_NOTE_CLASS) >> QUEUE_NOTE_CLASS_SHIFT;

	return class ? 1U << (class - 1) & 0xff : 0;
}

static inline __u32 queue_note_credit(__u64 credit_ns)
{
	return credit_ns >> QUEUE_NOTE_CREDIT_SHIFT;
}

/* The time of credit again, within 16 ns. now_ns: less than 34 s from it. */
static inline __u64 queue_note_credit_ns(__u32 credit, __u64 now_ns)
{
	__s32 ahead = credit - queue_note_credit(now_ns);

	return now_ns + (__s64)ahead * (1 << QUEUE_NOTE_CREDIT_SHIFT);
}

/* How long a packet may wait, rounded up; 0: as long as it takes, and so for more than 1.07 s. */
static inline __u32 queue_note_patience(__u64 ns)
{
	__u64 units = (ns + (1 << QUEUE_NOTE_PATIENCE_SHIFT) - 1) >> QUEUE_NOTE_PATIENCE_SHIFT;

	return units <= QUEUE_NOTE_PATIENCE ? units : 0;
}

static inline __u64 queue_note_patience_ns(__u32 mark)
{
	return (__u64)(mark & QUEUE_NOTE_PATIENCE) << QUEUE_NOTE_PATIENCE_SHIFT;
}

#endif

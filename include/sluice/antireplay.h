/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ANTIREPLAY_H
#define SLUICE_ANTIREPLAY_H
/*
 * Which sequences of a peer have been used: a window of the 64 newest, one bit each (the idea of
 * RFC 4303, section 3.4.3). A message may be late by 63 others; it is never used twice.
 *
 * Sequences are 32 bits and wrap: what is less than 2^31 ahead of the newest is newer. So a forged
 * sequence could move the window, and antireplay_accept() is only for messages whose tag was found
 * right. A peer that restarts must go on above its last sequence, or all that it says is old.
 */
#include "types.h"

#define ANTIREPLAY_WINDOW 64U

struct antireplay {
	__u64 seen;   /* bit i: newest - i was used; 0: no message yet */
	__u32 newest;
	__u32 pad;
};

enum antireplay_verdict {
	ANTIREPLAY_ACCEPTED,
	ANTIREPLAY_OLD,	     /* behind the window: whether it was used is not known any more */
	ANTIREPLAY_REPLAYED,
};

static inline void antireplay_init(struct antireplay *w)
{
	*w = (struct antireplay){};
}

/* Whether the message may be used; if so, it is marked. Whoever calls it must be alone with w. */
static inline enum antireplay_verdict antireplay_accept(struct antireplay *w, __u32 seq)
{
	__u32 ahead = seq - w->newest, behind = w->newest - seq;

	if (!w->seen || (ahead && ahead < 1U << 31)) {
		w->seen = w->seen && ahead < ANTIREPLAY_WINDOW ? w->seen << ahead | 1 : 1;
		w->newest = seq;
		return ANTIREPLAY_ACCEPTED;
	}
	if (behind >= ANTIREPLAY_WINDOW)
		return ANTIREPLAY_OLD;
	if (w->seen >> behind & 1)
		return ANTIREPLAY_REPLAYED;
	w->seen |= 1ULL << behind;
	return ANTIREPLAY_ACCEPTED;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PATHS_H
#define SLUICE_PATHS_H
/*
 * The records of a flow whose packets take turns over several paths (per-packet balancing, balance-rr, packet
 * spraying). Algorithm 1 compares a feedback with the one before; on another path that comparison means nothing, and if
 * each feedback is of another path than the last, none decides.
 *
 *  1. When the path changes, the record of the old one is kept with its U, and that of the new one restored if it was in
 *     use a moment ago (hpcc_paths_turn()). So each path has an Algorithm 1 of its own up to U.
 *  2. Wc, incStage and the round are the flow's. While its paths take turns the largest U decides (hpcc_ack.u_other):
 *     the flow sends over all of them, so the fullest limits it.
 *  3. A flow that has moved to another path for good is as before: nothing is restored, and the other path's U does not
 *     count.
 *  4. More than HPCC_PATHS paths that take turns have no record long enough. Such a feedback counts as one of a path
 *     that stamps nothing, so delay (ceiling.h) controls a flow of which none is comparable.
 */
#include "sluice/cc/hpcc.h"

#define HPCC_PATHS 4

/* The record of a path; all zero: none. */
struct hpcc_path {
	__u64 seen_ns; /* when the flow last had feedback of it */
	__u64 rx_ns;   /* when the receiver got the telemetry of that feedback */
	q24_t u;
	__u32 u_frac;
	__u16 path_id;
	__u8 hops;
	__u8 bottleneck;
	struct hpcc_hop last[HPCC_MAX_HOPS];
};

struct hpcc_paths {
	__u64 known_ns;	  /* when a record was last restored */
	__u64 crowded_ns; /* when a path last took the place of another that was in use */
	struct hpcc_path path[HPCC_PATHS];
};

/* The path of a feedback, and the time of it. */
struct hpcc_paths_at {
	__u64 now_ns, t_ns;
	__u16 path_id;
	__u8 hops;
	__u8 pad[5];
};

enum hpcc_turn {
	HPCC_TURN_NONE,	   /* the path of the last feedback */
	HPCC_TURN_KNOWN,   /* another one, whose record is in the state now */
	HPCC_TURN_NEW,	   /* another one without a record */
	HPCC_TURN_CROWDED, /* the same, and there are too many of them */
};

static inline int hpcc_path_is(const struct hpcc_path *r, __u16 path_id, __u8 hops)
{
	return r->seen_ns && r->path_id == path_id && r->hops == hops;
}

static inline int hpcc_path_is_used(const struct hpcc_path *r, const struct hpcc_paths_at *at)
{
	return r->seen_ns && at->now_ns <= r->seen_ns + hpcc_idle_ns(at->t_ns);
}

/* The record of that path or, if there is none, the oldest one. */
static inline struct hpcc_path *hpcc_path_slot(struct hpcc_paths *ps, __u16 path_id, __u8 hops)
{
	struct hpcc_path *oldest = &ps->path[0];
	int i;

	for (i = 0; i < HPCC_PATHS; i++) {
		if (hpcc_path_is(&ps->path[i], path_id, hops))
			return &ps->path[i];
		if (ps->path[i].seen_ns < oldest->seen_ns)
			oldest = &ps->path[i];
	}
	return oldest;
}

static inline void hpcc_path_keep(struct hpcc_path *r, const struct hpcc_state *st, __u64 seen_ns, __u64 rx_ns)
{
	int i;

	r->seen_ns = seen_ns;
	r->rx_ns = rx_ns;
	r->u = st->u;
	r->u_frac = st->u_frac;
	r->path_id = st->path_id;
	r->hops = st->hops;
	r->bottleneck = st->bottleneck;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		r->last[i] = st->last[i];
}

static inline void hpcc_path_restore(const struct hpcc_path *r, struct hpcc_state *st)
{
	int i;

	st->u = r->u;
	st->u_frac = r->u_frac;
	st->path_id = r->path_id;
	st->hops = r->hops;
	st->bottleneck = r->bottleneck;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		st->last[i] = r->last[i];
}

/*
 * Before a feedback of the path `at`: exchanges the record in st, which was seen at seen_ns, and *rx_ns with it. While
 * delay decides st has no record, and the paths are only counted.
 */
static inline enum hpcc_turn hpcc_paths_turn(struct hpcc_paths *ps, struct hpcc_state *st,
					     const struct hpcc_paths_at *at, __u64 seen_ns, __u64 *rx_ns)
{
	struct hpcc_path *r;
	int used;

	if (st->hops && st->path_id == at->path_id && st->hops == at->hops)
		return HPCC_TURN_NONE;
	if (st->hops)
		hpcc_path_keep(hpcc_path_slot(ps, st->path_id, st->hops), st, seen_ns, *rx_ns);
	r = hpcc_path_slot(ps, at->path_id, at->hops);
	used = hpcc_path_is_used(r, at);
	if (hpcc_path_is(r, at->path_id, at->hops) && used) {
		r->seen_ns = at->now_ns;
		if (!st->hops)
			return HPCC_TURN_NEW;
		hpcc_path_restore(r, st);
		*rx_ns = r->rx_ns;
		ps->known_ns = at->now_ns;
		return HPCC_TURN_KNOWN;
	}
	__builtin_memset(r, 0, sizeof(*r)); /* in place: a literal takes its size of the stack */
	r->seen_ns = at->now_ns;
	r->path_id = at->path_id;
	r->hops = at->hops;
	if (!used)
		return HPCC_TURN_NEW;
	ps->crowded_ns = at->now_ns;
	return HPCC_TURN_CROWDED;
}

/* The paths in use: 1, if they do not take turns; HPCC_PATHS + 1: more than there are records. */
static inline __u32 hpcc_paths_used(const struct hpcc_paths *ps, const struct hpcc_paths_at *at)
{
	__u32 n = 1;
	int i;

	if (ps->crowded_ns && at->now_ns <= ps->crowded_ns + hpcc_idle_ns(at->t_ns))
		return HPCC_PATHS + 1;
	for (i = 0; i < HPCC_PATHS; i++)
		n += hpcc_path_is_used(&ps->path[i], at) && !hpcc_path_is(&ps->path[i], at->path_id, at->hops);
	return n;
}

/* The largest U of the other paths, if a record was restored within the last four T; otherwise 0. */
static inline q24_t hpcc_paths_u(const struct hpcc_paths *ps, const struct hpcc_paths_at *at)
{
	q24_t u = 0;
	int i;

	if (!ps->known_ns || at->now_ns > ps->known_ns + 4 * at->t_ns)
		return 0;
	for (i = 0; i < HPCC_PATHS; i++)
		if (ps->path[i].seen_ns && at->now_ns <= ps->path[i].seen_ns + 4 * at->t_ns &&
		    !hpcc_path_is(&ps->path[i], at->path_id, at->hops) && ps->path[i].u > u)
			u = ps->path[i].u;
	return u;
}

#endif

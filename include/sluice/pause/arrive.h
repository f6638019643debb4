/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ARRIVE_H
#define SLUICE_ARRIVE_H
/*
 * P-PFC when a packet is enqueued: ppfc.h without a round. A round reads all queues at one time; here a packet reads
 * its own, and the others as they were last seen.
 *
 *  1. ppfc_meter_step() measures the growth of a queue over windows that end with a packet.
 *  2. The packet that ends one predicts: ppfc_blame_add() of each other queue, and ppfc_blames(). That is Algorithm 1 for
 *     one queue, with the result of ppfc_predict().
 *  3. If the queue is to blame ppfc_draw_ports() marks ports, as Algorithm 2 draws them. The next packet of a marked
 *     port becomes the frame to its neighbour, if the port grows (ppfc_share_now()), with the duration as of then:
 *     ppfc_duration(), ppfc_tell(). The draw of the next window replaces the marks.
 *
 * Variants tried (simulated, 16:1; 40 Gbit/s and 4 MB, 100 Mbit/s and 500 KB, largest queue, KB): windows of the
 * paper's 1 us at 100 Mbit/s, where a frame takes 121: 500, because between two frames a port grows by one or none; of
 * two frames 333, of four 463, of one 189 to 328. At 40 Gbit/s all are alike (614 to 676). Marks only for ports that
 * had grown when the window ended: 251 and 702, not 230 and 652, as a port that comes back is told a window later.
 */
#include "sluice/pause/ppfc.h"

#define PPFC_WINDOW_NS 1000ULL /* the paper's interval */
#define PPFC_WINDOWS_MAX 16    /* a window that has lasted for more windows than this is stale */

/* The time over which growth is measured: the paper's interval, or a frame of the port where that takes longer. > 0 */
static inline __u64 ppfc_window_ns(__u64 bps, __u32 frame)
{
	__u64 ns = pfc_bytes_ns(frame, bps);

	ns = ns > PPFC_WINDOW_NS ? ns : PPFC_WINDOW_NS;
	return ns < PFC_NS_MAX / PPFC_WINDOWS_MAX ? ns : PFC_NS_MAX / PPFC_WINDOWS_MAX - 1;
}

/* The growth of a queue; begins as zeros. */
struct ppfc_meter {
	__u64 begun_ns;	   /* when this window began; 0: none has */
	__u32 begun_bytes; /* the queue at that time, < PFC_BYTES_MAX */
	__u32 elapsed_ns;  /* of the last whole window, < PFC_NS_MAX; 0: there is none */
	__s32 increment;   /* growth of the queue in that window */
	__u32 pad;
};

enum ppfc_step {
	PPFC_STEP_NONE,
	PPFC_STEP_BEGINS, /* restart: the first window, one that got too old, or the clock has jumped */
	PPFC_STEP_ENDS,	  /* a window is complete, and the next begins */
};

/* A packet arrives. bytes: the queue with it, < PFC_BYTES_MAX; window_ns: ppfc_window_ns(). */
static inline enum ppfc_step ppfc_meter_step(struct ppfc_meter *m, __u64 now_ns, __u32 bytes, __u64 window_ns)
{
	__u64 elapsed_ns = now_ns - m->begun_ns;
	int whole = m->begun_ns && now_ns >= m->begun_ns && elapsed_ns <= PPFC_WINDOWS_MAX * window_ns;

	if (whole && elapsed_ns < window_ns)
		return PPFC_STEP_NONE;
	m->elapsed_ns = whole ? elapsed_ns : 0;
	m->increment = whole ? (__s32)(bytes - m->begun_bytes) : 0;
	m->begun_ns = now_ns;
	m->begun_bytes = bytes;
	return whole ? PPFC_STEP_ENDS : PPFC_STEP_BEGINS;
}

/*
 * The growth of a queue in elapsed_ns, by its last whole window, or by the current one if that is longer: a queue
 * without arrivals ends no window, and gets shorter. 2^30 * 2^31.
 */
VERIFIED_ONCE __s64 ppfc_meter_growth(const struct ppfc_meter *m, __u64 now_ns, __u32 bytes, __u64 elapsed_ns)
{
	__u64 since_ns, ns, size;
	__s64 increment;

	if (!m)
		return 0;
	since_ns = m->begun_ns && now_ns > m->begun_ns ? now_ns - m->begun_ns : 0;
	increment = m->increment;
	ns = m->elapsed_ns;
	if (since_ns > ns) {
		increment = (__s64)bytes - m->begun_bytes;
		ns = since_ns;
	}
	if (!ns)
		return 0;
	elapsed_ns = elapsed_ns < PFC_NS_MAX ? elapsed_ns : PFC_NS_MAX - 1;
	size = (__u64)(increment < 0 ? -increment : increment) * elapsed_ns / ns;
	size = size < PFC_BYTES_MAX ? size : PFC_BYTES_MAX - 1;
	return increment < 0 ? -(__s64)size : (__s64)size;
}

/*
 * The queue of an egress port as a packet, of this queue or another, sees it, without the bytes that will return to it:
 * the caller adds those, and then calls ppfc_seen_end().
 */
static inline struct ppfc_queue ppfc_seen(const struct ppfc_meter *m, __u64 now_ns, __u32 bytes, __u64 bps,
					  __u64 elapsed_ns)
{
	return (struct ppfc_queue){ .bps = bps,
				    .increment = ppfc_meter_growth(m, now_ns, bytes, elapsed_ns),
				    .bytes = bytes };
}

/* A queue that gets shorter because some of its ports are paused will stop doing so when they return. */
static inline void ppfc_seen_end(struct ppfc_queue *q)
{
	if (q->returning && q->increment < 0)
		q->returning -= q->increment;
}

/*
 * The share of a port in the queue, its current packet included. begun_bytes: its bytes when the window began; before:
 * its growth in the window before.
 */
static inline struct ppfc_share ppfc_share_now(__u32 bytes, __u32 begun_bytes, __s32 before)
{
	__s64 grew = (__s64)bytes - begun_bytes;

	return (struct ppfc_share){ .increment = grew > before ? grew : before, .bytes = bytes };
}

/* Algorithm 1 for one queue; each of the others is added once. */
struct ppfc_blame {
	__s64 total;  /* growth of all queues */
	__s64 faster; /* growth of the queues to blame before this one, with the bytes that leave them */
};

/* before: if two grow alike ppfc_predict() takes the first. */
static inline void ppfc_blame_add(struct ppfc_blame *b, const struct ppfc_queue *own, const struct ppfc_queue *other,
				  int before, const struct ppfc_params *p, __u64 elapsed_ns)
{
	__s64 growth = ppfc_growth(other);

	b->total += growth;
	if (growth > ppfc_growth(own) || (growth == ppfc_growth(own) && before))
		b->faster += growth + ppfc_leaving(other, p, elapsed_ns);
}

/* Whether Algorithms 2 and 3 are to run for the queue. All others were added. */
static inline int ppfc_blames(const struct ppfc_blame *b, const struct ppfc_queue *own, const struct ppfc_params *p,
			      __u64 free, __u64 elapsed_ns)
{
	__s64 total = b->total + ppfc_growth(own) - b->faster;

	return own->bytes > p->k_max && own->increment > 0 && ppfc_remaining(free, total, elapsed_ns) < p->t_thresh_ns;
}

#endif

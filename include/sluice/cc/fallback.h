/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FALLBACK_H
#define SLUICE_FALLBACK_H
/*
 * When a flow switches to delay control (Swift) because its path stamps nothing, and when back to telemetry.
 *
 * Both switches take FALLBACK_RUN feedbacks in a row that agree, over 16 RTTs, but 10 ms to 1 s. A single feedback of
 * the other kind restarts the run, so a path that stamps only some packets keeps its current control. If feedback is
 * so rare that a run would take longer, two decide after 1.5 s: a path that stamps again is back with HPCC within 2
 * s.
 */
#include "sluice/cc/hpcc.h"

#define FALLBACK_RUN 16
#define FALLBACK_MIN_NS (NSEC_PER_SEC / 100)
#define FALLBACK_MAX_NS NSEC_PER_SEC
#define FALLBACK_RARE_NS (NSEC_PER_SEC * 3 / 2)

struct fallback {
	__u64 since_ns; /* time of the first feedback of the run */
	__u32 run;	/* feedbacks in a row that speak for the other control; stops at FALLBACK_RUN */
	__u32 swift;	/* 1: Swift decides, 0: HPCC */
};

enum fallback_verdict {
	FALLBACK_STAY,
	FALLBACK_TO_SWIFT,
	FALLBACK_TO_HPCC,
};

/*
 * Takes a feedback with `hops` hops. On a switch W, Wc and R are kept; HPCC's record of the path is void, and U
 * starts as in a new flow.
 */
static inline enum fallback_verdict fallback_feedback(struct fallback *f, struct hpcc_state *st, __u32 hops,
						      __u64 now_ns, __u64 t_ns)
{
	__u64 hold_ns = 16 * t_ns, passed_ns;

	if ((hops == 0) == f->swift) {
		f->run = 0;
		return FALLBACK_STAY;
	}
	if (!f->run)
		f->since_ns = now_ns;
	if (f->run < FALLBACK_RUN)
		f->run++;
	if (hold_ns < FALLBACK_MIN_NS)
		hold_ns = FALLBACK_MIN_NS;
	if (hold_ns > FALLBACK_MAX_NS)
		hold_ns = FALLBACK_MAX_NS;
	passed_ns = now_ns > f->since_ns ? now_ns - f->since_ns : 0;
	if (!(f->run >= FALLBACK_RUN && passed_ns >= hold_ns) && passed_ns < FALLBACK_RARE_NS)
		return FALLBACK_STAY;
	f->run = 0;
	f->swift = !f->swift;
	hpcc_forget(st);
	return f->swift ? FALLBACK_TO_SWIFT : FALLBACK_TO_HPCC;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SLACK_H
#define SLUICE_SLACK_H
/*
 * Bytes under way beyond a window of W that R paces. TCP sends bursts of a millisecond of R (TSO), and one that is being
 * sent, received and acknowledged makes the round trip longer than T: a window of R * T holds the flow below R. One
 * flow of 100 Mbit/s and 4 ms used .860 of its port, and no queue stood; with this .961. Not while a queue stands or the
 * first U are measured: 16 flows that began at once got 100 packets more into the queue.
 */
#include "sluice/cc/companion.h"
#include "sluice/cc/hpcc_state.h"

#define SLACK_BURST_NS (1000 * 1000ULL) /* of R, which TSO makes one packet of */
#define SLACK_BURST_BYTES 65536		/* of these the largest */

/* Bytes beyond a window of w, which a flow has after that many feedbacks. w < 2^27 */
static inline __u64 slack_bytes(const struct hpcc_state *cc, __u64 t_ns, __u64 w, __u32 feedbacks)
{
	__u64 burst = t_ns <= 4 * SLACK_BURST_NS ? w / 4 : w * SLACK_BURST_NS / t_ns;

	if (feedbacks < COMPANION_FIRST || cc->u >= Q24_ONE)
		return 0;
	return burst < SLACK_BURST_BYTES ? burst : SLACK_BURST_BYTES;
}

#endif

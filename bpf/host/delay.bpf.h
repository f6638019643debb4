/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DELAY_BPF_H
#define SLUICE_DELAY_BPF_H
/*
 * The time of a round trip: the input of the measured T (base_rtt.h), and of the ceiling of W (ceiling.h).
 *
 *  1. Egress notes position and departure of up to FLOW_TIMED packets in a row, and then of none until there is
 *     feedback for one of them or for a later packet. The departure is the pacer's: waiting in fq is not waiting in a
 *     queue of the network.
 *  2. Feedback that names the position of one of them is the sample: its arrival, less the time that
 *     the echo waited at the receiver (its age), less the departure. Feedback for another packet gives no sample,
 *     because its departure is not known. An ACK covers two packets; a single packet, timed whenever an ACK releases
 *     it, could be the wrong one of the two every time: hence four.
 *  3. A PROBE, which does not wait in fq, is timed by itself: its position is also that of the data
 *     before it. Of companions up to FLOW_TIMED more are timed at a time.
 *  4. A lost packet is given up with the feedback for a later one, at the latest after a second.
 *
 * Positions include retransmissions, so no sample is of the wrong copy; the segments of a GSO packet share one, and its
 * first echo counts. A position and its time are one word, so they never belong to two packets; the time has 32 bits,
 * which cover differences below 2 s.
 */
#include "lib/base.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/base_rtt.h"
#include "sluice/once.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define DELAY_MAX_NS (1U << 30)
#define DELAY_GIVE_UP_NS ((__s32)NSEC_PER_SEC)
#define DELAY_AGE_MAX_NS (0xffffULL << WIRE_AGE_SHIFT) /* an age of this or more on the wire is saturated */

static inline __u64 delay_word(__u32 seq, __u64 left_ns)
{
	return (__u64)seq << 32 | (__u32)left_ns;
}

static inline int delay_is_old(__u64 word, __u64 now_ns)
{
	return (__s32)((__u32)now_ns - (__u32)word) > DELAY_GIVE_UP_NS;
}

/* Egress: a packet that ends at the position seq leaves. */
static inline void delay_note(struct flow *f, __u32 seq, __u64 now_ns, __u64 left_ns)
{
	__u32 n = READ_ONCE(f->delay.timed_count);

	if (n && delay_is_old(f->delay.timed[0], now_ns))
		n = 0;
	VERIFIER_FORGET(n);
	if (n >= FLOW_TIMED)
		return;
	WRITE_ONCE(f->delay.timed[n], delay_word(seq, left_ns));
	WRITE_ONCE(f->delay.timed_count, n + 1);
}

static inline void delay_note_probe(struct flow *f, __u32 seq, __u64 now_ns, __u64 left_ns)
{
	int i;

	if (!f->delay.probed || delay_is_old(f->delay.probed, now_ns)) {
		f->delay.probed = delay_word(seq, left_ns);
		return;
	}
	for (i = 0; i < FLOW_TIMED && f->path.telemetry == TELEMETRY_COMPANION; i++) {
		if (f->delay.timed[i] && !delay_is_old(f->delay.timed[i], now_ns))
			continue;
		f->delay.timed[i] = delay_word(seq, left_ns);
		break;
	}
}

/*
 * Takes the answer to a PROBE: the word of its departure, or 0. It ends the wait for those before it. Two that left at the
 * same position cannot be told apart, and the first may be lost: neither is a sample.
 */
static inline __u64 delay_probed(struct flow *f, __u32 seq)
{
	__u64 word = READ_ONCE(f->delay.probed), found = 0;
	int i, twice = 0;

	if (word >> 32 == seq)
		found = word;
	if (word && (__s32)(seq - (__u32)(word >> 32)) >= 0)
		f->delay.probed = 0;
	for (i = 0; i < FLOW_TIMED && f->path.telemetry == TELEMETRY_COMPANION; i++) {
		word = READ_ONCE(f->delay.timed[i]);
		if (!word || (__s32)(seq - (__u32)(word >> 32)) < 0)
			continue;
		if (word >> 32 == seq) {
			twice |= found != 0;
			found = word;
		}
		f->delay.timed[i] = 0;
	}
	return twice ? 0 : found;
}

/* Takes feedback for seq, which would have been here at rx_ns: the round trip in ns, 0 for none. */
static inline __u32 delay_sample(struct flow *f, __u32 seq, __u64 rx_ns, __u64 now_ns, int probe)
{
	__u32 n = READ_ONCE(f->delay.timed_count), delay_ns;
	__u64 word, found = 0, last = 0;
	int i;

	if (probe) {
		found = delay_probed(f, seq);
	} else {
		for (i = 0; i < FLOW_TIMED; i++) {
			word = READ_ONCE(f->delay.timed[i]);
			if (i >= (int)n)
				continue;
			last = word;
			if (word >> 32 == seq)
				found = word;
		}
		if (n && (found || (__s32)(seq - (__u32)(last >> 32)) > 0))
			WRITE_ONCE(f->delay.timed_count, 0);
	}
	if (!found || now_ns - rx_ns >= DELAY_AGE_MAX_NS)
		return 0;
	delay_ns = (__u32)rx_ns - (__u32)found;
	return delay_ns < DELAY_MAX_NS ? delay_ns : 0;
}

/*
 * The time in queues on a path whose hops were not reported with this feedback. On a path that stamps nothing a flow
 * that sends as little as feedback makes it causes no queue.
 */
static inline __u64 delay_queue_ns(const struct flow *f, const struct feedback *fb)
{
	if (!fb->hops && flow_is_bare(f) && f->cc.w <= hpcc_floor(&f->params))
		return 0;
	return BASE_RTT_NONE;
}

/* Takes a round trip, and the queues reported for its path, for T. */
VERIFIED_ONCE int delay_measure(struct flow *f, const struct feedback *fb, const struct hpcc_ack *ack, __u32 delay_ns)
{
	struct base_rtt_sample sample = {};
	__u64 w_init, port_bps;
	int told;

	if (!f || !fb || !ack || !delay_ns || !f->params.t_ns)
		return 0;
	told = fb->form == RX_HOPS && fb->hops;
	w_init = f->params.w_init >> 12;
	port_bps = w_init * 8 * NSEC_PER_SEC / f->params.t_ns; /* 2^27 * 2^33 */
	base_rtt_measure(&sample, ack, told, delay_ns, told ? 0 : delay_queue_ns(f, fb), f->path.mtu + WIRE_ETH_BYTES,
			 port_bps, fb->probe);
	base_rtt_note(&f->delay.least, &sample, fb->now_ns);
	return 0;
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * T as it is measured (base_rtt.h): whatever answers and hops claim, and whatever the clock does, T stays in its range, is no
 * shorter than the wire, and moves no further than the samples.
 */
#include "hpcc.h"
#include "sluice/cc/base_rtt.h"

#define FLOWS 4

struct prefix {
	struct base_rtt rtt;
	struct base_rtt_least flow[FLOWS];
	struct hpcc_ack ack;
	__u64 now_ns, port_bps;
	__u32 packet;
};

static void prefix_measure(struct prefix *p, struct fuzz *f)
{
	struct base_rtt_least *l = &p->flow[fuzz_u8(f) % FLOWS];
	__u64 rtt_ns = fuzz_in(f, 1, (1U << 30) - 1),
	      queue_ns = fuzz_coin(f) ? BASE_RTT_NONE : fuzz_in(f, 0, 1ULL << 38);
	__u64 own = p->port_bps ? (__u64)p->packet * 8 * NSEC_PER_SEC / p->port_bps : 0;
	struct base_rtt_sample s;
	int told = fuzz_coin(f);

	fuzz_hpcc_ack(f, &p->ack);
	base_rtt_measure(&s, &p->ack, told, rtt_ns, queue_ns, p->packet, p->port_bps, fuzz_coin(f));
	FUZZ_ASSERT(s.most_ns >= BASE_RTT_MIN_NS && s.most_ns <= BASE_RTT_MAX_NS);
	FUZZ_ASSERT(s.most_ns >= own || s.most_ns == BASE_RTT_MAX_NS);
	FUZZ_ASSERT(s.most_ns >= rtt_ns || s.most_ns == BASE_RTT_MAX_NS);
	if (s.least_ns == BASE_RTT_NONE)
		FUZZ_ASSERT(!told && queue_ns == BASE_RTT_NONE);
	else
		FUZZ_ASSERT(s.least_ns <= s.most_ns && s.least_ns >= BASE_RTT_MIN_NS);
	base_rtt_note(l, &s, p->now_ns);
	FUZZ_ASSERT(l->ns.most_ns <= s.most_ns);
}

static void prefix_tick(struct prefix *p)
{
	struct base_rtt was = p->rtt;
	enum base_rtt_change change = base_rtt_tick(&p->rtt, p->now_ns);
	__u64 t = p->rtt.t_ns;

	FUZZ_ASSERT(!t || (t >= BASE_RTT_MIN_NS && t <= BASE_RTT_MAX_NS));
	FUZZ_ASSERT(!t || p->rtt.low_ns <= t);
	switch (change) {
	case BASE_RTT_SAME:
		FUZZ_ASSERT(t == was.t_ns);
		break;
	case BASE_RTT_FIRST:
		FUZZ_ASSERT(!was.t_ns && t && t <= was.seen.most_ns);
		break;
	case BASE_RTT_SHORTER:
		FUZZ_ASSERT(t < was.t_ns && t == was.seen.most_ns);
		break;
	case BASE_RTT_LONGER:
		FUZZ_ASSERT(t > was.t_ns && t == was.seen.least_ns && p->now_ns - was.window_ns >= BASE_RTT_WINDOW_NS);
		FUZZ_ASSERT(was.looks + was.looked >= BASE_RTT_LOOKS);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };
	struct prefix p = {};
	__u64 start;
	int op;

	p.now_ns = fuzz_any(&f);
	p.port_bps = fuzz_in(&f, 0, 1000000000000);
	p.packet = fuzz_in(&f, 1, 0x1ffff);
	start = base_rtt_start_ns(p.port_bps, p.packet);
	FUZZ_ASSERT(start >= BASE_RTT_START_NS && start <= BASE_RTT_MAX_NS);
	while ((op = fuzz_op(&f, 5)) >= 0) {
		switch (op) {
		case 0:
			p.now_ns += fuzz_any(&f);
			break;
		case 1:
			p.now_ns += NSEC_PER_SEC;
			break;
		case 2:
			prefix_measure(&p, &f);
			break;
		case 3:
			base_rtt_look(&p.rtt, &p.flow[fuzz_u8(&f) % FLOWS], fuzz_coin(&f), p.now_ns);
			break;
		case 4:
			prefix_tick(&p);
			break;
		}
	}
	return 0;
}

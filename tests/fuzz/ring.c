// SPDX-License-Identifier: GPL-2.0-only
/* HierCC at packet arrival: a port whose senders may lie about anything, whose clock jumps, and whose daemon dies. */
#include "fuzz.h"
#include "sluice/rack/hiercc.h"

#define VOQS (HIERCC_RING + 8)

/* The part of the port's budget that a VOQ has been given, against its bound. */
struct account {
	struct hiercc_seen seen;
	__u64 arrived, given;
	__u64 jumps;
	__u32 claim;
};

struct port {
	struct hiercc_params params;
	struct hiercc_ring ring;
	struct hiercc_due due[VOQS];
	struct hiercc_told told[VOQS];
	struct account of[VOQS];
	__u64 now_ns;
};

/* Each VOQ is in the ring once, and knows it. */
static void ring_holds(const struct port *p)
{
	__u32 k, n, i, count[VOQS] = {};

	for (k = 0; k < 2; k++) {
		const struct hiercc_queue *q = &p->ring.queue[k];

		FUZZ_ASSERT(q->count <= HIERCC_RING);
		for (n = 0; n < q->count; n++) {
			i = q->slot[(q->first + n) & (HIERCC_RING - 1)];
			FUZZ_ASSERT(i < VOQS && !count[i]++ && p->due[i].listed);
		}
	}
	for (i = 0; i < VOQS; i++)
		FUZZ_ASSERT(p->due[i].listed == count[i]);
	FUZZ_ASSERT(hiercc_ring_due(&p->ring) <= HIERCC_RING && p->ring.untold.count <= HIERCC_RING);
}

/* One C0 of its past, one ahead, and what arrived with an eighth; once more what arrived for each beginning. */
static void sums_hold(const struct port *p, __u32 i)
{
	const struct account *a = &p->of[i];

	FUZZ_ASSERT(a->given <= a->arrived + a->arrived / 8 + p->params.c0 + (1 + a->jumps) * p->ring.delta);
}

static void clock_turns(struct port *p, __u32 bytes)
{
	__u64 most = p->ring.rate * p->ring.most_ns / NSEC_PER_SEC + p->ring.delta;

	hiercc_ring_clock(&p->ring, p->now_ns, bytes);
	FUZZ_ASSERT(p->ring.budget <= most && p->ring.rest < NSEC_PER_SEC && p->ring.slice >= p->ring.delta);
}

static void turns(struct port *p)
{
	__u32 n, i, bytes;
	__u64 budget;

	for (n = 0; n < HIERCC_STEPS; n++) {
		budget = p->ring.budget;
		i = hiercc_ring_next(&p->ring);
		if (i == HIERCC_NONE)
			break;
		FUZZ_ASSERT(i < VOQS);
		bytes = hiercc_ring_grant(&p->ring, &p->due[i], i);
		FUZZ_ASSERT(bytes <= budget && p->ring.budget == budget - bytes && bytes % p->ring.delta == 0);
		p->of[i].given += bytes;
		hiercc_ring_note(&p->ring, &p->told[i], i);
		sums_hold(p, i);
	}
	i = hiercc_ring_untold(&p->ring);
	if (i == HIERCC_NONE)
		return;
	FUZZ_ASSERT(i < VOQS && p->told[i].waits);
	if (hiercc_ring_tells(&p->ring, &p->due[i], &p->told[i], p->now_ns, p->params.window_ns / HIERCC_QUIET)) {
		hiercc_told(&p->told[i], &p->due[i], p->now_ns);
		FUZZ_ASSERT(!p->told[i].waits);
	}
}

static void packet(struct port *p, struct fuzz *f, __u32 i)
{
	struct account *a = &p->of[i];
	__u8 shape = fuzz_u8(f);
	__u32 bytes = fuzz_in(f, 1, 1 << 17);

	/* An honest one includes itself in S; a liar sends anything, preferably a value at the edge of belief. */
	switch (shape & 3) {
	case 0:
		a->claim += bytes;
		break;
	case 1:
		a->claim += p->params.debt_max;
		break;
	case 2:
		a->claim += fuzz_in(f, 0, 1 << 28);
		break;
	default:
		a->claim = fuzz_u32(f);
	}
	hiercc_see(&a->seen, a->claim, shape & 4 ? fuzz_u32(f) : 1, bytes, 1 + (shape >> 4), p->params.debt_max);
	a->arrived += bytes;
	if (!hiercc_ring_enter(&p->ring, p->now_ns))
		return;
	FUZZ_ASSERT(p->ring.lock_ns == p->now_ns);
	if (hiercc_ring_leased(&p->ring, p->now_ns)) {
		clock_turns(p, bytes);
		if (hiercc_ring_learn(&p->ring, &p->due[i], i, &p->params, &a->seen, p->now_ns) == HIERCC_JUMPED)
			a->jumps++;
		FUZZ_ASSERT(p->due[i].unseen <= p->params.debt_max && p->due[i].held < HIERCC_BYTES_MAX);
		turns(p);
	}
	hiercc_ring_leave(&p->ring, p->now_ns);
	FUZZ_ASSERT(!p->ring.lock_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct port p;
	struct fuzz f = { data, size };
	__u32 i, n;
	int op;

	memset(&p, 0, sizeof(p));
	p.now_ns = 1 + (fuzz_any(&f) >> 4);
	hiercc_params_arrival(&p.params, fuzz_any(&f), fuzz_any(&f) >> 1, fuzz_any(&f) >> 1, fuzz_any(&f) >> 1);
	hiercc_ring_init(&p.ring, fuzz_any(&f), fuzz_any(&f), fuzz_in(&f, 1, HIERCC_DELTA_MAX));
	while ((op = fuzz_op(&f, 8)) >= 0) {
		i = fuzz_u8(&f);
		i = i < 200 ? i % 3 : fuzz_u16(&f) % VOQS;
		switch (op) {
		case 0:
			p.ring.lease_ns = p.now_ns + fuzz_any(&f);
			break;
		case 1:
			hiercc_ring_speed(&p.ring, fuzz_any(&f));
			break;
		case 2: /* the clock jumps, either way */
			p.now_ns = 1 + (fuzz_any(&f) >> 1);
			break;
		case 3:
			p.now_ns += fuzz_in(&f, 0, 1 << 20);
			break;
		case 4: /* a CPU stops inside the lock */
			hiercc_ring_enter(&p.ring, p.now_ns);
			p.now_ns += TRYLOCK_NS;
			break;
		case 5:
			hiercc_ring_drop(&p.ring, &p.due[i], i);
			break;
		case 6: /* many at once */
			for (n = fuzz_u16(&f) % VOQS; n > 0; n--)
				packet(&p, &f, (i + n) % VOQS);
			break;
		default:
			packet(&p, &f, i);
		}
		ring_holds(&p);
		FUZZ_ASSERT(p.ring.rate < HIERCC_RATE_MAX && p.ring.most_ns < HIERCC_NS_MAX && p.ring.round);
	}
	return 0;
}

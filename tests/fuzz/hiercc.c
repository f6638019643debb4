// SPDX-License-Identifier: GPL-2.0-only
/*
 * HierCC, its three parts one by one: a VOQ that sends by credit, a port that grants credit to senders which may lie in
 * all that they say, and the first hop, which makes R of a queue.
 */
#include "fuzz.h"
#include "sluice/rack/hiercc.h"

#define VOQS 6
#define DELTA HIERCC_DELTA_BYTES

static void params(struct fuzz *f, struct hiercc_params *p)
{
	hiercc_params_init(p, fuzz_any(f), fuzz_any(f) >> 1, fuzz_any(f) >> 1);
	if (fuzz_coin(f))
		hiercc_params_c0(p, fuzz_in(f, 1, HIERCC_BYTES_MAX));
	FUZZ_ASSERT(p->c0 && p->c0 < HIERCC_BYTES_MAX && p->debt_max >= p->c0 && p->debt_max < HIERCC_BYTES_MAX);
	FUZZ_ASSERT(p->rate_first && p->rate_first < HIERCC_RATE_MAX && p->window_ns && p->window_ns < HIERCC_NS_MAX);
	FUZZ_ASSERT(p->limit_ns && p->idle_ns > p->limit_ns && p->epoch_ns);
}

/* ---- Sender ---- */

static void voq_packet(struct hiercc_voq *v, const struct hiercc_params *p, struct fuzz *f, __u64 now)
{
	struct hiercc_voq was = *v;
	__u32 bytes = fuzz_in(f, 1, (1 << 20) - 1), total, queue;
	enum hiercc_sent verdict;
	__u64 at;

	verdict = hiercc_send(v, p, now, bytes, &total, &at);
	FUZZ_ASSERT(v->sent == was.sent + bytes && total == (__u32)v->sent);
	/* Never back, never past the limit. */
	FUZZ_ASSERT(at >= now && at <= now + p->limit_ns);
	FUZZ_ASSERT(v->credit >= was.credit);
	if (v->credit != was.credit) /* it was silent, and begins with C0 again */
		FUZZ_ASSERT(was.last_ns + p->idle_ns < now && v->credit == was.sent);
	FUZZ_ASSERT((verdict == HIERCC_COVERED) == (v->sent <= v->credit + p->c0));
	FUZZ_ASSERT(verdict != HIERCC_LOST); /* one CPU has no races */
	if (verdict != HIERCC_WAITS)
		FUZZ_ASSERT(at == now);
	else
		FUZZ_ASSERT(v->short_ns && v->short_ns <= now && v->short_ns + p->limit_ns > now);
	if (verdict == HIERCC_ALONE)
		FUZZ_ASSERT(v->short_ns + p->limit_ns <= now);
	queue = hiercc_queue(v, p);
	FUZZ_ASSERT(queue < HIERCC_BYTES_MAX && !queue == (verdict == HIERCC_COVERED));
}

static void voq_message(struct hiercc_voq *v, const struct hiercc_params *p, struct fuzz *f, __u64 now)
{
	struct hiercc_voq was = *v;
	__u64 by = fuzz_any(f);
	__u8 shape = fuzz_u8(f);
	__u32 total = shape & 1 ? by : shape & 2 ? v->credit + by : shape & 4 ? v->sent + by : v->sent - by;
	__u16 at = shape & 8 ? now / HIERCC_AT_NS : fuzz_u16(f);
	enum hiercc_credit verdict = hiercc_credit(v, p, now, total, shape & 16, at);

	FUZZ_ASSERT(verdict != HIERCC_RACED);
	FUZZ_ASSERT(v->credit <= v->sent + DELTA && v->credit >= was.credit);
	if (verdict != HIERCC_CREDITED) {
		FUZZ_ASSERT(!memcmp(&was, v, sizeof(was)));
		return;
	}
	FUZZ_ASSERT(v->credit > was.credit && (__u32)v->credit == total);
	FUZZ_ASSERT(v->sent == was.sent && v->clock_ns == was.clock_ns);
	FUZZ_ASSERT(v->credit_ns <= now);
	FUZZ_ASSERT(!v->short_ns == !hiercc_queue(v, p));
}

static void sender(struct fuzz *f)
{
	struct hiercc_params p;
	struct hiercc_voq v;
	__u64 now = fuzz_in(f, 1, 1ULL << 60);
	int op;

	params(f, &p);
	hiercc_voq_init(&v, now);
	while ((op = fuzz_op(f, 6)) >= 0) {
		now += fuzz_in(f, 0, p.idle_ns * 2);
		switch (op) {
		case 0:
		case 1:
			voq_message(&v, &p, f, now);
			break;
		case 2: {
			__u32 flows = fuzz_u16(f), told = v.told;

			if (hiercc_tells(&v, &p, flows))
				FUZZ_ASSERT(flows > told && flows >= 2 * told && hiercc_queue(&v, &p) <= p.debt_max - p.c0);
			FUZZ_ASSERT(v.told == told || v.told == flows);
			break;
		}
		default:
			voq_packet(&v, &p, f, now);
		}
		FUZZ_ASSERT(v.rate < HIERCC_RATE_MAX && hiercc_credit_rate(&v, &p) && hiercc_limit_rate(&v, &p));
	}
}

/* ---- Receiver ---- */

/* The bytes granted to a VOQ, against their bound. */
struct account {
	struct hiercc_seen seen;
	__u64 arrived; /* bytes, in all */
	__u64 granted; /* by hiercc_grant() */
	__u64 jumps;
	__u64 late; /* what the port had yet to grant when the VOQ was judged: more is forgiven then */
	__u32 claim;
};

struct port {
	struct hiercc_params params[2];
	struct hiercc_port port;
	struct hiercc_due due[VOQS];
	struct account of[VOQS];
	__u64 now_ns;
	__u64 budget, granted; /* bytes, in all */
};

/* Each VOQ that is due credit is in one of the rings, once; one that is no longer due leaves it with its next turn. */
static void port_rings_hold(const struct port *p)
{
	__u32 last[2] = { p->port.before, p->port.done }, k, i, n, found = 0, count = 0;

	for (k = 0; k < 2; k++) {
		if (last[k] == HIERCC_NONE)
			continue;
		i = last[k];
		for (n = 0; n <= VOQS; n++) {
			FUZZ_ASSERT(i < VOQS && !(found >> i & 1));
			found |= 1U << i;
			count++;
			i = p->due[i].next;
			if (i == last[k])
				break;
		}
	}
	FUZZ_ASSERT(count == p->port.active);
	for (i = 0; i < VOQS; i++) {
		FUZZ_ASSERT(p->due[i].listed == (found >> i & 1));
		FUZZ_ASSERT(p->due[i].listed || p->due[i].granted >= p->due[i].sent);
	}
}

static void port_packet(struct port *p, struct fuzz *f, __u32 i)
{
	struct account *a = &p->of[i];
	__u8 shape = fuzz_u8(f);
	__u32 bytes = fuzz_in(f, 1, (1 << 20) - 1), packets = 1 + fuzz_u8(f) % 64;

	/* An honest one includes itself in S; a liar sends anything, preferably a value at the edge of belief, or a jump. */
	switch (shape & 3) {
	case 0:
		a->claim += bytes;
		break;
	case 1:
		a->claim += shape & 8 ? p->params[i % 2].debt_max : 1U << 30;
		break;
	case 2:
		a->claim += fuzz_in(f, 0, 1 << 28);
		break;
	default:
		a->claim = fuzz_u32(f);
	}
	hiercc_see(&a->seen, a->claim, shape & 4 ? fuzz_u32(f) : 1, bytes, packets, p->params[i % 2].debt_max);
	a->arrived += bytes;
}

static void port_learn(struct port *p, __u32 i)
{
	const struct hiercc_params *params = &p->params[i % 2];
	struct account *a = &p->of[i];
	struct hiercc_due was = p->due[i], *d = &p->due[i];
	__u64 late = p->port.budget < params->debt_max ? p->port.budget : params->debt_max;
	enum hiercc_claim verdict = hiercc_learn(&p->port, p->due, i, params, &a->seen, p->now_ns);

	FUZZ_ASSERT(d->flows >= 1 && d->flows <= RX_FLOWS_MAX);
	FUZZ_ASSERT(d->flows == 1 || d->flows <= d->in_epoch || d->flows <= d->in_last);
	FUZZ_ASSERT(!d->sent || d->sent + params->debt_max >= HIERCC_TOTAL_FIRST);
	if (d->granted < d->sent)
		FUZZ_ASSERT(d->sent - d->granted <= params->debt_max + late);
	FUZZ_ASSERT(d->granted < d->sent + DELTA && d->unseen <= params->debt_max);
	switch (verdict) {
	case HIERCC_LEARNED:
		FUZZ_ASSERT(d->granted == was.granted && d->sent >= was.sent);
		break;
	case HIERCC_CUT:
		FUZZ_ASSERT(d->granted > was.granted && d->sent >= was.sent);
		break;
	case HIERCC_JUMPED:
		a->jumps++;
		FUZZ_ASSERT(was.sent);
		break;
	case HIERCC_FIRST:
		FUZZ_ASSERT(!was.sent);
		break;
	}
}

static void port_grant(struct port *p)
{
	__u32 i, n = 0;

	for (;;) {
		__u64 budget = p->port.budget, given;
		struct hiercc_due was[VOQS];

		memcpy(was, p->due, sizeof(was));
		i = hiercc_grant(&p->port, p->due);
		if (i == HIERCC_NONE)
			break;
		FUZZ_ASSERT(i < VOQS && was[i].listed);
		given = p->due[i].granted - was[i].granted;
		FUZZ_ASSERT(given || was[i].granted >= was[i].sent);
		FUZZ_ASSERT(given % DELTA == 0 && given <= budget && p->port.budget == budget - given);
		p->of[i].granted += given;
		p->granted += given;
		if (++n == 64) /* enough of this budget: the work of one input is bounded */
			return;
	}
	/* Credit that no VOQ was due is not saved up. */
	FUZZ_ASSERT(p->port.budget <= DELTA || p->port.active);
	FUZZ_ASSERT(p->port.budget < DELTA || !p->port.active);
}

/*
 * The arrived bytes and an eighth of them, the bytes believed of a VOQ before anything is seen (C0, or what a message was
 * late for), once more what arrived where a sender seemed to begin anew, and a credit of rounding for each beginning.
 */
static void port_sums_hold(const struct port *p)
{
	__u32 i;

	for (i = 0; i < VOQS; i++) {
		const struct account *a = &p->of[i];
		const struct hiercc_params *params = &p->params[i % 2];

		FUZZ_ASSERT(a->granted <= 2 * params->debt_max + a->arrived + a->arrived / 8 + (1 + a->jumps) * DELTA);
	}
	FUZZ_ASSERT(p->granted <= p->budget);
}

static void receiver(struct fuzz *f)
{
	struct port p = { .now_ns = 1 + (fuzz_any(f) >> 4) };
	__u64 was;
	int op;
	__u32 i;

	params(f, &p.params[0]);
	params(f, &p.params[1]);
	hiercc_port_init(&p.port, fuzz_in(f, 0, HIERCC_RATE_MAX - 1));
	while ((op = fuzz_op(f, 8)) >= 0) {
		i = fuzz_u8(f) % VOQS;
		switch (op) {
		case 0:
			was = p.port.budget;
			hiercc_budget(&p.port, fuzz_any(f));
			FUZZ_ASSERT(p.port.budget >= was && p.port.rest < NSEC_PER_SEC);
			p.budget += p.port.budget - was;
			/* As in a round of the daemon, where each budget is dealt out before the next. */
			port_grant(&p);
			if (p.port.budget >= 1ULL << 33)
				return;
			break;
		case 1:
			port_grant(&p);
			break;
		case 2:
			p.now_ns += fuzz_in(f, 0, 1ULL << 32);
			break;
		case 3: /* the data plane's entry is made anew */
			if (fuzz_u8(f) < 16)
				p.of[i].seen = (struct hiercc_seen){};
			break;
		case 4: /* a VOQ that sent is silent, and leaves the ring, as it does if its port is another's */
			if (fuzz_u8(f) < 16) {
				hiercc_unlist(&p.port, p.due, i);
				p.due[i] = (struct hiercc_due){};
				p.of[i] = (struct account){};
			}
			break;
		case 5:
			port_learn(&p, i);
			break;
		default:
			port_packet(&p, f, i);
			if (op == 6)
				port_learn(&p, i);
		}
		port_rings_hold(&p);
		port_sums_hold(&p);
	}
}

/* ---- First hop ---- */

static void hop(struct fuzz *f)
{
	struct hiercc_hop_params p;
	struct hiercc_hop h;
	__u64 now = fuzz_in(f, 1, 1ULL << 60), sent = fuzz_any(f), was, r;
	int op, stopped;
	__u32 q;

	/* A BDP has two packets at least, so that V_low is below V_high. */
	hiercc_hop_params_init(&p, fuzz_any(f), fuzz_any(f), fuzz_in(f, 128, HIERCC_BYTES_MAX));
	FUZZ_ASSERT(p.q_line <= p.q0 && p.q0 <= p.v_low && p.v_low < p.v_high && p.v_high < HIERCC_BYTES_MAX);
	FUZZ_ASSERT(p.rate_min && p.rate_min <= p.rate_line && p.rate_line < HIERCC_RATE_MAX);
	if (fuzz_coin(f))
		p.q_line = fuzz_in(f, 1, p.q0);
	hiercc_hop_init(&h, &p);
	while ((op = fuzz_op(f, 3)) >= 0) {
		now += fuzz_in(f, 0, p.period_ns * 2);
		sent += fuzz_in(f, 0, 1ULL << 32);
		q = fuzz_in(f, 0, HIERCC_BYTES_MAX - 1);
		was = h.rate;
		stopped = h.stopped;
		if (op == 0) {
			hiercc_arrival(&h, &p, now, sent);
			FUZZ_ASSERT(h.rate == was && h.stopped == (__u32)stopped);
		} else if (op == 1) {
			r = hiercc_stop(&h, &p, q);
			FUZZ_ASSERT(r == h.rate);
		} else {
			r = hiercc_rate(&h, &p, q, fuzz_in(f, 1, HIERCC_RATE_MAX - 1));
			FUZZ_ASSERT(r == h.rate);
			/* At most fourfold, apart from the rounding of a division. */
			if (r && was)
				FUZZ_ASSERT(r <= 4 * was + 3 && r + 1 >= was / 4);
		}
		/* Between the two marks nothing changes. */
		if (h.stopped && !stopped)
			FUZZ_ASSERT(q > p.v_high);
		if (!h.stopped && stopped)
			FUZZ_ASSERT(q < p.v_low);
		if (op)
			FUZZ_ASSERT(h.stopped || q <= p.v_high);
		FUZZ_ASSERT(h.stopped ? !h.rate : h.rate >= p.rate_min && h.rate <= p.rate_line);
		FUZZ_ASSERT(h.arrive < HIERCC_RATE_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };

	switch (fuzz_op(&f, 3)) {
	case 0:
		sender(&f);
		break;
	case 1:
		receiver(&f);
		break;
	case 2:
		hop(&f);
		break;
	}
	return 0;
}

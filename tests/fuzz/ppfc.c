// SPDX-License-Identifier: GPL-2.0-only
/* Pauses: frames, pausing, obeying (pfc.h), and the prediction of P-PFC (ppfc.h) with its bounds. */
#include "fuzz.h"
#include "sluice/pause/arrive.h"

#define QUEUES 8
#define PORTS 8

/* ---- Frames ---- */

static void frame(struct fuzz *f)
{
	struct pfc_frame frame, built;
	__u32 bytes, prio, set = 0, quanta[PFC_PRIORITIES] = {};
	const uint8_t *at;
	int i;
	size_t n;
	__u8 src[6];

	at = fuzz_rest(f, sizeof(src), &n);
	memset(src, 0, sizeof(src));
	memcpy(src, at, n);
	pfc_build(&built, src);
	while ((i = fuzz_op(f, 16)) >= 0 && i < PFC_PRIORITIES) {
		quanta[i] = fuzz_u16(f);
		pfc_set(&built, i, quanta[i]);
		set |= 1 << i;
	}
	FUZZ_ASSERT(pfc_check(&built, PFC_FRAME_BYTES) == PFC_OK && !memcmp(built.src, src, 6));
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		FUZZ_ASSERT(pfc_enabled(&built, prio) == (set >> prio & 1) && pfc_quanta(&built, prio) == quanta[prio]);
	/* Messages of others: ours with other bytes. */
	frame = built;
	for (i = fuzz_u8(f) % 4; i; i--)
		((__u8 *)&frame)[fuzz_u8(f) % sizeof(frame)] ^= fuzz_u8(f);
	bytes = fuzz_u8(f) % 4 ? PFC_FRAME_BYTES : fuzz_u16(f);
	if (pfc_check(&frame, bytes) != PFC_OK)
		return;
	FUZZ_ASSERT(bytes == PFC_FRAME_BYTES || bytes == PFC_FRAME_BYTES + PFC_FCS_BYTES);
	FUZZ_ASSERT(!frame.vector[0] && pfc_is_group(frame.dst) && !memcmp(frame.ethertype, built.ethertype, 4));
}

static void quanta_hold(__u64 ns, __u64 bps, __u32 quanta)
{
	__u32 q = pfc_ns_quanta(ns, bps);

	FUZZ_ASSERT(q <= PFC_QUANTA_MAX);
	if (!bps) {
		FUZZ_ASSERT(!q && !pfc_quanta_ns(quanta, bps));
		return;
	}
	/* The fewest that last that long. */
	FUZZ_ASSERT(q == PFC_QUANTA_MAX || pfc_quanta_ns(q, bps) >= ns);
	FUZZ_ASSERT(!q || (unsigned __int128)(q - 1) * PFC_QUANTUM_NSBPS < (unsigned __int128)ns * bps);
	/* Nothing leaves too early. */
	FUZZ_ASSERT((unsigned __int128)pfc_quanta_ns(quanta, bps) * bps >=
		    (unsigned __int128)quanta * PFC_QUANTUM_NSBPS);
}

/* ---- Pausing ---- */

static void pauser(struct fuzz *f)
{
	struct pfc_params p;
	struct pfc_told t = {}, was;
	__u64 now = fuzz_any(f) >> 2, bytes, free, pause, xoff;
	__u32 mtu = fuzz_u16(f);
	__u64 bps = fuzz_in(f, 1, PFC_BPS_MAX - 1);
	enum pfc_act act;
	int op;

	pfc_params_init(&p, fuzz_any(f), bps, mtu, fuzz_any(f) >> 3);
	p.pause_ns = p.pause_ns ?: 1;
	if (fuzz_coin(f))
		p.alpha = fuzz_in(f, 0, 64 * Q24_ONE - 1);
	FUZZ_ASSERT(p.pause_ns < PFC_NS_MAX && p.xoff < PFC_BYTES_MAX);
	FUZZ_ASSERT(pfc_headroom(fuzz_any(f), fuzz_any(f) >> 1, fuzz_any(f) >> 1, mtu) >= 2U * mtu + PFC_FRAME_BYTES);
	while ((op = fuzz_op(f, 4)) >= 0) {
		now += fuzz_in(f, 0, PFC_NS_MAX);
		if (op == 0) {
			struct ppfc_share s = { .increment = (__s64)fuzz_in(f, 0, PFC_BYTES_MAX - 1) };
			__u32 quanta = fuzz_u16(f);

			was = t;
			if (ppfc_tell(&t, now, quanta, bps, &s, fuzz_any(f)))
				FUZZ_ASSERT(quanta && !was.xoff && !ppfc_pauses(&was, now) && t.predict_ns > now &&
					    t.kbps <= PFC_BPS_MAX / 1000);
			else
				FUZZ_ASSERT(!memcmp(&was, &t, sizeof(t)));
			continue;
		}
		was = t;
		bytes = fuzz_any(f);
		free = fuzz_any(f);
		act = pfc_ingress(&t, &p, now, bytes, free, &pause);
		xoff = pfc_threshold(&p, free);
		FUZZ_ASSERT(xoff <= p.xoff && t.predict_ns == was.predict_ns && t.xoff <= 1);
		switch (act) {
		case PFC_NOTHING:
			FUZZ_ASSERT(!memcmp(&was, &t, sizeof(t)));
			FUZZ_ASSERT(was.xoff ? bytes : bytes <= xoff);
			break;
		case PFC_XOFF:
			FUZZ_ASSERT(!was.xoff && t.xoff && bytes > xoff);
			break;
		case PFC_REFRESH:
			FUZZ_ASSERT(was.xoff && t.xoff && was.until_ns <= now + p.pause_ns / 2);
			break;
		case PFC_XON:
			FUZZ_ASSERT(was.xoff && !t.xoff && bytes <= xoff);
			break;
		}
		/* Neither one cuts the other's pause short. */
		if (act != PFC_NOTHING && t.predict_ns > now)
			FUZZ_ASSERT(now + pause >= t.predict_ns);
		if (act == PFC_XOFF || act == PFC_REFRESH)
			FUZZ_ASSERT(pause >= p.pause_ns && t.until_ns == now + pause);
	}
}

/* ---- Obeying ---- */

static void obeyer(struct fuzz *f)
{
	struct pfc_obey_params p;
	struct pfc_obey o = {};
	__u64 now = fuzz_any(f) >> 2, asked, at, paused_since = 0;
	__u32 quanta;
	int op;

	pfc_obey_init(&p, fuzz_any(f));
	FUZZ_ASSERT(p.bps && p.bps < PFC_BPS_MAX && p.storm_ns);
	if (fuzz_coin(f))
		p.storm_ns = p.restore_ns = fuzz_in(f, 1, 10 * NSEC_PER_SEC);
	while ((op = fuzz_op(f, 8)) >= 0) {
		enum pfc_state was = pfc_state(&o, &p, now += fuzz_in(f, 0, p.storm_ns + PFC_NS_MAX));
		struct pfc_obey before = o;
		enum pfc_heard heard;

		if (op == 0) {
			pfc_forget(&o);
			paused_since = 0;
			continue;
		}
		if (op < 4) {
			asked = fuzz_any(f) >> 2;
			at = pfc_asked(&o, &p, now, asked);
			FUZZ_ASSERT(at >= asked && !memcmp(&o, &before, sizeof(o)));
			if (was != PFC_PAUSED)
				FUZZ_ASSERT(at == asked);
			else /* A storm is obeyed for storm_ns from its first frame. */
				FUZZ_ASSERT(at == asked ||
					    (at > now && at <= paused_since + p.storm_ns && at <= o.until_ns));
			continue;
		}
		quanta = op == 4 ? 0 : fuzz_u16(f);
		heard = pfc_hear(&o, &p, now, quanta);
		if (!quanta && before.state == PFC_RESUMED) /* XON after another changes nothing */
			FUZZ_ASSERT(heard == PFC_RESUMES_NONE && !memcmp(&o, &before, sizeof(o)));
		else
			FUZZ_ASSERT(o.heard_ns == now && o.until_ns <= now + pfc_quanta_ns(quanta, p.bps));
		switch (heard) {
		case PFC_PAUSES:
			FUZZ_ASSERT(quanta && was != PFC_PAUSED && was != PFC_STORM);
			paused_since = now;
			break;
		case PFC_REFRESHES:
			FUZZ_ASSERT(quanta && was == PFC_PAUSED);
			break;
		case PFC_RESUMES:
			FUZZ_ASSERT(!quanta && was == PFC_PAUSED);
			break;
		case PFC_RESUMES_NONE:
			FUZZ_ASSERT(!quanta && was != PFC_PAUSED && was != PFC_STORM);
			break;
		case PFC_STORM_BEGINS:
			FUZZ_ASSERT(quanta && was == PFC_STORM && now >= paused_since + p.storm_ns);
			break;
		case PFC_STORM_IGNORED:
			FUZZ_ASSERT(quanta && was == PFC_STORM && before.state == PFC_STORM);
			break;
		case PFC_STORM_ENDS:
			FUZZ_ASSERT(!quanta && was == PFC_STORM);
			break;
		}
		if (!quanta)
			FUZZ_ASSERT(pfc_state(&o, &p, now) == PFC_RESUMED);
	}
}

/* ---- Prediction ---- */

static __s64 growth(struct fuzz *f)
{
	__u64 v = fuzz_in(f, 0, PFC_BYTES_MAX - 1);

	return fuzz_coin(f) ? -(__s64)v : (__s64)v;
}

static void predict_holds(struct fuzz *f, struct ppfc_queue *q, __u32 n, const struct ppfc_params *p, __u64 elapsed)
{
	__u64 free = fuzz_any(f);
	__s64 left = 0, total = 0;
	__u32 i, k, acts, counted = 0, taken = 0;

	acts = ppfc_predict(q, n, p, free, elapsed);
	for (i = 0; i < n; i++) {
		total += ppfc_growth(&q[i]);
		taken += q[i].taken;
		counted += q[i].acts;
		if (q[i].acts)
			FUZZ_ASSERT(q[i].taken && q[i].bytes > p->k_max && q[i].increment > 0);
		left += q[i].taken ? -ppfc_leaving(&q[i], p, elapsed) : ppfc_growth(&q[i]);
		FUZZ_ASSERT(ppfc_leaving(&q[i], p, elapsed) >= 0);
		/* By growth, fastest first. */
		for (k = 0; k < n; k++)
			FUZZ_ASSERT(!q[i].taken || q[k].taken || ppfc_growth(&q[i]) >= ppfc_growth(&q[k]));
	}
	FUZZ_ASSERT(acts == counted);
	/* No port is to blame if the buffer lasts; otherwise enough ports that it does, or all. */
	if (ppfc_remaining(free, total, elapsed) >= p->t_thresh_ns)
		FUZZ_ASSERT(!taken);
	FUZZ_ASSERT(taken == n || ppfc_remaining(free, left, elapsed) >= p->t_thresh_ns);
	/* One queue alone gives the same, if no sum leaves the range. */
	for (i = 0; i < n; i++) {
		struct ppfc_blame b = {};

		for (k = 0; k < n; k++)
			if (k != i)
				ppfc_blame_add(&b, &q[i], &q[k], k < i, p, elapsed);
		FUZZ_ASSERT(ppfc_blames(&b, &q[i], p, free, elapsed) == q[i].acts);
	}
}

/* ---- Growth, at arrival ---- */

static void meter(struct fuzz *f)
{
	struct ppfc_meter m = {}, was;
	__u64 now = fuzz_any(f) >> 2, window, wide;
	__u32 bytes;
	__s64 growth;

	while (f->left) {
		window = ppfc_window_ns(fuzz_any(f), fuzz_u16(f));
		FUZZ_ASSERT(window && window * PPFC_WINDOWS_MAX < PFC_NS_MAX);
		now = fuzz_u8(f) % 8 ? now + fuzz_in(f, 0, 2 * window) : fuzz_any(f) >> 1; /* it jumps */
		bytes = fuzz_in(f, 0, PFC_BYTES_MAX - 1);
		was = m;
		switch (ppfc_meter_step(&m, now, bytes, window)) {
		case PPFC_STEP_NONE:
			FUZZ_ASSERT(!memcmp(&m, &was, sizeof(m)) && now - m.begun_ns < window);
			break;
		case PPFC_STEP_BEGINS:
			FUZZ_ASSERT(!m.elapsed_ns && !m.increment && m.begun_ns == now);
			break;
		case PPFC_STEP_ENDS:
			FUZZ_ASSERT(m.elapsed_ns >= window && m.elapsed_ns < PFC_NS_MAX && m.begun_ns == now);
			FUZZ_ASSERT(m.increment == (__s64)bytes - was.begun_bytes);
			break;
		}
		wide = fuzz_any(f);
		growth = ppfc_meter_growth(&m, fuzz_coin(f) ? now : wide >> 1, fuzz_in(f, 0, PFC_BYTES_MAX - 1), wide);
		FUZZ_ASSERT(growth > -(__s64)PFC_BYTES_MAX && growth < (__s64)PFC_BYTES_MAX);
	}
}

static void choose_holds(struct fuzz *f, struct ppfc_queue *q, const struct ppfc_params *p, __u64 elapsed)
{
	struct ppfc_share s[PORTS];
	__u32 n = fuzz_u8(f) % (PORTS + 1), i, drawn, counted = 0, quanta, most;
	__u64 left = PFC_BYTES_MAX - 1, sum = 0, bps, bound;
	struct ppfc_random r;

	for (i = 0; i < n; i++) {
		s[i] = (struct ppfc_share){ .increment = growth(f), .bytes = fuzz_in(f, 0, left), .drawn = 7 };
		left -= s[i].bytes;
		sum += s[i].bytes;
	}
	q->bytes = sum;
	ppfc_seed(&r, fuzz_u64(f));
	FUZZ_ASSERT(r.state);
	drawn = ppfc_choose(s, n, p, &r);
	for (i = 0; i < n; i++) {
		FUZZ_ASSERT(s[i].drawn <= 1);
		/* Only a port that grows, and has something in the queue. */
		FUZZ_ASSERT(!s[i].drawn || (s[i].increment > 0 && s[i].bytes));
		counted += s[i].drawn;
		bps = fuzz_in(f, 1, PFC_BPS_MAX - 1);
		quanta = ppfc_duration(&s[i], q, p, elapsed, bps);
		bound = ppfc_bound(q, p, elapsed);
		/* Theorem 3.2: below (q + v d) / v_r, or there is none. */
		FUZZ_ASSERT(quanta <= PFC_QUANTA_MAX);
		FUZZ_ASSERT(!quanta || (unsigned __int128)quanta * PFC_QUANTUM_NSBPS < (unsigned __int128)bound * bps);
		most = pfc_ns_quanta(pfc_bytes_ns(PFC_BYTES_MAX - 1, q->bps), bps);
		FUZZ_ASSERT(quanta <= most);
	}
	FUZZ_ASSERT(drawn == counted);
}

static void prediction(struct fuzz *f)
{
	struct ppfc_params p;
	struct ppfc_queue q[QUEUES];
	struct pfc_told t = {};
	__u64 elapsed, now;
	__s64 back;
	__u32 n, i;

	ppfc_params_init(&p, fuzz_any(f), fuzz_any(f), fuzz_u16(f), fuzz_in(f, 0, PFC_BPS_MAX - 1), fuzz_any(f));
	FUZZ_ASSERT(p.t_thresh_ns < PFC_NS_MAX && p.d_ns < PFC_NS_MAX && p.k_max < PFC_BYTES_MAX);
	if (fuzz_coin(f))
		p.r = fuzz_in(f, 1, Q24_ONE);
	while (f->left) {
		elapsed = fuzz_any(f);
		n = fuzz_u8(f) % (QUEUES + 1);
		for (i = 0; i < n; i++) {
			q[i] = (struct ppfc_queue){ .bps = fuzz_in(f, 0, PFC_BPS_MAX - 1),
						    .increment = growth(f),
						    .bytes = fuzz_in(f, 0, PFC_BYTES_MAX - 1) };
			now = fuzz_any(f) >> 2;
			t.predict_ns = now + fuzz_in(f, 0, PFC_NS_MAX);
			t.kbps = fuzz_in(f, 0, PFC_BPS_MAX / 1000);
			back = ppfc_returning(&t, now, q[i].increment, elapsed);
			FUZZ_ASSERT(back >= 0 && back < 2 * (__s64)PFC_BYTES_MAX);
			q[i].returning = back;
		}
		predict_holds(f, q, n, &p, elapsed);
		if (n)
			choose_holds(f, &q[0], &p, elapsed);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };

	switch (fuzz_op(&f, 6)) {
	case 0:
		while (f.left)
			frame(&f);
		break;
	case 1:
		while (f.left)
			quanta_hold(fuzz_in(&f, 0, PFC_NS_MAX), fuzz_in(&f, 0, PFC_BPS_MAX - 1), fuzz_u16(&f));
		break;
	case 2:
		pauser(&f);
		break;
	case 3:
		obeyer(&f);
		break;
	case 4:
		prediction(&f);
		break;
	case 5:
		meter(&f);
		break;
	}
	return 0;
}

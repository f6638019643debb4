// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sender's flow: Algorithm 1 in all variants, what a receiver reports (rx.h), Swift, the ceiling of W, and the clock
 * of departures, in any order over one state, as the ingress program calls them.
 */
#include "hpcc.h"
#include "sluice/cc/ceiling.h"
#include "sluice/pacer.h"
#include "sluice/cc/rx.h"
#include "sluice/cc/swift.h"

struct sender {
	struct hpcc_params params;
	struct swift_params swift;
	struct hpcc_state cc;
	struct hpcc_ack ack;
	struct ceiling ceiling;
	__u64 now_ns, clock_ns;
};

static void sender_feedback(struct sender *s, struct fuzz *f)
{
	struct hpcc_state was = s->cc;
	enum hpcc_kind kind;

	fuzz_hpcc_ack(f, &s->ack);
	kind = hpcc_new_ack(&s->cc, &s->params, &s->ack);
	fuzz_hpcc_kind_holds(&was, &s->cc, kind);
	if (!s->ack.hops || s->ack.hops > HPCC_MAX_HOPS)
		FUZZ_ASSERT(kind == HPCC_SKIPPED);
	if (kind == HPCC_SKIPPED)
		return;
	fuzz_hpcc_recorded(&s->cc, &s->ack);
	/* The first feedback of all says where the first RTT ends. */
	if (kind == HPCC_FIRST) {
		FUZZ_ASSERT(s->cc.last_update_seq == (was.last_update_seq ?: s->ack.snd_nxt));
		return;
	}
	FUZZ_ASSERT(s->cc.last_update_seq == was.last_update_seq ||
		    (s->cc.last_update_seq == s->ack.snd_nxt && s->ack.seq > was.last_update_seq));
	FUZZ_ASSERT(s->cc.bottleneck < s->cc.hops);
	fuzz_hpcc_u_holds(&was, &s->cc, &s->params, &s->ack);
	fuzz_vai_holds(&was.vai, &s->cc.vai, &s->params);
	fuzz_hpcc_rate_holds(&s->cc, &s->params);
	if (s->params.variant == HPCC_VAI_SF)
		return;
	fuzz_hpcc_window_holds(&s->cc, &s->params, was.wc, was.inc_stage, s->params.w_ai);
	/* Once per RTT; only chance leaves one out. */
	if (s->params.variant != HPCC_PROBABILISTIC)
		FUZZ_ASSERT((kind == HPCC_FULL) == (s->ack.seq > was.last_update_seq));
	else
		FUZZ_ASSERT(kind == HPCC_FAST || s->ack.seq > was.last_update_seq);
}

/* A receiver reports W: absurd ones are reported as such, and clamped. */
static void sender_window(struct sender *s, struct fuzz *f)
{
	__u64 w = fuzz_u32(f);
	enum rx_verdict verdict = rx_window(&s->cc, &s->params, w);

	FUZZ_ASSERT((verdict == RX_TOO_LOW) == (w < RX_W_MIN_BYTES));
	FUZZ_ASSERT((verdict == RX_TOO_HIGH) == (w > HPCC_W_MAX_BYTES));
	FUZZ_ASSERT(s->cc.w == s->cc.wc);
	if (q12_from_bytes(w) >= s->params.w_min && q12_from_bytes(w) <= s->params.w_init)
		FUZZ_ASSERT(s->cc.w == q12_from_bytes(w));
	fuzz_hpcc_rate_holds(&s->cc, &s->params);
}

/* And N. */
static void sender_flows(struct sender *s, struct fuzz *f)
{
	__u32 n = fuzz_u32(f), clamped = n < 1 ? 1 : n > RX_N_MAX ? RX_N_MAX : n;
	enum rx_verdict verdict = rx_flows(&s->params, n, fuzz_u64(f) >> 20);
	__u64 headroom = s->params.w_init * (Q24_ONE - s->params.eta) >> 24;

	FUZZ_ASSERT((verdict == RX_TAKEN) == (n == clamped));
	if (s->params.variant == HPCC_HIGH_AI)
		FUZZ_ASSERT(s->params.w_ai <= s->params.w_init);
	else
		FUZZ_ASSERT(s->params.w_ai * clamped <= headroom);
	swift_params_init(&s->swift, &s->params, fuzz_u8(f) % (HPCC_MAX_HOPS + 1));
}

static void sender_delay(struct sender *s, struct fuzz *f)
{
	struct swift_ack ack = { .seq = fuzz_any(f), .delay_ns = fuzz_u32(f), .random = fuzz_u32(f) };
	struct hpcc_state was = s->cc;
	__u32 target = swift_target(&s->swift, &s->params, s->cc.wc);
	enum hpcc_kind kind;

	ack.snd_nxt = ack.seq + fuzz_u16(f);
	kind = swift_new_ack(&s->cc, &s->params, &s->swift, &ack);
	FUZZ_ASSERT(target >= s->swift.target_ns && target <= s->swift.target_ns + s->swift.fs_range_ns);
	FUZZ_ASSERT((kind == HPCC_SKIPPED) == !ack.delay_ns && kind != HPCC_FIRST);
	fuzz_hpcc_kind_holds(&was, &s->cc, kind);
	if (kind == HPCC_SKIPPED)
		return;
	fuzz_hpcc_rate_holds(&s->cc, &s->params);
	fuzz_vai_holds(&was.vai, &s->cc.vai, &s->params);
	/* W falls by at most half, and not below the target; above it W does not rise, except by tokens and up to the floor. */
	FUZZ_ASSERT(s->cc.w + 1 >= was.wc / 2);
	if (ack.delay_ns <= target || target >= SWIFT_DELAY_MAX_NS)
		FUZZ_ASSERT(s->cc.w >= was.wc);
	else if (s->params.variant != HPCC_VAI_SF)
		FUZZ_ASSERT(s->cc.w <= was.wc || s->cc.w == hpcc_floor(&s->params));
}

/* A reply, a loss or a timeout that no hop explains: W is bounded, and nothing else. */
static void sender_ceiling(struct sender *s, struct fuzz *f)
{
	struct ceiling_sample sample = { .seq = fuzz_any(f),
					 .w = s->cc.w,
					 .rtt_ns = fuzz_u32(f) & (1 << 30) - 1,
					 .queue_ns = fuzz_u32(f),
					 .there = fuzz_u32(f),
					 .clock = fuzz_coin(f),
					 .full = fuzz_coin(f),
					 .flows = fuzz_u16(f) };
	__u32 cuts = s->ceiling.by_delay, what = fuzz_u8(f);
	q12_t was = s->ceiling.w;

	sample.snd_nxt = sample.seq + fuzz_u16(f);
	if (what == 0)
		ceiling_timeout(&s->ceiling, &s->params, s->cc.w);
	else if (what == 1)
		ceiling_lost(&s->ceiling, &s->params, s->cc.w);
	else if (what == 2)
		ceiling_forget(&s->ceiling);
	else
		FUZZ_ASSERT(ceiling_feedback(&s->ceiling, &s->params, &sample) == (int)(s->ceiling.by_delay - cuts));
	FUZZ_ASSERT(sample.rtt_ns || what < 3 || s->ceiling.by_delay == cuts);
	FUZZ_ASSERT(s->ceiling.delay_ns < 1 << 30);
	FUZZ_ASSERT(!s->ceiling.w || what == 0 || s->ceiling.w == was || s->ceiling.w >= hpcc_floor(&s->params));
	ceiling_apply(&s->ceiling, &s->params, &s->cc, fuzz_coin(f));
	FUZZ_ASSERT(!s->ceiling.w || s->cc.w <= s->ceiling.w || s->cc.w <= s->params.w_min);
	FUZZ_ASSERT(!s->ceiling.w || s->cc.rate_bps <= hpcc_rate_bps(s->cc.w, s->params.t_ns));
}

static void sender_departure(struct sender *s, struct fuzz *f)
{
	__u64 asked, at, was = s->clock_ns, wait;
	__u32 bytes = fuzz_in(f, 1, (1 << 20) - 1);

	s->now_ns += fuzz_in(f, 0, NSEC_PER_SEC);
	asked = fuzz_coin(f) ? s->now_ns + fuzz_in(f, 0, NSEC_PER_SEC) : 0;
	at = pacer_departure(s->now_ns, s->clock_ns, asked);
	FUZZ_ASSERT(at >= s->now_ns && at >= s->clock_ns && at >= asked);
	FUZZ_ASSERT(at == s->now_ns || at == s->clock_ns || at == asked);
	s->clock_ns = at + pacer_cost_ns(bytes, s->cc.rate_bps);
	FUZZ_ASSERT(s->clock_ns >= was);
	wait = pacer_wait_ns(s->now_ns, at);
	FUZZ_ASSERT(wait < PACER_WAIT_MAX_NS && (!wait || s->now_ns + wait == at));
	/* The horizon: a clock that is further ahead is taken back, as egress does. */
	if (s->clock_ns > s->now_ns + NSEC_PER_SEC)
		s->clock_ns = s->now_ns;
}

static void ratio_holds(struct fuzz *f)
{
	__u64 num = fuzz_u64(f) >> (fuzz_u8(f) & 63), den = fuzz_u64(f) >> (fuzz_u8(f) & 63);
	unsigned __int128 want;
	q24_t r = q24_ratio(num, den);

	FUZZ_ASSERT(r <= 1ULL << 38);
	if (!den || num / den >= 1 << 14) {
		FUZZ_ASSERT(r == (den ? 1ULL << 38 : 0));
		return;
	}
	want = ((unsigned __int128)num << 24) / den;
	/* At least 27 bits of the divisor are used: the rounding, and 2^-25 of a rest below 1. */
	FUZZ_ASSERT(r <= want + 2 && r + 2 >= want);
}

static void sqrt_holds(__u32 v)
{
	__u64 root = swift_sqrt(v);

	FUZZ_ASSERT(root * root <= v && (root + 1) * (root + 1) > v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };
	struct sender s = { .now_ns = NSEC_PER_SEC };
	int op;

	fuzz_hpcc_params(&f, &s.params);
	swift_params_init(&s.swift, &s.params, fuzz_u8(&f) % (HPCC_MAX_HOPS + 1));
	hpcc_init(&s.cc, &s.params);
	fuzz_hpcc_holds(&s.cc, &s.params);
	while ((op = fuzz_op(&f, 12)) >= 0) {
		switch (op) {
		case 0:
			sender_window(&s, &f);
			break;
		case 1:
			sender_flows(&s, &f);
			break;
		case 2:
			sender_delay(&s, &f);
			break;
		case 3:
			sender_ceiling(&s, &f);
			break;
		case 4:
			sender_departure(&s, &f);
			break;
		case 5: /* T, and with it w_min, has changed */
			if (fuzz_coin(&f))
				s.params.w_min = fuzz_in(&f, 1, s.params.w_init);
			hpcc_cap(&s.cc, &s.params, fuzz_in(&f, 0, q12_from_bytes(HPCC_W_MAX_BYTES)));
			fuzz_hpcc_rate_holds(&s.cc, &s.params);
			break;
		case 6:
			hpcc_forget(&s.cc);
			break;
		case 7: /* SIGHUP: the prefix is given another variant */
			hpcc_params_variant(&s.params, fuzz_u8(&f) % (HPCC_VARIANTS + 1));
			swift_params_init(&s.swift, &s.params, fuzz_u8(&f) % (HPCC_MAX_HOPS + 1));
			break;
		case 8:
			ratio_holds(&f);
			break;
		case 9:
			sqrt_holds(fuzz_u32(&f));
			break;
		default:
			sender_feedback(&s, &f);
		}
		fuzz_hpcc_holds(&s.cc, &s.params);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* DCQCN, TIMELY, DCTCP and CUBIC, as in their papers. The constants are those of HPCC, section 5.1. */
#include <math.h>
#include "sim/engine.h"
#include "sim/rivals.h"
#include "sim/control.h"

#define DCQCN_G (1 / 256.0)
#define RATE_AI (50e6 / 25e9) /* as a share of the port's speed, like the next ones */
#define RATE_HAI (100e6 / 25e9)
#define RATE_MIN (100e6 / 25e9)

#define TIMELY_LOW_NS 50000.0
#define TIMELY_HIGH_NS 500000.0
#define TIMELY_MIN_NS 20000.0
#define TIMELY_ALPHA 0.875
#define TIMELY_BETA 0.8
#define TIMELY_FAST 5

#define DCTCP_G (1 / 16.0)

#define TCP_FIRST 10 /* packets of the first window (RFC 6928) */
#define CUBIC_C 0.4
#define CUBIC_BETA 0.7
#define CUBIC_ALPHA (3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA))
struct dcqcn_rules dcqcn_rules;

static double rate_clamp(double rate)
{
	return fmin(fmax(rate, RATE_MIN * control_line_bps()), control_line_bps());
}

/* --- DCQCN --- */

void dcqcn_begin(struct sim_flow *f)
{
	f->dcqcn = (struct dcqcn){
		.rate = control_line_bps(), .target = control_line_bps(), .alpha = 1, .alpha_ns = engine.now_ns
	};
	f->rate_bps = control_line_bps();
	f->window = 0;
}

void dcqcn_window_begin(struct sim_flow *f)
{
	dcqcn_begin(f);
	f->window = q12_to_bytes(scheme_rules.hpcc.w_init);
}

/* Alpha falls with each period without a CNP: for all of them at once, because it is not read in between. */
static void dcqcn_alpha(struct dcqcn *d)
{
	double periods = floor((engine.now_ns - d->alpha_ns) / (double)dcqcn_rules.alpha_ns);

	d->alpha *= pow(1 - DCQCN_G, periods);
	d->alpha_ns += periods * dcqcn_rules.alpha_ns;
}

void dcqcn_cnp(struct sim_flow *f)
{
	struct dcqcn *d = &f->dcqcn;

	dcqcn_alpha(d);
	d->alpha = (1 - DCQCN_G) * d->alpha + DCQCN_G;
	d->target = d->rate;
	d->rate = rate_clamp(d->rate * (1 - d->alpha / 2));
	d->by_time = 0;
	f->rate_bps = d->rate;
	if (!d->timer_ns)
		event_at(engine.now_ns + dcqcn_rules.timer_ns, EVENT_SCHEME, f - traffic.list);
	d->timer_ns = engine.now_ns + dcqcn_rules.timer_ns;
}

/* Fast recovery, additive and hyper increase. At line rate there is nothing to do. */
void dcqcn_timer(struct sim_flow *f)
{
	struct dcqcn *d = &f->dcqcn;

	if (f->done_ns)
		return;
	if (engine.now_ns < d->timer_ns) {
		event_at(d->timer_ns, EVENT_SCHEME, f - traffic.list);
		return;
	}
	if (++d->by_time > dcqcn_rules.fast)
		d->target = rate_clamp(d->target +
				       (d->by_time == dcqcn_rules.fast + 1 ? RATE_AI : RATE_HAI) * control_line_bps());
	d->rate = (d->rate + d->target) / 2;
	f->rate_bps = d->rate;
	d->timer_ns = d->rate < control_line_bps() ? engine.now_ns + dcqcn_rules.timer_ns : 0;
	if (d->timer_ns)
		event_at(d->timer_ns, EVENT_SCHEME, f - traffic.list);
}

/* --- TIMELY --- */

void timely_begin(struct sim_flow *f)
{
	f->timely = (struct timely){ .rate = control_line_bps() };
	f->rate_bps = control_line_bps();
	f->window = 0;
}

void timely_window_begin(struct sim_flow *f)
{
	timely_begin(f);
	f->window = q12_to_bytes(scheme_rules.hpcc.w_init);
}

/* Algorithm 1, once per bytes in flight. */
void timely_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct timely *t = &f->timely;
	double rtt = engine.now_ns - p->sent_ns, gradient, steps;

	if (p->told < t->since)
		return;
	t->since = f->snd_nxt;
	if (!t->rtt_ns)
		t->rtt_ns = rtt;
	t->diff_ns = (1 - TIMELY_ALPHA) * t->diff_ns + TIMELY_ALPHA * (rtt - t->rtt_ns);
	t->rtt_ns = rtt;
	gradient = t->diff_ns / TIMELY_MIN_NS;
	if (rtt < TIMELY_LOW_NS) {
		t->rate += RATE_AI * control_line_bps();
	} else if (rtt > TIMELY_HIGH_NS) {
		t->rate *= 1 - TIMELY_BETA * (1 - TIMELY_HIGH_NS / rtt);
	} else if (gradient <= 0) {
		steps = ++t->fast >= TIMELY_FAST ? 5 : 1;
		t->rate += steps * RATE_AI * control_line_bps();
	} else {
		t->fast = 0;
		t->rate *= 1 - TIMELY_BETA * fmin(gradient, 1);
	}
	t->rate = rate_clamp(t->rate);
	f->rate_bps = t->rate;
}

/* --- DCTCP --- */

static double packet_bytes(void)
{
	return host_rules.payload + host_rules.header;
}

void dctcp_begin(struct sim_flow *f)
{
	f->tcp = (struct tcp){ .window = q12_to_bytes(scheme_rules.hpcc.w_init), .threshold = INFINITY };
	f->window = f->tcp.window;
	f->rate_bps = control_line_bps();
}

/* RFC 8257, section 3.3; as in 000, it starts with W_init and not with slow start. */
void dctcp_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct tcp *t = &f->tcp;

	t->acked++;
	t->marked += p->ce;
	if (p->ce && f->snd_una >= t->recover) {
		t->window *= 1 - t->alpha / 2;
		t->recover = f->snd_nxt;
	} else if (!p->ce) {
		t->window += packet_bytes() * packet_bytes() / t->window;
	}
	if (f->snd_una >= t->round) {
		t->alpha = (1 - DCTCP_G) * t->alpha + DCTCP_G * t->marked / t->acked;
		t->acked = t->marked = 0;
		t->round = f->snd_nxt;
	}
	t->window = fmin(fmax(t->window, packet_bytes()), 2.0 * q12_to_bytes(scheme_rules.hpcc.w_init));
	f->window = t->window;
}

void dctcp_loss(struct sim_flow *f, int timeout)
{
	struct tcp *t = &f->tcp;

	if (!timeout && f->snd_una < t->recover)
		return;
	t->window = timeout ? packet_bytes() : fmax(t->window / 2, packet_bytes());
	t->recover = f->snd_nxt;
	f->window = t->window;
}

/* --- CUBIC --- */

void cubic_begin(struct sim_flow *f)
{
	f->tcp = (struct tcp){ .window = TCP_FIRST * packet_bytes(), .threshold = INFINITY };
	f->window = f->tcp.window;
	f->rate_bps = control_line_bps();
}

/* Sections 4.2 to 4.5, in packets and seconds; and slow start. `acked` is in bytes here. */
void cubic_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct tcp *t = &f->tcp;
	double one = packet_bytes(), most = t->most / one, since, target, acked = f->snd_una - t->acked;

	(void)p;
	t->acked = f->snd_una;
	if (!acked)
		return;
	/* An unused window does not grow (RFC 7661). */
	if (flow_inflight(f) + acked + one < (t->window < t->threshold ? t->window / 2 : t->window))
		return;
	acked = acked / host_rules.payload * one;
	if (t->window < t->threshold) {
		t->window += acked;
	} else {
		if (!t->epoch_ns) {
			t->epoch_ns = engine.now_ns;
			t->friendly = t->window;
			most = fmax(most, t->window / one);
			t->most = most * one;
			t->back = cbrt((most - t->window / one) / CUBIC_C);
		}
		since = (engine.now_ns - t->epoch_ns + scheme_rules.hpcc.t_ns) / 1e9;
		target = (CUBIC_C * pow(since - t->back, 3) + most) * one;
		target = fmin(fmax(target, t->window), 1.5 * t->window);
		t->friendly += CUBIC_ALPHA * one * acked / t->friendly;
		t->window += (target - t->window) * acked / t->window;
		t->window = fmax(t->window, t->friendly);
	}
	f->window = t->window;
}

/* At most one decrease in a round trip, with fast convergence. */
void cubic_loss(struct sim_flow *f, int timeout)
{
	struct tcp *t = &f->tcp;

	if (!timeout && f->snd_una < t->recover)
		return;
	t->most = t->window < t->most ? t->window * (1 + CUBIC_BETA) / 2 : t->window;
	t->threshold = fmax(t->window * CUBIC_BETA, 2 * packet_bytes());
	t->window = timeout ? packet_bytes() : t->threshold;
	t->epoch_ns = 0;
	t->recover = f->snd_nxt;
	f->window = t->window;
}

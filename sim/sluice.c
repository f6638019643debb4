// SPDX-License-Identifier: GPL-2.0-only
/* See sluice.h. */
#include <stdlib.h>
#include "sim/control.h"
#include "sim/engine.h"
#include "sim/rtt.h"
#include "sim/sluice.h"
#include "sluice/cc/first.h"
#include "sluice/cc/slack.h"

#define KNOWN 1024 /* hosts of which a sender knows R; of more, each takes the place of another */
#define COUNTS 8   /* times per T that a flow is counted (REPORT_COUNTS of bpf/host/report.bpf.h) */
#define CLOCK(ns) ((uint32_t)((ns) >> CEILING_CLOCK_SHIFT))

const char *const sluice_implied[] = {
	"switch.stamp=enqueue",
	/* A packet of 1514 bytes, and an ACK, as TCP with timestamps makes them. */
	"host.payload=1448",
	"host.header=66",
	"host.ack=66",
	/* Delayed ACKs, and the packet on top of the window that they need. */
	"host.ack_every=2",
	"host.slack=1",
	/* GSO, and the timer_slack of fq. */
	"host.burst=auto",
	"host.late=10us",
	/* IPv4, and a key: docs/messages.md. */
	"host.carriage=companion",
	"companion.bytes=126",
	"hpcc.flows=auto",
	NULL,
};

/* R and ceiling of the flows from one sender to one host. */
struct known {
	uint32_t to;
	uint64_t rate_bps, rate_ns; /* R of a flow, and when that was; 0: nothing is known */
	uint64_t bound_ns;	    /* when a flow last had a ceiling; 0: never */
};

static struct node {
	struct first_flows first;  /* of what it sends */
	struct rx_counter counter; /* of what it receives */
	__u64 promised_ns;	   /* to flows that begin, up to this time */
	struct known *known;	   /* by receiver; NULL: nothing is known */
} * nodes;

void sluice_hosts_begin(void)
{
	uint32_t i;

	nodes = grow(NULL, net.hosts_count, sizeof(*nodes));
	for (i = 0; i < net.hosts_count; i++)
		nodes[i] = (struct node){};
}

void sluice_hosts_end(void)
{
	uint32_t i;

	for (i = 0; i < net.hosts_count; i++)
		free(nodes[i].known);
	free(nodes);
}

/* The entry of the flow's receiver; NULL: nothing is known of it. */
static const struct known *known_of(const struct sim_flow *f)
{
	const struct known *k = nodes[f->from].known;

	return k && k[f->to % KNOWN].rate_ns && k[f->to % KNOWN].to == f->to ? &k[f->to % KNOWN] : NULL;
}

/* As host_note_rate(). */
static void known_note(const struct sim_flow *f)
{
	struct node *n = &nodes[f->from];
	uint64_t bound_ns = known_of(f) ? known_of(f)->bound_ns : 0;
	uint32_t i;

	if (f->sluice.feedbacks < 2)
		return;
	if (!n->known) {
		n->known = grow(NULL, KNOWN, sizeof(*n->known));
		for (i = 0; i < KNOWN; i++)
			n->known[i] = (struct known){};
	}
	n->known[f->to % KNOWN] = (struct known){ .to = f->to,
						  .rate_bps = f->cc.rate_bps,
						  .rate_ns = engine.now_ns,
						  .bound_ns = ceiling_was_cut(&f->ceiling) ? engine.now_ns : bound_ns };
}

/* W, the room that TCP has beyond it, and R. */
static void output(struct sim_flow *f)
{
	uint64_t w = q12_to_bytes(f->cc.w);

	if (!f->ceiling.w)
		w += slack_bytes(&f->cc, f->sluice.params.t_ns, w, f->sluice.feedbacks);
	f->window = w;
	f->rate_bps = f->cc.rate_bps;
}

/* N, scaled to W_init, and what follows from it. bps: of the bottleneck, or 0. */
static void params_take(struct sim_flow *f, uint32_t flows, uint64_t bps)
{
	f->sluice.params = scheme_rules.hpcc;
	f->sluice.flows = flows;
	if (flows)
		rx_flows(&f->sluice.params, flows, bps);
}

/* --- 1. the first window: as flow_begin() --- */

static void first_take(struct sim_flow *f, int anew)
{
	const struct hpcc_params *p = &f->sluice.params;
	struct first_flows *first = &nodes[f->from].first;
	const struct known *k = anew ? known_of(f) : NULL;
	uint32_t *began = &f->companion.began_us, n;
	q12_t old = q12_from_bytes(FIRST_OLD_PACKETS * p->packet), known = 0, share;

	if (k) {
		known = q12_from_bytes(hpcc_bdp_bytes(k->rate_bps, p->t_ns));
		if (engine.now_ns - k->rate_ns >= FIRST_KNOWN_RTTS * p->t_ns && known < old)
			known = old;
	}
	n = anew ? first_count(first, began, engine.now_ns, p->t_ns, k ? k->rate_ns : 0) : first_counted(first);
	if (!anew && *began != FIRST_OVER && !f->sluice.told &&
	    (uint32_t)(engine.now_ns >> FIRST_SHIFT) - *began > FIRST_RTTS * p->t_ns >> FIRST_SHIFT)
		*began = FIRST_OVER;
	share = *began == FIRST_OVER ? p->w_init : first_share(p->w_init, n, known);
	if (anew || *began == FIRST_OVER || hpcc_rate_bps(share, p->t_ns) < f->cc.rate_bps) {
		f->cc.w = f->cc.wc = p->w_init;
		first_cap(&f->cc, p, share);
	}
	if (k && k->bound_ns && engine.now_ns - k->bound_ns < CEILING_REMEMBERED_NS)
		ceiling_begin(&f->ceiling, p, f->cc.w);
}

void sluice_begin(struct sim_flow *f)
{
	params_take(f, 0, 0);
	hpcc_init(&f->cc, &f->sluice.params);
	first_take(f, 1);
	output(f);
}

void sluice_sent(struct sim_flow *f, uint32_t bytes)
{
	(void)bytes;
	if (f->sluice.feedbacks)
		return;
	first_take(f, 0);
	output(f);
}

/* --- 2. N --- */

/* As report_flows(). */
void sluice_seen(struct sim_flow *f, struct sim_packet *p)
{
	const struct sim_port *port = &net.ports[net.nodes[net.hosts[f->to]].ports_first];
	struct rx_counter *counter = &nodes[f->to].counter;
	uint64_t t_ns = scheme_rules.hpcc.t_ns;
	uint32_t n;

	if (engine.now_ns >= f->sluice.count_ns) {
		f->sluice.count_ns = engine.now_ns + t_ns / COUNTS;
		rx_count(counter, &f->sluice.mark, engine.now_ns, RX_COUNT_RTTS * t_ns);
		f->sluice.counted = telem_flows(&port->speed, rx_counted(counter));
	}
	p->flows = f->sluice.counted;
	if (!f->opening)
		return;
	n = first_promise(&nodes[f->to].promised_ns, rx_counted(counter), engine.now_ns, t_ns);
	p->flows = telem_flows(&port->speed, n);
}

/* As feedback_flows(). */
static void counted_take(struct sim_flow *f, const struct hpcc_ack *ack, uint32_t told)
{
	uint64_t bps = ack->hop[f->cc.bottleneck].bps;
	uint32_t n;

	if (!scheme_rules.count)
		return;
	f->sluice.own_port = rx_own_port(f->sluice.own_port, f->cc.bottleneck + 1 == ack->hops);
	n = rx_flows_choose(f->sluice.own_port, scheme_rules.flows, rx_flows_scale(&f->sluice.params, told, bps));
	if (n != f->sluice.flows)
		params_take(f, n, bps);
}

/* --- 3. feedback: as feedback_take() --- */

/* As feedback_first(). */
static void first_feedback(struct sim_flow *f, const struct hpcc_ack *ack, uint32_t told)
{
	const struct hpcc_params *p = &f->sluice.params;
	q12_t share;

	if (told && scheme_rules.count) {
		share = first_told(p, told, ack->hops ? ack->hop[ack->hops - 1].bps : 0);
		if (f->sluice.told && !f->opening)
			first_raise(&f->cc, p, first_counted(&nodes[f->from].first), share);
		else
			first_cap(&f->cc, p, share);
	}
	f->sluice.told = f->opening;
	if (f->ceiling.slow || !ack->hops)
		ceiling_begin(&f->ceiling, p, f->cc.w);
}

/* No hop reports anything: W is the ceiling. */
static void bare_take(struct sim_flow *f)
{
	f->cc.u = 0;
	if (f->ceiling.w)
		return;
	f->cc.w = f->cc.wc = f->sluice.params.w_init;
	f->cc.rate_bps = hpcc_rate_bps(f->cc.w, f->sluice.params.t_ns);
}

/* The ceiling, by delays that no hop reports. w: W before this feedback. */
static void bounds_take(struct sim_flow *f, const struct hpcc_ack *ack, const struct sim_packet *p, q12_t w)
{
	struct ceiling_sample sample = { .seq = ack->seq,
					 .snd_nxt = ack->snd_nxt,
					 .w = w,
					 .rtt_ns = engine.now_ns - p->sent_ns,
					 .queue_ns = hpcc_queue_ns(ack),
					 .there = CLOCK(p->rx_ns) - CLOCK(p->sent_ns),
					 .clock = 1,
					 .full = f->cc.u >= f->sluice.params.eta,
					 .flows = scheme_rules.count ? p->flows : 0 };

	ceiling_feedback(&f->ceiling, &f->sluice.params, &sample);
	ceiling_apply(&f->ceiling, &f->sluice.params, &f->cc, host_rules.windows);
}

/* Losses are counted by windows: as cc_losses(). */
static void losses_take(struct sim_flow *f)
{
	uint64_t arrived = f->snd_una - f->sluice.window_at, lost = f->sluice.lost;

	if (arrived < q12_to_bytes(f->cc.w))
		return;
	f->sluice.window_at = f->snd_una;
	f->sluice.lost = 0;
	if (lost * 100 > (lost + arrived) * CEILING_LOSS_PERCENT &&
	    ceiling_lost(&f->ceiling, &f->sluice.params, f->cc.w))
		hpcc_cap(&f->cc, &f->sluice.params, f->ceiling.w);
}

void sluice_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct sluice_flow *own = &f->sluice;
	enum hpcc_kind kind = HPCC_FAST;
	struct hpcc_ack ack;
	q12_t w = f->cc.w;

	control_ack_of(f, p, &ack);
	rtt_on_ack(f, p, &ack);
	if (own->params.t_ns != scheme_rules.hpcc.t_ns)
		params_take(f, 0, 0);
	if (f->opening) { /* as flow_window_known(): W is what is told, and R is by it */
		first_feedback(f, &ack, p->flows);
		f->cc.rate_bps = hpcc_rate_bps(f->cc.w, own->params.t_ns);
		output(f);
		return;
	}
	if (ack.hops)
		kind = hpcc_new_ack(&f->cc, &own->params, &ack);
	if (!own->feedbacks && (kind == HPCC_FIRST || !ack.hops))
		first_feedback(f, &ack, p->flows);
	if (!ack.hops)
		bare_take(f);
	if (kind != HPCC_SKIPPED) {
		bounds_take(f, &ack, p, ack.hops ? f->cc.w : w);
		if (ack.hops && kind != HPCC_FIRST)
			counted_take(f, &ack, p->flows);
		f->fb_rx_ns = p->rx_ns;
		own->feedbacks++;
		known_note(f);
	}
	losses_take(f);
	output(f);
}

void sluice_loss(struct sim_flow *f, int timeout)
{
	if (!f->sluice.feedbacks)
		return;
	if (!timeout) {
		f->sluice.lost += f->hole_end > f->hole ? f->hole_end - f->hole : host_rules.payload;
		return;
	}
	ceiling_timeout(&f->ceiling, &f->sluice.params, f->cc.w);
	hpcc_cap(&f->cc, &f->sluice.params, f->ceiling.w);
	output(f);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The schemes of the papers, run by the core of include/sluice, and the list of all schemes. */
#include <string.h>
#include "sim/engine.h"
#include "sim/rivals.h"
#include "sim/rtt.h"
#include "sim/scheme.h"
#include "sim/sluice.h"
#include "sluice/cc/swift.h"

static struct swift_params swift;

static void control_output(struct sim_flow *f)
{
	f->window = q12_to_bytes(f->cc.w);
	f->rate_bps = f->cc.rate_bps;
}

static void core_begin(struct sim_flow *f)
{
	hpcc_init(&f->cc, &scheme_rules.hpcc);
	control_output(f);
}

static void hpcc_on_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct hpcc_ack ack;
	enum hpcc_kind kind;

	control_ack_of(f, p, &ack);
	rtt_on_ack(f, p, &ack);
	if (scheme_rules.per_ack)
		f->cc.last_update_seq = f->cc.last_update_seq ? 1 : 0;
	kind = hpcc_new_ack(&f->cc, &scheme_rules.hpcc, &ack);
	if (kind != HPCC_SKIPPED)
		f->fb_rx_ns = p->rx_ns;
	if (!scheme_rules.per_rtt || kind == HPCC_FULL)
		control_output(f);
}

/* The target depends on the hops of this flow's path: T already has the wires of both directions. */
static void swift_begin(struct sim_flow *f)
{
	core_begin(f);
	if (!swift.target_ns)
		swift_params_init(&swift, &scheme_rules.hpcc, scheme_rules.hops);
}

static void swift_on_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct swift_ack sample = { .seq = p->told,
				    .snd_nxt = f->snd_nxt,
				    .delay_ns = engine.now_ns - p->sent_ns,
				    .random = scheme->variant == HPCC_PROBABILISTIC ? random_u32() : 0 };

	swift_new_ack(&f->cc, &scheme_rules.hpcc, &swift, &sample);
	control_output(f);
}

/* No hop stamps on the way, and hosts have W_init: W is the ceiling alone. */
static void silent_begin(struct sim_flow *f)
{
	core_begin(f);
	f->cc.u = 0;
}

static void silent_on_ack(struct sim_flow *f, const struct sim_packet *p)
{
	struct ceiling_sample sample = { .seq = p->told,
					 .snd_nxt = f->snd_nxt,
					 .w = f->cc.w,
					 .rtt_ns = engine.now_ns - p->sent_ns,
					 .there = (p->rx_ns - p->sent_ns) >> CEILING_CLOCK_SHIFT,
					 .clock = 1,
					 .flows = scheme_rules.told };

	ceiling_feedback(&f->ceiling, &scheme_rules.hpcc, &sample);
	if (!f->ceiling.w)
		f->cc.w = scheme_rules.hpcc.w_init;
	ceiling_apply(&f->ceiling, &scheme_rules.hpcc, &f->cc, host_rules.windows);
	control_output(f);
}

static void silent_loss(struct sim_flow *f, int timeout)
{
	if (!timeout)
		return;
	ceiling_timeout(&f->ceiling, &scheme_rules.hpcc, f->cc.w);
	ceiling_apply(&f->ceiling, &scheme_rules.hpcc, &f->cc, host_rules.windows);
	control_output(f);
}

static void line_begin(struct sim_flow *f)
{
	f->window = q12_to_bytes(scheme_rules.hpcc.w_init);
	f->rate_bps = control_line_bps();
}

static void line_ack(struct sim_flow *f, const struct sim_packet *p)
{
	(void)f;
	(void)p;
}

/* Rx-HPCC: the receiver computes W, and the sender obeys. */
static void rx_begin(struct sim_flow *f)
{
	core_begin(f);
	rx_init(&f->rx, &scheme_rules.hpcc);
}

static uint64_t rx_on_arrival(struct sim_flow *f, const struct sim_packet *p)
{
	struct hpcc_ack ack;
	int report;

	control_ack_of(f, p, &ack);
	ack.gap_ns = f->fb_rx_ns ? (int64_t)(engine.now_ns - f->fb_rx_ns) : HPCC_GAP_UNKNOWN;
	f->fb_rx_ns = engine.now_ns;
	rx_new_int(&f->rx, &scheme_rules.hpcc, &ack, engine.now_ns, &report);
	return report ? q12_to_bytes(f->rx.cc.w) : 0;
}

static void rx_on_ack(struct sim_flow *f, const struct sim_packet *p)
{
	if (p->kind != PACKET_WINDOW)
		return;
	rx_window(&f->cc, &scheme_rules.hpcc, p->seq);
	control_output(f);
}

#define HPCC(v) .begin = core_begin, .ack = hpcc_on_ack, .telemetry = 1, .variant = v
#define SWIFT(v) .begin = swift_begin, .ack = swift_on_ack, .variant = v

const struct scheme schemes[] = {
	{ "sluice", .begin = sluice_begin, .ack = sluice_ack, .loss = sluice_loss, .sent = sluice_sent,
	  .seen = sluice_seen, .telemetry = 1, .implied = sluice_implied },
	{ "hpcc", HPCC(HPCC_PLAIN) },
	{ "hpcc-rx", .begin = rx_begin, .ack = rx_on_ack, .arrive = rx_on_arrival, .telemetry = 1 },
	{ "hpcc-high-ai", HPCC(HPCC_HIGH_AI) },
	{ "hpcc-probabilistic", HPCC(HPCC_PROBABILISTIC) },
	{ "hpcc-vai-sf", HPCC(HPCC_VAI_SF) },
	{ "silent", .begin = silent_begin, .ack = silent_on_ack, .loss = silent_loss, .telemetry = 1 },
	{ "swift", SWIFT(HPCC_PLAIN) },
	{ "swift-high-ai", SWIFT(HPCC_HIGH_AI) },
	{ "swift-probabilistic", SWIFT(HPCC_PROBABILISTIC) },
	{ "swift-vai-sf", SWIFT(HPCC_VAI_SF) },
	{ "dcqcn", .begin = dcqcn_begin, .ack = line_ack, .cnp = dcqcn_cnp, .timer = dcqcn_timer, .ecn = 1, .cnps = 1 },
	{ "dcqcn-window", .begin = dcqcn_window_begin, .ack = line_ack, .cnp = dcqcn_cnp, .timer = dcqcn_timer,
	  .ecn = 1, .cnps = 1 },
	{ "timely", .begin = timely_begin, .ack = timely_ack },
	{ "timely-window", .begin = timely_window_begin, .ack = timely_ack },
	{ "dctcp", .begin = dctcp_begin, .ack = dctcp_ack, .loss = dctcp_loss, .ecn = 1 },
	{ "cubic", .begin = cubic_begin, .ack = cubic_ack, .loss = cubic_loss },
	{ "line-rate", .begin = line_begin, .ack = line_ack },
	{},
};

const struct scheme *scheme_find(const char *name)
{
	const struct scheme *s;

	for (s = schemes; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

void schemes_list(FILE *to)
{
	const char *const *implied;
	const struct scheme *s;

	for (s = schemes; s->name; s++) {
		fputs(s->name, to);
		for (implied = s->implied; implied && *implied; implied++)
			fprintf(to, "%c%s", implied == s->implied ? '\t' : ' ', *implied);
		fputc('\n', to);
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/* Values derived from the configuration: the parameters of the data plane, and times that are not configured. */
#include <string.h>
#include "lib/config/check.h"
#include "sluice/cc/rx.h"
#include "sluice/pause/ppfc.h"
#include "sluice/wire/wire.h"

#define CONFIG_LIMIT_NS (100 * 1000 * 1000ULL)
#define CONFIG_LIMIT_ROUNDS 64
#define CONFIG_PERIOD_NS (100 * 1000ULL) /* shorter is not worth the wake-ups */
#define CONFIG_RTT_NS (100 * 1000ULL)	 /* T for derived times before it is measured */
#define DSCPS 64
#define PPM 1000000

int config_hiercc(const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->peers_count && c->peers[k].hiercc != VOQS_HERE; k++)
		;
	return k < c->peers_count;
}

__u64 config_period_ns(const struct config *c)
{
	__u64 period = CONFIG_PERIOD_MAX_NS;
	unsigned int k;

	if (c->period_ns)
		return c->period_ns;
	for (k = 0; k < c->peers_count; k++)
		if (c->peers[k].hiercc && c->peers[k].base_rtt_ns / 4 < period)
			period = c->peers[k].base_rtt_ns / 4;
	return period > CONFIG_PERIOD_NS ? period : CONFIG_PERIOD_NS;
}

void config_rtt_begin(struct config_peer *p)
{
	p->rtt_auto = !p->base_rtt_ns;
	if (p->rtt_auto)
		p->base_rtt_ns = CONFIG_RTT_NS;
}

__u64 config_rtt_max_ns(const struct config *c, const struct config_peer *p)
{
	__u64 most = NSEC_PER_SEC, round = HIERCC_NS_MAX - 1, late = (c->period_ns ?: CONFIG_PERIOD_NS) * 5 / 4;

	if (!p->hiercc)
		return most;
	if (c->limit_ns && c->limit_ns / CONFIG_LIMIT_ROUNDS_MIN < round)
		round = c->limit_ns / CONFIG_LIMIT_ROUNDS_MIN;
	if (!c->period_ns && round * 16 / 21 < most) /* a period of T / 4, as in config_round_ns() */
		most = round * 16 / 21;
	round = round > late ? round - late : 1;
	return round < most ? round : most;
}

/* A timer is late by at most half a period, if the daemon gets its CPU: a quarter on average. */
__u64 config_round_ns(const struct config *c, const struct config_peer *p)
{
	return p->base_rtt_ns + config_period_ns(c) * 5 / 4;
}

__u64 config_limit_ns(const struct config *c, const struct config_peer *p)
{
	__u64 round = config_round_ns(c, p), limit = CONFIG_LIMIT_ROUNDS * round;

	if (c->limit_ns)
		return c->limit_ns;
	if (limit > CONFIG_LIMIT_NS)
		limit = CONFIG_LIMIT_NS;
	return limit > CONFIG_LIMIT_ROUNDS_MIN * round ? limit : CONFIG_LIMIT_ROUNDS_MIN * round;
}

int config_is_tor(const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->entries_count && !c->entries[k].voqs; k++)
		;
	return k < c->entries_count;
}

__u64 config_headroom(const struct config *c, __u64 bps, __u32 mtu)
{
	/* XOFF is sent at the packet that exceeds the threshold, without waiting for a round. */
	return c->headroom_bytes ?: pfc_headroom(bps, 2 * c->delay_ns, 0, mtu);
}

int config_is_uplink(const struct config *c, const char *name)
{
	return c->node.uplink && !strcmp(c->node.uplink, name);
}

/* The class of each DSCP. */
static void config_dscps(const struct config_interface *i, __u8 *of_dscp)
{
	unsigned int n, k;

	for (n = 0; n < i->classes_count; n++)
		if (!i->classes[n].dscp)
			memset(of_dscp, n, DSCPS); /* else the first */
	for (n = 0; n < i->classes_count; n++)
		for (k = 0; k < DSCPS; k++)
			if (i->classes[n].dscp >> k & 1)
				of_dscp[k] = n;
}

void config_classes_value(const struct config_interface *i, __u64 speed_bps, struct port_classes *v)
{
	unsigned int n;

	v->n = i->classes_count;
	config_dscps(i, v->of_dscp);
	for (n = 0; n < i->classes_count; n++) {
		/* The remainder matters below 1 Mbit/s. A class reports at least 1 bit/s: nothing divides by 0. */
		v->share[n].bps =
			speed_bps / PPM * i->classes[n].share_ppm + speed_bps % PPM * i->classes[n].share_ppm / PPM;
		if (!v->share[n].bps)
			v->share[n].bps = 1;
		v->share[n].speed = telem_speed_fit(v->share[n].bps);
	}
}

_Static_assert(QUEUE_CLASSES == CLASSES_MAX, "classes of the qdisc");

int config_has_setup(const struct config_interface *i)
{
	return i->queue == CONFIG_QUEUE_SLUICE && (i->rate_bps || i->classes_count);
}

void config_setup_value(const struct config_interface *i, struct queue_setup *v)
{
	unsigned int n;

	v->bps = i->rate_bps;
	v->limit_bytes = i->limit_bytes ?: CONFIG_LIMIT_BYTES;
	v->classes = i->classes_count;
	config_dscps(i, v->of_dscp);
	for (n = 0; n < i->classes_count; n++) {
		v->share[n] = i->classes[n].share_ppm;
		v->strict |= i->classes[n].strict ? 1U << n : 0;
	}
}

static struct vai_tuning config_vai(const struct config *c)
{
	const struct vai_tuning paper = VAI_TUNING_PAPER;
	struct vai_tuning t = c->vai;

	if (c->vai_preset == VAI_PAPER) {
		t.ai_div = t.ai_div ?: paper.ai_div;
		t.ai_cap = t.ai_cap ?: paper.ai_cap;
		t.bank_cap = t.bank_cap ?: paper.bank_cap;
		t.dampener_div = t.dampener_div ?: paper.dampener_div;
		t.every = t.every ?: paper.every;
	}
	return t;
}

struct peer config_peer_value(const struct config *c, const struct config_peer *p)
{
	struct peer v = {
		.t_ns = p->base_rtt_ns,
		.measured_ns = p->measured_ns,
		.t_auto = p->rtt_auto,
		.t_changes = p->rtt_changes,
		.eta = c->eta * Q24_ONE,
		.w_ai = q12_from_bytes(c->w_ai_bytes),
		.flows = c->flows ?: RX_FLOWS_EXPECTED,
		.flows_fixed = c->flows || c->w_ai_bytes,
		.feedback = p->feedback,
		.max_stage = c->hpcc.max_stage,
		.variant = p->variant,
		.stages = c->hpcc.stages,
		.delay = c->hpcc.delay,
		.encoding = p->encoding,
		.telemetry = p->telemetry,
		.hpcc_off = !p->hpcc,
		.hiercc = p->hiercc,
		.prefixlen = p->key.prefixlen,
		.voq_bps = p->port_bps,
		.vai = config_vai(c),
		.voq = c->voq,
		.voq_c0 = c->c0_bytes,
		.voq_limit_ns = config_limit_ns(c, p),
		.voq_period_ns = config_period_ns(c) * 5 / 4,
	};

	return v;
}

__u64 config_count_ns(const struct config *c)
{
	__u64 longest = 0;
	unsigned int i;

	for (i = 0; i < c->peers_count; i++)
		if (c->peers[i].base_rtt_ns > longest)
			longest = c->peers[i].base_rtt_ns;
	return RX_COUNT_RTTS * longest;
}

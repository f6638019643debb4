// SPDX-License-Identifier: GPL-2.0-only
/* See rtt.h. */
#include "sim/engine.h"
#include "sim/rtt.h"
#include "sim/control.h"
#include "sluice/cc/base_rtt.h"

static struct {
	const struct scenario *scenario;
	void (*take)(const struct scenario *s);
	struct base_rtt prefix;
	uint64_t tick_ns, floor_ns, start_ns, least_ns, most_ns, changes;
	uint32_t frame;
} rtt;

void rtt_begin(const struct scenario *s, void (*take)(const struct scenario *s))
{
	rtt.scenario = s->hpcc.rtt_second_ns ? s : NULL;
	rtt.take = take;
	rtt.prefix = (struct base_rtt){};
	rtt.tick_ns = s->hpcc.rtt_second_ns;
	rtt.frame = s->host.payload + s->host.header;
	rtt.floor_ns = base_rtt_floor_ns(s->topology.speed, rtt.frame);
	rtt.start_ns = base_rtt_start_ns(s->topology.speed, rtt.frame);
	rtt.least_ns = rtt.most_ns = rtt.changes = 0;
}

uint64_t rtt_t_ns(void)
{
	if (!rtt.scenario)
		return 0;
	if (!rtt.prefix.t_ns)
		return rtt.start_ns;
	return rtt.prefix.t_ns > rtt.floor_ns ? rtt.prefix.t_ns : rtt.floor_ns;
}

/* Not 0, which the core reads as never. */
static uint64_t scaled_ns(void)
{
	return NS_PER_S + (double)engine.now_ns * NS_PER_S / rtt.scenario->hpcc.rtt_second_ns;
}

static void flows_take(void)
{
	struct hpcc_params *p = &scheme_rules.hpcc;
	uint32_t i;

	for (i = 0; i < traffic.count; i++)
		if (!traffic.list[i].done_ns && traffic.list[i].start_ns <= engine.now_ns)
			hpcc_cap(&traffic.list[i].cc, p, p->w_init);
}

static void rtt_tick(void)
{
	uint64_t t;
	uint32_t i;

	rtt.tick_ns = engine.now_ns + rtt.scenario->hpcc.rtt_second_ns;
	for (i = 0; i < traffic.count; i++)
		if (!traffic.list[i].done_ns)
			base_rtt_look(&rtt.prefix, &traffic.list[i].least, 0, scaled_ns());
	if (base_rtt_tick(&rtt.prefix, scaled_ns()) == BASE_RTT_SAME)
		return;
	t = rtt.prefix.t_ns;
	rtt.changes++;
	rtt.least_ns = !rtt.least_ns || t < rtt.least_ns ? t : rtt.least_ns;
	rtt.most_ns = t > rtt.most_ns ? t : rtt.most_ns;
	rtt.take(rtt.scenario);
	flows_take();
}

void rtt_on_ack(struct sim_flow *f, const struct sim_packet *p, const struct hpcc_ack *ack)
{
	struct base_rtt_sample s;

	if (!rtt.scenario || engine.now_ns <= p->sent_ns)
		return;
	base_rtt_measure(&s, ack, ack->hops > 0, engine.now_ns - p->sent_ns, BASE_RTT_NONE, rtt.frame,
			 rtt.scenario->topology.speed, p->kind == PACKET_ECHO);
	base_rtt_note(&f->least, &s, scaled_ns());
	if (engine.now_ns >= rtt.tick_ns)
		rtt_tick();
}

struct json_object *rtt_result(void)
{
	struct json_object *o;

	if (!rtt.scenario)
		return NULL;
	o = json_object_new_object();
	result_number(o, "end", rtt.prefix.t_ns / 1e3);
	result_number(o, "least", rtt.least_ns / 1e3);
	result_number(o, "most", rtt.most_ns / 1e3);
	result_count(o, "changes", rtt.changes);
	return o;
}

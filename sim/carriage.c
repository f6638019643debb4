// SPDX-License-Identifier: GPL-2.0-only
/* Companions: see carriage.h. */
#include "sim/carriage.h"
#include "sim/engine.h"
#include "sim/control.h"

struct carriage_rules carriage_rules;

int carriage_is_due(const struct sim_flow *f)
{
	struct companion_params due = carriage_rules.due;

	if (f->ceiling.w)
		ceiling_companions(&f->ceiling, &due);
	return !f->done_ns &&
	       companion_is_due(&f->companion, &due, &f->cc, &scheme_rules.hpcc, f->snd_nxt, engine.now_ns);
}

uint32_t companion_new(uint32_t flow)
{
	struct sim_flow *f = &traffic.list[flow];
	uint32_t p = packet_new();
	struct sim_packet *packet = &net.packets[p];

	packet->flow = flow;
	packet->kind = PACKET_COMPANION;
	packet->class = f->class;
	packet->to = f->to;
	packet->seq = f->snd_nxt;
	packet->bytes = carriage_rules.bytes;
	packet->sent_ns = engine.now_ns;
	packet->carries = 1;
	companion_left(&f->companion, f->snd_nxt, engine.now_ns);
	traffic.companions++;
	return p;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Companions: see carriage.h. */
#include "sim/carriage.h"
#include "sim/engine.h"
#include "sim/scheme.h"

struct carriage_rules carriage_rules;

int companion_is_due(const struct sim_flow *f)
{
	const struct carriage_rules *c = &carriage_rules;
	int busy = f->cc.hops && f->cc.u > scheme_rules.hpcc.eta;
	uint64_t packets = busy ? c->busy_packets : c->packets;

	if (f->done_ns || f->snd_nxt <= (uint64_t)c->after * host_rules.payload)
		return 0;
	if (!f->companions)
		return 1;
	return f->snd_nxt - f->companion_seq >= packets * host_rules.payload &&
	       (busy || f->companions < c->first || engine.now_ns >= f->companion_ns + c->every_ns);
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
	f->companion_ns = engine.now_ns;
	f->companion_seq = f->snd_nxt;
	f->companions++;
	traffic.companions++;
	return p;
}

// SPDX-License-Identifier: GPL-2.0-only
/* See control.h. */
#include "sim/control.h"
#include "sim/engine.h"

const struct scheme *scheme;
struct scheme_rules scheme_rules;

uint64_t control_line_bps(void)
{
	return hpcc_rate_bps(scheme_rules.hpcc.w_init, scheme_rules.hpcc.t_ns);
}

void control_ack_of(const struct sim_flow *f, const struct sim_packet *p, struct hpcc_ack *ack)
{
	uint32_t i;

	*ack = (struct hpcc_ack){
		.seq = p->told,
		.snd_nxt = f->snd_nxt,
		.path_id = p->path_id & 0xfff,
		.hops = p->hops,
		.gap_ns = f->fb_rx_ns ? (int64_t)(p->rx_ns - f->fb_rx_ns) : HPCC_GAP_UNKNOWN,
		.random = scheme->variant == HPCC_PROBABILISTIC ? random_u32() : 0,
	};
	for (i = 0; i < p->hops; i++)
		ack->hop[i] = telem_unpack(p->hop[i]);
}

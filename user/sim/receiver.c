// SPDX-License-Identifier: GPL-2.0-only
/* Receivers: what comes in order and what does not, ACKs, NACKs and CNPs. See flow.h. */
#include <string.h>
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/measure.h"
#include "sim/rivals.h"
#include "sim/scheme.h"

/* Adds what came out of order to what is held, and takes from there what fits at rcv_nxt by now. */
static void flow_hold(struct sim_flow *f, uint64_t from, uint64_t to)
{
	struct range *r = f->held;
	uint32_t i, n = f->held_count;

	for (i = 0; i < n && r[i].to < from; i++)
		;
	if (i < n && r[i].from <= to) {
		r[i].from = from < r[i].from ? from : r[i].from;
		r[i].to = to > r[i].to ? to : r[i].to;
		while (i + 1 < n && r[i + 1].from <= r[i].to) {
			r[i].to = r[i + 1].to > r[i].to ? r[i + 1].to : r[i].to;
			memmove(&r[i + 1], &r[i + 2], (n - i - 2) * sizeof(*r));
			n--;
		}
		f->held_count = n;
		return;
	}
	f->held = r = list_add(r, &f->held_count, sizeof(*r));
	memmove(&r[i + 1], &r[i], (n - i) * sizeof(*r));
	r[i] = (struct range){ from, to };
}

static void flow_take_held(struct sim_flow *f)
{
	while (f->held_count && f->held[0].from <= f->rcv_nxt) {
		if (f->held[0].to > f->rcv_nxt)
			f->rcv_nxt = f->held[0].to;
		memmove(&f->held[0], &f->held[1], --f->held_count * sizeof(f->held[0]));
	}
}

/* Turns a packet round as what its sender hears. */
static void data_answer(uint32_t host, struct sim_packet *packet, enum packet_kind kind)
{
	struct sim_flow *f = &traffic.list[packet->flow];

	packet->kind = kind;
	packet->told = packet->seq + packet->payload;
	packet->seq = f->rcv_nxt;
	packet->rx_ns = engine.now_ns;
	packet->bytes = host_rules.ack;
	packet->payload = 0;
	packet->class = 0;
	packet->to = f->from;
	host_control(host, packet - net.packets);
}

static void cnp_send(uint32_t host, const struct sim_packet *packet)
{
	struct sim_flow *f = &traffic.list[packet->flow];
	uint32_t number = packet->flow, p;

	if (f->cnp_ns && engine.now_ns < f->cnp_ns + dcqcn_rules.cnp_ns)
		return;
	f->cnp_ns = engine.now_ns;
	p = packet_new();
	net.packets[p].flow = number;
	net.packets[p].kind = PACKET_CNP;
	net.packets[p].bytes = host_rules.ack;
	net.packets[p].to = f->from;
	host_control(host, p);
}

void receiver_take(uint32_t host, uint32_t p)
{
	struct sim_packet *packet = &net.packets[p];
	struct sim_flow *f = &traffic.list[packet->flow];
	uint64_t end = packet->seq + packet->payload;
	int late = packet->seq > f->rcv_nxt;

	measure_on_data(packet->sent_ns);
	if (scheme->cnps && packet->ce)
		cnp_send(host, packet);
	packet = &net.packets[p]; /* the pool may have moved */
	if (late && host_rules.selective)
		flow_hold(f, packet->seq, end);
	if (!late && end > f->rcv_nxt) {
		f->rcv_nxt = end;
		flow_take_held(f);
	}
	if (f->size && f->rcv_nxt >= f->size && !f->done_ns) {
		f->done_ns = engine.now_ns;
		traffic.done++;
	}
	if (late) {
		data_answer(host, packet, PACKET_NACK);
		return;
	}
	if (++f->unacked < host_rules.ack_every && !f->done_ns) {
		packet_free(p);
		return;
	}
	f->unacked = 0;
	data_answer(host, packet, PACKET_ACK);
}

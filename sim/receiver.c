// SPDX-License-Identifier: GPL-2.0-only
/* Receivers: data in order and out of order, ACKs, NACKs and CNPs. See flow.h. */
#include <string.h>
#include "sim/control.h"
#include "sim/engine.h"
#include "sim/host.h"
#include "sim/measure.h"
#include "sim/receiver.h"
#include "sim/rivals.h"

/* Adds an out-of-order range to the held ones, and advances rcv_nxt over those that are next. */
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

/* Puts into a NACK how much data is kept out of order, and where it begins. */
static void held_tell(const struct sim_flow *f, struct sim_packet *packet)
{
	uint32_t i;

	packet->held = 0;
	packet->held_from = f->held_count ? f->held[0].from : 0;
	for (i = 0; i < f->held_count; i++)
		packet->held += f->held[i].to - f->held[i].from;
}

/* Turns a packet round as the answer to its sender. */
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

/* Turned round unchanged: it acknowledges nothing. */
static void companion_answer(uint32_t host, struct sim_packet *packet)
{
	packet->kind = PACKET_ECHO;
	packet->told = packet->seq;
	packet->rx_ns = engine.now_ns;
	packet->class = 0;
	packet->to = traffic.list[packet->flow].from;
	host_control(host, packet - net.packets);
}

/* Rx-HPCC: sends the window that the receiver has computed, when it is due. */
static void window_send(uint32_t host, uint32_t p)
{
	uint32_t flow = net.packets[p].flow, answer;
	struct sim_flow *f = &traffic.list[flow];
	uint64_t window = scheme->arrive(f, &net.packets[p]);

	if (!window)
		return;
	answer = packet_new();
	net.packets[answer].flow = flow;
	net.packets[answer].kind = PACKET_WINDOW;
	net.packets[answer].bytes = host_rules.ack;
	net.packets[answer].to = f->from;
	net.packets[answer].seq = window;
	host_control(host, answer);
}

/* One ACK answers both: the telemetry of the first is kept. */
static void ack_join(struct sim_packet *first, struct sim_packet *second)
{
	if (first->carries && !second->carries) {
		memcpy(second->hop, first->hop, sizeof(second->hop));
		second->hops = first->hops;
		second->path_id = first->path_id;
		second->carries = 1;
	}
	packet_free(first - net.packets);
}

/* The packet waits for the next one, to be acknowledged with it, for a limited time. */
static void ack_wait(struct sim_flow *f, uint32_t p)
{
	uint64_t was = f->ack_ns;

	f->waiting = p;
	f->ack_ns = engine.now_ns + host_rules.ack_late_ns;
	if (!was)
		event_at(f->ack_ns, EVENT_ACK, f - traffic.list);
}

static void data_take(uint32_t host, uint32_t p)
{
	struct sim_packet *packet = &net.packets[p];
	struct sim_flow *f = &traffic.list[packet->flow];
	uint64_t end = packet->seq + packet->payload;
	int late = packet->seq > f->rcv_nxt, gap = f->held_count > 0;

	if (scheme->seen)
		scheme->seen(f, packet);
	if (packet->kind == PACKET_COMPANION) {
		companion_answer(host, packet);
		return;
	}
	measure_on_data(packet->sent_ns);
	if (scheme->cnps && packet->ce)
		cnp_send(host, packet);
	if (scheme->arrive && net.packets[p].carries)
		window_send(host, p);
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
	if (late || f->held_count) {
		held_tell(f, packet);
		data_answer(host, packet, PACKET_NACK);
		return;
	}
	if (f->unacked)
		ack_join(&net.packets[f->waiting], packet);
	/* That a gap is filled is told at once (RFC 5681, section 4.2). */
	if (++f->unacked < host_rules.ack_every && !f->done_ns && !gap) {
		ack_wait(f, p);
		return;
	}
	f->unacked = 0;
	data_answer(host, packet, PACKET_ACK);
}

void receiver_take(uint32_t host, uint32_t p)
{
	if (net.packets[p].kind == PACKET_DATA || net.packets[p].kind == PACKET_COMPANION)
		data_take(host, p);
	else
		sender_take(p);
}

void receiver_on_ack(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	if (engine.now_ns < f->ack_ns) {
		event_at(f->ack_ns, EVENT_ACK, i);
		return;
	}
	f->ack_ns = 0;
	if (!f->unacked)
		return;
	f->unacked = 0;
	data_answer(f->to, &net.packets[f->waiting], PACKET_ACK);
}

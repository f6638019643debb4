// SPDX-License-Identifier: GPL-2.0-only
/* Senders: see flow.h. */
#include <stdlib.h>
#include <string.h>
#include "sim/carriage.h"
#include "sim/control.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/host.h"
#include "sluice/pacer.h"

#define BURST_BYTES 65536
#define BURST_RTT_SHIFT 19  /* tcp_tso_rtt_log, of ns */
#define PROBE_NS 2000000ULL /* TCP_TIMEOUT_MIN */
#define PROBE_DUE 1
#define PROBE_SENT 2

struct sim_host {
	uint32_t port;
	uint32_t first, last;			  /* waiting control packets */
	uint32_t *turns, turns_count, turns_room; /* flows with data to send and a window for it */
	uint32_t turn;
	uint64_t wake_ns; /* when EVENT_HOST is due */
};

static struct sim_host *hosts;

/* --- sending --- */

static int flow_has_more(const struct sim_flow *f)
{
	return !f->done_ns && !f->opening && (!f->size || f->snd_nxt < f->size || f->hole < f->hole_end);
}

static int flow_may_send(const struct sim_flow *f)
{
	uint64_t slack = (uint64_t)host_rules.slack * (host_rules.payload + host_rules.header);

	return flow_has_more(f) &&
	       (!host_rules.windows || !f->window || f->probed == PROBE_DUE || flow_inflight(f) < f->window + slack);
}

/* Adds a flow to the list of those that take turns, and wakes the host. */
static void flow_ready(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];
	struct sim_host *h = &hosts[f->from];

	if (!f->in_turn && flow_may_send(f)) {
		if (h->turns_count == h->turns_room) {
			h->turns_room = 2 * h->turns_room + 8;
			h->turns = grow(h->turns, h->turns_room, sizeof(*h->turns));
		}
		h->turns[h->turns_count++] = i;
		f->in_turn = 1;
	}
	port_kick(h->port);
}

/*
 * Until the last packet is sent again, to find out what was lost before it (RFC 8985, section 7): two round trips, which a
 * queue may make twice as long as T.
 */
static uint64_t probe_ns(void)
{
	uint64_t ns = 4 * scheme_rules.hpcc.t_ns + PROBE_NS;

	return ns < host_rules.rto_ns ? ns : host_rules.rto_ns;
}

static void timer_set(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];
	uint64_t was = f->rto_ns;

	f->rto_ns = engine.now_ns + (host_rules.selective && !f->probed ? probe_ns() : host_rules.rto_ns);
	if (!was)
		event_at(f->rto_ns, EVENT_TIMER, i);
}

/* 0: no limit. */
static uint64_t bps_least(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* The lowest rate that congestion control, the first hop and the workload allow. */
static uint64_t flow_bps(const struct sim_flow *f)
{
	return bps_least(bps_least(f->rate_bps, f->hop_bps), f->limit_bps);
}

void flow_rate_changed(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	f->paced_ns = f->left_ns + pacer_cost_ns(host_rules.payload + host_rules.header, flow_bps(f));
	f->departure_ns = f->paced_ns + f->late_ns;
	flow_ready(i);
}

/*
 * Packets of a burst. Linux makes one packet of what leaves within a millisecond, and of more where round trips are short, but
 * of 64 KB and half a window at most (tcp_tso_autosize(), tcp_cwnd_test()).
 */
static uint32_t flow_burst(const struct sim_flow *f)
{
	uint64_t bps = flow_bps(f), packet = host_rules.payload + host_rules.header, bytes = BURST_BYTES, shift;

	if (host_rules.burst)
		return host_rules.burst;
	shift = scheme_rules.hpcc.t_ns >> BURST_RTT_SHIFT;
	if (bps)
		bytes = (bps >> 13) + (shift < 16 ? BURST_BYTES >> shift : 0);
	if (bytes > BURST_BYTES)
		bytes = BURST_BYTES;
	if (f->window && bytes > f->window / 2)
		bytes = f->window / 2;
	return bytes > packet ? bytes / packet : 1;
}

/*
 * The packets of a burst leave back to back; then the flow waits for their time at its rate. A late timer delays one
 * burst, not the later ones.
 */
static void flow_pace(struct sim_flow *f, struct sim_packet *packet)
{
	uint64_t meant_ns = engine.now_ns - f->late_ns;

	if (f->paced_ns < meant_ns) {
		f->paced_ns = meant_ns;
		f->in_burst = 0;
	}
	packet->carries = !carriage_rules.companions && f->in_burst < host_rules.stamps;
	f->left_ns = f->paced_ns;
	f->paced_ns += pacer_cost_ns(packet->bytes, flow_bps(f));
	if (++f->in_burst < flow_burst(f))
		return;
	f->in_burst = 0;
	f->late_ns = host_rules.late_ns ? random_part() * host_rules.late_ns : 0;
	f->departure_ns = f->paced_ns + f->late_ns;
}

static uint32_t flow_send(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];
	uint64_t *at = f->hole < f->hole_end ? &f->hole : &f->snd_nxt;
	uint64_t left = f->size ? f->size - *at : host_rules.payload;
	uint32_t p = packet_new();
	struct sim_packet *packet = &net.packets[p];

	packet->flow = i;
	packet->kind = PACKET_DATA;
	packet->class = f->class;
	packet->to = f->to;
	packet->seq = *at;
	packet->payload = left < host_rules.payload ? left : host_rules.payload;
	packet->bytes = packet->payload + host_rules.header;
	packet->sent_ns = engine.now_ns;
	traffic.sent_bytes += packet->bytes;
	if (*at < f->snd_max)
		traffic.sent_again++;
	*at += packet->payload;
	f->probed = f->probed ? PROBE_SENT : 0;
	if (f->snd_nxt > f->snd_max)
		f->snd_max = f->snd_nxt;
	flow_pace(f, packet);
	if (!f->rto_ns)
		timer_set(i);
	if (scheme->sent)
		scheme->sent(f, packet->bytes);
	return p;
}

static void control_queue(struct sim_host *h, uint32_t p)
{
	net.packets[p].next = NONE;
	if (h->first == NONE)
		h->first = p;
	else
		net.packets[h->last].next = p;
	h->last = p;
}

/* Removes the flow at this index of the list; the last one takes its place. */
static void turn_remove(struct sim_host *h, uint32_t at)
{
	traffic.list[h->turns[at]].in_turn = 0;
	h->turns[at] = h->turns[--h->turns_count];
}

/* Control first; then the next flow whose departure has come. If there is none, the host wakes when one is due. */
uint32_t host_next(uint32_t number)
{
	struct sim_host *h = &hosts[number];
	uint64_t wake = NEVER_NS;
	uint32_t p, k, at, i;
	struct sim_flow *f;

	if (h->first != NONE) {
		p = h->first;
		h->first = net.packets[p].next;
		return p;
	}
	for (k = 0; k < h->turns_count; k++) {
		at = h->turn + k < h->turns_count ? h->turn + k : h->turn + k - h->turns_count;
		i = h->turns[at];
		f = &traffic.list[i];
		if (f->departure_ns > engine.now_ns) {
			wake = f->departure_ns < wake ? f->departure_ns : wake;
			continue;
		}
		if (port_is_paused(&net.ports[h->port], f->class))
			continue; /* the end of the pause checks again */
		p = flow_send(i);
		/* Behind a burst, which is one packet where companions are made. */
		if (carriage_rules.at_data && (!f->in_burst || !flow_may_send(f)) && carriage_is_due(f))
			control_queue(h, companion_new(i));
		h->turn = at + 1;
		if (!flow_may_send(f))
			turn_remove(h, at);
		if (h->turn >= h->turns_count)
			h->turn = 0;
		return p;
	}
	if (wake < h->wake_ns) {
		h->wake_ns = wake;
		event_at(wake, EVENT_HOST, number);
	}
	return NONE;
}

void host_on_wake(uint32_t number)
{
	struct sim_host *h = &hosts[number];

	if (h->wake_ns <= engine.now_ns)
		h->wake_ns = NEVER_NS;
	port_kick(h->port);
}

/* SYN: a companion, whose answer tells N before the first data. If it is lost the timer repeats it. */
static void handshake_begin(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	f->opening = 1;
	f->rto_ns = engine.now_ns + host_rules.rto_ns;
	event_at(f->rto_ns, EVENT_TIMER, i);
	host_control(f->from, companion_new(i));
}

static void handshake_end(uint32_t i)
{
	traffic.list[i].opening = 0;
	traffic.list[i].departure_ns = engine.now_ns;
	timer_set(i);
}

void host_on_flow(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	scheme->begin(f);
	f->departure_ns = engine.now_ns;
	if (host_rules.handshake)
		handshake_begin(i);
	else
		flow_ready(i);
}

/* Retransmits from the last acknowledged position. */
static void flow_rewind(uint32_t i, uint64_t to, int timeout)
{
	struct sim_flow *f = &traffic.list[i];

	if (to < f->snd_nxt)
		f->snd_nxt = to > f->snd_una ? to : f->snd_una;
	if (scheme->loss)
		scheme->loss(f, timeout);
	flow_ready(i);
}

void host_on_timer(uint32_t i)
{
	struct sim_flow *f = &traffic.list[i];

	if (f->done_ns || (f->snd_una == f->snd_max && !f->opening)) {
		f->rto_ns = 0;
		return;
	}
	if (engine.now_ns < f->rto_ns) {
		event_at(f->rto_ns, EVENT_TIMER, i);
		return;
	}
	f->rto_ns = 0;
	if (f->opening) {
		handshake_begin(i);
		return;
	}
	if (host_rules.selective && !f->probed) {
		f->probed = PROBE_SENT;
		timer_set(i);
		/* A single packet may wait for its ACK: the receiver for another one. */
		if (host_rules.ack_every > 1 && f->snd_max - f->snd_una <= host_rules.payload)
			return;
		f->probed = PROBE_DUE;
		f->lost = 0;
		f->resent = f->snd_una;
		f->hole = f->snd_max - f->snd_una > host_rules.payload ? f->snd_max - host_rules.payload : f->snd_una;
		f->hole_end = f->snd_max;
		flow_ready(i);
		return;
	}
	timer_set(i);
	f->hole = f->hole_end = f->sacked = 0;
	f->resent = f->snd_max;
	flow_rewind(i, f->snd_una, 1);
}

/* --- ACKs and the like --- */

void host_control(uint32_t number, uint32_t p)
{
	control_queue(&hosts[number], p);
	port_kick(hosts[number].port);
}

/* The first hole, or what of it has not been sent again. */
static void hole_take(struct sim_flow *f, const struct sim_packet *nack)
{
	uint64_t from = nack->seq > f->resent ? nack->seq : f->resent;

	if (from >= nack->held_from)
		return;
	f->hole = from;
	f->hole_end = f->resent = nack->held_from;
	if (scheme->loss)
		scheme->loss(f, 0);
}

/* If a flow's telemetry comes otherwise, an ACK only moves the window. */
static int ack_is_told(const struct sim_packet *ack)
{
	return !scheme->telemetry || ack->carries;
}

void sender_take(uint32_t p)
{
	const struct sim_packet ack = net.packets[p];
	struct sim_flow *f = &traffic.list[ack.flow];

	packet_free(p);
	if (ack.kind == PACKET_CNP) {
		scheme->cnp(f);
		return;
	}
	if (ack.kind == PACKET_ECHO || ack.kind == PACKET_WINDOW) {
		scheme->ack(f, &ack);
		if (f->opening)
			handshake_end(ack.flow);
		flow_ready(ack.flow);
		return;
	}
	if (ack.seq > f->snd_una) {
		f->snd_una = ack.seq;
		f->lost = f->probed = 0;
		if (f->snd_nxt < f->snd_una)
			f->snd_nxt = f->snd_una;
		flow_acknowledged(f);
		timer_set(ack.flow);
	}
	if (ack_is_told(&ack))
		scheme->ack(f, &ack);
	if (carriage_rules.companions && !carriage_rules.at_data && carriage_is_due(f))
		host_control(f->from, companion_new(ack.flow));
	f->sacked = ack.kind == PACKET_NACK ? ack.held : 0;
	/* Once for each hole: until the expected data has come. */
	if (ack.kind == PACKET_NACK && !f->lost && !f->done_ns) {
		f->lost = 1;
		if (!host_rules.selective) {
			flow_rewind(ack.flow, ack.seq, 0);
			return;
		}
		hole_take(f, &ack);
	}
	flow_ready(ack.flow);
}

/* --- start --- */

void hosts_begin(void)
{
	uint32_t i;

	hosts = grow(NULL, net.hosts_count, sizeof(*hosts));
	for (i = 0; i < net.hosts_count; i++)
		hosts[i] = (struct sim_host){
			.port = net.nodes[net.hosts[i]].ports_first, .first = NONE, .last = NONE, .wake_ns = NEVER_NS
		};
}

void hosts_end(void)
{
	uint32_t i;

	for (i = 0; i < net.hosts_count; i++)
		free(hosts[i].turns);
	for (i = 0; i < traffic.count; i++)
		free(traffic.list[i].held);
	free(hosts);
	free(traffic.list);
	free(traffic.triggers);
	traffic = (struct traffic){};
	hosts = NULL;
}

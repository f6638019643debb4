/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_VOQ_BPF_H
#define SLUICE_VOQ_BPF_H
/*
 * The sending half of HierCC (hiercc.h): packets to another rack use the VOQ of their destination, which is one host.
 *
 *  1. voq_get(): the VOQ, made by its first packet. Without room the VOQ of the peer's whole prefix serves, which the
 *     daemon has made; its parameters are also set here, with its first packet.
 *  2. voq_send(): S and F for the packet, and when its credit is expected. Their departure time holds packets, so
 *     nothing is queued here.
 *  3. voq_first_hop(): Equation 1, R of each flow into the VOQ. The first hop of a host is the path from its sockets to
 *     here: W and R are computed for the flow at hand (flow_pace_bps(), flow_window_bytes()).
 *
 * CPUs share a VOQ: see hiercc.h for S, credit and clock. The state of Equation 1 and the parameters are under a
 * try-lock like that of a flow.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/rate.bpf.h"
#include "host/flow.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/once.h"
#include "sluice/queue/note.h"
#include "sluice/queue/queue.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define VOQ_ASK_AGAIN 1000 /* in units of 2^20 ns: how long a flow without room for its VOQ does not ask again */

static inline int voq_trylock(struct voq *v)
{
	return __sync_val_compare_and_swap(&v->lock, 0, 1) == 0;
}

static inline void voq_unlock(struct voq *v)
{
	__sync_fetch_and_and(&v->lock, 0);
}

/* The key of the VOQ to the first prefixlen bits of an address. */
static inline void voq_name(struct voq_key *key, const struct sluice_addr *addr, __u32 prefixlen)
{
	__u32 *to = (__u32 *)&key->addr;
	const __u32 *from = (const __u32 *)addr;
	int i, bits;

	key->prefixlen = prefixlen;
	for (i = 0; i < 4; i++) {
		bits = (int)prefixlen - 32 * i;
		to[i] = bits >= 32 ? from[i] : bits > 0 ? from[i] & bpf_htonl(~0U << (32 - bits)) : 0;
	}
}

/*
 * Equation 1, with each packet and each message of credit: R for each flow of the VOQ, bits/s; 0 before the first
 * packet. If the lock is taken the previous R is used. A stop is R_min, not 0: a stopped host would never ask again.
 */
VERIFIED_ONCE __u64 voq_first_hop(struct voq *v, __u64 now_ns)
{
	__u64 rate;
	__u32 q;

	if (!v || !v->params.c0)
		return 0;
	if (voq_trylock(v)) {
		q = hiercc_queue(&v->voq, &v->params);
		hiercc_stop(&v->hop, &v->hop_params, q);
		if (hiercc_arrival(&v->hop, &v->hop_params, now_ns, READ_ONCE(v->voq.sent)))
			hiercc_rate(&v->hop, &v->hop_params, q, hiercc_credit_rate(&v->voq, &v->params));
		voq_unlock(v);
	}
	rate = READ_ONCE(v->hop.rate);
	return 8 * (rate ? rate : v->hop_params.rate_min);
}

static inline void voq_news_send(const struct tor_news *n)
{
	if (bpf_ringbuf_output(&rate_asks, (void *)n, sizeof(*n), 0))
		stats_count(STAT_TOR_LOST);
}

/* Tells hosts behind a switch (tor.bpf.h) once of a stop of their VOQ, or of its end; its key is in the scratch space. */
VERIFIED_ONCE int voq_stop_news(struct voq *v)
{
	struct scratch_space *space = scratch_get();
	struct tor_news *n;
	__u32 stopped, told;
	__u64 rate;

	if (!v || !space || !v->asked_ns)
		return 0;
	stopped = READ_ONCE(v->hop.stopped);
	told = READ_ONCE(v->told_stop);
	if (stopped == told || __sync_val_compare_and_swap(&v->told_stop, told, stopped) != told)
		return 0;
	n = &space->tor_news;
	__builtin_memset(n, 0, sizeof(*n));
	n->voq = space->voq_key;
	n->flags = stopped ? TOR_NEWS_STOPPED : 0;
	rate = READ_ONCE(v->hop.rate);
	n->rate_bps = 8 * (rate ? rate : v->hop_params.rate_min);
	voq_news_send(n);
	return 0;
}

/*
 * Sets a VOQ's parameters from the peer's prefix and the port that it leaves by; line * T < 2^37 * 2^26. RTT_hop is T:
 * a stack obeys its window, which takes effect as ACKs come in. With T/6, as between a host and a ToR, R is recomputed
 * before that, and the queue swings between nothing and V_high. The BDP from which q0 follows is that of the slower
 * end: an uplink is faster than its destinations, and packets in a VOQ have their departures, which no credit corrects.
 * With an uplink of twice the speed and its BDP the long flows beside a burst (simulated) fell to 3 % of their rate,
 * and not to 44 %.
 */
VERIFIED_ONCE int voq_params(struct voq *v, const struct peer *peer, const struct port *port)
{
	struct hiercc_params *p;
	__u64 line, t_ns, rate;

	if (!v || !peer || !port)
		return 0;
	p = &v->params;
	line = port->speed_bps / 8;
	t_ns = peer->t_ns;
	rate = peer->voq_bps / 8;
	line = line < HIERCC_RATE_MAX ? line : HIERCC_RATE_MAX - 1;
	t_ns = t_ns < HIERCC_NS_MAX ? t_ns : HIERCC_NS_MAX - 1;
	rate = rate && rate < HIERCC_RATE_MAX ? rate : line;
	hiercc_params_arrival(p, rate, t_ns, hiercc_gap_ns(rate, port->mtu + WIRE_ETH_BYTES), peer->voq_period_ns);
	if (peer->voq_c0)
		hiercc_params_c0(p, peer->voq_c0);
	hiercc_params_tune(p, &peer->voq);
	if (peer->voq_limit_ns) {
		p->limit_ns = peer->voq_limit_ns < 1ULL << 39 ? peer->voq_limit_ns : (1ULL << 39) - 1;
		p->idle_ns = 2 * p->limit_ns;
	}
	hiercc_hop_params_init(&v->hop_params, line, t_ns, (rate < line ? rate : line) * t_ns / NSEC_PER_SEC);
	hiercc_hop_tune(&v->hop_params, &peer->voq);
	hiercc_hop_init(&v->hop, &v->hop_params);
	return 0;
}

/* Whether packets of the flow use a VOQ, here or, from this host's view, at its switch. */
VERIFIED_ONCE int voq_is_due(struct flow *f)
{
	const struct control *ctl = control_get();

	return f && ctl && f->path.hiercc && (ctl->tor || f->path.hiercc == VOQS_TOR);
}

/*
 * The VOQ for a flow, whose key is in the scratch space then: made, or with the parameters of this epoch.
 * Returns 0 if there is none.
 */
VERIFIED_ONCE int voq_make(struct flow *f, const struct sluice_addr *remote, __u64 now_ns, __u32 epoch)
{
	struct peer_key pk = { .prefixlen = 128 };
	struct scratch_space *space = scratch_get();
	const struct peer *peer;
	const struct port *port;
	__u32 ifindex, prefixlen;
	struct voq *v;

	if (!f || !remote || !space)
		return 0;
	ifindex = f->path.ifindex;
	pk.addr = *remote;
	peer = bpf_map_lookup_elem(&peers, &pk);
	port = bpf_map_lookup_elem(&ports, &ifindex);
	f->voq.merged = 0;
	voq_name(&space->voq_key, remote, 128);
	v = bpf_map_lookup_elem(&voqs, &space->voq_key);
	if (!v) {
		int err;

		if (!peer || !port)
			return 0;
		v = &space->voq;
		__builtin_memset(v, 0, sizeof(*v));
		voq_params(v, peer, port);
		hiercc_voq_init(&v->voq, now_ns);
		v->epoch = epoch;
		v->ifindex = ifindex;
		err = bpf_map_update_elem(&voqs, &space->voq_key, v, BPF_NOEXIST);
		if (!err || err == -EEXIST) /* another CPU made it meanwhile, which is as good */
			return 1;
		f->voq.merged = 1;
		f->voq.asked = now_ns >> 20;
		f->voq.prefixlen = prefixlen = peer->prefixlen;
		if (!prefixlen || prefixlen > 128)
			return 0;
		voq_name(&space->voq_key, remote, prefixlen);
		v = bpf_map_lookup_elem(&voqs, &space->voq_key);
		if (!v)
			return 0;
	}
	if ((v->epoch != epoch || !v->params.c0) && voq_trylock(v)) {
		if (peer && port)
			voq_params(v, peer, port);
		if (!v->voq.last_ns)
			hiercc_voq_init(&v->voq, now_ns);
		v->ifindex = ifindex;
		v->epoch = epoch;
		voq_unlock(v);
	}
	return v->params.c0 != 0;
}

/* The VOQ of a packet of the flow, with its key in the scratch space; NULL: none, only HPCC applies. */
static inline struct voq *voq_get(struct flow *f, const struct sluice_addr *remote, __u64 now_ns, __u32 epoch)
{
	struct scratch_space *space = scratch_get();
	__u32 merged = f->voq.merged;
	struct voq *v;

	if (!space)
		return 0;
	voq_name(&space->voq_key, remote, merged ? f->voq.prefixlen : 128);
	v = bpf_map_lookup_elem(&voqs, &space->voq_key);
	if ((merged ? (__u32)(now_ns >> 20) - f->voq.asked >= VOQ_ASK_AGAIN : !v) || (v && v->epoch != epoch))
		v = voq_make(f, remote, now_ns, epoch) ? bpf_map_lookup_elem(&voqs, &space->voq_key) : 0;
	if (!v) {
		f->voq.rate_bps = 0;
		stats_count(STAT_VOQ_FULL);
	}
	return v;
}

/*
 * Credits have stopped: from here on only W holds the flow. W does not know the port, and may be that of an empty one;
 * the flow continues with its share of the last rate of credit. share * T < 2^27 * 2^30.
 */
static inline void voq_alone_begins(struct flow *f, const struct voq *v)
{
	__u32 flows = rx_counted(&v->count);
	__u64 share = hiercc_credit_rate(&v->voq, &v->params) / (flows ?: 1);

	if (!flow_trylock(f))
		return;
	hpcc_cap(&f->cc, &f->params, q12_from_bytes(share / 1000 * f->params.t_ns / 1000000));
	flow_unlock(f);
}

/* S and F as in packets of the VOQ whose key is in the scratch space. */
static inline void voq_block(const struct flow *f, __u32 total, __u32 flows, struct scratch_space *space,
			     const struct control *ctl)
{
	struct wire_voq *block = &space->voq_out.block;

	block->tor = f->path.hiercc == VOQS_TOR ? 0 : ctl->tor;
	block->total = bpf_htonl(total);
	block->flows = f->path.hiercc == VOQS_TOR ? 0 : bpf_htons(flows);
	block->prefixlen = space->voq_key.prefixlen;
	block->flags = f->path.telemetry != TELEMETRY_COMPANION ? 0 :
		       f->path.hiercc == VOQS_TOR		? WIRE_VOQ_BESIDE | WIRE_VOQ_SWITCH :
								  WIRE_VOQ_BESIDE;
}

/* Marks the block: credit may come by echoes and companions, to a host whose VOQs are here. */
static inline void voq_rides(const struct flow *f, struct scratch_space *space)
{
	if (f->path.hiercc == VOQS_HERE)
		space->voq_out.block.flags |= WIRE_VOQ_RIDES;
}

/* A packet of bytes on the wire enters the VOQ; the result is in out. */
VERIFIED_ONCE int voq_send(struct flow *f, struct voq *v, __u64 now_ns, __u32 bytes, struct voq_out *out)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	enum hiercc_sent sent;
	__u64 departure_ns;
	__u32 total, flows;

	if (!f || !v || !out || !space || !ctl)
		return 0;
	out->tells = 0;
	if (f->path.hiercc == VOQS_TOR) {
		out->departure_ns = 0;
		rate_ask(f, v, now_ns, bytes, &out->block);
		out->tells = out->block.flags & WIRE_VOQ_MARK;
		return 0;
	}
	rx_count(&v->count, &f->voq.mark, now_ns, v->params.epoch_ns);
	flows = rx_counted(&v->count);
	sent = hiercc_send(&v->voq, &v->params, now_ns, bytes, &total, &departure_ns);
	if (hiercc_tells(&v->voq, &v->params, flows)) {
		departure_ns = now_ns;
		sent = sent == HIERCC_WAITS ? HIERCC_COVERED : sent;
		out->tells = 1;
	}
	out->departure_ns = departure_ns;
	out->alone = sent == HIERCC_ALONE || sent == HIERCC_LOST;
	voq_block(f, total, flows, space, ctl);
	if (f->voq.merged)
		stats_count(STAT_VOQ_MERGED);
	if (sent == HIERCC_ALONE && f->voq.rate_bps)
		voq_alone_begins(f, v);
	f->voq.rate_bps = sent == HIERCC_ALONE ? 0 : voq_first_hop(v, now_ns);
	if (ctl->mode != MODE_ENFORCE || !(f->path.port_flags & PORT_F_EDT))
		return 0;
	if (sent == HIERCC_ALONE) {
		__sync_fetch_and_add(&v->alone, 1);
		stats_count(STAT_VOQ_ALONE);
	} else if (sent == HIERCC_WAITS) {
		stats_count(STAT_VOQ_WAITS);
	}
	return 0;
}

/* When the qdisc `sluice` may expect credit: a packet that leaves without credit says nothing about that of others. */
static inline __u64 voq_queue_ns(const struct voq *v, const struct voq_out *out)
{
	return (out->tells || out->alone) && v->voq.clock_ns > out->departure_ns ? v->voq.clock_ns : out->departure_ns;
}

/* With the qdisc `sluice` what a flow sends first goes before the others of the VOQ. */
static inline void voq_hurries(struct egress_pkt *p, struct flow *f, struct voq *v, struct voq_out *out)
{
	__u32 total = bpf_ntohl(out->block.total);

	if (!(f->path.port_flags & PORT_F_QUEUE) || f->path.hiercc != VOQS_HERE)
		return;
	out->departure_ns = voq_queue_ns(v, out);
	if (queue_is_young(&f->voq.burst, p->now_ns, f->tx.clock_ns, p->weight))
		p->young = QUEUE_NOTE_YOUNG;
	out->block.total = bpf_htonl(hiercc_claim(&v->voq, &v->params, total, p->young != 0));
}

/* Bytes of S, as in voq_out, that no companion has announced; another CPU may have announced more meanwhile. */
static inline __u32 voq_untold(const struct voq *v, const struct voq_out *out)
{
	__s32 untold = bpf_ntohl(out->block.total) - READ_ONCE(v->beside_total);

	return untold > 0 ? untold : 0;
}

/* A companion announces the S of voq_out. */
static inline void voq_said(struct voq *v, const struct voq_out *out, __u64 now_ns)
{
	WRITE_ONCE(v->beside_total, bpf_ntohl(out->block.total));
	v->beside_ns = now_ns;
}

/*
 * The block of a companion made from an ACK: S covers all bytes that have a departure, and the companion leaves with
 * the last of them.
 */
VERIFIED_ONCE int voq_beside_ack(struct flow *f, const struct sluice_addr *remote)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u64 now_ns = bpf_ktime_get_ns();
	struct voq *v;

	if (!f || !remote || !space || !ctl || !voq_is_due(f))
		return 0;
	v = voq_get(f, remote, now_ns, ctl->epoch);
	if (!v)
		return 0;
	space->voq_out.departure_ns = READ_ONCE(v->voq.clock_ns);
	voq_block(f, READ_ONCE(v->voq.sent), rx_counted(&v->count), space, ctl);
	voq_rides(f, space);
	voq_said(v, &space->voq_out, now_ns);
	space->probe_voq = 1;
	return 0;
}
#endif

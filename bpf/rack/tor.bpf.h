/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TOR_BPF_H
#define SLUICE_TOR_BPF_H
/*
 * A switch as a ToR of HierCC, for hosts that send VOQ blocks for it to fill in (rate.bpf.h).
 *
 *  1. hop, at a port with `voqs: up`: the packet enters the VOQ of its destination as it would at egress (voq.bpf.h),
 *     its block is written in place, and its departure time holds it in fq. If the host uses companions, they carry the
 *     block, and data that enters the VOQ is recognised by its addresses.
 *  2. A marked packet asks for R. The daemon is told by a ring and answers (user/daemon/tor.c). When the VOQ stops its
 *     hosts, or lets them continue, the daemon is told at once.
 *  3. `tor`, ingress of such a port: CREDIT messages that name this switch end here. They are addressed to a host,
 *     because their sender only knows the addresses of packets.
 *  4. hop, at a port with `voqs: down`: leaving packets are noted as at the ingress of a host (credit.bpf.h) and
 *     granted credit from this port's speed. Credit keeps its queue short, so it does not stamp packets that have
 *     credit.
 *
 * A block is not covered by a tag: any host that can send through the switch can fill VOQs, as it can fill queues.
 * Claims are bounded by the arrived bytes (hiercc.h).
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/batch.bpf.h"
#include "rack/credit.bpf.h"
#include "rack/voq.bpf.h"
#include "host/departure.bpf.h"
#include "host/encap.bpf.h"
#include "host/peer.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/rx.h"
#include "sluice/pacer.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define TOR_PAIR 0 /* in tor_flows, instead of a port: a pair of hosts, and when their last companion came */

/* A host asks for R, which is in f. */
static inline void tor_ask(const struct flow *f, struct voq *v, struct tor_flow *t, const struct msg *m, __u64 now_ns)
{
	struct scratch_space *space = scratch_get();
	struct tor_news *n;

	/* All segments of a GSO packet have the mark of its first. */
	if (!space || now_ns < t->asked_ns + v->hop_params.period_ns / 2)
		return;
	t->asked_ns = v->asked_ns = now_ns;
	n = &space->tor_news;
	n->voq = space->voq_key;
	n->flags = TOR_NEWS_ASKED | (v->hop.stopped ? TOR_NEWS_STOPPED : 0);
	n->host = m->ip.src;
	n->dst = m->ip.dst;
	n->rate_bps = f->voq.rate_bps;
	stats_count(STAT_TOR_ASKED);
	voq_news_send(n);
}

/* Whether a message has a VOQ block to handle here: the reply to a companion only returns the asker's block. */
static inline int tor_is_due(const struct msg *m)
{
	return m->hdr.flags & WIRE_F_VOQ &&
	       (wire_message(&m->hdr) == WIRE_DATA || (m->companion && wire_message(&m->hdr) == WIRE_PROBE));
}

/* The offset of a packet's VOQ block, which it has. */
static inline __u32 tor_block_at(const struct msg *m)
{
	return m->offset + wire_echo_offset(&m->hdr) - WIRE_VOQ_BYTES;
}

/* Reads the inputs of arrival_weigh() from a packet with a VOQ block. Returns whether it is sound. */
static inline int tor_read(struct __sk_buff *ctx, const struct msg *m, struct ingress_pkt *p)
{
	struct ip_info ip = {};

	p->key.local = m->ip.dst;
	p->key.remote = m->ip.src;
	if (m->companion)
		return 1;
	p->inner = m->offset + wire_length(&m->hdr);
	if (ip_parse(ctx, p->inner, m->ip.v6 ? ETH_P_IPV6 : ETH_P_IP, &ip) != IP_OK)
		return 0;
	p->key.proto = ip.proto;
	return ip.proto == IPPROTO_TCP || ip.proto == IPPROTO_UDP;
}

/*
 * The port that identifies a flow whose ports are at l4: the source port of the outer header that its host would use.
 */
static inline __be16 tor_port(struct __sk_buff *ctx, struct scratch_space *space, const struct msg *m, __u32 l4)
{
	struct flow_key *key = &space->from.key;
	const __be16 *port = pkt_bytes(ctx, l4, 2 * sizeof(*port));

	if (!port)
		return 0;
	__builtin_memset(key, 0, sizeof(*key));
	key->local = m->ip.src;
	key->remote = m->ip.dst;
	key->local_port = port[0];
	key->remote_port = port[1];
	key->proto = m->ip.proto;
	return egress_entropy(key);
}

/* The packet's flow, if this switch keeps VOQs for its destination; NULL: it does not. */
static inline struct tor_flow *tor_flow_get(const struct msg *m, __be16 port, const struct control *ctl)
{
	struct peer_key pk = { .prefixlen = 128 };
	struct scratch_space *space = scratch_get();
	struct tor_flow fresh = {}, *t;
	const struct peer *peer;

	if (!space)
		return 0;
	space->tor_key.src = m->ip.src;
	space->tor_key.dst = m->ip.dst;
	space->tor_key.port = port;
	t = bpf_map_lookup_elem(&tor_flows, &space->tor_key);
	if (!t) {
		bpf_map_update_elem(&tor_flows, &space->tor_key, &fresh, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&tor_flows, &space->tor_key);
		if (!t)
			return 0;
	}
	if (t->epoch != ctl->epoch) {
		pk.addr = m->ip.dst;
		peer = bpf_map_lookup_elem(&peers, &pk);
		t->hiercc = peer && peer->t_ns && !peer->leaving ? peer->hiercc : VOQS_OFF;
		t->epoch = ctl->epoch;
	}
	return t->hiercc == VOQS_HERE ? t : 0;
}

/* The same for a message. */
static inline __be16 tor_port_of(struct __sk_buff *ctx, struct scratch_space *space, const struct msg *m)
{
	const __be16 *port;

	if (m->companion)
		return tor_port(ctx, space, m, m->offset - sizeof(struct wire_companion));
	port = pkt_bytes(ctx, m->offset - m->intmd - sizeof(struct udphdr), sizeof(*port));
	return port ? *port : 0;
}

/* Copies the fields that voq.bpf.h uses of a flow from t, to be put back there. */
static inline void tor_flow_take(struct flow *f, const struct tor_flow *t, __u32 ifindex, __u32 port_flags, int beside)
{
	f->path.telemetry = beside ? TELEMETRY_COMPANION : TELEMETRY_EVERY;
	f->path.hiercc = VOQS_HERE;
	f->path.ifindex = ifindex;
	f->path.port_flags = port_flags;
	f->voq.mark = t->voq_mark;
	f->voq.asked = t->voq_asked;
	f->voq.merged = t->voq_merged;
	f->voq.prefixlen = t->voq_prefixlen;
}

static inline void tor_flow_put(const struct flow *f, struct tor_flow *t)
{
	t->voq_mark = f->voq.mark;
	t->voq_asked = f->voq.asked;
	t->voq_merged = f->voq.merged;
	t->voq_prefixlen = f->voq.prefixlen;
}

/* Holds a packet that has entered the VOQ v until the departure in voq_out, and behind earlier packets of its flow. */
static inline void tor_hold(struct __sk_buff *ctx, const struct voq *v, struct tor_flow *t, __u64 now_ns,
			    const struct port *port)
{
	const struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u64 departure_ns;

	if (!space || !ctl)
		return;
	stats_count(STAT_TOR_VOQ);
	departure_ns = port->flags & PORT_F_QUEUE ? voq_queue_ns(v, &space->voq_out) : space->voq_out.departure_ns;
	departure_ns = pacer_departure(now_ns, t->clock_ns, departure_ns);
	if (departure_ns > now_ns + v->params.limit_ns)
		departure_ns = now_ns + v->params.limit_ns;
	t->clock_ns = departure_ns;
	if (ctl->mode != MODE_ENFORCE)
		return;
	if (port->flags & PORT_F_QUEUE)
		queue_note_voq(ctx, v, departure_ns, 0);
	else if (port->flags & PORT_F_EDT && departure_ns > now_ns)
		bpf_skb_set_tstamp(ctx, departure_ns, BPF_SKB_TSTAMP_DELIVERY_MONO);
}

/*
 * A packet of a host behind this switch leaves for another rack: it enters its VOQ. A companion adds no bytes, and
 * carries S of all earlier packets; from then on the host's plain data to there is known to use VOQs.
 */
VERIFIED_APART int tor_up(struct __sk_buff *ctx, const struct msg *m)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 at = tor_block_at(m), ifindex = ctx->ifindex, flags;
	const struct wire_voq *block;
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
	struct tor_flow *t;
	struct flow *f;
	struct voq *v;

	if (!space || !ctl || !ctl->tor || !port)
		return 0;
	block = pkt_bytes(ctx, at, sizeof(*block));
	if (!block || block->tor)
		return 0;
	flags = block->flags;
	if (!tor_read(ctx, m, &space->ingress))
		return 0;
	space->news.bytes = 0;
	if (m->companion) {
		t = tor_flow_get(m, TOR_PAIR, ctl);
		if (t)
			t->asked_ns = now_ns;
	} else if (!arrival_weigh(ctx, m, &space->ingress, &space->news)) {
		return 0;
	}
	t = tor_flow_get(m, tor_port_of(ctx, space, m), ctl);
	if (!t)
		return 0;
	f = &space->flow;
	tor_flow_take(f, t, ifindex, port->flags, flags & WIRE_VOQ_BESIDE);
	v = voq_get(f, &m->ip.dst, now_ns, ctl->epoch);
	if (v)
		voq_send(f, v, now_ns, space->news.bytes, &space->voq_out);
	tor_flow_put(f, t);
	if (!v)
		return 0;
	tor_hold(ctx, v, t, now_ns, port);
	if (flags & WIRE_VOQ_MARK)
		tor_ask(f, v, t, m, now_ns);
	voq_stop_news(v);
	space->voq_out.block.flags |= flags & WIRE_VOQ_SWITCH;
	bpf_skb_store_bytes(ctx, at, &space->voq_out.block, sizeof(space->voq_out.block), 0);
	return 0;
}

/* Where a packet ends, without the bytes by which Ethernet fills up a short one: a bridge keeps those. */
static inline __u32 tor_end(const struct __sk_buff *ctx, __u32 offset, const struct ip_info *ip)
{
	return !ctx->gso_size && offset + ip->total < ctx->len ? offset + ip->total : ctx->len;
}

/*
 * The wire bytes of a plain packet that ends at `end`, and whose L4 header is at l4, in all its segments; 0: it has no
 * payload, or is neither TCP nor UDP.
 */
static inline __u32 tor_plain_bytes(struct __sk_buff *ctx, __u32 l4, __u32 end, __u8 proto)
{
	__u32 head = l4 + sizeof(struct udphdr), payload, segs;
	const __u8 *doff;

	if (proto == IPPROTO_TCP) {
		doff = pkt_bytes(ctx, l4 + 12, 1);
		head = doff ? l4 + (*doff >> 4) * 4 : end;
	} else if (proto != IPPROTO_UDP) {
		return 0;
	}
	if (end <= head)
		return 0;
	payload = end - head;
	segs = ctx->gso_size ? (payload + ctx->gso_size - 1) / ctx->gso_size : 1;
	return payload + segs * head;
}

/* Data of a host that uses companions enters its VOQ, if the host has lately sent a companion there. */
VERIFIED_APART int tor_plain(struct __sk_buff *ctx, __u32 offset, __u16 proto)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u64 now_ns = bpf_ktime_get_ns(), told_ns;
	__u32 ifindex = ctx->ifindex, bytes;
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
	struct tor_flow *t;
	struct msg *m;
	struct flow *f;
	struct voq *v;

	if (!space || !ctl || !port || !(port->flags & PORT_F_VOQ_UP))
		return 0;
	m = &space->msg;
	if (ip_parse(ctx, offset, proto, &m->ip) != IP_OK)
		return 0;
	space->tor_key.src = m->ip.src;
	space->tor_key.dst = m->ip.dst;
	space->tor_key.port = TOR_PAIR;
	t = bpf_map_lookup_elem(&tor_flows, &space->tor_key);
	bytes = t ? tor_plain_bytes(ctx, offset + m->ip.bytes, tor_end(ctx, offset, &m->ip), m->ip.proto) : 0;
	if (!bytes)
		return 0;
	told_ns = t->asked_ns;
	t = tor_flow_get(m, tor_port(ctx, space, m, offset + m->ip.bytes), ctl);
	if (!t)
		return 0;
	f = &space->flow;
	tor_flow_take(f, t, ifindex, port->flags, 1);
	v = voq_get(f, &m->ip.dst, now_ns, ctl->epoch);
	if (v && now_ns < told_ns + v->params.limit_ns) {
		voq_send(f, v, now_ns, bytes, &space->voq_out);
		tor_hold(ctx, v, t, now_ns, port);
		voq_stop_news(v);
	}
	tor_flow_put(f, t);
	return 0;
}

/* A packet of a VOQ of another rack leaves for its host. Returns whether credit keeps its port's queue short. */
VERIFIED_APART int tor_down(struct __sk_buff *ctx, const struct msg *m)
{
	struct peer_key pk = { .prefixlen = 128 };
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 ifindex = ctx->ifindex;
	const struct wire_voq *block;
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
	struct flow *f;

	if (!space || !ctl || !ctl->tor || !port)
		return 0;
	block = pkt_bytes(ctx, tor_block_at(m), sizeof(*block));
	if (!block || !block->tor) /* from the same rack, or from one without a ToR */
		return 0;
	if (!tor_read(ctx, m, &space->ingress) || !arrival_read(ctx, m, &space->ingress))
		return 0;
	if (!bpf_map_lookup_elem(&arrival_slots, &space->news.key)) {
		pk.addr = m->ip.src;
		if (!bpf_map_lookup_elem(&peers, &pk))
			return 0;
	}
	f = &space->flow;
	f->path.hiercc = VOQS_HERE;
	f->path.pod_ifindex = 0;
	f->params.w_init = q12_from_bytes(port->speed_bps / 8000 * (port->count_ns / RX_COUNT_RTTS) / 1000000);
	arrival_see(f, ifindex, now_ns);
	return now_ns < ctl->credit_ns + ctl->credit_life_ns;
}

static inline int tor_packet(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	struct scratch_space *space = scratch_get();
	enum sluice_stat verdict;
	struct host *h;
	struct msg *m;

	if (!ctl || !space || ctl->bypass || !ctl->tor)
		return TC_ACT_UNSPEC;
	m = &space->msg;
	if (!msg_may_be_ours(ctx, WIRE_ETH_BYTES, bpf_ntohs(ctx->protocol)) || msg_parse(ctx, &space->msg) != MSG_OK ||
	    wire_message(&m->hdr) != WIRE_CREDIT || m->hdr.seq != ctl->tor)
		return TC_ACT_UNSPEC;
	m->ip.domain = domain_of(ctl, ctx->ifindex);
	h = bpf_map_lookup_elem(&hosts, host_of_ip(&m->ip));
	m->quiet = 0;
	if (host_standing(&m->ip.src, h, ctl->epoch) != HOST_PEER)
		verdict = STAT_RX_FOREIGN;
	else if (ctl->auth && !(m->hdr.flags & WIRE_F_AUTH))
		verdict = STAT_RX_NO_AUTH;
	else
		verdict = batch_take(ctx, m, h, ctl);
	stats_count(verdict);
	return verdict == STAT_RX_CREDIT ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CREDIT_BPF_H
#define SLUICE_CREDIT_BPF_H
/*
 * HierCC (hiercc.h) at ingress: arrivals of the VOQs of other racks, and credit for ours.
 *
 *  1. arrival_read() reads the VOQ block, and counts the packet's bytes as its sender did: each segment of a GSO packet
 *     with all of its headers.
 *  2. arrival_see(), once the packet is known to be genuine and new: the slot of the VOQ notes it, if the daemon
 *     watches the slot, and its port grants credit (grant.bpf.h); if not, the daemon is told of the packet and makes
 *     the slot.
 *  3. The daemon is also told of a pod's veth that is not the port by which its VOQ is granted credit: the first packet
 *     of a pod comes before the pod's veth is known.
 *  4. The hop to a pod (pod.bpf.h) is left out of the telemetry while credit keeps that queue short.
 *  5. credit_take() takes one entry of a CREDIT message (batch.bpf.h), and credit_rides() the credit that came with a
 *    packet.
 *
 * The races: addresses of a slot are stored word by word, and all packets of one VOQ go from one rack to one host or
 * prefix: whichever address is stored, credit goes to the right machines. Without a key two CPUs that get the same
 * CREDIT message both take it, and one of them finds nothing new in it; with a key see auth.bpf.h.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/grant.bpf.h"
#include "rack/voq.bpf.h"
#include "host/auth.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/rack/hiercc.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/*
 * S follows the order in which packets entered the VOQ. Packets held by their flow's own clock leave later than others
 * sent since: with 8 BDPs three TCPs that began together were at times taken for a sender that began anew.
 */
#define ARRIVAL_REORDER_BDPS 64
#define ARRIVAL_REORDER_MAX (1U << 30) /* part of the 2^32 in which S wraps */

static inline __u32 arrival_reorder(const struct flow *f)
{
	__u64 bytes = ARRIVAL_REORDER_BDPS * q12_to_bytes(f->params.w_init);

	return bytes < ARRIVAL_REORDER_MAX ? bytes : ARRIVAL_REORDER_MAX;
}

/* Headers of a segment from the inner IP header on; 0: not readable. */
static inline __u32 arrival_header_bytes(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	__u32 bytes = m->ip.v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	const __u8 *doff;

	if (p->key.proto == IPPROTO_UDP)
		return bytes + sizeof(struct udphdr);
	doff = pkt_bytes(ctx, p->inner + bytes + 12, 1);
	return doff ? bytes + (*doff >> 4) * 4 : 0;
}

/* Counts a packet's bytes as its sender did, into told. Returns whether that is possible. */
static inline int arrival_weigh(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p, struct arrival_news *told)
{
	__u32 bytes = WIRE_ETH_BYTES + m->ip.total, ours = p->inner - WIRE_ETH_BYTES, segs = 1, payload, header;
	__u32 gso_size = ctx_gso_size(ctx);

	if (gso_size) {
		header = arrival_header_bytes(ctx, m, p);
		payload = bytes - p->inner - header;
		if (!header || payload > 0xffff)
			return 0;
		segs = (payload + gso_size - 1) / gso_size;
		segs = segs ? segs : 1;
		bytes = payload + segs * (p->inner + header);
	}
	told->bytes = bytes;
	told->inner_bytes = bytes - segs * ours;
	told->packets = segs;
	return 1;
}

/*
 * Fills space->news for a packet with a VOQ block; its inner packet was checked. Returns whether the block makes sense.
 * The bytes include INT-MD words that hops have added. A companion, and a wrapped packet of a flow with companions, has
 * no bytes: S stands for the arrivals.
 */
VERIFIED_ONCE int arrival_read(ctx_t *ctx, const struct msg *m, const struct ingress_pkt *p)
{
	struct scratch_space *space = scratch_get();
	const struct wire_voq *voq;
	struct arrival_news *told;
	int beside;

	if (!m || !p || !space)
		return 0;
	told = &space->news;
	voq = pkt_bytes(ctx, m->offset + wire_echo_offset(&m->hdr) - sizeof(*voq), sizeof(*voq));
	if (voq && !voq->tor) {
		stats_count(STAT_RX_VOQ_EMPTY);
		return 0;
	}
	if (!voq || !voq->prefixlen || voq->prefixlen > 128) {
		stats_count(STAT_RX_BAD_VOQ);
		return 0;
	}
	told->claim = (__u64)bpf_ntohl(voq->total) << 32 | bpf_ntohs(voq->flows);
	told->key.tor = voq->tor;
	beside = m->companion || voq->flags & WIRE_VOQ_BESIDE;
	space->ingress.rides = (voq->flags & (WIRE_VOQ_RIDES | WIRE_VOQ_SWITCH)) == WIRE_VOQ_RIDES;
	told->from = p->key.remote;
	told->to = p->key.local;
	voq_name((struct voq_key *)&told->key, &p->key.local, voq->prefixlen);
	if (!beside)
		return arrival_weigh(ctx, m, p, told);
	told->bytes = told->inner_bytes = 0;
	told->packets = 1;
	return 1;
}

/* Takes the packet of arrival_read(), which came by ifindex: f is the flow in the other direction. */
VERIFIED_ONCE int arrival_see(struct flow *f, __u32 ifindex, __u64 now_ns)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u32 pod, *slot, watched, bytes;
	struct arrival_news *told;
	const struct port *port;
	struct arrival *a = 0;

	if (!f || !space || !ctl)
		return 0;
	if (!ctl->tor) /* HierCC is off: no port would grant credit */
		return 0;
	if (f->path.hiercc == VOQS_TOR) /* the switch of this rack grants credit */
		return 0;
	told = &space->news;
	slot = bpf_map_lookup_elem(&arrival_slots, &told->key);
	if (slot)
		a = bpf_map_lookup_elem(&arrivals, slot);
	/* A merged VOQ has several hosts: no pod's queue is its own. */
	pod = told->key.prefixlen == 128 ? f->path.pod_ifindex : 0;
	f->rx.voq_in = 1;
	f->rx.voq_pod = pod && a && a->ifindex == pod;
	watched = a && a->watched;
	if (watched) {
		space->ingress.voq_slot = space->ingress.rides ? *slot + 1 : 0;
		bytes = hiercc_see(&a->seen, told->claim >> 32, told->claim, told->bytes, told->packets,
				   arrival_reorder(f));
		__sync_fetch_and_add(&a->inner_bytes, told->bytes ? told->inner_bytes : bytes);
		a->last_ns = now_ns;
		a->from = told->from;
		a->to = told->to;
		grant_arrived(a, *slot, bytes, now_ns);
		if (!pod || a->ifindex == pod)
			return 0;
		told->bytes = told->inner_bytes = told->packets = 0;
	}
	told->ifindex = ifindex;
	if (pod) {
		port = bpf_map_lookup_elem(&ports, &pod);
		if (port && port->flags & PORT_F_POD)
			told->ifindex = pod;
		else
			f->path.pod_ifindex = 0; /* the veth is gone, or has no queue any more */
	}
	if (watched && told->ifindex != pod)
		return 0;
	stats_count(bpf_ringbuf_output(&arrival_news, told, sizeof(*told), 0) ? STAT_ARRIVAL_LOST : STAT_ARRIVAL_NEWS);
	return 0;
}

/* Whether telemetry reports the hop to the pod: not while credit keeps its queue short. */
static inline int arrival_needs_pod_hop(const struct flow *f, const struct control *ctl, __u64 now_ns)
{
	return f->path.pod_ifindex && !(f->rx.voq_pod && now_ns < ctl->credit_ns + ctl->credit_life_ns);
}

/* Takes the total granted to one of our VOQs, whose key is in the scratch space. */
VERIFIED_ONCE int credit_take(const struct wire_credit *c)
{
	struct scratch_space *space = scratch_get();
	const struct report_from *from;
	struct voq *v;
	__u64 kept = 0;

	if (!c || !space)
		return 0;
	from = &space->from;
	__builtin_memcpy(&space->voq_key.addr, c->addr, sizeof(space->voq_key.addr));
	space->voq_key.prefixlen = c->prefixlen;
	v = bpf_map_lookup_elem(&voqs, &space->voq_key);
	if (!v) {
		stats_count(STAT_CREDIT_NO_VOQ);
		return 0;
	}
	if (from->auth_seq && !auth_takes_voq(v, from->floor, from->auth_seq, &kept)) {
		stats_count(STAT_RX_REPLAYED);
		return 0;
	}
	switch (hiercc_credit(&v->voq, &v->params, from->now_ns, bpf_ntohl(c->total), c->flags & WIRE_CREDIT_DUE,
			      bpf_ntohs(c->at))) {
	case HIERCC_CREDITED:
		stats_count(STAT_CREDIT_TAKEN);
		break;
	case HIERCC_AHEAD:
		stats_count(STAT_CREDIT_AHEAD);
		if (from->auth_seq)
			auth_gives_back(v, from->auth_seq, kept);
		return 0;
	case HIERCC_OLD:
	case HIERCC_RACED:
		stats_count(STAT_CREDIT_OLD);
		break;
	}
	voq_first_hop(v, from->now_ns);
	if (!CTX_IS_XDP) /* there are no hosts behind a host */
		voq_stop_news(v);
	return 0;
}

/*
 * Takes a struct wire_ride, as a number, that came with a packet of `from`. A tag, if there is one, covers it, and its
 * packet is fresh; a repeated total changes nothing.
 */
VERIFIED_ONCE int credit_rides(const struct sluice_addr *from, __u64 ride, __u64 now_ns)
{
	struct scratch_space *space = scratch_get();
	struct wire_credit *c;
	__u32 prefixlen = ride >> 8 & 0xff;

	if (!from || !space)
		return 0;
	stats_count(STAT_RX_RIDE);
	c = &space->batch.credit[0];
	voq_name(&space->voq_key, from, prefixlen);
	__builtin_memcpy(c->addr, &space->voq_key.addr, sizeof(c->addr));
	c->total = bpf_htonl((__u32)(ride >> 32));
	c->at = bpf_htons((__u16)(ride >> 16));
	c->prefixlen = prefixlen;
	c->flags = ride;
	space->from.auth_seq = 0;
	space->from.now_ns = now_ns;
	return credit_take(c);
}

#endif

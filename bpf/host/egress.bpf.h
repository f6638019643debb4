/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_EGRESS_BPF_H
#define SLUICE_EGRESS_BPF_H
/*
 * tc egress of a host: the source of telemetry.
 *
 *  1. parse: TCP and UDP over IPv4 or IPv6, whole and without options; everything else passes
 *     untouched.
 *  2. classify: the flow, made if its destination is a configured peer.
 *  3. decide: does the peer strip, does the packet fit, is there anything to say? If not it goes
 *     out plain. A peer of unknown ability, and a flow that nobody answers, are sent a PROBE.
 *  4. departure: the flow's clock at R becomes the packet's earliest departure time (EDT). That is
 *     also the window of a flow without acknowledgements: in any T no more than W = R * T leaves. Where
 *     packets go by VOQs it is the time of credit, if that is later (voq.bpf.h). In a pause of the port it
 *     is not before its end (pfc.bpf.h), for what has no clock of its own, too.
 *  5. act: outer IP + UDP + shim + room for hops, where telemetry is due + its place in the VOQ + the echo
 *     of what the reverse flow collected + the tag, where there is a key. The uplink of a node is the first of these hops
 *     itself. What has payload is wrapped with telemetry or without: a flow has one path under ECMP.
 *  6. count: one counter per packet; and a record of what was decided where somebody traces.
 *
 * clsact runs before the qdisc and sees GSO packets whole; the kernel repeats the new header on
 * every segment (BPF_F_ADJ_ROOM_FIXED_GSO with ENCAP_L4_UDP).
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/bucket.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/parse.bpf.h"
#include "port/queue.bpf.h"
#include "port/port.bpf.h"
#include "port/intmd_hop.bpf.h"
#include "host/pacer.bpf.h"
#include "host/flow.bpf.h"
#include "host/delay.bpf.h"
#include "host/auth.bpf.h"
#include "rack/voq.bpf.h"
#include "host/rwnd.bpf.h"
#include "host/trace.bpf.h"
#include "pause/pfc.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/wire/intmd.h"
#include "sluice/pacer.h"
#include "sluice/cc/rx.h"
#include "sluice/cc/sparse.h"
#include "sluice/abi/stats.h"
#include "sluice/wire/telemetry.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

#define ENCAP_FLAGS(v6)                                                                            \
	(BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |                                  \
	 ((v6) ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4))

#define EGRESS_PROBE_L4_BYTES 20
#define EGRESS_OWNER_NS (1000 * 1000 * 1000ULL) /* a flow belongs to the pod that sent it until it was silent for this */

/* An outgoing packet on its way through the stages. */
struct egress_pkt {
	struct flow_key key;
	__u64 now_ns;
	__u32 l4_offset;     /* of the TCP or UDP header */
	__u32 hdr_bytes;     /* Ethernet to the end of that: what every segment repeats */
	__u32 payload_bytes;
	__u32 seq;	     /* of TCP */
	__u32 pad_bytes; /* Ethernet padding behind the IP packet; it stays there */
	/* What comes in front of it; 0: nothing of that */
	__u32 telem_bytes, voq_bytes, echo_bytes, auth_bytes;
	__u32 intmd;	    /* bytes of INT-MD, */
	__u32 growth;	    /*   and by how much hops may lengthen it */
	__u32 echo_version; /* see egress_echo() */
	__u8 tos;
	__u8 df;
	__u8 v6;
	__u8 syn, ack, fin, rst;
};

/* Returns an enum sluice_stat. Global as msg_parse() is: p is verified as any packet from there on. */
CORE_GLOBAL int egress_parse(struct __sk_buff *ctx, struct egress_pkt *p)
{
	__u16 proto = bpf_ntohs(ctx->protocol);
	struct ip_info ip = {};

	if (!p)
		return STAT_TX_OTHER;
	switch (ip_parse(ctx, WIRE_ETH_BYTES, proto, &ip)) {
	case IP_OK:
		break;
	case IP_OPTIONS:
		return STAT_TX_IP_OPTIONS;
	case IP_FRAGMENT:
		return STAT_TX_FRAGMENT;
	default:
		if (proto == ETH_P_8021Q || proto == ETH_P_8021AD)
			return STAT_TX_VLAN_INBAND;
		return STAT_TX_OTHER;
	}
	p->l4_offset = WIRE_ETH_BYTES + ip.bytes;
	if (ip.proto == IPPROTO_TCP) {
		const struct tcphdr *tcp = pkt_bytes(ctx, p->l4_offset, sizeof(*tcp));

		if (!tcp)
			return STAT_TX_OTHER;
		p->key.local_port = tcp->source;
		p->key.remote_port = tcp->dest;
		p->hdr_bytes = p->l4_offset + tcp->doff * 4;
		p->seq = bpf_ntohl(tcp->seq);
		p->syn = tcp->syn;
		p->ack = tcp->ack;
		p->fin = tcp->fin;
		p->rst = tcp->rst;
	} else if (ip.proto == IPPROTO_UDP) {
		const __u8 *mac = pkt_bytes(ctx, 0, 1);
		const struct udphdr *udp;

		/* Whether all of a group strip cannot be asked. */
		if (!mac || *mac & MAC_GROUP)
			return STAT_TX_OTHER;
		udp = pkt_bytes(ctx, p->l4_offset, sizeof(*udp));
		if (!udp)
			return STAT_TX_OTHER;
		if (udp->dest == bpf_htons(wire_port))
			return STAT_TX_OWN;
		p->key.local_port = udp->source;
		p->key.remote_port = udp->dest;
		p->hdr_bytes = p->l4_offset + sizeof(*udp);
	} else {
		return STAT_TX_OTHER;
	}
	/* The IP header does not know the length of a packet of more than 64 KB (BIG TCP) and says 0. */
	if (ip.total > ip.bytes && WIRE_ETH_BYTES + ip.total < ctx->len)
		p->pad_bytes = ctx->len - WIRE_ETH_BYTES - ip.total;
	if (p->hdr_bytes > ctx->len - p->pad_bytes)
		return STAT_TX_OTHER;
	p->key.local = ip.src;
	p->key.remote = ip.dst;
	p->key.proto = ip.proto;
	p->payload_bytes = ctx->len - p->pad_bytes - p->hdr_bytes;
	p->tos = ip.tos;
	p->df = ip.df;
	p->v6 = ip.v6;
	return STAT_TX_DATA;
}

static inline __u32 egress_outer_bytes(const struct egress_pkt *p)
{
	return (p->v6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + sizeof(struct udphdr);
}

/* Source port of the tunnel: ECMP keeps a flow on one path, and spreads flows (RFC 7510, 3.1). */
static inline __be16 egress_entropy(const struct flow_key *key)
{
	const __u32 *w = (const __u32 *)key;
	__u32 h = 0;
	int i;

	for (i = 0; i < (int)(sizeof(*key) / 4); i++)
		h = (h ^ w[i]) * 0x9e3779b1;
	return bpf_htons(0xc000 | h >> 18);
}

static inline __u16 csum_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/*
 * Outer IP, UDP and shim. ip_bytes: of the IP packet as it will be. wire_bytes: from the shim to the
 * inner packet.
 */
CORE_GLOBAL int egress_outer(struct egress_head *head, struct egress_pkt *p,
						  __u32 ip_bytes, __u32 wire_bytes)
{
	if (!p || !head)
		return -EINVAL;
	if (p->v6) {
		struct ipv6hdr *h = &head->ip.v6;

		*(__u32 *)h = bpf_htonl(6u << 28 | (__u32)p->tos << 20);
		h->payload_len = bpf_htons(ip_bytes - sizeof(*h));
		h->nexthdr = IPPROTO_UDP;
		h->hop_limit = 64;
		__builtin_memcpy(&h->saddr, &p->key.local, sizeof(h->saddr));
		__builtin_memcpy(&h->daddr, &p->key.remote, sizeof(h->daddr));
		head->udp.len = h->payload_len;
	} else {
		struct iphdr *h = &head->ip.v4;
		const __u16 *w = (const __u16 *)h;
		__u32 sum = 0;
		int i;

		*(__u16 *)h = bpf_htons(0x4500 | p->tos);
		h->tot_len = bpf_htons(ip_bytes);
		h->id = 0;
		h->frag_off = p->df ? bpf_htons(IP_DF) : 0;
		h->ttl = 64;
		h->protocol = IPPROTO_UDP;
		h->check = 0;
		h->saddr = *(__be32 *)&p->key.local.b[12];
		h->daddr = *(__be32 *)&p->key.remote.b[12];
		for (i = 0; i < 10; i++)
			sum += w[i];
		h->check = csum_fold(sum);
		head->udp.len = bpf_htons(ip_bytes - sizeof(*h));
	}
	head->udp.source = egress_entropy(&p->key);
	head->udp.dest = bpf_htons(wire_port);
	head->udp.check = 0;
	head->shim.type_npt = WIRE_SHIM_TYPE_NPT;
	head->shim.length_words = (wire_bytes - sizeof(head->shim)) / 4;
	head->shim.reserved = 0;
	head->shim.ip_proto = p->v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
	return 0;
}

/*
 * The authentication block behind the echo, of so many bytes, which is so far behind the header; the rest of
 * head is done. Returns 0 where there is no key.
 */
CORE_GLOBAL int egress_sign(struct egress_head *head, struct egress_pkt *p, __u32 echo_at,
			    __u32 echo_bytes, __u64 seq)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	struct wire_auth_text *text;
	const struct wire_echo *echo;
	const struct auth_keys *k;
	struct wire_auth *auth;
	__u32 at;
	__u64 tag;

	if (!head || !p || !space || !ctl)
		return 0;
	k = auth_keys_get(ctl);
	if (!k)
		return 0;
	bound_here(echo_at);
	if (echo_at > sizeof(struct wire_telem) + sizeof(struct wire_voq)) /* never */
		return 0;
	echo = (const struct wire_echo *)(head->blocks + echo_at);
	bound_here(echo); /* an address keeps its bounds where it is put aside, a number does not */
	text = &space->text;
	text->echo = *echo;
	__builtin_memcpy(text->src, &p->key.local, sizeof(text->src));
	__builtin_memcpy(text->dst, &p->key.remote, sizeof(text->dst));
	text->port[0] = p->key.local_port;
	text->port[1] = p->key.remote_port;
	text->proto = p->key.proto;
	text->hdr = head->hdr;
	text->seq_high = bpf_htonl(seq >> 32);
	text->seq_low = bpf_htonl((__u32)seq);
	tag = auth_tag(text, k->key[0].k0, k->key[0].k1, wire_auth_words(&head->hdr));
	at = echo_at + echo_bytes;
	bound_here(at);
	if (at > sizeof(head->blocks) - sizeof(*auth)) /* never */
		return 0;
	auth = (struct wire_auth *)(head->blocks + at);
	auth->seq_high = text->seq_high;
	auth->seq_low = text->seq_low;
	auth->tag_high = bpf_htonl(tag >> 32);
	auth->tag_low = bpf_htonl((__u32)tag);
	return 1;
}

/* What the uplink of a node says of itself; see egress_stamp(). */
static inline int egress_uplink_read(struct __sk_buff *ctx, const struct port *port, struct qdisc_state *s)
{
	if (port_read(ctx, port, 0, qdisc_kfuncs, s)) {
		stats_count(STAT_TX_NO_QUEUE);
		return -ENOTSUP;
	}
	s->tx_bytes += port->unseen_bytes;
	if (port->flags & PORT_F_EDT)
		s->backlog_bytes = 0;
	return 0;
}

/*
 * The hop of a node's uplink, which many pods share: held to eta of its speed they leave its qdisc
 * empty. qLen: what waits in fq for its departure time cannot be told from a queue, so where the leaves
 * are fq it is 0 and U is told from the rate alone, which is 1 when the uplink is full.
 *
 * bytes: what the packet weighs on the wire. The qdisc charges it as it was before this program, with
 * no header of ours, and a probe as the whole packet that it is a clone of: the difference is added.
 */
CORE_GLOBAL int egress_stamp(struct __sk_buff *ctx, struct egress_head *head, __u32 bytes,
			     int has_telem)
{
	__u32 ifindex = ctx->ifindex;
	struct qdisc_state s = {};
	struct wire_telem *telem;
	struct port *port;

	if (!head)
		return -EINVAL;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port)
		return 0;
	__sync_fetch_and_add(&port->unseen_bytes, (__u64)bytes - ctx->wire_len);
	if (!has_telem)
		return 0;
	if (egress_uplink_read(ctx, port, &s))
		return 0;
	telem = (struct wire_telem *)head->blocks;
	telem->nhop_path = bpf_htons(1 << 12 | (port->switch_id & WIRE_PATH_MASK));
	*(__be64 *)telem->hop[0] = bpf_cpu_to_be64(telem_pack(
		s.speed, bpf_ktime_get_ns(), s.tx_bytes, s.backlog_bytes));
	return 0;
}

/*
 * INT-MD for a path of so many hops into the scratch space: what is to stand in front of Sluice's shim.
 * Its bytes, 0 where it cannot be made. A node's uplink writes itself as the first hop.
 */
CORE_GLOBAL int egress_intmd(struct __sk_buff *ctx, __u32 hops, int stamps)
{
	struct scratch_space *space = scratch_get();
	__u32 ifindex = ctx->ifindex;
	struct qdisc_state state = {};
	const struct port *port;
	struct intmd_space *s;

	if (!space)
		return 0;
	s = &space->intmd;
	intmd_begin(s, hops);
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!stamps || !port)
		return INTMD_SOURCE_BYTES;
	if (egress_uplink_read(ctx, port, &state))
		return INTMD_SOURCE_BYTES;
	intmd_values(s, port, &state);
	s->room_bytes = INTMD_HOP_BYTES; /* the packet has not been measured yet */
	intmd_stamp(s);
	return INTMD_SOURCE_BYTES + s->bytes;
}

/* By how much such a packet can grow on its way. */
static inline __u32 egress_intmd_growth(const struct scratch_space *space)
{
	return INTMD_HOP_BYTES * space->intmd.hdr[3];
}

/* The first bytes of head to behind the Ethernet header, where there is room for them. */
static inline int egress_head_store(struct __sk_buff *ctx, const struct egress_pkt *p,
				    const struct egress_head *head, __u32 bytes)
{
	bound_here(bytes);
	if (bytes < WIRE_HDR_BYTES) /* never, neither; one comparison at a time, or clang makes one of two */
		return -EINVAL;
	bound_here(bytes);
	if (p->v6)
		return bytes > sizeof(*head) ? -EINVAL : /* never; the verifier wants to hear it */
		       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v6, bytes, 0);
	return bytes > sizeof(*head) - sizeof(head->ip.unused) ? -EINVAL :
	       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v4, bytes, 0);
}

/* The same with so many bytes of INT-MD between the outer headers, which bytes counts, and the shim. */
static __attribute__((noinline)) int egress_intmd_store(struct __sk_buff *ctx, const struct egress_pkt *p,
							const struct egress_head *head, __u32 intmd, __u32 bytes)
{
	struct scratch_space *space = scratch_get();
	__u32 outer = egress_outer_bytes(p);

	if (!space)
		return -EINVAL;
	if (p->v6 ? bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v6,
					sizeof(head->ip.v6) + sizeof(head->udp), 0) :
		    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &head->ip.v4,
					sizeof(head->ip.v4) + sizeof(head->udp), 0))
		return -EINVAL;
	/* The bounds are right in front of each call: Linux 6.1 forgets them of what it puts aside. */
	bound_here(intmd);
	if (intmd < INTMD_SOURCE_BYTES) /* never; the verifier wants to hear it */
		return -EINVAL;
	bound_here(intmd);
	if (intmd > INTMD_SOURCE_BYTES + INTMD_HOP_BYTES ||
	    bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + outer, &space->intmd.shim, intmd, 0))
		return -EINVAL;
	bytes -= outer;
	bound_here(bytes);
	if (bytes < WIRE_HDR_BYTES) /* never */
		return -EINVAL;
	bound_here(bytes);
	if (bytes > sizeof(head->shim) + sizeof(head->hdr) + sizeof(head->blocks)) /* never */
		return -EINVAL;
	return bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + outer + intmd, &head->shim, bytes, 0);
}

/*
 * Sends a PROBE: asks the peer whether it strips, and the path how full it is. A clone of the packet
 * goes out by this interface and so through this program a second time: there it is cut down to its
 * headers and wrapped (egress_probe_wrap), which cannot be done to a packet that has been wrapped. The
 * packet itself goes on as it was. A peer without Sluice answers with an ICMP error that nobody waits
 * for. Returns whether it left.
 *
 * The clone is told by what no packet can bring along. bpf_clone_redirect() runs this program for it
 * before it returns, on this CPU with bottom halves off: clsact comes before the qdisc, so no other packet
 * reaches this program by this interface in between. The first that does takes the note away; a clone that
 * never gets here (no memory, a link that is down, a filter in front) leaves it, and it ends with the call.
 */
static inline int egress_probe(struct __sk_buff *ctx, struct scratch_space *space)
{
	int err, missed;

	space->probe_ifindex = ctx->ifindex;
	space->probe_wrapped = 0;
	err = bpf_clone_redirect(ctx, ctx->ifindex, 0);
	missed = space->probe_ifindex;
	space->probe_ifindex = 0;
	if (!err && !missed) {
		stats_count(STAT_PROBE_SENT);
		return 1;
	}
	if (space->probe_wrapped) /* and then dropped by the qdisc */
		stats_count(STAT_PROBE_FAILED);
	return 0;
}

/* The clone of egress_probe(). What cannot become a PROBE must not leave as a second copy of the packet. */
static inline int egress_probe_wrap(struct __sk_buff *ctx, struct egress_pkt *p, struct scratch_space *space)
{
	const struct control *ctl = control_get();
	__u32 wire_bytes = WIRE_HDR_BYTES + sizeof(struct wire_telem), len, outer, intmd = 0;
	struct egress_head *head;
	struct flow *f;
	__u32 seq;

	space->probe_ifindex = 0;
	if (!ctl || egress_parse(ctx, p) != STAT_TX_DATA)
		goto failed;
	if (ctl->auth)
		wire_bytes += WIRE_AUTH_BYTES;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (!f)
		goto failed;
	/*
	 * The kernel keeps what a checksum that is still to be computed is written to: 18 bytes of TCP,
	 * and of a tunnel what is in it.
	 */
	len = p->l4_offset + EGRESS_PROBE_L4_BYTES;
	if (ctx->len > len && bpf_skb_change_tail(ctx, len, 0))
		goto refused;
	head = &space->head;
	outer = egress_outer_bytes(p);
	/* Room for the other encoding stays: in there INT-MD comes back. */
	if (f->encoding == ENCODING_INT_MD)
		intmd = egress_intmd(ctx, HPCC_MAX_HOPS, f->port_flags & PORT_F_STAMP);
	egress_outer(head, p, ctx->len - WIRE_ETH_BYTES + outer + intmd + wire_bytes, wire_bytes);
	head->hdr.version_msg = WIRE_VERSION << 4 | WIRE_PROBE;
	head->hdr.max_hops = HPCC_MAX_HOPS;
	head->hdr.flags = ctl->auth ? WIRE_F_AUTH : 0;
	head->hdr.echo_hops = 0;
	/* It overtakes what waits in fq, so it is not a position behind that. */
	p->now_ns = bpf_ktime_get_ns();
	seq = flow_left_bytes(f, p->now_ns);
	head->hdr.seq = bpf_htonl(seq);
	if (delay_is_wanted(f))
		delay_note_probe(f, seq, p->now_ns);
	__builtin_memset(head->blocks, 0, sizeof(struct wire_telem));
	if (f->port_flags & PORT_F_STAMP)
		egress_stamp(ctx, head, ctx->len + outer + intmd + wire_bytes, !intmd);
	if (ctl->auth) {
		__u64 seq = auth_seq(ctl);

		if (!egress_sign(head, p, sizeof(struct wire_telem), 0, seq))
			goto failed;
		if (!f->probe_seq)
			f->reply_seq = seq - 1;
		f->probe_seq = seq;
	}
	if (bpf_skb_adjust_room(ctx, outer + intmd + wire_bytes, BPF_ADJ_ROOM_MAC, ENCAP_FLAGS(p->v6)) ||
	    (intmd ? egress_intmd_store(ctx, p, head, intmd, outer + wire_bytes) :
		     egress_head_store(ctx, p, head, outer + wire_bytes)))
		goto refused;
	space->probe_wrapped = 1;
	return TC_ACT_UNSPEC;
refused:
	if (p->key.proto == IPPROTO_UDP)
		f->flags |= FLOW_F_TUNNEL;
failed:
	stats_count(STAT_PROBE_FAILED);
	return TC_ACT_SHOT;
}

/*
 * Asks an address that was never heard: once a second, and of all of them together no more than the bucket has,
 * for their addresses may be those of whoever a stranger names.
 */
static inline void egress_ask_stranger(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
				       struct scratch_space *space)
{
	const __u64 *asked_ns = bpf_map_lookup_elem(&asked, &p->key.remote);

	if ((asked_ns && p->now_ns <= *asked_ns + HOST_ASK_NS) || p->now_ns <= f->probe_ns + f->params.t_ns)
		return;
	f->probe_ns = p->now_ns;
	if (!bucket_strangers(BUCKET_ASKS, p->now_ns))
		stats_count(STAT_PROBE_LIMITED);
	else if (egress_probe(ctx, space))
		bpf_map_update_elem(&asked, &p->key.remote, &p->now_ns, BPF_ANY);
}

/*
 * The peer, if it strips. Asks where that is not known, and a peer that strips when it was not heard
 * for long: it may have lost sight of us. SYN, SYN-ACK and RST ask nothing: who is at the other end is known by
 * what follows them. A flow of UDP also asks, once in a base RTT, for the feedback
 * that no reply brings it; where replies bring W, which comes a little more than T apart, after two. A flow
 * whose telemetry is probes always does.
 */
static inline struct host *egress_peer(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f,
				       const struct control *ctl, struct scratch_space *space)
{
	struct host *h = bpf_map_lookup_elem(&hosts, &p->key.remote);
	__u64 silent_ns = 4 * f->params.t_ns, feedback_ns = flow_patience_ns(f);
	int ask;

	if (!h) {
		if (!p->syn && !p->rst)
			egress_ask_stranger(ctx, p, f, space);
		return 0;
	}
	if (h->capable && h->heard_ns < ctl->doubt_ns) {
		h->capable = 0;
		h->unanswered_ns = 0;
	}
	if (silent_ns < HOST_SILENT_NS)
		silent_ns = HOST_SILENT_NS;
	if (h->capable && h->unanswered_ns && p->now_ns > h->unanswered_ns + silent_ns) {
		h->capable = 0;
		h->unanswered_ns = 0;
		stats_count(STAT_PEER_SILENT);
	}
	ask = (!h->capable || p->now_ns > h->heard_ns + HOST_ASK_NS) &&
	      (!h->asked_ns || p->now_ns > h->asked_ns + HOST_ASK_NS);
	if (f->form == RX_WINDOW)
		feedback_ns *= 2;
	if (h->capable && p->key.proto == IPPROTO_UDP && p->now_ns > f->last_fb_ns + feedback_ns)
		ask = 1;
	if (h->capable && f->telemetry == TELEMETRY_PROBE && p->payload_bytes)
		ask = 1;
	if (ask && !p->syn && !p->rst && p->now_ns > f->probe_ns + f->params.t_ns) {
		f->probe_ns = p->now_ns;
		if (egress_probe(ctx, space)) {
			h->asked_ns = p->now_ns;
			/* Here only the answer to this tells that the peer is alive. */
			if (h->capable && f->telemetry == TELEMETRY_PROBE && !h->unanswered_ns)
				h->unanswered_ns = p->now_ns;
		}
	}
	return h->capable ? h : 0;
}

/* From when on the packet may leave: a socket of UDP that paces itself (SO_TXTIME) says when. */
static inline __u64 egress_from_ns(const struct __sk_buff *ctx, const struct egress_pkt *p)
{
	return p->key.proto == IPPROTO_UDP && ctx->tstamp > p->now_ns && ctx->tstamp - p->now_ns < NSEC_PER_SEC ?
		       ctx->tstamp : p->now_ns;
}

/*
 * Does the packet come too early to wait? TCP has a window of its own, so its clock is never far ahead. UDP
 * has not: what would have to wait for longer than the horizon, a base RTT unless configured, is
 * dropped, or, where the policy is to mark and the packet says that it is ECN capable, gets a mark and
 * waits up to twice as long. Where a socket paces itself what counts is what the packet waits beyond
 * that. Nor is the rest of a pause, which ends at pause_ns, counted. A departure time once given stands, so a
 * far horizon is also a slow reaction.
 */
static inline int egress_is_early(struct __sk_buff *ctx, struct egress_pkt *p, const struct flow *f,
				  const struct control *ctl, __u64 pause_ns)
{
	__u64 horizon = ctl->horizon_ns ?: f->params.t_ns, from_ns, ahead;

	if (p->key.proto != IPPROTO_UDP || !(f->port_flags & PORT_F_EDT))
		return 0;
	from_ns = egress_from_ns(ctx, p);
	if (from_ns < pause_ns)
		from_ns = pause_ns;
	ahead = flow_waits_ns(f, from_ns);
	if (ahead <= horizon)
		return 0;
	if (!ctl->horizon_mark || !(p->tos & ECN_MASK) || ahead > 2 * horizon)
		return 1;
	bpf_skb_ecn_set_ce(ctx);
	p->tos |= ECN_CE;
	stats_count(STAT_HORIZON_MARK);
	return 0;
}

/*
 * When the packet leaves: by the flow's clock, or, where that is later, when credit is expected, which is at
 * most limit_ns from now (0: it needs none).
 */
CORE_GLOBAL int egress_departure(struct __sk_buff *ctx, struct egress_pkt *p, struct flow *f, __u32 bytes,
				 __u64 limit_ns)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	__u64 horizon, from, asked = ctx->tstamp, credit_ns, pause_ns, rate, t;
	int udp;

	if (!p || !f || !space || !ctl)
		return 0;
	horizon = 2 * f->params.t_ns + PACER_HORIZON_NS;
	from = egress_from_ns(ctx, p);
	credit_ns = limit_ns ? space->voq_departure_ns : 0;
	udp = p->key.proto == IPPROTO_UDP;
	rate = flow_clock_bps(f, udp);
	if (!(f->port_flags & PORT_F_EDT)) {
		if (udp)
			stats_count(STAT_UNHELD);
		return 0;
	}
	if (udp)
		horizon = 2 * (ctl->horizon_ns ?: f->params.t_ns);
	if (credit_ns > asked)
		asked = credit_ns;
	pause_ns = space->pause_ns;
	if (pause_ns > asked)
		asked = pause_ns;
	if (pause_ns > from)
		horizon += pause_ns - from;
	t = pacer_reserve(&f->clock_ns, from, asked, bytes, rate, horizon + limit_ns);
	f->held = t <= from	 ? HELD_NOT :
		  pause_ns > from ? HELD_PAUSE :
		  t == credit_ns ? HELD_CREDIT :
		  rate == flow_hop_bps(f) ? HELD_HOP : HELD_RATE;
	if (t > p->now_ns) {
		bpf_skb_set_tstamp(ctx, t, BPF_SKB_TSTAMP_DELIVERY_MONO);
		stats_count(STAT_PACED);
	}
	return 0;
}

/* When it leaves fq, by what the pacer, or TCP itself, has asked for; at once where nobody obeys. */
static inline __u64 egress_leaves_ns(const struct __sk_buff *ctx, const struct egress_pkt *p,
				     const struct flow *f)
{
	return p->now_ns + (f->port_flags & PORT_F_EDT ? pacer_wait_ns(p->now_ns, ctx->tstamp) : 0);
}

/*
 * The echo that waits in the flow, if there is one that has not been sent, behind the other blocks, and what the
 * header says of it. The caller puts echo_version into slot->sent when the packet that carries it is on its way.
 * Returns 0 for a packet with blocks that do not fit, which is none. Global as msg_parse() is:
 * the rest of egress_flow() is verified once, not for each combination of blocks.
 */
CORE_GLOBAL int egress_echo(const struct flow *f, struct egress_head *head, struct egress_pkt *p)
{
	const struct flow_echo *slot;
	__u32 version, n, form, at;
	struct wire_echo *e;
	__u64 age;
	int i;

	if (!f || !head || !p)
		return 0;
	at = p->telem_bytes + p->voq_bytes;
	bound_here(at);
	if (at > sizeof(struct wire_telem) + sizeof(struct wire_voq)) /* never; the verifier wants to hear it */
		return 0;
	e = (struct wire_echo *)(head->blocks + at);
	slot = &f->echo;
	version = *(const volatile __u32 *)&slot->version;
	n = slot->hops;
	form = slot->form;
	bound_here(n);
	if (version == slot->sent || version & 1 || n > HPCC_MAX_HOPS)
		return 1;
	age = (p->now_ns - slot->rx_ns) >> WIRE_AGE_SHIFT;
	e->seq = bpf_htonl(slot->seq);
	e->age = bpf_htons(age > 0xffff ? 0xffff : age);
	e->nhop_path = bpf_htons(slot->nhop_path);
	e->flows = bpf_htons(slot->flows);
	e->reserved = 0;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		*(__be64 *)e->hop[i] = bpf_cpu_to_be64(slot->hop[i]);
	if (*(const volatile __u32 *)&slot->version != version) {
		stats_count(STAT_ECHO_TORN);
		return 1;
	}
	p->echo_version = version;
	p->echo_bytes = WIRE_ECHO_BYTES(n);
	head->hdr.echo_hops = n;
	head->hdr.flags |= WIRE_F_ECHO | (form == RX_WINDOW ? WIRE_F_WINDOW : form == RX_RATIO ? WIRE_F_RATIO : 0);
	return 1;
}

/*
 * A pod that writes the address of another into its packets would use up that one's rate, and be taken
 * for it. Of two pods on veths the one that has the flow keeps it while it sends. Where other than pods
 * are concerned a flow may change its way. Behind a bridge all pods come by the bridge: its business.
 */
static inline int egress_is_spoofed(struct __sk_buff *ctx, struct flow *f, __u64 now_ns)
{
	__u32 from = ctx->ingress_ifindex, owner = f->source;

	if (from == owner)
		return 0;
	if (owner && now_ns < f->last_tx_ns + EGRESS_OWNER_NS && bpf_map_lookup_elem(&pods, &owner) &&
	    bpf_map_lookup_elem(&pods, &from))
		return 1;
	f->source = from;
	return 0;
}

/* Steps 3 to 5 for a flow that we have. */
static inline enum sluice_stat egress_flow(struct __sk_buff *ctx, struct egress_pkt *p,
					   struct flow *f, const struct control *ctl, struct scratch_space *space)
{
	__u32 outer = egress_outer_bytes(p), wire_bytes, segment, segs, bytes, room, at;
	__u64 limit_ns = 0;
	struct egress_head *head;
	struct host *peer;
	struct voq *v = 0;
	int due, enforced;
	__u64 seq;

	head = &space->head;
	if (egress_is_spoofed(ctx, f, p->now_ns))
		return STAT_TX_SPOOFED;
	f->last_tx_ns = p->now_ns;
	if (rwnd_is_on(ctl) && p->key.proto == IPPROTO_TCP) {
		if (p->syn)
			rwnd_syn_out(f, &p->key, p->seq, p->payload_bytes, rwnd_syn_scale(ctx, p->l4_offset), p->ack);
		else if (!p->rst && rwnd_is_beyond(f, p->seq + p->payload_bytes + p->fin, p->now_ns))
			return STAT_TX_BEYOND;
		else if (rwnd_wants_socket(f, p->now_ns)) {
			f->asked_ns = p->now_ns;
			rwnd_ask_socket(ctx, f, &p->key, p->v6);
		}
	}
	if (p->syn) /* a new connection, whatever ended by these ports */
		f->flags &= ~FLOW_F_CLOSED;
	if (p->fin || p->rst)
		f->flags |= FLOW_F_CLOSED;
	if (f->flags & FLOW_F_TUNNEL) {
		f->flags &= ~FLOW_F_TELEM;
		return STAT_TX_ENCAP_FAILED;
	}
	peer = egress_peer(ctx, p, f, ctl, space);
	if (!peer) {
		f->flags &= ~FLOW_F_TELEM;
		return p->syn || p->rst ? STAT_TX_HANDSHAKE : STAT_TX_PEER_UNKNOWN;
	}
	f->flags |= FLOW_F_TELEM;
	if (p->syn || p->rst)
		return STAT_TX_HANDSHAKE;

	head->hdr.echo_hops = 0;
	head->hdr.flags = 0;
	room = flow_room(f);
	due = p->payload_bytes && flow_telem_is_due(f, p->now_ns);
	if (due && f->encoding == ENCODING_HPCC)
		p->telem_bytes = WIRE_TELEM_BYTES(room);
	if (due && f->encoding == ENCODING_INT_MD) {
		p->intmd = egress_intmd(ctx, room, f->port_flags & PORT_F_STAMP);
		p->growth = egress_intmd_growth(space);
	}
	/* A packet of several datagrams leaves without our header: nobody would know that it has arrived. */
	if (p->payload_bytes && voq_is_due(f) && !(p->key.proto == IPPROTO_UDP && ctx->gso_size))
		v = voq_get(f, &p->key.remote, p->now_ns, ctl->epoch);
	if (v) {
		p->voq_bytes = WIRE_VOQ_BYTES;
		head->hdr.flags = WIRE_F_VOQ;
	}
	p->auth_bytes = ctl->auth ? WIRE_AUTH_BYTES : 0;
	__builtin_memset(head->blocks, 0, sizeof(struct wire_telem));
	if (!egress_echo(f, head, p)) /* never */
		return STAT_TX_ENCAP_FAILED;
	if (!p->payload_bytes && !p->echo_bytes)
		return STAT_TX_PLAIN_ACK;
	wire_bytes = WIRE_HDR_BYTES + p->telem_bytes + p->voq_bytes + p->echo_bytes + p->auth_bytes;
	outer += p->intmd;

	/* What one segment weighs on the wire, and does it fit, here and with what the hops add? */
	segment = (ctx->gso_size ? p->hdr_bytes + ctx->gso_size : ctx->len) + outer + wire_bytes;
	if (segment + p->growth > f->mtu + WIRE_ETH_BYTES) {
		f->flags &= ~FLOW_F_TELEM;
		return STAT_TX_MTU;
	}
	if (ctx->len + outer + wire_bytes + p->growth > 0xffff)
		return STAT_TX_TOO_LONG;
	segs = ctx->gso_size ? (p->payload_bytes + ctx->gso_size - 1) / ctx->gso_size : 1;
	bytes = p->payload_bytes + segs * (p->hdr_bytes + outer + wire_bytes);
	if (segment - p->hdr_bytes - outer - wire_bytes >= f->mss) {
		f->mss = segment - p->hdr_bytes - outer - wire_bytes;
		f->segment = p->hdr_bytes + outer - p->intmd + WIRE_HDR_BYTES + p->voq_bytes + p->auth_bytes + f->mss +
			     (flow_telem_is_dense(f) ? p->telem_bytes + p->intmd : 0);
	}

	enforced = ctl->mode == MODE_ENFORCE && p->payload_bytes;
	space->pause_ns = enforced && ctl->pfc ? pfc_until(ctx, p->tos) : 0;
	if (enforced && egress_is_early(ctx, p, f, ctl, space->pause_ns))
		return STAT_TX_HORIZON;
	if (v) {
		at = p->telem_bytes;
		bound_here(at);
		if (at > sizeof(struct wire_telem)) /* never */
			return STAT_TX_ENCAP_FAILED;
		voq_send(f, v, p->now_ns, bytes, (struct wire_voq *)(head->blocks + at));
		limit_ns = v->params.limit_ns;
	}
	if (enforced)
		egress_departure(ctx, p, f, bytes, limit_ns);

	seq = __sync_fetch_and_add(&f->tx_bytes, bytes) + bytes;
	/*
	 * A packet of several datagrams (UDP_SEGMENT) that was wrapped is still taken for a tunnel's after
	 * it was stripped, and lost, where it arrives whole, as over veth. It is paced, and its flow's
	 * feedback comes from probes.
	 */
	if (p->key.proto == IPPROTO_UDP && ctx->gso_size)
		return STAT_TX_UDP_GSO;
	if ((p->telem_bytes || p->intmd) && delay_is_wanted(f))
		delay_note(f, seq, p->now_ns, egress_leaves_ns(ctx, p, f));
	egress_outer(head, p, ctx->len - p->pad_bytes - WIRE_ETH_BYTES + outer + wire_bytes, wire_bytes);
	head->hdr.version_msg = WIRE_VERSION << 4 | WIRE_DATA;
	head->hdr.max_hops = p->telem_bytes ? room : 0;
	if (p->auth_bytes)
		head->hdr.flags |= WIRE_F_AUTH;
	head->hdr.seq = bpf_htonl((__u32)seq);
	if (p->auth_bytes && !egress_sign(head, p, p->telem_bytes + p->voq_bytes, p->echo_bytes, p->now_ns + ctl->seq_base_ns))
		return STAT_TX_ENCAP_FAILED;
	if (f->port_flags & PORT_F_STAMP)
		egress_stamp(ctx, head, bytes, p->telem_bytes);
	if (bpf_skb_adjust_room(ctx, outer + wire_bytes, BPF_ADJ_ROOM_MAC, ENCAP_FLAGS(p->v6)) ||
	    (p->intmd ? egress_intmd_store(ctx, p, head, p->intmd, outer - p->intmd + wire_bytes) :
			egress_head_store(ctx, p, head, outer + wire_bytes))) {
		if (p->key.proto == IPPROTO_UDP)
			f->flags |= FLOW_F_TUNNEL;
		return STAT_TX_ENCAP_FAILED;
	}
	if (p->telem_bytes || p->intmd) {
		f->telem_tx_ns = p->now_ns;
		if (!peer->unanswered_ns)
			peer->unanswered_ns = p->now_ns;
	} else if (p->payload_bytes) {
		stats_count(STAT_TX_BARE);
	}
	if (p->echo_bytes)
		f->echo.sent = p->echo_version;
	if (head->hdr.flags & WIRE_F_WINDOW)
		stats_count(STAT_TX_WINDOW);
	if (head->hdr.flags & WIRE_F_RATIO)
		stats_count(STAT_TX_RATIO);
	return STAT_TX_DATA;
}

static inline enum sluice_stat egress_packet(struct __sk_buff *ctx, struct egress_pkt *p, const struct control *ctl,
					     struct scratch_space *space)
{
	enum sluice_stat verdict;
	__u32 ifindex = ctx->ifindex;
	struct flow *f;

	if (!ctl || !space || ctl->bypass)
		return STAT_TX_BYPASS;
	verdict = egress_parse(ctx, p);
	if (verdict != STAT_TX_DATA)
		return verdict;
	f = bpf_map_lookup_elem(&flows, &p->key);
	if (!f && p->rst)
		return STAT_TX_HANDSHAKE;
	if (!f) {
		switch (flow_make(&p->key, ifindex, ctl->epoch,
				  p->syn && p->ack ? STAT_FLOW_MADE_SYNACK : STAT_FLOW_MADE_TX)) {
		case FLOW_NO_PORT:
			return STAT_TX_NO_PORT;
		case FLOW_NO_PEER:
			return STAT_TX_NO_PEER;
		case FLOW_FULL:
			return STAT_TX_FLOW_FULL;
		case FLOW_OK:
			break;
		}
		f = bpf_map_lookup_elem(&flows, &p->key);
		if (!f)
			return STAT_TX_FLOW_FULL;
	}
	if (f->epoch != ctl->epoch || f->ifindex != ifindex)
		flow_refresh(f, &p->key, ifindex, ctl->epoch);
	if (f->no_peer || f->port_flags & PORT_F_LEAVING || !f->params.t_ns) {
		f->flags &= ~FLOW_F_TELEM;
		return f->port_flags & PORT_F_LEAVING ? STAT_TX_NO_PORT : STAT_TX_NO_PEER;
	}
	p->now_ns = bpf_ktime_get_ns();
	return egress_flow(ctx, p, f, ctl, space);
}

/* What the socket of the packet has sent that was not acknowledged. Returns whether that is known. */
static inline int egress_inflight(struct __sk_buff *ctx, __u32 *bytes)
{
	struct bpf_sock *sk = (struct bpf_sock *)ctx->sk;
	struct bpf_tcp_sock *tcp;

	sk = sk ? bpf_sk_fullsock(sk) : 0;
	tcp = sk ? bpf_tcp_sock(sk) : 0;
	if (!tcp)
		return 0;
	*bytes = tcp->snd_nxt - tcp->snd_una;
	return 1;
}

/* A record of the packet as it leaves, or would have left. paused: pfc_hold() has held it. */
CORE_GLOBAL int egress_trace(struct __sk_buff *ctx, const struct egress_pkt *p, const struct flow *f, __u32 verdict,
			     int paused)
{
	enum trace_event event = verdict == STAT_PROBE_SENT ? TRACE_PROBE : TRACE_DEPARTURE;
	const struct control *ctl = control_get();
	struct trace_departure *d;
	struct pfc_port *port;
	struct trace *t;

	if (!p || !f || !ctl)
		return 0;
	if (verdict == STAT_TX_HORIZON || verdict == STAT_TX_BEYOND || verdict == STAT_TX_SPOOFED)
		event = TRACE_DROP;
	t = trace_begin(ctx, &p->key, event, p->now_ns);
	if (!t)
		return 0;
	t->verdict = verdict;
	d = &t->departure;
	d->departure_ns = event == TRACE_DROP ? p->now_ns + flow_waits_ns(f, p->now_ns) : egress_leaves_ns(ctx, p, f);
	d->w_bytes = flow_window_bytes(f);
	d->rate_bps = flow_clock_bps(f, p->key.proto == IPPROTO_UDP);
	d->tx_bytes = f->tx_bytes;
	d->inflight_bytes = 0;
	d->inflight_known = egress_inflight(ctx, &d->inflight_bytes);
	if (event == TRACE_DROP || d->departure_ns <= p->now_ns)
		d->held = HELD_NOT;
	else if ((verdict == STAT_TX_DATA || verdict == STAT_TX_UDP_GSO) && p->payload_bytes &&
		 ctl->mode == MODE_ENFORCE)
		d->held = f->held;
	else
		d->held = paused ? HELD_PAUSE : HELD_SOCKET;
	port = pfc_port_get(t->ifindex);
	d->priority = port ? pfc_prio(port, p->tos, ctx->vlan_present ? ctx->vlan_tci : 0) : p->tos >> 5;
	bpf_ringbuf_submit(t, 0);
	return 0;
}

static inline void egress_tell(struct __sk_buff *ctx, const struct egress_pkt *p, enum sluice_stat verdict, int paused)
{
	const struct flow *f = bpf_map_lookup_elem(&flows, &p->key);

	if (f)
		egress_trace(ctx, p, f, verdict, paused);
}

static inline int egress_handle(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	struct scratch_space *space = scratch_get();
	enum sluice_stat verdict = STAT_PROBE_SENT;
	struct egress_pkt p = {};
	int action, paused = 0;

	if (space && space->probe_ifindex == ctx->ifindex) {
		action = egress_probe_wrap(ctx, &p, space);
	} else {
		verdict = egress_packet(ctx, &p, ctl, space);
		stats_count(verdict);
		/* What passes is not ours to end: the next filter, if any, has its say. */
		action = verdict == STAT_TX_HORIZON || verdict == STAT_TX_BEYOND || verdict == STAT_TX_SPOOFED ?
				 TC_ACT_SHOT : TC_ACT_UNSPEC;
	}
	if (action == TC_ACT_UNSPEC)
		paused = pfc_hold(ctx);
	if (ctl && trace_is_on(ctl) && (action == TC_ACT_UNSPEC || verdict != STAT_PROBE_SENT))
		egress_tell(ctx, &p, verdict, paused);
	return action;
}

#endif

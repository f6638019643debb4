/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_EGRESS_BPF_H
#define SLUICE_EGRESS_BPF_H
/*
 * tc egress of a host: the source of telemetry.
 *
 *  1. parse: TCP over IPv4 or IPv6, whole and without options; everything else passes untouched.
 *  2. classify: the flow, made if its destination is a configured peer.
 *  3. decide: does the peer strip, does the packet fit, is there anything to say? If not it goes
 *     out plain.
 *  4. departure: the flow's clock at R becomes the packet's earliest departure time (EDT).
 *  5. act: outer IP + UDP + shim + room for 5 hops + the echo of what the reverse flow collected.
 *  6. count: one counter per packet.
 *
 * clsact runs before the qdisc and sees GSO packets whole; the kernel repeats the new header on
 * every segment (BPF_F_ADJ_ROOM_FIXED_GSO with ENCAP_L4_UDP).
 */
#define ENCAP_FLAGS(v6)                                                                            \
	(BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |                                  \
	 ((v6) ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4))

/* An outgoing packet on its way through the stages. */
struct egress_pkt {
	struct flow_key key;
	__u64 now_ns;
	__u32 l4_offset;     /* of the TCP header */
	__u32 hdr_bytes;     /* Ethernet to the end of TCP: what every segment repeats */
	__u32 payload_bytes;
	__u32 pad_bytes; /* Ethernet padding behind the IP packet; it stays there */
	__u8 tos;
	__u8 df;
	__u8 v6;
	__u8 tcp_flags;
};

#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

static inline enum sluice_stat egress_parse(struct __sk_buff *ctx, struct egress_pkt *p)
{
	__u16 proto = bpf_ntohs(ctx->protocol);
	struct ip_info ip = {};
	struct {
		__be16 source, dest;
		__be32 seq, ack;
		__u8 doff, flags;
	} l4;

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
		return STAT_TX_NOT_TCP;
	}
	p->l4_offset = WIRE_ETH_BYTES + ip.bytes;
	if (ip.proto == IPPROTO_UDP && !bpf_skb_load_bytes(ctx, p->l4_offset, &l4, 4) &&
	    l4.dest == bpf_htons(wire_port))
		return STAT_TX_OWN;
	if (ip.proto != IPPROTO_TCP || bpf_skb_load_bytes(ctx, p->l4_offset, &l4, 14))
		return STAT_TX_NOT_TCP;
	p->key.local = ip.src;
	p->key.remote = ip.dst;
	p->key.local_port = l4.source;
	p->key.remote_port = l4.dest;
	p->key.proto = IPPROTO_TCP;
	p->hdr_bytes = p->l4_offset + (l4.doff >> 4) * 4;
	/* The IP header does not know the length of a packet of more than 64 KB (BIG TCP). */
	if (ip.total >= ip.bytes && WIRE_ETH_BYTES + ip.total < ctx->len)
		p->pad_bytes = ctx->len - WIRE_ETH_BYTES - ip.total;
	p->payload_bytes = ctx->len - p->pad_bytes > p->hdr_bytes ?
				   ctx->len - p->pad_bytes - p->hdr_bytes : 0;
	p->tcp_flags = l4.flags;
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
 * Outer IP and UDP in front of an IP packet that has room for them and for wire_bytes after them.
 * len: of the frame as it is now.
 */
static __attribute__((noinline)) int egress_outer(struct __sk_buff *ctx, struct egress_pkt *p,
						  __u32 len)
{
	struct udphdr udp = {};

	if (!p)
		return -EINVAL;
	udp.source = egress_entropy(&p->key);
	udp.dest = bpf_htons(wire_port);
	if (p->v6) {
		struct ipv6hdr h = {
			.version = 6,
			.priority = p->tos >> 4,
			.flow_lbl = { p->tos << 4 },
			.payload_len = bpf_htons(len - WIRE_ETH_BYTES - sizeof(h)),
			.nexthdr = IPPROTO_UDP,
			.hop_limit = 64,
		};

		__builtin_memcpy(&h.saddr, &p->key.local, sizeof(h.saddr));
		__builtin_memcpy(&h.daddr, &p->key.remote, sizeof(h.daddr));
		udp.len = h.payload_len;
		return bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &h, sizeof(h), 0) ?:
		       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + sizeof(h), &udp, sizeof(udp), 0);
	} else {
		struct iphdr h = {
			.version = 4,
			.ihl = 5,
			.tos = p->tos,
			.tot_len = bpf_htons(len - WIRE_ETH_BYTES),
			.frag_off = p->df ? bpf_htons(IP_DF) : 0,
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.saddr = *(__be32 *)&p->key.local.b[12],
			.daddr = *(__be32 *)&p->key.remote.b[12],
		};
		const __u16 *w = (const __u16 *)&h;
		__u32 sum = 0;
		int i;

		for (i = 0; i < 10; i++)
			sum += w[i];
		h.check = csum_fold(sum);
		udp.len = bpf_htons(len - WIRE_ETH_BYTES - sizeof(h));
		return bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &h, sizeof(h), 0) ?:
		       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + sizeof(h), &udp, sizeof(udp), 0);
	}
}

static inline void egress_shim(struct wire_shim *s, const struct egress_pkt *p, __u32 wire_bytes)
{
	s->type_npt = WIRE_SHIM_TYPE_NPT;
	s->length_words = (wire_bytes - sizeof(*s)) / 4;
	s->reserved = 0;
	s->ip_proto = p->v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
}

/*
 * Asks the peer whether it strips: a copy of this small packet goes out inside a HELLO, then the
 * header is taken off again and the packet itself goes on as it was. A peer without Sluice answers
 * with an ICMP error that nobody waits for.
 */
static __attribute__((noinline)) int egress_hello(struct __sk_buff *ctx, struct egress_pkt *p)
{
	struct {
		struct wire_shim shim;
		struct wire_hdr hdr;
	} w = {};
	__u32 grow;

	if (!p)
		return -EINVAL;
	grow = egress_outer_bytes(p) + sizeof(w);
	egress_shim(&w.shim, p, sizeof(w));
	w.hdr.version_msg = WIRE_VERSION << 4 | WIRE_HELLO;
	if (bpf_skb_adjust_room(ctx, grow, BPF_ADJ_ROOM_MAC, ENCAP_FLAGS(p->v6)))
		return -EINVAL;
	if (!egress_outer(ctx, p, ctx->len - p->pad_bytes) &&
	    !bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES + egress_outer_bytes(p), &w, sizeof(w), 0) &&
	    !bpf_clone_redirect(ctx, ctx->ifindex, 0))
		stats_count(STAT_HELLO_SENT);
	return bpf_skb_adjust_room(ctx, -(__s32)grow, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* Does the peer strip? Asks where that is not known and the packet is small enough to ask with. */
static inline int egress_peer_ready(struct __sk_buff *ctx, struct egress_pkt *p, __u64 silent_ns)
{
	struct host *h = bpf_map_lookup_elem(&hosts, &p->key.remote);

	if (!h) {
		struct host fresh = {};

		bpf_map_update_elem(&hosts, &p->key.remote, &fresh, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&hosts, &p->key.remote);
		if (!h)
			return 0;
	}
	if (h->capable && h->unanswered_ns && p->now_ns > h->unanswered_ns + silent_ns) {
		h->capable = 0;
		h->unanswered_ns = 0;
		stats_count(STAT_PEER_SILENT);
	}
	/*
	 * Also a peer that strips is asked when it was not heard for long: it may have lost sight of us,
	 * and if all that it sends is large packets it cannot ask.
	 */
	if ((!h->capable || p->now_ns > h->heard_ns + HOST_HELLO_NS) && !p->payload_bytes &&
	    !ctx->gso_size && (!h->hello_ns || p->now_ns > h->hello_ns + HOST_HELLO_NS)) {
		h->hello_ns = p->now_ns;
		egress_hello(ctx, p);
	}
	if (h->capable && p->payload_bytes && !h->unanswered_ns)
		h->unanswered_ns = p->now_ns;
	return h->capable;
}

/*
 * The echo that waits in the flow, if there is one that has not been sent. Bytes, 0 for none. The
 * caller puts *seen into slot->sent when the packet that carries it is on its way.
 */
static inline __u32 egress_echo(const struct flow *f, struct wire_echo *e, __u8 *hops,
				__u32 *seen, __u64 now_ns)
{
	const struct flow_echo *slot = &f->echo;
	__u32 version = *(const volatile __u32 *)&slot->version;
	__u64 age;
	int i;

	if (version == slot->sent || version & 1)
		return 0;
	age = (now_ns - slot->rx_ns) >> WIRE_AGE_SHIFT;
	e->seq = bpf_htonl(slot->seq);
	e->age = bpf_htons(age > 0xffff ? 0xffff : age);
	e->nhop_path = bpf_htons(slot->nhop_path);
	*hops = slot->hops;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		*(__be64 *)e->hop[i] = bpf_cpu_to_be64(slot->hop[i]);
	if (*(const volatile __u32 *)&slot->version != version) {
		stats_count(STAT_ECHO_TORN);
		return 0;
	}
	*seen = version;
	return WIRE_ECHO_BYTES(*hops);
}

/* Steps 3 to 5 for a flow that we have. */
static inline enum sluice_stat egress_flow(struct __sk_buff *ctx, struct egress_pkt *p,
					   struct flow *f, const struct port *port,
					   const struct control *ctl)
{
	struct {
		struct wire_shim shim;
		struct wire_hdr hdr;
		struct wire_telem telem;
	} w = {};
	struct wire_echo echo = {};
	__u32 outer = egress_outer_bytes(p), echo_bytes, wire_bytes, segment, segs, bytes, at;
	__u32 echo_version = 0;
	__u64 seq, silent = 4 * f->params.t_ns;

	f->last_tx_ns = p->now_ns;
	if (p->tcp_flags & (TCP_FIN | TCP_RST))
		f->flags |= FLOW_F_CLOSED;
	if (!egress_peer_ready(ctx, p, silent > HOST_SILENT_NS ? silent : HOST_SILENT_NS)) {
		f->flags &= ~FLOW_F_TELEM;
		return p->tcp_flags & TCP_SYN ? STAT_TX_HANDSHAKE : STAT_TX_PEER_UNKNOWN;
	}
	f->flags |= FLOW_F_TELEM;
	if (p->tcp_flags & (TCP_SYN | TCP_RST))
		return STAT_TX_HANDSHAKE;

	echo_bytes = egress_echo(f, &echo, &w.hdr.echo_hops, &echo_version, p->now_ns);
	w.hdr.max_hops = p->payload_bytes ? HPCC_MAX_HOPS : 0;
	if (!w.hdr.max_hops && !echo_bytes)
		return STAT_TX_PLAIN_ACK;
	if (echo_bytes)
		w.hdr.flags = WIRE_F_ECHO;
	wire_bytes = wire_length(&w.hdr);

	/* What one segment weighs on the wire, and does it fit? */
	segment = (ctx->gso_size ? p->hdr_bytes + ctx->gso_size : ctx->len) + outer + wire_bytes;
	if (segment > port->mtu + WIRE_ETH_BYTES) {
		f->flags &= ~FLOW_F_TELEM;
		return STAT_TX_MTU;
	}
	if (ctx->len + outer + wire_bytes > 0xffff)
		return STAT_TX_TOO_LONG;
	segs = ctx->gso_size ? (p->payload_bytes + ctx->gso_size - 1) / ctx->gso_size : 1;
	bytes = p->payload_bytes + segs * (p->hdr_bytes + outer + wire_bytes);

	if (port->flags & PORT_F_EDT && ctl->mode == MODE_ENFORCE && p->payload_bytes) {
		__u64 t = pacer_reserve(&f->clock_ns, p->now_ns, ctx->tstamp, bytes,
					f->cc.rate_bps, 2 * f->params.t_ns + PACER_HORIZON_NS);

		if (t > p->now_ns) {
			bpf_skb_set_tstamp(ctx, t, BPF_SKB_TSTAMP_DELIVERY_MONO);
			stats_count(STAT_PACED);
		}
	}

	seq = __sync_fetch_and_add(&f->tx_bytes, bytes) + bytes;
	egress_shim(&w.shim, p, wire_bytes);
	w.hdr.version_msg = WIRE_VERSION << 4 | WIRE_DATA;
	w.hdr.seq = bpf_htonl((__u32)seq);
	if (bpf_skb_adjust_room(ctx, outer + wire_bytes, BPF_ADJ_ROOM_MAC, ENCAP_FLAGS(p->v6)))
		return STAT_TX_ENCAP_FAILED;
	at = WIRE_ETH_BYTES + outer;
	if (egress_outer(ctx, p, ctx->len - p->pad_bytes))
		return STAT_TX_ENCAP_FAILED;
	if (w.hdr.max_hops) {
		bpf_skb_store_bytes(ctx, at, &w, sizeof(w), 0);
		at += sizeof(w);
	} else {
		bpf_skb_store_bytes(ctx, at, &w, WIRE_HDR_BYTES, 0);
		at += WIRE_HDR_BYTES;
	}
	if (echo_bytes) {
		bound_here(echo_bytes);
		if (echo_bytes <= sizeof(echo))
			bpf_skb_store_bytes(ctx, at, &echo, echo_bytes, 0);
		f->echo.sent = echo_version;
	}
	return STAT_TX_DATA;
}

static inline enum sluice_stat egress_packet(struct __sk_buff *ctx)
{
	const struct control *ctl = control_get();
	struct egress_pkt p = {};
	enum sluice_stat verdict;
	const struct port *port;
	__u32 ifindex = ctx->ifindex;
	struct flow *f;

	if (!ctl || ctl->bypass)
		return STAT_TX_BYPASS;
	verdict = egress_parse(ctx, &p);
	if (verdict != STAT_TX_DATA)
		return verdict;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port)
		return STAT_TX_NO_PORT;
	f = bpf_map_lookup_elem(&flows, &p.key);
	if (!f) {
		switch (flow_make(&p.key, port, ctl->epoch, ifindex)) {
		case FLOW_NO_PEER:
			return STAT_TX_NO_PEER;
		case FLOW_FULL:
			return STAT_TX_FLOW_FULL;
		case FLOW_OK:
			break;
		}
		f = bpf_map_lookup_elem(&flows, &p.key);
		if (!f)
			return STAT_TX_FLOW_FULL;
	}
	flow_refresh(f, &p.key, port, ctl->epoch);
	if (!f->params.t_ns)
		return STAT_TX_NO_PEER;
	p.now_ns = bpf_ktime_get_ns();
	return egress_flow(ctx, &p, f, port, ctl);
}

SEC("tc")
int egress(struct __sk_buff *ctx)
{
	stats_count(egress_packet(ctx));
	return TC_ACT_UNSPEC; /* the next filter, if any, has its say */
}

#endif

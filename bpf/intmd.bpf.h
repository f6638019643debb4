/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_INTMD_BPF_H
#define SLUICE_INTMD_BPF_H
/*
 * The `int-md` telemetry encoding (intmd.h) in the packets of source, hop and sink. It stands in front
 * of Sluice's own shim, so all that comes behind is as ever, further on by msg.intmd bytes.
 *
 *  1. Source: puts shim and INT-MD header there, and, at a node's uplink, its own hop. The packet
 *     grows on its way, so the source leaves room for all the hops that it asks for.
 *  2. Hop: makes the packet longer behind its Ethernet header and moves the outer headers forward, into
 *     the gap that is left its words go. A GSO packet stays one: what grows is the header that the
 *     kernel repeats on every segment. The UDP checksum is 0 and stays so.
 *  3. Sink: reads the stack into the form that the other encoding has in the packet (wire_telem), and
 *     that is what the rest of ingress works on. What it cannot read it counts, by reason, and the
 *     packet is stripped all the same. Where E or M says that hops are missing, those that are there
 *     count: so a source sees that the path is longer than it thought, and asks for more.
 *  4. A PROBE has room for the hpcc encoding as well: there the sink writes what it read, and takes the
 *     INT-MD out before it turns the packet round. So no hop that knows INT and not Sluice can write
 *     into the answer.
 */

/* The outer headers, shim and INT-MD header of a message, from the packet. */
static inline int intmd_load(ctx_t *ctx, const struct msg *m, struct intmd_space *s)
{
	__u32 at = m->offset - m->intmd;

	return m->ip.v6 ? ctx_load(ctx, at - sizeof(s->ip.v6) - sizeof(s->udp), &s->ip.v6,
				   sizeof(s->ip.v6) + sizeof(s->udp) + INTMD_SOURCE_BYTES) :
			  ctx_load(ctx, at - sizeof(s->ip.v4) - sizeof(s->udp), &s->ip.v4,
				   sizeof(s->ip.v4) + sizeof(s->udp) + INTMD_SOURCE_BYTES);
}

/* The outer headers of a packet that gets longer by so many bytes, or shorter. */
static inline void intmd_resize(struct intmd_space *s, int v6, __s32 by)
{
	__be16 *len = v6 ? &s->ip.v6.payload_len : &s->ip.v4.tot_len, old = *len;
	__u32 sum;

	*len = bpf_htons(bpf_ntohs(old) + by);
	if (!v6) { /* RFC 1624, equation 3 */
		sum = (__u16)~s->ip.v4.check + (__u16)~old + *len;
		sum = (sum & 0xffff) + (sum >> 16);
		s->ip.v4.check = ~(sum + (sum >> 16));
	}
	s->udp.len = bpf_htons(bpf_ntohs(s->udp.len) + by);
}

/* Reads the stack that lies in s into s->telem; an enum intmd_verdict. */
CORE_GLOBAL int intmd_convert(struct intmd_space *s)
{
	int verdict, i;

	if (!s)
		return INTMD_BAD_LENGTH;
	__builtin_memset(&s->telem, 0, sizeof(s->telem));
	verdict = intmd_sink(s->hdr, s->stack, s->bytes, &s->path);
	if (verdict != INTMD_OK && verdict != INTMD_INCOMPLETE)
		return verdict;
	for (i = 0; i < HPCC_MAX_HOPS && i < s->path.hops; i++) {
		const struct hpcc_hop *hop = &s->path.hop[i];

		if (s->fit_bps[i] != hop->bps) {
			s->fit[i] = intmd_speed(hop->bps);
			s->fit_bps[i] = hop->bps;
		}
		*(__be64 *)s->telem.hop[i] = bpf_cpu_to_be64(intmd_pack(s->fit[i], hop, s->path.tx_units[i]));
	}
	s->telem.nhop_path = bpf_htons(s->path.hops << 12 | s->path.path_id);
	return verdict;
}

/* What a message brought, in the other encoding; NULL, and counted, where that cannot be told. */
static __attribute__((noinline)) const struct wire_telem *intmd_telem(ctx_t *ctx, const struct msg *m)
{
	struct scratch_space *space = scratch_get();
	__u32 bytes = m->intmd - INTMD_SOURCE_BYTES;
	struct intmd_space *s;

	if (!space)
		return 0;
	s = &space->intmd;
	bound_here(bytes);
	if (bytes > sizeof(s->stack)) { /* so many words no 5 hops have */
		stats_count(STAT_RX_INT_HOPS);
		return 0;
	}
	s->bytes = bytes;
	if (ctx_load(ctx, m->offset - bytes - sizeof(s->hdr), s->hdr, sizeof(s->hdr)))
		return 0;
	bound_here(bytes); /* Linux 6.1 has forgotten its bounds over the call, and learns nothing from != 0 */
	if (bytes >= 4) {
		bound_here(bytes);
		if (bytes > sizeof(s->stack) || ctx_load(ctx, m->offset - bytes, s->stack, bytes))
			return 0;
	}
	switch (intmd_convert(s)) {
	case INTMD_OK:
		return &s->telem;
	case INTMD_INCOMPLETE:
		if (s->hdr[0] & INTMD_E)
			stats_count(STAT_RX_INT_FULL);
		if (s->hdr[0] & INTMD_M)
			stats_count(STAT_RX_INT_MTU);
		return &s->telem;
	case INTMD_BAD_VERSION:
		stats_count(STAT_RX_INT_VERSION);
		break;
	case INTMD_TOO_MANY_HOPS:
		stats_count(STAT_RX_INT_HOPS);
		break;
	case INTMD_NO_FIELD:
		stats_count(STAT_RX_INT_FIELDS);
		break;
	case INTMD_NO_VALUE:
	case INTMD_BAD_VALUE:
		stats_count(STAT_RX_INT_VALUES);
		break;
	default:
		stats_count(STAT_RX_INT_LENGTH);
	}
	return 0;
}

/* Is it a copy, which the sink is to throw away? */
static inline int intmd_is_copy(ctx_t *ctx, const struct msg *m)
{
	const __u8 *first;

	if (!m->intmd)
		return 0;
	first = pkt_bytes(ctx, m->offset - m->intmd + sizeof(struct wire_shim), 1);
	return first && *first & INTMD_D;
}

#define INTMD_UNREADABLE 0xf000 /* as nHop: more than there is room for, which is refused */

/*
 * Takes the INT-MD of a PROBE out, and leaves what it said (readable: intmd_telem() has been at it) in the
 * room that the PROBE has for it.
 */
CORE_GLOBAL int intmd_answer(ctx_t *ctx, struct msg *m, int readable)
{
	struct scratch_space *space = scratch_get();
	struct intmd_space *s;
	__u32 bytes;

	if (!m || !space)
		return -EINVAL;
	bytes = m->intmd;
	s = &space->intmd;
	if (!readable)
		s->telem.nhop_path = bpf_htons(INTMD_UNREADABLE);
	if (m->hdr.max_hops == HPCC_MAX_HOPS &&
	    ctx_store(ctx, m->offset + WIRE_HDR_BYTES, &s->telem, sizeof(s->telem)))
		return -EINVAL;
	if (intmd_load(ctx, m, s) || ctx_strip(ctx, bytes))
		return -EINVAL;
	intmd_resize(s, m->ip.v6, -bytes);
	m->offset -= bytes;
	m->ip.total -= bytes;
	m->intmd = 0;
	return m->ip.v6 ? ctx_store(ctx, WIRE_ETH_BYTES, &s->ip.v6, sizeof(s->ip.v6) + sizeof(s->udp)) :
			  ctx_store(ctx, WIRE_ETH_BYTES, &s->ip.v4, sizeof(s->ip.v4) + sizeof(s->udp));
}

#ifndef SLUICE_XDP
/* Shim and header of a source. */
static inline void intmd_begin(struct intmd_space *s, __u32 hops)
{
	s->shim.type_npt = INTMD_SHIM_TYPE_NPT;
	s->shim.length_words = INTMD_HDR_BYTES / 4;
	s->shim.reserved = 0;
	s->shim.ip_proto = INTMD_NEXT_SLUICE;
	intmd_source(s->hdr, hops, 0);
	s->bytes = 0;
}

/* What the port says of itself into s->values; for intmd_stamp(). */
static inline void intmd_values(struct intmd_space *s, const struct port *port,
				const struct qdisc_state *state)
{
	struct intmd_values *v = &s->values;

	v->ts_ns = bpf_ktime_get_ns();
	v->tx_bytes = state->tx_bytes;
	v->bps = state->bps;
	v->node_id = port->switch_id;
	v->qlen_bytes = state->backlog_bytes;
	v->queue_id = state->queue;
	v->serves = INTMD_INSTRUCTIONS;
	v->serves_ds = INTMD_DS_INSTRUCTIONS;
}

/* One hop: its words into s->stack, s->bytes of them; an enum intmd_verdict. */
CORE_GLOBAL int intmd_stamp(struct intmd_space *s)
{
	int verdict;

	if (!s)
		return INTMD_BAD_LENGTH;
	verdict = intmd_transit(s->hdr, s->shim.length_words, s->room_bytes, &s->values, s->stack,
				&s->bytes);
	if (verdict == INTMD_OK)
		s->shim.length_words += s->bytes / 4;
	return verdict;
}

/*
 * By how much the packet may grow on this port, of a GSO packet each segment. 0 where several datagrams
 * were put together as one (GRO of UDP): only the first of them would get the hop.
 */
static inline __u32 intmd_room(struct __sk_buff *ctx, const struct msg *m, const struct port *port)
{
	__u32 inner = m->offset + wire_length(&m->hdr), bytes = m->ip.total, before, total;
	const __u8 *in;

	before = inner - (m->offset - m->intmd - WIRE_UDP_BYTES - m->ip.bytes);
	if (ctx->gso_size && m->ip.v6) {
		in = pkt_bytes(ctx, inner, sizeof(struct ipv6hdr) + sizeof(struct tcphdr));
		if (!in)
			return 0;
		total = sizeof(struct ipv6hdr) + intmd_get16(in + 4);
		bytes = before + sizeof(struct ipv6hdr) + (in[sizeof(struct ipv6hdr) + 12] >> 4) * 4 +
			ctx->gso_size;
	} else if (ctx->gso_size) {
		in = pkt_bytes(ctx, inner, sizeof(struct iphdr) + sizeof(struct tcphdr));
		if (!in)
			return 0;
		total = intmd_get16(in + 2);
		bytes = before + sizeof(struct iphdr) + (in[sizeof(struct iphdr) + 12] >> 4) * 4 + ctx->gso_size;
	}
	if (ctx->gso_size && before + total != m->ip.total)
		return 0;
	if (m->ip.total + INTMD_HOP_BYTES_MAX > 0xffff || bytes > port->mtu)
		return 0;
	return port->mtu - bytes;
}

/* A hop that found no room, of either kind, says so and lets the packet go as it is. */
static inline int intmd_flag(struct __sk_buff *ctx, const struct msg *m, __u8 flags)
{
	return bpf_skb_store_bytes(ctx, m->offset - m->intmd + sizeof(struct wire_shim), &flags, 1, 0);
}

/*
 * Makes the packet longer between its Ethernet and its outer IP header. The kernel refuses that where a
 * VLAN tag lies in the frame; so the tag is put beside it meanwhile, where the device takes it from.
 */
static __attribute__((noinline)) int intmd_lengthen(struct __sk_buff *ctx, __u32 bytes)
{
	__u16 proto = ctx->protocol;
	const __be16 *tag;
	__u16 tci;
	int err;

	if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
		return bpf_skb_adjust_room(ctx, bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	tag = pkt_bytes(ctx, WIRE_ETH_BYTES, sizeof(*tag));
	if (!tag || ctx->vlan_present) /* one is there already */
		return -EINVAL;
	tci = bpf_ntohs(*tag);
	if (bpf_skb_vlan_pop(ctx))
		return -EINVAL;
	err = bpf_skb_adjust_room(ctx, bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	return bpf_skb_vlan_push(ctx, proto, tci) ? -EINVAL : err;
}

/* Stamps a message that has INT-MD. */
static inline enum sluice_stat intmd_hop(struct __sk_buff *ctx, const struct msg *m,
					 const struct port *port, const struct qdisc_state *state)
{
	__u32 bytes;
	struct scratch_space *space = scratch_get();
	struct intmd_space *s;
	__u8 flags;

	if (!space || wire_message(&m->hdr) == WIRE_PROBE_REPLY)
		return STAT_HOP_OTHER;
	s = &space->intmd;
	if (intmd_load(ctx, m, s))
		return STAT_HOP_BAD;
	intmd_values(s, port, state);
	s->room_bytes = intmd_room(ctx, m, port);
	flags = s->hdr[0];
	switch (intmd_stamp(s)) {
	case INTMD_OK:
		break;
	case INTMD_HOPS_EXCEEDED:
		return intmd_flag(ctx, m, s->hdr[0]) ? STAT_HOP_BAD : STAT_HOP_FULL;
	case INTMD_MTU_EXCEEDED:
		return intmd_flag(ctx, m, s->hdr[0]) ? STAT_HOP_BAD : STAT_HOP_MTU;
	default:
		return STAT_HOP_BAD;
	}
	bytes = s->bytes;
	if (intmd_lengthen(ctx, bytes))
		return intmd_flag(ctx, m, flags | INTMD_M) ? STAT_HOP_BAD : STAT_HOP_MTU;
	intmd_resize(s, m->ip.v6, bytes);
	bound_here(bytes);
	if (bytes > INTMD_HOP_BYTES_MAX) /* never; the verifier wants to hear it */
		return STAT_HOP_BAD;
	if (m->ip.v6 ? bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &s->ip.v6, sizeof(s->ip.v6) + sizeof(s->udp) +
					   INTMD_SOURCE_BYTES + bytes, 0) :
		       bpf_skb_store_bytes(ctx, WIRE_ETH_BYTES, &s->ip.v4, sizeof(s->ip.v4) + sizeof(s->udp) +
					   INTMD_SOURCE_BYTES + bytes, 0))
		return STAT_HOP_BAD;
	return STAT_HOP_STAMPED;
}
#endif

#endif

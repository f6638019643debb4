/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_RWND_BPF_H
#define SLUICE_RWND_BPF_H
/*
 * TCP of stacks that we do not own (pods, virtual machines, sockets of another congestion control) is held to W by its
 * receive window: at ingress the window of every segment on its way to such a stack is cut down to W (the idea of AC/DC
 * TCP, SIGCOMM 2016).
 *
 *  1. The right edge of the window never moves to the left: the granted bytes may be in flight. A smaller W takes
 *     effect as acknowledgements come in, within one window. A window is whole units, so the edge on the wire may be
 *     less than one unit off (RFC 7323, 2.4).
 *  2. A window never grows, and a window of zero stays zero: the receiver has its reasons.
 *  3. Data that a stack still sends beyond its window is dropped (rwnd_is_beyond). Retransmissions are never dropped,
 *     and an old edge drops nothing.
 *  4. The window's unit comes from the handshake (RFC 7323, 2.2), or, for a connection that is older
 *     than the attachment, from its socket. If neither is known the window is left alone.
 *  5. Anybody who knows the addresses and ports can send an ACK. Every window is cut, but only that of an acceptable
 *     ACK is remembered: it acknowledges a number between SND.UNA and the end of the sent data (RFC 5961, 5.2, without
 *     the old ACKs that the RFC tolerates: those carry nothing new). A blind sender has to guess that range, which is
 *     empty except for one number while the connection is idle.
 *  6. SND.UNA comes from the handshake or the socket, and follows the ACKs. A stack that sends more than it was granted
 *     here gets its windows by another path: SND.UNA is unknown from then on. The window is cut down to W or to the end
 *     of the sent data, whichever is later, and there is no edge.
 *  7. The digest of TCP-MD5 (RFC 2385) and TCP-AO (RFC 5925) covers the window. A segment with one is never changed, and
 *     its sender never held to a window: departure times alone hold such a flow. It is known by its SYN, by a segment of
 *     ours that would be dropped or whose connection is older than the attachment, or by a window that would be cut.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/flow.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/once.h"
#include "sluice/types.h"

#define RWND_OPT_END 0
#define RWND_OPT_NOP 1
#define RWND_OPT_WSCALE 3
#define RWND_OPT_MD5 19
#define RWND_OPT_AO 29
#define RWND_TIMESTAMP 0x0101080a /* the options of most segments: NOP, NOP, a timestamp of 10 bytes */
#define RWND_TIMESTAMP_BYTES 12
#define RWND_WSCALE_MAX 14
#define RWND_NO_OPTION 0x100
#define RWND_ASKED 0x40	      /* in wscale, above the scale: our SYN is not answered yet */
#define RWND_NOT_OFFERED 0x80 /* in wscale: our SYN had no window scale option */
#define RWND_OPTIONS_BYTES 40
#define RWND_ASK_NS (100 * 1000 * 1000ULL)
#define RWND_STALE_NS (100 * 1000 * 1000ULL) /* an edge of this age: windows take another path, or do not come at all */
#define RWND_BYTES_MAX (1 << 30)	     /* no window is larger (RFC 7323, 2.3) */
#define RWND_SYN_BYTES_MAX 0xffff	     /* no window of a SYN is larger: it is not scaled (RFC 7323, 2.2) */

/* XDP leaves windows to tc, which sees every packet that it passes. */
static inline int rwnd_is_on(const struct control *ctl)
{
	return !CTX_IS_XDP && ctl->rwnd && ctl->mode == MODE_ENFORCE && !ctl->bypass;
}

/* A walk through the options of a segment. */
struct rwnd_options {
	__u32 len, at; /* bytes of options; bytes parsed */
	__u32 scale;   /* the scale found */
	__u32 digest;  /* there is one of TCP-MD5 or TCP-AO */
};

/* The options of a SYN that matter here. */
struct rwnd_syn {
	__u32 scale; /* of its windows; RWND_NO_OPTION: none is offered */
	__u32 digest;
};

/* Parses one of the options in the scratch space. Returns whether it is the last one. */
static long rwnd_option(__u32 i, struct rwnd_options *o)
{
	struct scratch_space *space = scratch_get();
	__u8 kind, size;

	if (!space || o->at + 2 >= o->len)
		return 1;
	kind = space->options[o->at & 63];
	size = kind == RWND_OPT_NOP ? 1 : space->options[(o->at + 1) & 63];
	if (kind == RWND_OPT_END || (size < 2 && kind != RWND_OPT_NOP))
		return 1;
	if (kind == RWND_OPT_WSCALE && size == 3 && o->scale == RWND_NO_OPTION)
		o->scale = space->options[(o->at + 2) & 63];
	o->digest |= kind == RWND_OPT_MD5 || kind == RWND_OPT_AO;
	o->at += size;
	return 0;
}

/* Parses the options of the TCP header at l4_offset. */
VERIFIED_ONCE int rwnd_options_read(ctx_t *ctx, __u32 l4_offset, struct rwnd_syn *found)
{
	struct scratch_space *space = scratch_get();
	struct rwnd_options o = {};
	const struct tcphdr *tcp;
	__u32 len;

	if (!found)
		return 0;
	found->scale = RWND_NO_OPTION;
	found->digest = 0;
	if (!space)
		return 0;
	tcp = pkt_bytes(ctx, l4_offset, sizeof(*tcp));
	if (!tcp || tcp->doff <= sizeof(*tcp) / 4)
		return 0;
	len = tcp->doff * 4 - sizeof(*tcp);
	VERIFIER_FORGET(len);
	if (!len || len > RWND_OPTIONS_BYTES || ctx_load(ctx, l4_offset + sizeof(*tcp), space->options, len))
		return 0;
	o.len = len;
	o.scale = RWND_NO_OPTION;
	bpf_loop(RWND_OPTIONS_BYTES, rwnd_option, &o, 0);
	found->scale = o.scale;
	found->digest = o.digest;
	return 0;
}

/* Whether a digest covers the segment at l4_offset. Most have no options, or a timestamp only. */
VERIFIED_ONCE int rwnd_has_digest(ctx_t *ctx, __u32 l4_offset)
{
	const struct tcphdr *tcp = pkt_bytes(ctx, l4_offset, sizeof(*tcp) + sizeof(__be32));
	struct rwnd_syn found = {};

	if (!tcp || tcp->doff <= sizeof(*tcp) / 4 ||
	    (tcp->doff == (sizeof(*tcp) + RWND_TIMESTAMP_BYTES) / 4 &&
	     *(const __be32 *)(tcp + 1) == bpf_htonl(RWND_TIMESTAMP)))
		return 0;
	rwnd_options_read(ctx, l4_offset, &found);
	return found.digest;
}

static inline void rwnd_digest_found(struct flow *f)
{
	if (f->wnd.digest)
		return;
	f->wnd.digest = 1;
	stats_count(STAT_FLOW_DIGEST);
}

static inline __u8 rwnd_scale(__u32 offered)
{
	if (offered == RWND_NO_OPTION)
		return 0;
	return offered > RWND_WSCALE_MAX ? RWND_WSCALE_MAX : offered; /* RFC 7323, 2.3 */
}

/*
 * A SYN from the remote side. Scaling is in force only if both sides offer it. Anybody can send a SYN: its offer counts
 * once our side answers, and until then takes no more room than this entry.
 */
static inline void rwnd_offer(ctx_t *ctx, const struct flow_key *key, __u32 l4_offset)
{
	struct rwnd_syn syn = {};
	struct peer_key pk = { .prefixlen = 128, .addr = key->remote };

	if (!bpf_map_lookup_elem(&peers, &pk))
		return;
	rwnd_options_read(ctx, l4_offset, &syn);
	bpf_map_update_elem(&syn_offers, key, &syn.scale, BPF_ANY);
}

/* A SYN-ACK from the remote side, which counts if our side has sent a SYN, and it acknowledges that (RFC 9293, 3.10.7.3). */
static inline void rwnd_syn_ack_in(ctx_t *ctx, struct flow *f, __u32 ack, __u32 l4_offset)
{
	struct rwnd_syn syn = {};

	if (!(f->wnd.wscale & RWND_ASKED) || ack - f->wnd.snd_una > f->tx.seq_end - f->wnd.snd_una)
		return;
	rwnd_options_read(ctx, l4_offset, &syn);
	if (syn.digest)
		rwnd_digest_found(f);
	f->wnd.wscale = f->wnd.wscale & RWND_NOT_OFFERED ? 0 : rwnd_scale(syn.scale);
	f->wnd.wscale_known = 1;
}

/*
 * A SYN or SYN-ACK of the local side with this TCP sequence and payload: a new connection, whatever used these ports
 * before. Inlined: BPF functions take at most five arguments.
 */
static __always_inline void rwnd_syn_out(struct flow *f, const struct flow_key *key, __u32 seq, __u32 payload_bytes,
					 const struct rwnd_syn *syn, int ack)
{
	const __u32 *offer = ack ? bpf_map_lookup_elem(&syn_offers, key) : 0;

	f->tx.own_cc = 0;
	f->wnd.digest = 0;
	if (syn->digest)
		rwnd_digest_found(f);
	f->wnd.edge_ns = 0;
	f->wnd.snd_una = seq + 1;
	f->tx.seq_end = seq + 1 + payload_bytes;
	f->wnd.grant_max = RWND_SYN_BYTES_MAX;
	f->wnd.seq_known = FLOW_SEQ_UNA;
	f->wnd.wscale_known = !!offer;
	if (offer)
		f->wnd.wscale = syn->scale == RWND_NO_OPTION ? 0 : rwnd_scale(*offer);
	else if (ack)
		f->wnd.wscale = 0;
	else
		f->wnd.wscale = RWND_ASKED | (syn->scale == RWND_NO_OPTION ? RWND_NOT_OFFERED : 0);
}

/* True if the socket could supply unknown state of the connection. */
static inline int rwnd_wants_socket(const struct flow *f, __u64 now_ns)
{
	return (!f->wnd.wscale_known || f->wnd.seq_known != FLOW_SEQ_UNA) && !f->tx.own_cc && !f->wnd.digest &&
	       now_ns > f->wnd.asked_ns + RWND_ASK_NS;
}

/* Whether it was a connection's: its window scale and SND.UNA are known now. */
static inline int rwnd_socket_read(struct flow *f, const struct tcp_sock *tp)
{
	__u32 granted;

	/* A listener answers for any address: behind a published port it is not this connection. */
	if (!tp || tp->inet_conn.icsk_inet.sk.__sk_common.skc_state == TCP_LISTEN)
		return 0;
	granted = tp->snd_wnd;
	f->wnd.wscale = BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
	f->wnd.wscale_known = 1;
	f->wnd.snd_una = tp->snd_una;
	f->wnd.grant_max = granted > RWND_SYN_BYTES_MAX ? granted : RWND_SYN_BYTES_MAX;
	f->wnd.seq_known = FLOW_SEQ_UNA;
	return 1;
}

/*
 * The window scale and SND.UNA of a connection that is older than the attachment, from its socket: that of the packet,
 * unless it was forwarded; else the one that a look-up finds in this network namespace, or in the one at the other end
 * of the veth that the packet came by. A look-up at a port of a VRF finds no socket of that VRF.
 */
VERIFIED_ONCE int rwnd_ask_socket(struct __sk_buff *ctx, struct flow *f, const struct flow_key *key, int v6)
{
	struct bpf_sock_tuple t = {};
	__u32 veth = ctx->ingress_ifindex;
	struct bpf_sock *sk = ctx->sk;
	__s64 netns = -1; /* BPF_F_CURRENT_NETNS */
	const __s32 *id;

	if (!f || !key)
		return 0;
	sk = sk ? bpf_sk_fullsock(sk) : 0;
	if (sk && rwnd_socket_read(f, bpf_skc_to_tcp_sock(sk)))
		return 0;
	if (veth) {
		id = bpf_map_lookup_elem(&pods, &veth);
		if (!id || *id < 0)
			return 0;
		netns = *id;
	}
	/* In the direction of a packet from the remote side. */
	if (v6) {
		__builtin_memcpy(t.ipv6.saddr, &key->remote, 16);
		__builtin_memcpy(t.ipv6.daddr, &key->local, 16);
		t.ipv6.sport = key->remote_port;
		t.ipv6.dport = key->local_port;
		sk = bpf_sk_lookup_tcp(ctx, &t, sizeof(t.ipv6), netns, 0);
	} else {
		t.ipv4.saddr = *(const __be32 *)&key->remote.b[12];
		t.ipv4.daddr = *(const __be32 *)&key->local.b[12];
		t.ipv4.sport = key->remote_port;
		t.ipv4.dport = key->local_port;
		sk = bpf_sk_lookup_tcp(ctx, &t, sizeof(t.ipv4), netns, 0);
	}
	if (!sk)
		return 0;
	rwnd_socket_read(f, bpf_skc_to_tcp_sock(sk));
	bpf_sk_release(sk);
	return 0;
}

/* W in payload bytes; W < 2^27. */
static inline __u32 rwnd_window(const struct flow *f)
{
	return flow_segments(f, f->tx.segment) * f->tx.mss;
}

/*
 * True if data of the local side, up to the TCP sequence end, is new and exceeds its window: its stack ignores the
 * window, or never saw it cut (7), as its options tell. One unit more is allowed: the window on the wire is rounded up by it, and it covers a zero window probe. An
 * end that is not beyond is remembered. Windows of a plain flow are not cut, so it may use them.
 */
static inline int rwnd_is_beyond(ctx_t *ctx, struct flow *f, __u32 l4_offset, __u32 end, __u64 now_ns)
{
	__s32 ahead = end - f->tx.seq_end;
	__u32 limit;

	if (f->wnd.seq_known && ahead <= 0 && ahead >= -RWND_BYTES_MAX)
		return 0; /* sent before */
	if (f->wnd.seq_known == FLOW_SEQ_UNA) {
		limit = f->wnd.edge_ns ? f->wnd.edge + (1 << (f->wnd.wscale & 15)) : f->wnd.snd_una + f->wnd.grant_max;
		if (ahead < 0 || (__s32)(end - limit) > 0) {
			if (ahead > 0 && f->tx.flags & FLOW_F_TELEM && !f->tx.own_cc && !f->wnd.digest &&
			    f->wnd.edge_ns && now_ns < f->wnd.edge_ns + RWND_STALE_NS) {
				if (!rwnd_has_digest(ctx, l4_offset))
					return 1;
				rwnd_digest_found(f);
			}
			f->wnd.seq_known = FLOW_SEQ_SENT;
			f->wnd.edge_ns = 0;
		}
	}
	f->tx.seq_end = end;
	if (!f->wnd.seq_known)
		f->wnd.seq_known = FLOW_SEQ_SENT;
	return 0;
}

/*
 * True if an ACK with this number may set the sender's window (RFC 5961, 5.2). An old one, which others have overtaken,
 * may not, and is not suspicious. Each end is read once, the acknowledged one first: another CPU moves both, and in the
 * other order it could be ahead of the sent end, with any number between.
 */
static inline int rwnd_is_acceptable(const struct flow *f, __u32 ack)
{
	__u32 una, end;

	if (f->wnd.seq_known != FLOW_SEQ_UNA)
		return 0;
	una = READ_ONCE(f->wnd.snd_una);
	end = READ_ONCE(f->tx.seq_end);
	if (ack - una <= end - una)
		return 1;
	if (una - ack > f->wnd.grant_max)
		stats_count(STAT_RX_WINDOW_REFUSED);
	return 0;
}

/* Cuts the window of the TCP segment at l4_offset, which is on its way to the flow's sender. */
VERIFIED_ONCE int rwnd_cut(ctx_t *ctx, struct flow *f, __u32 l4_offset)
{
	const struct tcphdr *tcp;
	__u32 ack, granted, edge, value;
	__be16 old, cut;

	if (!f || !f->tx.mss || !f->tx.segment || !f->wnd.wscale_known || f->tx.own_cc || f->wnd.digest)
		return 0;
	tcp = pkt_bytes(ctx, l4_offset, sizeof(*tcp));
	if (!tcp || !tcp->ack || tcp->syn || tcp->rst)
		return 0;
	ack = bpf_ntohl(tcp->ack_seq);
	old = tcp->window;
	granted = (__u32)bpf_ntohs(old) << (f->wnd.wscale & 15);
	edge = ack + rwnd_window(f); /* the edge to keep, without the rounding, which would add up */
	if (f->wnd.edge_ns) {
		if ((__s32)(f->wnd.edge - edge) > 0)
			edge = f->wnd.edge;
	} else if (f->wnd.seq_known && (__s32)(f->tx.seq_end - edge) > 0) {
		edge = f->tx.seq_end; /* data sent while nobody watched was granted by another path */
	}
	if (granted <= edge - ack) {
		edge = ack + granted;
	} else {
		value = (edge - ack + (1u << (f->wnd.wscale & 15)) - 1) >> (f->wnd.wscale & 15);
		cut = bpf_htons(value);
		if (value < bpf_ntohs(old)) {
			if (rwnd_has_digest(ctx, l4_offset)) {
				if (rwnd_is_acceptable(f, ack))
					rwnd_digest_found(f);
				return 0;
			}
			if (bpf_l4_csum_replace(ctx_skb(ctx), l4_offset + TCP_CHECK_OFFSET, old, cut, sizeof(cut)) ||
			    ctx_store(ctx, l4_offset + TCP_WINDOW_OFFSET, &cut, sizeof(cut)))
				return 0;
			stats_count(STAT_RX_WINDOW_CUT);
		}
	}
	if (!rwnd_is_acceptable(f, ack))
		return 0;
	f->wnd.snd_una = ack;
	if (edge - ack > f->wnd.grant_max)
		f->wnd.grant_max = edge - ack;
	if (!f->wnd.edge_ns || (__s32)(edge - f->wnd.edge) > 0)
		f->wnd.edge = edge;
	f->wnd.edge_ns = bpf_ktime_get_ns();
	return 0;
}

#endif

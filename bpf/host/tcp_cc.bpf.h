/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TCP_CC_BPF_H
#define SLUICE_TCP_CC_BPF_H
/*
 * The TCP congestion control `sluice` (struct_ops): W and R of the flow become the socket's
 * congestion window and pacing rate.
 *
 *  1. Ingress has run Algorithm 1 on the echo that the ACK brought before TCP sees the ACK, so
 *     cong_control() finds the decision in the flow map.
 *  2. W and R count wire bytes, TCP counts payload: cc_segment() converts. The window is rounded up to whole segments,
 *     plus the one that a receiver with delayed ACKs holds unacknowledged; the rate R = W/T does the fine control. With
 *     round trips much shorter than T the window is smaller (near.h).
 *  3. A socket is ours where its peer strips. To any other peer it runs the control that the machine had before, by
 *     bpf_setsockopt(TCP_CONGESTION), without a capability: from its start if that is known by then, else as soon as a
 *     PROBE should have been answered. Until then, and while Sluice does not govern a socket that it has governed
 *     (bypass, another mode, a peer that is silent), it behaves as under Reno, by the kernel's own functions, with the
 *     pacing rate and the packet sizes of the kernel's default.
 *  4. Losses that no stamped hop explains lower W (ceiling.h): more than some of a window, or a timeout. Not in a pause of
 *     the own port: a segment that waits there is not lost, though its timer has run out.
 *  5. A socket that gets another control, by us or by its program, is a foreign stack from then on (rwnd.bpf.h).
 *
 * cong_control() takes only its first argument: the later ones changed in Linux 6.10.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "host/encoding.bpf.h"
#include "host/flow.bpf.h"
#include "host/pass.bpf.h"
#include "host/quiet.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/ceiling.h"
#include "sluice/cc/near.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

#define TCP_CONG_NON_RESTRICTED 1
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define CC_UNLIMITED (~0UL)
/*
 * Bytes/s above which a flow that may use its whole port is left to the port's own pace. Without fq TCP sets a timer
 * for every GSO packet, here for less than 50 us, the slack of timers, and that alone cost a third of the goodput of a
 * veth (tests/bench/goodput).
 */
#define CC_TIMER_RATE (65536 * (NSEC_PER_SEC / 50000))
/* Round trips after which a PROBE has no answer, and the shortest time: a busy host's programs may be late. */
#define CC_ANSWER_RTTS 2
#define CC_ANSWER_NS (5 * 1000 * 1000ULL)
/* For so long new sockets go by an answer that did not come; the first one after that waits for another. */
#define CC_PLAIN_NS (60 * NSEC_PER_SEC)
/* As tcp_update_pacing_rate() and tcp_tso_autosize() have them, with the kernel's default settings. */
#define CC_PLAIN_START_PERCENT 200
#define CC_PLAIN_PERCENT 120
#define CC_PLAIN_SEGMENTS 2
#define CC_INFINITE_SSTHRESH 0x7fffffff

/* In the socket's private space. */
struct cc_priv {
	__u64 asked_ns;	 /* when its peer was asked, as the first ACK found it; until then 0 */
	__u32 delivered; /* tp->delivered at the last ACK */
	__u32 governed;	 /* the window is Sluice's, not Reno's */
	__u32 heard;	 /* its first feedback has come */
	__u32 segments;	 /* W */
	__u32 near;	 /* a smaller window that its round trips need (near.h); 0: none */
	__u32 open;	 /* the connection is established */
	__u32 kept;	 /* it stays ours: Sluice has governed it, or the machine's own control cannot be had */
	__u32 paces;	 /* it paces itself because Sluice wants that */
	__u32 window_at; /* tp->delivered when the window began whose losses are counted */
	__u32 lost_at;	 /* tp->lost at that time */
	__u32 timeout;	 /* it is in recovery from a timeout, which was taken */
	__u32 una;	 /* tp->snd_una at the last ACK */
	__u32 lost;	 /* tp->lost at the last ACK */
	__u32 reducing;	 /* TCP_CA_CWR or TCP_CA_Recovery at the last ACK, else 0 */
	__u32 prr_delivered;
};

static inline struct tcp_sock *cc_tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct cc_priv *cc_priv(struct sock *sk)
{
	return (struct cc_priv *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/*
 * The routing domain of a socket: of the VRF or the interface that it is bound to. Sockets that the kernel accepts for
 * all VRFs (tcp_l3mdev_accept) are bound to theirs.
 */
static inline __u16 cc_domain(const struct sock *sk)
{
	const struct control *ctl = control_get();
	__u32 bound = sk->__sk_common.skc_bound_dev_if;
	const __u32 *domain;

	if (!bound || !ctl || !ctl->domains)
		return 0;
	domain = bpf_map_lookup_elem(&domains, &bound);
	return domain ? *domain : domain_of(ctl, bound);
}

/* Returns 0 for an address family that is not ours. */
static inline int cc_key(struct sock *sk, struct flow_key *key)
{
	int i;

	if (sk->__sk_common.skc_family == AF_INET) {
		addr_from_v4(&key->local, sk->__sk_common.skc_rcv_saddr);
		addr_from_v4(&key->remote, sk->__sk_common.skc_daddr);
	} else if (sk->__sk_common.skc_family == AF_INET6) {
		for (i = 0; i < 4; i++) {
			((__u32 *)&key->local)[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			((__u32 *)&key->remote)[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
		}
	} else {
		return 0;
	}
	key->local_port = bpf_htons(sk->__sk_common.skc_num);
	key->remote_port = sk->__sk_common.skc_dport;
	key->proto = IPPROTO_TCP;
	key->domain = cc_domain(sk);
	return 1;
}

/* Wire bytes of a full segment: payload, TCP, IP, Ethernet, and our headers: outer IP, UDP, telemetry. */
static inline __u32 cc_segment(struct sock *sk, const struct flow_key *key, const struct flow *f)
{
	struct tcp_sock *tp = cc_tcp(sk);
	__u32 ip_bytes = *(const __u32 *)&key->remote.b[8] == bpf_htonl(0xffff) ? 20 : 40;
	const struct control *ctl = control_get();

	if (f->path.telemetry == TELEMETRY_COMPANION)
		return tp->mss_cache + tp->tcp_header_len + ip_bytes + WIRE_ETH_BYTES;
	return tp->mss_cache + tp->tcp_header_len + 2 * ip_bytes + WIRE_UDP_BYTES + WIRE_HDR_BYTES + encoding_bytes(f) +
	       (ctl && ctl->auth ? WIRE_AUTH_BYTES : 0) + (f->path.hiercc && ctl && ctl->tor ? WIRE_VOQ_BYTES : 0) +
	       WIRE_ETH_BYTES;
}

/* Each congestion control has to respect the socket owner's limits (SO_MAX_PACING_RATE; `cwnd lock` of the route). */
static inline void cc_pace(struct sock *sk, unsigned long bytes_per_s)
{
	unsigned long most = sk->sk_max_pacing_rate;

	sk->sk_pacing_rate = bytes_per_s < most ? bytes_per_s : most;
}

static inline __u32 cc_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/*
 * The window that the socket has now: W, or, if its round trips are near, what R needs, and as data goes on to leave,
 * half as much beyond what is under way. So no packet is longer than that half, and W can still be under way if ACKs
 * are late.
 */
static inline void cc_window(struct sock *sk)
{
	const struct cc_priv *priv = cc_priv(sk);
	struct tcp_sock *tp = cc_tcp(sk);
	__u32 most = priv->segments, beyond;

	if (priv->near && priv->near < most) {
		beyond = cc_in_flight(tp) + priv->near / 2;
		beyond = beyond > priv->near ? beyond : priv->near;
		most = beyond < most ? beyond : most;
	}
	tp->snd_cwnd = most < tp->snd_cwnd_clamp ? most : tp->snd_cwnd_clamp;
}

static inline void cc_apply(struct sock *sk, const struct flow_key *key, struct flow *f)
{
	struct tcp_sock *tp = cc_tcp(sk);
	__u32 segment = cc_segment(sk, key, f);
	__u64 rate, pace_bps = flow_pace_bps(f), near = 0;
	struct cc_priv *priv = cc_priv(sk);

	f->tx.own_cc = 1;
	sock_note_hear(sk, f);
	priv->governed = 1;
	priv->kept = 1;
	if (sk->sk_pacing_status == SK_PACING_NONE) {
		sk->sk_pacing_status = SK_PACING_NEEDED;
		priv->paces = 1;
	}
	/* bit/s on the wire to payload bytes/s: 2^40 * 2^16 */
	rate = pace_bps * tp->mss_cache / segment / 8;
	if (f->cc.w == f->params.w_init && pace_bps == f->cc.rate_bps && rate > CC_TIMER_RATE)
		rate = CC_UNLIMITED;
	else if (priv->heard) /* srtt_us counts eighths */
		near = near_window_bytes(pace_bps, tp->srtt_us >> 3, segment) / segment;
	priv->segments = flow_segments(f, segment);
	priv->near = near < priv->segments ? near : 0;
	cc_window(sk);
	cc_pace(sk, rate);
}

/* The socket may send: with near round trips its window goes on with what is under way. */
static inline void cc_leaves(struct sock *sk)
{
	if (cc_priv(sk)->near)
		cc_window(sk);
}

static inline int cc_enforced(void)
{
	const struct control *ctl = control_get();

	return ctl && ctl->mode == MODE_ENFORCE && !ctl->bypass;
}

/* Sluice does not govern the socket: its owner's limit and the kernel's default hold. */
static inline void cc_unpace(struct sock *sk)
{
	struct cc_priv *priv = cc_priv(sk);

	priv->governed = 0;
	priv->near = 0;
	if (priv->paces && sk->sk_pacing_status == SK_PACING_NEEDED && sk->sk_max_pacing_rate == CC_UNLIMITED)
		sk->sk_pacing_status = SK_PACING_NONE;
	priv->paces = 0;
}

/*
 * As tcp_update_pacing_rate(): by it TCP sizes its packets, and fq paces them. srtt_us counts eighths. window * 8000000 /
 * 100 * 200 < 2^40 * 2^24
 */
static inline void cc_pace_plain(struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	__u32 segments = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	__u64 rate = (__u64)tp->mss_cache * (8 * (NSEC_PER_SEC / 1000) / 100);

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? CC_PLAIN_START_PERCENT : CC_PLAIN_PERCENT;
	rate *= segments;
	cc_pace(sk, tp->srtt_us ? rate / tp->srtt_us : rate);
}

static inline __u32 cc_least_segments(struct sock *sk)
{
	/* At a low R two packets at once would be a burst. */
	return cc_priv(sk)->governed ? 1 : CC_PLAIN_SEGMENTS;
}

/*
 * Gives the socket the control that it would have without Sluice: its network namespace's default, or, if that is ours,
 * the one before. 1: the socket is no longer ours. It fails if that control is gone, and while another program of BPF
 * changes the control, as when the daemon moves sockets.
 */
static inline int cc_hand_over(struct sock *sk, const struct control *ctl)
{
	const struct inet_connection_sock *icsk = (const struct inet_connection_sock *)sk;
	const struct tcp_congestion_ops *usual = sk->__sk_common.skc_net.net->ipv4.tcp_congestion_control;
	char name[sizeof(ctl->cc_default)];
	unsigned int i;

	if (!usual) /* never; a kernel that marks it as __rcu wants the check */
		return 0;
	if (usual == icsk->icsk_ca_ops)
		__builtin_memcpy(name, ctl->cc_default, sizeof(name));
	else
		for (i = 0; i < sizeof(name); i++)
			name[i] = usual->name[i];
	if (!name[0])
		return 0;
	cc_unpace(sk);
	return !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
}

/* How long after asked_ns the socket's peer has not answered. 0: it was not asked, or may still answer. */
static inline __u64 cc_unanswered_ns(struct sock *sk, __u64 asked_ns)
{
	__u64 wait_ns = cc_tcp(sk)->srtt_us / 8 * CC_ANSWER_RTTS * 1000ULL, now_ns = bpf_ktime_get_ns();

	if (wait_ns < CC_ANSWER_NS)
		wait_ns = CC_ANSWER_NS;
	return asked_ns && now_ns > asked_ns + wait_ns ? now_ns - asked_ns : 0;
}

/* When the host, which does not strip as far as is known, was last asked; 0: never. h: its entry, or NULL. */
static inline __u64 cc_asked_ns(const struct flow_key *key, const struct host *h)
{
	const __u64 *asked_ns = h ? &h->asked_ns : bpf_map_lookup_elem(&asked, host_of_flow(key));

	return asked_ns ? *asked_ns : 0;
}

/* Whether Sluice will not govern a connection that is just established, as far as that is known. */
static inline int cc_is_plain(struct sock *sk, const struct flow_key *key, const struct host *h)
{
	struct peer_key pk = { .prefixlen = 128, .addr = key->remote };
	const struct peer *peer = bpf_map_lookup_elem(&peers, &pk);
	__u64 unanswered_ns;

	if (!peer || peer->leaving)
		return 1;
	if (h && h->capable)
		return 0;
	unanswered_ns = cc_unanswered_ns(sk, cc_asked_ns(key, h));
	return unanswered_ns && unanswered_ns < CC_PLAIN_NS;
}

static inline void cc_open(struct sock *sk)
{
	const struct control *ctl = control_get();
	struct cc_priv *priv = cc_priv(sk);
	struct flow_key key = {};
	const struct host *h;
	struct flow *f;

	priv->delivered = cc_tcp(sk)->delivered;
	priv->governed = 0;
	priv->heard = 0;
	priv->near = 0;
	priv->window_at = priv->delivered;
	priv->lost_at = cc_tcp(sk)->lost;
	priv->timeout = 0;
	priv->una = cc_tcp(sk)->snd_una;
	priv->lost = cc_tcp(sk)->lost;
	priv->reducing = 0;
	priv->open = 1;
	if (!ctl)
		return;
	if (!cc_enforced() || !cc_key(sk, &key)) {
		cc_hand_over(sk, ctl);
		return;
	}
	/* The handshake went out plain; the peer shows whether data will be wrapped. */
	f = bpf_map_lookup_elem(&flows, &key);
	h = bpf_map_lookup_elem(&hosts, host_of_flow(&key));
	if (f && h && h->capable)
		cc_apply(sk, &key, f);
	else if (!(cc_is_plain(sk, &key, h) && cc_hand_over(sk, ctl)))
		cc_pace_plain(sk);
}

/* The socket gets another control, or ends: what a foreign stack does not obey ends with it. */
static inline void cc_leave(struct sock *sk)
{
	struct flow_key key = {};
	struct sock_note *note;
	struct flow *f;

	if (!cc_key(sk, &key))
		return;
	f = bpf_map_lookup_elem(&flows, &key);
	if (!f || !f->tx.own_cc)
		return;
	f->tx.own_cc = 0;
	pass_end(&key);
	note = bpf_sk_storage_get(&sock_notes, sk, 0, 0);
	if (note)
		note->data.until_ns = 0;
}

/*
 * After an ACK of a socket that Sluice does not govern. One that it has governed stays, until the daemon has ended. A
 * flow whose data left, and was not asked for, or is in no map, stays plain. Not in the middle of a recovery, whose count of
 * what was delivered the kernel does not have.
 */
static inline void cc_decide(struct sock *sk)
{
	const struct control *ctl = control_get();
	struct cc_priv *priv = cc_priv(sk);
	struct flow_key key = {};
	const struct host *h;

	if (!ctl || !priv->open || priv->reducing || (priv->kept && ctl->cc_name[0]))
		return;
	if (cc_enforced() && cc_key(sk, &key) && bpf_map_lookup_elem(&flows, &key)) {
		h = bpf_map_lookup_elem(&hosts, host_of_flow(&key));
		if (h && h->capable)
			return;
		if (!priv->asked_ns)
			priv->asked_ns = cc_asked_ns(&key, h);
		if (priv->asked_ns && !cc_unanswered_ns(sk, priv->asked_ns))
			return;
	}
	if (!cc_hand_over(sk, ctl))
		priv->kept = 1;
}

/*
 * Until the first feedback its window is a share of its port's: counted anew when data leaves and nothing is under way,
 * and with all begun since whenever it sends more. 64 flows of 8 hosts that begin together send one W_init per host.
 */
static inline void cc_first(struct sock *sk, int anew)
{
	struct cc_priv *priv = cc_priv(sk);
	struct flow_key key = {};
	struct flow *f;

	if (priv->heard || !priv->governed || !cc_enforced() || !cc_key(sk, &key))
		return;
	f = bpf_map_lookup_elem(&flows, &key);
	if (!f)
		return;
	priv->heard = !!f->rx.feedbacks;
	if (priv->heard || (!anew && !f->companion.began_us))
		return;
	flow_begin(f, &key, anew);
	cc_apply(sk, &key, f);
}

/* Takes the losses that the socket has found. */
static inline void cc_losses(struct sock *sk, struct flow *f)
{
	__u32 state = BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state), lost, arrived;
	struct tcp_sock *tp = cc_tcp(sk);
	struct cc_priv *priv = cc_priv(sk);

	if (flow_was_paused(f)) {
		priv->timeout = state == TCP_CA_Loss;
		priv->window_at = tp->delivered;
		priv->lost_at = tp->lost;
		return;
	}
	if (state == TCP_CA_Loss && !priv->timeout && flow_lost(f, 1))
		stats_count(STAT_FB_CUT_TIMEOUT);
	priv->timeout = state == TCP_CA_Loss;
	arrived = tp->delivered - priv->window_at;
	if (arrived < priv->segments)
		return;
	lost = tp->lost - priv->lost_at;
	priv->window_at = tp->delivered;
	priv->lost_at = tp->lost;
	if (lost * 100ULL > (lost + arrived) * (__u64)CEILING_LOSS_PERCENT && state != TCP_CA_Loss && flow_lost(f, 0))
		stats_count(STAT_FB_CUT_LOSS);
}

/*
 * As tcp_cwnd_reduction(), RFC 6937. Packets that left in the recovery before its first ACK came here count as delivered.
 */
static inline void cc_reduce(struct tcp_sock *tp, struct cc_priv *priv, __u32 acked, int advanced, int lost)
{
	__u32 flight = cc_in_flight(tp), room;
	__s64 more;

	if (!acked || !tp->prior_cwnd)
		return;
	priv->prr_delivered += acked;
	if (flight > tp->snd_ssthresh) {
		more = ((__u64)tp->snd_ssthresh * priv->prr_delivered + tp->prior_cwnd - 1) / tp->prior_cwnd;
		more -= tp->prr_out;
	} else {
		room = tp->snd_ssthresh - flight;
		more = (__s64)priv->prr_delivered - tp->prr_out;
		more = more > acked ? more : acked;
		more += advanced && !lost;
		more = more < room ? more : room;
	}
	if (more < !tp->prr_out)
		more = !tp->prr_out;
	tp->snd_cwnd = flight + more;
}

/*
 * The slow start threshold of a socket that enters recovery. If RACK's timer begins it, no ACK lowers the window before the
 * lost packets leave again, and the kernel lowers it only for a control without cong_control(): one packet leaves.
 */
static inline __u32 cc_recovers(struct sock *sk)
{
	__u32 ssthresh = tcp_reno_ssthresh(sk);
	struct tcp_sock *tp = cc_tcp(sk);

	if (!cc_priv(sk)->governed && tp->undo_marker)
		tp->snd_cwnd = cc_in_flight(tp) + 1;
	return ssthresh;
}

/* As tcp_cong_control() has it for Reno: the kernel leaves all of it to a control that has cong_control(). */
static inline void cc_plain_window(struct sock *sk, __u32 acked, int advanced, int lost)
{
	__u32 state = BPF_CORE_READ_BITFIELD((struct inet_connection_sock *)sk, icsk_ca_state);
	struct tcp_sock *tp = cc_tcp(sk);
	struct cc_priv *priv = cc_priv(sk);
	int raises = advanced;

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		if (!priv->reducing)
			priv->prr_delivered = tp->prr_out;
		priv->reducing = state;
		cc_reduce(tp, priv, acked, advanced, lost);
		return;
	}
	if (priv->reducing && state < TCP_CA_CWR && tp->snd_ssthresh < CC_INFINITE_SSTHRESH &&
	    (priv->reducing == TCP_CA_CWR || tp->undo_marker))
		tp->snd_cwnd = tp->snd_ssthresh;
	priv->reducing = 0;
	/* Data that only a SACK reports does not raise the window, except where packets are known to be reordered. */
	if (acked && tp->reordering > sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_reordering)
		raises = 1;
	if (raises)
		tcp_reno_cong_avoid(sk, 0, acked);
}

static inline void cc_acked(struct sock *sk)
{
	struct tcp_sock *tp = cc_tcp(sk);
	struct cc_priv *priv = cc_priv(sk);
	__u32 acked = tp->delivered - priv->delivered;
	int advanced = tp->snd_una != priv->una, lost = tp->lost != priv->lost;
	struct flow_key key = {};
	struct flow *f;

	priv->delivered = tp->delivered;
	priv->una = tp->snd_una;
	priv->lost = tp->lost;
	if (cc_enforced() && cc_key(sk, &key)) {
		f = bpf_map_lookup_elem(&flows, &key);
		if (f && f->tx.flags & FLOW_F_TELEM) {
			priv->heard = !!f->rx.feedbacks;
			cc_losses(sk, f);
			cc_apply(sk, &key, f);
			return;
		}
	}
	if (priv->governed) {
		tp->snd_ssthresh = tp->snd_cwnd;
		cc_unpace(sk);
	}
	cc_plain_window(sk, acked, advanced, lost);
	cc_pace_plain(sk);
	cc_decide(sk);
}

/* The current and the new congestion control name of the sockets; they may be the same. */
const volatile char cc_from[16], cc_to[16];

/* Called for every socket: moves those of an earlier congestion control to the one now registered under its name. */
static inline int cc_move_socket(struct bpf_iter__tcp *ctx)
{
	struct sock_common *sk = ctx->sk_common;
	char name[sizeof(cc_from)] = {};
	struct tcp_sock *tp;
	unsigned int i;

	tp = sk ? bpf_skc_to_tcp_sock(sk) : 0;
	if (!tp)
		return 0;
	BPF_CORE_READ_STR_INTO(&name, tp, inet_conn.icsk_ca_ops, name);
	for (i = 0; i < sizeof(name); i++)
		if (name[i] != cc_from[i])
			return 0;
	bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, (void *)cc_to, sizeof(cc_to));
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FLOW_BPF_H
#define SLUICE_FLOW_BPF_H
/*
 * Flows.
 *
 *  1. A flow is made by the first packet that leaves to, or the first telemetry that arrives from, a
 *     configured peer. An RST of ours makes none: it answers a SYN to a closed port. Its parameters come from the
 *     peer's prefix and the port's speed, and are read again when the configuration's epoch changes.
 *  2. Parameters and congestion state change under a try-lock: a CPU that fails to take it carries on; one feedback is
 *     lost and counted. Nothing waits, and the owner never sleeps while holding it.
 *  3. A host may answer while nothing comes back for one of its flows: a filter or a path drops the companions of that
 *     one. Telemetry that left unanswered is counted. After FLOW_SILENT_ASKS, the first of them longer ago than
 *     flow_silent_ns(), the flow is silent until the first answer, and runs as if its peer had no Sluice: FLOW_F_TELEM
 *     is taken back, by which its socket and its windows go. A flow that sends nothing asks nothing, and does not age.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/pass.bpf.h"
#include "host/peer.bpf.h"
#include "pause/held.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/base_rtt.h"
#include "sluice/cc/ceiling.h"
#include "sluice/cc/companion.h"
#include "sluice/cc/first.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/slack.h"
#include "sluice/once.h"
#include "sluice/pacer.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/*
 * Round trips of data that the newest feedback cannot cover: it comes once in T, or in two if a companion is late, plus
 * the round trip itself, or after as many packets.
 */
#define FLOW_UNTOLD_RTTS 4
#define FLOW_UNTOLD_PACKETS COMPANION_PACKETS
#define FLOW_SHARES 16	    /* R of UDP is lowered in steps of this part of it */
#define FLOW_SHARES_LEAST 2 /* down to an eighth */

/*
 * R of Equation 1, bits/s, if it applies. 0: none. While credits have stopped only HPCC applies. R does not apply to
 * the first window of a flow either, which is under way before R can be told: a short flow is all in the VOQ then, in
 * turn, and not held to the R that a burst of others leaves. 490 flows of 10 KB, 37 at once beside two long ones: p99
 * 64 ms, not 114 (tests/lab/check churn). Without HPCC that ends with the first feedback: otherwise W would hold the
 * flow, and HPCC keeps W small beside flows that do not obey it; of 16 flows of 100 KB none ended within 750 ms
 * (LAB=fabric).
 */
static inline __u64 flow_hop_bps(const struct flow *f)
{
	int begun = READ_ONCE(f->tx.bytes) >= q12_to_bytes(f->params.w_init) || (f->path.hpcc_off && f->rx.feedbacks);

	return f->path.hiercc && begun ? READ_ONCE(f->voq.rate_bps) : 0;
}

/* R at which the flow is paced: the lower of HPCC and Equation 1. */
static inline __u64 flow_pace_bps(const struct flow *f)
{
	__u64 hop = flow_hop_bps(f);

	return hop && (f->path.hpcc_off || hop < f->cc.rate_bps) ? hop : f->cc.rate_bps;
}

/*
 * R of the flow's clock. Equation 1 applies to packets not yet sent: TCP obeys it through its window and, if it paces
 * itself, R. A packet at hand already waits in the VOQ, and its departure cannot be revised: scheduled while R is
 * briefly low, typically after a stop, it would still leave late once R recovers. UDP learns of R in no other way.
 */
static inline __u64 flow_clock_bps(const struct flow *f, int udp)
{
	if (udp)
		return flow_pace_bps(f);
	return f->path.hpcc_off && flow_hop_bps(f) ? hpcc_rate_bps(f->params.w_init, f->params.t_ns) : f->cc.rate_bps;
}

/*
 * W, with Equation 1. Without HPCC 8 BDPs bound the bytes in flight; the bytes in front of the VOQ are still bounded by
 * R * T. bits/s < 2^40, T < 2^30.
 */
static inline __u64 flow_window_bytes(const struct flow *f)
{
	__u64 hop = flow_hop_bps(f), w = q12_to_bytes(f->cc.w), most;

	if (!hop)
		return w;
	if (f->path.hpcc_off)
		w = 8 * q12_to_bytes(f->params.w_init);
	most = hpcc_bdp_bytes(hop, f->params.t_ns);
	return w < most ? w : most;
}

/* How long the flow's next packet waits in fq for its departure time. */
static inline __u64 flow_waits_ns(const struct flow *f, __u64 now_ns)
{
	return pacer_wait_ns(now_ns, READ_ONCE(f->tx.clock_ns));
}

/* R / 16 * shares. */
static inline __u64 flow_share_bps(__u64 rate_bps, __u32 shares)
{
	return rate_bps / FLOW_SHARES * shares;
}

/*
 * The position up to which the flow has left: the sent bytes, without those that wait in fq. The latter are derived
 * from the clock, and after R has risen may seem to be more than was sent. bytes/ms * ns < 2^28 * 2^36
 */
VERIFIED_ONCE __u64 flow_left_bytes(const struct flow *f, __u64 now_ns)
{
	__u64 sent, rate_bps, waits;

	if (!f)
		return 0;
	sent = READ_ONCE(f->tx.bytes);
	rate_bps = flow_share_bps(flow_pace_bps(f), f->path.share ?: FLOW_SHARES);
	waits = flow_waits_ns(f, now_ns) * (rate_bps / 8000) / 1000000;
	return sent > waits ? sent - waits : 0;
}

/*
 * Whether feedback is not late: no PROBE waits for its answer, or not for long. A program that hands over 58 ms of packets
 * at a time asks as rarely, and what left since its last question was not asked about.
 */
static inline int flow_is_told(const struct flow *f, __u64 now_ns)
{
	__u64 probed = READ_ONCE(f->delay.probed);

	if (!probed)
		return f->path.telemetry == TELEMETRY_COMPANION;
	return (__u32)now_ns - (__u32)probed < FLOW_UNTOLD_RTTS * f->params.t_ns;
}

/*
 * The part of R, in sixteenths, that a UDP flow has, which has no window: while more bytes than normal lack feedback, because
 * it is late or does not come, R is lowered in proportion, like that of a window that waits for its ACKs, down to an eighth.
 * The last packet counts as under way until the next feedback, so one of any size is normal. On a path that stamps
 * nothing feedback may be useless, which does not make it late. W < 2^27 bytes
 */
static inline __u32 flow_overdue(const struct flow *f, __u32 packet, __u64 now_ns)
{
	__u64 untold = FLOW_UNTOLD_RTTS * q12_to_bytes(f->cc.w) + FLOW_UNTOLD_PACKETS * f->params.packet + packet;
	__s32 under_way;

	if (!f->rx.feedbacks || f->path.hpcc_off || !f->cc.hops)
		return FLOW_SHARES;
	under_way = (__u32)flow_left_bytes(f, now_ns) - f->rx.fb_seq; /* < 0 when R has risen */
	if (under_way <= 0 || under_way <= untold || flow_is_told(f, now_ns))
		return FLOW_SHARES;
	return under_way >= 8 * untold ? FLOW_SHARES_LEAST : FLOW_SHARES * untold / under_way;
}

/*
 * The number of hops that the telemetry has room for: one more than the path had, so that a longer path is noticed.
 * Room for five would take 1.6 % of a full packet more than for two.
 */
static inline __u32 flow_room(const struct flow *f)
{
	__u32 hops = f->cc.hops ?: f->rx.told_hops;

	VERIFIER_FORGET(hops);
	if (!hops || hops > HPCC_MAX_HOPS - 1)
		hops = HPCC_MAX_HOPS - 1;
	return hops + 1;
}

/* Whether all packets with payload carry telemetry; otherwise none does. */
static inline int flow_telem_is_in_data(const struct flow *f)
{
	return f->path.telemetry != TELEMETRY_COMPANION;
}

static inline __u64 flow_bottleneck_bps(const struct hpcc_state *st)
{
	__u32 i = st->bottleneck;

	VERIFIER_FORGET(i);
	return i < HPCC_MAX_HOPS ? st->last[i].bps : 0;
}

/* Segments that a receiver with delayed ACKs has got and not acknowledged yet. */
#define DELAYED_ACK_SEGMENTS 1

/* Bytes under way beyond a window of w (slack.h). None with HierCC, whose window also bounds the VOQ. w < 2^27 */
static inline __u64 flow_slack_bytes(const struct flow *f, __u64 w)
{
	if (f->rival.queue_ns)
		return 2 * f->params.packet + hpcc_bdp_bytes(f->cc.rate_bps, f->rival.queue_ns + f->rival.queue_ns / 4);
	if (f->rx.form != RX_HOPS || f->path.hiercc || f->ceiling.w)
		return 0;
	return slack_bytes(&f->cc, f->params.t_ns, w, f->rx.feedbacks);
}

static inline int flow_trylock(struct flow *f)
{
	return __sync_val_compare_and_swap(&f->rx.lock, 0, 1) == 0;
}

static inline void flow_unlock(struct flow *f)
{
	__sync_fetch_and_and(&f->rx.lock, 0);
}

/* Lowers W: more than CEILING_LOSS_PERCENT of a window was lost, or all of it (timeout). W grows again by feedback alone. */
VERIFIED_ONCE int flow_lost(struct flow *f, __u32 timeout)
{
	int cut;

	if (!f || !f->rx.feedbacks || f->rx.form != RX_HOPS || f->path.hpcc_off || !f->path.delay || !flow_trylock(f))
		return 0;
	if (timeout)
		ceiling_timeout(&f->ceiling, &f->params, f->cc.w);
	cut = timeout || ceiling_lost(&f->ceiling, &f->params, f->cc.w);
	if (cut)
		hpcc_cap(&f->cc, &f->params, f->ceiling.w);
	flow_unlock(f);
	return cut;
}

/* W, with room for a burst, in segments of `segment` wire bytes, rounded up: the window of a TCP that counts segments. */
static inline __u64 flow_segments(const struct flow *f, __u32 segment)
{
	__u64 w = flow_window_bytes(f);

	return (w + flow_slack_bytes(f, w) + segment - 1) / segment + DELAYED_ACK_SEGMENTS;
}

#define FLOW_SILENT_ASKS 3 /* two may be lost by chance, or be those that a flow sent last before it was idle */

/* How long a host or a flow may leave telemetry unanswered. T < 2^30 ns. */
static inline __u64 flow_silent_ns(const struct flow *f)
{
	return 4 * f->params.t_ns > HOST_SILENT_NS ? 4 * f->params.t_ns : HOST_SILENT_NS;
}

/* Whether a pause of its port held the flow a moment ago: what has not left is neither unanswered nor lost. */
static inline int flow_was_paused(const struct flow *f)
{
	return has_pauses() && f->tx.flags & FLOW_F_PAUSE && pfc_held(f, flow_silent_ns(f));
}

static inline int flow_is_silent(const struct flow *f)
{
	return READ_ONCE(f->beside.unanswered) == FLOW_SILENT;
}

/* Whether the first unanswered telemetry left so long ago. It may leave later than now: then it waits for credit. */
static inline int flow_is_overdue(const struct flow *f, __u64 now_ns)
{
	return (__s16)((now_ns >> FLOW_ASKED_SHIFT) - f->tx.asked) > (__s16)(flow_silent_ns(f) >> FLOW_ASKED_SHIFT);
}

/* Egress: telemetry of the flow leaves. */
static inline void flow_asks(struct flow *f, __u64 now_ns)
{
	__u32 n = READ_ONCE(f->beside.unanswered);

	if (n < FLOW_SILENT_ASKS && flow_is_overdue(f, now_ns)) /* too little, before the flow was idle */
		n = 0;
	if (!n)
		f->tx.asked = now_ns >> FLOW_ASKED_SHIFT;
	if (n < FLOW_SILENT - 1)
		WRITE_ONCE(f->beside.unanswered, n + 1);
}

/* Ingress: an answer has come. */
static inline void flow_answered(struct flow *f)
{
	if (READ_ONCE(f->beside.unanswered))
		WRITE_ONCE(f->beside.unanswered, 0);
}

/* Egress: whether the flow is silent, or becomes so. */
static inline int flow_falls_silent(struct flow *f, __u64 now_ns)
{
	__u32 n = READ_ONCE(f->beside.unanswered);

	if (n < FLOW_SILENT_ASKS || (n != FLOW_SILENT && !flow_is_overdue(f, now_ns)))
		return 0;
	if (n != FLOW_SILENT && flow_was_paused(f)) {
		flow_answered(f);
		return 0;
	}
	WRITE_ONCE(f->beside.unanswered, FLOW_SILENT);
	return 1;
}

/* Sets whether delay and loss bound W. Without them W of a path that stamps nothing is W_init. */
static inline void flow_delay(struct flow *f, __u32 on)
{
	f->path.delay = on;
	if (on || !f->ceiling.w)
		return;
	__builtin_memset(&f->ceiling, 0, sizeof(f->ceiling));
	if (!f->cc.hops)
		hpcc_init(&f->cc, &f->params);
}

/*
 * T of the prefix. If it is to be measured it is no less than the port allows, from which it follows until then; and no less
 * than two packets of a tunnel take that come whole (GSO): each is a queue of its own at the bottleneck.
 */
static inline __u64 flow_t_ns(const struct flow *f, const struct peer *peer, const struct port *port)
{
	__u32 packet = port->mtu + WIRE_ETH_BYTES;
	__u64 floor, t_ns;

	if (!peer->t_auto)
		return peer->t_ns;
	t_ns = peer->measured_ns ? peer->t_ns : base_rtt_start_ns(port->speed_bps, packet);
	floor = f->tx.flags & FLOW_F_BURSTS ? 2 * pacer_cost_ns(FLOW_BURST_BYTES, port->speed_bps) :
					      base_rtt_floor_ns(port->speed_bps, packet);
	return t_ns > floor ? t_ns : floor;
}

/*
 * Sets a flow's parameters from its peer's prefix and the port that it leaves by. W_init = B_nic * T (000, section
 * 3.2); kbit/s * ns < 2^30 * 2^30.
 */
VERIFIED_ONCE int flow_params(struct flow *f, const struct peer *peer, const struct port *port)
{
	struct hpcc_params *p;
	__u64 w_init, packet;

	if (!f || !peer || !port)
		return 0;
	p = &f->params;
	p->t_ns = flow_t_ns(f, peer, port);
	w_init = hpcc_bdp_bytes(port->speed_bps, p->t_ns);
	packet = port->mtu + WIRE_ETH_BYTES;
	if (w_init < packet)
		w_init = packet;
	if (w_init > HPCC_W_MAX_BYTES)
		w_init = HPCC_W_MAX_BYTES;
	p->w_init = q12_from_bytes(w_init);
	p->packet = packet < 0xffff ? packet : 0xffff;
	p->w_min = hpcc_w_min(p->w_init, p->packet, p->t_ns);
	p->eta = peer->eta;
	p->max_stage = peer->max_stage;
	p->stages = peer->stages;
	p->w_ai = peer->w_ai;
	p->chance = 0;
	if (!p->w_ai && peer->flows)
		hpcc_params_flows(p, peer->flows, 0);
	hpcc_params_variant(p, peer->variant);
	vai_tune(&p->vai, &peer->vai);
	f->path.feedback = peer->feedback;
	f->path.flows_fixed = peer->flows_fixed;
	f->path.flows_expected = peer->flows;
	f->rx.flows = peer->w_ai ? 0 : peer->flows;
	f->path.encoding = peer->encoding;
	f->path.telemetry = peer->telemetry;
	f->path.hiercc = peer->hiercc;
	f->path.hpcc_off = peer->hpcc_off;
	f->path.mtu = port->mtu;
	f->path.port_flags = port->flags;
	flow_delay(f, peer->delay);
	return 0;
}

/*
 * Updates the parameters to the current epoch and to the flow's current port. If T has changed, R stays and W follows: a
 * flow may have its first share of W_init before it is known to send 64 KB at a time. A new W_init bounds W at once.
 */
VERIFIED_ONCE int flow_refresh(struct flow *f, const struct flow_key *key, __u32 ifindex, __u32 epoch)
{
	struct peer_key pk = { .prefixlen = 128 };
	const struct peer *peer;
	const struct port *port;
	__u64 t_ns;

	if (!f || !key || !flow_trylock(f))
		return 0;
	t_ns = f->params.t_ns;
	pk.addr = key->remote;
	peer = bpf_map_lookup_elem(&peers, &pk);
	port = bpf_map_lookup_elem(&ports, &ifindex);
	f->path.no_peer = !peer || peer->leaving;
	if (peer && peer->t_ns && port) {
		flow_params(f, peer, port);
		if (f->params.t_ns != t_ns)
			f->cc.w = f->cc.wc = q12_from_bytes(hpcc_bdp_bytes(f->cc.rate_bps, f->params.t_ns));
		hpcc_cap(&f->cc, &f->params, f->params.w_init);
	}
	f->path.ifindex = ifindex;
	f->path.epoch = epoch;
	flow_unlock(f);
	return 0;
}

/* Notes that packets of a flow without a window are larger than what its port carries in T. */
static inline void flow_note_burst(struct flow *f, __u32 bytes)
{
	if (f->tx.flags & FLOW_F_BURSTS || bytes <= q12_to_bytes(f->params.w_init))
		return;
	f->tx.flags |= FLOW_F_BURSTS;
	f->path.epoch--; /* flow_refresh() with the next packet */
}

/* Whether it waits for its first feedback. -1 unit: it began in the current unit. */
static inline int flow_is_first(const struct flow *f, __u64 now_ns)
{
	__s32 ago = (__u32)(now_ns >> FIRST_SHIFT) - f->companion.began_us;

	return !f->rx.feedbacks && f->companion.began_us != FIRST_OVER &&
	       ago <= (__s32)(FIRST_RTTS * f->params.t_ns >> FIRST_SHIFT);
}

/*
 * The part of R, in sixteenths, of a UDP packet beyond the first window that leaves at at_ns and takes cost_ns at R: an eighth,
 * until the flow has waited long enough.
 */
static inline __u32 flow_first_share(const struct flow *f, __u64 at_ns, __u64 cost_ns)
{
	__s32 ago = (__u32)(at_ns >> FIRST_SHIFT) - f->companion.began_us;
	__u64 rest_ns = FIRST_RTTS * f->params.t_ns - ((__u64)(ago > 0 ? ago : 0) << FIRST_SHIFT);
	__u64 shares = FLOW_SHARES * cost_ns / (cost_ns + rest_ns + 1);

	return shares > FLOW_SHARES_LEAST ? shares : FLOW_SHARES_LEAST;
}

/*
 * Whether it has waited long enough: its path reports nothing, not even to a handshake, and W is W_init. flow_begin() notes it:
 * the units wrap.
 */
static inline int flow_first_ends(const struct flow *f, __u64 now_ns)
{
	return !f->rx.feedbacks && !f->rx.fb_ns && f->companion.began_us && f->companion.began_us != FIRST_OVER &&
	       !flow_is_first(f, now_ns);
}

/* Notes R of a flow that has had feedback, or an answer before its first data, for new flows to the same host. */
static inline void host_note_rate(struct host *h, const struct flow *f, __u64 now_ns)
{
	int early = !f->rx.feedbacks && f->rx.fb_ns == now_ns;

	if (!h || (f->rx.feedbacks < 2 && !early))
		return;
	h->rate_bps = f->cc.rate_bps;
	h->rate_ns = now_ns;
	if (ceiling_was_cut(&f->ceiling))
		h->bound_ns = now_ns;
}

/*
 * W that new flows to the host may take as known; 0: none has had feedback of late. It is R that two flows to a host have
 * in common: T of one that sends 64 KB at a time is several times that of another.
 */
static inline q12_t host_window(const struct host *h, const struct hpcc_params *p, __u64 now_ns)
{
	if (now_ns - h->rate_ns >= FIRST_KNOWN_RTTS * p->t_ns)
		return 0;
	return q12_from_bytes(hpcc_bdp_bytes(h->rate_bps, p->t_ns));
}

/* The same when all that is known is old. */
static inline q12_t host_window_old(const struct host *h, const struct hpcc_params *p)
{
	q12_t w = q12_from_bytes(hpcc_bdp_bytes(h->rate_bps, p->t_ns));
	q12_t least = q12_from_bytes(FIRST_OLD_PACKETS * p->packet);

	if (!h->rate_ns)
		return 0;
	return w > least ? w : least;
}

/* W that a flow without feedback may take as known: by the answer to its handshake, or by other flows to the host. */
static inline q12_t flow_window_known(struct flow *f, const struct host *h, __u64 now_ns)
{
	if (f->rx.fb_ns && now_ns - f->rx.fb_ns < FIRST_KNOWN_RTTS * f->params.t_ns)
		return f->cc.w;
	f->rx.fb_ns = 0;
	return h ? host_window(h, &f->params, now_ns) ?: host_window_old(h, &f->params) : 0;
}

/*
 * A flow without feedback has its share of W_init (first.h). It begins when data leaves and nothing is under way:
 * connections that were opened, and exchanged greetings, long ago may start to send together. Whenever it sends more
 * before the first feedback, its share counts all flows that have begun since.
 */
VERIFIED_ONCE int flow_begin(struct flow *f, const struct flow_key *key, __u32 anew)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct host_key remote;
	const struct host *h = 0;
	struct port *port;
	q12_t share, known;
	__u32 ifindex, n;
	int over;

	if (!f || !key || !flow_trylock(f))
		return 0;
	ifindex = f->path.ifindex;
	remote = *host_of_flow(key); /* Linux 6.1 accepts no argument of such a function as a map key */
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (port && !f->rx.feedbacks) {
		h = anew ? bpf_map_lookup_elem(&hosts, &remote) : 0;
		known = anew ? flow_window_known(f, h, now_ns) : 0;
		n = anew ? first_count(&port->first, &f->companion.began_us, now_ns, f->params.t_ns,
				       h ? h->rate_ns : 0) :
			   first_counted(&port->first);
		if (!anew && flow_first_ends(f, now_ns))
			f->companion.began_us = FIRST_OVER;
		over = f->companion.began_us == FIRST_OVER;
		share = over ? f->params.w_init : first_share(f->params.w_init, n, known);
		if (anew || over || hpcc_rate_bps(share, f->params.t_ns) < f->cc.rate_bps) {
			f->cc.w = f->cc.wc = f->params.w_init;
			first_cap(&f->cc, &f->params, share);
		}
		if (f->path.delay && h && h->bound_ns && now_ns - h->bound_ns < CEILING_REMEMBERED_NS)
			ceiling_begin(&f->ceiling, &f->params, f->cc.w);
	}
	if (!f->companion.began_us)
		f->companion.began_us = FIRST_BEGAN(now_ns);
	flow_unlock(f);
	return 0;
}

enum flow_verdict {
	FLOW_OK,
	FLOW_NO_PEER,
	FLOW_NO_PORT,
	FLOW_FULL,
	FLOW_OTHER, /* a tunnel without ports, which only companions can govern */
};

/* The flow of key, made if the remote side is a peer. cause: the counter to use if it is made. */
VERIFIED_ONCE int flow_make(const struct flow_key *key, __u32 ifindex, __u32 epoch, __u32 cause)
{
	struct peer_key pk = { .prefixlen = 128 };
	struct scratch_space *space = scratch_get();
	const struct peer *peer;
	const struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
	struct flow *fresh;
	struct flow_key own;
	long err;

	if (!port || port->flags & PORT_F_LEAVING)
		return FLOW_NO_PORT;
	if (!key || !space)
		return FLOW_NO_PEER;
	own = *key; /* Linux 6.1 accepts no argument of such a function as a map key */
	fresh = &space->flow;
	pk.addr = key->remote;
	peer = bpf_map_lookup_elem(&peers, &pk);
	if (!flow_has_ports(own.proto) && (!peer || peer->telemetry != TELEMETRY_COMPANION))
		return FLOW_OTHER;
	if (!peer || !peer->t_ns || peer->leaving)
		return FLOW_NO_PEER;
	__builtin_memset(fresh, 0, sizeof(*fresh));
	flow_params(fresh, peer, port);
	hpcc_init(&fresh->cc, &fresh->params);
	fresh->path.epoch = epoch;
	fresh->path.ifindex = ifindex;
	fresh->tx.last_ns = bpf_ktime_get_ns(); /* so that its age is known */
	/* -EEXIST: another CPU made it meanwhile, which is as good. */
	err = bpf_map_update_elem(&flows, &own, fresh, BPF_NOEXIST);
	if (!err) {
		pass_end(&own);
		stats_count(STAT_FLOW_MADE);
		stats_count(cause);
	}
	return err == -E2BIG ? FLOW_FULL : FLOW_OK;
}

#endif

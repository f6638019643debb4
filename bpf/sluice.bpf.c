// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data plane as one object, a header for each stage:
 *
 *   host    egress  -> fq -> NIC -> ... switch port: hop ... -> NIC -> ingress   host
 *           tcp_cc  <- flows <- ingress <------------ echo on the reverse flow <- egress
 *   rack    hop -> fq, by the switch's VOQs; tor <- credit
 *   switch  class_enqueue, class_dequeue -> class_queues -> hop, where a port has several queues
 *   pauses  pfc -> pfc_ports -> egress, hop; pfc_enqueue, pfc_dequeue -> pfc_slots -> daemon -> neighbour
 *   node    ingress of the uplink -> ... -> pod_hop -> tbf or htb -> veth -> pod
 *
 * The maps (maps.bpf.h) are all that the stages share.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "host/egress.bpf.h"
#include "host/ingress.bpf.h"
#include "host/tcp_cc.bpf.h"
#include "pause/count.bpf.h"
#include "pause/pfc.bpf.h"
#include "port/backlog.bpf.h"
#include "port/class.bpf.h"
#include "port/hop.bpf.h"
#include "port/pod.bpf.h"
#include "rack/tor.bpf.h"

/* --- hosts --- */

SEC("tc")
int egress(struct __sk_buff *ctx)
{
	return egress_handle(ctx);
}

SEC("tc")
int ingress(struct __sk_buff *ctx)
{
	int counted = ctx_is_counted(ctx); /* writing to the packet may lose the mark */
	enum sluice_stat verdict = STAT_PFC_RX;
	int action = pfc_consumes(ctx) ? TC_ACT_SHOT : ingress_packet(ctx, &verdict);

	if (!counted)
		stats_count(verdict);
	return action;
}

/* --- switch ports and pods --- */

SEC("tc")
int hop(struct __sk_buff *ctx)
{
	return hop_handle(ctx, 1);
}

SEC("tc")
int hop_map(struct __sk_buff *ctx)
{
	return hop_handle(ctx, 0);
}

/* A message that is not for this switch, or not trusted, goes on to its host. */
SEC("tc")
int tor(struct __sk_buff *ctx)
{
	if (!pfc_consumes(ctx))
		return tor_packet(ctx);
	stats_count(STAT_PFC_RX);
	return TC_ACT_SHOT;
}

SEC("tc")
int pod_hop(struct __sk_buff *ctx)
{
	return pod_handle(ctx);
}

SEC("tc")
int pfc(struct __sk_buff *ctx)
{
	return pfc_handle(ctx);
}

/* --- qdiscs --- */

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(backlog_enqueue, struct Qdisc *q)
{
	backlog_copy(q);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(backlog_dequeue, struct Qdisc *q)
{
	backlog_copy(q);
	return 0;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(class_enqueue, struct Qdisc *q, const struct netdev_queue *txq, struct sk_buff *skb)
{
	return class_enqueued(q, skb);
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(class_dequeue, struct Qdisc *q, const struct netdev_queue *txq, int packets, struct sk_buff *skb)
{
	return class_dequeued(q, packets, skb);
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(pfc_enqueue, struct Qdisc *q, const struct netdev_queue *txq, struct sk_buff *skb)
{
	return pfc_enqueued(q, skb);
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(pfc_dequeue, struct Qdisc *q, const struct netdev_queue *txq, int packets, struct sk_buff *skb)
{
	return pfc_dequeued(q, packets, skb);
}

/* --- sockets --- */

SEC("struct_ops/cc_init")
void BPF_PROG(cc_init, struct sock *sk)
{
	cc_open(sk);
}

SEC("struct_ops/cc_release")
void BPF_PROG(cc_release, struct sock *sk)
{
	cc_leave(sk);
}

/* In cwnd_event, or where the kernel has it in cwnd_event_tx_start, whose only argument is the socket (programs.c). */
SEC("struct_ops/cc_event")
int cc_event(unsigned long long *ctx)
{
	if (bpf_core_field_exists(struct tcp_congestion_ops___tx_start, cwnd_event_tx_start) ||
	    (__u32)ctx[1] == CA_EVENT_TX_START)
		cc_first((struct sock *)ctx[0], 1);
	return 0;
}

/* Called whenever the socket may send. */
SEC("struct_ops/cc_segments")
__u32 BPF_PROG(cc_segments, struct sock *sk)
{
	cc_first(sk, 0);
	cc_leaves(sk);
	return cc_least_segments(sk);
}

SEC("struct_ops/cc_control")
void BPF_PROG(cc_control, struct sock *sk)
{
	cc_acked(sk);
}

/* HPCC ignores losses; the threshold is Reno's for when Sluice no longer governs. */
SEC("struct_ops/cc_ssthresh")
__u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	return cc_recovers(sk);
}

SEC("struct_ops/cc_undo_cwnd")
__u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* The daemon replaces this name by the configured one before it loads the object. */
SEC(".struct_ops")
struct tcp_congestion_ops tcp_cc = {
	.init = (void *)cc_init,
	.release = (void *)cc_release,
	.cong_control = (void *)cc_control,
	.cwnd_event = (void *)cc_event,
	.min_tso_segs = (void *)cc_segments,
	.ssthresh = (void *)cc_ssthresh,
	.undo_cwnd = (void *)cc_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "@sluice-cc-name",
};

/* Moves sockets of an earlier congestion control to the one now registered under its name. */
SEC("iter/tcp")
int cc_move(struct bpf_iter__tcp *ctx)
{
	return cc_move_socket(ctx);
}

char LICENSE[] SEC("license") = "GPL";

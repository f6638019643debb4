/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPORT_BPF_H
#define SLUICE_REPORT_BPF_H
/*
 * A receiver's report on arriving telemetry: the hops as they are, U, or W (rx.h).
 *
 *  1. report_flows() counts the flow among the active ones at its port, or the pod's if that has a queue. N goes with
 *     every report.
 *  2. report_make() runs Algorithm 1 if the peer's prefix configures that, on its own state (rx_states), and replaces
 *     the hops by W, once per T; in between there is no new report, and a waiting one still waits.
 *  3. A path that stamps nothing is reported as such, whatever the prefix configures: the sender goes by delay
 *     there. Without room for state the hops are reported, as with no computation here.
 *  4. State that is made while its flow runs (a reload, a restart) does not begin with W_init, which may be many times
 *     the flow's share: W is the bytes that arrive in one T.
 *  5. If no packet goes back for a T, W would wait indefinitely: once per T it is handed to the daemon, which
 *     sends those of many flows in one message (user/daemon/reports.c). Hops are requested by PROBEs.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "host/flow.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/cc/hpcc.h"
#include "sluice/cc/rx.h"
#include "sluice/types.h"
#include "sluice/wire/telemetry.h"
#include "sluice/wire/wire.h"

#define REPORT_COUNTS 8 /* how many times per T a flow re-reads N, the number of flows sharing its port */

/* N of the flow's port, for its sender. handshake: as a flow is told that has not begun. */
VERIFIED_ONCE int report_flows(struct flow *f, __u32 ifindex, __u64 now_ns, __u32 handshake)
{
	struct port *port;
	__u32 n;

	if (!f)
		return 0;
	if (now_ns < f->rx.count_ns && !handshake)
		return f->rx.counted;
	f->rx.count_ns = now_ns + f->params.t_ns / REPORT_COUNTS;
	f->rx.counted = 0;
	if (f->path.pod_ifindex)
		ifindex = f->path.pod_ifindex;
	port = bpf_map_lookup_elem(&ports, &ifindex);
	if (!port || !port->count_ns)
		return 0;
	rx_count(&port->count, &f->voq.count_mark, now_ns, port->count_ns);
	n = rx_counted(&port->count);
	f->rx.counted = telem_flows(&port->speed, n);
	if (!handshake || !f->params.t_ns)
		return f->rx.counted;
	return telem_flows(&port->speed, first_promise(&port->promised_ns, n, now_ns, f->params.t_ns));
}

static inline void report_begin(struct rx_flow *r, const struct flow *f, const struct ingress_pkt *p)
{
	rx_init(&r->rx, &f->params);
	r->form = f->path.feedback;
	r->last_ns = 0;
	r->own_port = 0;
	r->since_seq = p->seq;
	r->since_ns = p->seq > f->params.w_init >> 12 ? p->now_ns : 0;
}

/* The flow's parameters, with W_AI by N. The N that the flow was told as a sender is not used. */
static inline void report_params(struct rx_flow *r, const struct flow *f, __u32 counted)
{
	__u64 bps = flow_bottleneck_bps(&r->rx.cc);
	__u32 n = rx_flows_scale(&f->params, counted, bps);

	n = rx_flows_choose(r->own_port, f->path.flows_expected, n);
	if (r->epoch == f->path.epoch && r->flows == n)
		return;
	r->params = f->params;
	if (!f->path.flows_fixed)
		rx_flows(&r->params, n, bps);
	r->epoch = f->path.epoch;
	r->flows = n;
}

/* Feeds one telemetry into the state, which this CPU has locked. Returns whether there is something to report. */
static inline int report_measure(struct rx_flow *r, struct flow *f, struct ingress_pkt *p, struct hpcc_ack *ack)
{
	enum hpcc_kind kind;
	int due, i;

	if (r->form != f->path.feedback)
		report_begin(r, f, p);
	report_params(r, f, p->flows);
	ack->seq = 0;
	ack->snd_nxt = 0;
	ack->u_other = 0;
	ack->path_id = p->nhop_path & WIRE_PATH_MASK;
	ack->hops = p->nhop;
	for (i = 0; i < HPCC_MAX_HOPS; i++)
		ack->hop[i] = telem_unpack(p->hop[i]);
	ack->gap_ns = r->last_ns ? (__s64)(p->now_ns - r->last_ns) : HPCC_GAP_UNKNOWN;

	kind = hpcc_observe(&r->rx.cc, &r->params, ack);
	if (kind == HPCC_SKIPPED)
		return 0;
	hpcc_record(&r->rx.cc, ack);
	r->last_ns = p->now_ns;
	if (r->since_ns && p->now_ns > r->since_ns + r->params.t_ns) {
		rx_resume(&r->rx, &r->params, p->seq - r->since_seq, p->now_ns - r->since_ns);
		r->since_ns = 0;
	}
	if (kind != HPCC_FAST)
		return 0;
	r->own_port = rx_own_port(r->own_port, r->rx.cc.bottleneck + 1 == p->nhop);
	if (r->since_ns)
		return 0;
	rx_adjust(&r->rx, &r->params, ack, p->now_ns, &due);
	return due;
}

static inline void report_value(const struct rx_flow *r, struct ingress_pkt *p)
{
	p->hop[0] = q12_to_bytes(r->rx.cc.w) << 32;
	p->nhop_path = p->nhop << 12;
	p->nhop = 1;
	p->form = r->form;
}

static inline void report_hand_over(struct rx_flow *r, const struct flow *f, const struct ingress_pkt *p)
{
	struct report *report;

	if (p->now_ns < f->tx.last_ns + r->params.t_ns || p->now_ns < r->handed_ns + r->params.t_ns)
		return;
	r->handed_ns = p->now_ns;
	report = bpf_ringbuf_reserve(&reports, sizeof(*report), 0);
	if (!report) {
		stats_count(STAT_FB_RING_FULL);
		return;
	}
	report->key = p->key;
	report->rx_ns = p->now_ns;
	report->value = bpf_cpu_to_be64(p->hop[0]);
	report->seq = p->seq;
	report->nhop_path = p->nhop_path;
	report->flows = p->flows;
	report->flags = WIRE_F_WINDOW;
	bpf_ringbuf_submit(report, 0);
	stats_count(STAT_FB_HANDED);
}

/*
 * Turns the telemetry of this packet into the report for the sender of the flow whose reverse is f. Returns whether
 * there is one. Linux 6.1 accepts no argument of such a function as a map key.
 */
VERIFIED_ONCE int report_make(struct flow *f)
{
	struct scratch_space *space = scratch_get();
	struct ingress_pkt *p;
	struct rx_flow *r;
	int tell;

	if (!f || !space)
		return 0;
	p = &space->ingress;
	if (f->path.feedback == RX_HOPS) {
		if (f->rx.kept) { /* from another time: it would be out of date when needed again */
			f->rx.kept = 0;
			bpf_map_delete_elem(&rx_states, &p->key);
		}
		return 1;
	}
	if (!p->nhop || !f->params.t_ns)
		return 1;
	r = bpf_map_lookup_elem(&rx_states, &p->key);
	if (!r) {
		__builtin_memset(&space->rx_flow, 0, sizeof(space->rx_flow));
		bpf_map_update_elem(&rx_states, &p->key, &space->rx_flow, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&rx_states, &p->key);
		if (!r) {
			stats_count(STAT_RX_REPORT_FULL);
			return 1;
		}
		f->rx.kept = 1;
	}
	if (__sync_val_compare_and_swap(&r->lock, 0, 1)) /* the other CPU's telemetry is as new */
		return 0;
	tell = report_measure(r, f, p, &space->ack);
	if (tell) {
		report_value(r, p);
		report_hand_over(r, f, p);
	}
	__sync_fetch_and_and(&r->lock, 0);
	return tell;
}

#endif

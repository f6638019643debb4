/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BATCH_BPF_H
#define SLUICE_BATCH_BPF_H
/*
 * Messages of daemons: FEEDBACK, which a receiver's daemon sends for flows without packets back (report.bpf.h), CREDIT
 * for our VOQs (credit.bpf.h), and RATE from the switch of this rack (rate.bpf.h). The whole message is copied into the
 * scratch space, where the tag is computed; then each report is feedback to its flow, and each credit goes to its VOQ.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "rack/credit.bpf.h"
#include "rack/rate.bpf.h"
#include "host/auth.bpf.h"
#include "host/feedback.bpf.h"
#include "host/peer.bpf.h"
#include "host/trace.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/cc/rx.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* One report of a FEEDBACK message; treated like an echo on the flow's own packets. */
VERIFIED_ONCE int batch_report(ctx_t *ctx, const struct wire_report *r)
{
	struct scratch_space *space = scratch_get();
	struct report_from *from;
	struct feedback *fb;
	struct flow *f;

	if (!r || !space)
		return 0;
	from = &space->from;
	fb = &space->feedback;
	if (r->flags != WIRE_F_WINDOW) {
		stats_count(STAT_FB_BAD_FORM);
		return 0;
	}
	from->key.local_port = r->port[0];
	from->key.remote_port = r->port[1];
	from->key.proto = r->proto;
	f = bpf_map_lookup_elem(&flows, &from->key);
	if (!f) {
		stats_count(STAT_FB_NO_FLOW);
		return 0;
	}
	if (from->auth_seq && !auth_takes_echo(f, from->floor, from->auth_seq)) {
		stats_count(STAT_RX_REPLAYED);
		return 0;
	}
	f->rx.last_ns = from->now_ns;
	fb->probe = 0;
	fb->form = RX_WINDOW;
	fb->hops = 1;
	fb->mode = from->mode;
	fb->trace = from->trace;
	fb->now_ns = from->now_ns;
	fb->rx_ns = from->now_ns - ((__u64)bpf_ntohs(r->age) << WIRE_AGE_SHIFT);
	fb->seq = bpf_ntohl(r->seq);
	fb->flows = bpf_ntohs(r->flows);
	fb->nhop_path = bpf_ntohs(r->nhop_path);
	__builtin_memcpy(&fb->hop[0], &r->value, sizeof(fb->hop[0]));
	feedback_take(f, fb);
	stats_count(STAT_FB_REPORTED);
	if (fb->trace)
		trace_feedback_put(ctx, &from->key, from->now_ns);
	return 0;
}

/* Takes the entries of a message one by one: a separate function, which is verified once, not once for each kind. */
VERIFIED_ONCE int batch_each(ctx_t *ctx, const struct msg *m, enum sluice_stat kind)
{
	struct scratch_space *space = scratch_get();
	struct wire_batch_text *text;
	__u32 i;

	if (!m || !space)
		return 0;
	text = &space->batch;
	/* Copied directly: a key on the stack would take 100 of the 512 bytes that all calls share. */
	__builtin_memcpy(&space->from.key.local, &m->ip.dst, sizeof(m->ip.dst));
	__builtin_memcpy(&space->from.key.remote, &m->ip.src, sizeof(m->ip.src));
	space->from.key.domain = m->ip.domain;
	for (i = 0; i < WIRE_REPORTS_MAX && i < m->hdr.max_hops; i++)
		if (has_racks() && kind == STAT_RX_CREDIT)
			credit_take(&text->credit[i]);
		else if (has_racks() && kind == STAT_RX_RATE)
			rate_take(&text->rate[i]);
		else
			batch_report(ctx, &text->report[i]);
	return 0;
}

/*
 * Takes a FEEDBACK, CREDIT or RATE message: it carries no packet, so it ends here in any case. Inlined: as a separate
 * function it takes the stack past 512 bytes ("combined stack size of 5 calls is 544").
 */
static __always_inline enum sluice_stat batch_take(ctx_t *ctx, const struct msg *m, struct host *h,
						   const struct control *ctl)
{
	enum sluice_stat done = wire_message(&m->hdr) == WIRE_CREDIT ? STAT_RX_CREDIT :
				wire_message(&m->hdr) == WIRE_RATE   ? STAT_RX_RATE :
								       STAT_RX_FEEDBACK;
	__u32 bytes = m->hdr.max_hops * sizeof(struct wire_report);
	struct scratch_space *space = scratch_get();
	struct wire_batch_text *text;
	struct report_from *from;

	if (!space || m->shim.ip_proto != WIRE_NO_NEXT_HEADER)
		return STAT_RX_MISMATCH;
	text = &space->batch;
	from = &space->from;
	VERIFIER_FORGET(bytes);
	if (bytes < sizeof(text->report[0]) || bytes > sizeof(text->report)) /* unreachable */
		return STAT_RX_BAD_LENGTH;
	if (ctx_load(ctx, m->offset + WIRE_HDR_BYTES, text->report, bytes))
		return STAT_RX_TRUNCATED;
	from->auth_seq = 0;
	if (ctl->auth || m->hdr.flags & WIRE_F_AUTH) {
		int wrong = ctl->auth ? batch_auth(ctx, m, text, &from->auth_seq) : STAT_RX_BAD_AUTH;

		if (wrong)
			return wrong;
	}
	from->now_ns = bpf_ktime_get_ns();
	if (m->quiet || auth_is_future(ctl, from->auth_seq, from->now_ns))
		return done;
	from->floor = auth_floor(h);
	from->mode = ctl->mode;
	from->trace = trace_is_on(ctl);
	/* The others may come from a switch, by its own clock, in the name of the host. */
	if (done == STAT_RX_FEEDBACK)
		host_heard(host_of_ip(&m->ip), h, from->now_ns, from->auth_seq);
	batch_each(ctx, m, done);
	return done;
}

#endif

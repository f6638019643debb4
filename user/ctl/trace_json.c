// SPDX-License-Identifier: GPL-2.0-only
/* A recorded decision as a line of JSON: its inputs, and its outcome. */
#include <arpa/inet.h>
#include "ctl/out.h"
#include "ctl/trace_json.h"
#include "lib/names.h"
#include "lib/pins.h"

static const char *const event_names[] = {
	[TRACE_DEPARTURE] = "departure",
	[TRACE_DROP] = "drop",
	[TRACE_PROBE] = "probe",
	[TRACE_FEEDBACK] = "feedback",
};

static void departure_json(const struct trace *r)
{
	const struct trace_departure *d = &r->departure;

	out_string("verdict", r->verdict < STAT_MAX ? stat_names[r->verdict] : "unknown");
	if (r->event != TRACE_DROP)
		out_string("held_by", d->held <= HELD_PAUSE ? flow_hold_names[d->held] : "socket");
	out_u64("waits_ns", d->departure_ns > r->ns ? d->departure_ns - r->ns : 0);
	out_u64("w_bytes", d->w_bytes);
	if (d->inflight_known)
		out_u64("inflight_bytes", d->inflight_bytes);
	out_u64("rate_bps", d->rate_bps);
	out_u64("tx_bytes", d->tx_bytes);
	out_u64("priority", d->priority);
}

static void hop_json(const struct trace_feedback *f, unsigned int i)
{
	const struct hpcc_hop *hop = &f->ack.hop[i];
	int measured = f->compared && (f->kind == HPCC_FAST || f->kind == HPCC_FULL);
	__s64 dt = hpcc_elapsed(f->ts_before_ns[i], hop->ts_ns, f->ack.gap_ns);

	out_object(NULL);
	out_u64("hop", i + 1);
	out_u64("speed_bps", hop->bps);
	out_u64("ts_ns", hop->ts_ns);
	out_u64("tx_bytes", hop->tx_bytes);
	out_u64("qlen_bytes", hop->qlen_bytes);
	out_u64("queue_ns", hop_queue_ns(hop));
	if (measured && dt > 0)
		out_u64("tx_rate_bps", hpcc_sent(f->tx_before_bytes[i], hop->tx_bytes, hop->bps, dt) * 8e9 / dt);
	out_bool("bottleneck", measured && i == f->bottleneck);
	out_end();
}

static void feedback_json(const struct trace_feedback *f)
{
	unsigned int i;

	out_string("kind", kind_name(f->kind));
	out_string("control", f->bare ? "delay" : "hpcc");
	out_string("feedback", feedback_name(f->form));
	out_bool("probe", f->probe);
	out_u64("ack_seq", f->ack.seq);
	out_u64("snd_nxt", f->ack.snd_nxt);
	out_u64("path_id", f->ack.path_id);
	if (f->ack.gap_ns != HPCC_GAP_UNKNOWN)
		out_s64("gap_ns", f->ack.gap_ns);
	out_array("hops");
	for (i = 0; f->form == RX_HOPS && i < f->ack.hops && i < HPCC_MAX_HOPS; i++)
		hop_json(f, i);
	out_end();
	if (f->flows)
		out_u64("flows", f->flows);
	if (f->delay_ns)
		out_u64("delay_ns", f->delay_ns);
	out_u64("base_rtt_ns", f->t_ns);
	out_decimal("u", (double)f->u / Q24_ONE, 6);
	out_decimal("w_before_bytes", (double)f->w_before / Q12_ONE, 3);
	out_decimal("w_bytes", (double)f->w / Q12_ONE, 3);
	out_decimal("wc_bytes", (double)f->wc / Q12_ONE, 3);
	out_decimal("w_ai_bytes", (double)f->w_ai / Q12_ONE, 3);
	out_u64("inc_stage", f->inc_stage);
	out_u64("rate_before_bps", f->rate_before_bps);
	out_u64("rate_bps", f->rate_bps);
	out_string("variant", variant_name(f->variant));
}

const char *trace_json(const struct trace *r, unsigned int frame, __s64 epoch_ns, const char *interface)
{
	char buf[PREFIX_STRLEN];

	out_object(NULL);
	out_u64("frame", frame);
	out_u64("time_ns", r->ns + epoch_ns);
	out_string("event", r->event <= TRACE_FEEDBACK ? event_names[r->event] : "unknown");
	out_string("interface", interface);
	out_string("local", addr_format(&r->key.local, buf));
	out_u64("local_port", ntohs(r->key.local_port));
	out_string("remote", addr_format(&r->key.remote, buf));
	out_u64("remote_port", ntohs(r->key.remote_port));
	out_string("protocol", flow_protocol(&r->key));
	if (r->key.domain)
		out_u64("domain", r->key.domain);
	out_u64("packet_bytes", r->packet_bytes);
	if (r->event == TRACE_FEEDBACK)
		feedback_json(&r->feedback);
	else
		departure_json(r);
	return out_line();
}

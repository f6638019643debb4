// SPDX-License-Identifier: GPL-2.0-only
/* A flow as JSON: more than its text line (flow_text.c), in the units of the map. */
#include <arpa/inet.h>
#include "ctl/flow_json.h"
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/out.h"
#include "ctl/pods.h"
#include "lib/names.h"

void flow_json(const struct flow_row *row, const struct flow_list *l, int watched)
{
	const struct flow_key *k = &row->key;
	const struct flow *f = &row->flow;
	__u64 now = l->now_ns;
	char buf[PREFIX_STRLEN];
	int i;

	out_object(NULL);
	out_string("local", addr_format(&k->local, buf));
	out_u64("local_port", ntohs(k->local_port));
	out_string("remote", addr_format(&k->remote, buf));
	out_u64("remote_port", ntohs(k->remote_port));
	out_string("protocol", flow_protocol(k));
	if (k->domain)
		out_u64("domain", k->domain);
	pod_json(row_pod(row, l));
	out_string("state", flow_state_names[flow_state(f, &l->ctl)]);
	out_string("control", flow_control(f));
	out_string("why", row_why(row, l));
	if (f->path.hiercc)
		out_u64("hop_rate_bps", f->voq.rate_bps);
	out_bool("hiercc", f->path.hiercc);
	out_bool("hpcc", !f->path.hpcc_off);
	if (flow_is_bare(f))
		out_u64("delay_ns", f->delay.sample_ns);
	out_bool("telemetry", f->tx.flags & FLOW_F_TELEM);
	out_u64("tx_bytes", f->tx.bytes);
	if (watched)
		out_u64("sent_bps", row->sent_bps);
	out_u64("w_bytes", q12_to_bytes(f->cc.w));
	out_u64("wc_bytes", q12_to_bytes(f->cc.wc));
	out_u64("w_init_bytes", q12_to_bytes(f->params.w_init));
	out_double("w_ai_bytes", (double)f->params.w_ai / Q12_ONE);
	out_u64("rate_bps", f->cc.rate_bps);
	out_string("telemetry_mode", telemetry_name(f->path.telemetry));
	out_string("variant", variant_name(f->params.variant));
	out_string("encoding", f->path.encoding == ENCODING_INT_MD ? "int-md" : "hpcc");
	if (f->params.variant == HPCC_VAI_SF) {
		out_u64("bank_tokens", f->cc.vai.bank);
		out_double("dampener", (double)f->cc.vai.dampener_q8 / VAI_DAMPENER_ONE);
	}
	out_string("feedback", feedback_name(f->rx.form));
	if (f->rx.flows)
		out_u64("flows", f->rx.flows);
	out_double("u", (double)f->cc.u / Q24_ONE);
	out_u64("inc_stage", f->cc.inc_stage);
	out_u64("base_rtt_ns", f->params.t_ns);
	if (f->delay.least.ns.most_ns)
		out_u64("measured_rtt_ns", f->delay.least.ns.most_ns);
	out_u64("ceiling_bytes", q12_to_bytes(f->ceiling.w));
	out_u64("unreported_delay_ns", f->ceiling.delay_ns);
	out_u64("cuts_by_delay", f->ceiling.by_delay);
	out_u64("cuts_by_loss", f->ceiling.by_loss);
	out_u64("cuts_by_timeout", f->ceiling.by_timeout);
	out_u64("rival_queue_ns", f->rival.queue_ns);
	out_u64("path_id", f->cc.path_id);
	out_u64("feedbacks", f->rx.feedbacks);
	if (f->rx.fb_ns)
		out_u64("feedback_age_ns", age_ns(now, f->rx.fb_ns));
	out_array("hops");
	for (i = 0; i < f->cc.hops && i < HPCC_MAX_HOPS; i++) {
		out_object(NULL);
		out_u64("speed_bps", f->cc.last[i].bps);
		out_u64("ts_ns", f->cc.last[i].ts_ns);
		out_u64("tx_bytes", f->cc.last[i].tx_bytes);
		out_u64("qlen_bytes", f->cc.last[i].qlen_bytes);
		out_u64("queue_ns", hop_queue_ns(&f->cc.last[i]));
		out_end();
	}
	out_end();
	out_end();
}

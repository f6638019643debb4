// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl why FLOW: explains in sentences why one flow is held back.
 *
 *  1. The words of the arguments are matched with the lines of `flows`, to find the flow, among those of a pod if one is
 *     named.
 *  2. Its entry is sampled for a quarter of a second. One sample shows what its last packet waited for; many show what
 *     its packets wait for, how fast it sends, and how busy each port of its path is.
 *  3. The samples give a verdict (enum why_verdict), and each verdict has its sentences (why_text.c).
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "ctl/commands.h"
#include "ctl/flow_list.h"
#include "ctl/flow_text.h"
#include "ctl/health.h"
#include "ctl/hop.h"
#include "ctl/options.h"
#include "ctl/out.h"
#include "ctl/show.h"
#include "ctl/why.h"
#include "lib/hops.h"
#include "sluice/cc/base_rtt.h"
#include "sluice/wire/wire.h"

#define WHY_LOOKS 50
#define WHY_QUEUED_BYTES 3000 /* more than a packet that is just being sent */
#define WHY_PAUSE_NS (5 * 1000 * 1000)
#define WHY_NAMED 8 /* most flows listed if several match */

/* The names in JSON and in the column WHY of `flows`, if that has a name. */
static const char *const verdict_names[] = {
	[WHY_CLOSED] = "closed",   [WHY_BYPASS] = "bypass", [WHY_PLAIN] = "plain",   [WHY_IDLE] = "idle",
	[WHY_OBSERVE] = "observe", [WHY_START] = "start",   [WHY_CREDIT] = "credit", [WHY_HOP] = "hop",
	[WHY_RATE] = "rate",	   [WHY_WINDOW] = "window", [WHY_NOTHING] = "none",  [WHY_UNHELD] = "unheld",
	[WHY_PAUSE] = "pause",
};

/* --- 1. --- */

/* True if word matches an end of the flow, its address or its port (exact), or a part of the flow's line. */
static int word_meets(const struct flow_key *k, const char *line, const char *word, int exact)
{
	const struct sluice_addr *addr[] = { &k->local, &k->remote };
	const __u16 port[] = { ntohs(k->local_port), ntohs(k->remote_port) };
	char text[PREFIX_STRLEN], end[PREFIX_STRLEN + 8];
	int i;

	if (!exact)
		return strstr(line, word) != NULL;
	for (i = 0; i < 2; i++) {
		addr_format(addr[i], text);
		if (!strcmp(word, text))
			return 1;
		snprintf(end, sizeof(end), "%s:%u", text, port[i]);
		if (!strcmp(word, end) || !strcmp(word, end + strlen(text)) || !strcmp(word, end + strlen(text) + 1))
			return 1;
	}
	return 0;
}

static int flow_meets(const struct flow_key *k, int argc, char **argv, int exact)
{
	char line[FLOW_STRLEN], words[FLOW_STRLEN], *word, *rest;
	int i;

	flow_format(k, line);
	for (i = 0; i < argc; i++) {
		snprintf(words, sizeof(words), "%s", argv[i]);
		for (word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
			if (strcmp(word, "->") && !word_meets(k, line, word, exact))
				return 0;
	}
	return 1;
}

/* Words that tell of the flow that is meant. */
struct flow_words {
	char **word;
	int n;
	bool exact, closed; /* as whole words of its line; and it has been closed */
};

/* Returns the number of matching flows, and one of them; named: where they are listed, or NULL. */
static unsigned int flows_meant(const struct flow_list *l, const struct flow_words *words,
				const struct flow_row **found, FILE *named)
{
	char line[FLOW_STRLEN], t[32];
	unsigned int n = 0, i;

	for (i = 0; i < l->n; i++) {
		if (!!(l->row[i].flow.tx.flags & FLOW_F_CLOSED) != words->closed ||
		    !flow_meets(&l->row[i].key, words->n, words->word, words->exact))
			continue;
		*found = &l->row[i];
		if (n++ < WHY_NAMED && named)
			fprintf(named, "  %s  (sent %s ago)\n", flow_format(&l->row[i].key, line),
				time_text(age_ns(l->now_ns, l->row[i].flow.tx.last_ns), t));
	}
	return n;
}

/* The one matching flow; reports if there is none, or several. A closed one only matches if no other does. */
static const struct flow_row *flow_find(const struct flow_list *l, struct flow_words *words)
{
	const struct flow_row *found = NULL;
	unsigned int n = 0;
	int how;

	for (how = 0; how < 4 && !n; how++) {
		words->exact = how < 2;
		words->closed = how & 1;
		n = flows_meant(l, words, &found, NULL);
	}
	if (n == 1)
		return found;
	if (!n) {
		if (words->n)
			msg("no flow matches%s: see 'sluicectl flows'", l->n ? "" : ": there are none");
		else
			msg("that pod has no flow: see 'sluicectl flows'");
		return NULL;
	}
	msg("%u flows match: write %s of one of them, for example of", n, words->n ? "more" : "a part");
	flows_meant(l, words, &found, stderr);
	return NULL;
}

/* --- 2. --- */

static void why_look(struct why *w, const struct pins *p, const struct flow *before)
{
	const char *held = flow_is_paused(p, &w->flow, now_ns()) ? flow_hold_names[HELD_PAUSE] :
								   flow_why(&w->key, &w->flow, &w->ctl, now_ns());
	unsigned int i;
	__u64 ns, bytes;

	for (i = 0; i < FLOW_HOLDS; i++)
		w->held[i] += !strcmp(held, flow_hold_names[i]);
	w->full += flow_fills_w(&w->flow, now_ns());
	w->under_way += flow_under_way(&w->flow);
	w->looks++;
	w->rate_bps += w->flow.cc.rate_bps;
	for (i = 0; i < HPCC_MAX_HOPS; i++) {
		bytes = hop_sent(before, &w->flow, i, &ns);
		w->hop_bytes[i] += bytes;
		w->hop_ns[i] += ns;
		w->hop_queued[i] += w->flow.cc.last[i].qlen_bytes > WHY_QUEUED_BYTES;
		if (hop_queue_ns(&w->flow.cc.last[i]) > w->hop_queue_ns[i])
			w->hop_queue_ns[i] = hop_queue_ns(&w->flow.cc.last[i]);
	}
}

/* 0, or -ENOENT: it was removed meanwhile. */
static int why_watch(struct why *w, const struct pins *p)
{
	const struct timespec pause = { 0, WHY_PAUSE_NS };
	struct flow first = w->flow, before;
	struct voq_key voq_key = { .addr = w->key.remote, .prefixlen = 128 };
	const struct peer_key peer_key = { .addr = w->key.remote, .prefixlen = 128 };
	__u64 from_ns = now_ns();
	struct host host;
	struct port port;
	struct voq voq;
	double ratio;
	int i;

	snprintf(w->port, sizeof(w->port), "its port");
	if (!bpf_map_lookup_elem(p->ports, &w->flow.path.ifindex, &port)) {
		snprintf(w->port, sizeof(w->port), "%s", port.name);
		w->port_flags = port.flags;
		w->netns_cookie = port.netns_cookie;
	}
	why_queues(w);
	for (i = 0; i < WHY_LOOKS; i++) {
		nanosleep(&pause, NULL);
		before = w->flow;
		if (bpf_map_lookup_elem(p->flows, &w->key, &w->flow))
			return -errno;
		why_look(w, p, &before);
	}
	w->now_ns = now_ns();
	w->took_ns = w->now_ns - from_ns;
	w->sent_bps = (w->flow.tx.bytes - first.tx.bytes) * 8e9 / w->took_ns;
	w->feedbacks_per_s = lround((w->flow.rx.feedbacks - first.rx.feedbacks) * 1e9 / w->took_ns);
	w->rate_bps /= w->looks;
	w->under_way /= w->looks;
	w->ctl = *p->ctl;
	if (!bpf_map_lookup_elem(p->hosts, host_of_flow(&w->key), &host)) {
		w->heard_ns = host.heard_ns;
		w->peer_strips = host.capable;
		w->held_by_ns = host_is_recent(host.held_at, w->now_ns) ? (__u64)host.held_by << WIRE_HELD_SHIFT : 0;
	}
	if (bpf_map_lookup_elem(p->peers, &peer_key, &w->peer))
		w->peer = (struct peer){};
	if (w->flow.path.hiercc && !w->flow.voq.merged && !bpf_map_lookup_elem(p->voqs, &voq_key, &voq))
		w->short_ns = voq.voq.short_ns;
	ratio = hop_own(p, &w->flow);
	w->own = ratio > 0;
	if (w->own)
		w->hop_bytes[0] *= ratio;
	why_queues(w);
	return 0;
}

/* --- 3. --- */

static const enum why_verdict held_verdicts[FLOW_HOLDS] = {
	[HELD_NOT] = WHY_NOTHING,   [HELD_RATE] = WHY_RATE,   [HELD_HOP] = WHY_HOP,
	[HELD_CREDIT] = WHY_CREDIT, [HELD_PAUSE] = WHY_PAUSE, [FLOW_HELD_WINDOW] = WHY_WINDOW,
};

static enum why_verdict why_judge(const struct why *w)
{
	const struct flow *f = &w->flow;
	unsigned int i, most = 0;

	if (f->tx.flags & FLOW_F_CLOSED)
		return WHY_CLOSED;
	if (w->ctl.bypass)
		return WHY_BYPASS;
	if (!(f->tx.flags & FLOW_F_TELEM))
		return WHY_PLAIN;
	if (w->now_ns > f->tx.last_ns + NSEC_PER_SEC)
		return w->held[HELD_PAUSE] * 2 > w->looks && w->under_way ? WHY_PAUSE : WHY_IDLE;
	if (w->ctl.mode != MODE_ENFORCE)
		return WHY_OBSERVE;
	if (!f->rx.feedbacks)
		return WHY_START;
	for (i = 1; i < FLOW_HOLDS; i++)
		if (w->held[i] > w->held[most])
			most = i;
	/* A flow that waits in every fifth look counts as waiting. */
	if (!most)
		for (i = 1; i < FLOW_HOLDS; i++)
			if (w->held[i] * 5 >= w->looks && (!most || w->held[i] > w->held[most]))
				most = i;
	/* R never limits a VOQ's flow while HPCC is off. */
	if (!f->path.hpcc_off && w->sent_bps > w->rate_bps + w->rate_bps / 2)
		return WHY_UNHELD;
	/*
	 * A socket with our control is always limited by W, and R spreads its packets: a flow that sends less than half
	 * of R has other reasons, unless as much as W is under way.
	 */
	if ((most == HELD_RATE || most == FLOW_HELD_WINDOW) && w->sent_bps * 2 < w->rate_bps)
		return w->key.proto == IPPROTO_TCP && w->full * 2 >= w->looks ? WHY_WINDOW : WHY_NOTHING;
	return held_verdicts[most];
}

/* T in force and the measured T, if they differ. */
static void base_rtt_fill(struct why *w)
{
	const struct peer *p = &w->peer;
	__u64 own_ns = w->flow.delay.least.ns.most_ns;
	char is[32], other[32];

	if (!p->measured_ns)
		return;
	if (!p->t_auto && base_rtt_is_off(p->t_ns, p->measured_ns))
		snprintf(w->base_rtt, sizeof(w->base_rtt),
			 "base_rtt is set to %s but measures %s (over 25 %% off): set base_rtt: %lluus, or auto.",
			 time_text(p->t_ns, is), time_text(p->measured_ns, other), (p->measured_ns + 500) / 1000);
	else if (own_ns > p->measured_ns && base_rtt_is_off(own_ns, p->measured_ns))
		snprintf(
			w->base_rtt, sizeof(w->base_rtt),
			"its prefix measures %s, but this flow has measured at least %s in the last seconds: there is a standing queue that no hop reports, or the host is farther away and needs its own prefix.",
			time_text(p->measured_ns, is), time_text(own_ns, other));
}

/* --- main --- */

static int why_json(const struct why *w)
{
	const struct flow *f = &w->flow;
	char text[FLOW_STRLEN];
	unsigned int i;

	out_object(NULL);
	out_string("flow", flow_format(&w->key, text));
	out_string("protocol", flow_protocol(&w->key));
	pod_json(w->pod);
	out_string("state", flow_state_names[flow_state(f, &w->ctl)]);
	out_string("held_by", verdict_names[w->verdict]);
	out_string("answer", w->answer);
	out_string("because", w->because);
	out_string("decision", w->decision);
	out_string("next", w->next);
	out_string("queue", w->queue_line);
	out_string("control", flow_control(f));
	out_u64("sent_bps", w->sent_bps);
	out_u64("rate_bps", f->cc.rate_bps);
	out_u64("rate_mean_bps", w->rate_bps);
	out_u64("hop_rate_bps", f->voq.rate_bps);
	out_u64("w_bytes", q12_to_bytes(f->cc.w));
	out_u64("wc_bytes", q12_to_bytes(f->cc.wc));
	out_u64("w_init_bytes", q12_to_bytes(f->params.w_init));
	out_u64("w_min_bytes", q12_to_bytes(f->params.w_min));
	out_double("u", (double)f->cc.u / Q24_ONE);
	out_double("eta", (double)f->params.eta / Q24_ONE);
	out_u64("base_rtt_ns", f->params.t_ns);
	out_bool("base_rtt_auto", w->peer.t_auto);
	if (w->peer.measured_ns)
		out_u64("measured_rtt_ns", w->peer.measured_ns);
	out_string("base_rtt", w->base_rtt);
	out_string("window", w->window);
	out_u64("feedbacks", f->rx.feedbacks);
	if (f->rx.fb_ns)
		out_u64("feedback_age_ns", age_ns(w->now_ns, f->rx.fb_ns));
	if (f->tx.last_ns)
		out_u64("last_sent_age_ns", age_ns(w->now_ns, f->tx.last_ns));
	out_u64("path_id", f->cc.path_id);
	out_array("hops");
	for (i = 0; i < why_hops(f); i++) {
		out_object(NULL);
		out_u64("hop", i + 1);
		out_u64("speed_bps", f->cc.last[i].bps);
		out_bool("speed_is_bound", !w->own || i);
		out_u64("qlen_bytes", f->cc.last[i].qlen_bytes);
		out_u64("queue_ns", hop_queue_ns(&f->cc.last[i]));
		out_u64("queue_max_ns", w->hop_queue_ns[i]);
		if (w->hop_ns[i])
			out_u64("tx_rate_bps", hop_busy(w, i) * f->cc.last[i].bps);
		out_bool("bottleneck", i == f->cc.bottleneck);
		out_end();
	}
	out_end();
	out_object("looks");
	for (i = 0; i < FLOW_HOLDS; i++)
		out_u64(flow_hold_names[i], w->held[i]);
	out_end();
	out_u64("looked_for_ns", w->took_ns);
	return out_done();
}

static int why_parse(int argc, char **argv, struct pod_wish *pod)
{
	int opt;

	while ((opt = option_next(argc, argv, "why")) != -1)
		if (!pod_wish_take(pod, opt, optarg))
			return -EINVAL;
	if (optind < argc || pod_wish_given(pod))
		return 0;
	msg("usage: sluicectl why FLOW: words of its line in 'sluicectl flows', as 10.1.0.2:45001, or :5201; or why --pod POD [FLOW]");
	return -EINVAL;
}

/* Finds the flow, and watches it. */
static int why_look_for(struct why *w, struct flow_list *l, const struct pins *p, struct flow_words *words,
			const struct pod_wish *pod)
{
	const struct flow_row *row;
	int err;

	if (pod_wish_check(pod, l->pods))
		return -ENOENT;
	flow_list_keep(l, pod);
	row = flow_find(l, words);
	if (!row)
		return -ENOENT;
	w->key = row->key;
	w->flow = row->flow;
	w->ctl = l->ctl;
	w->pod = row_pod(row, l);
	err = why_watch(w, p);
	if (err)
		msg("it is over, and forgotten");
	return err;
}

int cmd_why(int argc, char **argv)
{
	struct flow_words words;
	struct pod_wish pod = {};
	struct pods pods = {};
	struct flow_list l;
	struct why w = {};
	struct pins p;
	int err;

	if (why_parse(argc, argv, &pod))
		return EXIT_USAGE;
	err = show_open(&p);
	if (err)
		return err;
	err = flow_list_read(&l, &p);
	if (err) {
		msg("reading the flows: %s", strerror(-err));
		pins_close(&p);
		return EXIT_FAILED;
	}
	pods_read(&pods, &p);
	l.pods = &pods;
	words = (struct flow_words){ .word = argv + optind, .n = argc - optind };
	err = why_look_for(&w, &l, &p, &words, &pod);
	flow_list_free(&l);
	pins_close(&p);
	if (!err) {
		w.verdict = why_judge(&w);
		why_sentences(&w);
		base_rtt_fill(&w);
		err = out_json ? why_json(&w) : why_print(&w);
	} else {
		err = EXIT_FAILED;
	}
	pods_free(&pods);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl why: the sentences of a verdict, and the output. JSON has the same sentences, and more numbers. */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "attach/qdisc/advice.h"
#include "ctl/flow_text.h"
#include "ctl/hop.h"
#include "ctl/out.h"
#include "ctl/why.h"
#include "lib/names.h"

#define WHY_NARROW 60 /* narrower terminals have names on lines of their own */

static double mbit(__u64 bps)
{
	return bps / 1e6;
}

/* --- the sentences: each {word} is replaced, see the words below --- */

#define AS_MEANT "This is intended: the path carries no more for it. sluicectl int shows how many flows share it."
#define BELOW                                                                                                         \
	"W is never lower: more flows share that port than it carries, or packets that nothing paces fill its queue " \
	"(docs/limits.md, 22). sluicectl int shows how many flows share it."
#define SHAPED                                                                                                      \
	" Packets wait there though the port is less than half busy: a shaper or pauses hold it below that speed. " \
	"The speed of its interface has to be what it really sends (docs/configuration.md, interfaces: speed)."
#define ASK_SOCKET "ss -tinm shows the socket: rwnd_limited, sndbuf_limited, app_limited, retransmissions."

static int is_lowest(const struct why *w)
{
	return w->flow.cc.w <= hpcc_floor(&w->flow.params);
}

/* It sends less than half of R, so its round trip takes longer than base_rtt. */
static int is_late(const struct why *w)
{
	return w->sent_bps * 2 < w->rate_bps;
}

static __u64 why_rtt_ns(const struct why *w)
{
	return w->sent_bps ? w->under_way * 8e9 / w->sent_bps : 0;
}

static int is_queued(const struct why *w)
{
	const struct flow *f = &w->flow;

	return is_late(w) && f->cc.bottleneck < why_hops(f) && w->hop_queue_ns[f->cc.bottleneck] > why_rtt_ns(w) / 2;
}

static int is_without_fq(const struct why *w)
{
	return !(w->port_flags & PORT_F_EDT);
}

static int is_unbound(const struct why *w)
{
	return is_without_fq(w) && !w->flow.tx.own_cc;
}

/* Telemetry in the data does not work for tunnels' packets. */
static int is_tunnel_in_data(const struct why *w)
{
	return w->flow.tx.flags & FLOW_F_TUNNEL && w->flow.path.telemetry != TELEMETRY_COMPANION;
}

/* Its peer answers others, and nothing comes back for this flow. */
static int is_silent(const struct why *w)
{
	return w->flow.beside.unanswered == FLOW_SILENT && w->peer_strips;
}

/* It sends, and its peer would strip telemetry: so its packets have no room for it. */
static int is_without_room(const struct why *w)
{
	return w->peer_strips && w->now_ns < w->flow.tx.last_ns + NSEC_PER_SEC;
}

/* Its peer has said that messages of this host are older than what it holds. */
static int is_held(const struct why *w)
{
	return w->held_by_ns > 0;
}

/* clang-format off */
static const struct why_line answers[] = {
	{ WHY_CLOSED, NULL, "Nothing: the flow has ended (a FIN or RST was sent)." },
	{ WHY_BYPASS, NULL, "Not Sluice: bypass is on, so its packets pass untouched." },
	{ WHY_PLAIN, is_tunnel_in_data, "Not Sluice: it carries no telemetry, because it is a tunnel, and telemetry in the data "
		"works for TCP and UDP only." },
	{ WHY_PLAIN, is_silent, "Not Sluice: its feedback has stopped, though its peer answers other flows, so it runs as it would to a host "
		"without Sluice." },
	{ WHY_PLAIN, is_held, "Not Sluice: it carries no telemetry, because its peer has seen sequence numbers from this host that are {held} "
		"newer: the clock of this host was ahead at that time." },
	{ WHY_PLAIN, is_without_room, "Not Sluice: it carries no telemetry, because its packets have no room for it within the "
		"MTU of {mtu} bytes." },
	{ WHY_PLAIN, NULL, "Not Sluice: it carries no telemetry, because its peer is not known to run Sluice{tunnel}.{control}" },
	{ WHY_IDLE, NULL, "Not Sluice: it has sent nothing for {idle}. Its application waits, or its peer does not read or "
		"acknowledge." },
	{ WHY_OBSERVE, NULL, "Not Sluice: mode {mode}. It sends {sent} Mbit/s; the rate computed for it is {rate} Mbit/s." },
	{ WHY_START, NULL, "Its first window, {w} bytes: no feedback has arrived yet." },
	{ WHY_CREDIT, NULL, "Credit of its VOQ (HierCC): its packets wait for what the receiver's rack grants{short}. "
		"It sends {sent} Mbit/s." },
	{ WHY_PAUSE, NULL, "Pauses (PFC) that the neighbour of {port} asks for. It sends {sent} Mbit/s." },
	{ WHY_HOP, NULL, "R of its first hop (HierCC, Equation 1), {hop_rate} Mbit/s: its share of what its VOQ may send. "
		"It sends {sent} Mbit/s." },
	{ WHY_RATE, NULL, "{whose}, {rate} Mbit/s: its packets wait in {qdisc} of {port} for their departure time. It sends {sent} Mbit/s." },
	{ WHY_WINDOW, NULL, "Its window W, {w} bytes ({by}): that much is under way and not acknowledged. It sends {sent} Mbit/s, "
		"R is {rate}." },
	{ WHY_UNHELD, NULL, "Nothing: it sends {sent} Mbit/s, though R is {rate} and W {w} bytes. Its socket does not obey W, and no "
		"departure time or receive window holds it." },
	{ WHY_NOTHING, NULL, "Not Sluice: it sends {sent} Mbit/s and may send {rate} (R). Its application has no more to send, "
		"or its receiver accepts no more." },
	{},
};

static const struct why_line nexts[] = {
	{ WHY_BYPASS, NULL, "sluicectl bypass off lets Sluice work again." },
	{ WHY_PLAIN, is_tunnel_in_data, "telemetry: companion of that peer governs tunnels, too (docs/configuration.md, 'Tunnels')." },
	{ WHY_PLAIN, is_silent, "Look for what drops its companions on the way, there or back: a firewall, connection tracking, one link of "
		"several (docs/limits.md, 91). They are tried ten times a second at most, and the first answer brings it back. sluicectl stats "
		"(tx_silent) counts its packets." },
	{ WHY_PLAIN, is_held, "Nothing: the sequences of this host have moved forward, and the flow is governed again within a second. If this "
		"lasts, the clock is off by more than a day: set it (docs/troubleshooting.md, 'Clocks that are off')." },
	{ WHY_PLAIN, is_without_room, "A lower MTU of the route makes room (docs/configuration.md, 'Routes'), and telemetry: companion of "
		"that peer needs none. sluicectl stats (tx_mtu) counts such packets." },
	{ WHY_PLAIN, NULL, "Check that Sluice runs on the peer, and that UDP to Sluice's port gets there: sluicectl stats (tx_peer_unknown, "
		"peer_silent, probe_sent); docs/troubleshooting.md, 'A flow is \"plain\"'." },
	{ WHY_IDLE, NULL, ASK_SOCKET },
	{ WHY_OBSERVE, NULL, "mode: enforce in the configuration, or for a try sluicectl set mode enforce." },
	{ WHY_START, NULL, "If this lasts, check that switches stamp and that its peer answers: docs/troubleshooting.md, 'No feedback yet'." },
	{ WHY_CREDIT, NULL, "sluicectl voqs here shows the VOQ, sluicectl credits on the receiver who else has a share of its port." },
	{ WHY_PAUSE, NULL, "sluicectl ports shows the frames received here, and, if the neighbour is a switch with Sluice, which queue is long "
		"there." },
	{ WHY_HOP, NULL, "sluicectl voqs: R is the credit rate of the VOQ by its flows (F)." },
	{ WHY_RATE, is_lowest, BELOW },
	{ WHY_WINDOW, is_lowest, BELOW },
	{ WHY_WINDOW, is_queued, "Its round trip takes about {rtt}, by what is under way and what it sends: most of that is the "
		"queue of that port, and others fill it: look for plain or bypassed hosts, and hosts without fq, with sluicectl top at the other "
		"senders." },
	{ WHY_WINDOW, is_late, "Its round trip takes about {rtt}, by what is under way and what it sends, and base_rtt of its "
		"peer is {base}: set base_rtt to what ping takes on the empty path, or find what is late with its ACKs." },
	{ WHY_WINDOW, NULL, AS_MEANT },
	{ WHY_RATE, NULL, AS_MEANT },
	{ WHY_UNHELD, is_without_fq, "To pace everything that leaves there: {times}. Or open a new connection, with "
		"the control of 'sluicectl status' (ss -ti names that of a socket)." },
	{ WHY_UNHELD, NULL, "ss -ti names the control of its socket; docs/troubleshooting.md, 'The queue is not low' and "
		"'A pod's flow is not held'." },
	{ WHY_NOTHING, is_unbound, "Nothing can pace it on {port}, which has no fq: {times}." },
	{ WHY_NOTHING, NULL, ASK_SOCKET },
	{},
};
/* clang-format on */

/* The first line of its verdict whose condition holds. */
static const char *line_text(const struct why_line *line, const struct why *w)
{
	for (; line->text; line++)
		if (line->verdict == w->verdict && (!line->when || line->when(w)))
			return line->text;
	return "";
}

/* The port that limits it, if the hops are reported. */
static const char *because_text(const struct why *w)
{
	const struct flow *f = &w->flow;

	if (w->verdict == WHY_CLOSED || w->verdict == WHY_IDLE)
		return "";
	if (w->verdict == WHY_PLAIN)
		return w->heard_ns ? "Its peer was last heard from {heard} ago." :
				     "Its peer has never been heard from.";
	if (flow_is_bare(f) && f->rx.paths > HPCC_PATHS)
		return "Its packets take turns over more paths than can be recorded, so delay decides: the last round trip took {delay}, {unreported} above the minimum; the target is {target}.";
	if (flow_is_bare(f))
		return "No port of its path stamps telemetry, so delay decides: the last round trip took {delay}, {unreported} above the minimum; the target is {target}.";
	if (why_hops(f))
		return "The bottleneck of its path is hop {hop} of {hops}{where}: a port of {speed} that {busy} and has a queue of up to {queue}.{shaped}{turns}";
	if (f->rx.told_hops)
		return "Its receiver reports {form} and not the hops: run sluicectl why there to see which port is the bottleneck.";
	return "";
}

/* How the last feedback changed W. */
static const char *decision_text(const struct why *w)
{
	const struct flow *f = &w->flow;

	if (w->verdict == WHY_CLOSED || w->verdict == WHY_IDLE || w->verdict == WHY_PLAIN)
		return "";
	if (!f->rx.feedbacks)
		return "None yet: W is at its initial value, {w} bytes.";
	if (f->path.hpcc_off)
		return "hpcc is off for this peer: W is not used.";
	if (w->ctl.mode == MODE_OBSERVE)
		return "None: mode observe measures U ({u}) and leaves W alone.";
	if (flow_is_bare(f) && f->ceiling.delay_ns > ceiling_target_ns(&f->params))
		return "The delay ({unreported}) is above the target ({target}): W goes down; now {w} bytes.{bound}";
	if (flow_is_bare(f))
		return "The delay ({unreported}) is below the target ({target}): W goes up; now {w} bytes.{bound}";
	if (f->rx.form == RX_WINDOW)
		return "Its receiver decides: W = {w} bytes.{bound}";
	if (f->ceiling.w && f->cc.w >= f->ceiling.w)
		return "A delay of {unreported}, or a loss, that no port of the path reports limits it: W = {w} bytes.{bound}";
	if (f->rival.queue_ns)
		return "Flows that Sluice does not control keep a queue of {rival} at its receiver's port: W does not fall below a fair share beside them; now {w} bytes.{bound}";
	if (f->cc.u >= f->params.eta)
		return "U = {u} is above the target of {eta}: W = Wc x {eta} / {u} + W_AI ({ai} bytes); now {w} bytes.{bound}";
	if (f->cc.inc_stage >= f->params.max_stage)
		return "U = {u} is below the target of {eta} for more than {stages} rounds: W grows by the factor {eta} / {u}; now {w} bytes.{bound}";
	return "U = {u} is below the target of {eta}: W grows by W_AI ({ai} bytes), step {stage} of {stages}; now {w} bytes.{bound}";
}

/* --- their words --- */

struct words {
	unsigned int n;
	struct {
		const char *name;
		char text[256];
	} word[40];
};

static void word_set(struct words *s, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void word_set(struct words *s, const char *name, const char *fmt, ...)
{
	va_list args;

	s->word[s->n].name = name;
	va_start(args, fmt);
	vsnprintf(s->word[s->n++].text, sizeof(s->word[0].text), fmt, args);
	va_end(args);
}

static void word_set_time(struct words *s, const char *name, __u64 ns)
{
	char t[32];

	word_set(s, name, "%s", time_text(ns, t));
}

/* Words for its sending rate and its limits. */
static void rates_fill(struct words *s, const struct why *w)
{
	const struct flow *f = &w->flow;
	struct advice times;
	char t[32];

	word_set(s, "control", "%s",
		 w->key.proto == IPPROTO_TCP ?
			 " A socket to such a peer runs the congestion control that this machine has "
			 "without Sluice; ss -ti names it." :
			 "");
	word_set(s, "tunnel", "%s", f->tx.flags & FLOW_F_TUNNEL ? " (it is a tunnel's)" : "");
	word_set_time(s, "idle", age_ns(w->now_ns, f->tx.last_ns));
	word_set_time(s, "heard", age_ns(w->now_ns, w->heard_ns));
	word_set_time(s, "held", w->held_by_ns);
	word_set(s, "mtu", "%u", f->path.mtu);
	word_set(s, "mode", "%s", mode_name(w->ctl.mode));
	word_set(s, "port", "%s", w->port);
	if (is_without_fq(w)) {
		advice_get(ADVICE_TIMES, w->port, &times);
		word_set(s, "times", "%s", times.text);
	}
	word_set(s, "qdisc", "%s", w->queues ? "the qdisc sluice" : "fq");
	word_set(s, "sent", "%.1f", mbit(w->sent_bps));
	word_set(s, "rate", "%.1f", mbit(w->rate_bps));
	word_set(s, "hop_rate", "%.1f", mbit(f->voq.rate_bps));
	word_set(s, "short", "%s%s", w->short_ns ? ", for " : "",
		 w->short_ns ? time_text(age_ns(w->now_ns, w->short_ns), t) : "");
	word_set(s, "whose", "%s",
		 f->path.hpcc_off ? "The speed of its port, as hpcc is off for this peer" : "R of HPCC");
	word_set(s, "by", "%s", f->tx.own_cc ? "its own socket obeys it" : "by the receive window that it is granted");
	word_set_time(s, "rtt", why_rtt_ns(w));
	word_set_time(s, "base", f->params.t_ns);
}

/* Words for its bottleneck. */
static void hop_fill(struct words *s, const struct why *w)
{
	const struct flow *f = &w->flow;
	unsigned int hops = why_hops(f), i = f->cc.bottleneck < hops ? f->cc.bottleneck : 0;
	char text[HOP_STRLEN];

	word_set(s, "form", "%s", feedback_name(f->rx.form));
	word_set(s, "hop", "%u", i + 1);
	word_set(s, "hops", "%u", hops);
	word_set(s, "speed", "%s", hop_speed_text(f->cc.last[i].bps, w->own && !i, text));
	if (!i && w->port_flags & PORT_F_STAMP)
		word_set(s, "where", ", which is %s of this machine", w->port);
	else if (i + 1 == hops)
		word_set(s, "where", hops == 1 ? ", the only one that stamps" : ", the last one before its receiver");
	word_set(s, "busy", "%s", hop_busy_text(w, i, text));
	if (hop_is_shaped(w, i))
		word_set(s, "shaped", "%s", SHAPED);
	word_set_time(s, "queue", w->hop_queue_ns[i]);
	if (f->rx.paths > HPCC_PATHS)
		word_set(s, "turns", " Its packets take turns over more than %u paths, so few reports can be compared.",
			 HPCC_PATHS);
	else if (f->rx.paths)
		word_set(s, "turns",
			 " Its packets take turns over %u paths, of which this was the last; the fullest decides.",
			 f->rx.paths);
}

/* Words for the algorithm that decides. */
static void control_fill(struct words *s, const struct why *w)
{
	const struct flow *f = &w->flow;

	word_set(s, "w", "%llu", q12_to_bytes(f->cc.w));
	word_set(s, "u", "%.3f", (double)f->cc.u / Q24_ONE);
	word_set(s, "eta", "%.2f", (double)f->params.eta / Q24_ONE);
	word_set(s, "ai", "%.0f", (double)f->params.w_ai / Q12_ONE);
	word_set(s, "stage", "%u", f->cc.inc_stage);
	word_set(s, "stages", "%u", f->params.max_stage);
	word_set_time(s, "delay", f->delay.sample_ns);
	word_set_time(s, "unreported", f->ceiling.delay_ns);
	word_set_time(s, "rival", f->rival.queue_ns);
	word_set_time(s, "target", ceiling_target_ns(&f->params));
	if (is_lowest(w))
		word_set(s, "bound", " It is at its lower bound.");
	else if (f->cc.w >= f->params.w_init)
		word_set(s, "bound", " It is at its upper bound, the BDP of this machine's port.");
}

/* The text with each {word} replaced; an unset one becomes empty. */
static void sentence_make(char *buf, size_t size, const char *text, const struct words *s)
{
	size_t n = 0, len, i;

	for (; *text && n + 1 < size; text += len) {
		if (*text != '{') {
			len = strcspn(text, "{");
			n += snprintf(buf + n, size - n, "%.*s", (int)len, text);
			continue;
		}
		len = strcspn(text, "}") + 1;
		for (i = 0; i < s->n; i++)
			if (strlen(s->word[i].name) == len - 2 && !strncmp(s->word[i].name, text + 1, len - 2))
				n += snprintf(buf + n, size - n, "%s", s->word[i].text);
	}
}

/* Its receive window, if that does not follow W. */
static void window_sentence(struct why *w)
{
	if (w->flow.wnd.digest)
		snprintf(w->window, sizeof(w->window),
			 "TCP-MD5 or TCP-AO signs its segments, so its receive window is left alone: %s.",
			 is_without_fq(w) ? "with no fq on its port nothing holds it" :
					    "departure times alone hold it");
}

void why_sentences(struct why *w)
{
	struct words s = {};

	rates_fill(&s, w);
	hop_fill(&s, w);
	control_fill(&s, w);
	sentence_make(w->answer, sizeof(w->answer), line_text(answers, w), &s);
	sentence_make(w->because, sizeof(w->because), because_text(w), &s);
	sentence_make(w->decision, sizeof(w->decision), decision_text(w), &s);
	sentence_make(w->next, sizeof(w->next), line_text(nexts, w), &s);
	window_sentence(w);
	queue_sentence(w);
}

/* --- output --- */

static void why_line(const char *name, const char *text)
{
	unsigned int columns, lines, indent = 11;

	if (!*text)
		return;
	screen_size(&columns, &lines);
	if (columns && columns < WHY_NARROW) {
		if (*name)
			puts(name);
		name = "";
		indent = 2;
	}
	words_print(text, printf("%-*s ", indent - 1, name), indent);
}

int why_print(const struct why *w)
{
	const struct flow *f = &w->flow;
	char line[FLOW_STRLEN], t[32], busy[HOP_STRLEN], speed[HOP_STRLEN], text[256], pod[POD_STRLEN];
	unsigned int i;
	int n;

	snprintf(text, sizeof(text), "%s  (%s, %s)", flow_format(&w->key, line), flow_protocol(&w->key),
		 flow_state_names[flow_state(f, &w->ctl)]);
	words_print(text, 0, 0);
	if (w->pod)
		why_line("pod", pod_format(w->pod, pod));
	why_line("held by", w->answer);
	why_line("because", w->because);
	why_line("decision", w->decision);
	why_line("next", w->next);
	why_line("window", w->window);
	why_line("base RTT", w->base_rtt);
	why_line("queue", w->queue_line);
	if (f->rx.fb_ns) {
		snprintf(text, sizeof(text), "%s ago; %llu so far (%llu/s); path 0x%03x, base RTT %s",
			 time_text(age_ns(w->now_ns, f->rx.fb_ns), t), f->rx.feedbacks, w->feedbacks_per_s,
			 f->cc.path_id, time_text(f->params.t_ns, speed));
		why_line("feedback", text);
	}
	for (i = 0; i < why_hops(f); i++) {
		snprintf(text, sizeof(text), "hop %u of %u: %s, %s, queue %u bytes, up to %s%s", i + 1, f->cc.hops,
			 hop_speed_text(f->cc.last[i].bps, w->own && !i, speed), hop_busy_text(w, i, busy),
			 f->cc.last[i].qlen_bytes, time_text(w->hop_queue_ns[i], t),
			 i == f->cc.bottleneck ? " <- bottleneck" : "");
		why_line("", text);
	}
	if (f->tx.last_ns) {
		/* Only governed bytes are counted: a plain flow has none to report. */
		n = snprintf(text, sizeof(text), "last packet %s ago", time_text(age_ns(w->now_ns, f->tx.last_ns), t));
		if (f->tx.bytes)
			snprintf(text + n, sizeof(text) - n, ", %llu bytes since the start", f->tx.bytes);
		why_line("sent", text);
	}
	snprintf(text, sizeof(text), "%u in %s:", w->looks, time_text(w->took_ns, t));
	for (i = 0; i < FLOW_HOLDS; i++)
		if (w->held[i])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s %u", flow_hold_names[i],
				 w->held[i]);
	why_line("samples", text);
	return EXIT_DONE;
}

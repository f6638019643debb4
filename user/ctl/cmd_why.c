// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl why FLOW: what holds one flow back, in sentences.
 *
 *  1. The flow is found by words of its line in `flows`.
 *  2. Its entry is looked at for a quarter of a second. One look says what its last packet waited for; many say
 *     what its packets wait for, how fast it sends, and how busy each port of its path is.
 *  3. What was seen becomes a verdict (enum why_verdict), and each verdict has its sentences.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "lib/config.h"
#include "ctl/flow_list.h"
#include "ctl/show.h"
#include "lib/names.h"

#define WHY_LOOKS 50
#define WHY_PAUSE_NS (5 * 1000 * 1000)
#define WHY_NARROW 60 /* columns of a terminal with fewer of which names have lines of their own */
#define WHY_NAMED 8 /* flows that are listed where several are meant */

enum why_verdict {
	WHY_CLOSED,
	WHY_BYPASS,
	WHY_PLAIN,
	WHY_IDLE,
	WHY_OBSERVE, /* observe, dry-run: nothing is held */
	WHY_START,   /* no feedback yet */
	WHY_CREDIT,
	WHY_PAUSE,
	WHY_HOP,
	WHY_RATE,
	WHY_WINDOW,
	WHY_UNHELD, /* it sends more than it may */
	WHY_NOTHING,
};

/* As JSON and the column WHY of `flows` name it, where that has a name for it. */
static const char *const verdict_names[] = {
	[WHY_CLOSED] = "closed",   [WHY_BYPASS] = "bypass", [WHY_PLAIN] = "plain",   [WHY_IDLE] = "idle",
	[WHY_OBSERVE] = "observe", [WHY_START] = "start",   [WHY_CREDIT] = "credit", [WHY_HOP] = "hop",
	[WHY_RATE] = "rate",	   [WHY_WINDOW] = "window", [WHY_NOTHING] = "none",
	[WHY_UNHELD] = "unheld",   [WHY_PAUSE] = "pause",
};

struct why {
	struct flow_key key;
	struct flow flow; /* as it was at the end */
	struct control ctl;
	__u64 now_ns, took_ns;
	unsigned int looks, held[FLOW_HOLDS], full; /* full: with as much as W under way */
	__u64 sent_bps, rate_bps, under_way; /* R, and bytes without feedback: the mean of all looks */
	__u64 feedbacks_per_s;
	__u64 hop_bytes[HPCC_MAX_HOPS], hop_ns[HPCC_MAX_HOPS], hop_queue_ns[HPCC_MAX_HOPS]; /* the longest */
	char port[16];
	__u32 port_flags;
	__u64 heard_ns; /* when its peer was heard last; 0: never */
	__u64 short_ns; /* since when its VOQ lacks credit; 0: it does not, or has no VOQ of its own */
	enum why_verdict verdict;
	char answer[512], because[512], decision[512], next[512];
};

/* --- 1. --- */

static const char *time_text(__u64 ns, char *buf)
{
	if (ns < 1000000)
		snprintf(buf, 32, "%.0f us", ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(buf, 32, "%.1f s", ns / 1e9);
	return buf;
}

/* Is word an end of the flow, its address or its port (exact), or a part of the flow's line? */
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

/* How many flows are meant, and one of them; to name them all, named is not NULL. */
static unsigned int flows_meant(const struct flow_list *l, int argc, char **argv, int exact, int closed,
				const struct flow_row **found, FILE *named)
{
	char line[FLOW_STRLEN], t[32];
	unsigned int n = 0, i;

	for (i = 0; i < l->n; i++) {
		if (!!(l->row[i].flow.tx.flags & FLOW_F_CLOSED) != closed ||
		    !flow_meets(&l->row[i].key, argc, argv, exact))
			continue;
		*found = &l->row[i];
		if (n++ < WHY_NAMED && named)
			fprintf(named, "  %s  (sent %s ago)\n", flow_format(&l->row[i].key, line),
				time_text(age_ns(l->now_ns, l->row[i].flow.tx.last_ns), t));
	}
	return n;
}

/* The one flow that is meant; says so if there is none, or several. A closed one only where nothing else is. */
static const struct flow_row *flow_find(const struct flow_list *l, int argc, char **argv)
{
	const struct flow_row *found = NULL;
	unsigned int n = 0;
	int how;

	for (how = 0; how < 4 && !n; how++)
		n = flows_meant(l, argc, argv, how < 2, how & 1, &found, NULL);
	if (n == 1)
		return found;
	if (!n) {
		msg("no flow has that in its line%s: see 'sluicectl flows'", l->n ? "" : ", for there are none");
		return NULL;
	}
	msg("%u flows have that in their line: write more of one of them, for example of", n);
	flows_meant(l, argc, argv, how - 1 < 2, (how - 1) & 1, &found, stderr);
	return NULL;
}

/* --- 2. --- */

static void why_look(struct why *w, const struct flow *before)
{
	const char *held = flow_why(&w->key, &w->flow, &w->ctl, now_ns());
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
		if (hop_queue_ns(&w->flow.cc.last[i]) > w->hop_queue_ns[i])
			w->hop_queue_ns[i] = hop_queue_ns(&w->flow.cc.last[i]);
	}
}

/* 0, or -ENOENT: it was forgotten meanwhile. */
static int why_watch(struct why *w, const struct pins *p)
{
	const struct timespec pause = { 0, WHY_PAUSE_NS };
	struct flow first = w->flow, before;
	struct voq_key voq_key = { .addr = w->key.remote, .prefixlen = 128 };
	__u64 from_ns = now_ns();
	struct host host;
	struct port port;
	struct voq voq;
	int i;

	for (i = 0; i < WHY_LOOKS; i++) {
		nanosleep(&pause, NULL);
		before = w->flow;
		if (bpf_map_lookup_elem(p->flows, &w->key, &w->flow))
			return -errno;
		why_look(w, &before);
	}
	w->now_ns = now_ns();
	w->took_ns = w->now_ns - from_ns;
	w->sent_bps = (w->flow.tx.bytes - first.tx.bytes) * 8e9 / w->took_ns;
	w->feedbacks_per_s = lround((w->flow.rx.feedbacks - first.rx.feedbacks) * 1e9 / w->took_ns);
	w->rate_bps /= w->looks;
	w->under_way /= w->looks;
	w->ctl = *p->ctl;
	if (!bpf_map_lookup_elem(p->hosts, &w->key.remote, &host))
		w->heard_ns = host.heard_ns;
	if (w->flow.path.hiercc && !w->flow.voq.merged && !bpf_map_lookup_elem(p->voqs, &voq_key, &voq))
		w->short_ns = voq.voq.short_ns;
	snprintf(w->port, sizeof(w->port), "its port");
	if (!bpf_map_lookup_elem(p->ports, &w->flow.path.ifindex, &port)) {
		snprintf(w->port, sizeof(w->port), "%s", port.name);
		w->port_flags = port.flags;
	}
	return 0;
}

/* --- 3. --- */

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
		return WHY_IDLE;
	if (w->ctl.mode != MODE_ENFORCE)
		return WHY_OBSERVE;
	if (!f->rx.feedbacks)
		return WHY_START;
	for (i = 1; i < FLOW_HOLDS; i++)
		if (w->held[i] > w->held[most])
			most = i;
	/* What waits in every fifth look waits. */
	if (!most)
		for (i = 1; i < FLOW_HOLDS; i++)
			if (w->held[i] * 5 >= w->looks && (!most || w->held[i] > w->held[most]))
				most = i;
	/* R is never the bound of a VOQ's flow where HPCC is off. */
	if (!f->path.hpcc_off && w->sent_bps > w->rate_bps + w->rate_bps / 2)
		return WHY_UNHELD;
	/*
	 * A socket with our control is always behind its W, and R spreads what W lets it: what sends less than half of R
	 * has other reasons, unless as much as W is under way.
	 */
	if ((most == 1 || most == 5) && w->sent_bps * 2 < w->rate_bps)
		return w->key.proto == IPPROTO_TCP && w->full * 2 >= w->looks ? WHY_WINDOW : WHY_NOTHING;
	switch (most) {
	case 1:
		return WHY_RATE;
	case 2:
		return WHY_HOP;
	case 3:
		return WHY_CREDIT;
	case 4:
		return WHY_PAUSE;
	case 5:
		return WHY_WINDOW;
	}
	return WHY_NOTHING;
}

static double mbit(__u64 bps)
{
	return bps / 1e6;
}

static double hop_busy(const struct why *w, unsigned int i)
{
	return w->hop_ns[i] ? w->hop_bytes[i] * 8e9 / w->hop_ns[i] / w->flow.cc.last[i].bps : -1;
}

static unsigned int why_hops(const struct flow *f)
{
	return f->cc.hops < HPCC_MAX_HOPS ? f->cc.hops : HPCC_MAX_HOPS;
}

/* The port that limits it, where the hops are told. */
static void why_bottleneck(struct why *w)
{
	const struct flow *f = &w->flow;
	unsigned int hops = why_hops(f), i = f->cc.bottleneck;
	char t[32], where[64] = "", busy[64] = "";

	if (f->fallback.swift) {
		snprintf(w->because, sizeof(w->because), "No port of its path stamps telemetry, so it goes by delay: the last round trip took %s, the target is %s.",
			 time_text(f->delay.sample_ns, t), time_text(f->swift.target_ns, where));
		return;
	}
	if (!hops) {
		if (f->rx.told_hops)
			snprintf(w->because, sizeof(w->because), "Its receiver tells %s and not the hops: ask there which port is the bottleneck.",
				 feedback_name(f->rx.form));
		return;
	}
	if (i >= hops)
		i = 0;
	if (!i && w->port_flags & PORT_F_STAMP)
		snprintf(where, sizeof(where), ", which is %s of this machine", w->port);
	else if (i + 1 == hops)
		snprintf(where, sizeof(where), hops == 1 ? ", the only one that stamps" : ", the last one before its receiver");
	if (hop_busy(w, i) >= 0)
		snprintf(busy, sizeof(busy), " sends %.1f Mbit/s (%.0f %% of it) and", hop_busy(w, i) * mbit(f->cc.last[i].bps),
			 hop_busy(w, i) * 100);
	snprintf(w->because, sizeof(w->because), "The bottleneck of its path is hop %u of %u%s: a port of %.0f Mbit/s that%s has a queue of up to %s.",
		 i + 1, hops, where, mbit(f->cc.last[i].bps), busy, time_text(w->hop_queue_ns[i], t));
}

/* What the last feedback did to W. */
static void why_decision(struct why *w)
{
	const struct flow *f = &w->flow;
	double u = (double)f->cc.u / Q24_ONE, eta = (double)f->params.eta / Q24_ONE;
	__u64 wnd = q12_to_bytes(f->cc.w);
	double ai = (double)f->params.w_ai / Q12_ONE;
	char bound[128] = "", t[32], target[32];

	if (f->cc.w <= f->params.w_min)
		snprintf(bound, sizeof(bound), " It is at its lower bound, one packet.");
	else if (f->cc.w >= f->params.w_init)
		snprintf(bound, sizeof(bound), " It is at its upper bound, what the port of this machine can have under way: HPCC asks for nothing less.");
	if (!f->rx.feedbacks)
		snprintf(w->decision, sizeof(w->decision), "None yet: W stands at its start, %llu bytes.", wnd);
	else if (f->path.hpcc_off)
		snprintf(w->decision, sizeof(w->decision), "hpcc is off for this peer: W is not used.");
	else if (w->ctl.mode == MODE_OBSERVE)
		snprintf(w->decision, sizeof(w->decision), "None: mode observe measures U (%.3f) and leaves W alone.", u);
	else if (f->fallback.swift)
		snprintf(w->decision, sizeof(w->decision), "The delay (%s) is %s the target (%s): W goes %s; now %llu bytes.%s",
			 time_text(f->delay.sample_ns, t), f->delay.sample_ns > f->swift.target_ns ? "above" : "below",
			 time_text(f->swift.target_ns, target), f->delay.sample_ns > f->swift.target_ns ? "down" : "up", wnd, bound);
	else if (f->rx.form == RX_WINDOW)
		snprintf(w->decision, sizeof(w->decision), "Its receiver decides: W = %llu bytes, as it told.%s", wnd, bound);
	else if (f->cc.u >= f->params.eta)
		snprintf(w->decision, sizeof(w->decision), "U = %.3f is above the target of %.2f: W = Wc x %.2f / %.3f + W_AI (%.0f bytes); now %llu bytes.%s",
			 u, eta, eta, u, ai, wnd, bound);
	else if (f->cc.inc_stage >= f->params.max_stage)
		snprintf(w->decision, sizeof(w->decision), "U = %.3f is below the target of %.2f for more than %u rounds: W grows by the factor %.2f / %.3f; now %llu bytes.%s",
			 u, eta, f->params.max_stage, eta, u, wnd, bound);
	else
		snprintf(w->decision, sizeof(w->decision), "U = %.3f is below the target of %.2f: W grows by W_AI (%.0f bytes), step %u of %u; now %llu bytes.%s",
			 u, eta, ai, f->cc.inc_stage, f->params.max_stage, wnd, bound);
}

static void why_sentences(struct why *w)
{
	const struct flow *f = &w->flow;
	char t[32], base[32];
	__u64 rtt_ns, queue_ns = f->cc.bottleneck < why_hops(f) ? w->hop_queue_ns[f->cc.bottleneck] : 0;

	switch (w->verdict) {
	case WHY_CLOSED:
		snprintf(w->answer, sizeof(w->answer), "Nothing: it is over (a FIN or RST left).");
		break;
	case WHY_BYPASS:
		snprintf(w->answer, sizeof(w->answer), "Nothing of Sluice: bypass is on, its packets pass untouched.");
		snprintf(w->next, sizeof(w->next), "sluicectl bypass off lets Sluice work again.");
		break;
	case WHY_PLAIN:
		snprintf(w->answer, sizeof(w->answer), "Nothing of Sluice: it goes without telemetry, because its peer is not known to strip it%s.",
			 f->tx.flags & FLOW_F_TUNNEL ? " (it is a tunnel's)" : "");
		if (w->heard_ns)
			snprintf(w->because, sizeof(w->because), "Its peer was heard last %s ago.", time_text(age_ns(w->now_ns, w->heard_ns), t));
		else
			snprintf(w->because, sizeof(w->because), "Its peer was never heard.");
		snprintf(w->next, sizeof(w->next), "Does Sluice run on the peer, and does UDP to Sluice's port get there? sluicectl stats (tx_peer_unknown, peer_silent, probe_sent); docs/troubleshooting.md, 'A flow is \"plain\"'.");
		break;
	case WHY_IDLE:
		snprintf(w->answer, sizeof(w->answer), "Nothing of Sluice: it has sent nothing for %s, so it is its application that waits, or its peer that does not read or acknowledge.",
			 time_text(age_ns(w->now_ns, f->tx.last_ns), t));
		snprintf(w->next, sizeof(w->next), "ss -tinm shows the socket: rwnd_limited, sndbuf_limited, app_limited, retransmissions.");
		break;
	case WHY_OBSERVE:
		snprintf(w->answer, sizeof(w->answer), "Nothing of Sluice: mode %s. It sends %.1f Mbit/s; what was computed for it is %.1f Mbit/s.",
			 mode_name(w->ctl.mode), mbit(w->sent_bps), mbit(w->rate_bps));
		snprintf(w->next, sizeof(w->next), "mode: enforce in the configuration, or for a try sluicectl set mode enforce.");
		break;
	case WHY_START:
		snprintf(w->answer, sizeof(w->answer), "Its first window, %llu bytes: no feedback came yet.", q12_to_bytes(f->cc.w));
		snprintf(w->next, sizeof(w->next), "If that lasts: do switches stamp, does its peer echo? docs/troubleshooting.md, 'No feedback yet'.");
		break;
	case WHY_CREDIT:
		snprintf(w->answer, sizeof(w->answer), "Credit of its VOQ (HierCC): its packets wait for what the receiver's rack grants%s%s. It sends %.1f Mbit/s.",
			 w->short_ns ? ", for " : "", w->short_ns ? time_text(age_ns(w->now_ns, w->short_ns), t) : "", mbit(w->sent_bps));
		snprintf(w->next, sizeof(w->next), "sluicectl voqs here shows the VOQ, sluicectl credits on the receiver who else has a share of its port.");
		break;
	case WHY_PAUSE:
		snprintf(w->answer, sizeof(w->answer), "Pauses (PFC) that the neighbour of %s asks for. It sends %.1f Mbit/s.", w->port, mbit(w->sent_bps));
		snprintf(w->next, sizeof(w->next), "sluicectl ports here shows what was heard, and at the neighbour, if that is a switch with Sluice, which queue is long.");
		break;
	case WHY_HOP:
		snprintf(w->answer, sizeof(w->answer), "R of its first hop (HierCC, Equation 1), %.1f Mbit/s: its share of what its VOQ may send. It sends %.1f Mbit/s.",
			 mbit(f->voq.rate_bps), mbit(w->sent_bps));
		snprintf(w->next, sizeof(w->next), "sluicectl voqs: R is the credit rate of the VOQ by its flows (F).");
		break;
	case WHY_RATE:
		snprintf(w->answer, sizeof(w->answer), "%s, %.1f Mbit/s: its packets wait in fq of %s for their departure time. It sends %.1f Mbit/s.",
			 f->path.hpcc_off	     ? "The speed of its port, as hpcc is off for this peer" :
			 f->fallback.swift ? "R of Swift" :
					     "R of HPCC",
			 mbit(w->rate_bps), w->port, mbit(w->sent_bps));
		snprintf(w->next, sizeof(w->next), "This is as meant: the path carries no more for it. sluicectl int shows how many flows share it.");
		break;
	case WHY_WINDOW:
		snprintf(w->answer, sizeof(w->answer), "Its window W, %llu bytes (%s): that much is under way and not acknowledged. It sends %.1f Mbit/s, R is %.1f.",
			 q12_to_bytes(f->cc.w), f->tx.own_cc ? "its own socket obeys it" : "by the receive window that it is granted",
			 mbit(w->sent_bps), mbit(w->rate_bps));
		rtt_ns = w->sent_bps ? w->under_way * 8e9 / w->sent_bps : 0;
		if (f->cc.w <= f->params.w_min)
			snprintf(w->next, sizeof(w->next), "W is never below one packet, which each flow of that port keeps under way: where they are more than the path holds, a queue stands. Fewer connections, or a smaller MTU (docs/limits.md, 22). sluicectl int shows how many flows share it.");
		else if (w->sent_bps * 2 < w->rate_bps && queue_ns > rtt_ns / 2)
			snprintf(w->next, sizeof(w->next), "Its round trip takes about %s, by what is under way and what it sends: most of that is the queue of that port, and others fill it. Who is plain, bypassed or without fq there? sluicectl top at the other senders.",
				 time_text(rtt_ns, t));
		else if (w->sent_bps * 2 < w->rate_bps)
			snprintf(w->next, sizeof(w->next), "Its round trip takes about %s, by what is under way and what it sends, and base_rtt of its peer is %s: set base_rtt to what ping takes on the empty path, or find what is late with its ACKs.",
				 time_text(rtt_ns, t), time_text(f->params.t_ns, base));
		else
			snprintf(w->next, sizeof(w->next), "This is as meant: the path carries no more for it. sluicectl int shows how many flows share it.");
		break;
	case WHY_UNHELD:
		snprintf(w->answer, sizeof(w->answer), "Nothing: it sends %.1f Mbit/s, though R is %.1f and W %llu bytes. Its socket does not obey W, and no departure time or receive window holds it.",
			 mbit(w->sent_bps), mbit(w->rate_bps), q12_to_bytes(f->cc.w));
		if (!(w->port_flags & PORT_F_EDT))
			snprintf(w->next, sizeof(w->next), "tc qdisc replace dev %s root fq holds whatever leaves there; or a new connection, with the control of 'sluicectl status' (ss -ti names that of a socket).", w->port);
		else
			snprintf(w->next, sizeof(w->next), "ss -ti names the control of its socket; docs/troubleshooting.md, 'The queue is not low' and 'A pod\'s flow is not held'.");
		break;
	case WHY_NOTHING:
		snprintf(w->answer, sizeof(w->answer), "Nothing of Sluice: it sends %.1f Mbit/s and might send %.1f (R). Its application gives it no more, or its receiver takes no more.",
			 mbit(w->sent_bps), mbit(w->rate_bps));
		if (!(w->port_flags & PORT_F_EDT) && !f->tx.own_cc)
			snprintf(w->next, sizeof(w->next), "Nothing can hold it on %s, which has no fq: tc qdisc replace dev %s root fq.", w->port, w->port);
		else
			snprintf(w->next, sizeof(w->next), "ss -tinm shows the socket: rwnd_limited, sndbuf_limited, app_limited, retransmissions.");
		break;
	}
	if (w->verdict == WHY_CLOSED || w->verdict == WHY_PLAIN || w->verdict == WHY_IDLE)
		return;
	why_bottleneck(w);
	why_decision(w);
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

static void why_print(const struct why *w)
{
	const struct flow *f = &w->flow;
	char line[FLOW_STRLEN], t[32], busy[48], text[256];
	unsigned int i;
	int n;

	snprintf(text, sizeof(text), "%s  (%s, %s)", flow_format(&w->key, line),
		 w->key.proto == IPPROTO_UDP ? "udp" : "tcp", flow_state_names[flow_state(f, &w->ctl)]);
	words_print(text, 0, 0);
	why_line("held by", w->answer);
	why_line("because", w->because);
	why_line("decision", w->decision);
	why_line("next", w->next);
	if (f->rx.fb_ns) {
		snprintf(text, sizeof(text), "%s ago, the %llu. (%llu a second); path 0x%03x, base RTT %s",
			 time_text(age_ns(w->now_ns, f->rx.fb_ns), t), f->rx.feedbacks, w->feedbacks_per_s, f->cc.path_id,
			 time_text(f->params.t_ns, busy));
		why_line("feedback", text);
	}
	for (i = 0; i < why_hops(f); i++) {
		snprintf(busy, sizeof(busy), "not seen twice");
		if (hop_busy(w, i) >= 0)
			snprintf(busy, sizeof(busy), "sends %.1f Mbit/s (%.0f %%)", hop_busy(w, i) * mbit(f->cc.last[i].bps),
				 hop_busy(w, i) * 100);
		snprintf(text, sizeof(text), "hop %u of %u: %.0f Mbit/s, %s, queue %u bytes, up to %s%s", i + 1, f->cc.hops,
			 mbit(f->cc.last[i].bps), busy, f->cc.last[i].qlen_bytes, time_text(w->hop_queue_ns[i], t),
			 i == f->cc.bottleneck ? " <- bottleneck" : "");
		why_line("", text);
	}
	if (f->tx.last_ns) {
		/* Only bytes that were governed are counted: a plain flow has none to tell of. */
		n = snprintf(text, sizeof(text), "last packet %s ago", time_text(age_ns(w->now_ns, f->tx.last_ns), t));
		if (f->tx.bytes)
			snprintf(text + n, sizeof(text) - n, ", %llu bytes since the start", f->tx.bytes);
		why_line("sent", text);
	}
	snprintf(text, sizeof(text), "%u in %s:", w->looks, time_text(w->took_ns, t));
	for (i = 0; i < FLOW_HOLDS; i++)
		if (w->held[i])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s %u", flow_hold_names[i], w->held[i]);
	why_line("looks", text);
}

static int why_json(const struct why *w)
{
	const struct flow *f = &w->flow;
	char text[FLOW_STRLEN];
	unsigned int i;

	out_object(NULL);
	out_string("flow", flow_format(&w->key, text));
	out_string("protocol", w->key.proto == IPPROTO_UDP ? "udp" : "tcp");
	out_string("state", flow_state_names[flow_state(f, &w->ctl)]);
	out_string("held_by", verdict_names[w->verdict]);
	out_string("answer", w->answer);
	out_string("because", w->because);
	out_string("decision", w->decision);
	out_string("next", w->next);
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

int cmd_why(int argc, char **argv)
{
	const struct flow_row *row;
	struct flow_list l;
	struct why w = {};
	struct pins p;
	int err;

	if (argc < 2) {
		msg("usage: sluicectl why FLOW: words of its line in 'sluicectl flows', as 10.1.0.2:45001, or :5201");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	err = flow_list_read(&l, &p);
	if (err) {
		msg("reading the flows: %s", strerror(-err));
		pins_close(&p);
		return EXIT_FAILED;
	}
	row = flow_find(&l, argc - 1, argv + 1);
	if (row) {
		w.key = row->key;
		w.flow = row->flow;
		w.ctl = l.ctl;
	}
	err = row ? why_watch(&w, &p) : -ENOENT;
	if (row && err)
		msg("it is over, and forgotten");
	flow_list_free(&l);
	pins_close(&p);
	if (err)
		return EXIT_FAILED;
	w.verdict = why_judge(&w);
	why_sentences(&w);
	if (out_json)
		return why_json(&w);
	why_print(&w);
	return EXIT_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Files that have changed since the daemon read them, peers, and counters that point to a problem. */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attach/qdisc/advice.h"
#include "ctl/health.h"
#include "sluice/wire/wire.h"

/* --- files --- */

const char *const file_state_names[FILE_STATES] = {
	[FILE_AS_READ] = "as read",
	[FILE_CHANGED] = "changed",
	[FILE_UNREADABLE] = "unreadable",
	[FILE_UNKNOWN] = "unknown",
};

/* The path as the daemon sees it, which may be in a container. */
static void daemon_file(const struct daemon_seen *d, const char *path, char *file, size_t size)
{
	snprintf(file, size, "/proc/%u/root%s", d->pid, path);
	if (!d->pid || access(file, R_OK))
		snprintf(file, size, "%s", path);
}

enum file_state config_file_state(const struct daemon_seen *d)
{
	const struct daemon_head *h = &d->record.head;
	char file[RECORD_PATH + 32];
	__u64 digest;

	if (!d->recorded || !h->config_path[0])
		return FILE_UNKNOWN;
	daemon_file(d, h->config_path, file, sizeof(file));
	if (file_digest(file, &digest))
		return FILE_UNREADABLE;
	return digest == h->config_digest ? FILE_AS_READ : FILE_CHANGED;
}

/* Its content is a secret, so its time has to do. */
enum file_state key_file_state(const struct daemon_seen *d)
{
	const struct daemon_head *h = &d->record.head;
	char file[RECORD_PATH + 32];
	__s64 mtime;

	if (!d->recorded || !h->key_path[0])
		return FILE_UNKNOWN;
	daemon_file(d, h->key_path, file, sizeof(file));
	mtime = file_mtime_ns(file);
	if (!mtime)
		return FILE_UNREADABLE;
	return mtime == h->key_mtime_ns ? FILE_AS_READ : FILE_CHANGED;
}

/* --- peers --- */

#define HOST_RECENT_NS \
	(60 * NSEC_PER_SEC)   /* a peer without Sluice is asked once a second while something is sent to it */
#define HOSTS_LOOKED_AT 32768 /* twice the map: a walk begins anew where the entry that it was at is removed */

const char *const host_plain_names[HOST_PLAIN_REASONS] = {
	[HOST_NEVER_ANSWERED] = "never answered",
	[HOST_FELL_SILENT] = "fell silent",
	[HOST_ASKED_ANEW] = "asked again",
};

const char *const host_plain_hints[HOST_PLAIN_REASONS] = {
	[HOST_NEVER_ANSWERED] = "no Sluice there, another port or key, or a filter for UDP on the way",
	[HOST_FELL_SILENT] = "stopped, bypass there, or a filter for UDP on the way",
	[HOST_ASKED_ANEW] = "not heard since bypass or a pause ended here",
};

static int is_recent(__u64 then_ns, __u64 now_ns)
{
	return then_ns && age_ns(now_ns, then_ns) < HOST_RECENT_NS;
}

/* Whether the address is in a prefix of the configuration. */
static int is_peer(const struct pins *p, const struct host_key *host)
{
	struct peer_key key = { .prefixlen = 128 };
	struct peer v;

	memcpy(&key.addr, host->b, sizeof(key.addr));
	return !bpf_map_lookup_elem(p->peers, &key, &v) && !v.leaving;
}

int host_is_recent(__u32 at, __u64 now_ns)
{
	return at && (__u32)(now_ns >> WIRE_HELD_SHIFT) - at < HOST_RECENT_NS >> WIRE_HELD_SHIFT;
}

static void sequences_see(struct hosts_sequences *s, const struct host_key *host, __u32 at, __u32 by, __u64 now_ns)
{
	__u64 by_ns = (__u64)by << WIRE_HELD_SHIFT;

	if (!host_is_recent(at, now_ns))
		return;
	s->n++;
	if (by_ns < s->by_ns)
		return;
	s->by_ns = by_ns;
	memcpy(&s->addr, host->b, sizeof(s->addr));
}

static void host_see(struct hosts_seen *s, const struct host *h, __u64 doubt_ns, __u64 now_ns)
{
	if (h->capable && h->heard_ns >= doubt_ns)
		s->strip++;
	else if (h->capable)
		s->plain[HOST_ASKED_ANEW] += is_recent(h->asked_ns, now_ns);
	else if (h->heard_ns)
		s->plain[HOST_FELL_SILENT] += is_recent(h->asked_ns, now_ns);
	else
		s->plain[HOST_NEVER_ANSWERED] += is_recent(h->asked_ns, now_ns);
}

void hosts_see(struct hosts_seen *s, const struct pins *p)
{
	struct host_key host, *last = NULL;
	__u64 now = now_ns(), asked_ns;
	unsigned int most = HOSTS_LOOKED_AT;
	struct host h;

	*s = (struct hosts_seen){};
	for (; most && !bpf_map_get_next_key(p->hosts, last, &host); last = &host, most--)
		if (is_peer(p, &host) && !bpf_map_lookup_elem(p->hosts, &host, &h)) {
			host_see(s, &h, p->ctl->doubt_ns, now);
			sequences_see(&s->old, &host, h.old_at, h.old_by, now);
			sequences_see(&s->held, &host, h.held_at, h.held_by, now);
		}
	/* A host that was never heard is in no other map. */
	most = HOSTS_LOOKED_AT;
	for (last = NULL; most && !bpf_map_get_next_key(p->asked, last, &host); last = &host, most--)
		if (is_peer(p, &host) && !bpf_map_lookup_elem(p->asked, &host, &asked_ns) && is_recent(asked_ns, now) &&
		    bpf_map_lookup_elem(p->hosts, &host, &h))
			s->plain[HOST_NEVER_ANSWERED]++;
}

/* --- warnings --- */

/* Fewer than least of them are no problem. */
static const struct warning {
	enum sluice_stat stat;
	__u64 least;
	const char *text;
} warnings[] = {
	{ STAT_RX_BAD_AUTH, 1,
	  "messages with a wrong tag: put the same key on all hosts, and reload; if it is the same, somebody forges them" },
	{ STAT_RX_NO_AUTH, 1, "messages without a tag: give their sender the key, or somebody forges them" },
	{ STAT_RX_BAD_VERSION, 1, "messages of another version of Sluice: install the same on all hosts" },
	{ STAT_RX_FOREIGN, 1, "messages from addresses outside peers: add their prefix, if they are yours" },
	{ STAT_RX_FUTURE, 1, "messages more than a day ahead of this clock: set the clocks" },
	{ STAT_PROBE_HELD, 1,
	  "questions too old for what was heard of their host before: its clock was ahead, and it is told; or somebody repeats messages" },
	{ STAT_SEQ_MOVED, 1,
	  "times that a peer held newer sequences of this host, whose clock was ahead before: they moved forward" },
	{ STAT_SEQ_HELD, 1,
	  "answers of a peer that holds a sequence more than a day ahead of this clock: set the clock" },
	{ STAT_RX_TRUNCATED, 1, "packets lost: shorter than their headers say" },
	{ STAT_RX_MISMATCH, 1, "packets lost: something on the path changes addresses, or somebody forges" },
	{ STAT_RX_BAD_LENGTH, 1, "packets lost: malformed" },
	{ STAT_RX_STRIP_FAILED, 1, "packets lost: the kernel refused to strip them" },
	{ STAT_TX_FLOW_FULL, 1,
	  "packets of flows for which the flow map has no room, so they are not governed: use a larger max_flows" },
	{ STAT_RX_FLOW_FULL, 1, "telemetry not echoed, because the flow map has no room: use a larger max_flows" },
	{ STAT_TX_MTU, 1,
	  "packets sent plain, because the MTU leaves no room for telemetry: set an mtu on that route" },
	{ STAT_TX_HORIZON, 1, "UDP packets dropped, because they would have waited beyond the horizon" },
	{ STAT_TX_SPOOFED, 1, "packets dropped: a pod sends with the source address of another pod" },
	{ STAT_UNHELD, 100, "UDP packets that left at once" },
	{ STAT_PEER_SILENT, 10,
	  "times that a peer fell silent: sluicectl stats there says why it does not get telemetry" },
	{ STAT_PROBE_LIMITED, 1, "peers not asked: too many addresses that nobody has heard of" },
	{ STAT_HOP_NO_QUEUE, 1, "packets not stamped, because the queue of the port cannot be read" },
	{ STAT_HOP_BAD, 1, "packets with malformed telemetry: another version of Sluice, or something changes them" },
	{ STAT_VOQ_ALONE, 100, "packets sent without credit, because none comes: sluicectl voqs names the racks" },
	{ STAT_VOQ_FULL, 1, "packets without a VOQ: use a larger hiercc: voqs" },
	{ STAT_PFC_STORM, 1,
	  "PFC frames not obeyed, because they paused for too long: look at the neighbour of that port" },
	{ STAT_PFC_LOSSY, 1, "PFC frames for priorities that are not lossless here: make both ends the same" },
	{ STAT_PFC_UNWANTED, 1,
	  "PFC frames on a port that does not obey them: set pfc: obey, or switch PFC off at its neighbour" },
	{ STAT_PFC_UNHELD, 100, "packets that left during a pause" },
	{ STAT_FB_RING_FULL, 1, "feedback lost: sluiced does not keep up" },
	{ STAT_ARRIVAL_LOST, 1, "packets of VOQs that sluiced was not told of: it does not keep up" },
	{ STAT_TOR_LOST, 1, "questions of hosts that sluiced did not get: it does not keep up" },
};

/* Nearly full: flows are forgotten only when they have been idle for a while. */
static void flows_room_warn(const struct pins *p, unsigned int flows, warning_fn fn, void *ctx)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	char text[160];

	if (bpf_obj_get_info_by_fd(p->flows, &info, &len) || flows < info.max_entries - info.max_entries / 10)
		return;
	snprintf(text, sizeof(text), "the flow map is nearly full: %u of %u: use a larger max_flows", flows,
		 info.max_entries);
	fn(NULL, flows, 0, text, ctx);
}

static void warning_give(const struct warning *w, __u64 grown, __u64 age, warning_fn fn, void *ctx)
{
	enum advice_on on = w->stat == STAT_HOP_NO_QUEUE			 ? ADVICE_LENGTH :
			    w->stat == STAT_UNHELD || w->stat == STAT_PFC_UNHELD ? ADVICE_TIMES :
										   ADVICE_NONE;
	struct advice a = {};
	char text[320];

	if (on)
		advice_get(on, NULL, &a);
	snprintf(text, sizeof(text), "%s%s%s", w->text, *a.text ? ": " : "", a.text);
	fn(stat_names[w->stat], grown, age, text, ctx);
}

void warnings_each(const struct pins *p, const struct daemon_seen *d, unsigned int flows, warning_fn fn, void *ctx)
{
	const struct daemon_record *r = &d->record;
	__u64 stats[STAT_MAX], grown;
	const struct warning *w;

	kernel_warnings_each(p, d, fn, ctx);
	flows_room_warn(p, flows, fn, ctx);
	/* Without a record there is no telling what is new. */
	if (!d->recorded || !d->whole || pins_stats(p, stats))
		return;
	for (w = warnings; w < warnings + sizeof(warnings) / sizeof(warnings[0]); w++) {
		grown = stats[w->stat] - r->stats[1][w->stat];
		if (stats[w->stat] >= r->stats[1][w->stat] && grown >= w->least)
			warning_give(w, grown, age_ns(d->now_ns, r->stats_ns[1]), fn, ctx);
	}
}

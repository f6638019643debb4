// SPDX-License-Identifier: GPL-2.0-only
/* The daemon's record of itself. Nothing depends on it: an error is reported, and the daemon goes on. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "daemon/recorder.h"

#define RECORDER_STATS_NS (60 * NSEC_PER_SEC)

void recorder_look(struct recorder *r, const char *config_path)
{
	path_absolute(config_path, r->path);
	r->seen_err = file_digest(config_path, &r->seen);
}

/* lacks: what sluicectl status cannot tell without it. */
static void recorder_said(struct recorder *r, const char *what, int err, const char *lacks)
{
	if (err)
		msg_limited(&r->limit, 3600, "%s: %s: sluicectl status cannot tell %s", what, strerror(-err), lacks);
}

static void recorder_write(struct recorder *r, const struct config *c)
{
	recorder_said(r, RECORD_PIN, record_store(c->pin_dir, &r->record),
		      "since when sluiced runs, nor whether its configuration has changed");
}

/* The first call fills both copies. */
static void recorder_stats(struct recorder *r, const struct pins *pins, __u64 now_ns)
{
	struct daemon_record *d = &r->record;
	__u64 stats[STAT_MAX];
	int err = pins_stats(pins, stats);

	recorder_said(r, "the counters", err, "which of them grow");
	if (err)
		return;
	if (!d->stats_ns[0]) {
		d->stats_ns[0] = now_ns;
		memcpy(d->stats[0], stats, sizeof(stats));
	}
	d->stats_ns[1] = d->stats_ns[0];
	memcpy(d->stats[1], d->stats[0], sizeof(stats));
	d->stats_ns[0] = now_ns;
	memcpy(d->stats[0], stats, sizeof(stats));
}

void recorder_commit(struct recorder *r, const struct pins *pins, const struct config *c)
{
	struct daemon_head *h = &r->record.head;
	__u64 now = now_ns();

	r->limit = (struct msg_limit){}; /* each start and reload says it */
	if (!h->form) {
		*h = (struct daemon_head){
			.form = RECORD_FORM, .pid = getpid(), .started_ns = now, .version = SLUICE_VERSION
		};
		recorder_stats(r, pins, now);
	}
	recorder_said(r, r->path, r->seen_err, "whether it changes");
	h->config_digest = r->seen;
	memcpy(h->config_path, r->path, sizeof(h->config_path));
	if (r->seen_err)
		h->config_path[0] = 0;
	h->key_mtime_ns = 0;
	h->key_path[0] = 0;
	if (c->keys.n) {
		path_absolute(c->auth, h->key_path);
		h->key_mtime_ns = file_mtime_ns(c->auth);
		recorder_said(r, c->auth, h->key_mtime_ns ? 0 : -errno, "whether the key file changes");
	}
	recorder_write(r, c);
}

void recorder_tick(struct recorder *r, const struct pins *pins, const struct config *c, __u64 now_ns)
{
	if (now_ns < r->record.stats_ns[0] + RECORDER_STATS_NS)
		return;
	recorder_stats(r, pins, now_ns);
	recorder_write(r, c);
}

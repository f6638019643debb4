// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics for Prometheus, by libmicrohttpd.
 *
 *  1. The tick of the daemon, once a second, walks flows and VOQs anyway (to forget idle ones). They are summed up here
 *     in passing: by state, by peer, the busiest, and into histograms. A request reads no flows.
 *  2. The first request after a tick makes the text, which answers all requests until the next tick: a client that asks
 *     more than once a second costs next to nothing, and gets nothing new.
 *  3. The library runs in the daemon's own epoll and never waits. A client that does not read, or only connects, stays
 *     for METRICS_TIMEOUT_S at most, and less when places get scarce: a new client replaces the oldest one of the
 *     address with the most clients, so that held connections keep nobody waiting.
 *  4. Series are bounded: counters, managed ports, configured peers, and the configured numbers of flows and pods
 *     (default: none).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include "daemon/metrics.h"
#include "daemon/metrics/http.h"
#include "daemon/metrics/pods.h"
#include "daemon/metrics/state.h"
#include "daemon/metrics/sums.h"

const struct watcher *metrics_watcher(const struct metrics *m)
{
	return &m->watcher;
}

void metrics_tick(struct metrics *m)
{
	if (!m->wanted)
		return;
	if (m->fresh) /* there were no flows */
		tick_begin(m);
	m->fresh = true;
	pods_told_tick(m->pods);
	if (m->text)
		MHD_destroy_response(m->text); /* clients still receiving it keep it */
	m->text = NULL;
	if (!m->http && !(++m->ticks % METRICS_RETRY_TICKS))
		http_open(m);
	metrics_serve(m); /* drops clients whose time is over */
}

int metrics_fd(const struct metrics *m)
{
	return m->epoll_fd;
}

void metrics_reload(struct metrics *m, const struct config *c)
{
	int wanted = c->metrics.wanted;

	if (m->wanted && (!wanted || memcmp(&m->listen, &c->metrics.listen.at, sizeof(m->listen)))) {
		http_close(m);
		msg_info("metrics: no longer at %s", m->listen_text);
	}
	m->wanted = wanted;
	if (!wanted) {
		pods_told_free(m);
		return;
	}
	peers_take(m, c);
	m->listen = c->metrics.listen.at;
	m->listen_len = c->metrics.listen.len;
	snprintf(m->listen_text, sizeof(m->listen_text), "%s", c->metrics.listen.text);
	m->limit.next_ns = 0; /* an administrator who has just written it wants to see errors */
	tick_begin(m);
	m->fresh = true;
	if (!m->http)
		http_open(m);
}

int metrics_open(const struct pins *pins, const struct config *c, struct metrics **metrics)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->sent = calloc(METRICS_SENT_SLOTS, sizeof(*m->sent));
	if (!m->sent) {
		free(m);
		return -ENOMEM;
	}
	m->pins = pins;
	snprintf(m->pin_dir, sizeof(m->pin_dir), "%s", c->pin_dir);
	m->watcher = sums_watcher(m);
	m->start = time(NULL);
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll_fd < 0) {
		free(m->sent);
		free(m);
		return -errno;
	}
	signal(SIGPIPE, SIG_IGN); /* for a client that has left */
	metrics_reload(m, c);
	*metrics = m;
	return 0;
}

void metrics_close(struct metrics *m)
{
	if (!m)
		return;
	http_close(m);
	close(m->epoll_fd);
	free(m->peer);
	free(m->top);
	free(m->sent);
	pods_told_free(m);
	free(m);
}

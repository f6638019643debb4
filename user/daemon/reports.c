// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the ring of reports to messages (WIRE_FEEDBACK).
 *
 *  1. The first report arms a timer of a quarter of the shortest base RTT: reports until then go along. So the daemon
 *     wakes up twice for all flows of a round trip, and not at all if every flow has packets going back.
 *  2. Reports are sorted by the pair of addresses; each message has those of one pair.
 *  3. A message that cannot be sent is lost, and reported: the next round trip has another report.
 */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "daemon/reports.h"
#include "sluice/wire/wire.h"

#define REPORTS_HELD 4096 /* beyond this number some are sent in between */
#define REPORTS_WAIT_MIN_NS (50 * 1000ULL)
#define REPORTS_WAIT_MAX_NS (1000 * 1000ULL)

struct reports {
	struct ring_buffer *ring;
	int epoll_fd, timer_fd;
	int armed;
	struct report *held;
	unsigned int n;
	/* Set while they are sent: */
	const struct config *config;
	__u64 seq_base_ns;
	struct messages *messages;
};

void report_write(const struct report *r, __u64 now, struct wire_report *w)
{
	__u64 age = (now - r->rx_ns) >> WIRE_AGE_SHIFT;

	/* To the sender its own side is the source. */
	*w = (struct wire_report){ .port = { r->key.remote_port, r->key.local_port },
				   .proto = r->key.proto,
				   .flags = r->flags,
				   .flows = htons(r->flows),
				   .seq = htonl(r->seq),
				   .age = htons(age > 0xffff ? 0xffff : age),
				   .nhop_path = htons(r->nhop_path) };
	memcpy(&w->value, &r->value, sizeof(w->value));
}

/* Sends up to WIRE_REPORTS_MAX reports of one pair of addresses. */
static void reports_send(struct reports *r, const struct report *report, unsigned int n)
{
	struct wire_report entries[WIRE_REPORTS_MAX];
	struct message m = { .type = WIRE_FEEDBACK,
			     .from = report->key.local,
			     .to = report->key.remote,
			     .domain = report->key.domain,
			     .entries = entries,
			     .n = n };
	__u64 now = now_ns();
	unsigned int k;

	for (k = 0; k < n; k++)
		report_write(&report[k], now, &entries[k]);
	messages_send(r->messages, &m, r->config, r->seq_base_ns);
}

static int pair_compare(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct flow_key, proto)); /* addresses and domain */
}

static void reports_flush(struct reports *r)
{
	unsigned int from, to;

	qsort(r->held, r->n, sizeof(*r->held), pair_compare);
	for (from = 0; from < r->n; from = to) {
		for (to = from + 1; to < r->n && to - from < WIRE_REPORTS_MAX; to++)
			if (pair_compare(&r->held[from], &r->held[to]))
				break;
		reports_send(r, &r->held[from], to - from);
	}
	r->n = 0;
}

static int report_take(void *ctx, void *data, size_t size)
{
	struct reports *r = ctx;

	if (size < sizeof(struct report))
		return 0;
	memcpy(&r->held[r->n++], data, sizeof(struct report));
	if (r->n == REPORTS_HELD)
		reports_flush(r);
	return 0;
}

static __u64 wait_ns(const struct config *c)
{
	__u64 wait = REPORTS_WAIT_MAX_NS;
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		if (c->peers[k].base_rtt_ns / 4 < wait)
			wait = c->peers[k].base_rtt_ns / 4;
	return wait > REPORTS_WAIT_MIN_NS ? wait : REPORTS_WAIT_MIN_NS;
}

void reports_read(struct reports *r, const struct config *c, __u64 seq_base_ns)
{
	struct itimerspec once = {};
	__u64 ticks;

	if (!r->armed) {
		/* Until then the ring is not watched: it must not wake us for each report. */
		epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, ring_buffer__epoll_fd(r->ring), NULL);
		once.it_value.tv_nsec = wait_ns(c);
		timerfd_settime(r->timer_fd, 0, &once, NULL);
		r->armed = 1;
		return;
	}
	if (read(r->timer_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	r->armed = 0;
	r->config = c;
	r->seq_base_ns = seq_base_ns;
	ring_buffer__consume(r->ring);
	reports_flush(r);
	epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(r->ring),
		  &(struct epoll_event){ .events = EPOLLIN });
}

int reports_fd(const struct reports *r)
{
	return r->epoll_fd;
}

int reports_open(int map_fd, struct messages *messages, struct reports **reports)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct reports *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->messages = messages;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->held = calloc(REPORTS_HELD, sizeof(*r->held));
	r->ring = ring_buffer__new(map_fd, report_take, r, NULL);
	if (!r->ring || !r->held || r->epoll_fd < 0 || r->timer_fd < 0 ||
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->timer_fd, &ev) ||
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(r->ring), &ev)) {
		err = errno ? -errno : -ENOMEM;
		reports_close(r);
		return err;
	}
	*reports = r;
	return 0;
}

static void fd_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void reports_close(struct reports *r)
{
	if (!r)
		return;
	ring_buffer__free(r->ring);
	fd_close(r->epoll_fd);
	fd_close(r->timer_fd);
	free(r->held);
	free(r);
}

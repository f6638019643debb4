// SPDX-License-Identifier: GPL-2.0-only
/*
 * R for the hosts behind this switch (HierCC, section 3.3).
 *
 *  1. hop reports by a ring that a host has asked, with the current R. The answer goes out when the ring has been read:
 *     all entries for one host, up to WIRE_REPORTS_MAX, in one message.
 *  2. Hosts that asked are remembered for TOR_ASKER_NS, by VOQ: when a VOQ stops its hosts, or lets them continue, all
 *     of them are told unasked. The answer to the next question makes up for a lost message.
 *  3. A message comes in the name of the destination, which the host knows as a peer.
 */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/tor.h"

#define TOR_ASKERS 16384 /* pairs of host and destination; further ones are told only when they ask */
#define TOR_BUCKETS 4096
#define TOR_ASKER_NS NSEC_PER_SEC /* a stopped host that sends a packet or two per ms is still known */
#define TOR_ANSWERS 1024

/* A host that asks about a destination. */
struct asker {
	struct asker *next;
	struct voq_key voq;
	struct sluice_addr host, dst;
	__u64 asked_ns;
};

struct answer {
	struct sluice_addr host, dst;
	struct wire_rate rate;
};

struct tor {
	struct ring_buffer *ring;
	struct messages *messages;
	struct asker *askers, *unused;
	struct asker *buckets[TOR_BUCKETS];
	struct answer answers[TOR_ANSWERS];
	unsigned int n;
	const struct config *config; /* set while tor_run() runs */
	__u64 seq_base_ns;
	__u64 now_ns;
	struct msg_limit full_limit;
};

static struct asker **bucket_of(struct tor *t, const struct voq_key *voq)
{
	const __u32 *w = (const __u32 *)voq;
	__u32 h = 0;
	unsigned int k;

	for (k = 0; k < sizeof(*voq) / 4; k++)
		h = (h ^ w[k]) * 0x9e3779b1;
	return &t->buckets[(h >> 16) % TOR_BUCKETS];
}

static void asker_note(struct tor *t, const struct tor_news *n)
{
	struct asker **b = bucket_of(t, &n->voq), *a;

	for (a = *b; a; a = a->next)
		if (!memcmp(&a->host, &n->host, sizeof(a->host)) && !memcmp(&a->dst, &n->dst, sizeof(a->dst)) &&
		    !memcmp(&a->voq, &n->voq, sizeof(a->voq)))
			break;
	if (!a) {
		a = t->unused;
		if (!a) {
			msg_limited(&t->full_limit, 60,
				    "more than %u pairs of host and destination ask for R at once: the others hear of a stop only with the next answer",
				    TOR_ASKERS);
			return;
		}
		t->unused = a->next;
		*a = (struct asker){ .next = *b, .voq = n->voq, .host = n->host, .dst = n->dst };
		*b = a;
	}
	a->asked_ns = t->now_ns;
}

/* --- answers --- */

static int answer_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sluice_addr));
}

static void answers_send(struct tor *t, const struct answer *answers, unsigned int n)
{
	struct wire_rate entries[WIRE_REPORTS_MAX];
	struct message m = { .type = WIRE_RATE, .from = answers->dst, .to = answers->host, .entries = entries, .n = n };
	unsigned int k;

	for (k = 0; k < n; k++)
		entries[k] = answers[k].rate;
	messages_send(t->messages, &m, t->config, t->seq_base_ns);
}

static void answers_flush(struct tor *t)
{
	unsigned int from, to;

	qsort(t->answers, t->n, sizeof(*t->answers), answer_compare);
	for (from = 0; from < t->n; from = to) {
		for (to = from + 1; to < t->n && to - from < WIRE_REPORTS_MAX; to++)
			if (answer_compare(&t->answers[from], &t->answers[to]))
				break;
		answers_send(t, &t->answers[from], to - from);
	}
	t->n = 0;
}

static void answer_add(struct tor *t, const struct tor_news *n, const struct sluice_addr *host,
		       const struct sluice_addr *dst)
{
	__u64 kbps = n->flags & TOR_NEWS_STOPPED ? 0 : (n->rate_bps + 999) / 1000;
	struct answer *a = &t->answers[t->n++];

	*a = (struct answer){ .host = *host, .dst = *dst };
	memcpy(a->rate.addr, dst, sizeof(a->rate.addr));
	a->rate.kbps = htonl(kbps < 0xffffffff ? kbps : 0xffffffff);
	a->rate.prefixlen = 128;
	a->rate.flags = n->rate_bps ? 0 : WIRE_RATE_ALONE;
	if (t->n == TOR_ANSWERS)
		answers_flush(t);
}

static int tor_news_take(void *ctx, void *data, size_t size)
{
	const struct tor_news *n = data;
	const struct asker *a;
	struct tor *t = ctx;

	if (size < sizeof(*n))
		return 0;
	if (n->flags & TOR_NEWS_ASKED) {
		asker_note(t, n);
		answer_add(t, n, &n->host, &n->dst);
		return 0;
	}
	for (a = *bucket_of(t, &n->voq); a; a = a->next)
		if (!memcmp(&a->voq, &n->voq, sizeof(a->voq)))
			answer_add(t, n, &a->host, &a->dst);
	return 0;
}

void tor_run(struct tor *t, const struct config *c, __u64 seq_base_ns)
{
	t->config = c;
	t->seq_base_ns = seq_base_ns;
	t->now_ns = now_ns();
	ring_buffer__consume(t->ring);
	answers_flush(t);
}

void tor_tick(struct tor *t)
{
	__u64 now = now_ns();
	unsigned int k;

	for (k = 0; k < TOR_BUCKETS; k++) {
		struct asker **at = &t->buckets[k], *a;

		while ((a = *at)) {
			if (now < a->asked_ns + TOR_ASKER_NS) {
				at = &a->next;
				continue;
			}
			*at = a->next;
			a->next = t->unused;
			t->unused = a;
		}
	}
}

/* --- begin and end --- */

int tor_fd(const struct tor *t)
{
	return ring_buffer__epoll_fd(t->ring);
}

int tor_open(int map_fd, struct messages *messages, struct tor **tor)
{
	struct tor *t = calloc(1, sizeof(*t));
	unsigned int k;
	int err;

	if (!t)
		return -ENOMEM;
	t->messages = messages;
	t->askers = calloc(TOR_ASKERS, sizeof(*t->askers));
	t->ring = ring_buffer__new(map_fd, tor_news_take, t, NULL);
	if (!t->askers || !t->ring) {
		err = errno ? -errno : -ENOMEM;
		tor_close(t);
		return err;
	}
	for (k = 0; k < TOR_ASKERS; k++) {
		t->askers[k].next = t->unused;
		t->unused = &t->askers[k];
	}
	*tor = t;
	return 0;
}

void tor_close(struct tor *t)
{
	if (!t)
		return;
	ring_buffer__free(t->ring);
	free(t->askers);
	free(t);
}

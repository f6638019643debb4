// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the ring of reports to messages (WIRE_FEEDBACK).
 *
 *  1. The first report that comes arms a timer of a quarter of the shortest base RTT: what comes until then
 *     goes along. So the daemon wakes up twice for all flows of a round trip, and not at all where every flow
 *     has something to ride back on.
 *  2. Reports are sorted by the pair of addresses; each message has those of one pair. The source is the
 *     address that the flow's packets went to, which on a node is a pod's: hence raw sockets with the header
 *     by us.
 *  3. What cannot be sent is lost, and said: the next round trip has another report.
 */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "reports.h"
#include "sluice/wire.h"

#define REPORTS_HELD 4096 /* more in one go are sent in between */
#define REPORTS_WAIT_MIN_NS (50 * 1000ULL)
#define REPORTS_WAIT_MAX_NS (1000 * 1000ULL)
#define REPORTS_TTL 64
#ifndef IPV6_HDRINCL
#define IPV6_HDRINCL 36
#endif

struct reports {
	struct ring_buffer *ring;
	int epoll_fd, timer_fd, raw4, raw6;
	int armed;
	struct report *held;
	unsigned int n;
	/* While they are sent: */
	const struct config *config;
	__u64 seq_base_ns, seq;
	struct msg_limit limit;
};

static void put16(void *at, __u16 v)
{
	v = htons(v);
	memcpy(at, &v, sizeof(v));
}

unsigned int reports_message(const struct report *report, unsigned int n, __u64 now,
			     const struct auth_keys *keys, __u64 seq, void *buf)
{
	struct wire_batch_text text = {};
	struct wire_shim *shim = buf;
	struct wire_hdr *hdr = buf + sizeof(*shim);
	struct wire_auth auth;
	unsigned int bytes, k;
	__u64 tag;

	*hdr = (struct wire_hdr){ .version_msg = WIRE_VERSION << 4 | WIRE_FEEDBACK,
				  .max_hops = n,
				  .flags = keys->n ? WIRE_F_AUTH : 0 };
	bytes = wire_length(hdr);
	*shim = (struct wire_shim){ .type_npt = WIRE_SHIM_TYPE_NPT,
				    .length_words = (bytes - sizeof(*shim)) / 4,
				    .ip_proto = WIRE_NO_NEXT_HEADER };
	for (k = 0; k < n; k++) {
		const struct report *r = &report[k];
		__u64 age = (now - r->rx_ns) >> WIRE_AGE_SHIFT;
		struct wire_report *w = &text.report[k];

		/* To the sender its own side is the source. */
		w->port[0] = r->key.remote_port;
		w->port[1] = r->key.local_port;
		w->proto = r->key.proto;
		w->flags = r->flags;
		w->flows = htons(r->flows);
		w->seq = htonl(r->seq);
		w->age = htons(age > 0xffff ? 0xffff : age);
		w->nhop_path = htons(r->nhop_path);
		memcpy(&w->value, &r->value, sizeof(w->value));
	}
	memcpy(buf + WIRE_HDR_BYTES, text.report, n * sizeof(text.report[0]));
	if (!keys->n)
		return bytes;
	memcpy(text.src, &report->key.local, sizeof(text.src));
	memcpy(text.dst, &report->key.remote, sizeof(text.dst));
	text.hdr = *hdr;
	text.seq_high = auth.seq_high = htonl(seq >> 32);
	text.seq_low = auth.seq_low = htonl((__u32)seq);
	tag = siphash(&keys->key[0], (const __u32 *)&text,
		      (sizeof(text) - sizeof(text.report) + n * sizeof(text.report[0])) / 4, sizeof(text) / 4);
	auth.tag_high = htonl(tag >> 32);
	auth.tag_low = htonl((__u32)tag);
	memcpy(buf + bytes - sizeof(auth), &auth, sizeof(auth));
	return bytes;
}

/* IPv4: the kernel fills in length and checksum. */
static ssize_t send4(int fd, const struct flow_key *key, unsigned char *packet, unsigned int udp_bytes)
{
	struct iphdr *ip = (void *)(packet + sizeof(struct ip6_hdr) - sizeof(*ip));
	struct sockaddr_in to = { .sin_family = AF_INET };

	memcpy(&to.sin_addr, &key->remote.b[12], 4);
	*ip = (struct iphdr){ .version = 4, .ihl = 5, .ttl = REPORTS_TTL, .protocol = IPPROTO_UDP,
			      .frag_off = htons(IP_DF) };
	memcpy(&ip->saddr, &key->local.b[12], 4);
	memcpy(&ip->daddr, &key->remote.b[12], 4);
	return sendto(fd, ip, sizeof(*ip) + udp_bytes, 0, (struct sockaddr *)&to, sizeof(to));
}

static ssize_t send6(int fd, const struct flow_key *key, unsigned char *packet, unsigned int udp_bytes)
{
	struct ip6_hdr *ip = (void *)packet;
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

	memcpy(&to.sin6_addr, &key->remote, 16);
	*ip = (struct ip6_hdr){};
	ip->ip6_vfc = 6 << 4;
	ip->ip6_plen = htons(udp_bytes);
	ip->ip6_nxt = IPPROTO_UDP;
	ip->ip6_hlim = REPORTS_TTL;
	memcpy(&ip->ip6_src, &key->local, 16);
	memcpy(&ip->ip6_dst, &key->remote, 16);
	return sendto(fd, packet, sizeof(*ip) + udp_bytes, 0, (struct sockaddr *)&to, sizeof(to));
}

/* Up to WIRE_REPORTS_MAX of one pair of addresses. */
static void reports_send(struct reports *r, const struct report *report, unsigned int n)
{
	unsigned char packet[sizeof(struct ip6_hdr) + sizeof(struct udphdr) + REPORTS_MESSAGE_MAX];
	unsigned char *udp = packet + sizeof(struct ip6_hdr);
	__u64 now = now_ns();
	unsigned int bytes;
	char text[PREFIX_STRLEN];
	ssize_t sent;

	r->seq = now + r->seq_base_ns > r->seq ? now + r->seq_base_ns : r->seq + 1;
	bytes = sizeof(struct udphdr) + reports_message(report, n, now, &r->config->keys, r->seq,
							udp + sizeof(struct udphdr));
	put16(udp, r->config->port);
	put16(udp + 2, r->config->port);
	put16(udp + 4, bytes);
	put16(udp + 6, 0);
	if (addr_is_v4(&report->key.remote))
		sent = send4(r->raw4, &report->key, packet, bytes);
	else
		sent = send6(r->raw6, &report->key, packet, bytes);
	if (sent < 0)
		msg_limited(&r->limit, 60, "feedback to %s could not be sent: %s",
			    addr_format(&report->key.remote, text), strerror(errno));
}

static int pair_compare(const void *a, const void *b)
{
	return memcmp(a, b, offsetof(struct flow_key, local_port));
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
		/* Until then the ring is not looked at: it is not asked to wake us for each. */
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

int reports_open(int map_fd, struct reports **reports)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct reports *r = calloc(1, sizeof(*r));
	int one = 1, err;

	if (!r)
		return -ENOMEM;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r->raw4 = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	r->raw6 = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	r->held = calloc(REPORTS_HELD, sizeof(*r->held));
	r->ring = ring_buffer__new(map_fd, report_take, r, NULL);
	/* A kernel without IPv6 has no such reports, either. */
	if (!r->ring || !r->held || r->epoll_fd < 0 || r->timer_fd < 0 || r->raw4 < 0 ||
	    (r->raw6 >= 0 && setsockopt(r->raw6, IPPROTO_IPV6, IPV6_HDRINCL, &one, sizeof(one))) ||
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
	fd_close(r->raw4);
	fd_close(r->raw6);
	free(r->held);
	free(r);
}

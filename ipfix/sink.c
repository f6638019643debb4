// SPDX-License-Identifier: GPL-2.0-only
/* A collector by UDP or TCP, or a file. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ipfix/sink.h"

#define SINK_UDP_BYTES 1400 /* a message in one packet of any usual path */
#define SINK_BYTES 16384
#define SINK_BACKOFF_NS NSEC_PER_SEC /* doubled up to the most: */
#define SINK_BACKOFF_MAX_NS (60 * NSEC_PER_SEC)
#define SINK_DEAD_MS 60000 /* a connection on which nothing is acknowledged for this long is dead */

struct sink_message {
	struct sink_message *next;
	size_t bytes;
	unsigned int records;
	__u8 data[];
};

int sink_parse(struct sink *s, const char *text)
{
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->end = &s->first;
	s->name = text;
	s->backoff_ns = SINK_BACKOFF_NS;
	s->kind = !strncmp(text, "tcp:", 4) ? SINK_TCP : SINK_UDP;
	if (!strncmp(text, "file:/", 6)) {
		s->kind = SINK_FILE;
		s->path = text + 5;
		return 0;
	}
	if ((!strncmp(text, "tcp:", 4) || !strncmp(text, "udp:", 4)) && text[4] != '/' &&
	    !listen_parse(text + 4, &s->address, &s->address_bytes))
		return 0;
	msg("'%s' is no collector: write udp:ADDRESS:PORT, tcp:ADDRESS:PORT or file:/PATH, for example udp:192.0.2.7:4739 or tcp:[2001:db8::7]:4739 (an address: names are not looked up)",
	    text);
	return -EINVAL;
}

__u16 sink_message_max(const struct sink *s)
{
	return s->kind == SINK_UDP ? SINK_UDP_BYTES : SINK_BYTES;
}

/* --- opening and closing --- */

void sink_close(struct sink *s)
{
	struct sink_message *m;

	while ((m = s->first)) {
		s->lost += m->records;
		s->first = m->next;
		free(m);
	}
	s->end = &s->first;
	s->queued_bytes = s->sent_bytes = 0;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->state = SINK_CLOSED;
}

/* Says a failure once, and when the next one is another. */
static void sink_failed(struct sink *s, int err)
{
	if (err != s->err)
		msg("%s: %s%s", s->name, strerror(-err),
		    s->kind == SINK_TCP ? ": is the collector running? It is tried again" : ": it is tried again");
	s->err = err;
	sink_close(s);
	s->again_ns = now_ns() + s->backoff_ns;
	s->backoff_ns = s->backoff_ns * 2 < SINK_BACKOFF_MAX_NS ? s->backoff_ns * 2 : SINK_BACKOFF_MAX_NS;
}

static void sink_works(struct sink *s)
{
	s->backoff_ns = SINK_BACKOFF_NS;
	s->err = 0;
	msg_info("exporting to %s", s->name);
}

/* After a failure by UDP only a datagram that was sent shows that it works again. */
static void sink_opened(struct sink *s)
{
	s->state = SINK_OPEN;
	s->sessions++;
	if (s->kind != SINK_UDP || s->backoff_ns == SINK_BACKOFF_NS)
		sink_works(s);
}

static int file_open(struct sink *s)
{
	struct stat st;

	s->fd = open(s->path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0640);
	if (s->fd < 0 || fstat(s->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	sink_opened(s);
	return 0;
}

static int collector_open(struct sink *s)
{
	const unsigned int dead_ms = SINK_DEAD_MS;
	int type = s->kind == SINK_TCP ? SOCK_STREAM : SOCK_DGRAM;

	s->fd = socket(s->address.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	if (s->kind == SINK_TCP && setsockopt(s->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms)))
		return -errno;
	if (!connect(s->fd, (struct sockaddr *)&s->address, s->address_bytes))
		sink_opened(s);
	else if (errno == EINPROGRESS)
		s->state = SINK_CONNECTING;
	else
		return -errno;
	return 0;
}

int sink_ready(struct sink *s)
{
	int err;

	if (s->state == SINK_CLOSED && now_ns() >= s->again_ns) {
		err = s->kind == SINK_FILE ? file_open(s) : collector_open(s);
		if (err)
			sink_failed(s, err);
	}
	return s->state == SINK_OPEN;
}

void sink_reopen(struct sink *s)
{
	sink_close(s);
	s->again_ns = 0;
	s->backoff_ns = SINK_BACKOFF_NS;
	s->err = 0;
}

/* --- sending --- */

/* The error of an earlier datagram (ICMP) comes with a later one, which was not sent then. */
static int datagram_send(const struct sink *s, const void *message, size_t bytes)
{
	ssize_t n = send(s->fd, message, bytes, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN)
		n = send(s->fd, message, bytes, MSG_NOSIGNAL);
	return n < 0 ? -errno : 0;
}

/* A message that was written in part, as on a full disk, is taken out again. */
static int file_write(const struct sink *s, const void *message, size_t bytes)
{
	off_t at = lseek(s->fd, 0, SEEK_END);
	ssize_t n = write(s->fd, message, bytes);

	if (n == (ssize_t)bytes)
		return 0;
	if (n < 0)
		return -errno;
	return ftruncate(s->fd, at) ? -errno : -ENOSPC;
}

/* Sends as much of the queue as the connection takes. */
static void queue_send(struct sink *s)
{
	struct sink_message *m;
	ssize_t n;

	while ((m = s->first)) {
		n = send(s->fd, m->data + s->sent_bytes, m->bytes - s->sent_bytes, MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			sink_failed(s, -errno);
			return;
		}
		s->sent_bytes += n;
		if (s->sent_bytes < m->bytes)
			return;
		s->messages++;
		s->records += m->records;
		s->queued_bytes -= m->bytes;
		s->sent_bytes = 0;
		s->first = m->next;
		if (!s->first)
			s->end = &s->first;
		free(m);
	}
}

static int queue_add(struct sink *s, const void *message, size_t bytes, unsigned int records)
{
	struct sink_message *m = s->queued_bytes + bytes <= SINK_QUEUE_MAX ? malloc(sizeof(*m) + bytes) : NULL;

	if (!m)
		return -ENOBUFS;
	*m = (struct sink_message){ .bytes = bytes, .records = records };
	memcpy(m->data, message, bytes);
	*s->end = m;
	s->end = &m->next;
	s->queued_bytes += bytes;
	return 0;
}

void sink_send(struct sink *s, const void *message, size_t bytes, unsigned int records)
{
	int err;

	if (s->state != SINK_OPEN) {
		s->lost += records;
		return;
	}
	if (s->kind == SINK_TCP) {
		if (queue_add(s, message, bytes, records))
			s->lost += records;
		queue_send(s);
		return;
	}
	err = s->kind == SINK_UDP ? datagram_send(s, message, bytes) : file_write(s, message, bytes);
	s->lost += err ? records : 0;
	s->records += err ? 0 : records;
	s->messages += !err;
	/* The source address of a socket is fixed: a host that has another one since needs another socket. */
	if (err && s->kind == SINK_UDP && err != -ECONNREFUSED && err != -EAGAIN) {
		sink_failed(s, err);
		return;
	}
	if (!err && s->backoff_ns != SINK_BACKOFF_NS)
		sink_works(s);
	if (err && err != s->err && err != -ECONNREFUSED)
		msg("%s: %s: records are lost", s->name, strerror(-err));
	s->err = err;
}

/* --- waiting --- */

/* The collector says nothing in IPFIX: what can be read is the end, or is ignored. */
static void connection_serve(struct sink *s, short events)
{
	char ignored[512];
	socklen_t len = sizeof(int);
	int err = 0;
	ssize_t n;

	if (s->state == SINK_CONNECTING) {
		if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err)
			sink_failed(s, -(err ?: errno));
		else
			sink_opened(s);
		return;
	}
	if (events & ~POLLOUT) {
		n = recv(s->fd, ignored, sizeof(ignored), 0);
		if (!n || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			sink_failed(s, n ? -errno : -EPIPE);
			return;
		}
	}
	queue_send(s);
}

void sink_wait(struct sink *s, __u64 until_ns, const sigset_t *mask)
{
	struct pollfd p = { .fd = s->kind == SINK_TCP ? s->fd : -1, .events = POLLIN };
	__u64 now = now_ns(), left = until_ns > now ? until_ns - now : 0;
	struct timespec timeout = { left / NSEC_PER_SEC, left % NSEC_PER_SEC };

	if (s->state == SINK_CONNECTING || s->first)
		p.events |= POLLOUT;
	if (ppoll(&p, 1, &timeout, mask) > 0)
		connection_serve(s, p.revents);
}

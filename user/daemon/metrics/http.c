// SPDX-License-Identifier: GPL-2.0-only
/* Requests, the clients that make them, and the listening socket. */
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "daemon/metrics.h"
#include "daemon/metrics/http.h"
#include "daemon/metrics/state.h"
#include "daemon/metrics/text.h"

/* Places kept free: the library accepts up to 10 clients before it handles those that are dismissed. */
#define METRICS_PLACES (METRICS_CLIENTS - 12)
#define METRICS_ROUNDS 32 /* rounds of serving before other work */
#define METRICS_TIMEOUT_S 3
#define METRICS_CLIENT_BYTES 8192 /* bytes of a request and the head of its answer */

/* --- requests --- */

static enum MHD_Result answer_words(struct MHD_Connection *c, unsigned int status, const char *words)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(words), (void *)words, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result answer(void *metrics, struct MHD_Connection *c, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_bytes, void **state)
{
	struct metrics *m = metrics;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_words(c, MHD_HTTP_METHOD_NOT_ALLOWED, "sluiced takes GET and HEAD\n");
	if (strcmp(url, "/metrics"))
		return answer_words(c, MHD_HTTP_NOT_FOUND, "sluiced has its metrics at /metrics\n");
	if (!m->text)
		m->text = text_make(m);
	if (!m->text)
		return answer_words(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "sluiced cannot read its counters\n");
	return MHD_queue_response(c, MHD_HTTP_OK, m->text);
}

/* --- clients --- */

static struct sluice_addr client_addr(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *at = info ? info->client_addr : NULL;
	struct sluice_addr addr = {};

	if (at && at->sa_family == AF_INET)
		memcpy(&addr, &((const struct sockaddr_in *)at)->sin_addr, 4);
	else if (at && at->sa_family == AF_INET6)
		memcpy(&addr, &((const struct sockaddr_in6 *)at)->sin6_addr, sizeof(addr));
	return addr;
}

/* The number of clients of an address. */
static unsigned int clients_of(const struct metrics *m, const struct sluice_addr *addr)
{
	unsigned int i, n = 0;

	for (i = 0; i < m->clients; i++)
		n += !memcmp(&m->client[i].addr, addr, sizeof(*addr));
	return n;
}

static void client_remove(struct metrics *m, unsigned int i)
{
	m->clients--;
	memmove(&m->client[i], &m->client[i + 1], (m->clients - i) * sizeof(m->client[0]));
}

/*
 * Dismisses the oldest client of the address with the most clients: its end of the connection is closed, and the
 * library does the rest. No other address has more than half of the places, so the search ends there: a flood would
 * make it expensive.
 */
static void client_dismiss(struct metrics *m)
{
	const union MHD_ConnectionInfo *info;
	unsigned int i, n, most = 0, victim = 0;

	for (i = 0; i < m->clients && most <= METRICS_PLACES / 2; i++) {
		n = clients_of(m, &m->client[i].addr);
		if (n > most) {
			most = n;
			victim = i;
		}
	}
	info = MHD_get_connection_info(m->client[victim].connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
	client_remove(m, victim);
}

static void client_follow(void *metrics, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct metrics *m = metrics;
	unsigned int i;

	(void)context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		m->client[m->clients++] = (struct client){ connection, client_addr(connection) };
		if (m->clients > METRICS_PLACES)
			client_dismiss(m);
		return;
	}
	for (i = 0; i < m->clients; i++)
		if (m->client[i].connection == connection)
			client_remove(m, i);
}

/* --- listening --- */

/* Removes the socket that an earlier daemon left; one that still listens keeps its place. */
static void socket_stale_remove(const struct sockaddr_un *at)
{
	struct stat st;
	int fd;

	if (lstat(at->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) && errno == ECONNREFUSED)
		unlink(at->sun_path);
	if (fd >= 0)
		close(fd);
}

/* Opens the socket; returns it, or -errno. */
static int listen_open(const struct metrics *m)
{
	const int one = 1;
	int fd = socket(m->listen.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;
	mode_t mask;

	if (fd < 0)
		return -errno;
	if (m->listen.ss_family == AF_UNIX)
		socket_stale_remove((const struct sockaddr_un *)&m->listen);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	mask = umask(0117); /* for owner and group */
	err = bind(fd, (const struct sockaddr *)&m->listen, m->listen_len) || listen(fd, SOMAXCONN) ? -errno : 0;
	umask(mask);
	if (!err)
		return fd;
	close(fd);
	return err;
}

void http_open(struct metrics *m)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = listen_open(m);

	if (fd < 0) {
		msg_limited(
			&m->limit, 600,
			"metrics: %s: %s: there are none for now, and all else goes on; this is tried again every %u s, or write another metrics: listen",
			m->listen_text, strerror(-fd), METRICS_RETRY_TICKS);
		return;
	}
	m->http = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, m, MHD_OPTION_LISTEN_SOCKET, fd,
				   MHD_OPTION_CONNECTION_LIMIT, METRICS_CLIENTS, MHD_OPTION_CONNECTION_TIMEOUT,
				   METRICS_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)METRICS_CLIENT_BYTES,
				   MHD_OPTION_NOTIFY_CONNECTION, client_follow, m, MHD_OPTION_END);
	if (!m->http) {
		close(fd);
		msg_limited(&m->limit, 600, "metrics: %s: libmicrohttpd does not start: there are none",
			    m->listen_text);
		return;
	}
	if (epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, MHD_get_daemon_info(m->http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		      &ev))
		msg("metrics: waiting for clients: %s: they are answered once a second until the next start",
		    strerror(errno));
	msg_info("metrics: at %s", m->listen_text);
}

void http_close(struct metrics *m)
{
	if (m->text)
		MHD_destroy_response(m->text);
	m->text = NULL;
	if (!m->http)
		return;
	MHD_stop_daemon(m->http); /* closes the sockets, and its epoll leaves ours */
	m->http = NULL;
	if (m->listen.ss_family == AF_UNIX && unlink(((struct sockaddr_un *)&m->listen)->sun_path) && errno != ENOENT)
		msg("metrics: removing the socket %s: %s: it stays, and nobody listens there; the next sluiced removes it",
		    m->listen_text, strerror(errno));
}

void metrics_serve(struct metrics *m)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	int rounds = 0;

	/* Serves the current clients for a bounded time: the epoll brings back the rest. */
	while (m->http && MHD_run(m->http) == MHD_YES && rounds++ < METRICS_ROUNDS &&
	       MHD_get_timeout(m->http, &wait_ms) == MHD_YES && !wait_ms)
		;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-flows: finite TCP flows that start when they are told to, each on a connection of its
 * own, with both ends in this process so that one clock sees the start and the end.
 *
 *	lab-flows -o FILE [-t MAX_US] [-r FILE -n N] -f START_US,SENDER,RECEIVER,ADDRESS,BYTES ...
 *
 * A flow starts with its connect() and ends when the receiver has read the last byte. Writes
 * `flow,start_us,end_us,bytes`; a flow that did not end within -t has no end_us, and the exit
 * code is 1. One of 0 bytes has no end: it sends until -t. -r: each millisecond what has been received
 * of the first N flows, rows of native uint64_t: the time in microseconds, then the bytes of each.
 */
#include "lab.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define FLOWS_MAX 4096
#define FLOWS_PORT 7000
#define RECORD_US 1000

enum { KIND_LISTEN, KIND_SEND, KIND_RECEIVE };

struct flow {
	uint64_t delay_us, start_us, end_us, bytes, to_send, received;
	char sender[64], receiver[64];
	struct sockaddr_in address, local; /* local tells an accepted connection whose it is */
	int fd;
};

static struct flow flows[FLOWS_MAX];
static int flow_count, epoll_fd;

static void epoll_add(int fd, uint32_t events, int kind, int index)
{
	struct epoll_event event = {.events = events};

	event.data.u64 = (uint64_t)kind << 56 | (uint64_t)index << 32 | (uint32_t)fd;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		die("lab-flows: epoll: %s", strerror(errno));
}

static void flow_parse(const char *text)
{
	struct flow *f = &flows[flow_count];
	char address[64];

	if (flow_count == FLOWS_MAX)
		die("lab-flows: more than %d flows", FLOWS_MAX);
	f->address.sin_family = AF_INET;
	f->address.sin_port = htons(FLOWS_PORT);
	if (sscanf(text, "%lu,%63[^,],%63[^,],%63[^,],%lu", &f->delay_us, f->sender, f->receiver,
		   address, &f->bytes) != 5 ||
	    inet_pton(AF_INET, address, &f->address.sin_addr) != 1)
		die("lab-flows: %s is not START_US,SENDER,RECEIVER,ADDRESS,BYTES", text);
	f->to_send = f->bytes ? f->bytes : UINT64_MAX;
	flow_count++;
}

static void receiver_listen(int index)
{
	const struct flow *f = &flows[index];
	int one = 1, fd, i;

	for (i = 0; i < index; i++)
		if (!strcmp(flows[i].receiver, f->receiver))
			return;
	netns_enter(f->receiver);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&f->address, sizeof(f->address)) || listen(fd, FLOWS_MAX))
		die("lab-flows: cannot listen in slab-%s: %s", f->receiver, strerror(errno));
	epoll_add(fd, EPOLLIN, KIND_LISTEN, index);
}

/* The socket is made beforehand: entering a namespace must not delay the start. */
static void sender_open(struct flow *f)
{
	netns_enter(f->sender);
	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (f->fd < 0)
		die("lab-flows: socket: %s", strerror(errno));
}

static void flow_start(int index)
{
	struct flow *f = &flows[index];
	socklen_t length = sizeof(f->local);

	f->start_us = now_us();
	if (connect(f->fd, (void *)&f->address, sizeof(f->address)) && errno != EINPROGRESS)
		die("lab-flows: connect from slab-%s: %s", f->sender, strerror(errno));
	getsockname(f->fd, (void *)&f->local, &length);
	epoll_add(f->fd, EPOLLOUT, KIND_SEND, index);
}

static void flow_send(int index)
{
	static const char zeros[131072];
	struct flow *f = &flows[index];

	while (f->to_send) {
		size_t size = f->to_send < sizeof(zeros) ? f->to_send : sizeof(zeros);
		ssize_t sent = send(f->fd, zeros, size, MSG_NOSIGNAL);

		if (sent < 0) {
			if (errno == EAGAIN || errno == EINTR)
				return;
			die("lab-flows: flow %d cannot send: %s", index, strerror(errno));
		}
		f->to_send -= sent;
	}
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, f->fd, NULL);
	shutdown(f->fd, SHUT_WR);
}

static void flow_accept(int listen_fd)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	int fd = accept4(listen_fd, (void *)&peer, &length, SOCK_NONBLOCK), i;

	if (fd < 0)
		return;
	for (i = 0; i < flow_count; i++) {
		if (flows[i].local.sin_port == peer.sin_port &&
		    flows[i].local.sin_addr.s_addr == peer.sin_addr.s_addr) {
			epoll_add(fd, EPOLLIN, KIND_RECEIVE, i);
			return;
		}
	}
	die("lab-flows: a connection that is no flow");
}

/* Returns 1 when the flow has ended. */
static int flow_receive(int index, int fd)
{
	static char buffer[262144];
	struct flow *f = &flows[index];
	ssize_t size = recv(fd, buffer, sizeof(buffer), 0);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (size <= 0)
		die("lab-flows: flow %d broke after %lu bytes: %s", index, f->received,
		    size ? strerror(errno) : "closed");
	f->received += size;
	if (!f->bytes || f->received < f->bytes)
		return 0;
	f->end_us = now_us();
	close(fd);
	return 1;
}

static void flows_write(const char *path)
{
	FILE *file = fopen(path, "w");
	int i;

	if (!file)
		die("lab-flows: cannot write %s: %s", path, strerror(errno));
	fprintf(file, "flow,start_us,end_us,bytes\n");
	for (i = 0; i < flow_count; i++) {
		fprintf(file, "%d,%lu,", i, flows[i].start_us);
		if (flows[i].end_us)
			fprintf(file, "%lu", flows[i].end_us);
		fprintf(file, ",%lu\n", flows[i].bytes);
	}
	if (fclose(file))
		die("lab-flows: writing %s: %s", path, strerror(errno));
}

/* A row of what has been received of the first `count` flows. */
static void record_write(FILE *file, int count)
{
	uint64_t us = now_us();
	int i;

	fwrite(&us, sizeof(us), 1, file);
	for (i = 0; i < count; i++)
		fwrite(&flows[i].received, sizeof(flows[i].received), 1, file);
}

static FILE *record_open(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		die("lab-flows: cannot write %s: %s", path, strerror(errno));
	setvbuf(file, NULL, _IOFBF, 65536);
	return file;
}

int main(int argc, char **argv)
{
	uint64_t limit_us = 60000000, begin_us, us, wake, record_us = 0;
	int option, i, started = 0, ended = 0, finite = 0, recorded = 0, count;
	struct epoll_event events[64];
	const char *output = NULL;
	FILE *record = NULL;

	while ((option = getopt(argc, argv, "o:t:r:n:f:")) != -1) {
		switch (option) {
		case 'o':
			output = optarg;
			break;
		case 't':
			limit_us = number_parse("-t", optarg);
			break;
		case 'r':
			record = record_open(optarg);
			break;
		case 'n':
			recorded = number_parse("-n", optarg);
			break;
		case 'f':
			flow_parse(optarg);
			break;
		default:
			exit(2);
		}
	}
	if (!output || !flow_count || recorded > flow_count)
		die("lab-flows: needs -o FILE and -f FLOW, as many as -n at least");
	epoll_fd = epoll_create1(0);
	for (i = 0; i < flow_count; i++) {
		if (i && flows[i].delay_us < flows[i - 1].delay_us)
			die("lab-flows: flow %d starts before the one it follows", i);
		receiver_listen(i);
		finite += flows[i].bytes != 0;
	}
	for (i = 0; i < flow_count; i++)
		sender_open(&flows[i]);

	begin_us = now_us();
	while (ended < finite || finite < flow_count) {
		struct timespec timeout = {};

		us = now_us() - begin_us;
		if (us > limit_us)
			break;
		while (started < flow_count && flows[started].delay_us <= us)
			flow_start(started++);
		if (record && us >= record_us) {
			record_write(record, recorded);
			record_us = us - us % RECORD_US + RECORD_US;
		}
		wake = record ? record_us : us + 100000;
		if (started < flow_count && flows[started].delay_us < wake)
			wake = flows[started].delay_us;
		us = now_us() - begin_us;
		if (wake > us)
			timeout.tv_nsec = (wake - us) * 1000;
		count = epoll_pwait2(epoll_fd, events, 64, &timeout, NULL);
		for (i = 0; i < count; i++) {
			int kind = events[i].data.u64 >> 56, fd = (uint32_t)events[i].data.u64;
			int index = events[i].data.u64 >> 32 & 0xffffff;

			if (kind == KIND_LISTEN)
				flow_accept(fd);
			else if (kind == KIND_SEND)
				flow_send(index);
			else
				ended += flow_receive(index, fd);
		}
	}
	flows_write(output);
	if (record && fclose(record))
		die("lab-flows: writing what was received: %s", strerror(errno));
	if (ended < finite)
		fprintf(stderr, "lab-flows: %d of %d flows did not end in time\n", finite - ended, finite);
	return ended < finite;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-flows: flows that start when they are told to, with both ends in this process so that one clock sees
 * the start and the end.
 *
 *	lab-flows -o FILE [-t MAX_US] [-r FILE -n N] [-l FILE] -f START_US,SENDER,RECEIVER,ADDRESS,BYTES[,BPS] ...
 *
 * SENDER and RECEIVER are namespaces; SENDER/DEVICE is bound to one of its interfaces.
 *
 * A flow is one of TCP on a connection of its own, which starts with its connect() and ends when the receiver
 * has read the last byte. Writes `flow,start_us,end_us,bytes,lost,held_us`; a flow that did not end within -t has no
 * end_us, and the exit code is 1. One of 0 bytes has no end: it sends until -t. -r: each millisecond what has
 * been received of the first N flows, rows of native uint64_t: the time in microseconds, then the bytes of each.
 *
 * With BPS it is a flow of UDP that starts at BPS bit/s on the wire and stays there, as RDMA does until
 * its control reacts: full packets, one at a time, that the kernel gets when they are due. Its socket holds two,
 * so a port that is paused holds up no more, and what could not be sent meanwhile is not made up for. Lost
 * packets are not sent again: such a flow ends with the last packet that arrived, `lost` says how many did not, and
 * `held_us` how much longer its packets took to leave, from the first to the last, than at its speed. -l: when each of
 * the others left the sender's port, and how long it was on its way from there; two native uint64_t in microseconds.
 * The kernel noted both times (SO_TIMESTAMPING).
 */
#include "lab.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define FLOWS_MAX 4096
#define FLOWS_PORT 7000
#define RECORD_US 1000
#define BURST_PAYLOAD 1472 /* a full packet of UDP, */
#define BURST_WIRE 1514	   /* and what it is on the wire */
#define BURST_SOCKET 4608  /* room for two of them, the least that a socket may have */
#define BURST_BATCH 32
#define BURST_LOST_US 1000000 /* a packet that has not come after this time, while no other one came, is lost */

enum { KIND_LISTEN, KIND_SEND, KIND_RECEIVE, KIND_BURST, KIND_ARRIVAL };

/* Times of CLOCK_REALTIME in ns, which the kernel stamps with; 0: not known. */
struct packet {
	uint64_t sent_ns, received_ns;
};

/* The header of a packet's payload. */
struct label {
	uint32_t flow, number;
};

struct flow {
	uint64_t delay_us, start_us, end_us, bytes, to_send, received;
	char sender[64], device[16], receiver[64];
	struct sockaddr_in address, local; /* local tells an accepted connection whose it is */
	int fd;
	/* of UDP */
	uint64_t bps, next_ns, active_us; /* active: when a packet was sent or received last */
	struct packet *packet;
	uint32_t packets, arrived, room; /* handed over; received; places in packet[] */
	int blocked, over;
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
	char address[64], *device;

	if (flow_count == FLOWS_MAX)
		die("lab-flows: more than %d flows", FLOWS_MAX);
	f->address.sin_family = AF_INET;
	f->address.sin_port = htons(FLOWS_PORT);
	if (sscanf(text, "%lu,%63[^,],%63[^,],%63[^,],%lu,%lu", &f->delay_us, f->sender, f->receiver,
		   address, &f->bytes, &f->bps) < 5 ||
	    inet_pton(AF_INET, address, &f->address.sin_addr) != 1)
		die("lab-flows: %s is not START_US,SENDER,RECEIVER,ADDRESS,BYTES[,BPS]", text);
	device = strchr(f->sender, '/');
	if (device) {
		*device++ = 0;
		snprintf(f->device, sizeof(f->device), "%s", device);
	}
	f->to_send = f->bytes ? f->bytes : UINT64_MAX;
	flow_count++;
}

/* All packets to this host, read in the order of their arrival. */
static void burst_listen(const struct flow *f, int index)
{
	int one = 1, room = 1 << 24, fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (void *)&f->address, sizeof(f->address)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		die("lab-flows: cannot receive in slab-%s: %s", f->receiver, strerror(errno));
	epoll_add(fd, EPOLLIN, KIND_ARRIVAL, index);
}

static void receiver_listen(int index)
{
	const struct flow *f = &flows[index];
	int one = 1, fd, i;

	for (i = 0; i < index; i++)
		if (!strcmp(flows[i].receiver, f->receiver) && !flows[i].bps == !f->bps)
			return;
	netns_enter(f->receiver);
	if (f->bps) {
		burst_listen(f, index);
		return;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&f->address, sizeof(f->address)) || listen(fd, FLOWS_MAX))
		die("lab-flows: cannot listen in slab-%s: %s", f->receiver, strerror(errno));
	epoll_add(fd, EPOLLIN, KIND_LISTEN, index);
}

static void sender_bind(const struct flow *f)
{
	if (*f->device && setsockopt(f->fd, SOL_SOCKET, SO_BINDTODEVICE, f->device, strlen(f->device) + 1))
		die("lab-flows: slab-%s: cannot send by %s: %s", f->sender, f->device, strerror(errno));
}

static void burst_open(struct flow *f)
{
	int stamps = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
		     SOF_TIMESTAMPING_OPT_TSONLY;
	int send = BURST_SOCKET / 2, stamp_room = 1 << 22; /* the kernel doubles both */

	f->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	sender_bind(f);
	if (f->fd < 0 || setsockopt(f->fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof(send)) ||
	    setsockopt(f->fd, SOL_SOCKET, SO_RCVBUFFORCE, &stamp_room, sizeof(stamp_room)) ||
	    setsockopt(f->fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps)) ||
	    connect(f->fd, (void *)&f->address, sizeof(f->address)))
		die("lab-flows: cannot send from slab-%s: %s", f->sender, strerror(errno));
}

/* The socket is made beforehand: entering a namespace must not delay the start. */
static void sender_open(struct flow *f)
{
	netns_enter(f->sender);
	if (f->bps) {
		burst_open(f);
		return;
	}
	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (f->fd < 0)
		die("lab-flows: socket: %s", strerror(errno));
	sender_bind(f);
}

static void flow_start(int index)
{
	struct flow *f = &flows[index];
	socklen_t length = sizeof(f->local);

	f->start_us = now_us();
	if (f->bps) {
		f->next_ns = now_ns();
		return;
	}
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

/* When the kernel gave packets to the wire, in the order of sending. */
static void burst_stamps(struct flow *f)
{
	char control[128];
	struct msghdr message = {.msg_control = control};
	struct cmsghdr *c;

	for (;;) {
		const struct sock_extended_err *error = NULL;
		const struct scm_timestamping *times = NULL;

		message.msg_controllen = sizeof(control);
		if (recvmsg(f->fd, &message, MSG_ERRQUEUE) < 0)
			return;
		for (c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPING)
				times = (void *)CMSG_DATA(c);
			else if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR)
				error = (void *)CMSG_DATA(c);
		}
		if (!times || !error || error->ee_origin != SO_EE_ORIGIN_TIMESTAMPING ||
		    error->ee_data >= f->packets)
			continue;
		f->packet[error->ee_data].sent_ns = times->ts[0].tv_sec * 1000000000ULL + times->ts[0].tv_nsec;
	}
}

/* Hands over packets that are due, as long as the socket accepts them. */
static void burst_send(int index)
{
	static char payload[BURST_PAYLOAD];
	struct flow *f = &flows[index];
	uint64_t now = now_ns();

	while (f->to_send && f->next_ns <= now) {
		size_t size = f->to_send < sizeof(payload) ? f->to_send : sizeof(payload);

		if (f->packets == f->room) {
			f->room = f->room ? 2 * f->room : 1024;
			f->packet = realloc(f->packet, f->room * sizeof(*f->packet));
			if (!f->packet)
				die("lab-flows: out of memory");
		}
		memcpy(payload, &(struct label){index, f->packets}, sizeof(struct label));
		f->packet[f->packets] = (struct packet){};
		if (send(f->fd, payload, size < sizeof(struct label) ? sizeof(struct label) : size, 0) < 0) {
			if (errno != EAGAIN && errno != ENOBUFS)
				die("lab-flows: flow %d cannot send: %s", index, strerror(errno));
			f->blocked = 1;
			epoll_add(f->fd, EPOLLOUT, KIND_BURST, index);
			return;
		}
		f->packets++;
		f->to_send -= size;
		f->active_us = now / 1000;
		f->next_ns += BURST_WIRE * 8000000000ULL / f->bps;
		if (f->packets % BURST_BATCH == 0)
			burst_stamps(f);
	}
}

/* There is room again: continue here. Pending time stamps are an event, too. */
static void burst_resume(int index, uint32_t event)
{
	struct flow *f = &flows[index];

	burst_stamps(f);
	if (!(event & EPOLLOUT))
		return;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, f->fd, NULL);
	f->blocked = 0;
	f->next_ns = now_ns();
	burst_send(index);
}

/* Of all flows; the time at which the next packet is due. */
static uint64_t bursts_send(int started)
{
	uint64_t next = UINT64_MAX;
	int i;

	for (i = 0; i < started; i++) {
		struct flow *f = &flows[i];

		if (!f->bps || !f->to_send || f->blocked)
			continue;
		if (f->next_ns <= now_ns())
			burst_send(i);
		if (f->to_send && !f->blocked && f->next_ns < next)
			next = f->next_ns;
	}
	return next;
}

/* Reads packets of all flows to this host, of which only the label is looked at. */
static void burst_receive(int fd)
{
	static struct {
		struct label label;
		char control[64];
	} got[BURST_BATCH];
	struct mmsghdr message[BURST_BATCH];
	struct iovec part[BURST_BATCH];
	uint64_t us = now_us();
	int i, count;

	for (i = 0; i < BURST_BATCH; i++) {
		part[i] = (struct iovec){&got[i].label, sizeof(got[i].label)};
		message[i].msg_hdr = (struct msghdr){.msg_iov = &part[i], .msg_iovlen = 1, .msg_control = got[i].control,
						     .msg_controllen = sizeof(got[i].control)};
	}
	count = recvmmsg(fd, message, BURST_BATCH, MSG_TRUNC, NULL);
	for (i = 0; i < count; i++) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&message[i].msg_hdr);
		struct label *label = &got[i].label;
		struct timespec *at = (void *)CMSG_DATA(c);
		struct flow *f;

		if (label->flow >= (uint32_t)flow_count || label->number >= flows[label->flow].packets || !c)
			die("lab-flows: a packet that is of no flow");
		f = &flows[label->flow];
		f->packet[label->number].received_ns = at->tv_sec * 1000000000ULL + at->tv_nsec;
		f->received += message[i].msg_len;
		f->arrived++;
		f->active_us = f->end_us = us;
	}
}

/* Flows of UDP that are over since the last call: all arrived, or nothing comes any more. */
static int bursts_over(void)
{
	int i, over = 0;

	for (i = 0; i < flow_count; i++) {
		struct flow *f = &flows[i];

		if (!f->bps || f->over || f->to_send || f->blocked)
			continue;
		f->over = f->arrived == f->packets || now_us() > f->active_us + BURST_LOST_US;
		over += f->over;
	}
	return over;
}

/* Rows of when a packet left the sender's port and how long it took, by the clock of all other files. */
static void bursts_write(FILE *file)
{
	uint64_t real_us, between_us, row[2];
	struct timespec now;
	uint32_t k;
	int i;

	clock_gettime(CLOCK_REALTIME, &now);
	real_us = now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
	between_us = real_us - now_us();
	for (i = 0; i < flow_count; i++) {
		burst_stamps(&flows[i]);
		for (k = 0; k < flows[i].packets; k++) {
			const struct packet *p = &flows[i].packet[k];

			if (!p->sent_ns || p->received_ns < p->sent_ns)
				continue;
			row[0] = p->sent_ns / 1000 - between_us;
			row[1] = (p->received_ns - p->sent_ns) / 1000;
			fwrite(row, sizeof(row), 1, file);
		}
	}
	if (fclose(file))
		die("lab-flows: writing latencies: %s", strerror(errno));
}

/* Of one of UDP: its packets left in order. */
static uint64_t flow_held_us(struct flow *f)
{
	uint64_t first_ns = 0, last_ns = 0, own_ns;
	uint32_t k, count = 0;

	if (f->packets)
		burst_stamps(f);
	for (k = 0; k < f->packets; k++) {
		if (!f->packet[k].sent_ns)
			continue;
		last_ns = f->packet[k].sent_ns;
		first_ns = first_ns ? first_ns : last_ns;
		count++;
	}
	own_ns = count ? (count - 1) * (BURST_WIRE * 8000000000ULL / f->bps) : 0;
	return last_ns > first_ns + own_ns ? (last_ns - first_ns - own_ns) / 1000 : 0;
}

static void flows_write(const char *path)
{
	FILE *file = fopen(path, "w");
	int i;

	if (!file)
		die("lab-flows: cannot write %s: %s", path, strerror(errno));
	fprintf(file, "flow,start_us,end_us,bytes,lost,held_us\n");
	for (i = 0; i < flow_count; i++) {
		fprintf(file, "%d,%lu,", i, flows[i].start_us);
		if (flows[i].end_us)
			fprintf(file, "%lu", flows[i].end_us);
		fprintf(file, ",%lu,%u,%lu\n", flows[i].bytes,
			flows[i].bytes ? flows[i].packets - flows[i].arrived : 0, flow_held_us(&flows[i]));
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

static FILE *file_open(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		die("lab-flows: cannot write %s: %s", path, strerror(errno));
	setvbuf(file, NULL, _IOFBF, 65536);
	return file;
}

int main(int argc, char **argv)
{
	uint64_t limit_us = 60000000, begin_us, us, wake, due_ns, wait_ns, record_us = 0;
	int option, i, started = 0, ended = 0, finite = 0, recorded = 0, count;
	struct epoll_event events[64];
	const char *output = NULL;
	FILE *record = NULL, *latency = NULL;

	while ((option = getopt(argc, argv, "o:t:r:n:l:f:")) != -1) {
		switch (option) {
		case 'o':
			output = optarg;
			break;
		case 't':
			limit_us = number_parse("-t", optarg);
			break;
		case 'r':
			record = file_open(optarg);
			break;
		case 'n':
			recorded = number_parse("-n", optarg);
			break;
		case 'l':
			latency = file_open(optarg);
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
		due_ns = bursts_send(started);
		us = now_us() - begin_us;
		wait_ns = wake > us ? (wake - us) * 1000 : 0;
		us = now_ns();
		due_ns = due_ns > us ? due_ns - us : 0;
		timeout.tv_nsec = due_ns < wait_ns ? due_ns : wait_ns;
		count = epoll_pwait2(epoll_fd, events, 64, &timeout, NULL);
		for (i = 0; i < count; i++) {
			int kind = events[i].data.u64 >> 56, fd = (uint32_t)events[i].data.u64;
			int index = events[i].data.u64 >> 32 & 0xffffff;

			if (kind == KIND_LISTEN)
				flow_accept(fd);
			else if (kind == KIND_SEND)
				flow_send(index);
			else if (kind == KIND_BURST)
				burst_resume(index, events[i].events);
			else if (kind == KIND_ARRIVAL)
				burst_receive(fd);
			else
				ended += flow_receive(index, fd);
		}
		ended += bursts_over();
	}
	flows_write(output);
	if (latency)
		bursts_write(latency);
	if (record && fclose(record))
		die("lab-flows: writing what was received: %s", strerror(errno));
	if (ended < finite)
		fprintf(stderr, "lab-flows: %d of %d flows did not end in time\n", finite - ended, finite);
	return ended < finite;
}

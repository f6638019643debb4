// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-sample: the queue of the bottleneck ports and the byte counters of the senders' ports,
 * over time.
 *
 *	lab-sample -o DIR -i INTERVAL_US [-e N] [-t US] [-m] -q SWITCH:PORT[:CLASS] ... [-r SWITCH:PORT ...]
 *		[-v MAP ...] [-p PINS] [-c SWITCH:PORT ...] [-k SWITCH:PORT:CLASS=MAP ...]
 *
 * 1. One netlink socket per namespace; all requests of a tick that go to one namespace are one
 *    message.
 * 2. Each tick asks for the root qdisc of every -q port, or a class of it (the 10 of 1:10; backlog, bytes
 *    sent, drops: DIR/queue.bin), each Nth tick for the counters of every -r port (bytes received:
 *    DIR/ports.bin). A class of the qdisc `sluice` (-k, from 0) is none of tc: it is read from the pinned map
 *    queue_classes, and follows the queues of -q. Both are rows of native uint64_t: the time in microseconds, then three
 *    numbers a queue or one a port.
 * 3. It ends on SIGTERM, or -t US after the last -r port began to carry data, which it says on
 *    stdout. SIGUSR1 is a mark: its time is printed there, too. With -m the -t US begin no earlier.
 * 4. Each tick, too, of every pinned map -v of VOQs: DIR/voqs.bin, three numbers a map: bytes that no credit
 *    covers, credit, and packets that left because there was no more of it; the sums of all its VOQs.
 * 5. With -p, where the pins of switches are that pause their neighbours (PINS/slab-SWITCH), each tick what every -r
 *    port has been told, and what part of a -q port's queue is its own. At the end DIR/pauses.csv has a line
 *    for each -r port: what was sent to it, how long it was paused, and the mean of its part while there was a
 *    queue. Then the same of each -c port, by which another switch is paused. On stdout, when a pause was seen
 *    to be sent last.
 */
#include "lab.h"

#include "sluice/abi/abi.h"
#include "sluice/queue/port.h"

#include <bpf/bpf.h>
#include <libmnl/libmnl.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <sys/mman.h>

#define TARGETS_MAX 512
#define BATCH_BYTES (TARGETS_MAX * 64)

struct target {
	char ns[64];
	char dev[IFNAMSIZ];
	int ifindex;
	unsigned int class; /* of the root qdisc 1:, hexadecimal; 0: all of that */
	struct mnl_socket *socket;
	uint64_t value[3];
	uint64_t first; /* of -r: counter at the first sample */
	int begun;
	/* With -p */
	const volatile struct pfc_slot *slots; /* of its switch */
	uint32_t slot;
	uint64_t paused_us, told, ticks; /* told: pauses sent; ticks: in which there was a queue */
	double share;		   /* sum over these */
};

struct group {
	struct target target[TARGETS_MAX];
	int count;
};

/* A class of the qdisc `sluice`. */
struct fifo {
	struct target port;
	struct queue_class_key key;
	int map;
	uint64_t value[3];
};

#define FIFOS_MAX QUEUE_CLASSES

/* A node's VOQs, by the map in which they are. */
struct rack {
	int map;
	uint64_t value[3];
};

#define RACKS_MAX 64

static struct group queues, ports, cores;
static struct rack racks[RACKS_MAX];
static int rack_count;
static struct fifo fifos[FIFOS_MAX];
static int fifo_count;
static volatile sig_atomic_t stopped;
static volatile uint64_t marked_us;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static void on_mark(int number)
{
	(void)number;
	marked_us = now_us();
}

static void target_add(struct group *group, const char *text)
{
	struct target *t = &group->target[group->count];

	if (group->count == TARGETS_MAX)
		die("lab-sample: more than %d ports", TARGETS_MAX);
	if (sscanf(text, "%63[^:]:%15[^:]:%x", t->ns, t->dev, &t->class) < 2)
		die("lab-sample: %s is not SWITCH:PORT", text);
	group->count++;
}

static void *pin_open(const char *dir, const char *name, size_t value_size, int *fd);

/* A socket per namespace, shared by the targets in it. */
static void target_open(struct target *t)
{
	static struct target *opened[TARGETS_MAX];
	static int count;
	int i;

	netns_enter(t->ns);
	t->ifindex = if_nametoindex(t->dev);
	if (!t->ifindex)
		die("lab-sample: slab-%s has no port %s", t->ns, t->dev);
	for (i = 0; i < count; i++) {
		if (!strcmp(opened[i]->ns, t->ns)) {
			t->socket = opened[i]->socket;
			return;
		}
	}
	t->socket = mnl_socket_open(NETLINK_ROUTE);
	if (!t->socket || mnl_socket_bind(t->socket, 0, MNL_SOCKET_AUTOPID))
		die("lab-sample: cannot open rtnetlink in slab-%s: %s", t->ns, strerror(errno));
	opened[count++] = t;
}

static void fifo_add(const char *text)
{
	struct fifo *f = &fifos[fifo_count];
	char path[256];
	int class;

	if (fifo_count == FIFOS_MAX)
		die("lab-sample: more than %d classes", FIFOS_MAX);
	if (sscanf(text, "%63[^:]:%15[^:]:%d=%255s", f->port.ns, f->port.dev, &class, path) != 4)
		die("lab-sample: %s is not SWITCH:PORT:CLASS=MAP", text);
	pin_open(path, "queue_classes", sizeof(struct class_seen), &f->map);
	f->key.class = class;
	fifo_count++;
}

static void fifo_open(struct fifo *f)
{
	socklen_t length = sizeof(f->key.port.netns_cookie);

	target_open(&f->port);
	f->key.port.ifindex = f->port.ifindex;
	if (getsockopt(mnl_socket_get_fd(f->port.socket), SOL_SOCKET, SO_NETNS_COOKIE, &f->key.port.netns_cookie,
		       &length))
		die("lab-sample: the number of slab-%s: %s", f->port.ns, strerror(errno));
}

static void fifos_write(FILE *file)
{
	struct class_seen seen;
	int i;

	for (i = 0; i < fifo_count; i++) {
		if (bpf_map_lookup_elem(fifos[i].map, &fifos[i].key, &seen))
			die("lab-sample: slab-%s: %s has no class %llu", fifos[i].port.ns, fifos[i].port.dev,
			    fifos[i].key.class);
		fifos[i].value[0] = seen.backlog_bytes;
		fifos[i].value[1] = seen.tx_bytes;
		fifos[i].value[2] = seen.full;
		fwrite(fifos[i].value, sizeof(fifos[i].value), 1, file);
	}
}

static size_t qdisc_request(void *buffer, const struct target *t, uint32_t seq)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct tcmsg *tc;

	header->nlmsg_type = RTM_GETQDISC;
	header->nlmsg_flags =
		NLM_F_REQUEST | NLM_F_ECHO; /* without ECHO a single one is not answered */
	header->nlmsg_seq = seq;
	tc = mnl_nlmsg_put_extra_header(header, sizeof(*tc));
	tc->tcm_ifindex = t->ifindex;
	tc->tcm_parent = TC_H_ROOT;
	if (t->class) {
		header->nlmsg_type = RTM_GETTCLASS;
		tc->tcm_handle = TC_H_MAKE(1 << 16, t->class);
		tc->tcm_parent = TC_H_UNSPEC;
	}
	return header->nlmsg_len;
}

static size_t stats_request(void *buffer, const struct target *t, uint32_t seq)
{
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct if_stats_msg *stats;

	header->nlmsg_type = RTM_GETSTATS;
	header->nlmsg_flags = NLM_F_REQUEST;
	header->nlmsg_seq = seq;
	stats = mnl_nlmsg_put_extra_header(header, sizeof(*stats));
	stats->ifindex = t->ifindex;
	stats->filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
	return header->nlmsg_len;
}

static int qdisc_stat(const struct nlattr *attr, void *data)
{
	struct target *t = data;
	const void *payload = mnl_attr_get_payload(attr);

	/* Copied: attributes are aligned to 4 bytes, these structs to 8. */
	if (mnl_attr_get_type(attr) == TCA_STATS_BASIC) {
		struct gnet_stats_basic basic;

		memcpy(&basic, payload, sizeof(basic));
		t->value[1] = basic.bytes;
	} else if (mnl_attr_get_type(attr) == TCA_STATS_QUEUE) {
		struct gnet_stats_queue queue;

		memcpy(&queue, payload, sizeof(queue));
		t->value[0] = queue.backlog;
		t->value[2] = queue.drops;
	}
	return MNL_CB_OK;
}

static int reply_attr(const struct nlattr *attr, void *data)
{
	if (mnl_attr_get_type(attr) == TCA_STATS2)
		return mnl_attr_parse_nested(attr, qdisc_stat, data);
	return MNL_CB_OK;
}

static int stats_attr(const struct nlattr *attr, void *data)
{
	struct target *t = data;

	if (mnl_attr_get_type(attr) == IFLA_STATS_LINK_64)
		memcpy(&t->value[0],
		       (char *)mnl_attr_get_payload(attr) +
			       offsetof(struct rtnl_link_stats64, rx_bytes),
		       sizeof(t->value[0]));
	return MNL_CB_OK;
}

static void reply_read(struct group *group, uint32_t first_seq, struct mnl_socket *socket)
{
	static char buffer[65536];
	const struct nlmsghdr *header = (void *)buffer;
	int length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));

	if (length < 0)
		die("lab-sample: reading rtnetlink: %s", strerror(errno));
	for (; mnl_nlmsg_ok(header, length); header = mnl_nlmsg_next(header, &length)) {
		uint32_t index = header->nlmsg_seq - first_seq;

		if (header->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = mnl_nlmsg_get_payload(header);

			die("lab-sample: the kernel refused a request: %s",
			    strerror(-error->error));
		}
		if (index >= (uint32_t)group->count)
			die("lab-sample: an answer to no question");
		if (header->nlmsg_type == RTM_NEWQDISC || header->nlmsg_type == RTM_NEWTCLASS)
			mnl_attr_parse(header, sizeof(struct tcmsg), reply_attr,
				       &group->target[index]);
		else if (header->nlmsg_type == RTM_NEWSTATS)
			mnl_attr_parse(header, sizeof(struct if_stats_msg), stats_attr,
				       &group->target[index]);
	}
}

/* Targets of one namespace follow each other, so that a run of them is one system call. */
static void group_ask(struct group *group,
		      size_t (*request)(void *, const struct target *, uint32_t))
{
	static char buffer[BATCH_BYTES];
	static uint32_t seq = 1;
	int i = 0, asked, answered;

	while (i < group->count) {
		struct mnl_socket *socket = group->target[i].socket;
		size_t length = 0;

		for (asked = i; asked < group->count && group->target[asked].socket == socket;
		     asked++)
			length += request(buffer + length, &group->target[asked], seq + asked);
		if (mnl_socket_sendto(socket, buffer, length) < 0)
			die("lab-sample: asking rtnetlink: %s", strerror(errno));
		for (answered = i; answered < asked; answered++)
			reply_read(group, seq, socket);
		i = asked;
	}
	seq += group->count;
}

static void group_write(const struct group *group, FILE *file, uint64_t us, int values)
{
	int i;

	fwrite(&us, sizeof(us), 1, file);
	for (i = 0; i < group->count; i++)
		fwrite(group->target[i].value, sizeof(uint64_t), values, file);
}

static void rack_add(const char *path)
{
	struct bpf_map_info info = {};
	__u32 length = sizeof(info);

	if (rack_count == RACKS_MAX)
		die("lab-sample: more than %d maps", RACKS_MAX);
	racks[rack_count].map = bpf_obj_get(path);
	if (racks[rack_count].map < 0)
		die("lab-sample: cannot open %s: %s", path, strerror(errno));
	if (bpf_obj_get_info_by_fd(racks[rack_count].map, &info, &length) ||
	    info.key_size != sizeof(struct voq_key) || info.value_size != sizeof(struct voq))
		die("lab-sample: %s is not of this build: make lab-tools", path);
	rack_count++;
}

static void rack_read(struct rack *rack)
{
	struct voq_key key, *last = NULL;
	struct voq voq;

	memset(rack->value, 0, sizeof(rack->value));
	while (!bpf_map_get_next_key(rack->map, last, &key)) {
		last = &key;
		if (bpf_map_lookup_elem(rack->map, &key, &voq))
			continue;
		rack->value[0] += hiercc_queue(&voq.voq, &voq.params);
		rack->value[1] += voq.voq.credit;
		rack->value[2] += voq.alone;
	}
}

static void racks_write(FILE *file)
{
	uint64_t us = now_us();
	int i;

	if (!rack_count)
		return;
	fwrite(&us, sizeof(us), 1, file);
	for (i = 0; i < rack_count; i++) {
		rack_read(&racks[i]);
		fwrite(racks[i].value, sizeof(racks[i].value), 1, file);
	}
}

static void *pin_open(const char *dir, const char *name, size_t value_size, int *fd)
{
	struct bpf_map_info info = {};
	__u32 length = sizeof(info);
	char path[512];
	void *at = NULL;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	*fd = bpf_obj_get(path);
	if (*fd < 0)
		die("lab-sample: cannot open %s: %s", path, strerror(errno));
	if (bpf_obj_get_info_by_fd(*fd, &info, &length) || info.value_size != value_size)
		die("lab-sample: %s is not of this build: make lab-tools", path);
	if (info.map_flags & BPF_F_MMAPABLE) {
		at = mmap(NULL, (size_t)info.max_entries * value_size, PROT_READ, MAP_SHARED, *fd, 0);
		if (at == MAP_FAILED)
			die("lab-sample: mapping %s: %s", path, strerror(errno));
	}
	return at;
}

/* The slots of the ports in their switches. */
static void slots_open(const char *dir, struct group *group)
{
	char pins[256];
	int i, fd;

	for (i = 0; i < group->count; i++) {
		struct target *t = &group->target[i];
		uint32_t ifindex = t->ifindex;
		struct pfc_port port;

		if (i && !strcmp(t->ns, group->target[i - 1].ns))
			t->slots = group->target[i - 1].slots;
		snprintf(pins, sizeof(pins), "%s/slab-%s", dir, t->ns);
		if (!t->slots) {
			t->slots = pin_open(pins, "pfc_slots", sizeof(struct pfc_slot), &fd);
			close(fd);
		}
		pin_open(pins, "pfc_ports", sizeof(struct pfc_port), &fd);
		if (bpf_map_lookup_elem(fd, &ifindex, &port) || port.slot >= PFC_SLOTS)
			die("lab-sample: slab-%s pauses nobody by %s", t->ns, t->dev);
		close(fd);
		t->slot = port.slot;
	}
}

static uint64_t pauses_held(const struct target *queue, const struct target *port)
{
	uint64_t bytes = 0;
	int prio;

	if (strcmp(queue->ns, port->ns))
		return 0;
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		bytes += queue->slots[queue->slot].bytes[port->slot][prio];
	return bytes;
}

static uint64_t pause_last_us;

static void paused_read(struct group *group, uint64_t elapsed_us)
{
	uint64_t now = now_ns();
	int i, prio;

	for (i = 0; i < group->count; i++) {
		struct target *t = &group->target[i];
		uint64_t sent = 0;
		int paused = 0;

		for (prio = 0; prio < PFC_PRIORITIES; prio++) {
			const volatile struct pfc_class *c = &t->slots[t->slot].of[prio];

			paused |= c->told.predict_ns > now || (c->told.xoff && c->told.until_ns > now);
			sent += c->xoffs + c->packets.predicted + c->packets.xoffs;
		}
		if (sent != t->told)
			pause_last_us = now / 1000;
		t->told = sent;
		t->paused_us += paused ? elapsed_us : 0;
	}
}

/* elapsed_us: since the last tick. */
static void pauses_read(uint64_t elapsed_us)
{
	int i, k;

	paused_read(&ports, elapsed_us);
	paused_read(&cores, elapsed_us);
	for (k = 0; k < queues.count; k++) {
		uint64_t all = 0;

		for (i = 0; i < ports.count; i++)
			all += pauses_held(&queues.target[k], &ports.target[i]);
		for (i = 0; all && i < ports.count; i++) {
			struct target *t = &ports.target[i];

			t->ticks += t->value[0] != t->first;
			t->share += (double)pauses_held(&queues.target[k], t) / all;
		}
	}
}

static FILE *file_open(const char *dir, const char *name);

static void told_write(const struct group *group, FILE *file)
{
	int i, prio;

	for (i = 0; i < group->count; i++) {
		const struct target *t = &group->target[i];
		uint64_t predicted = 0, xoffs = 0, refreshes = 0, xons = 0;

		for (prio = 0; prio < PFC_PRIORITIES; prio++) {
			const volatile struct pfc_class *c = &t->slots[t->slot].of[prio];

			predicted += c->packets.predicted;
			xoffs += c->xoffs + c->packets.xoffs;
			refreshes += c->refreshes + c->packets.refreshes;
			xons += c->xons + c->packets.xons;
		}
		fprintf(file, "%s:%s,%lu,%lu,%lu,%lu,%lu,%.5f\n", t->ns, t->dev, predicted, xoffs, refreshes, xons, t->paused_us,
			t->ticks ? t->share / t->ticks : 0);
	}
}

static void pauses_write(const char *dir)
{
	FILE *file = file_open(dir, "pauses.csv");

	fprintf(file, "port,predicted,xoffs,refreshes,xons,paused_us,share\n");
	told_write(&ports, file);
	told_write(&cores, file);
	if (fclose(file))
		die("lab-sample: writing in %s: %s", dir, strerror(errno));
}

/* How many ports have begun to carry data. */
static int ports_begun(void)
{
	int i, begun = 0;

	for (i = 0; i < ports.count; i++) {
		struct target *t = &ports.target[i];

		t->begun |= t->value[0] - t->first >= LAB_BEGUN_BYTES;
		begun += t->begun;
	}
	return begun;
}

static FILE *file_open(const char *dir, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	if (!file)
		die("lab-sample: cannot write %s: %s", path, strerror(errno));
	setvbuf(file, NULL, _IOFBF, 65536);
	return file;
}

int main(int argc, char **argv)
{
	uint64_t interval_us = 1000, every = 1, time_us = 0, next, tick, last_begun = 0, mark_told = 0, last_us;
	struct sigaction action = {.sa_handler = on_signal}, mark = {.sa_handler = on_mark};
	const char *dir = NULL, *pins = NULL;
	FILE *queue_file, *port_file, *voq_file;
	int option, i, mark_wanted = 0;

	while ((option = getopt(argc, argv, "o:i:e:t:mq:r:v:p:c:k:")) != -1) {
		switch (option) {
		case 'o':
			dir = optarg;
			break;
		case 'i':
			interval_us = number_parse("-i", optarg);
			break;
		case 'e':
			every = number_parse("-e", optarg);
			break;
		case 't':
			time_us = number_parse("-t", optarg);
			break;
		case 'm':
			mark_wanted = 1;
			break;
		case 'q':
			target_add(&queues, optarg);
			break;
		case 'r':
			target_add(&ports, optarg);
			break;
		case 'v':
			rack_add(optarg);
			break;
		case 'c':
			target_add(&cores, optarg);
			break;
		case 'k':
			fifo_add(optarg);
			break;
		case 'p':
			pins = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (!dir || !queues.count || !interval_us || !every)
		die("lab-sample: needs -o DIR, -q SWITCH:PORT, and -i and -e above 0");
	for (i = 0; i < queues.count; i++)
		target_open(&queues.target[i]);
	for (i = 0; i < ports.count; i++)
		target_open(&ports.target[i]);
	for (i = 0; i < cores.count; i++)
		target_open(&cores.target[i]);
	for (i = 0; i < fifo_count; i++)
		fifo_open(&fifos[i]);
	if (pins) {
		slots_open(pins, &queues);
		slots_open(pins, &ports);
		slots_open(pins, &cores);
	}
	queue_file = file_open(dir, "queue.bin");
	port_file = file_open(dir, "ports.bin");
	voq_file = file_open(dir, "voqs.bin");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &mark, NULL);
	realtime_enter(50);

	/* The first pass is slow (cold caches) and thrown away. */
	group_ask(&queues, qdisc_request);
	group_ask(&ports, stats_request);
	for (i = 0; i < ports.count; i++)
		ports.target[i].first = ports.target[i].value[0];
	printf("ready\n");
	fflush(stdout);

	last_us = now_us();
	next = last_us + interval_us;
	for (tick = 0; !stopped; tick++) {
		struct timespec wake = {next / 1000000, next % 1000000 * 1000};
		uint64_t us;

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL))
			continue;
		us = now_us();
		group_ask(&queues, qdisc_request);
		group_write(&queues, queue_file, us, 3);
		fifos_write(queue_file);
		racks_write(voq_file);
		if (pins)
			pauses_read(us - last_us);
		last_us = us;
		if (marked_us != mark_told) {
			mark_told = marked_us;
			printf("mark %lu\n", mark_told);
			fflush(stdout);
		}
		if (tick % every == 0 && ports.count) {
			us = now_us();
			group_ask(&ports, stats_request);
			group_write(&ports, port_file, us, 1);
			if (time_us && !last_begun && ports_begun() == ports.count &&
			    (mark_told || !mark_wanted)) {
				last_begun = us;
				printf("begun\n");
				fflush(stdout);
			}
		}
		if (last_begun && us >= last_begun + time_us)
			break;
		/* A late tick is left out, not made up for. */
		next += interval_us;
		while (next <= now_us())
			next += interval_us;
	}
	if (pins)
		pauses_write(dir);
	if (pause_last_us)
		printf("paused %lu\n", pause_last_us);
	if (fclose(queue_file) || fclose(port_file) || fclose(voq_file))
		die("lab-sample: writing in %s: %s", dir, strerror(errno));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-probe: a 64-byte UDP request and its echo through the bottleneck, both ends in this
 * process.
 *
 *	lab-probe -c CLIENT -s SERVER -a ADDRESS [-i INTERVAL_US] [-n COUNT] [-w COUNT] [-o FILE]
 *
 * Runs until SIGTERM or COUNT probes, of which the first -w are thrown away (their caches are
 * cold). Writes `t_us,rtt_us` with the time of sending; lost ones have no rtt_us. Prints the
 * median of the round trips on stdout: sent before there is load, it is the base.
 */
#include "lab.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define PROBE_PORT 7001
#define PROBE_BYTES 64
#define LOST_AFTER_US 1000000

struct probe {
	uint64_t sent_us;
	uint64_t rtt_us; /* 0: no answer (yet) */
};

static struct probe *probes;
static uint64_t probe_count, probe_room, answer_count;
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t probes_median(uint64_t skip)
{
	uint64_t *rtt = calloc(probe_count + 1, sizeof(*rtt)), i, count = 0, median;

	for (i = skip; i < probe_count; i++)
		if (probes[i].rtt_us)
			rtt[count++] = probes[i].rtt_us;
	if (!count)
		die("lab-probe: no answer came back");
	qsort(rtt, count, sizeof(*rtt), compare_u64);
	median = rtt[count / 2];
	free(rtt);
	return median;
}

static void probe_send(int fd)
{
	uint64_t payload[PROBE_BYTES / sizeof(uint64_t)] = {probe_count};

	if (probe_count == probe_room) {
		probe_room = probe_room ? 2 * probe_room : 4096;
		probes = realloc(probes, probe_room * sizeof(*probes));
		if (!probes)
			die("lab-probe: out of memory");
	}
	probes[probe_count++] = (struct probe){.sent_us = now_us()};
	if (send(fd, payload, sizeof(payload), 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
		die("lab-probe: send: %s", strerror(errno));
}

static void probe_answered(int fd)
{
	uint64_t payload[PROBE_BYTES / sizeof(uint64_t)], us = now_us();

	if (recv(fd, payload, sizeof(payload), MSG_DONTWAIT) != sizeof(payload))
		return;
	if (payload[0] >= probe_count || probes[payload[0]].rtt_us)
		return;
	probes[payload[0]].rtt_us = us - probes[payload[0]].sent_us;
	answer_count++;
}

static void echo(int fd)
{
	char payload[PROBE_BYTES];
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	ssize_t size = recvfrom(fd, payload, sizeof(payload), MSG_DONTWAIT, (void *)&from, &length);

	if (size > 0)
		sendto(fd, payload, size, 0, (void *)&from, length);
}

static void probes_write(const char *path, uint64_t skip)
{
	FILE *file = fopen(path, "w");
	uint64_t i, end = now_us();

	if (!file)
		die("lab-probe: cannot write %s: %s", path, strerror(errno));
	fprintf(file, "t_us,rtt_us\n");
	for (i = skip; i < probe_count; i++) {
		if (probes[i].rtt_us)
			fprintf(file, "%lu,%lu\n", probes[i].sent_us, probes[i].rtt_us);
		else if (end - probes[i].sent_us > LOST_AFTER_US)
			fprintf(file, "%lu,\n", probes[i].sent_us);
	}
	if (fclose(file))
		die("lab-probe: writing %s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	const char *client = NULL, *server = NULL, *output = NULL;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PROBE_PORT)};
	uint64_t interval_us = 10000, count = 0, skip = 0, expirations;
	struct itimerspec period;
	struct pollfd fds[3];
	int option, i;

	while ((option = getopt(argc, argv, "c:s:a:i:n:w:o:")) != -1) {
		switch (option) {
		case 'c':
			client = optarg;
			break;
		case 's':
			server = optarg;
			break;
		case 'a':
			if (inet_pton(AF_INET, optarg, &address.sin_addr) != 1)
				die("lab-probe: -a %s is not an address", optarg);
			break;
		case 'i':
			interval_us = number_parse("-i", optarg);
			break;
		case 'n':
			count = number_parse("-n", optarg);
			break;
		case 'w':
			skip = number_parse("-w", optarg);
			break;
		case 'o':
			output = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (!client || !server || !address.sin_addr.s_addr || !interval_us)
		die("lab-probe: needs -c CLIENT -s SERVER -a ADDRESS");

	netns_enter(server);
	fds[0].fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fds[0].fd < 0 || bind(fds[0].fd, (void *)&address, sizeof(address)))
		die("lab-probe: cannot bind in slab-%s: %s", server, strerror(errno));
	netns_enter(client);
	fds[1].fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fds[1].fd < 0 || connect(fds[1].fd, (void *)&address, sizeof(address)))
		die("lab-probe: cannot connect in slab-%s: %s", client, strerror(errno));
	fds[2].fd = timerfd_create(CLOCK_MONOTONIC, 0);
	period.it_interval = (struct timespec){interval_us / 1000000, interval_us % 1000000 * 1000};
	period.it_value = period.it_interval;
	timerfd_settime(fds[2].fd, 0, &period, NULL);
	for (i = 0; i < 3; i++)
		fds[i].events = POLLIN;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	realtime_enter(40);

	while (!stopped) {
		if (count && probe_count == count &&
		    (answer_count == count || now_us() - probes[count - 1].sent_us > 15000000))
			break;
		if (poll(fds, 3, 100) < 0)
			continue;
		if (fds[1].revents)
			probe_answered(fds[1].fd);
		if (fds[0].revents)
			echo(fds[0].fd);
		if (fds[2].revents && read(fds[2].fd, &expirations, sizeof(expirations)) > 0 &&
		    (!count || probe_count < count))
			probe_send(fds[1].fd);
	}
	if (output)
		probes_write(output, skip);
	printf("%lu\n", probes_median(skip));
	return 0;
}

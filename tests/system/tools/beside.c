// SPDX-License-Identifier: GPL-2.0-only
/*
 * An attacker at a switch port who sees companions, and makes others of the first that it sees.
 *
 * usage: beside KIND DEVICE COUNT
 *	sends COUNT packets, 10,000 a second, past the queue of DEVICE, made of a companion (or its reply) that left there.
 *	KIND:
 *	replay    as it was
 *	flip      as it was but for a bit of its header, sequence or tag
 *	cut       without some of its last bytes
 *	answer    as if it were the reply, or the question
 *	ports     from other ports: of flows that do not exist
 *	stranger  from any of 4 million addresses of 10.64.0.0/10
 *	loop      one that came in by DEVICE, back to the host that sent it
 * Exit status: 0, or 1 with the reason: there was none in 20 s.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "packet.h"
#include "tool.h"

#define IP 14 /* where things are in a frame with IPv4 */
#define L4 34
#define MARKER 0x534c4332U
#define MESSAGE (L4 + 24)
#define COMPANION_BYTES 76 /* behind the IP header, without a tag */
#define TELEMETRY_AT 32
#define AUTH_BYTES 16
#define RATE 10000
#define BATCH 10 /* in a row */
#define PATIENCE_S 20

static int device_open(const char *name)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct timeval patience = { .tv_sec = PATIENCE_S };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1; /* before bind() it sees nothing of other devices */

	at.sll_ifindex = if_nametoindex(name);
	if (fd < 0 || !at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		die(name);
	return fd;
}

/* The next companion of IPv4, of those that leave or of those that come in. */
static struct frame companion_seen(int fd, int leaving)
{
	time_t end = time(NULL) + PATIENCE_S;
	struct sockaddr_ll from;
	socklen_t room;
	struct frame f;
	ssize_t len;

	while (time(NULL) < end) {
		room = sizeof(from);
		len = recvfrom(fd, f.b, sizeof(f.b), 0, (struct sockaddr *)&from, &room);
		if (len < L4 + COMPANION_BYTES || (from.sll_pkttype == PACKET_OUTGOING) != leaving ||
		    get16(f.b + 12) != ETH_P_IP || get32(f.b + L4 + 8) != MARKER)
			continue;
		f.len = len;
		return f;
	}
	errno = ETIMEDOUT;
	die("no companion");
}

/* A bit of what the tag covers, or of the tag: not of the telemetry, which switches write. */
static void bit_flip(struct frame *f)
{
	unsigned int covered = TELEMETRY_AT - 24, at = rand() % (covered + AUTH_BYTES);

	at = at < covered ? MESSAGE + at : L4 + COMPANION_BYTES + at - covered;
	if (at < f->len)
		f->b[at] ^= 1 << rand() % 8;
}

static void cut(struct frame *f)
{
	f->len -= 1 + rand() % COMPANION_BYTES;
	put16(f->b + IP + 2, f->len - IP);
}

static void turn_back(struct frame *f)
{
	__u8 mac[6];

	memcpy(mac, f->b, sizeof(mac));
	memcpy(f->b, f->b + 6, sizeof(mac));
	memcpy(f->b + 6, mac, sizeof(mac));
}

static struct frame attack_make(const char *kind, const struct frame *seen, unsigned int n)
{
	struct frame f = *seen;

	if (!strcmp(kind, "flip")) {
		bit_flip(&f);
	} else if (!strcmp(kind, "cut")) {
		cut(&f);
	} else if (!strcmp(kind, "answer")) {
		f.b[MESSAGE] ^= 1; /* 2 and 3 */
	} else if (!strcmp(kind, "ports")) {
		put32(f.b + L4, rand());
	} else if (!strcmp(kind, "stranger")) {
		put32(f.b + IP + 12, 10 << 24 | 1 << 22 | (n & 0x3fffff));
	} else if (!strcmp(kind, "loop")) {
		turn_back(&f);
	} else if (strcmp(kind, "replay")) {
		errno = EINVAL;
		die(kind);
	}
	frame_fix(&f); /* of a companion nobody looks at the checksum behind that of the IP header */
	return f;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / RATE * BATCH };
	struct frame seen;
	unsigned int i;
	int fd;

	if (argc != 4) {
		fputs("usage: beside KIND DEVICE COUNT\n", stderr);
		return 1;
	}
	fd = device_open(argv[2]);
	seen = companion_seen(fd, strcmp(argv[1], "loop") != 0);
	for (i = 0; i < (unsigned int)atoi(argv[3]); i++) {
		struct frame f = attack_make(argv[1], &seen, i);

		if (send(fd, f.b, f.len, 0) != (ssize_t)f.len)
			die(argv[2]);
		/* Never faster to make up for lost time: the backlog of a CPU takes 1,000 packets. */
		if (i % BATCH == BATCH - 1)
			nanosleep(&pause, NULL);
	}
	return 0;
}

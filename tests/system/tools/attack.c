// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whoever wants to move a host's flow without having its key, at the switch port that leads to it: sees all that
 * passes there, and sends what it likes.
 *
 * usage: attack record DEVICE FILE [MESSAGE]
 *	keeps the newest authenticated message that left by DEVICE in FILE, until SIGTERM: DATA with an echo, or
 *	5 (CREDIT) or 6 (RATE)
 * usage: attack KIND DEVICE FILE COUNT [KEY]
 *	sends COUNT messages made of that one, 10,000 a second, past the queue of DEVICE. KIND:
 *	replay   as it was
 *	forge    newer, of an echo (a total, a rate) that says something else, with a random tag
 *	flip     as it was but for a bit of echo (of the entries), sequence or tag
 *	key      newer, of another echo, with the right tag of KEY (32 hex digits)
 *	bare     the same without authentication
 *	address  from the next address of the same network, tag and all as it was
 *	stranger the same, from 192.0.2.1 (2001:db8::1)
 * Exit status: 0, or 1 with the reason.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "packet.h"
#include "tool.h"

#define RATE 10000
#define BATCH 10 /* in a row */
#define DATA 1
#define HAS_ECHO 1
#define HAS_AUTH 2
#define AUTH_BYTES 16
#define HOUR_NS (3600 * 1000000000ULL)

static volatile sig_atomic_t over;

static void on_term(int signal)
{
	(void)signal;
	over = 1;
}

static int device_open(const char *name)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), one = 1;

	at.sll_ifindex = if_nametoindex(name);
	if (fd < 0 || !at.sll_ifindex || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		die(name);
	return fd;
}

static unsigned int message_of(const struct frame *f)
{
	return f->b[at_shim(f) + 4] & 0xf;
}

/* Where what it tells begins: its echo, or its first entry. */
static unsigned int at_body(const struct frame *f)
{
	return message_of(f) == DATA ? at_echo(f) : at_shim(f) + 12;
}

static int is_wanted(const struct frame *f, unsigned int message)
{
	unsigned int udp, flags = HAS_AUTH | (message == DATA ? HAS_ECHO : 0);

	if (f->len < 90 || (get16(f->b + 12) != ETH_P_IP && get16(f->b + 12) != ETH_P_IPV6))
		return 0;
	udp = at_udp(f);
	return f->b[udp - (frame_is_v6(f) ? 34 : 11)] == IPPROTO_UDP && get16(f->b + udp + 2) == PORT_WIRE &&
	       message_of(f) == message && (f->b[at_shim(f) + 6] & flags) == flags;
}

static void frame_save(const struct frame *f, const char *file)
{
	char fresh[512];
	FILE *out;

	snprintf(fresh, sizeof(fresh), "%s.new", file);
	out = fopen(fresh, "w");
	if (!out || fwrite(f->b, f->len, 1, out) != 1 || fclose(out) || rename(fresh, file))
		die(file);
}

static int record(int fd, const char *file, unsigned int message)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct frame f;
	ssize_t len;

	signal(SIGTERM, on_term);
	while (!over) {
		struct sockaddr_ll from;
		socklen_t room = sizeof(from);

		if (poll(&wait, 1, 50) <= 0)
			continue;
		len = recvfrom(fd, f.b, sizeof(f.b), 0, (struct sockaddr *)&from, &room);
		if (len <= 0 || from.sll_pkttype != PACKET_OUTGOING)
			continue;
		f.len = len;
		if (is_wanted(&f, message))
			frame_save(&f, file);
	}
	return 0;
}

/* Newer than all of the flow, and an echo with an empty queue of another packet; 1 KB more credit; or another R. */
static void tell_lies(struct frame *f, unsigned int n)
{
	__u8 *body = f->b + at_body(f);

	put64(f->b + at_auth(f), get64(f->b + at_auth(f)) + HOUR_NS + n);
	if (message_of(f) != DATA) {
		put32(body + 16, get32(body + 16) + (n + 1) * 1024);
		return;
	}
	put32(body, get32(body) - n);
	put64(body + 8, get64(body + 8) + ((__u64)n << 36));
}

static void authentication_remove(struct frame *f)
{
	unsigned int auth = at_auth(f), ip = 14, udp = at_udp(f), shim = at_shim(f);

	memmove(f->b + auth, f->b + auth + AUTH_BYTES, f->len - auth - AUTH_BYTES);
	f->len -= AUTH_BYTES;
	f->b[shim + 1] -= AUTH_BYTES / 4;
	f->b[shim + 6] &= ~HAS_AUTH;
	put16(f->b + udp + 4, get16(f->b + udp + 4) - AUTH_BYTES);
	ip += frame_is_v6(f) ? 4 : 2;
	put16(f->b + ip, get16(f->b + ip) - AUTH_BYTES);
}

/* The source of the outer packet, and of the inner one if there is one. */
static void source_set(struct frame *f, int stranger)
{
	static const __u8 v4[] = { 192, 0, 2, 1 }, v6[] = { 0x20, 1, 0xd, 0xb8, [15] = 1 };
	unsigned int at[] = { 14, at_inner(f) }, i;
	int is_v6 = frame_is_v6(f);

	for (i = 0; i < (message_of(f) == DATA ? 2 : 1); i++) {
		__u8 *source = f->b + at[i] + (is_v6 ? 8 : 12);

		if (stranger)
			memcpy(source, is_v6 ? v6 : v4, is_v6 ? 16 : 4);
		else
			source[is_v6 ? 15 : 3]++;
	}
}

/* The header checksum of the outer IPv4 packet. */
static void checksum_mend(struct frame *f)
{
	__u32 sum = 0;
	int i;

	if (frame_is_v6(f))
		return;
	put16(f->b + 24, 0);
	for (i = 0; i < 10; i++)
		sum += get16(f->b + 14 + 2 * i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(f->b + 24, ~(sum + (sum >> 16)));
}

static struct siphash_key key_parse(const char *text)
{
	struct siphash_key key;
	__u8 bytes[16];
	unsigned int i;

	for (i = 0; i < sizeof(bytes); i++) {
		if (sscanf(text + 2 * i, "%2hhx", &bytes[i]) != 1) {
			errno = EINVAL;
			die(text);
		}
	}
	memcpy(&key, bytes, sizeof(key));
	return key;
}

static struct frame attack_make(const char *kind, const struct frame *seen, unsigned int n, const char *key)
{
	struct frame f = *seen;
	unsigned int bits = (at_inner(&f) - at_body(&f)) * 8, bit = rand() % bits;

	if (!strcmp(kind, "forge")) {
		tell_lies(&f, n);
		put64(f.b + at_auth(&f) + 8, (__u64)rand() << 32 | rand());
	} else if (!strcmp(kind, "flip")) {
		f.b[at_body(&f) + bit / 8] ^= 1 << bit % 8;
	} else if (!strcmp(kind, "key") && key && message_of(&f) == DATA) {
		struct siphash_key k = key_parse(key);

		tell_lies(&f, n);
		frame_sign(&f, &k);
	} else if (!strcmp(kind, "bare")) {
		tell_lies(&f, n);
		authentication_remove(&f);
	} else if (!strcmp(kind, "address") || !strcmp(kind, "stranger")) {
		source_set(&f, *kind == 's');
	} else if (strcmp(kind, "replay")) {
		errno = EINVAL;
		die(kind);
	}
	checksum_mend(&f);
	return f;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / RATE * BATCH };
	struct frame seen;
	unsigned int i;
	FILE *in;
	int fd;

	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "record"))
		return record(device_open(argv[2]), argv[3], argc == 5 ? atoi(argv[4]) : DATA);
	if (argc < 5) {
		fprintf(stderr, "usage: attack record DEVICE FILE [MESSAGE] | attack KIND DEVICE FILE COUNT [KEY]\n");
		return 1;
	}
	in = fopen(argv[3], "r");
	if (!in)
		die(argv[3]);
	seen.len = fread(seen.b, 1, sizeof(seen.b), in);
	fclose(in);
	if (!is_wanted(&seen, message_of(&seen))) {
		errno = ENOMSG;
		die(argv[3]);
	}
	fd = device_open(argv[2]);
	for (i = 0; i < (unsigned int)atoi(argv[4]); i++) {
		struct frame f = attack_make(argv[1], &seen, i, argv[5]);

		if (send(fd, f.b, f.len, 0) != (ssize_t)f.len)
			die(argv[2]);
		if (i % BATCH != BATCH - 1)
			continue;
		/* Never faster to make up for lost time: the backlog of a CPU takes 1,000 packets. */
		nanosleep(&pause, NULL);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * An attacker that is not on the path and sees nothing: it knows the addresses and ports of a connection, which is
 * the worst case, but no sequence number, and writes any source into what it sends.
 *
 * usage: spoof KIND FROM PORT TO PORT RATE [ARGUMENT]
 *	sends packets to TO that seem to come from FROM, RATE a second, until it is killed. The network namespace that
 *	it runs in routes them to TO. KIND:
 *	ack          TCP, acknowledgements 2^30 apart round the sequence space; ARGUMENT: their window
 *	syn          TCP, connections from anywhere in FROM/8 (of IPv6: /32)
 *	rst          TCP, resets with any sequence number
 *	data         TCP, 100 bytes with any sequence and acknowledgement
 *	too-big      ICMP, about a packet from TO to FROM of the connection; ARGUMENT: the MTU
 *	unreachable  ICMP, about the same packet: the port, the host
 *	outer-too-big, outer-unreachable  about a packet of Sluice's from TO to FROM
 *	junk         UDP to Sluice's port, of any bytes, every other one like VXLAN with a frame in it
 *	bare         messages of Sluice's of each type, whole, for the connection, and without a tag
 * Exit status: 1, with the reason.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet.h"
#include "tool.h"

#define IP 14 /* where it begins in a frame */
#define VXLAN_BYTES 8
#define JUNK_MAX 200

static int is_v6;
static __u8 from_address[16], to_address[16];
static __u16 from_port, to_port;
static const char *argument;

static __u32 anything(void)
{
	return (__u32)rand() << 16 ^ rand();
}

static unsigned int address_bytes(void)
{
	return is_v6 ? 16 : 4;
}

static unsigned int l4_of(void)
{
	return IP + (is_v6 ? 40 : 20);
}

static void addresses_set(struct frame *f, const __u8 *from, const __u8 *to)
{
	__u8 *p = f->b + IP + (is_v6 ? 8 : 12);

	memcpy(p, from, address_bytes());
	memcpy(p + address_bytes(), to, address_bytes());
}

/* A segment of the connection with these flags; as the connection has it, or the other way round. */
static struct frame segment(__u8 flags, unsigned int payload, int reply)
{
	struct frame f = tcp(.v6 = is_v6, .flags = flags, .payload = payload, .sport = reply ? to_port : from_port,
			     .dport = reply ? from_port : to_port);

	addresses_set(&f, reply ? to_address : from_address, reply ? from_address : to_address);
	put32(f.b + l4_of() + 4, anything());
	put32(f.b + l4_of() + 8, flags & ACK ? anything() : 0);
	frame_fix(&f);
	return f;
}

static struct frame ack_make(unsigned int n)
{
	struct frame f = segment(ACK, 0, 0);

	put32(f.b + l4_of() + 8, n << 30);
	put16(f.b + l4_of() + 14, argument ? atoi(argument) : 1);
	frame_fix(&f);
	return f;
}

static struct frame syn_make(void)
{
	struct frame f = segment(SYN, 0, 0);
	__u32 source = anything();

	memcpy(f.b + IP + (is_v6 ? 12 : 13), &source, is_v6 ? 4 : 3);
	put16(f.b + l4_of(), 1024 + anything() % 60000);
	frame_fix(&f);
	return f;
}

/* The packets of the other end: of the connection, or as Sluice wraps them. */
static struct frame sent_make(int outer)
{
	struct frame f = segment(ACK, 100, 1);

	return outer ? wrap(&f, .room = 1) : f;
}

/* An ICMP error from FROM about f, of which it quotes what the smallest router does. */
static struct frame error_make(struct frame f, __u8 type, __u8 code, __u32 word)
{
	unsigned int quoted = (is_v6 ? 40 : 20) + 28, i;
	struct frame error;
	__u8 bytes[8 + 68] = { type, code };
	__u32 sum = is_v6 ? IPPROTO_ICMPV6 + 8 + quoted : 0;

	put32(bytes + 4, word);
	memcpy(bytes + 8, f.b + IP, quoted);
	error = frame_ip(is_v6, is_v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, bytes, 8 + quoted);
	addresses_set(&error, from_address, to_address);
	frame_fix(&error);
	for (i = is_v6 ? IP + 8 : l4_of(); i < error.len; i += 2)
		sum += get16(error.b + i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(error.b + l4_of() + 2, ~(sum + (sum >> 16)));
	return error;
}

static struct frame too_big_make(int outer)
{
	__u32 mtu = argument ? atoi(argument) : 1280;

	return error_make(sent_make(outer), is_v6 ? 2 : 3, is_v6 ? 0 : 4, mtu);
}

static struct frame unreachable_make(int outer, unsigned int n)
{
	static const __u8 codes_v4[] = { 3, 1 }, codes_v6[] = { 4, 3 }; /* port, host */

	return error_make(sent_make(outer), is_v6 ? 1 : 3, is_v6 ? codes_v6[n & 1] : codes_v4[n & 1], 0);
}

static struct frame junk_make(unsigned int n)
{
	struct frame f = udp(.v6 = is_v6, .sport = 0xc000 | anything(), .dport = PORT_WIRE, .payload = rand() % JUNK_MAX),
		     inner;
	unsigned int at = l4_of() + 8, i;

	for (i = at; i < f.len; i++)
		f.b[i] = rand();
	if (n & 1) {
		static const __u8 vni[VXLAN_BYTES] = { 8, [6] = 42 };

		inner = segment(ACK, 0, 0);
		f = udp(.v6 = is_v6, .sport = 0xc000 | anything(), .dport = PORT_WIRE,
			.payload = VXLAN_BYTES + inner.len);
		memcpy(f.b + at, vni, sizeof(vni));
		memcpy(f.b + at + sizeof(vni), inner.b, inner.len);
	}
	addresses_set(&f, from_address, to_address);
	frame_fix(&f);
	return f;
}

/* DATA with and without an echo, PROBE and its response; FEEDBACK, CREDIT and RATE with one entry: types 1 to 6. */
static struct frame bare_make(unsigned int n)
{
	struct frame inner = segment(ACK, 100, 0), f;
	unsigned int type = 1 + n % 6, echo = type < 4 && n / 6 & 1, i;
	__u64 hop = (__u64)anything() << 32 | anything();

	if (type < 4)
		return wrap(&inner, .msg = type, .room = 1, .nhop = 1, .hop = { hop }, .seq = anything(), .echo = echo,
			    .echo_hops = echo, .echo_seq = anything(), .echo_hop = { hop });
	/* An entry is as long as the telemetry of one hop and a VOQ block. */
	f = wrap(&inner, .msg = type, .room = 1, .voq = 1, .seq = anything(), .sport = PORT_WIRE, .bare = 1);
	f.b[at_shim(&f) + 6] = 0; /* no flags */
	for (i = at_shim(&f) + 12; i < f.len; i++)
		f.b[i] = rand();
	return f;
}

static struct frame packet_make(const char *kind, unsigned int n)
{
	int outer = !strncmp(kind, "outer-", 6);

	kind += outer ? 6 : 0;
	if (!strcmp(kind, "too-big"))
		return too_big_make(outer);
	if (!strcmp(kind, "unreachable"))
		return unreachable_make(outer, n);
	if (!strcmp(kind, "ack"))
		return ack_make(n);
	if (!strcmp(kind, "syn"))
		return syn_make();
	if (!strcmp(kind, "rst"))
		return segment(RST, 0, 0);
	if (!strcmp(kind, "data"))
		return segment(ACK, 100, 0);
	if (!strcmp(kind, "junk"))
		return junk_make(n);
	if (!strcmp(kind, "bare"))
		return bare_make(n);
	errno = EINVAL;
	die(kind);
	return (struct frame){};
}

static __u16 port_parse(const char *text)
{
	return strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	unsigned int rate, n;
	struct frame f;
	int fd, family;

	if (argc != 7 && argc != 8) {
		fputs("usage: spoof KIND FROM PORT TO PORT RATE [ARGUMENT]\n", stderr);
		return 1;
	}
	is_v6 = !!strchr(argv[2], ':');
	family = is_v6 ? AF_INET6 : AF_INET;
	rate = strtoul(argv[6], NULL, 10);
	argument = argv[7];
	errno = EINVAL;
	if (inet_pton(family, argv[2], from_address) != 1 || inet_pton(family, argv[4], to_address) != 1 || !rate)
		die("an address, or the rate");
	from_port = port_parse(argv[3]);
	to_port = port_parse(argv[5]);
	memcpy(&v4.sin_addr, to_address, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, to_address, sizeof(v6.sin6_addr));
	fd = socket(family, SOCK_RAW, IPPROTO_RAW); /* the IP header is ours */
	if (fd < 0)
		die("a raw socket");
	for (n = 0;; n++) {
		f = packet_make(argv[1], n);
		if (sendto(fd, f.b + IP, f.len - IP, 0, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
			   is_v6 ? sizeof(v6) : sizeof(v4)) < 0)
			die("sending");
		usleep(1000000 / rate);
	}
}

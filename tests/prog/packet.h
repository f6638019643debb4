/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PACKET_H
#define PACKET_H
/*
 * Ethernet frames for the tests, and the difference between two of them.
 *
 * Everything is put together byte by byte from the pictures in include/sluice/wire/wire.h and not with
 * its structs and constants: a mistake there must not appear on both sides of a comparison.
 *
 * In every spec, zero means the usual: tcp(.payload = 100) is a sound packet of 100 bytes from host
 * A to host B over IPv4.
 */
#include <linux/types.h>

#include "sluice/wire/siphash.h" /* whose test vectors are its authors' */

#define FRAME_MAX 3500 /* the longest input of a BPF_PROG_TEST_RUN, and what egress adds to it */

struct frame {
	unsigned int len;
	__u8 b[FRAME_MAX];
};

enum who { HOST_USUAL, HOST_A, HOST_B, HOST_STRANGER };

#define PORT_A 40000
#define PORT_B 5001
#define PORT_WIRE 5463

#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10

#define CE 3
#define ECT0 2

struct ip_spec {
	int v6;
	int udp;     /* and not TCP: no options, no flags */
	__u8 tunnel; /* and not TCP, but this IP protocol: nothing but payload */
	int reply;   /* from B to A */
	enum who to; /* HOST_STRANGER: somebody else than B */
	enum who from;
	__u16 sport, dport;   /* PORT_A to PORT_B */
	unsigned int payload; /* bytes */
	unsigned int options; /* bytes of TCP options, a multiple of 4 */
	unsigned int padding; /* bytes after the IP packet, as Ethernet has them in short frames */
	__u8 flags;	      /* ACK */
	__u8 tos;
	int may_fragment; /* DF is not set */
	int jumbo;	  /* TCP over IPv6 of more than 64 KB (BIG TCP): a header between says how long */
};

struct frame frame_of(struct ip_spec s);
#define tcp(...) frame_of((struct ip_spec){ __VA_ARGS__ })
#define udp(...) frame_of((struct ip_spec){ .udp = 1, ##__VA_ARGS__ })

/* An IP packet of any protocol from A to B whose payload is bytes (not NULL for len > 0). */
struct frame frame_ip(int v6, __u8 proto, const void *bytes, unsigned int len);
struct frame frame_arp(void);

/* Changes of a frame that has one IP header. Each keeps lengths and checksums right. */
struct frame frame_with_ipv4_option(struct frame f);
struct frame frame_with_fragment(struct frame f, int more, unsigned int offset_bytes);
struct frame frame_with_extension(struct frame f, __u8 next_header);
struct frame frame_with_vlan(struct frame f, __u16 ethertype);
struct frame frame_with_ecn(struct frame f, __u8 ecn);
/* Checksums of the first IP header, and of TCP or UDP if that follows, after a change. */
void frame_fix(struct frame *f);
struct frame frame_cut(struct frame f, unsigned int len);

/* The headers that Sluice puts in front of a packet, and their content. */
struct wire_spec {
	__u8 msg;     /* 1: DATA */
	__u8 version; /* 4 */
	__u8 next;    /* IP protocol of what follows: 4 or 41 */
	__u16 sport;  /* 0xc000 */
	__u8 ttl;     /* 64 */
	int bare;     /* nothing follows */
	int ce;	      /* the outer header is marked */

	__u32 seq;
	__u8 room; /* hops that there is room for */
	__u8 nhop;
	__u16 path;
	__u64 hop[5];

	int voq; /* there is a block of one */
	__u32 voq_tor, voq_total;
	__u16 voq_flows;
	__u8 voq_prefixlen; /* as it is: 0 is malformed */
	__u8 voq_flags;

	int echo; /* there is one */
	__u8 echo_hops;
	__u32 echo_seq;
	__u16 echo_age;
	__u16 echo_path;
	__u16 echo_flows;
	__u64 echo_hop[5];
	__u8 window, ratio; /* a value instead, and that of version 0.1.0 */
	__u64 ride;	    /* credit, behind them: total, time, prefix length, flags; 0: none */

	const struct siphash_key *key; /* it is authenticated */
	__u64 auth_seq;
};

#define COMPANION_BYTES 76 /* behind the IP header */
#define COMPANION_CLOCK_HIGH 14
#define COMPANION_CLOCK_LOW 18
#define COMPANION_TELEM 32   /* of these: nHop and pathID */
#define COMPANION_MESSAGE 24 /* version and message */
#define COMPANION_NO_PORT 7  /* both ports where the protocol has none */

/* Where what follows the IP header begins. */
unsigned int companion_at(const struct frame *f);
/* The companion of a packet, byte by byte: message 2 on its way, 3 on its way back. */
struct frame companion_of(const struct frame *data, __u8 message, __u32 seq);

struct frame frame_wrap(const struct frame *inner, struct wire_spec s);
#define RIDES 8 /* of a VOQ block: its sender takes credit that comes along */
#define wrap(inner, ...) frame_wrap(inner, (struct wire_spec){ __VA_ARGS__ })

/* A hop of INT-MD as Sluice asks for it: six words. */
struct int_hop {
	__u32 node, queue; /* queue: id and occupancy */
	__u64 ts;
	__u32 tx, kbps; /* of tx: units of 128 bytes */
};

#define INT_HOPS 8
#define NEXT_SLUICE 253

/* The headers in front of Sluice's shim in the other encoding. */
struct int_spec {
	__u8 flags;   /* of the first byte: D 8, E 4, M 2 */
	__u8 version; /* 2 */
	__u8 ml;      /* 6 */
	__u8 left;    /* remaining hops */
	__u16 bitmap; /* 0x9400: node, queue, egress time */
	__u16 domain; /* 0x534c */
	__u16 ds;     /* 0xc000: txBytes, speed */
	__u8 length;  /* what the shim says; what is right */
	__u8 next;    /* NEXT_SLUICE */
	unsigned int hops;
	struct int_hop hop[INT_HOPS]; /* the first on the path is the first */
};

/* Puts INT-MD in front of a message of Sluice's, or behind what is there: with all lengths. */
struct frame frame_with_int(struct frame f, struct int_spec s);
#define with_int(frame, ...) frame_with_int(frame, (struct int_spec){ __VA_ARGS__ })

/* Puts the right tag into a message that is authenticated, after a change. */
void frame_sign(struct frame *f, const struct siphash_key *key);

/* The PROBE of f: its first bytes up to the 20th behind its IP header, and room for 5 hops. */
struct frame frame_probe(const struct frame *f, __u16 sport, __u32 seq);
/* A probe as it comes back: addresses swapped, another message type, all else as it was. */
struct frame frame_turned(struct frame probe);

/* Where things are in a frame that Sluice made. */
int frame_is_v6(const struct frame *f);
unsigned int at_udp(const struct frame *f);
unsigned int at_shim(const struct frame *f);
unsigned int at_telem(const struct frame *f); /* nhop_path; the frame has room */
unsigned int at_hop(const struct frame *f, unsigned int n);
unsigned int at_voq(const struct frame *f);  /* the frame has a VOQ block */
unsigned int at_echo(const struct frame *f); /* the frame has an echo */
unsigned int at_inner(const struct frame *f);
unsigned int at_auth(const struct frame *f); /* the frame is authenticated */

__u16 get16(const __u8 *p);
__u32 get32(const __u8 *p);
__u64 get64(const __u8 *p);
void put16(__u8 *p, __u16 v);
void put32(__u8 *p, __u32 v);
void put64(__u8 *p, __u64 v);

/* NULL if the frames are the same, else what differs, where, and both as hex. */
const char *frame_diff(const struct frame *want, const struct frame *got);

#endif

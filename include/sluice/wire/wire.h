/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_WIRE_H
#define SLUICE_WIRE_H
/*
 * Sluice's wire format, version 4. docs/protocol.md has the pictures, docs/vectors.md the test vectors.
 *
 *   Ethernet | outer IPv4 or IPv6 | UDP | shim | header | [telemetry] | [VOQ] | [echo] | [authentication] | inner packet
 *
 * The outer IP header has the addresses, DSCP and ECN of the inner packet; the UDP checksum is 0
 * (RFC 6935 for IPv6), so a hop writes in place without touching anything else. All fields are big
 * endian. Lengths are multiples of 4 bytes.
 */
#include "sluice/types.h"
#include "sluice/cc/hpcc.h"

#define WIRE_VERSION 4
#define WIRE_PORT_DEFAULT 5463

enum wire_msg {
	WIRE_DATA = 1,	      /* carries a packet, its telemetry, and an echo for the reverse flow */
	WIRE_PROBE = 2,	      /* "do you strip?": the inner packet is a copy, to be discarded */
	WIRE_PROBE_REPLY = 3, /* "I do" */
	WIRE_FEEDBACK = 4,    /* reports of a receiver on many flows, from its daemon */
	WIRE_CREDIT = 5,      /* credit that the ports of a rack have granted to VOQs of another, from its daemon */
	WIRE_RATE = 6,	      /* state of VOQs for a host behind this switch as a ToR, from its daemon */
};

/*
 * The INT shim header of INT over TCP/UDP (P4.org, INT Dataplane Specification 2.1, section 5.6.1):
 *
 *    0                   1                   2                   3
 *   +-------+---+---+---------------+---------------+---------------+
 *   | Type  |NPT|R R| Length, words |   reserved    |  IP protocol  |
 *   +-------+---+---+---------------+---------------+---------------+
 *
 * Length counts what follows the shim, up to the inner packet. NPT = 2: the next header is named by
 * its IP protocol number, here 4 (IPv4) or 41 (IPv6). Type 1 is INT-MD; the `hpcc` encoding uses
 * the unassigned type 9.
 */
struct wire_shim {
	__u8 type_npt;
	__u8 length_words;
	__u8 reserved;
	__u8 ip_proto;
};

#define WIRE_SHIM_TYPE_HPCC 9
#define WIRE_NO_NEXT_HEADER 59 /* of FEEDBACK, CREDIT and RATE, which carry no packet */
#define WIRE_SHIM_TYPE_NPT (WIRE_SHIM_TYPE_HPCC << 4 | 2 << 2)

/*
 *   +-------+-------+---------------+---------------+---------------+
 *   |version| msg   | hops reserved |    flags      |   echo hops   |
 *   +-------+-------+---------------+---------------+---------------+
 *   |    seq: position in the flow after this packet, wire bytes    |
 *   +---------------------------------------------------------------+
 */
struct wire_hdr {
	__u8 version_msg;
	__u8 max_hops; /* room in the telemetry block; 0: there is none. FEEDBACK, CREDIT, RATE: entries */
	__u8 flags;
	__u8 echo_hops; /* valid with WIRE_F_ECHO; 0: the path stamped nothing */
	__be32 seq;	/* CREDIT: the ToR that it is for; FEEDBACK, RATE: 0 */
};

#define WIRE_F_ECHO 1
#define WIRE_F_AUTH 2
#define WIRE_F_WINDOW 4 /* the echo has one struct wire_value instead of hops */
#define WIRE_F_RATIO 8	/* the same with U, from version 0.1.0: not taken any more */
#define WIRE_F_VOQ 16	/* there is a VOQ block, between telemetry and echo */
/*
 * The last of the echo's hops is a struct wire_ride. Only for hosts whose VOQ block says that they read it: others
 * would see valid lengths, and a hop that no path has.
 */
#define WIRE_F_RIDE 32
/*
 * PROBE_REPLY: the PROBE was older than what its sender's host was heard of, so nothing was learned from it. seq is by
 * how much, rounded up in units of 2^WIRE_HELD_SHIFT ns, and no position. The tag covers both.
 */
#define WIRE_F_HELD 64
#define WIRE_HELD_SHIFT 20

/*
 * nHop 4 bits, pathID 12 bits, then max_hops times the 64 bits of telemetry.h. The first nHop are
 * valid. In PROBE_REPLY the 16 bits between are N, as in an echo; otherwise they are 0.
 */
struct wire_telem {
	__be16 nhop_path;
	__be16 flows;
	__u8 hop[HPCC_MAX_HOPS][8]; /* bytes: not aligned to 8 in the packet */
};

/*
 * The VOQ by which this packet left its rack (HierCC, section 3.2). Like telemetry it is not covered by the
 * tag, so that a ToR may write it; its claims are bounded by the arrived bytes (hiercc.h).
 */
struct wire_voq {
	__be32 tor;	/* the sending ToR; 0: the host's switch fills in everything except the mark */
	__be32 total;	/* S, after this packet: the low 32 bits */
	__be16 flows;	/* F */
	__u8 prefixlen; /* of the VOQ's destination, 128 for one host; IPv4 prefixes plus 96 */
	__u8 flags;	/* WIRE_VOQ_* */
};

#define WIRE_VOQ_MARK 1	  /* with tor 0: the host asks for R (HierCC, section 3.3) */
#define WIRE_VOQ_BESIDE 2 /* data leaves without this block: S stands for the arrivals */
#define WIRE_VOQ_SWITCH 4 /* of a companion: the host leaves it to its switch, so the tag does not cover it */
#define WIRE_VOQ_RIDES 8  /* the sender takes credit from echoes, and from its companions when they come back */
/*
 * In a companion that comes back: `total` is Csent, and `flows` the time of the grant (struct wire_credit), of the VOQ
 * to the host that answers, by the ToR `tor`.
 */
#define WIRE_VOQ_CREDIT 16
#define WIRE_VOQ_DUE 32 /* with WIRE_VOQ_CREDIT: Csent < S still */

/* The last telemetry that the sender of this packet received on the reverse flow. */
struct wire_echo {
	__be32 seq;	  /* of the packet that collected it */
	__be16 age;	  /* since its arrival, units of 1024 ns, saturated */
	__be16 nhop_path; /* as in wire_telem; pathID is 0 if the hops are not reported */
	__be16 flows;	  /* N: active flows at the receiver's port; 0: not told */
	__be16 reserved;
	__u8 hop[HPCC_MAX_HOPS][8];
};

/* The receiver's W in place of the first hop (HPCC++, section 6.2), in wire bytes. */
struct wire_value {
	__be32 value;
	__be32 reserved;
};

/* FEEDBACK: the echo of one flow, for which no packet went back. It carries W: hops are requested by PROBEs. */
struct wire_report {
	__be16 port[2]; /* of the flow's packets: source, destination */
	__u8 proto;	/* of the flow's packets: IP protocol */
	__u8 flags;	/* WIRE_F_WINDOW */
	__be16 flows;
	__be32 seq;
	__be16 age;
	__be16 nhop_path;
	struct wire_value value;
};

#define WIRE_REPORTS_MAX 32 /* a message of 792 bytes: it fits any MTU */

/*
 * CREDIT: the total granted to a VOQ of the ToR that this message goes to. A later message includes all earlier ones:
 * lost, repeated and reordered messages cost nothing.
 */
struct wire_credit {
	__u8 addr[16];	/* the VOQ's destination, as in its packets, 0 after the prefix */
	__be32 total;	/* Csent: the low 32 bits */
	__u8 prefixlen; /* as in struct wire_voq */
	__u8 flags;	/* WIRE_CREDIT_* */
	__be16 at;	/* when it was granted, by the granter's clock, units of 1024 ns */
};

#define WIRE_CREDIT_DUE 1     /* Csent < S still: the port had less to give than was asked for */
#define WIRE_CREDIT_ARRIVAL 2 /* always set: to 0.1.0 its absence means that C0 has to cover a period */

/*
 * The same on a packet that goes back to a rack anyway: the VOQ is that to the sender of this packet, or to prefixlen
 * bits of its address. It replaces a hop of the echo, so that the tag covers it.
 */
struct wire_ride {
	__be32 total;
	__be16 at;
	__u8 prefixlen;
	__u8 flags; /* WIRE_CREDIT_*, not 0 */
};

/* RATE: R of each flow from the host that this message goes to, to one destination. The newest counts. */
struct wire_rate {
	__u8 addr[16];	 /* the destination, as in its packets */
	__be32 kbps;	 /* wire bytes; 0: stop */
	__u8 prefixlen;	 /* 128 */
	__u8 flags;	 /* WIRE_RATE_ALONE */
	__be16 reserved; /* 0 */
};

#define WIRE_RATE_ALONE 1 /* there is none: credits have stopped, or the VOQ is not held */

/*
 * A companion is a PROBE, or its reply, in the headers of a flow itself, so that it takes the path and the queues of the
 * flow's data:
 *
 *   Ethernet | IPv4 or IPv6 | companion | shim | header | telemetry | [VOQ] | [authentication]
 *
 * It replaces the TCP or UDP header, or the content of a tunnel. No stack takes it for a packet of the flow: a TCP
 * header of 0 words and a UDP length of 4 are too short, which is checked before ports, checksum and sequence numbers.
 * A NIC writes to the two checksum fields if the packet is made from one whose checksum was left to it.
 */
struct wire_companion {
	__be16 port[2];	     /* of the flow: source, destination; swapped in the reply */
	__be16 udp_length;   /* WIRE_COMPANION_LENGTH */
	__be16 udp_checksum; /* ignored */
	__be32 marker;	     /* WIRE_COMPANION_MARKER */
	__u8 tcp_words;	     /* 0 */
	__u8 tcp_flags;	     /* sent as 0, ignored */
	/*
	 * The reply has the receiver's clock when the companion came, units of 2^WIRE_CLOCK_SHIFT ns, where TCP has its window
	 * and urgent pointer. 0: not told, as in the companion itself.
	 */
	__be16 clock_high;
	__be16 tcp_checksum; /* ignored */
	__be16 clock_low;
};

#define WIRE_CLOCK_SHIFT 6

#define WIRE_COMPANION_LENGTH 4
/*
 * Both ports if the flow is a tunnel's and has none (IPIP, IPv6 in IPv4, GRE): no IP version in the first 4 bits, and
 * no GRE version in bits 13 to 15, so the tunnel's decapsulation discards the packet.
 */
#define WIRE_COMPANION_NO_PORT 7
#define WIRE_COMPANION_MARKER 0x534c4332U /* "SLC2" */

/*
 * Authenticates the sender and the time: the last block, so that telemetry keeps its place with or without it. The tag
 * is SipHash-2-4 of the text below under the common key, as a number.
 */
struct wire_auth {
	__be32 seq_high; /* the sender's clock in ns: goes up from message to message of a flow */
	__be32 seq_low;
	__be32 tag_high;
	__be32 tag_low;
};

/*
 * The text that the tag covers, in wire format: not the telemetry, which hops write in place. Absent echo hops are not
 * hashed. A companion has its VOQ in the place of the echo; zeros if a switch fills it in.
 */
struct wire_auth_text {
	__u8 src[16]; /* of the outer header; IPv4 as ::ffff:a.b.c.d */
	__u8 dst[16];
	__be16 port[2]; /* of the inner packet: source, destination */
	__u8 proto;	/* of the inner packet: IP protocol */
	__u8 pad[3];	/* 0 */
	struct wire_hdr hdr;
	__be32 seq_high;
	__be32 seq_low;
	struct wire_echo echo;
};

/* The same for FEEDBACK, CREDIT and RATE: all of their entries. */
struct wire_batch_text {
	__u8 src[16];
	__u8 dst[16];
	struct wire_hdr hdr;
	__be32 seq_high;
	__be32 seq_low;
	union {
		struct wire_report report[WIRE_REPORTS_MAX];
		struct wire_credit credit[WIRE_REPORTS_MAX];
		struct wire_rate rate[WIRE_REPORTS_MAX];
	};
};

#define WIRE_AUTH_BYTES sizeof(struct wire_auth)
#define WIRE_AGE_SHIFT 10
#define WIRE_PATH_MASK 0xfff
#define WIRE_HOP_BYTES 8
#define WIRE_HDR_BYTES (sizeof(struct wire_shim) + sizeof(struct wire_hdr))
#define WIRE_TELEM_BYTES(max_hops) ((max_hops) ? 4 + WIRE_HOP_BYTES * (max_hops) : 0)
#define WIRE_ECHO_BYTES(hops) (12 + WIRE_HOP_BYTES * (hops))
#define WIRE_REPORT_BYTES sizeof(struct wire_report)
#define WIRE_VOQ_BYTES sizeof(struct wire_voq)
#define WIRE_UDP_BYTES 8
#define WIRE_ETH_BYTES 14

/* The most that Sluice adds to an IP packet, without authentication: 136 bytes with IPv4, 156 with IPv6. */
#define WIRE_OVERHEAD_BYTES(outer_ip_bytes)                                                     \
	((outer_ip_bytes) + WIRE_UDP_BYTES + WIRE_HDR_BYTES + WIRE_TELEM_BYTES(HPCC_MAX_HOPS) + \
	 WIRE_ECHO_BYTES(HPCC_MAX_HOPS))

/* A companion is this long after its IP header, or longer by VOQ or tag; no other length is parsed as one. */
#define WIRE_COMPANION_BYTES (sizeof(struct wire_companion) + WIRE_HDR_BYTES + WIRE_TELEM_BYTES(HPCC_MAX_HOPS))

_Static_assert(sizeof(struct wire_shim) == 4, "wire format");
_Static_assert(sizeof(struct wire_hdr) == 8, "wire format");
_Static_assert(sizeof(struct wire_telem) == 44, "wire format");
_Static_assert(sizeof(struct wire_echo) == 52, "wire format");
_Static_assert(sizeof(struct wire_value) == WIRE_HOP_BYTES, "wire format");
_Static_assert(sizeof(struct wire_auth) == 16, "wire format");
_Static_assert(sizeof(struct wire_report) == 24, "wire format");
_Static_assert(sizeof(struct wire_voq) == 12, "wire format");
_Static_assert(sizeof(struct wire_companion) == 20, "a header of TCP");
_Static_assert(WIRE_COMPANION_BYTES == 76, "docs/messages.md says so");
_Static_assert(sizeof(struct wire_credit) == WIRE_REPORT_BYTES, "read as reports are");
_Static_assert(sizeof(struct wire_ride) == WIRE_HOP_BYTES, "in its place");
_Static_assert(sizeof(struct wire_rate) == WIRE_REPORT_BYTES, "docs/messages.md says so");
_Static_assert(sizeof(struct wire_auth_text) == 108, "docs/authentication.md says so");
_Static_assert(sizeof(struct wire_batch_text) == 816, "docs/authentication.md says so");
_Static_assert(WIRE_OVERHEAD_BYTES(20) == 136, "docs/protocol.md and the MTU advice say so");

/* The error in a header, or WIRE_OK. */
enum wire_check {
	WIRE_OK,
	WIRE_NOT_HPCC, /* a shim of another type, or with another next header */
	WIRE_BAD_VERSION,
	WIRE_BAD_MSG,
	WIRE_BAD_HOPS,	 /* more hops, or reports, than the format has room for */
	WIRE_BAD_LENGTH, /* the shim length disagrees with the blocks in the header */
};

static inline int wire_message(const struct wire_hdr *h)
{
	return h->version_msg & 0xf;
}

/* Whether it is a message of the daemon that carries no packet: max_hops reports, credits or rates. */
static inline int wire_is_batch(const struct wire_hdr *h)
{
	return wire_message(h) >= WIRE_FEEDBACK && wire_message(h) <= WIRE_RATE;
}

/* Bytes from the shim to the echo. */
static inline __u32 wire_echo_offset(const struct wire_hdr *h)
{
	return WIRE_HDR_BYTES + WIRE_TELEM_BYTES(h->max_hops) + (h->flags & WIRE_F_VOQ ? WIRE_VOQ_BYTES : 0);
}

/* Bytes from the shim to the inner packet that the header announces; the header was checked. */
static inline __u32 wire_length(const struct wire_hdr *h)
{
	if (wire_is_batch(h))
		return WIRE_HDR_BYTES + WIRE_REPORT_BYTES * h->max_hops +
		       (h->flags & WIRE_F_AUTH ? WIRE_AUTH_BYTES : 0);
	return wire_echo_offset(h) + (h->flags & WIRE_F_ECHO ? WIRE_ECHO_BYTES(h->echo_hops) : 0) +
	       (h->flags & WIRE_F_AUTH ? WIRE_AUTH_BYTES : 0);
}

/* Whether the tag covers the VOQ: only for a companion, because no other PROBE has one. */
static inline int wire_signs_voq(const struct wire_hdr *h)
{
	return h->flags & WIRE_F_VOQ && wire_message(h) != WIRE_DATA && !(h->flags & WIRE_F_ECHO);
}

/* Words of the text that the tag of this message covers. */
static inline __u32 wire_auth_words(const struct wire_hdr *h)
{
	__u32 bytes = sizeof(struct wire_auth_text) - sizeof(struct wire_echo);

	if (h->flags & WIRE_F_ECHO)
		bytes += WIRE_ECHO_BYTES(h->echo_hops);
	else if (wire_signs_voq(h))
		bytes += WIRE_VOQ_BYTES;
	return bytes / 4;
}

static inline enum wire_check wire_check(const struct wire_shim *s, const struct wire_hdr *h)
{
	if (s->type_npt != WIRE_SHIM_TYPE_NPT)
		return WIRE_NOT_HPCC;
	if (h->version_msg >> 4 != WIRE_VERSION)
		return WIRE_BAD_VERSION;
	if (wire_message(h) < WIRE_DATA || wire_message(h) > WIRE_RATE)
		return WIRE_BAD_MSG;
	if (wire_is_batch(h) ? !h->max_hops || h->max_hops > WIRE_REPORTS_MAX : h->max_hops > HPCC_MAX_HOPS)
		return WIRE_BAD_HOPS;
	if (h->echo_hops > HPCC_MAX_HOPS)
		return WIRE_BAD_HOPS;
	if (wire_length(h) != sizeof(*s) + 4U * s->length_words)
		return WIRE_BAD_LENGTH;
	return WIRE_OK;
}

#endif

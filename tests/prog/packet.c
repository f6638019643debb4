// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "packet.h"

#define ETH_BYTES 14

__u16 get16(const __u8 *p)
{
	return p[0] << 8 | p[1];
}

__u32 get32(const __u8 *p)
{
	return (__u32)get16(p) << 16 | get16(p + 2);
}

__u64 get64(const __u8 *p)
{
	return (__u64)get32(p) << 32 | get32(p + 4);
}

void put16(__u8 *p, __u16 v)
{
	p[0] = v >> 8;
	p[1] = v;
}

void put32(__u8 *p, __u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

void put64(__u8 *p, __u64 v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

/* RFC 1071; odd lengths are padded with a zero. */
static __u32 sum_bytes(__u32 sum, const __u8 *p, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	return sum;
}

static __u16 sum_fold(__u32 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static void ipv4_checksum(struct frame *f)
{
	unsigned int bytes = (f->b[ETH_BYTES] & 0xf) * 4;

	put16(&f->b[ETH_BYTES + 10], 0);
	put16(&f->b[ETH_BYTES + 10], sum_fold(sum_bytes(0, &f->b[ETH_BYTES], bytes)));
}

/* 10.1.0.n and fd00:1::n are peers, 192.0.2.9 and 2001:db8::9 are not. */
static void address(__u8 *p, int v6, enum who who)
{
	static const __u8 v4_peer[4] = { 10, 1, 0, 0 }, v4_other[4] = { 192, 0, 2, 0 };
	static const __u8 v6_peer[16] = { 0xfd, 0, 0, 1 }, v6_other[16] = { 0x20, 1, 0x0d, 0xb8 };

	if (v6)
		memcpy(p, who == HOST_STRANGER ? v6_other : v6_peer, 16);
	else
		memcpy(p, who == HOST_STRANGER ? v4_other : v4_peer, 4);
	p[v6 ? 15 : 3] = who == HOST_STRANGER ? 9 : who == HOST_B ? 2 : 1;
}

static void ethernet(struct frame *f, enum who from, enum who to, __u16 ethertype)
{
	const __u8 mac[6] = { 2, 0, 0, 0, 0, to }, source[6] = { 2, 0, 0, 0, 0, from };

	memcpy(f->b, mac, 6);
	memcpy(f->b + 6, source, 6);
	put16(f->b + 12, ethertype);
	f->len = ETH_BYTES;
}

/* Ethernet and IP in front of len bytes that follow. */
static void headers(struct frame *f, int v6, enum who from, enum who to, __u8 proto, __u8 tos, int df, unsigned int len)
{
	__u8 *p = f->b + ETH_BYTES;

	memset(f, 0, sizeof(*f));
	ethernet(f, from, to, v6 ? 0x86dd : 0x0800);
	if (v6) {
		put32(p, 6U << 28 | tos << 20);
		put16(p + 4, len);
		p[6] = proto;
		p[7] = 64;
		address(p + 8, 1, from);
		address(p + 24, 1, to);
		f->len += 40;
		return;
	}
	p[0] = 0x45;
	p[1] = tos;
	put16(p + 2, 20 + len);
	put16(p + 4, 0x1234);
	put16(p + 6, df ? 0x4000 : 0);
	p[8] = 64;
	p[9] = proto;
	address(p + 12, 0, from);
	address(p + 16, 0, to);
	f->len += 20;
	ipv4_checksum(f);
}

int frame_is_v6(const struct frame *f)
{
	return get16(f->b + 12) == 0x86dd;
}

/* Of TCP and UDP: over the pseudo-header and the len bytes at the end of the frame. */
static __u16 transport_checksum(const struct frame *f, __u8 proto, unsigned int len)
{
	const __u8 *ip = f->b + ETH_BYTES;
	int v6 = frame_is_v6(f);
	__u32 sum = proto + len;

	sum = sum_bytes(sum, ip + (v6 ? 8 : 12), v6 ? 32 : 8);
	sum = sum_fold(sum_bytes(sum, f->b + f->len - len, len));
	return proto == 17 && !sum ? 0xffff : sum; /* 0 would mean that there is none */
}

void frame_fix(struct frame *f)
{
	int v6 = frame_is_v6(f);
	unsigned int l4 = ETH_BYTES + (v6 ? 40 : 20), at;
	__u8 proto = f->b[ETH_BYTES + (v6 ? 6 : 9)];

	if (!v6)
		ipv4_checksum(f);
	if (proto != 6 && proto != 17)
		return;
	at = l4 + (proto == 6 ? 16 : 6);
	if (proto == 17 && !get16(f->b + at)) /* it has none */
		return;
	put16(f->b + at, 0);
	put16(f->b + at, transport_checksum(f, proto, f->len - l4));
}

static void pattern(struct frame *f, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		f->b[f->len + i] = i * 7 + (i >> 8) + 1;
	f->len += len;
}

struct frame frame_of(struct ip_spec s)
{
	enum who from = s.from ?: s.reply ? HOST_B : HOST_A, to = s.to ?: s.reply ? HOST_A : HOST_B;
	unsigned int header = s.udp ? 8 : 20 + s.options, len = header + s.payload;
	struct frame f;
	__u8 *p;

	if (s.tunnel) {
		headers(&f, s.v6, from, to, s.tunnel, s.tos, !s.may_fragment, s.payload);
		pattern(&f, s.payload);
		f.len += s.padding;
		return f;
	}
	headers(&f, s.v6, from, to, s.udp ? 17 : 6, s.tos, !s.may_fragment, len);
	if (s.jumbo) {
		static const __u8 jumbo[8] = { 6, 0, 0xc2, 4, 0, 1 };

		memcpy(f.b + f.len, jumbo, sizeof(jumbo));
		f.len += sizeof(jumbo);
		f.b[20] = 0;
		put16(f.b + 18, 0);
	}
	p = f.b + f.len;
	put16(p, s.sport ?: s.reply ? PORT_B : PORT_A);
	put16(p + 2, s.dport ?: s.reply ? PORT_A : PORT_B);
	if (s.udp) {
		put16(p + 4, len);
	} else {
		put32(p + 4, 1000000);
		put32(p + 8, 2000000);
		p[12] = (5 + s.options / 4) << 4;
		p[13] = s.flags ?: ACK;
		put16(p + 14, 501);
		memset(p + 20, 1, s.options); /* no operation */
	}
	f.len += header;
	pattern(&f, s.payload);
	put16(p + (s.udp ? 6 : 16), transport_checksum(&f, s.udp ? 17 : 6, len));
	f.len += s.padding;
	return f;
}

struct frame frame_ip(int v6, __u8 proto, const void *bytes, unsigned int len)
{
	struct frame f;

	headers(&f, v6, HOST_A, HOST_B, proto, 0, 1, len);
	memcpy(f.b + f.len, bytes, len);
	f.len += len;
	return f;
}

struct frame frame_arp(void)
{
	static const __u8 request[] = { 0, 1, 8, 0, 6, 4, 0, 1 };
	struct frame f = {};

	ethernet(&f, HOST_A, HOST_B, 0x0806);
	memcpy(f.b + f.len, request, sizeof(request));
	f.len += 28;
	return f;
}

static void insert(struct frame *f, unsigned int at, const __u8 *bytes, unsigned int len)
{
	memmove(f->b + at + len, f->b + at, f->len - at);
	memcpy(f->b + at, bytes, len);
	f->len += len;
}

struct frame frame_with_ipv4_option(struct frame f)
{
	static const __u8 router_alert[] = { 148, 4, 0, 0 };

	insert(&f, ETH_BYTES + 20, router_alert, sizeof(router_alert));
	f.b[ETH_BYTES] = 0x46;
	put16(f.b + ETH_BYTES + 2, get16(f.b + ETH_BYTES + 2) + 4);
	ipv4_checksum(&f);
	return f;
}

struct frame frame_with_fragment(struct frame f, int more, unsigned int offset_bytes)
{
	put16(f.b + ETH_BYTES + 6, (more ? 0x2000 : 0) | offset_bytes / 8);
	ipv4_checksum(&f);
	return f;
}

struct frame frame_with_extension(struct frame f, __u8 next_header)
{
	__u8 *ip = f.b + ETH_BYTES, header[8] = { ip[6] };

	insert(&f, ETH_BYTES + 40, header, sizeof(header));
	ip[6] = next_header;
	put16(ip + 4, get16(ip + 4) + sizeof(header));
	return f;
}

struct frame frame_with_vlan(struct frame f, __u16 ethertype)
{
	const __u8 tag[4] = { ethertype >> 8, ethertype, 0, 42 };

	insert(&f, 12, tag, sizeof(tag));
	return f;
}

struct frame frame_with_ecn(struct frame f, __u8 ecn)
{
	if (frame_is_v6(&f)) {
		f.b[ETH_BYTES + 1] = (f.b[ETH_BYTES + 1] & ~0x30) | ecn << 4;
	} else {
		f.b[ETH_BYTES + 1] = (f.b[ETH_BYTES + 1] & ~3) | ecn;
		ipv4_checksum(&f);
	}
	return f;
}

struct frame frame_with_int(struct frame f, struct int_spec s)
{
	unsigned int len = 16 + 24 * s.hops, at = ETH_BYTES + (frame_is_v6(&f) ? 4 : 2), i;
	__u8 b[16 + 24 * INT_HOPS], *p = b + 16;

	b[0] = 1 << 4 | 2 << 2;
	b[1] = s.length ?: len / 4 - 1;
	b[2] = 0;
	b[3] = s.next ?: NEXT_SLUICE;
	b[4] = (s.version ?: 2) << 4 | s.flags;
	b[5] = 0;
	b[6] = s.ml ?: 6;
	b[7] = s.left;
	put16(b + 8, s.bitmap ?: 0x9400);
	put16(b + 10, s.domain ?: 0x534c);
	put16(b + 12, s.ds ?: 0xc000);
	put16(b + 14, 0);
	for (i = s.hops; i--; p += 24) {
		put32(p, s.hop[i].node);
		put32(p + 4, s.hop[i].queue);
		put64(p + 8, s.hop[i].ts);
		put32(p + 16, s.hop[i].tx);
		put32(p + 20, s.hop[i].kbps);
	}
	insert(&f, at_shim(&f), b, len);
	put16(f.b + at, get16(f.b + at) + len);
	put16(f.b + at_udp(&f) + 4, get16(f.b + at_udp(&f) + 4) + len);
	if (!frame_is_v6(&f))
		ipv4_checksum(&f);
	return f;
}

struct frame frame_cut(struct frame f, unsigned int len)
{
	memset(f.b + len, 0, f.len - len);
	f.len = len;
	return f;
}

static unsigned int put_hops(__u8 *p, const __u64 *hop, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		put64(p + 8 * i, hop[i]);
	return 8 * n;
}

struct frame frame_wrap(const struct frame *inner, struct wire_spec s)
{
	const __u8 *ip = inner->b + ETH_BYTES;
	int v6 = frame_is_v6(inner);
	__u8 tos = v6 ? get16(ip) >> 4 : ip[1];
	unsigned int ip_bytes = v6 ? 40 : 20, words;
	unsigned int follows = s.bare ? 0 : inner->len - ETH_BYTES;
	struct frame f;
	__u8 w[256] = {}, *p = w + 12;

	if (s.room) {
		put16(p, s.nhop << 12 | s.path);
		p += 4;
		p += put_hops(p, s.hop, s.room);
	}
	if (s.voq) {
		put32(p, s.voq_tor);
		put32(p + 4, s.voq_total);
		put16(p + 8, s.voq_flows);
		p[10] = s.voq_prefixlen;
		p[11] = s.voq_flags;
		p += 12;
	}
	if (s.echo) {
		put32(p, s.echo_seq);
		put16(p + 4, s.echo_age);
		put16(p + 6, s.echo_hops << 12 | s.echo_path);
		put16(p + 8, s.echo_flows);
		p += 12;
		p += put_hops(p, s.echo_hop, s.echo_hops);
		if (s.ride)
			p += put_hops(p, &s.ride, 1);
	}
	if (s.key) {
		put64(p, s.auth_seq);
		p += 16;
	}
	words = (p - w - 4) / 4;
	w[0] = 9 << 4 | 2 << 2;
	w[1] = words;
	w[3] = s.next ?: s.bare ? 59 : v6 ? 41 : 4;
	w[4] = (s.version ?: 4) << 4 | (s.msg ?: 1);
	w[5] = s.room;
	w[6] = (s.echo ? 1 : 0) | (s.key ? 2 : 0) | (s.window ? 4 : 0) | (s.ratio ? 8 : 0) | (s.voq ? 16 : 0) |
	       (s.ride ? 32 : 0);
	w[7] = s.echo_hops + !!s.ride;
	put32(w + 8, s.seq);

	headers(&f, v6, HOST_A, HOST_B, 17, tos | (s.ce ? CE : 0), 1, 8 + (p - w) + follows);
	memcpy(f.b, inner->b, ETH_BYTES);
	f.b[ETH_BYTES + (v6 ? 7 : 8)] = s.ttl ?: 64;
	memcpy(f.b + ETH_BYTES + (v6 ? 8 : 12), ip + (v6 ? 8 : 12), v6 ? 32 : 8);
	if (!v6) {
		put16(f.b + ETH_BYTES + 4, 0); /* RFC 6864: nothing to identify where DF is set */
		put16(f.b + ETH_BYTES + 6, get16(ip + 6) & 0x4000);
		ipv4_checksum(&f);
	}
	put16(f.b + f.len, s.sport ?: 0xc000);
	put16(f.b + f.len + 2, PORT_WIRE);
	put16(f.b + f.len + 4,
	      f.b[ETH_BYTES] >> 4 == 6 ? get16(f.b + ETH_BYTES + 4) : get16(f.b + ETH_BYTES + 2) - ip_bytes);
	f.len += 8;
	memcpy(f.b + f.len, w, p - w);
	f.len += p - w;
	memcpy(f.b + f.len, inner->b + ETH_BYTES, follows);
	f.len += follows;
	if (s.key)
		frame_sign(&f, s.key);
	return f;
}

static void mapped(__u8 *to, const __u8 *v4)
{
	to[10] = to[11] = 0xff;
	memcpy(to + 12, v4, 4);
}

void frame_sign(struct frame *f, const struct siphash_key *key)
{
	int v6 = frame_is_v6(f);
	const __u8 *ip = f->b + ETH_BYTES, *inner = f->b + at_inner(f), *head = f->b + at_shim(f) + 4;
	unsigned int echo = head[2] & 1 ? 12 + 8 * head[3] : 0;
	__u8 text[108] = {};
	__u32 word[27];

	if (v6) {
		memcpy(text, ip + 8, 32);
	} else {
		mapped(text, ip + 12);
		mapped(text + 16, ip + 16);
	}
	memcpy(text + 32, inner + (v6 ? 40 : 20), 4);
	text[36] = inner[v6 ? 6 : 9];
	memcpy(text + 40, head, 8);
	memcpy(text + 48, f->b + at_auth(f), 8);
	memcpy(text + 56, f->b + at_echo(f), echo);
	memcpy(word, text, sizeof(text));
	put64(f->b + at_auth(f) + 8, siphash(key, word, (56 + echo) / 4, 27));
}

struct frame frame_probe(const struct frame *f, __u16 sport, __u32 seq)
{
	unsigned int len = ETH_BYTES + (frame_is_v6(f) ? 40 : 20) + 20;
	struct frame head = frame_cut(*f, f->len < len ? f->len : len);

	return wrap(&head, .msg = 2, .room = 5, .sport = sport, .seq = seq);
}

struct frame frame_turned(struct frame probe)
{
	unsigned int bytes = frame_is_v6(&probe) ? 16 : 4, at = ETH_BYTES + (bytes == 16 ? 8 : 12);
	struct frame f = probe;

	memcpy(f.b, probe.b + 6, 6);
	memcpy(f.b + 6, probe.b, 6);
	memcpy(f.b + at, probe.b + at + bytes, bytes);
	memcpy(f.b + at + bytes, probe.b + at, bytes);
	f.b[at_shim(&f) + 4] = 0x43;
	return f;
}

unsigned int at_udp(const struct frame *f)
{
	return ETH_BYTES + (frame_is_v6(f) ? 40 : 20);
}

unsigned int at_shim(const struct frame *f)
{
	return at_udp(f) + 8;
}

unsigned int at_telem(const struct frame *f)
{
	return at_shim(f) + 12;
}

unsigned int at_hop(const struct frame *f, unsigned int n)
{
	return at_telem(f) + 4 + 8 * n;
}

unsigned int at_voq(const struct frame *f)
{
	unsigned int room = f->b[at_shim(f) + 5];

	return room ? at_hop(f, room) : at_telem(f);
}

unsigned int at_echo(const struct frame *f)
{
	return at_voq(f) + (f->b[at_shim(f) + 6] & 16 ? 12 : 0);
}

unsigned int at_inner(const struct frame *f)
{
	return at_shim(f) + 4 + 4 * f->b[at_shim(f) + 1];
}

unsigned int at_auth(const struct frame *f)
{
	return at_inner(f) - 16;
}

/* The name of a byte of a frame, as far as one can tell without trusting its lengths. */
static const char *field_name(const struct frame *f, unsigned int at)
{
	static const struct {
		unsigned int end;
		const char *name;
	} v4[] = { { 2, "version or TOS" },
		   { 4, "total length" },
		   { 6, "identification" },
		   { 8, "fragment field" },
		   { 9, "TTL" },
		   { 10, "protocol" },
		   { 12, "checksum" },
		   { 16, "source" },
		   { 20, "destination" },
		   {} },
	  v6[] = { { 4, "class or label" },
		   { 6, "payload length" },
		   { 7, "next header" },
		   { 8, "hop limit" },
		   { 24, "source" },
		   { 40, "destination" },
		   {} },
	  udp[] = { { 2, "source port" }, { 4, "destination port" }, { 6, "length" }, { 8, "checksum" }, {} },
	  wire[] = { { 1, "type and NPT" },
		     { 2, "length" },
		     { 3, "reserved" },
		     { 4, "IP protocol" },
		     { 5, "version and message" },
		     { 6, "room" },
		     { 7, "flags" },
		     { 8, "echo hops" },
		     { 12, "seq" },
		     {} },
	  *table = NULL;
	const char *layer = "";
	static char name[64];
	unsigned int base = 0;
	int ours = f->len > at_shim(f) && f->b[at_udp(f) - (frame_is_v6(f) ? 34 : 11)] == 17;

	if (at < ETH_BYTES)
		return "Ethernet header";
	if (at < at_udp(f)) {
		layer = "IP ";
		table = frame_is_v6(f) ? v6 : v4;
		base = ETH_BYTES;
	} else if (!ours) {
		return "after the IP header";
	} else if (at < at_shim(f)) {
		layer = "UDP ";
		table = udp;
		base = at_udp(f);
	} else if (at < at_telem(f)) {
		layer = "shim and header: ";
		table = wire;
		base = at_shim(f);
	} else {
		snprintf(name, sizeof(name), "%u bytes after the header (telemetry, echo, inner packet)",
			 at - at_telem(f));
		return name;
	}
	while (table->name && at - base >= table->end)
		table++;
	snprintf(name, sizeof(name), "%s%s", layer, table->name);
	return name;
}

static void hex(char *out, const struct frame *f, unsigned int at)
{
	unsigned int i, from = at > 8 ? at - 8 : 0;

	for (i = from; i < from + 24 && i < f->len; i++)
		out += sprintf(out, "%s%02x", i == at ? " >" : " ", f->b[i]);
}

const char *frame_diff(const struct frame *want, const struct frame *got)
{
	static char text[512];
	char want_hex[128] = "", got_hex[128] = "";
	unsigned int i, len = want->len < got->len ? want->len : got->len;

	for (i = 0; i < len && want->b[i] == got->b[i]; i++)
		;
	if (i == len && want->len == got->len)
		return NULL;
	hex(want_hex, want, i);
	hex(got_hex, got, i);
	snprintf(text, sizeof(text), "byte %u, %s: length %u, not %u\n    got %s\n    want%s", i,
		 field_name(want->len > got->len ? want : got, i), got->len, want->len, got_hex, want_hex);
	return text;
}

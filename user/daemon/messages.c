// SPDX-License-Identifier: GPL-2.0-only
/* Writes and sends the daemon's own messages. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "daemon/messages.h"

#define MESSAGES_TTL 64
#ifndef IPV6_HDRINCL
#define IPV6_HDRINCL 36
#endif

struct messages {
	int raw4, raw6, domains;
	__u64 seq;
	struct msg_limit limit;
};

static void put16(void *at, __u16 v)
{
	v = htons(v);
	memcpy(at, &v, sizeof(v));
}

unsigned int message_write(const struct message *m, const struct auth_keys *keys, __u64 seq, void *buf)
{
	struct wire_batch_text text = {};
	struct wire_shim *shim = buf;
	struct wire_hdr *hdr = buf + sizeof(*shim);
	struct wire_auth auth;
	unsigned int bytes;
	__u64 tag;

	*hdr = (struct wire_hdr){ .version_msg = WIRE_VERSION << 4 | m->type,
				  .max_hops = m->n,
				  .flags = keys->n ? WIRE_F_AUTH : 0,
				  .seq = m->tor };
	bytes = wire_length(hdr);
	*shim = (struct wire_shim){ .type_npt = WIRE_SHIM_TYPE_NPT,
				    .length_words = (bytes - sizeof(*shim)) / 4,
				    .ip_proto = WIRE_NO_NEXT_HEADER };
	memcpy(buf + WIRE_HDR_BYTES, m->entries, m->n * WIRE_REPORT_BYTES);
	if (!keys->n)
		return bytes;
	memcpy(text.src, &m->from, sizeof(text.src));
	memcpy(text.dst, &m->to, sizeof(text.dst));
	text.hdr = *hdr;
	text.seq_high = auth.seq_high = htonl(seq >> 32);
	text.seq_low = auth.seq_low = htonl((__u32)seq);
	memcpy(text.report, m->entries, m->n * WIRE_REPORT_BYTES);
	tag = siphash(&keys->key[0], (const __u32 *)&text,
		      (sizeof(text) - sizeof(text.report) + m->n * WIRE_REPORT_BYTES) / 4, sizeof(text) / 4);
	auth.tag_high = htonl(tag >> 32);
	auth.tag_low = htonl((__u32)tag);
	memcpy(buf + bytes - sizeof(auth), &auth, sizeof(auth));
	return bytes;
}

/* The VRF of a domain; 0: it is a bridge's, which this host does not route. */
static __u32 domain_vrf(const struct messages *s, __u16 domain)
{
	__u32 vrf, value, *last = NULL;

	for (; !bpf_map_get_next_key(s->domains, last, &vrf); last = &vrf)
		if (!bpf_map_lookup_elem(s->domains, &vrf, &value) && value == domain)
			return vrf;
	return 0;
}

/* The rest of a packet's way to the kernel: into a VRF if it is given. */
static ssize_t send_into(int fd, struct iovec packet, void *to, socklen_t to_bytes, __u32 vrf)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {};
	struct msghdr m = { .msg_name = to, .msg_namelen = to_bytes, .msg_iov = &packet, .msg_iovlen = 1 };
	int v6 = to_bytes == sizeof(struct sockaddr_in6);
	size_t size = v6 ? sizeof(struct in6_pktinfo) : sizeof(struct in_pktinfo);

	if (!vrf)
		return sendmsg(fd, &m, 0);
	m.msg_control = &control;
	m.msg_controllen = CMSG_SPACE(size);
	control.head.cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
	control.head.cmsg_type = v6 ? IPV6_PKTINFO : IP_PKTINFO;
	control.head.cmsg_len = CMSG_LEN(size);
	if (v6)
		((struct in6_pktinfo *)CMSG_DATA(&control.head))->ipi6_ifindex = vrf;
	else
		((struct in_pktinfo *)CMSG_DATA(&control.head))->ipi_ifindex = vrf;
	return sendmsg(fd, &m, 0);
}

/* IPv4: the kernel fills in length and checksum. */
static ssize_t send4(int fd, const struct message *m, unsigned char *packet, unsigned int udp_bytes, __u32 vrf)
{
	struct iphdr *ip = (void *)(packet + sizeof(struct ip6_hdr) - sizeof(*ip));
	struct sockaddr_in to = { .sin_family = AF_INET };

	memcpy(&to.sin_addr, &m->to.b[12], 4);
	*ip = (struct iphdr){ .version = 4, .ihl = 5, .ttl = MESSAGES_TTL, .protocol = IPPROTO_UDP,
			      .frag_off = htons(IP_DF) };
	memcpy(&ip->saddr, &m->from.b[12], 4);
	memcpy(&ip->daddr, &m->to.b[12], 4);
	return send_into(fd, (struct iovec){ ip, sizeof(*ip) + udp_bytes }, &to, sizeof(to), vrf);
}

static ssize_t send6(int fd, const struct message *m, unsigned char *packet, unsigned int udp_bytes, __u32 vrf)
{
	struct ip6_hdr *ip = (void *)packet;
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

	memcpy(&to.sin6_addr, &m->to, 16);
	*ip = (struct ip6_hdr){};
	ip->ip6_vfc = 6 << 4;
	ip->ip6_plen = htons(udp_bytes);
	ip->ip6_nxt = IPPROTO_UDP;
	ip->ip6_hlim = MESSAGES_TTL;
	memcpy(&ip->ip6_src, &m->from, 16);
	memcpy(&ip->ip6_dst, &m->to, 16);
	return send_into(fd, (struct iovec){ packet, sizeof(*ip) + udp_bytes }, &to, sizeof(to), vrf);
}

void messages_send(struct messages *s, const struct message *m, const struct config *c, __u64 seq_base_ns)
{
	unsigned char packet[sizeof(struct ip6_hdr) + sizeof(struct udphdr) + MESSAGE_MAX];
	unsigned char *udp = packet + sizeof(struct ip6_hdr);
	__u32 vrf = m->domain ? domain_vrf(s, m->domain) : 0;
	__u64 seq = now_ns() + seq_base_ns;
	unsigned int bytes;
	char text[PREFIX_STRLEN];
	ssize_t sent;

	s->seq = seq > s->seq ? seq : s->seq + 1;
	bytes = sizeof(struct udphdr) + message_write(m, &c->keys, s->seq, udp + sizeof(struct udphdr));
	put16(udp, c->port);
	put16(udp + 2, c->port);
	put16(udp + 4, bytes);
	put16(udp + 6, 0);
	if (m->domain && !vrf) { /* by another network it would reach a stranger of that address */
		errno = ENETUNREACH;
		sent = -1;
	} else if (addr_is_v4(&m->to)) {
		sent = send4(s->raw4, m, packet, bytes, vrf);
	} else {
		sent = send6(s->raw6, m, packet, bytes, vrf);
	}
	if (sent < 0)
		msg_limited(&s->limit, 60, "%s to %s could not be sent: %s",
			    m->type == WIRE_CREDIT ? "credit" : m->type == WIRE_RATE ? "a rate" : "feedback", addr_format(&m->to, text),
			    strerror(errno));
}

int messages_open(int domains, struct messages **messages)
{
	struct messages *s = calloc(1, sizeof(*s));
	int one = 1, err;

	if (!s)
		return -ENOMEM;
	s->domains = domains;
	s->raw4 = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	s->raw6 = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	/* A kernel without IPv6 has no IPv6 peers, either. */
	if (s->raw4 < 0 ||
	    (s->raw6 >= 0 && setsockopt(s->raw6, IPPROTO_IPV6, IPV6_HDRINCL, &one, sizeof(one)))) {
		err = -errno;
		messages_close(s);
		return err;
	}
	*messages = s;
	return 0;
}

void messages_close(struct messages *s)
{
	if (!s)
		return;
	if (s->raw4 >= 0)
		close(s->raw4);
	if (s->raw6 >= 0)
		close(s->raw6);
	free(s);
}

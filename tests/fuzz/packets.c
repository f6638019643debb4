// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames that are almost right, through all programs of the data plane (BPF_PROG_TEST_RUN).
 *
 *  1. A frame comes from a template, or is what a program has made of an earlier one, so that what egress sends meets
 *     hop and ingress. It is damaged in up to three places, in many cases signed again afterwards.
 *  2. The programs find what earlier frames have left: flows, hosts, VOQs. Every now and then the configuration changes
 *     under them. An episode is EPISODE packets from one seed, and begins with empty maps.
 *  3. After each packet check_packet() compares what happened with what docs/processing.md and the counters say. It reads
 *     messages with a parser of its own, message_read(), and computes their tags itself.
 *
 * The programs read the clock, so a seed repeats an episode except for effects of time.
 *
 * usage: fuzz-packets [--seed N] [--count PACKETS] [--time SECONDS] [--verbose]
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>

#include "sluice/wire/intmd.h"
#include "sluice/pacer.h"
#include "sluice/wire/telemetry.h"
#include "world.h"

#define EPISODE 2000
#define POOL 64 /* frames that programs have made */
#define FLIP_EVERY 40
#define PAYLOAD_MAX 2800
#define TOR 0x0a0b0c0d /* this machine, and */
#define TOR_OTHER 0x01020304
#define SLOTS 4					/* of arrivals */
#define POD_IFINDEX 7000			/* of no device: only the maps know it */
#define SEQ_BASE_NS (1700000000 * NSEC_PER_SEC) /* of the clock of sequences */
#define DAY_NS (24 * 3600 * NSEC_PER_SEC)

#define F_ECHO 1
#define F_AUTH 2
#define F_VOQ 16
#define F_HELD 64
#define VOQ_SWITCH 4 /* of a VOQ block's flags */

static const struct siphash_key keys[3] = { { 1, 2 }, { 3, 4 }, { 5, 6 } }; /* the last is never ours */
static const char *const programs[] = {
	"egress", "ingress", "hop", "hop_map", "pod_hop", "ingress_xdp", "tor", "pfc",
};

static const struct {
	const char *name;
	enum sluice_stat_kind kind;
} stats[] = {
#define STAT(symbol, name, kind, help) { name, STAT_KIND_##kind },
	SLUICE_STATS(STAT)
#undef STAT
};

static int also[STAT_MAX]; /* counted in addition to the one that ends a packet */

static const volatile __u64 *counters;
static __u64 counted[STAT_MAX], moved[STAT_MAX];
static const struct arrival *arrivals; /* mapped */

/* The content of the maps that the programs find. */
static struct {
	enum sluice_mode mode;
	int bypass, keys, rwnd;
	int stamped; /* the path stamps something */
	int no_port; /* that flows could learn their MTU from */
	__u32 port_flags, mtu;
} conf;

/* --- chance --- */

static __u64 seed, random_state;

static __u64 random64(void) /* splitmix64 */
{
	__u64 z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int below(unsigned int n)
{
	return random64() % n;
}

static int once_in(unsigned int n)
{
	return !below(n);
}

#define one_of(...)                                       \
	({                                                \
		const __u64 of_[] = { __VA_ARGS__ };      \
		of_[below(sizeof(of_) / sizeof(of_[0]))]; \
	})

/* --- complaints --- */

/* The current step, for a complaint. */
static struct {
	enum program program;
	unsigned long packet;
	const struct frame *in, *out;
	int verdict;
} now;

static void show(const char *name, const struct frame *f)
{
	unsigned int i;

	printf("# %s, %u bytes:", name, f->len);
	for (i = 0; i < f->len && i < 400; i++)
		printf("%s%02x", i % 32 ? i % 2 ? "" : " " : "\n#   ", f->b[i]);
	printf("\n");
}

static void complain(const char *why)
{
	unsigned int i;

	printf("not ok packets: seed %llu, packet %lu, %s: %s\n", seed, now.packet, programs[now.program], why);
	printf("# mode %u, bypass %d, %d keys, rwnd %d, port flags %#x, MTU %u; verdict %d; counted:", conf.mode,
	       conf.bypass, conf.keys, conf.rwnd, conf.port_flags, conf.mtu, now.verdict);
	for (i = 0; i < STAT_MAX; i++)
		if (moved[i])
			printf(" %s +%llu", stats[i].name, moved[i]);
	printf("\n");
	if (now.in)
		show("in", now.in);
	if (now.out)
		show("out", now.out);
	printf("# again: build/fuzz-packets --seed %llu --count %d\n", seed, EPISODE);
	exit(1);
}

void check_failed(const char *fmt, ...)
{
	char why[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	complain(why);
	exit(1); /* never; for the compiler */
}

void check_skipped(const char *fmt, ...)
{
	va_list ap;

	printf("skip packets: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(0);
}

#define check(claim, ...)                          \
	do {                                       \
		if (!(claim))                      \
			check_failed(__VA_ARGS__); \
	} while (0)

/* --- messages, as docs/protocol.md and docs/messages.md have them --- */

struct message {
	int v6, msg, batch;
	int companion;	    /* it is one: its ports are 20 bytes before the shim */
	unsigned int ip;    /* of the outer header, */
	unsigned int shim;  /*   and of Sluice's own shim, */
	unsigned int intmd; /*   preceded by this many bytes of INT-MD */
	unsigned int bytes; /* from there to the inner packet */
	unsigned int inner;
	unsigned int hops, flags, echo_hops;
};

static int has_ports(__u8 proto)
{
	return proto == 6 || proto == 17;
}

static int is_tunnel(__u8 proto)
{
	return proto == 4 || proto == 41 || proto == 47;
}

/* Reads a companion of that many bytes, whose ports are at l4. Returns whether it is a sound one. */
static int companion_read(const struct frame *f, unsigned int l4, unsigned int bytes, __u8 proto, struct message *m)
{
	const __u8 *c = f->b + l4, *w = c + 20;

	if (!has_ports(proto) && (!is_tunnel(proto) || f->len < l4 + 4 || get32(c) != 0x00070007))
		return 0;
	if ((bytes != 76 && bytes != 92 && bytes != 88 && bytes != 104) || f->len < l4 + bytes || get16(c + 4) != 4 ||
	    memcmp(c + 8, "SLC2", 4) || c[12])
		return 0;
	if (w[0] != (9 << 4 | 2 << 2) || w[3] != 59 || (w[4] != 0x42 && w[4] != 0x43) || w[5] > 5 || w[7] > 5 ||
	    w[6] & F_ECHO)
		return 0;
	m->companion = 1;
	m->shim = l4 + 20;
	m->msg = w[4] & 15;
	m->hops = w[5];
	m->flags = w[6];
	m->echo_hops = w[7];
	m->bytes = 12 + (m->hops ? 4 + 8 * m->hops : 0) + (m->flags & F_VOQ ? 12 : 0) + (m->flags & F_AUTH ? 16 : 0);
	m->inner = m->shim + m->bytes;
	return m->bytes == 4 + 4U * w[1] && m->inner == l4 + bytes;
}

/* Reads the message behind the Ethernet header, which is so long. Returns whether it is a sound one. */
static int message_read(const struct frame *f, unsigned int eth, struct message *m)
{
	const __u8 *ip = f->b + eth, *w;
	unsigned int proto, total, udp;

	memset(m, 0, sizeof(*m));
	m->ip = eth;
	if (f->len < eth + 20)
		return 0;
	switch (get16(ip - 2)) {
	case 0x0800:
		if (ip[0] != 0x45 || get16(ip + 6) & 0x3fff)
			return 0;
		proto = ip[9];
		total = get16(ip + 2);
		udp = eth + 20;
		break;
	case 0x86dd:
		if (ip[0] >> 4 != 6 || f->len < eth + 40)
			return 0;
		proto = ip[6];
		total = 40 + get16(ip + 4);
		udp = eth + 40;
		m->v6 = 1;
		break;
	default:
		return 0;
	}
	if (f->len < udp + 20)
		return 0;
	if (proto != 17 || get16(f->b + udp + 2) != PORT_WIRE)
		return companion_read(f, udp, eth + total - udp, proto, m);
	m->shim = udp + 8;
	w = f->b + m->shim;
	if (w[0] == (1 << 4 | 2 << 2) && w[3] == NEXT_SLUICE) {
		m->intmd = 4 + 4 * w[1];
		m->shim += m->intmd;
		w = f->b + m->shim;
		if (m->intmd < 16 || f->len < m->shim + 12)
			return 0;
	}
	if (w[0] != (9 << 4 | 2 << 2) || w[4] >> 4 != 4)
		return 0;
	m->msg = w[4] & 15;
	m->hops = w[5];
	m->flags = w[6];
	m->echo_hops = w[7];
	m->batch = m->msg >= 4;
	if (m->msg < 1 || m->msg > 6 || m->echo_hops > 5 || (m->batch ? !m->hops || m->hops > 32 : m->hops > 5))
		return 0;
	if (m->batch)
		m->bytes = 12 + 24 * m->hops;
	else
		m->bytes = 12 + (m->hops ? 4 + 8 * m->hops : 0) + (m->flags & F_VOQ ? 12 : 0) +
			   (m->flags & F_ECHO ? 12 + 8 * m->echo_hops : 0);
	m->bytes += m->flags & F_AUTH ? 16 : 0;
	m->inner = m->shim + m->bytes;
	return m->bytes == 4 + 4U * w[1] && m->inner <= eth + total && eth + total <= f->len && !get16(f->b + udp + 6);
}

static void message_addr(const struct frame *f, const struct message *m, int source, __u8 *to)
{
	const __u8 *ip = f->b + m->ip;

	memset(to, 0, 16);
	if (m->v6) {
		memcpy(to, ip + (source ? 8 : 24), 16);
	} else {
		to[10] = to[11] = 0xff;
		memcpy(to + 12, ip + (source ? 12 : 16), 4);
	}
}

/* Where its sequence and tag are. */
static unsigned int message_auth(const struct message *m)
{
	return m->inner - 16;
}

static unsigned int message_echo(const struct message *m)
{
	return m->shim + 12 + (m->hops ? 4 + 8 * m->hops : 0) + (m->flags & F_VOQ ? 12 : 0);
}

static unsigned int message_l4(const struct message *m)
{
	return m->companion ? m->shim - 20 : m->inner + (m->v6 ? 40 : 20);
}

/* The protocol of its flow. */
static __u8 message_proto(const struct frame *f, const struct message *m)
{
	return f->b[(m->companion ? m->ip : m->inner) + (m->v6 ? 6 : 9)];
}

/* The tag that a message with WIRE_F_AUTH is to have; 0: its inner packet is too short for one. */
static __u64 message_tag(const struct frame *f, const struct message *m, const struct siphash_key *key)
{
	unsigned int echo = m->flags & F_ECHO ? 12 + 8 * m->echo_hops : 0, bytes;
	__u8 text[816] = {};
	__u32 word[204];

	message_addr(f, m, 1, text);
	message_addr(f, m, 0, text + 16);
	if (m->batch) {
		memcpy(text + 32, f->b + m->shim + 4, 8);
		memcpy(text + 40, f->b + message_auth(m), 8);
		memcpy(text + 48, f->b + m->shim + 12, 24 * m->hops);
		bytes = 48 + 24 * m->hops;
	} else {
		if (f->len < message_l4(m) + 4)
			return 0;
		if (has_ports(message_proto(f, m)))
			memcpy(text + 32, f->b + message_l4(m), 4);
		if (has_ports(message_proto(f, m)) && m->companion && m->msg == 3) { /* as in the question */
			memcpy(text + 32, f->b + message_l4(m) + 2, 2);
			memcpy(text + 34, f->b + message_l4(m), 2);
		}
		text[36] = message_proto(f, m);
		memcpy(text + 40, f->b + m->shim + 4, 8);
		memcpy(text + 48, f->b + message_auth(m), 8);
		memcpy(text + 56, f->b + message_echo(m), echo);
		if (m->msg != 1 && m->flags & F_VOQ && !echo) { /* unless a switch fills it in */
			echo = 12;
			if (!(f->b[message_echo(m) - 1] & VOQ_SWITCH))
				memcpy(text + 56, f->b + message_echo(m) - 12, 12);
		}
		bytes = 56 + echo;
	}
	memcpy(word, text, sizeof(text));
	return siphash(key, word, bytes / 4, 204);
}

static int message_is_signed(const struct frame *f, const struct message *m, unsigned int n)
{
	unsigned int i;

	if (!(m->flags & F_AUTH) || !get64(f->b + message_auth(m)))
		return 0;
	for (i = 0; i < n; i++)
		if (get64(f->b + message_auth(m) + 8) == message_tag(f, m, &keys[i]))
			return 1;
	return 0;
}

static void message_sign(struct frame *f, const struct siphash_key *key)
{
	struct message m;

	if (message_read(f, 14, &m) && m.flags & F_AUTH)
		put64(f->b + message_auth(&m) + 8, message_tag(f, &m, key));
}

/* The flow that a message teaches something. Returns whether there is one. */
static int message_flow(const struct frame *f, const struct message *m, struct flow_key *k)
{
	unsigned int l4 = message_l4(m), reply = m->msg == 3 && !m->companion;

	memset(k, 0, sizeof(*k));
	message_addr(f, m, 0, k->local.b);
	message_addr(f, m, 1, k->remote.b);
	if (m->batch) {
		memcpy(&k->local_port, f->b + m->shim + 12, 4);
		k->proto = f->b[m->shim + 12 + 4];
		return m->msg == 4;
	}
	if (f->len < l4 + 4)
		return 0;
	k->proto = message_proto(f, m);
	if (!has_ports(k->proto))
		return 1;
	memcpy(&k->local_port, f->b + l4 + (reply ? 0 : 2), 2);
	memcpy(&k->remote_port, f->b + l4 + (reply ? 2 : 0), 2);
	return 1;
}

/* --- the maps --- */

static int map_flows, map_hosts, map_voqs, map_reports;

/* The state that one packet can change: the flow, the host and the VOQ that it names, and all arrivals. */
struct state {
	struct flow_key key;
	struct flow flow;
	struct host host;
	struct voq_key voq_key;
	struct voq voq;
	int has_key, has_flow, has_host, has_voq;
	struct arrival arrival[SLOTS];
};

static void state_read(struct state *s)
{
	s->has_flow = s->has_key && !bpf_map_lookup_elem(map_flows, &s->key, &s->flow);
	s->has_host = s->has_key && !bpf_map_lookup_elem(map_hosts, host_of_flow(&s->key), &s->host);
	s->has_voq = s->voq_key.prefixlen && !bpf_map_lookup_elem(map_voqs, &s->voq_key, &s->voq);
	memcpy(s->arrival, arrivals, sizeof(s->arrival));
}

#define REFUSED "a packet that is none of ours, or was refused, "

static void state_same(const struct state *a, struct state *b)
{
	check(a->has_flow == b->has_flow, REFUSED "made a flow");
	check(!a->has_flow || !memcmp(&a->flow, &b->flow, sizeof(a->flow)), REFUSED "changed its flow");
	check(a->has_host == b->has_host, REFUSED "made a host");
	b->host.epoch = a->host.epoch; /* only says that the prefixes were searched */
	if (moved[STAT_PROBE_HELD]) { /* only says what is held against it */
		b->host.old_at = a->host.old_at;
		b->host.old_by = a->host.old_by;
		b->host.answers_ns = a->host.answers_ns; /* the bucket of answers */
	}
	check(!a->has_host || !memcmp(&a->host, &b->host, sizeof(a->host)), REFUSED "changed its host");
	check(a->has_voq == b->has_voq && (!a->has_voq || !memcmp(&a->voq, &b->voq, sizeof(a->voq))),
	      REFUSED "changed a VOQ");
	check(!memcmp(a->arrival, b->arrival, sizeof(a->arrival)), REFUSED "was noted as an arrival");
}

/* The invariants of a flow after any packet. */
static void flow_check(const struct flow *f)
{
	check(!f->rx.lock, "the flow is locked");
	check(!(f->echo.version & 1), "the echo is open: version %u", f->echo.version);
	check(f->echo.hops <= 5, "an echo of %u hops", f->echo.hops);
	if (!f->params.t_ns)
		return;
	check(f->cc.w >= f->params.w_min && f->cc.w <= f->params.w_init, "W %llu, not %llu to %llu", f->cc.w,
	      f->params.w_min, f->params.w_init);
	check(f->cc.wc <= f->params.w_init, "Wc %llu above %llu", f->cc.wc, f->params.w_init);
	check(f->cc.rate_bps, "R is 0");
	check(f->cc.hops <= 5, "a path of %u hops", f->cc.hops);
	check(f->delay.timed_count <= FLOW_TIMED, "%u packets are timed", f->delay.timed_count);
}

static void map_empty(int fd)
{
	__u8 key[64];

	while (!bpf_map_get_next_key(fd, NULL, key))
		bpf_map_delete_elem(fd, key);
}

/* A flow, with its host and its VOQ, that no frame belongs to. */
static const struct ip_spec bystander = { .from = HOST_STRANGER, .to = HOST_B, .sport = 1, .dport = 2 };

static struct flow bystander_flow;

static void bystander_make(void)
{
	memset(&bystander_flow, 0x5a, sizeof(bystander_flow));
	flow_set(bystander, &bystander_flow);
}

static void episode_check(void)
{
	struct flow_key key, *at = NULL;
	struct voq_key voq_key, *voq_at = NULL;
	struct rx_flow rx;
	struct flow f = flow_get(bystander);
	struct voq v;

	check(!memcmp(&f, &bystander_flow, sizeof(f)), "a flow changed that no packet belonged to");
	for (; !bpf_map_get_next_key(map_flows, at, &key); at = &key) {
		if (bpf_map_lookup_elem(map_flows, &key, &f) || !memcmp(&f, &bystander_flow, sizeof(f)))
			continue;
		flow_check(&f);
	}
	for (at = NULL; !bpf_map_get_next_key(map_reports, at, &key); at = &key)
		check(bpf_map_lookup_elem(map_reports, &key, &rx) || !rx.lock, "what is told of a flow is locked");
	for (; !bpf_map_get_next_key(map_voqs, voq_at, &voq_key); voq_at = &voq_key)
		if (!bpf_map_lookup_elem(map_voqs, &voq_key, &v)) {
			check(!v.lock, "a VOQ is locked");
			check(!v.voq.credit || v.voq.credit <= v.voq.sent + HIERCC_DELTA_BYTES,
			      "credit %llu for %llu bytes sent", v.voq.credit, v.voq.sent);
		}
}

/* --- the configuration --- */

static void peers_change(void)
{
	struct peer peer = peer_usual();

	peer.encoding = below(2);
	peer.telemetry = once_in(2) ? TELEMETRY_EVERY : below(TELEMETRY_MODES + 1);
	peer.feedback = below(RX_FEEDBACKS);
	peer.delay = !conf.stamped || below(2);
	peer.variant = one_of(HPCC_PLAIN, HPCC_VAI_SF);
	peer.hiercc = below(3);
	peer.hpcc_off = once_in(4);
	peer.flows_fixed = once_in(4);
	peer.voq_c0 = once_in(2) ? 3000 : 0;
	peer.voq_limit_ns = one_of(0, 1000000, 5 * NSEC_PER_SEC);
	peer.voq_period_ns = 250000;
	peer.prefixlen = 96 + 16;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer.prefixlen = 32;
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

static void port_changes(void)
{
	struct port port = port_usual();

	conf.port_flags =
		one_of(PORT_F_HOST, PORT_F_HOST | PORT_F_EDT, PORT_F_HOST | PORT_F_STAMP | PORT_F_EDT, PORT_F_SWITCH,
		       PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT, PORT_F_SWITCH | PORT_F_VOQ_DOWN,
		       PORT_F_SWITCH | PORT_F_CLASSES, PORT_F_HOST | PORT_F_POD, PORT_F_HOST | PORT_F_NO_QUEUE) |
		(once_in(4) ? 0 : PORT_F_XDP_TX);
	if (once_in(4))
		conf.mtu = one_of(1280, 1500, WORLD_MTU);
	port.flags = conf.port_flags;
	port.mtu = conf.mtu;
	port.count_ns = once_in(2) ? WORLD_T_NS : 0;
	conf.no_port = once_in(20);
	if (conf.no_port)
		port_remove(WORLD_IFINDEX);
	else
		port_set(WORLD_IFINDEX, &port);
	port.flags = PORT_F_POD;
	if (once_in(2))
		port_set(POD_IFINDEX, &port);
	else
		port_remove(POD_IFINDEX);
	control_next_epoch();
}

static void pauses_change(void)
{
	struct pfc_port p = {
		.flags = below(8) ? PFC_F_OBEY : 0,
		.slot = 1,
		.lossless = random64(),
		.trust = below(2),
	};

	pfc_obey_init(&p.params, WORLD_BPS);
	if (once_in(2))
		p.params.storm_ns = p.params.restore_ns = 1000;
	pauses_set(WORLD_IFINDEX, &p);
	pauses_count(below(2));
}

static void trace_changes(void)
{
	struct control wish = { .trace_on = below(2), .trace_every = below(4), .trace_until_ns = ~0ULL };

	trace_set(&wish);
}

/* Of the packets that wait for the daemon. */
static void rings_drain(void)
{
	reports_taken(NULL, 0);
	news_taken(NULL, 0);
	asks_taken(NULL, 0);
	traces_taken(NULL, 0);
}

static void earlier(__u64 *at_ns, __u64 by_ns)
{
	if (*at_ns > by_ns)
		*at_ns -= by_ns;
}

/* The protocol of a tunnel, now and then; 0: none. */
static __u8 next_tunnel(void)
{
	return once_in(8) ? one_of(4, 41, 47) : 0;
}

/* Time passes for one flow and for its remote host. */
static void time_passes(void)
{
	struct ip_spec s = { .v6 = below(2), .udp = below(2), .tunnel = next_tunnel(), .reply = below(2) };
	__u64 by_ns = one_of(100000, 5000000, 200000000, 2 * NSEC_PER_SEC);
	struct flow f;
	struct host h;

	*(s.reply ? &s.dport : &s.sport) = PORT_A + below(3);
	if (flow_exists(s)) {
		f = flow_get(s);
		earlier(&f.tx.clock_ns, by_ns);
		earlier(&f.tx.last_ns, by_ns);
		earlier(&f.rx.last_ns, by_ns);
		earlier(&f.rx.fb_ns, by_ns);
		earlier(&f.rx.fb_rx_ns, by_ns);
		earlier(&f.tx.probe_ns, by_ns);
		earlier(&f.wnd.asked_ns, by_ns);
		earlier(&f.wnd.edge_ns, by_ns);
		earlier(&f.auth.telem_ns, by_ns);
		earlier(&f.tx.telem_ns, by_ns);
		earlier(&f.rx.count_ns, by_ns);
		earlier(&f.hops_ns, by_ns);
		flow_set(s, &f);
	}
	if (!host_exists(s.v6, s.reply ? HOST_A : HOST_B))
		return;
	h = host_get(s.v6, s.reply ? HOST_A : HOST_B);
	earlier(&h.heard_ns, by_ns);
	earlier(&h.unanswered_ns, by_ns);
	earlier(&h.asked_ns, by_ns);
	host_set(s.v6, s.reply ? HOST_A : HOST_B, &h);
}

static void conf_flip(void)
{
	switch (below(18)) {
	case 0:
	case 1:
		conf.mode = below(3);
		conf.bypass = once_in(8);
		control_set(conf.mode, conf.bypass);
		break;
	case 2:
	case 3:
		conf.keys = below(3);
		keys_set(keys, conf.keys);
		break;
	case 4:
		conf.rwnd = below(2);
		rwnd_set(conf.rwnd);
		break;
	case 5:
	case 6:
		peers_change();
		break;
	case 7:
	case 8:
		port_changes();
		break;
	case 9:
		tor_set(once_in(3) ? 0 : TOR);
		break;
	case 10:
		pauses_change();
		break;
	case 11:
		trace_changes();
		break;
	case 12:
		horizon_set(one_of(0, 1000, 10000000, NSEC_PER_SEC), below(2));
		credit_alive(clock_ns(), once_in(2) ? NSEC_PER_SEC : 0);
		break;
	case 13:
		if (once_in(2))
			hosts_strip();
		else
			map_empty(map_hosts);
		rings_drain();
		break;
	default:
		time_passes();
		break;
	}
}

/* No room for another flow. */
static void flows_fill(void)
{
	struct flow_key k = { .local.b = { 0xff } };
	struct flow f = {};
	__u32 n = 0;

	do
		put32(k.local.b + 1, ++n);
	while (!bpf_map_update_elem(map_flows, &k, &f, BPF_NOEXIST));
}

static void episode_begin(void)
{
	static const __u32 tors[2] = { TOR, TOR_OTHER };
	struct arrival a = {};
	unsigned int i;

	random_state = seed;
	map_empty(map_flows);
	map_empty(map_hosts);
	map_empty(map_voqs);
	map_empty(map_reports);
	map_empty(world_map("tor_flows"));
	map_empty(world_map("arrival_slots"));
	for (i = 0; i < SLOTS; i++) {
		struct voq_key to = voq_key_of(i & 1, HOST_A, 128);
		struct arrival_key k = { .addr = to.addr, .prefixlen = 128 };

		put32((__u8 *)&k.tor, tors[i / 2]);
		a.watched = below(2);
		a.ifindex = once_in(2) ? WORLD_IFINDEX : POD_IFINDEX;
		arrival_set(i, &a);
		arrival_slot_set(&k, i);
	}
	conf.mode = below(3);
	conf.bypass = 0;
	conf.keys = below(3);
	conf.rwnd = below(2);
	conf.stamped = below(6) > 0;
	conf.mtu = once_in(4) ? 1500 : WORLD_MTU;
	control_set(conf.mode, 0);
	keys_set(keys, conf.keys);
	rwnd_set(conf.rwnd);
	seq_base_set(SEQ_BASE_NS);
	port_changes();
	peers_change();
	tor_set(below(2) ? TOR : 0);
	pauses_count(0);
	pod_set(POD_IFINDEX, 0);
	pod_set(POD_IFINDEX + 1, 1);
	hosts_strip();
	bystander_make();
	if (once_in(16))
		flows_fill();
	if (once_in(64))
		voqs_fill();
	if (once_in(2))
		rings_drain();
}

/* --- frames --- */

static struct frame pool[POOL];
static unsigned int pooled;

static void pool_add(const struct frame *f)
{
	if (f->len <= PAYLOAD_MAX + 200)
		pool[pooled++ % POOL] = *f;
}

static __u64 next_seq(void)
{
	static __u64 last;
	__u64 clock = SEQ_BASE_NS + clock_ns();

	switch (below(48)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return last; /* used before */
	case 3:
		return last - 1;
	case 4:
		return last - 2 * NSEC_PER_SEC;
	case 5:
		return clock + NSEC_PER_SEC;
	case 6:
		return once_in(40) ? ~0ULL : last;
	case 7:
		return once_in(40) ? clock + 3 * DAY_NS : last;
	}
	return last = once_in(8) ? clock_ns() : clock;
}

/* A hop that makes sense after those before, mostly. */
static __u64 next_hop(void)
{
	static __u64 tx;
	struct telem_speed s = { once_in(16) ? below(16) : 12, 1 << 16 };

	if (once_in(16))
		return random64();
	tx += below(100000);
	return telem_pack(s, clock_ns() - below(100000), tx, once_in(2) ? 0 : below(6000000));
}

static struct ip_spec next_spec(int reply)
{
	struct ip_spec s = {
		.v6 = below(2),
		.udp = once_in(3),
		.tunnel = next_tunnel(),
		.reply = reply,
		.payload = once_in(8) ? below(PAYLOAD_MAX) : one_of(0, 0, 0, 1, 7, 8, 20, 100, 536, 1000, 1448),
		.tos = one_of(0, 0, ECT0, CE, 3 << 5, 0xff),
		.may_fragment = once_in(8),
		.padding = once_in(16) ? below(20) : 0,
	};

	*(reply ? &s.dport : &s.sport) = PORT_A + below(3);
	if (!s.udp && !s.tunnel) {
		s.options = once_in(4) ? 4 * below(11) : 0;
		s.flags = once_in(4) ? one_of(SYN, SYN | ACK, FIN | ACK, RST, RST | ACK, 0, 0xff) : ACK;
	}
	if (once_in(24))
		*(below(2) ? &s.from : &s.to) = HOST_STRANGER;
	return s;
}

static struct frame next_plain(int reply)
{
	struct ip_spec s = next_spec(reply);
	struct frame f = frame_of(s);
	unsigned int l4 = 14 + (s.v6 ? 40 : 20);

	if (!s.udp && !s.tunnel) {
		put32(f.b + l4 + 4, one_of(1000000, 0, 1 << 30, ~0U, random64()));
		put32(f.b + l4 + 8, one_of(2000000, 0, 1 << 30, 1U << 31, ~0U, random64()));
		put16(f.b + l4 + 14, one_of(501, 0, 1, 0xffff, random64()));
		if (s.options >= 4 && once_in(2)) { /* a window scale, sound or not */
			f.b[l4 + 20] = 3;
			f.b[l4 + 21] = one_of(3, 3, 3, 0, 1, 2, 255);
			f.b[l4 + 22] = one_of(7, 7, 0, 14, 15, 255);
		}
		frame_fix(&f);
	}
	return f;
}

/* The key of a message: as often as not one that this machine has. */
static const struct siphash_key *next_key(void)
{
	if (once_in(12))
		return below(2) ? &keys[2] : NULL;
	return conf.keys ? &keys[below(conf.keys)] : once_in(12) ? &keys[0] : NULL;
}

static struct frame next_wrapped(int msg)
{
	struct frame inner = next_plain(below(2)), f;
	struct wire_spec s = {
		.msg = msg,
		.room = msg == 1 ? one_of(0, 1, 2, 3, 5, 5) : 5,
		.path = once_in(8) ? below(4096) : 0x123,
		.seq = once_in(8) ? random64() : below(100000),
		.ce = once_in(8),
		.voq = msg == 1 && once_in(3),
		.voq_tor = one_of(0, TOR, TOR, TOR_OTHER),
		.voq_total = below(4) ? below(1000000) : random64(),
		.voq_flows = one_of(0, 1, 7, 0xffff),
		.voq_prefixlen = one_of(128, 128, 128, 96 + 16, 32, 0, 129, 255),
		.echo = msg == 1 && once_in(2),
		.echo_hops = one_of(0, 1, 1, 2, 3, 5),
		.echo_seq = once_in(8) ? random64() : below(100000),
		.echo_age = one_of(0, 1, 1000, 0xffff),
		.echo_path = once_in(8) ? below(4096) : 0x123,
		.echo_flows = one_of(0, 1, 10, 0xffff),
		.window = once_in(4),
		.ratio = once_in(4),
		.key = next_key(),
		.auth_seq = next_seq(),
	};
	unsigned int i;

	if (!conf.stamped)
		s.echo_hops = s.window = s.ratio = 0;
	s.nhop = once_in(16) ? below(16) : below(s.room + 1);
	for (i = 0; i < 5; i++) {
		s.hop[i] = next_hop();
		s.echo_hop[i] = once_in(4) ? random64() : next_hop();
	}
	if (msg != 1)
		inner = frame_cut(inner, inner.len < 74 ? inner.len : frame_is_v6(&inner) ? 74 : 54);
	f = frame_wrap(&inner, s);
	if (msg == 3) {
		f = frame_turned(f);
		if (s.key)
			frame_sign(&f, s.key);
	}
	if (once_in(4)) {
		struct int_spec t = {
			.flags = once_in(8) ? 1 << below(4) : 0,
			.left = below(6),
			.hops = once_in(8) ? below(INT_HOPS + 1) : below(5),
			.length = once_in(16) ? random64() : 0,
			.bitmap = once_in(16) ? random64() : 0,
		};

		for (i = 0; i < t.hops; i++)
			t.hop[i] = (struct int_hop){ i, once_in(4) ? random64() : below(1000),
						     clock_ns() - below(100000), random64(), 100000000 };
		f = frame_with_int(f, t);
	}
	return f;
}

/* A companion, or its answer, in the headers of a flow. */
static struct frame next_companion(void)
{
	struct frame f = frame_of(next_spec(once_in(4) ? 0 : 1));
	const struct siphash_key *key = next_key();
	unsigned int v6 = frame_is_v6(&f), l4 = 14 + (v6 ? 40 : 20), bytes = 76 + (key ? 16 : 0), nhop, i;
	__u8 *c = f.b + l4, proto = f.b[v6 ? 20 : 23];

	f.len = l4 + bytes;
	put16(f.b + (v6 ? 18 : 16), v6 ? bytes : 20 + bytes);
	memset(c + 4, 0, bytes - 4);
	if (!has_ports(proto))
		put32(c, 0x00070007);
	put16(c + 4, 4);
	memcpy(c + 8, "SLC2", 4);
	put32(c + 20, 0x9800003b | (bytes - 24) / 4 << 16);
	c[24] = 0x40 | (2 + below(2));
	c[25] = 5;
	c[26] = key ? F_AUTH : 0;
	put32(c + 28, once_in(8) ? random64() : below(100000));
	nhop = once_in(16) ? below(16) : below(conf.stamped ? 6 : 1);
	put16(c + 32, nhop << 12 | 0x123);
	put16(c + 34, one_of(0, 1, 10, 0xffff));
	for (i = 0; i < 5; i++)
		put64(c + 36 + 8 * i, next_hop());
	if (key)
		put64(c + 76, next_seq());
	frame_fix(&f);
	if (key)
		message_sign(&f, key);
	return f;
}

/* FEEDBACK, CREDIT or RATE. */
static struct frame next_batch(int msg)
{
	unsigned int n = once_in(8) ? 32 : 1 + below(3), i, v6 = below(2), bytes;
	const struct siphash_key *key = next_key();
	__u8 b[12 + 24 * 33 + 16] = {}, *p = b + 12;
	struct frame f;

	for (i = 0; i < n; i++, p += 24) {
		struct voq_key to = voq_key_of(v6, once_in(4) ? HOST_A : HOST_B, 128);

		if (msg == 4) {
			put16(p, PORT_A + below(3));
			put16(p + 2, PORT_B);
			p[4] = one_of(6, 6, 17, 0);
			p[5] = one_of(4, 4, 8, 8, 12, 0, 255);
			put16(p + 6, one_of(0, 1, 10, 0xffff));
			put32(p + 8, once_in(8) ? random64() : below(100000));
			put16(p + 12, one_of(0, 1, 0xffff));
			put16(p + 14, once_in(8) ? random64() : 0x2000);
			put32(p + 16, one_of(0, 1, 1500, 100000, 1 << 24, ~0U, random64()));
			put32(p + 20, one_of(0, 1, ~0U));
			continue;
		}
		memcpy(p, &to.addr, 16);
		/* Totals begin at 2^32. */
		put32(p + 16, once_in(4) ? random64() : msg == 5 ? below(100000) : below(100000000));
		p[20] = one_of(128, 128, 128, 96 + 16, 0, 255);
		p[21] = random64();
		put16(p + 22, once_in(2) ? clock_ns() >> 10 : random64());
	}
	bytes = 12 + 24 * n + (key ? 16 : 0);
	b[0] = 0x98;
	b[1] = (bytes - 4) / 4;
	b[3] = 59;
	b[4] = 0x40 | msg;
	b[5] = once_in(16) ? one_of(0, 1, n - 1, n + 1, 33, 255) : n;
	b[6] = key ? F_AUTH : 0;
	if (msg == 5)
		put32(b + 8, once_in(4) ? TOR_OTHER : TOR);
	if (key)
		batch_sign(b, bytes, n, v6, key, next_seq());
	f = frame_of_batch(v6, b, bytes);
	return f;
}

static struct frame next_pfc(void)
{
	static const __u8 head[] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 1, 1 };
	struct frame f = { .len = one_of(60, 60, 60, 64, 59, 61) };
	unsigned int i;

	memcpy(f.b, head, sizeof(head));
	put16(f.b + 16, once_in(8) ? random64() : below(256));
	for (i = 0; i < 8; i++)
		put16(f.b + 18 + 2 * i, one_of(0, 1, 0xffff, random64()));
	return f;
}

static struct frame next_odd(void)
{
	__u8 bytes[64];
	struct frame f;
	unsigned int i;

	if (once_in(4))
		return frame_arp();
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = random64();
	f = frame_ip(below(2), one_of(1, 4, 6, 17, 41, 47, 50, 58, 132, random64() & 255), bytes, below(sizeof(bytes)));
	if (once_in(8))
		put16(f.b + 12, one_of(0x86dd, 0x0800, 0x8100, 0x88a8, 0x8808, 0, 0x05ff, 0xffff));
	return f;
}

static struct frame next_frame(enum program *p)
{
	struct frame f;

	switch (below(22)) {
	case 20 ... 21:
		*p = one_of(INGRESS, INGRESS, INGRESS_XDP, INGRESS_XDP, HOP, HOP_MAP, EGRESS);
		return next_companion();
	case 0 ... 3:
		*p = EGRESS;
		return next_plain(below(4) == 0);
	case 4 ... 5:
		*p = one_of(INGRESS, INGRESS, INGRESS, INGRESS_XDP, POD_HOP, POD_HOP, HOP, HOP_MAP, TOR_INGRESS,
			    PFC_INGRESS);
		return next_plain(below(4) > 0);
	case 6 ... 9:
		*p = one_of(INGRESS, INGRESS, INGRESS_XDP, INGRESS_XDP, HOP, HOP_MAP);
		return next_wrapped(1);
	case 10:
		*p = one_of(INGRESS, INGRESS_XDP, HOP, HOP_MAP);
		return next_wrapped(2 + below(2));
	case 11 ... 12:
		*p = one_of(INGRESS, INGRESS_XDP, INGRESS_XDP, TOR_INGRESS);
		return next_batch(4 + below(3));
	case 13:
		*p = one_of(INGRESS, TOR_INGRESS, PFC_INGRESS, INGRESS_XDP, EGRESS);
		return next_pfc();
	case 14:
		*p = below(PFC_INGRESS + 1);
		return next_odd();
	default:
		if (!pooled)
			return next_frame(p);
		*p = once_in(8) ? below(PFC_INGRESS + 1) : one_of(INGRESS, INGRESS_XDP, HOP, HOP_MAP);
		f = pool[below(pooled < POOL ? pooled : POOL)];
		/* From the host that it was sent to: an answer, or what was looped. */
		if (once_in(16) && f.len > 74)
			f = frame_turned(f);
		return f;
	}
}

/* --- damage --- */

static const __u8 edges[] = { 0, 1, 2, 0x0f, 0x10, 0x7f, 0x80, 0xf0, 0xfe, 0xff };

static void damage(struct frame *f)
{
	unsigned int head = f->len < 160 ? f->len : 160, at = below(head), v6 = frame_is_v6(f);
	unsigned int udp = at_udp(f), shim = at_shim(f);
	__u8 *b = f->b;

	switch (below(20)) {
	case 0:
	case 1:
		b[at] ^= 1 << below(8);
		break;
	case 2:
		b[at] = edges[below(sizeof(edges))];
		break;
	case 3:
		if (at + 2 <= f->len)
			put16(b + at, one_of(0, 1, 0x7fff, 0x8000, 0xffff, f->len, f->len - 14));
		break;
	case 4:
		if (at + 4 <= f->len)
			put32(b + at, one_of(0, 1, 0x7fffffff, 0x80000000, 0xffffffff));
		break;
	case 5:
		*f = frame_cut(*f, 15 + below(f->len - 14));
		break;
	case 6: /* cut near a border */
		at = one_of(14, 34, 42, 54, 62, 74, shim + 4, shim + 12) + below(3);
		if (at > 14 && at < f->len)
			*f = frame_cut(*f, at);
		break;
	case 7: /* longer than it says */
		f->len += below(30);
		break;
	case 8: /* length of IP */
		put16(b + 14 + (v6 ? 4 : 2), get16(b + 14 + (v6 ? 4 : 2)) + one_of(-1, 1, 4, -4, 0x8000));
		break;
	case 9: /* of UDP */
		put16(b + udp + 4, get16(b + udp + 4) + one_of(-1, 1, 0x8000));
		break;
	case 10: /* of the shim */
		b[shim + 1] += one_of(-1, 1, 4, 0x80);
		break;
	case 11: /* message, room, flags, hops of the echo: a bit or an edge */
		at = shim + 4 + below(4);
		b[at] = once_in(2) ? b[at] ^ 1 << below(8) : edges[below(sizeof(edges))];
		break;
	case 12: /* message type */
		b[shim + 4] = below(4) ? 0x40 | below(8) : below(256);
		break;
	case 13:
		if (f->len < FRAME_MAX - 300)
			*f = frame_with_vlan(*f, one_of(0x8100, 0x88a8));
		break;
	case 14:
		if (!v6 && f->len >= 34 && f->len < FRAME_MAX - 300)
			*f = once_in(2) ? frame_with_ipv4_option(*f) : frame_with_fragment(*f, below(2), 8 * below(3));
		else if (v6 && f->len >= 54 && f->len < FRAME_MAX - 300)
			*f = frame_with_extension(*f, one_of(0, 43, 44, 51, 60, 59, 135));
		break;
	case 15: /* header of TCP, outer or inner */
		at = (once_in(2) ? at_udp(f) : at_inner(f) + (v6 ? 40 : 20)) + 12;
		if (at + 2 < f->len) {
			if (once_in(2))
				b[at] = below(16) << 4;
			else
				b[at + 1] = one_of(SYN, SYN | ACK, RST, FIN, 0, 0xff);
		}
		break;
	case 16: /* addresses of the inner packet */
		at = at_inner(f) + (v6 ? 8 + below(32) : 12 + below(8));
		if (at < f->len)
			b[at] ^= 1 << below(8);
		break;
	case 17: /* its protocol and lengths */
		at = at_inner(f) + one_of(0, 2, 3, 4, 5, 6, 9);
		if (at < f->len)
			b[at] = once_in(2) ? b[at] + one_of(-1, 1) : edges[below(sizeof(edges))];
		break;
	case 18:
		b[0] |= once_in(2); /* to a group */
		break;
	case 19: /* a checksum */
		put16(b + udp + one_of(6, 16), random64());
		break;
	}
	if (f->len > 33 && !v6 && b[14] == 0x45 && once_in(2)) {
		unsigned int sum = 0, i;

		put16(b + 24, 0);
		for (i = 0; i < 20; i += 2)
			sum += get16(b + 14 + i);
		sum = (sum & 0xffff) + (sum >> 16);
		put16(b + 24, ~(sum + (sum >> 16)));
	}
}

/* --- what must have happened --- */

static int is_one_of(int stat, const int *of)
{
	for (; *of >= 0; of++)
		if (stat == *of)
			return 1;
	return 0;
}
#define stat_is(stat, ...) is_one_of(stat, (const int[]){ __VA_ARGS__, -1 })

/* The one counter that ended the packet; -1: none. */
static int counter_of(int *ended)
{
	int i, stat = -1, n = 0;

	for (i = 0; i < STAT_MAX; i++) {
		moved[i] = counters[i] - counted[i];
		counted[i] += moved[i];
		if (!moved[i])
			continue;
		check(moved[i] <= 64, "%s went up by %llu", stats[i].name, moved[i]);
		if (also[i])
			continue;
		n += moved[i];
		stat = i;
	}
	*ended = n;
	return stat;
}

/* Everything is the same from `at` of a on as from `b_at` of b on. */
static void same_tail(const struct frame *a, unsigned int at, const struct frame *b, unsigned int b_at)
{
	check(a->len - at == b->len - b_at, "%u bytes left of %u", b->len - b_at, a->len - at);
	check(!memcmp(a->b + at, b->b + b_at, a->len - at), "what follows byte %u is not what it was", at);
}

static int ipv4_sum_is_right(const __u8 *ip)
{
	unsigned int sum = 0, i;

	for (i = 0; i < 20; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16) == 0xffff;
}

static void same(struct frame *in, const struct frame *out)
{
	check(in->len == out->len && !memcmp(in->b, out->b, in->len), "%s", frame_diff(in, out) ?: "length");
}

/* egress: `in` is its input, and is modified here. */
static void check_egress(struct frame *in, const struct frame *out, int stat, const struct run_spec *s)
{
	unsigned int ip = frame_is_v6(in) ? 40 : 20, total = ip == 40 ? 40 + get16(in->b + 18) : get16(in->b + 16);
	/* After the IP packet; an impossible length is not believed. */
	unsigned int padding = total > ip && 14 + total < in->len ? in->len - 14 - total : 0;
	struct message m;

	if (moved[STAT_HORIZON_MARK]) { /* the inner packet has the mark, and the checksum of that */
		in->b[15] = out->b[out->len - in->len + 15];
		memcpy(in->b + 24, out->b + out->len - in->len + 24, frame_is_v6(in) ? 0 : 2);
	}
	if (stat != STAT_TX_DATA) {
		same(in, out);
		return;
	}
	check(message_read(out, 14, &m) && m.msg == 1, "what was sent is no sound message");
	check(has_ports(in->b[ip == 40 ? 20 : 23]), "a tunnel was wrapped");
	check(in->b[ip == 40 ? 20 : 23] != 6 || !(in->b[14 + ip + 13] & (SYN | RST)), "a SYN or RST was wrapped");
	check(!memcmp(in->b, out->b, 14), "the Ethernet header changed");
	same_tail(in, 14, out, m.inner);
	check(!memcmp(in->b + (ip == 40 ? 22 : 26), out->b + (ip == 40 ? 22 : 26), ip == 40 ? 32 : 8),
	      "the outer addresses are others");
	check(m.v6 || ipv4_sum_is_right(out->b + 14), "the outer checksum is wrong");
	check(get16(out->b + 14 + ip + 4) == out->len - 14 - ip - padding, "the length of UDP is wrong");
	check(s->gso_size || conf.no_port || out->len <= conf.mtu + 14, "%u bytes are more than the MTU", out->len);
	check(!!(m.flags & F_AUTH) == !!conf.keys, "flags %#x with %d keys", m.flags, conf.keys);
	check(!conf.keys || message_is_signed(out, &m, 1), "the tag is wrong");
}

static void check_hop(struct frame *in, struct frame *out, int stat)
{
	unsigned int eth = get16(in->b + 12) == 0x8100 || get16(in->b + 12) == 0x88a8 ? 18 : 14, at;
	struct message m;

	if (!message_read(in, eth, &m)) {
		same(in, out);
		return;
	}
	if (moved[STAT_TOR_VOQ]) {
		at = message_echo(&m) - 12;
		check(m.flags & F_VOQ, "there is no VOQ block");
		memcpy(in->b + at, out->b + out->len - in->len + at, 12);
	}
	if (m.intmd) { /* a VLAN tag may have moved out of the frame */
		check(out->len + 4 >= in->len && out->len <= in->len + INTMD_HOP_BYTES_MAX, "%u bytes of %u", out->len,
		      in->len);
		if (stat == STAT_HOP_STAMPED || stat == STAT_HOP_MTU || stat == STAT_HOP_FULL) {
			check(!memcmp(in->b, out->b, 12), "the Ethernet addresses changed");
			same_tail(in, m.shim, out, m.shim + out->len - in->len);
			return;
		}
	}
	if (stat == STAT_HOP_STAMPED) {
		at = m.shim + 12;
		check(in->len == out->len && m.hops, "%u bytes of %u", out->len, in->len);
		check(out->b[at] >> 4 == (in->b[at] >> 4) + 1, "nHop %u after %u", out->b[at] >> 4, in->b[at] >> 4);
		memcpy(in->b + at + 4 + 8 * (in->b[at] >> 4), out->b + at + 4 + 8 * (in->b[at] >> 4), 8);
		memcpy(in->b + at, out->b + at, 2);
	}
	same(in, out);
}

/* A window, and with it the checksum, of the TCP segment at l4. */
static void allow_window(struct frame *in, unsigned int l4, const struct frame *out)
{
	if (!moved[STAT_RX_WINDOW_CUT])
		return;
	check(l4 + 18 <= out->len && get16(out->b + l4 + 14) < get16(in->b + l4 + 14), "the window is not less");
	memcpy(in->b + l4 + 14, out->b + l4 + 14, 4);
}

static void check_ingress(struct frame *in, const struct frame *out, int stat, const struct message *m, int sound)
{
	unsigned int ip, at, bytes;
	struct message turned;

	if (stat == STAT_RX_DATA) {
		check(sound && m->msg == 1, "what was stripped is no sound message");
		check(in->b[m->inner + (m->v6 ? 6 : 9)] != 6 || !(in->b[message_l4(m) + 13] & (SYN | RST)),
		      "a SYN or RST was stripped");
		memmove(in->b + 14, in->b + m->inner, in->len - m->inner);
		in->len -= m->inner - 14;
		if (moved[STAT_RX_CE]) {
			check(out->len > 34, "no room for a mark");
			in->b[15] |= m->v6 ? 3 << 4 : 3;
			memcpy(in->b + 24, out->b + 24, m->v6 ? 0 : 2);
		}
		allow_window(in, 14 + (m->v6 ? 40 : 20), out);
		same(in, out);
		return;
	}
	if ((stat == STAT_RX_PROBE || moved[STAT_PROBE_HELD]) && now.verdict == VERDICT_REDIRECT) {
		check(sound && m->msg == 2, "what was answered is no sound question");
		check(message_read(out, 14, &turned) && turned.msg == 3, "the answer is not sound");
		check(!memcmp(in->b, out->b + 6, 6) && !memcmp(in->b + 6, out->b, 6), "the addresses of Ethernet");
		ip = m->v6 ? 22 : 26;
		bytes = m->v6 ? 16 : 4;
		check(!memcmp(in->b + ip, out->b + ip + bytes, bytes) &&
			      !memcmp(in->b + ip + bytes, out->b + ip, bytes),
		      "the addresses of IP");
		check(!m->companion || (turned.companion && !memcmp(in->b + m->shim - 20, out->b + m->shim - 18, 2) &&
					!memcmp(in->b + m->shim - 18, out->b + m->shim - 20, 2)),
		      "the ports");
		check(!conf.keys || message_is_signed(out, &turned, 1), "the answer's tag is wrong");
		at = turned.shim + 4;
		in->b[m->shim + 4] = 0x43;
		if (moved[STAT_PROBE_HELD]) { /* it says by how much the sequence is too old */
			check(m->flags & F_AUTH, "the sequence of a message without a tag was held against it");
			in->b[m->shim + 6] |= F_HELD;
			memcpy(in->b + m->shim + 8, out->b + turned.shim + 8, 4);
		}
		if (m->hops)
			memcpy(in->b + m->shim + 12, out->b + turned.shim + 12, 4 + 8 * m->hops);
		if (m->flags & F_AUTH)
			memcpy(in->b + message_auth(m) + 8, out->b + message_auth(&turned) + 8, 8);
		same_tail(in, m->shim + 4, out, at);
		return;
	}
	if (stat == STAT_RX_OTHER)
		allow_window(in, at_udp(in), out);
	same(in, out);
}

/* Which verdicts and counters a program has. */
static void check_verdict(enum program p, int stat, int ended, int verdict)
{
	const char *name = stat >= 0 ? stats[stat].name : "none";
	int may_drop = 0, may_return = 0;

	switch (p) {
	case EGRESS:
		check(!strncmp(name, "tx_", 3), "it ended in %s", name);
		may_drop = stat_is(stat, STAT_TX_HORIZON, STAT_TX_BEYOND, STAT_TX_SPOOFED);
		check(verdict == VERDICT_DROP || !may_drop, "%s passed", name);
		break;
	case HOP:
	case HOP_MAP:
		check(!strncmp(name, "hop_", 4), "it ended in %s", name);
		break;
	case POD_HOP:
		check(!strncmp(name, "pod_", 4), "it ended in %s", name);
		break;
	case INGRESS:
	case INGRESS_XDP:
		check(!strncmp(name, "rx_", 3) || stat == STAT_PFC_RX, "it ended in %s", name);
		may_return = stat_is(stat, STAT_RX_PROBE, STAT_RX_PROBE_OLD);
		may_drop =
			stat_is(stat, STAT_RX_PROBE, STAT_RX_PROBE_REPLY, STAT_RX_FEEDBACK, STAT_RX_CREDIT,
				STAT_RX_RATE, STAT_PFC_RX, STAT_RX_INT_COPY, STAT_RX_PROBE_OLD, STAT_RX_PROBE_LIMITED);
		check(verdict != VERDICT_PASS || !may_drop || (may_return && p == INGRESS_XDP), "%s passed", name);
		break;
	case TOR_INGRESS:
		may_drop = stat == STAT_RX_CREDIT || stat == STAT_PFC_RX;
		check(!ended || !strncmp(name, "rx_", 3) || may_drop, "it ended in %s", name);
		break;
	case PFC_INGRESS:
		may_drop = stat == STAT_PFC_RX;
		check(!ended || may_drop, "it ended in %s", name);
		break;
	}
	check(ended == 1 || (!ended && (p == TOR_INGRESS || p == PFC_INGRESS)), "it ended in %d counters", ended);
	check(verdict == VERDICT_PASS || (verdict == VERDICT_DROP && may_drop) ||
		      (verdict == VERDICT_REDIRECT && may_return),
	      "verdict %d", verdict);
	check(!may_drop || verdict != VERDICT_PASS, "%s passed", name);
}

static int is_accepted(int stat)
{
	return stat_is(stat, STAT_RX_DATA, STAT_RX_PROBE, STAT_RX_PROBE_REPLY, STAT_RX_FEEDBACK, STAT_RX_CREDIT,
		       STAT_RX_RATE, STAT_RX_INT_COPY, STAT_RX_STRIP_FAILED, STAT_RX_PROBE_LIMITED);
}

/* The same message again, at once: nothing is learned from it twice. */
static void check_replay(enum program p, const struct frame *f, struct state *before, const struct run_spec *s)
{
	struct state after = *before;
	struct result r = world_run(p, f, *s);
	int ended, stat = counter_of(&ended);

	now.verdict = r.verdict;
	check_verdict(p, stat, ended, r.verdict);
	check(r.verdict != VERDICT_REDIRECT, "a question was answered twice");
	state_read(&after);
	if (!before->has_flow || !after.has_flow)
		return;
	check(before->flow.rx.feedbacks == after.flow.rx.feedbacks && before->flow.cc.w == after.flow.cc.w,
	      "feedback was taken twice");
	check(before->flow.auth.reply_seq == after.flow.auth.reply_seq &&
		      before->flow.auth.echo_seq == after.flow.auth.echo_seq,
	      "its sequence was taken twice");
	check(!before->has_voq || before->voq.voq.credit == after.voq.voq.credit, "credit was taken twice");
	check(!before->has_host || before->host.rx_seq == after.host.rx_seq, "the host's sequence moved");
}

/* The flow of a packet that is no sound message; of one to Sluice's port a flow that it might have been for. */
static void header_flow(const struct frame *f, int arrives, struct flow_key *k)
{
	unsigned int v6 = frame_is_v6(f), l4 = 14 + (v6 ? 40 : 20), from = v6 ? 22 : 26, bytes = v6 ? 16 : 4;

	*k = flow_key_of((struct ip_spec){ .v6 = v6 });
	memcpy((arrives ? k->remote.b : k->local.b) + 16 - bytes, f->b + from, bytes);
	memcpy((arrives ? k->local.b : k->remote.b) + 16 - bytes, f->b + from + bytes, bytes);
	if (get16(f->b + l4 + 2) == PORT_WIRE)
		return;
	k->proto = f->b[l4 - (v6 ? 34 : 11)];
	k->local_port = k->remote_port = 0;
	if (is_tunnel(k->proto))
		return;
	memcpy(arrives ? &k->remote_port : &k->local_port, f->b + l4, 2);
	memcpy(arrives ? &k->local_port : &k->remote_port, f->b + l4 + 2, 2);
}

/* Departure times are set in mode enforce only, and are bounded. */
static void check_departure(__u64 asked_ns, __u64 departure_ns, __u64 at_ns)
{
	if (departure_ns == asked_ns)
		return;
	check(conf.mode == MODE_ENFORCE && !conf.bypass, "a departure in mode %u, bypass %d", conf.mode, conf.bypass);
	check(departure_ns >= at_ns && departure_ns < at_ns + PACER_WAIT_MAX_NS, "a departure %lld ns from now",
	      (long long)(departure_ns - at_ns));
}

/* The believed clocks of others are at most about a day ahead of this one. */
static void check_sequences(const struct state *s)
{
	__u64 most = SEQ_BASE_NS + clock_ns() + 2 * DAY_NS;

	check(!s->has_host || s->host.rx_seq <= most, "rx_seq is from the future");
	check(!s->has_flow || (s->flow.auth.telem_seq <= most && s->flow.auth.echo_seq <= most),
	      "a sequence of the flow is from the future");
	check(!s->has_voq || s->voq.credit_seq <= most, "credit_seq is from the future");
}

static void check_packet(enum program p, const struct frame *f, struct run_spec s)
{
	int at_sink = p == INGRESS || p == INGRESS_XDP || p == TOR_INGRESS, sound, stat, ended, sent;
	struct state before = {}, after;
	struct frame in = *f;
	struct result r;
	struct message m;
	__u64 at_ns;

	now.in = f;
	now.out = NULL;
	now.program = p;
	sound = message_read(f, 14, &m);
	if (at_sink) {
		before.has_key = 1;
		if (!sound || !message_flow(f, &m, &before.key))
			header_flow(f, 1, &before.key);
		if (sound && (m.msg == 5 || m.msg == 6)) {
			memcpy(&before.voq_key.addr, f->b + m.shim + 12, 16);
			before.voq_key.prefixlen = f->b[m.shim + 12 + 20];
		}
		state_read(&before);
	} else if (p == EGRESS) {
		before.has_key = 1;
		header_flow(f, 0, &before.key);
		state_read(&before);
	}
	at_ns = clock_ns();
	r = world_run(p, f, s);
	now.out = &r.out;
	now.verdict = r.verdict;
	stat = counter_of(&ended);
	if (p == EGRESS && s.clone && !ended) { /* the clone that a PROBE is made of */
		sent = r.verdict == (s.gso_segs > 1 ? VERDICT_REDIRECT : VERDICT_PASS);
		check(sent || moved[STAT_PROBE_FAILED], "a clone was dropped in no counter");
		/* With IPv6 the first word is that of data, which need not have been noted here. */
		check(!sent || s.clone == 1 || (s.clone > 2 && frame_is_v6(f)) ||
			      (message_read(&r.out, 14, &m) && m.companion && m.msg == 2),
		      "it is no sound companion");
		if (sent)
			pool_add(&r.out);
		return;
	}
	check_verdict(p, stat, ended, r.verdict);
	if ((p == EGRESS || p == HOP || p == HOP_MAP) && r.verdict == VERDICT_PASS)
		check_departure(s.tstamp, r.ctx.tstamp, at_ns);
	if (p == EGRESS && r.verdict == VERDICT_PASS)
		check_egress(&in, &r.out, stat, &s);
	else if (p == HOP || p == HOP_MAP)
		check_hop(&in, &r.out, stat);
	else if (at_sink && r.verdict != VERDICT_DROP)
		check_ingress(&in, &r.out, stat, &m, sound);
	else if (p == POD_HOP || p == PFC_INGRESS)
		same(r.verdict == VERDICT_PASS ? &in : &r.out, &r.out);
	if (p == EGRESS) {
		after = before;
		state_read(&after);
		if (after.has_flow)
			flow_check(&after.flow);
		if (stat == STAT_TX_DATA && message_read(&r.out, 14, &m))
			check(after.has_flow && get32(r.out.b + m.shim + 8) == (__u32)after.flow.tx.bytes,
			      "the position that was sent is not the flow's");
		if (conf.rwnd && r.verdict == VERDICT_PASS && once_in(8)) {
			r.verdict = world_run(p, f, s).verdict;
			check(counter_of(&ended) != STAT_TX_BEYOND, "what was sent once is dropped on its way again");
			return;
		}
	}
	if (at_sink) {
		after = before;
		state_read(&after);
		if (after.has_flow)
			flow_check(&after.flow);
		check(!after.has_voq || !after.voq.lock, "the VOQ is locked");
		check(!conf.bypass || !moved[STAT_COMPANION_SENT], "a companion in bypass");
		/* A plain packet may become the companion that a flow waits for: then its host was asked. */
		if (ended && (conf.bypass || (!is_accepted(stat) &&
					      (stat != STAT_RX_OTHER || (!conf.rwnd && !moved[STAT_COMPANION_SENT])))))
			state_same(&before, &after);
		check(stat != STAT_RX_OTHER || before.has_flow || !after.has_flow,
		      "a plain packet from outside made a flow");
		check_sequences(&after);
		check(conf.mode != MODE_OBSERVE || !before.has_flow || !after.has_flow ||
			      before.flow.path.epoch != after.flow.path.epoch || before.flow.cc.w == after.flow.cc.w,
		      "W changed in mode observe");
		check(!moved[STAT_RX_WINDOW_CUT] || (conf.rwnd && conf.mode == MODE_ENFORCE && !conf.bypass),
		      "a window was cut in mode %u, rwnd %d, bypass %d", conf.mode, conf.rwnd, conf.bypass);
		if (is_accepted(stat)) {
			check(sound, "%s: it is no sound message", stats[stat].name);
			check(!conf.keys || message_is_signed(f, &m, conf.keys), "%s without a right tag",
			      stats[stat].name);
			check(conf.keys || !(m.flags & F_AUTH), "%s with a tag, and no key", stats[stat].name);
		}
		check(stat != STAT_RX_BAD_AUTH || !sound || !message_is_signed(f, &m, conf.keys), "the tag is right");
		if (is_accepted(stat) && conf.keys && once_in(8))
			check_replay(p, f, &after, &s);
	}
	if (r.verdict != VERDICT_DROP && r.out.len != f->len)
		pool_add(&r.out);
}

static struct run_spec next_ctx(enum program p, const struct frame *f)
{
	struct run_spec s = {};

	if (p == INGRESS_XDP)
		return s;
	if (once_in(8)) {
		s.gso_size = one_of(1, 100, 536, 1448, 0xffff);
		s.gso_segs = one_of(0, 1, 2, 45);
	}
	if (once_in(8))
		s.wire_len = f->len + below(60000);
	if (once_in(16))
		s.mark = random64();
	s.clone = p == EGRESS && once_in(32) ? one_of(1, 2, 3, 4, 6, 7, 8) : 0;
	if (once_in(8))
		s.tstamp = clock_ns() + one_of(0, 1000, 1000000, NSEC_PER_SEC, 1ULL << 40);
	if (once_in(8))
		s.ingress_ifindex = POD_IFINDEX + below(2);
	if (p != EGRESS)
		s.mark = 0;
	return s;
}

/* One packet of an episode. */
static void packet(void)
{
	struct siphash_key const *key = &keys[conf.keys ? below(conf.keys) : 2];
	unsigned int n = once_in(3) ? 0 : once_in(2) ? 1 : 1 + below(3);
	unsigned int least;
	struct frame f;
	enum program p;

	if (once_in(FLIP_EVERY))
		conf_flip();
	f = next_frame(&p);
	if (world_program(p) < 0)
		p = HOP_MAP;
	while (n--)
		damage(&f);
	if (once_in(2))
		message_sign(&f, key);
	/* The kernel takes no frame for a test that is shorter than the IP header that it announces. */
	least = get16(f.b + 12) == 0x86dd ? 54 : get16(f.b + 12) == 0x0800 ? 34 : 15;
	if (f.len < least)
		f.len = least;
	check_packet(p, &f, next_ctx(p, &f));
}

/* --- a run --- */

static unsigned int counters_reached(int verbose)
{
	unsigned int i, n = 0;

	for (i = 0; i < STAT_MAX; i++)
		n += !!counters[i];
	if (!verbose)
		return n;
	for (i = 0; i < STAT_MAX; i++)
		printf("# %-18s %llu\n", stats[i].name, counters[i]);
	return n;
}

/* How long it has gone on. The clock of the programs is held: it passes as packets do. */
static __u64 real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "time", required_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{},
	};
	unsigned long count = 0, done = 0;
	__u64 begun, first, end, passed;
	double seconds = 8;
	int c, verbose = 0;

	seed = 1;
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'c')
			count = strtoul(optarg, NULL, 0);
		else if (c == 't')
			seconds = atof(optarg);
		else if (c == 'v')
			verbose = 1;
		else
			return 2;
	}
	if (optind < argc) {
		fprintf(stderr, "usage: fuzz-packets [--seed N] [--count PACKETS] [--time SECONDS] [--verbose]\n");
		return 2;
	}
	setlinebuf(stdout);
	world_make_with(.counters_mapped = 1);
	counters = world_counters();
	/* PROBEs leave by it, through egress again, and its queue can be read. No host has their addresses. */
	sh("ip link set lo up && tc qdisc replace dev lo root pfifo");
	link_attach(EGRESS, "lo", 0);
	arrivals = mmap(NULL, SLOTS * sizeof(*arrivals), PROT_READ, MAP_SHARED, world_map("arrivals"), 0);
	check(arrivals != MAP_FAILED, "mapping the arrivals: %s", strerror(errno));
	for (c = 0; c < STAT_MAX; c++)
		also[c] = stats[c].kind == STAT_KIND_ALSO;
	map_flows = world_map("flows");
	map_hosts = world_map("hosts");
	map_voqs = world_map("voqs");
	map_reports = world_map("rx_states");
	first = seed;
	printf("# packets: from seed %llu on, %d packets each\n", seed, EPISODE);
	begun = real_ns();
	end = begun + seconds * NSEC_PER_SEC;
	for (; count ? done < count : real_ns() < end; seed++) {
		episode_begin();
		for (now.packet = 0; now.packet < EPISODE && (!count || done < count); now.packet++, done++)
			packet();
		episode_check();
	}
	passed = real_ns() - begun;
	printf("ok packets: %lu, seeds %llu to %llu, %.0f/s, %u of %u counters moved\n", done, first, seed - 1,
	       done / (passed / 1e9), counters_reached(verbose), STAT_MAX);
	world_drop();
	return 0;
}

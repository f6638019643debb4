// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two CPUs at one flow, which one BPF_PROG_TEST_RUN after another cannot show.
 *
 * Two threads, each on a CPU of its own, run programs on the same flow, VOQ or host. Afterwards the maps, the counters
 * and what the packets say must add up. A case also counts how often the CPUs really met: it goes on until they did, and
 * is skipped, with a line, where they do not.
 *
 * usage: fuzz-cpus [--time SECONDS] [CASE]...
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "world.h"

#define CPUS 2
#define BATCH 2000 /* runs of each CPU between two looks at the sums */
#define MEETINGS 20 /* enough for a case, and */
#define PATIENCE 10 /*   times its share of the time that it may take for them */
#define TOR 0x0a0b0c0d
#define SLOT 1
#define RATE_BPS 200000000ULL /* 26 us for a packet here: the clock is always ahead */

static const char *case_name;
static __u64 met; /* how often the CPUs were at the same thing at once */
static char why_text[512];

/* --- complaints --- */

void check_failed(const char *fmt, ...)
{
	va_list ap;

	printf("not ok cpus %s: ", case_name ?: "world");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

void check_skipped(const char *fmt, ...)
{
	va_list ap;

	printf("skip cpus: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(0);
}

/* The complaint, for a case to return. */
static const char *why(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why_text, sizeof(why_text), fmt, ap);
	va_end(ap);
	return why_text;
}

/* --- counters --- */

static const enum sluice_stat_kind kinds[] = {
#define STAT_KIND(symbol, name, kind, help) STAT_KIND_##kind,
	SLUICE_STATS(STAT_KIND)
#undef STAT_KIND
};

static __u64 stats_before[STAT_MAX];

static __u64 stat_now(__u32 which)
{
	int cpus = libbpf_num_possible_cpus(), i;
	__u64 v[cpus], sum = 0;

	cr_assert(!bpf_map_lookup_elem(world_map("stats"), &which, v));
	for (i = 0; i < cpus; i++)
		sum += v[i];
	return sum;
}

static __u64 stat_moved(__u32 which)
{
	return stat_now(which) - stats_before[which];
}

static void stats_note(void)
{
	__u32 i;

	for (i = 0; i < STAT_MAX; i++)
		stats_before[i] = stat_now(i);
}

/* Every packet ended in one counter. */
static const char *stats_end(__u64 packets)
{
	__u64 ended = 0;
	__u32 i;

	for (i = 0; i < STAT_MAX; i++)
		if (kinds[i] == STAT_KIND_VERDICT)
			ended += stat_moved(i);
	return ended == packets ? NULL : why("%llu packets ended in %llu counters", packets, ended);
}

static __u64 feedbacks_moved(void)
{
	return stat_moved(STAT_FB_FIRST) + stat_moved(STAT_FB_FAST) + stat_moved(STAT_FB_FULL) +
	       stat_moved(STAT_FB_SKIPPED) + stat_moved(STAT_FB_CONTENDED);
}

/* --- threads --- */

static unsigned int arrived, round_no;

/* All go on together. A thread that waits for long yields the CPU. */
static void meet(void)
{
	unsigned int mine = __atomic_load_n(&round_no, __ATOMIC_ACQUIRE), spins = 0;

	if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == CPUS) {
		__atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&round_no, mine + 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&round_no, __ATOMIC_ACQUIRE) == mine)
		if (++spins > 2000)
			sched_yield();
}

struct thread {
	pthread_t thread;
	int me;
	void (*body)(int me);
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(t->me, &one);
	sched_setaffinity(0, sizeof(one), &one);
	/* On a loaded machine the two would rarely have their CPUs at the same time. */
	setpriority(PRIO_PROCESS, 0, -20);
	meet();
	t->body(t->me);
	return NULL;
}

static void on_both(void (*body)(int me))
{
	struct thread t[CPUS];
	int i;

	for (i = 0; i < CPUS; i++) {
		t[i].me = i;
		t[i].body = body;
		cr_assert(!pthread_create(&t[i].thread, NULL, thread_main, &t[i]));
	}
	for (i = 0; i < CPUS; i++)
		pthread_join(t[i].thread, NULL);
}

/* When each CPU was in the kernel with its packet of this round: did they meet? */
static struct {
	__u64 from_ns, to_ns;
} span[CPUS];

static struct result run_timed(int me, enum program p, const struct frame *f)
{
	struct result r;

	span[me].from_ns = clock_ns();
	r = world_run(p, f, (struct run_spec){});
	span[me].to_ns = clock_ns();
	return r;
}

static void meet_and_count(int me)
{
	meet();
	if (!me && span[0].from_ns < span[1].to_ns && span[1].from_ns < span[0].to_ns)
		met++;
}

/* --- the positions in packets: each begins where the one before it ends --- */

struct place {
	__u64 at;
	__u64 size;
	int cpu;
};

static struct place places[CPUS * BATCH];
static unsigned int placed;

static void place_add(__u64 at, __u64 size, int cpu)
{
	places[__atomic_fetch_add(&placed, 1, __ATOMIC_RELAXED)] = (struct place){ at, size, cpu };
}

static int place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Do they overlap, or, where they must not, leave gaps? The CPUs have met where they take turns. */
static const char *places_check(const char *what, int gaps)
{
	const struct place *p;
	unsigned int i, wrong = 0;
	__u64 first = 0, last = 0;

	qsort(places, placed, sizeof(*places), place_order);
	for (i = 1; i < placed; i++) {
		p = &places[i];
		met += p->cpu != p[-1].cpu;
		if (gaps ? p->at >= p[-1].at + p[-1].size : p->at == p[-1].at + p[-1].size)
			continue;
		if (!wrong++) {
			first = p[-1].at + p[-1].size;
			last = p->at;
		}
	}
	return wrong ? why("%s: %u of %u overlap or are apart: one begins at %llu, not %llu", what, wrong, placed, last,
			   first) :
		       NULL;
}

/* --- the worlds --- */

static const struct siphash_key key = { 1, 2 };
static const struct ip_spec a_to_b = {}, a_to_b_udp = { .udp = 1 };

static void peers_become(struct peer peer)
{
	peer.prefixlen = 96 + 16;
	peer_set("10.1.0.0", 96 + 16, &peer);
	control_next_epoch();
}

static void port_becomes(__u32 flags)
{
	struct port port = port_usual();

	port.flags = flags;
	port_change(WORLD_IFINDEX, &port);
}

/* The flow exists, and has sent this many bytes. */
static void flow_begins(struct ip_spec s, __u64 tx_bytes)
{
	struct frame out;
	struct flow f;

	hosts_strip();
	s.payload = 100;
	out = frame_of(s);
	world_run(EGRESS, &out, (struct run_spec){});
	f = flow_get(s);
	f.tx.bytes = tx_bytes;
	flow_set(s, &f);
}

/* As it is before each case: plain HPCC, no keys, and the flow is there, with room for any feedback. */
static void begin(void)
{
	control_set(MODE_DRY_RUN, 0);
	horizon_set(10 * 1000 * 1000, 0);
	keys_set(&key, 0);
	tor_set(0);
	port_becomes(PORT_F_HOST | PORT_F_XDP_TX);
	peers_become(peer_usual());
	flow_begins(a_to_b, 1 << 30);
	stats_note();
}

/* The sequence of authenticated messages; continues through all cases. */
static __u64 sequence = 1ULL << 40;

static struct frame from_b(struct wire_spec s, unsigned int payload)
{
	struct frame inner = tcp(.reply = 1, .payload = payload);

	return frame_wrap(&inner, s);
}

/* --- 1. the echo slot: a sent echo was written whole --- */

static __u64 echo_hop(__u32 k, unsigned int i)
{
	return ((__u64)k << 32 | (k * 0x9e3779b1)) + i;
}

static unsigned int echoes_torn, echoes_sent;

static void echo_body(int me)
{
	static __u32 written;
	struct frame data = from_b((struct wire_spec){ .room = 5, .nhop = 5 }, 100);
	struct frame out = tcp(.payload = 100);
	unsigned int i, n, at;
	struct result r;

	for (i = 0; i < BATCH; i++) {
		__u32 k = __atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);

		put32(data.b + at_shim(&data) + 8, k);
		put16(data.b + at_telem(&data), (1 + k % 5) << 12 | (k * 0x9e3779b1 >> 20));
		for (n = 0; n < 5; n++)
			put64(data.b + at_hop(&data, n), echo_hop(k, n));
		/* One writes more than it reads, so that they are at different points of the slot. */
		if (me || i & 1)
			world_run(INGRESS, &data, (struct run_spec){});
		if (me && i & 1)
			continue;
		r = world_run(EGRESS, &out, (struct run_spec){});
		if (r.out.len <= out.len || !(r.out.b[at_shim(&r.out) + 6] & 1))
			continue;
		__atomic_fetch_add(&echoes_sent, 1, __ATOMIC_RELAXED);
		at = at_echo(&r.out);
		k = get32(r.out.b + at);
		n = r.out.b[at_shim(&r.out) + 7];
		if (n != 1 + k % 5 || get16(r.out.b + at + 6) != (n << 12 | (k * 0x9e3779b1 >> 20)))
			__atomic_fetch_add(&echoes_torn, 1, __ATOMIC_RELAXED);
		while (n--)
			if (get64(r.out.b + at + 12 + 8 * n) != echo_hop(k, n))
				__atomic_fetch_add(&echoes_torn, 1, __ATOMIC_RELAXED);
	}
}

static const char *echo_case(void)
{
	struct flow f;

	on_both(echo_body);
	met += stat_moved(STAT_ECHO_TORN);
	f = flow_get(a_to_b);
	if (f.echo.version & 1)
		return why("the slot is open: version %u", f.echo.version);
	return echoes_torn ? why("%u of %u echoes were put together of several", echoes_torn, echoes_sent) : NULL;
}

/* --- 2. departure clock and position: no two packets have the same time, or the same bytes --- */

static int by_position;

static void clock_body(int me)
{
	struct frame out = udp(.payload = 500);
	struct result r;
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		r = world_run(EGRESS, &out, (struct run_spec){});
		if (r.out.len <= out.len)
			continue;
		if (by_position)
			place_add(get32(r.out.b + at_shim(&r.out) + 8), r.out.len, me);
		else if (r.ctx.tstamp) /* otherwise the clock was behind, or lost */
			place_add(r.ctx.tstamp, (__u64)r.out.len * 8 * NSEC_PER_SEC / RATE_BPS, me);
	}
}

static void clock_begin(void)
{
	control_set(MODE_ENFORCE, 0);
	horizon_set(10 * NSEC_PER_SEC, 0);
	port_becomes(PORT_F_HOST | PORT_F_EDT);
	flow_begins(a_to_b_udp, 0);
	stats_note();
}

static __u64 clock_batch(struct flow *f)
{
	__u64 before;

	hosts_strip();
	*f = flow_get(a_to_b_udp);
	f->cc.rate_bps = RATE_BPS;
	f->tx.clock_ns = 0;
	f->tx.bytes = 0;
	f->rx.feedbacks = 1;			       /* else R is its share of a first window (first.h) */
	f->rx.fb_ns = clock_ns() + 100 * NSEC_PER_SEC; /* no PROBEs */
	f->beside.unanswered = 3;		       /* some telemetry, 20 s from now: the flow is not silent */
	f->tx.asked = (clock_ns() + 20 * NSEC_PER_SEC) >> 20;
	flow_set(a_to_b_udp, f);
	placed = 0;
	before = clock_ns();
	on_both(clock_body);
	*f = flow_get(a_to_b_udp);
	return before;
}

static const char *clock_case(void)
{
	__u64 cost = 0, before;
	struct flow f;
	unsigned int i;

	by_position = 0;
	before = clock_batch(&f);
	for (i = 0; i < placed; i++)
		cost += places[i].size;
	if (f.tx.clock_ns < before + cost)
		return why("%u packets take %llu ns, and the clock moved by %llu", placed, cost, f.tx.clock_ns - before);
	return places_check("departures", 1);
}

static const char *position_case(void)
{
	const char *wrong;
	__u64 bytes = 0;
	struct flow f;
	unsigned int i;

	by_position = 1;
	clock_batch(&f);
	for (i = 0; i < placed; i++) {
		bytes += places[i].size;
		places[i].at -= places[i].size; /* where it begins */
	}
	wrong = places_check("positions", 0);
	return wrong ?: bytes == f.tx.bytes ? NULL : why("%llu bytes were sent, and the flow has %llu", bytes, f.tx.bytes);
}

/* --- 3. the flow's lock: each feedback is used or counted --- */

static void feedback_body(int me)
{
	static __u32 seq;
	struct frame data = from_b((struct wire_spec){ .echo = 1, .echo_hops = 2, .echo_path = 0x123 }, 0);
	unsigned int i;

	(void)me;
	for (i = 0; i < BATCH; i++) {
		__u32 k = __atomic_add_fetch(&seq, 100, __ATOMIC_RELAXED);
		__u64 hop = 12ULL << 60 | (clock_ns() & 0xffffff) << 36 | (__u64)(k & 0xfffff) << 16;

		put32(data.b + at_echo(&data), k);
		put64(data.b + at_echo(&data) + 12, hop);
		put64(data.b + at_echo(&data) + 20, hop + (k & 0xff));
		world_run(INGRESS, &data, (struct run_spec){});
	}
}

static const char *feedback_case(void)
{
	__u64 used, all;
	struct flow before = flow_get(a_to_b), f;

	stats_note();
	on_both(feedback_body);
	f = flow_get(a_to_b);
	all = feedbacks_moved();
	used = all - stat_moved(STAT_FB_SKIPPED) - stat_moved(STAT_FB_CONTENDED);
	met += stat_moved(STAT_FB_CONTENDED);
	if (f.rx.lock)
		return why("the flow stays locked");
	if (all != CPUS * BATCH)
		return why("%d feedbacks, and %llu were counted", CPUS * BATCH, all);
	if (f.rx.feedbacks - before.rx.feedbacks != used)
		return why("%llu feedbacks were counted as used, and the flow has %llu", used,
			   f.rx.feedbacks - before.rx.feedbacks);
	if (f.cc.w < f.params.w_min || f.cc.w > f.params.w_init)
		return why("W is %llu, not %llu to %llu", f.cc.w, f.params.w_min, f.params.w_init);
	return stats_end(CPUS * BATCH);
}

/* --- 4. reports about a flow are under a lock, too --- */

static void told_body(int me)
{
	static __u32 seq;
	struct frame data = from_b((struct wire_spec){ .room = 2, .nhop = 2, .path = 0x123 }, 100);
	unsigned int i;

	(void)me;
	for (i = 0; i < BATCH; i++) {
		__u32 k = __atomic_add_fetch(&seq, 100, __ATOMIC_RELAXED);
		__u64 hop = 12ULL << 60 | (clock_ns() & 0xffffff) << 36 | (__u64)(k & 0xfffff) << 16;

		put32(data.b + at_shim(&data) + 8, k);
		put64(data.b + at_hop(&data, 0), hop);
		put64(data.b + at_hop(&data, 1), hop + (k & 0xff));
		run_timed(me, INGRESS, &data);
		if (i % 16 == 0)
			meet_and_count(me);
	}
}

static void told_begin(void)
{
	struct peer peer = peer_usual();

	peer.feedback = RX_WINDOW;
	peers_become(peer);
	stats_note();
}

static const char *told_case(void)
{
	struct rx_flow r;
	struct flow f;

	stats_note();
	on_both(told_body);
	f = flow_get(a_to_b);
	if (!report_get(a_to_b, &r))
		return why("nothing is told of the flow");
	if (r.lock || f.rx.lock || f.echo.version & 1)
		return why("locks %u and %u, version %u", r.lock, f.rx.lock, f.echo.version);
	if (f.echo.form != RX_WINDOW || f.echo.hops != 1)
		return why("form %u of %u values", f.echo.form, f.echo.hops);
	return stats_end(CPUS * BATCH);
}

/* --- 5. a message counts once --- */

static struct frame replayed;
static struct wire_spec replayed_spec;
static enum program replayed_at;

static void replay_body(int me)
{
	unsigned int i;

	for (i = 0; i < BATCH / 8; i++) {
		if (!me) {
			replayed_spec.auth_seq = ++sequence;
			replayed = from_b(replayed_spec, 0);
		}
		meet();
		run_timed(me, replayed_at, &replayed);
		meet_and_count(me);
	}
}

static const char *replay_case_at(enum program p)
{
	__u64 taken, again, rounds = BATCH / 8;

	replayed_at = p;
	replayed_spec = (struct wire_spec){ .echo = 1, .echo_hops = 2, .key = &key };
	stats_note();
	on_both(replay_body);
	taken = feedbacks_moved();
	again = stat_moved(STAT_RX_REPLAYED);
	if (taken != rounds || again != rounds)
		return why("%llu echoes came twice: %llu were taken, %llu refused", rounds, taken, again);
	return NULL;
}

static void auth_begin(void)
{
	keys_set(&key, 1);
	sequence += NSEC_PER_SEC;
	stats_note();
}

static const char *replay_case(void)
{
	return replay_case_at(INGRESS);
}

static const char *replay_xdp_case(void)
{
	return replay_case_at(INGRESS_XDP);
}

/* The answer to our own PROBE. */
static void reply_body(int me)
{
	struct frame inner = tcp(.payload = 0), probe;
	struct flow f;
	unsigned int i;

	for (i = 0; i < BATCH / 8; i++) {
		if (!me) {
			f = flow_get(a_to_b);
			f.auth.probe_seq = ++sequence;
			f.auth.reply_seq = sequence - 1;
			flow_set(a_to_b, &f);
			probe = wrap(&inner, .msg = 2, .room = 5, .nhop = 2, .key = &key, .auth_seq = sequence);
			replayed = frame_turned(probe);
			frame_sign(&replayed, &key);
		}
		meet();
		flow_get(a_to_b); /* or the CPU that wrote it gets it first */
		meet();
		run_timed(me, INGRESS, &replayed);
		meet_and_count(me);
	}
}

static const char *reply_case(void)
{
	struct host h = { .heard_ns = clock_ns(), .asked_ns = clock_ns(), .capable = 1 };
	__u64 taken, again, rounds = BATCH / 8;

	host_set(0, HOST_B, &h);
	stats_note();
	on_both(reply_body);
	taken = feedbacks_moved();
	again = stat_moved(STAT_RX_REPLAYED);
	if (taken != rounds || again != rounds)
		return why("%llu answers came twice: %llu were taken, %llu refused", rounds, taken, again);
	return NULL;
}

/* --- 6. of two sequences the newer one stays --- */

static unsigned int older[4];

static void newest_body(int me)
{
	struct wire_spec s = { .room = 1, .nhop = 1, .echo = 1, .echo_hops = 2, .key = &key };
	struct frame data;
	__u64 newest;
	struct flow f;
	struct host h;
	unsigned int i;

	for (i = 0; i < BATCH / 8; i++) {
		/* The side with the newer one changes. */
		s.auth_seq = sequence + 1 + (me ^ (i & 1));
		newest = sequence + 2;
		data = from_b(s, 0);
		meet();
		run_timed(me, INGRESS, &data);
		meet_and_count(me);
		if (!me) {
			f = flow_get(a_to_b);
			h = host_get(0, HOST_B);
			older[0] += f.auth.telem_seq != newest;
			older[1] += f.auth.echo_seq != newest;
			older[2] += h.rx_seq != newest;
			sequence += 2;
		}
		meet();
	}
}

static const char *newest_case(void)
{
	on_both(newest_body);
	if (!older[0] && !older[1] && !older[2])
		return NULL;
	return why("the older of two sequences stayed: telem_seq %u times, echo_seq %u, rx_seq %u", older[0], older[1],
		   older[2]);
}

/* CREDIT to the VOQ of B. */
static struct frame credit_of(__u32 total, __u64 seq)
{
	struct voq_key to = voq_key_of(0, HOST_B, 128);
	unsigned int bytes = 12 + 24 + (seq ? 16 : 0);
	__u8 b[52] = { 0x98, (bytes - 4) / 4, 0, 59, 0x45, 1, seq ? 2 : 0 };

	put32(b + 8, TOR);
	memcpy(b + 12, &to.addr, 16);
	put32(b + 28, total);
	b[32] = 128;
	b[33] = 1;
	if (seq)
		batch_sign(b, bytes, 1, 0, &key, seq);
	return frame_of_batch(0, b, bytes);
}

static void newest_credit_body(int me)
{
	struct voq_key to = voq_key_of(0, HOST_B, 128);
	unsigned int i;

	for (i = 0; i < BATCH / 8; i++) {
		struct frame f = credit_of(voq_get(to).voq.sent, sequence + 1 + (me ^ (i & 1)));

		meet();
		run_timed(me, INGRESS, &f);
		meet_and_count(me);
		if (!me) {
			older[3] += voq_get(to).credit_seq != sequence + 2;
			sequence += 2;
		}
		meet();
	}
}

static void voq_begin(void)
{
	struct peer peer = peer_usual();
	struct frame out = tcp(.payload = 300);

	peer.hiercc = VOQS_HERE;
	peer.voq_c0 = 3000;
	peer.voq_limit_ns = 5 * NSEC_PER_SEC;
	peer.voq_period_ns = 250000;
	control_set(MODE_ENFORCE, 0);
	tor_set(TOR);
	port_becomes(PORT_F_HOST | PORT_F_EDT);
	peers_become(peer);
	hosts_strip();
	world_run(EGRESS, &out, (struct run_spec){});
	stats_note();
}

static void newest_credit_begin(void)
{
	voq_begin();
	auth_begin();
}

static const char *newest_credit_case(void)
{
	on_both(newest_credit_body);
	return older[3] ? why("the older of two sequences stayed: credit_seq %u times", older[3]) : NULL;
}

/* --- 7. totals --- */

static void voq_body(int me)
{
	struct frame out = tcp(.payload = 300, .sport = me ? PORT_A : PORT_A + 1), credit;
	struct result r;
	unsigned int i;
	__u32 total;

	for (i = 0; i < BATCH; i++) {
		r = world_run(EGRESS, &out, (struct run_spec){});
		if (r.out.len <= out.len || !(r.out.b[at_shim(&r.out) + 6] & 16))
			continue;
		total = get32(r.out.b + at_voq(&r.out) + 4);
		place_add(total - r.out.len, r.out.len, me);
		if (i % 4)
			continue;
		credit = credit_of(total, 0);
		world_run(INGRESS, &credit, (struct run_spec){});
	}
}

static const char *voq_case(void)
{
	struct voq_key to = voq_key_of(0, HOST_B, 128);
	struct voq before = voq_get(to), v;
	const char *wrong;
	__u64 bytes = 0;
	unsigned int i;

	hosts_strip();
	placed = 0;
	on_both(voq_body);
	v = voq_get(to);
	for (i = 0; i < placed; i++)
		bytes += places[i].size;
	wrong = places_check("places in the VOQ", 0);
	if (wrong)
		return wrong;
	if (v.voq.sent - before.voq.sent != bytes)
		return why("%llu bytes were sent, and the VOQ has %llu", bytes, v.voq.sent - before.voq.sent);
	if (v.voq.credit > v.voq.sent || v.voq.credit < before.voq.credit)
		return why("credit %llu after %llu, %llu bytes were sent", v.voq.credit, before.voq.credit, v.voq.sent);
	if (v.lock)
		return why("the VOQ stays locked");
	return NULL;
}

static void arrival_body(int me)
{
	static __u32 total;
	struct frame data = from_b((struct wire_spec){ .voq = 1, .voq_tor = TOR, .voq_prefixlen = 128 }, 300);
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		__u32 s = __atomic_add_fetch(&total, data.len, __ATOMIC_RELAXED);

		put32(data.b + at_voq(&data) + 4, s);
		put16(data.b + at_voq(&data) + 8, s * 0x9e3779b1 >> 16);
		run_timed(me, INGRESS, &data);
		if (i % 16 == 0)
			meet_and_count(me);
	}
}

static void arrival_begin(void)
{
	struct voq_key to = voq_key_of(0, HOST_A, 128);
	struct arrival_key k = { .addr = to.addr, .prefixlen = 128 };
	struct arrival a = { .watched = 1, .ifindex = WORLD_IFINDEX };

	put32((__u8 *)&k.tor, TOR);
	tor_set(TOR);
	arrival_set(SLOT, &a);
	arrival_slot_set(&k, SLOT);
	stats_note();
}

static const char *arrival_case(void)
{
	struct frame data = from_b((struct wire_spec){ .voq = 1, .voq_tor = TOR, .voq_prefixlen = 128 }, 300);
	struct arrival before = arrival_get(SLOT), a;
	__u64 n = CPUS * BATCH;
	__u32 s;

	on_both(arrival_body);
	a = arrival_get(SLOT);
	s = a.seen.claim >> 32;
	if (a.seen.packets - before.seen.packets != n || a.seen.bytes - before.seen.bytes != n * data.len)
		return why("%llu packets of %u bytes arrived, %llu and %llu bytes were noted", n, data.len,
			   a.seen.packets - before.seen.packets, a.seen.bytes - before.seen.bytes);
	if (a.inner_bytes - before.inner_bytes != n * (data.len - (at_inner(&data) - 14)))
		return why("%llu bytes behind the sink", a.inner_bytes - before.inner_bytes);
	if ((__u32)a.seen.claim != (s * 0x9e3779b1 >> 16))
		return why("S is of another packet than F");
	return NULL;
}

/* --- 8. a flow is made once --- */

static void made_body(int me)
{
	static unsigned int port;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		struct frame out = tcp(.payload = 100, .sport = 1000 + (__u16)(port + 1 + i));

		meet();
		run_timed(me, EGRESS, &out);
		meet_and_count(me);
	}
	meet();
	if (!me)
		port += 200;
}

static const char *made_case(void)
{
	unsigned int before, after;
	struct flow_key k;

	/* Room for 200 more. */
	while (!bpf_map_get_next_key(world_map("flows"), NULL, &k))
		bpf_map_delete_elem(world_map("flows"), &k);
	hosts_strip();
	stats_note();
	before = flows_count();
	on_both(made_body);
	after = flows_count();
	if (after - before != 200 || stat_moved(STAT_FLOW_MADE) != 200)
		return why("200 flows: %u entries, %llu were counted", after - before, stat_moved(STAT_FLOW_MADE));
	return stats_end(CPUS * 200);
}

/* --- a run --- */

static const struct {
	const char *name;
	void (*begin)(void);
	const char *(*batch)(void);
} cases[] = {
	{ "echo__is_sent_whole", NULL, echo_case },
	{ "clock__departures_do_not_overlap", clock_begin, clock_case },
	{ "position__bytes_are_counted_once", clock_begin, position_case },
	{ "lock__feedbacks_add_up", NULL, feedback_case },
	{ "lock__what_is_told_adds_up", told_begin, told_case },
	{ "sequence__an_echo_counts_once", auth_begin, replay_case },
	{ "sequence__an_echo_counts_once_xdp", auth_begin, replay_xdp_case },
	{ "sequence__an_answer_counts_once", auth_begin, reply_case },
	{ "sequence__the_newer_one_stays", auth_begin, newest_case },
	{ "sequence__the_newer_credit_stays", newest_credit_begin, newest_credit_case },
	{ "voq__totals_add_up", voq_begin, voq_case },
	{ "arrival__totals_add_up", arrival_begin, arrival_case },
	{ "flow__is_made_once", NULL, made_case },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Returns whether it failed. */
static int case_run(unsigned int n, double seconds)
{
	__u64 begun = clock_ns(), share = seconds * NSEC_PER_SEC, passed;
	const char *wrong = NULL;
	unsigned long batches = 0;

	case_name = cases[n].name;
	met = 0;
	begin();
	if (cases[n].begin)
		cases[n].begin();
	do {
		wrong = cases[n].batch();
		batches++;
		passed = clock_ns() - begun;
	} while (!wrong && (passed < share || (met < MEETINGS && passed < PATIENCE * share)));
	if (wrong)
		printf("not ok cpus %s: %s (after %.1f s; the CPUs met %llu times)\n", case_name, wrong, passed / 1e9, met);
	else if (met < MEETINGS)
		printf("skip cpus %s: the CPUs met only %llu times in %.1f s\n", case_name, met,
		       passed / 1e9);
	else
		printf("ok cpus %s (%lu batches; the CPUs met %llu times)\n", case_name, batches, met);
	return !!wrong;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "time", required_argument, NULL, 't' },
		{},
	};
	double seconds = 6;
	unsigned int i, n = 0, chosen[CASES];
	int c, failed = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c != 't') {
			fprintf(stderr, "usage: fuzz-cpus [--time SECONDS] [CASE]...\n");
			return 2;
		}
		seconds = atof(optarg);
	}
	setlinebuf(stdout);
	if (sysconf(_SC_NPROCESSORS_ONLN) < CPUS)
		check_skipped("needs %d CPUs", CPUS);
	world_make();
	clock_release();
	for (i = 0; i < CASES; i++) {
		int j, wanted = optind == argc;

		for (j = optind; j < argc; j++)
			wanted |= !!strstr(cases[i].name, argv[j]);
		if (wanted)
			chosen[n++] = i;
	}
	for (i = 0; i < n; i++)
		failed |= case_run(chosen[i], seconds / n);
	world_drop();
	return failed;
}

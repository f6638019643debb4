// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl trace: single decisions as they are made, as JSON lines, and their packets as pcapng.
 *
 *  1. The filter goes into the control map, and the programs put matching decisions into a ring (bpf/host/trace.bpf.h).
 *  2. One process at a time reads the ring. Its claim is trace_until_ns, which it keeps extending: TRACE_LEASE_NS after
 *     it was killed nothing more is recorded.
 *  3. A record becomes a line (trace_json.c), and, with that line as its comment, a packet, identified by its frame
 *    number.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ctl/commands.h"
#include "ctl/options.h"
#include "ctl/out.h"
#include "ctl/pcapng.h"
#include "ctl/show.h"
#include "ctl/trace_json.h"
#include "lib/arguments.h"
#include "sluice/once.h"

#define TRACE_POLL_MS 200
#define TRACE_RENEW_NS (TRACE_LEASE_NS / 4)
#define TRACE_IDLE_NS (2 * NSEC_PER_SEC)

struct tracer {
	struct peer_key peer;		 /* prefixlen 0: any */
	unsigned int port, every, count; /* 0: any; 1: all; 0: until stopped */
	double for_s;			 /* 0: until stopped */
	const char *path;		 /* NULL: packets are not saved */
	struct pins pins;
	struct pcapng packets;
	__u64 claim_ns; /* the expected value of trace_until_ns */
	__u64 end_ns;	/* 0: none */
	__u64 idle_ns;	/* when to report that nothing comes; 0: reported, or something came */
	__s64 epoch_ns; /* from CLOCK_MONOTONIC to 1970 */
	unsigned int frames;
	int passing_over; /* records left in the ring by earlier tracers */
	int err;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

/* --- arguments --- */

static int trace_parse(int argc, char **argv, struct tracer *t)
{
	int opt, err = 0;

	while (!err && (opt = option_next(argc, argv, "trace")) != -1) {
		switch (opt) {
		case 'p':
			err = peer_parse(optarg, &t->peer);
			break;
		case 'P':
			err = number_parse("--port", optarg, 65535, &t->port);
			break;
		case 'e':
			err = number_parse("--every", optarg, 1U << 30, &t->every);
			break;
		case 'c':
			err = number_parse("--count", optarg, 1U << 30, &t->count);
			break;
		case 'f':
			err = seconds_parse("--for", optarg, 86400, &t->for_s);
			break;
		case 'w':
			t->path = optarg;
			break;
		default:
			err = -EINVAL;
		}
	}
	if (!err && optind < argc) {
		msg("trace takes options, not '%s': see sluicectl trace --help", argv[optind]);
		err = -EINVAL;
	}
	return err;
}

/* --- the claim --- */

static int tracer_put_off(struct tracer *t, __u64 was_ns, __u64 until_ns)
{
	if (!__atomic_compare_exchange_n(&t->pins.ctl->trace_until_ns, &was_ns, until_ns, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return -EBUSY;
	t->claim_ns = until_ns;
	return 0;
}

static int tracer_claim(struct tracer *t)
{
	struct control *ctl = t->pins.ctl;
	__u64 now = now_ns(), was = READ_ONCE(ctl->trace_until_ns);

	if (was > now || tracer_put_off(t, was, now + TRACE_LEASE_NS)) {
		msg("process %u traces already: end it first (the claim of one that was killed lasts %llu s)",
		    ctl->trace_pid, TRACE_LEASE_NS / NSEC_PER_SEC);
		return -EBUSY;
	}
	ctl->trace_on = 0; /* left by a killed tracer */
	ctl->trace_pid = getpid();
	return 0;
}

static void tracer_begin(struct tracer *t)
{
	struct control *ctl = t->pins.ctl;
	unsigned int i, bits;

	for (i = 0; i < sizeof(ctl->trace_mask.b); i++) {
		bits = t->peer.prefixlen > 8 * i ? t->peer.prefixlen - 8 * i : 0;
		ctl->trace_mask.b[i] = bits >= 8 ? 0xff : 0xff00 >> bits;
	}
	ctl->trace_addr = t->peer.addr;
	ctl->trace_port = htons(t->port);
	ctl->trace_every = t->every;
	__atomic_store_n(&ctl->trace_on, 1, __ATOMIC_SEQ_CST);
}

/* Only while the claim is ours: a process that was stopped for too long may have lost it. */
static int tracer_renew(struct tracer *t, __u64 now)
{
	if (t->claim_ns > now + TRACE_LEASE_NS - TRACE_RENEW_NS)
		return 0;
	if (tracer_put_off(t, t->claim_ns, now + TRACE_LEASE_NS)) {
		msg("process %u traces now: this one was stopped for more than %llu s", t->pins.ctl->trace_pid,
		    TRACE_LEASE_NS / NSEC_PER_SEC);
		return -EBUSY;
	}
	__atomic_store_n(&t->pins.ctl->trace_on, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void tracer_release(struct tracer *t)
{
	struct control *ctl = t->pins.ctl;

	if (READ_ONCE(ctl->trace_until_ns) != t->claim_ns)
		return;
	__atomic_store_n(&ctl->trace_on, 0, __ATOMIC_SEQ_CST);
	tracer_put_off(t, t->claim_ns, 0);
}

/* --- a record --- */

/* The line, and the packet with it. */
static int record_write(struct tracer *t, const struct trace *r)
{
	struct pcapng_packet p = {
		.time_ns = r->ns + t->epoch_ns,
		.data = r->packet,
		.kept_bytes = r->kept_bytes < sizeof(r->packet) ? r->kept_bytes : sizeof(r->packet),
		.bytes = r->packet_bytes,
		.outbound = r->event != TRACE_FEEDBACK,
	};
	struct port port;
	char name[16];
	int err = 0;

	snprintf(name, sizeof(name), "if%u", r->ifindex);
	p.interface = bpf_map_lookup_elem(t->pins.ports, &r->ifindex, &port) ? name : port.name;
	p.comment = trace_json(r, t->frames + 1, t->epoch_ns, p.interface);
	if (puts(p.comment) == EOF)
		err = -errno;
	if (!err && t->path) {
		err = pcapng_write(&t->packets, &p);
		if (err)
			msg("%s: %s: what came before is in it", t->path, strerror(-err));
	}
	out_drop();
	t->frames += !err;
	return err;
}

/* Takes a record of the ring. Reading does not end while the ring has records, so timed work is also done here. */
static int record_take(void *ctx, void *data, size_t size)
{
	struct tracer *t = ctx;
	__u64 now = now_ns();

	if (t->passing_over || size < sizeof(struct trace))
		return 0;
	if (ended || (t->end_ns && now >= t->end_ns))
		return -ECANCELED;
	t->err = tracer_renew(t, now) ?: record_write(t, data);
	return t->err || t->frames == t->count ? -ECANCELED : 0;
}

/* --- main --- */

static __u64 lost_read(const struct tracer *t)
{
	__u64 stats[STAT_MAX] = {};

	pins_stats(&t->pins, stats);
	return stats[STAT_TRACE_LOST];
}

/* Reports once that nothing matches, and that the trace continues. */
static void idle_say(struct tracer *t, __u64 now)
{
	if (t->frames)
		t->idle_ns = 0;
	if (!t->idle_ns || now < t->idle_ns)
		return;
	t->idle_ns = 0;
	msg_info("nothing yet: in 2 s Sluice has decided on no packet%s; it goes on until one comes, or Ctrl-C",
		 t->peer.prefixlen || t->port ? " of these" : "");
}

static void trace_run(struct tracer *t, struct ring_buffer *ring)
{
	__u64 now = now_ns(), left_ms;
	int wait_ms, n;

	t->idle_ns = now + TRACE_IDLE_NS;
	if (t->for_s)
		t->end_ns = now + t->for_s * NSEC_PER_SEC;
	while (!t->err && !ended && (!t->end_ns || now < t->end_ns) && (!t->count || t->frames < t->count)) {
		left_ms = t->end_ns ? (t->end_ns - now) / 1000000 + 1 : TRACE_POLL_MS;
		wait_ms = left_ms < TRACE_POLL_MS ? left_ms : TRACE_POLL_MS;
		n = ring_buffer__poll(ring, wait_ms);
		if (n < 0 && n != -EINTR && n != -ECANCELED) {
			msg("reading the ring: %s", strerror(-n));
			t->err = n;
		}
		if (!t->err && t->path) {
			t->err = pcapng_flush(&t->packets);
			if (t->err)
				msg("%s: %s", t->path, strerror(-t->err));
		}
		if (!t->err && fflush(stdout))
			t->err = -errno;
		now = now_ns();
		idle_say(t, now);
		if (!t->err)
			t->err = tracer_renew(t, now);
	}
}

static void tracer_close(struct tracer *t)
{
	int err = t->path ? pcapng_close(&t->packets) : 0;

	if (err && !t->err) {
		t->err = err;
		msg("%s: %s", t->path, strerror(-err));
	}
}

int cmd_trace(int argc, char **argv)
{
	const struct sigaction catch = { .sa_handler = end };
	struct tracer t = { .every = 1 };
	struct timespec wall;
	struct ring_buffer *ring;
	__u64 lost;

	if (trace_parse(argc, argv, &t))
		return EXIT_USAGE;
	out_json = 1; /* even without --json */
	if (show_open(&t.pins))
		return EXIT_FAILED;
	/* A reader that has seen enough, such as head, becomes a write error. */
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &catch, NULL);
	sigaction(SIGTERM, &catch, NULL);
	sigaction(SIGHUP, &catch, NULL);
	clock_gettime(CLOCK_REALTIME, &wall);
	t.epoch_ns = wall.tv_sec * NSEC_PER_SEC + wall.tv_nsec - now_ns();
	t.err = tracer_claim(&t);
	if (t.err)
		goto close_pins;
	if (t.path) {
		t.err = pcapng_open(&t.packets, t.path, TRACE_PACKET_BYTES);
		if (t.err == -EEXIST)
			msg("%s is there already: name another file for --write", t.path);
		else if (t.err)
			msg("%s: %s", t.path, strerror(-t.err));
		if (t.err)
			goto release;
	}
	ring = ring_buffer__new(t.pins.trace, record_take, &t, NULL);
	if (!ring) {
		t.err = -errno;
		msg("the ring of %s: %s", show_pin_dir, strerror(errno));
		goto close;
	}
	t.passing_over = 1;
	ring_buffer__consume(ring);
	t.passing_over = 0;
	if (t.pins.ctl->bypass)
		msg("bypass is on: nothing is decided until 'sluicectl bypass off'");
	lost = lost_read(&t);
	tracer_begin(&t);
	trace_run(&t, ring);
	lost = lost_read(&t) - lost;
	ring_buffer__free(ring);
	msg("%u decisions, %llu lost%s", t.frames, lost,
	    lost ? ": more than could be written down; --every, --peer and --port ask for fewer" : "");
close:
	tracer_close(&t);
release:
	tracer_release(&t);
close_pins:
	pins_close(&t.pins);
	return t.err ? EXIT_FAILED : EXIT_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of the ring buffers, of any length and with any bytes: reports, what a ToR is to tell, and VOQs that arrive.
 * Maps and rings are stand-ins, time is an input, and each message that follows is one that a peer would take.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/credits.h"
#include "lib/net.h"
#include "daemon/reports.h"
#include "said.h"
#include "daemon/tor.h"

#define SLOTS 8

static struct fuzz in;
static __u64 now;
static struct control ctl;
static int ring_fd; /* of which nothing is ever read */

/* --- the ring --- */

static ring_buffer_sample_fn ring_fn;
static void *ring_ctx;
static size_t ring_record; /* bytes of one as it has to be */

struct ring_buffer *ring_buffer__new(int map_fd, ring_buffer_sample_fn fn, void *ctx, const struct ring_buffer_opts *opts)
{
	(void)map_fd;
	(void)opts;
	ring_fn = fn;
	ring_ctx = ctx;
	return (struct ring_buffer *)&ring_fn;
}

void ring_buffer__free(struct ring_buffer *rb)
{
	(void)rb;
}

int ring_buffer__epoll_fd(const struct ring_buffer *rb)
{
	(void)rb;
	return ring_fd;
}

int ring_buffer__consume(struct ring_buffer *rb)
{
	int n = fuzz_u8(&in) % 40, err;

	(void)rb;
	while (n-- > 0 && in.left) {
		__u8 shape = fuzz_u8(&in);
		size_t bytes = shape < 16 ? fuzz_u16(&in) % (ring_record + 64) : ring_record, have;
		const uint8_t *at = fuzz_rest(&in, shape & 1 ? bytes : bytes < 48 ? bytes : 48, &have);
		__u8 *record = calloc(1, bytes ?: 1);

		FUZZ_ASSERT(record);
		memcpy(record, at, have);
		err = ring_fn(ring_ctx, record, bytes);
		free(record);
		if (err < 0)
			return err;
	}
	return 0;
}

/* --- maps --- */

static struct pins pins = { .ctl = &ctl };
static struct arrival_key slot_keys[SLOTS];
static __u32 slot_used;

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	__u32 i, ifindex;

	if (fd == pins.arrival_slots) {
		for (i = 0; i < SLOTS; i++) {
			if (!(slot_used >> i & 1) || memcmp(&slot_keys[i], key, sizeof(slot_keys[i])))
				continue;
			memcpy(value, &i, sizeof(i));
			return 0;
		}
	} else if (fd == pins.ports) {
		memcpy(&ifindex, key, sizeof(ifindex));
		if (ifindex < 4) {
			*(struct port *)value = (struct port){ .speed_bps = ifindex * 10000000000ULL,
							       .flags = ifindex == 3 ? PORT_F_POD : PORT_F_HOST,
							       .name = "eth0" };
			return 0;
		}
	}
	errno = ENOENT;
	return -1;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	__u32 i;

	(void)flags;
	if (fd == pins.arrival_slots) {
		memcpy(&i, value, sizeof(i));
		FUZZ_ASSERT(i < SLOTS);
		memcpy(&slot_keys[i], key, sizeof(slot_keys[i]));
		slot_used |= 1 << i;
	}
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	__u32 i;

	if (fd == pins.arrival_slots && !bpf_map_lookup_elem(fd, key, &i))
		slot_used &= ~(1U << i);
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	__u32 i;

	if (fd == pins.arrival_slots && !key && slot_used) {
		i = __builtin_ctz(slot_used);
		memcpy(next, &slot_keys[i], sizeof(slot_keys[i]));
		return 0;
	}
	errno = ENOENT;
	return -1;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *bytes)
{
	struct bpf_map_info *map = info;

	FUZZ_ASSERT(*bytes >= sizeof(*map));
	map->max_entries = fd == pins.credit_rings ? CREDIT_RINGS : SLOTS;
	map->value_size = fd == pins.arrivals	  ? sizeof(struct arrival) :
			  fd == pins.credit_rings ? sizeof(struct credit_ring) :
						    sizeof(struct credit);
	return 0;
}

int pins_some_voqs(const struct pins *p, __u32 *cursor, __u32 max,
		   int (*fn)(const struct voq_key *key, const struct voq *voq, void *ctx), void *ctx)
{
	(void)p;
	(void)max;
	(void)fn;
	(void)ctx;
	*cursor = 0;
	return 0;
}

int link_address(const char *name, struct sluice_addr *addr)
{
	(void)name;
	(void)addr;
	return -EADDRNOTAVAIL;
}

/* --- time --- */

__u64 __wrap_now_ns(void);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *was);

static int timer = -1;

__u64 __wrap_now_ns(void)
{
	return now;
}

int __wrap_timerfd_create(int clock, int flags)
{
	(void)clock;
	(void)flags;
	timer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return timer;
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *was)
{
	(void)fd;
	(void)flags;
	(void)was;
	FUZZ_ASSERT(at->it_value.tv_nsec >= 0 && at->it_value.tv_nsec < (long)NSEC_PER_SEC);
	return 0;
}

static void timer_fire(void)
{
	__u64 one = 1;

	FUZZ_ASSERT(write(timer, &one, sizeof(one)) == sizeof(one));
}

/* --- messages --- */

void __wrap_messages_send(struct messages *s, const struct message *m, const struct config *c, __u64 seq_base_ns);

void __wrap_messages_send(struct messages *s, const struct message *m, const struct config *c, __u64 seq_base_ns)
{
	__u8 buf[MESSAGE_MAX];
	struct wire_hdr hdr;
	struct wire_shim shim;
	unsigned int bytes;

	(void)s;
	(void)seq_base_ns;
	FUZZ_ASSERT(m->n >= 1 && m->n <= WIRE_REPORTS_MAX);
	bytes = message_write(m, &c->keys, now, buf);
	memcpy(&shim, buf, sizeof(shim));
	memcpy(&hdr, buf + sizeof(shim), sizeof(hdr));
	FUZZ_ASSERT(bytes <= sizeof(buf) && wire_check(&shim, &hdr) == WIRE_OK && wire_length(&hdr) == bytes);
	FUZZ_ASSERT(wire_message(&hdr) == (int)m->type && hdr.max_hops == m->n);
}

/* --- the reader --- */

static struct config_peer peers[] = {
	{ .key = { 104, { { [10] = 0xff, [11] = 0xff, [12] = 10 } } }, .base_rtt_ns = 100000 },
	{ .key = { 0, {} }, .base_rtt_ns = 3000 }, /* any other address */
};

static struct config config = { .port = WIRE_PORT_DEFAULT, .flow_timeout_ns = NSEC_PER_SEC, .eta = 0.95, .credit_eta = 0.95,
				.hiercc = { .voqs = SLOTS }, .peers = peers, .peers_count = 2, .tor = 1,
				.hpcc = { .max_stage = 5 }, .keys = { .key = { { 1, 2 } }, .n = 1 } };

static void hiercc_turn(int on)
{
	unsigned int i;

	for (i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		peers[i].hiercc = on ? VOQS_HERE : VOQS_OFF;
}

static void reports(void)
{
	struct reports *r;
	int op;

	ring_record = sizeof(struct report);
	FUZZ_ASSERT(!reports_open(ring_fd, NULL, &r));
	while ((op = fuzz_op(&in, 3)) >= 0) {
		now += fuzz_in(&in, 0, NSEC_PER_SEC);
		if (op)
			timer_fire();
		reports_read(r, &config, 0);
	}
	reports_close(r);
}

static void tor(void)
{
	struct tor *t;
	int op;

	ring_record = sizeof(struct tor_news);
	FUZZ_ASSERT(!tor_open(ring_fd, NULL, &t));
	while ((op = fuzz_op(&in, 4)) >= 0) {
		now += fuzz_in(&in, 0, NSEC_PER_SEC);
		if (op)
			tor_run(t, &config, 0);
		else
			tor_tick(t);
	}
	tor_close(t);
}

static void credits(void)
{
	struct credits *c;
	int op;

	ring_record = sizeof(struct arrival_news);
	slot_used = 0;
	ctl = (struct control){};
	pins.arrival_slots = 1000;
	pins.ports = 1001;
	pins.voqs = 1002;
	pins.arrivals = memfd_create("arrivals", MFD_CLOEXEC);
	pins.credits = memfd_create("credits", MFD_CLOEXEC);
	pins.credit_rings = memfd_create("credit_rings", MFD_CLOEXEC);
	FUZZ_ASSERT(!ftruncate(pins.arrivals, SLOTS * sizeof(struct arrival)) &&
		    !ftruncate(pins.credits, SLOTS * sizeof(struct credit)) &&
		    !ftruncate(pins.credit_rings, CREDIT_RINGS * sizeof(struct credit_ring)));
	FUZZ_ASSERT(!credits_open(&pins, ring_fd, NULL, &c));
	hiercc_turn(1);
	credits_apply(c, &config);
	while ((op = fuzz_op(&in, 16)) >= 0) {
		now += fuzz_in(&in, 0, op < 4 ? 4 * NSEC_PER_SEC : 1000000);
		switch (op) {
		case 0:
			credits_tick(c);
			break;
		case 1: /* SIGHUP: with or without HierCC, or with fewer peers */
			hiercc_turn(fuzz_u8(&in) % 4);
			config.peers_count = 1 + fuzz_u8(&in) % 2;
			credits_apply(c, &config);
			break;
		default:
			timer_fire();
			credits_run(c);
		}
	}
	config.peers_count = 2;
	credits_close(c);
	close(pins.arrivals);
	close(pins.credits);
	close(pins.credit_rings);
	pins.arrivals = pins.credits = pins.credit_rings = 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	said_begin();
	ring_fd = eventfd(0, EFD_CLOEXEC);
	FUZZ_ASSERT(ring_fd >= 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = (struct fuzz){ data, size };
	now = NSEC_PER_SEC;
	timer = -1;
	switch (fuzz_op(&in, 3)) {
	case 0:
		reports();
		break;
	case 1:
		tor();
		break;
	case 2:
		credits();
		break;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The daemon's credit scheduler over real maps, with what ingress would have noted. Its rounds are called one by one,
 * and by the clock that the tests hold.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <sys/mman.h>
#include "daemon/credits.h"
#include "daemon/credits_port.h"
#include "daemon/credits_slot.h"
#include "world.h"

#define POD_IFINDEX 40
#define RATE_BPS 100000000ULL
#define S_BEGIN 1000000

static struct pins pins;
static struct config_peer peers[] = {
	{ .key = { .prefixlen = 96 + 16, .addr.b = { [10] = 0xff, [11] = 0xff, 10, 1 } },
	  .base_rtt_ns = 1000000,
	  .hiercc = VOQS_HERE },
};
static struct config config = {
	.peers = peers,
	.peers_count = 1,
	.flow_timeout_ns = 60 * NSEC_PER_SEC,
	.credit_eta = 1,
	.tor = 7,
};
static struct messages *messages;
static struct credits *c;

static void port_is(__u32 ifindex, __u32 flags)
{
	struct port port = port_usual();

	port.speed_bps = RATE_BPS;
	port.flags = flags;
	port_set(ifindex, &port);
}

static void daemon_begins(void)
{
	cr_assert(!credits_open(&pins, world_map("arrival_news"), messages, &c));
	credits_apply(c, &config);
}

static void begin(void)
{
	world_make();
	pins = (struct pins){ .voqs = world_map("voqs"),
			      .arrival_slots = world_map("arrival_slots"),
			      .arrivals = world_map("arrivals"),
			      .credits = world_map("credits"),
			      .credit_rings = world_map("credit_rings"),
			      .ports = world_map("ports") };
	pins.ctl = mmap(NULL, sizeof(*pins.ctl), PROT_READ | PROT_WRITE, MAP_SHARED, world_map("control"), 0);
	cr_assert(pins.ctl != MAP_FAILED);
	cr_assert(!messages_open(-1, &messages));
	port_is(WORLD_IFINDEX, PORT_F_HOST);
	port_is(POD_IFINDEX, PORT_F_POD);
	daemon_begins();
}

static struct sluice_addr addr4(int a, int b, int c_, int d)
{
	return (struct sluice_addr){ .b = { [10] = 0xff, [11] = 0xff, a, b, c_, d } };
}

/* A packet of a VOQ that is not watched. */
static struct arrival_news news_of(int rack, int host, __u32 total, __u32 flows, __u32 bytes)
{
	return (struct arrival_news){ .key = { .addr = addr4(10, 2, 0, host), .prefixlen = 128, .tor = htonl(rack) },
				      .from = addr4(10, 1, 0, rack),
				      .to = addr4(10, 2, 0, host),
				      .claim = (__u64)total << 32 | flows,
				      .bytes = bytes,
				      .inner_bytes = bytes * 9 / 10,
				      .packets = 1,
				      .ifindex = WORLD_IFINDEX };
}

/* Returns the slot. */
static __u32 told(struct arrival_news n)
{
	__u32 slot = CREDITS_NONE;

	news_take(c, &n, sizeof(n));
	bpf_map_lookup_elem(pins.arrival_slots, &n.key, &slot);
	return slot;
}

/* More of it, as ingress notes it: packets of 1000 bytes that say F. */
static void arrives(__u32 slot, __u32 packets, __u32 flows)
{
	struct arrival *a = &c->arrivals[slot];

	cr_assert(a->watched, "ingress does not note what is not watched");
	hiercc_see(&a->seen, (a->seen.claim >> 32) + 1000 * packets, flows, 1000 * packets, packets, 1 << 20);
	a->inner_bytes += 900 * packets;
	a->last_ns = clock_ns();
}

/* Returns for how long the first port has granted in them: of a round that a busy machine holds up it counts most_ns. */
static __u64 rounds(unsigned int n)
{
	__u64 granted_ns = 0, before, passed, most = c->rings[0].ring.most_ns;

	while (n--) {
		before = c->rings[0].ring.clock_ns;
		clock_pass(NSEC_PER_SEC / 4000);
		credits_round(c);
		passed = c->rings[0].ring.clock_ns - before;
		granted_ns += passed < most ? passed : most;
	}
	return granted_ns;
}

static const struct hiercc_due *due(__u32 slot)
{
	return &c->credits[slot].due;
}

static __u64 due_of(__u32 slot)
{
	return due(slot)->sent > due(slot)->granted ? due(slot)->sent - due(slot)->granted : 0;
}

TestSuite(credits, .init = begin, .fini = world_drop);

Test(credits, first_packet__gets_a_slot_and_is_granted)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1500));

	expect_eq(c->active_count, 1);
	expect_eq(c->awake, 1);
	expect_eq(c->arrivals[slot].watched, 1);
	expect_eq(c->arrivals[slot].ifindex, WORLD_IFINDEX);
	slot_learn(c, slot);
	expect_eq(due(slot)->sent, HIERCC_TOTAL_FIRST + S_BEGIN);
	expect_eq(due_of(slot), c->peers[0].params.c0); /* of before, too */
	rounds(2);
	expect_between(due_of(slot), 0, c->peers[0].params.c0 - 1);
	expect_between(clock_ns() - pins.ctl->credit_ns, 0, NSEC_PER_SEC);
}

/* Those that came before ingress knew of the slot are in the ring, too. */
Test(credits, further_news__are_added)
{
	__u32 slot = told(news_of(1, 1, 1500, 1, 1500));

	expect_eq(told(news_of(1, 1, 4500, 1, 3000)), slot);
	expect_eq(told(news_of(1, 1, 2500, 1, 0)), slot); /* overtaken */
	expect_eq(c->active_count, 1);
	slot_learn(c, slot);
	expect_eq(due_of(slot), 4500);
	expect_eq(due(slot)->sent, HIERCC_TOTAL_FIRST + 4500);
}

/* The daemon had no CPU for a while: ingress has noted far more than what the ring still tells. */
Test(credits, further_news__that_are_late_take_nothing_back)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000)), i;

	for (i = 0; i < 10; i++) {
		arrives(slot, 100, 1);
		told(news_of(1, 1, S_BEGIN + 1000 + i * 1000, 1, 1000));
		slot_learn(c, slot);
	}
	expect_eq(c->arrivals[slot].claims.jumped, 0);
	expect_eq(due(slot)->sent, HIERCC_TOTAL_FIRST + S_BEGIN + 1000000);
}

Test(credits, port__grants_its_rate_by_flows)
{
	__u32 a = told(news_of(1, 1, S_BEGIN, 3, 1000)), b = told(news_of(2, 1, S_BEGIN, 1, 1000));
	__u64 first[2], granted_ns = 0, most;
	unsigned int i;

	c->arrivals[a].params.debt_max = c->arrivals[b].params.debt_max = 1 << 26;
	rounds(2);
	/* Both ask for more than there is. */
	arrives(a, 400, 3);
	arrives(b, 400, 1);
	rounds(1);
	first[0] = due(a)->granted;
	first[1] = due(b)->granted;
	for (i = 0; i < 100; i++) {
		arrives(a, 40, 3);
		arrives(b, 40, 1);
		granted_ns += rounds(1);
	}
	first[0] = due(a)->granted - first[0];
	first[1] = due(b)->granted - first[1];
	most = RATE_BPS / 8 * granted_ns / NSEC_PER_SEC;
	expect_between(first[0] + first[1], most - 10000, most + 10000);
	expect_between(first[0] * 1000 / first[1], 2950, 3050);
}

Test(credits, port__of_another_host_has_its_own_rate)
{
	struct arrival_news pod = news_of(1, 2, S_BEGIN, 1, 1000);
	__u32 a = told(news_of(1, 1, S_BEGIN, 1, 1000)), b;
	__u64 most;

	pod.ifindex = POD_IFINDEX;
	b = told(pod);
	c->arrivals[a].params.debt_max = c->arrivals[b].params.debt_max = 1 << 26;
	rounds(2);
	arrives(a, 4000, 1);
	arrives(b, 4000, 1);
	rounds(1);
	port_rate(c, c->slots[b].port);
	a = due(a)->granted;
	b = due(b)->granted;
	most = RATE_BPS / 8 * rounds(50) / NSEC_PER_SEC;
	expect_between((__u32)due(0)->granted - a, most - 2000, most + 2000);
	/* Packets that leave by the veth have no header of ours: credit for a ninth more. */
	expect_between((__u32)due(1)->granted - b, most * 110 / 100, most * 113 / 100);
}

Test(credits, silence__costs_nothing)
{
	__u64 begun = clock_ns(), least = CREDITS_IDLE_EPOCHS * c->peers[0].params.epoch_ns;
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000));

	while (c->active_count)
		rounds(1);
	expect_between(clock_ns() - begun, least, least + 20 * NSEC_PER_SEC);
	expect_eq(c->arrivals[slot].watched, 0);
	expect_eq(c->ports[0].slots, 0);
	credits_sleep(c);
	clock_pass(NSEC_PER_SEC / 50);
	expect_eq(told(news_of(1, 1, S_BEGIN + 9000, 1, 1000)), slot);
	expect_eq(c->active_count, 1);
	expect_eq(c->awake, 1);
	/* Credit that the port could have given in between is gone. */
	slot_learn(c, slot);
	expect_eq(due(slot)->sent, HIERCC_TOTAL_FIRST + S_BEGIN + 9000);
	expect_eq(c->arrivals[slot].claims.jumped, 0);
	port_grant(c, 0);
	expect_between(due_of(slot), 9000 - 3 * HIERCC_DELTA_BYTES,
		       9000); /* one saved, one begun, and the test's time */
}

/* One came between the last look and the end of the watch. */
Test(credits, silence__slot_stays_watched_after_a_packet_in_the_last_moment)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000));

	rounds(2);
	arrives(slot, 1, 1);
	c->arrivals[slot].last_ns = clock_ns() - NSEC_PER_SEC;
	expect_eq(slot_rests(c, slot, clock_ns()), 0);
	expect_eq(c->arrivals[slot].watched, 1);
}

Test(credits, room__is_that_of_the_longest_idle)
{
	struct arrival_news third = news_of(3, 1, S_BEGIN, 1, 1000);
	__u32 slot, i;

	slots_forget(c);
	c->room = 2;
	slots_forget(c);
	told(news_of(1, 1, S_BEGIN, 1, 1000));
	told(news_of(2, 1, S_BEGIN, 1, 1000));
	expect_eq(told(third), CREDITS_NONE); /* all are active */
	expect_eq(c->active_count, 2);
	for (i = 0; c->active_count && i < 2000; i++)
		rounds(1);
	slot = c->idle.first;
	expect_eq(told(third), slot);
	expect_eq(c->active_count, 1);
	expect_eq(c->arrivals[slot].key.tor, htonl(3));
	expect_eq(due(slot)->sent, HIERCC_TOTAL_FIRST + S_BEGIN);
}

Test(credits, idle__is_forgotten_in_time)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000)), i;

	for (i = 0; c->active_count && i < 2000; i++)
		rounds(1);
	credits_tick(c);
	expect_eq(c->slots[slot].state, SLOT_IDLE);
	config.flow_timeout_ns = 1000;
	credits_tick(c);
	config.flow_timeout_ns = 60 * NSEC_PER_SEC;
	expect_eq(c->slots[slot].state, SLOT_FREE);
	expect_eq(c->idle.first, CREDITS_NONE);
	slot = told(news_of(1, 1, 77, 1, 1000));
	slot_learn(c, slot);
	expect_eq(c->arrivals[slot].claims.jumped, 0);
	expect_eq(due_of(slot), 1000);
}

/* A flow's first packet does not know of its pod. */
Test(credits, pods_port__is_found_with_the_second_packet)
{
	struct arrival_news n = news_of(1, 1, S_BEGIN, 1, 3000);
	__u32 slot = told(n), other = told(news_of(2, 1, S_BEGIN, 1, 3000));

	slot_learn(c, slot);
	slot_learn(c, other);
	expect_eq(hiercc_ring_due(&c->rings[0].ring), 2);
	n.ifindex = POD_IFINDEX;
	n.bytes = n.inner_bytes = n.packets = 0;
	told(n);
	expect_eq(c->arrivals[slot].ifindex, POD_IFINDEX);
	expect_eq(hiercc_ring_due(&c->rings[0].ring), 1);
	expect_eq(c->ports[0].slots, 1);
	expect_eq(c->ports[1].slots, 1);
	slot_learn(c, slot);
	expect_eq(hiercc_ring_due(&c->rings[1].ring), 1);
	n.ifindex = WORLD_IFINDEX;
	told(n);
	expect_eq(c->arrivals[slot].ifindex, POD_IFINDEX);
	rounds(30);
	expect_eq(due_of(slot) + due_of(other), 0);
	/* The veth is gone. */
	port_remove(POD_IFINDEX);
	credits_tick(c);
	expect_eq(c->arrivals[slot].watched, 0);
	expect_eq(c->arrivals[other].watched, 1);
	told(n);
	expect_eq(c->arrivals[slot].ifindex, WORLD_IFINDEX);
	expect_eq(c->ports[0].slots, 2);
}

/* A slot that is freed, or goes to another port, is in no ring of the old one. */
Test(credits, drop__from_any_place_in_the_ring)
{
	struct hiercc_ring *r = &c->rings[0].ring;
	__u32 slot[4], i, k, had;

	/* had: the number of the four that have had their credit of this round. */
	for (had = 0; had <= 4; had++) {
		for (k = 0; k < 4; k++) {
			for (i = 0; i < 4; i++)
				slot[i] = told(news_of(i + 1, 4 * had + k + 1, S_BEGIN, 1, 3000));
			r->budget = had * HIERCC_DELTA_BYTES;
			for (i = 0; i < had; i++) {
				expect_eq(hiercc_ring_next(r), slot[i]);
				hiercc_ring_grant(r, &c->credits[slot[i]].due, slot[i]);
			}
			ring_move(c, slot[k], 1);
			expect_eq(hiercc_ring_due(r), 3);
			expect_eq(due(slot[k])->listed, 0);
			for (i = 0; i < 4; i++)
				ring_move(c, slot[i], 0);
			expect_eq(hiercc_ring_due(r), 0);
		}
	}
}

/* A packet's CPU was gone, its lock was broken, and it came back: VOQs are lost from the ring, or in it twice. */
Test(credits, broken__ring_is_put_right)
{
	__u32 a = told(news_of(1, 1, S_BEGIN, 1, 30000)), b = told(news_of(2, 1, S_BEGIN, 1, 30000));
	struct hiercc_ring *r = &c->rings[0].ring;

	r->queue[r->turn].count = 0;
	rounds(3);
	expect_between(due_of(a) + due_of(b), 60000, 62000); /* nothing is granted */
	r->lock_ns = clock_ns() - 2 * TRYLOCK_NS;
	rounds(1);
	expect_eq(r->broken, 1);
	rounds(40);
	expect_eq(due_of(a) + due_of(b), 0);
	expect_eq(r->lock_ns, 0);
}

/* Two racks with one id: together more arrives than the one that is further ahead says to have sent. */
Test(credits, claims__of_two_under_one_name)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000)), i;
	struct arrival *a = &c->arrivals[slot];

	for (i = 0; i < 100; i++) {
		arrives(slot, 10, 1);
		hiercc_see(&a->seen, (a->seen.claim >> 32) - 500, 1, 10000, 10, 1 << 20);
		slot_learn(c, slot);
	}
	expect_between(a->claims.jumped, 4, 1000);
}

Test(credits, claims__of_what_nobody_saw)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000)), i;
	__u64 most = c->peers[0].params.debt_max;
	struct arrival *a = &c->arrivals[slot];

	slot_learn(c, slot);
	for (i = 0; i < 10; i++) {
		hiercc_see(&a->seen, (a->seen.claim >> 32) + most / 2, 65535, 1000, 1, 1 << 30);
		slot_learn(c, slot);
	}
	expect_between(a->claims.cut, 4, 10);
	expect_eq(a->claims.jumped, 0);
	expect_between(due_of(slot), 0, most + 2 * HIERCC_DELTA_BYTES); /* the most that the port can have granted */
	expect_between(due(slot)->flows, 1, 11);
}

Test(credits, honest__claims_are_not_refused)
{
	__u32 slot = told(news_of(1, 1, 0xfffff000, 1, 1000)), i; /* S wraps */

	for (i = 0; i < 200; i++) {
		arrives(slot, 2, 1);
		rounds(1);
	}
	expect_eq(c->arrivals[slot].claims.cut + c->arrivals[slot].claims.jumped, 0);
	rounds(40);
	expect_eq(due_of(slot), 0);
	expect_eq((__u32)due(slot)->sent, (__u32)(0xfffff000 + 200 * 2000));
}

/* Of the daemon: the arrivals meanwhile are unknown, and not granted. */
Test(credits, restart__is_no_flood)
{
	__u32 slot = told(news_of(1, 1, S_BEGIN, 1, 1000));
	__u64 cookie;

	rounds(3);
	credits_close(c);
	daemon_begins();
	cr_assert(bpf_map_lookup_elem(
		pins.arrival_slots,
		&(struct arrival_key){ .addr = addr4(10, 2, 0, 1), .prefixlen = 128, .tor = htonl(1) }, &cookie));
	slot = told(news_of(1, 1, S_BEGIN + 5000000, 1, 1000));
	slot_learn(c, slot);
	expect_eq(due_of(slot), c->peers[0].params.c0);
	expect_eq(due(slot)->granted, HIERCC_TOTAL_FIRST + S_BEGIN + 5000000 - c->peers[0].params.c0);
}

Test(credits, reload__off_and_on_and_without_the_peer)
{
	struct config other = config, none = config;
	struct config_peer far[] = { { .key = { .prefixlen = 96 + 8, .addr = addr4(172, 0, 0, 0) },
				       .base_rtt_ns = 1000000,
				       .hiercc = VOQS_HERE } };

	expect_eq(pins.ctl->tor, htonl(0) + 7);
	told(news_of(1, 1, S_BEGIN, 1, 1000));
	none.peers_count = 0;
	credits_apply(c, &none);
	expect_eq(pins.ctl->tor, 0);
	expect_eq(c->awake, 0);
	expect_eq(told(news_of(1, 1, S_BEGIN, 1, 1000)), CREDITS_NONE);
	credits_apply(c, &config);
	expect_eq(pins.ctl->tor, 7);
	told(news_of(1, 1, S_BEGIN, 1, 1000));
	expect_eq(c->active_count, 1);
	slot_learn(c, 0);
	other.peers = far;
	credits_apply(c, &other);
	expect_eq(c->active_count, 0);
	expect_eq(hiercc_ring_due(&c->rings[0].ring), 0);
	expect_eq(told(news_of(1, 1, S_BEGIN, 1, 1000)), CREDITS_NONE);
}

/* Sender: idle VOQs go, that of the prefix stays. */
Test(credits, voqs__are_aged)
{
	struct voq_key host = { .addr = addr4(10, 1, 0, 9), .prefixlen = 128 },
		       merged = { .addr = peers[0].key.addr, .prefixlen = peers[0].key.prefixlen };
	struct voq v = {};

	v.voq.last_ns = clock_ns() - 59 * NSEC_PER_SEC;
	cr_assert(!bpf_map_update_elem(pins.voqs, &host, &v, BPF_ANY));
	credits_tick(c);
	cr_assert(!bpf_map_lookup_elem(pins.voqs, &host, &v));
	v.voq.last_ns = clock_ns() - 61 * NSEC_PER_SEC;
	cr_assert(!bpf_map_update_elem(pins.voqs, &host, &v, BPF_ANY));
	credits_tick(c);
	cr_assert(bpf_map_lookup_elem(pins.voqs, &host, &v));
	cr_assert(!bpf_map_lookup_elem(pins.voqs, &merged, &v));
}

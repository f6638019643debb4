// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "arrive_case.h"

#define WINDOW_NS 1000 /* as long as a run takes */
#define D_NS 10000

const __u8 arrive_mac[6] = { 2, 0, 0, 0, 7, 7 };

void port_pauses(__u32 ifindex, __u32 slot)
{
	struct pfc_port p = pauses_usual();
	struct pfc_slot s = { .bps = ARRIVE_BPS, .window_ns = WINDOW_NS };

	p.flags = PFC_F_OBEY | PFC_F_COUNT | PFC_F_PAUSE | PFC_F_PREDICT;
	p.slot = slot;
	pfc_obey_init(&p.params, ARRIVE_BPS);
	memcpy(p.mac, arrive_mac, sizeof(arrive_mac));
	pauses_set(ifindex, &p);
	pfc_params_init(&s.thresholds, 1000000, ARRIVE_BPS, 1514, 100000);
	ppfc_seed(&s.arrivals[LOSSLESS].random, slot);
	pauses_slot_set(slot, &s);
}

void lease_set(struct arrivals *a, __u64 ns)
{
	a->all.rule.lease_ns = ns ? clock_ns() + ns : 0;
	pauses_slot_set(0, &a->all);
}

struct arrivals arrivals_make(void)
{
	struct arrivals a = { .ifindex = link_make("") };

	link_attach(HOP_MAP, LINK_NEAR, 0);
	a.fd = packet_socket(LINK_FAR);
	control_set(MODE_ENFORCE, 0);
	pauses_count(1);
	port_pauses(WORLD_IFINDEX, SLOT);
	port_pauses(a.ifindex, IN);
	port_pauses(OTHER_IFINDEX, OTHER);
	a.all.rule = (struct pfc_rule){
		.predict = { .t_thresh_ns = 1000000000, .d_ns = D_NS, .r = Q24_ONE * 4 / 5, .k_max = ARRIVE_K_MAX },
		.shared_bytes = 1000000,
		.predicts = 1ULL << IN | 1ULL << SLOT | 1ULL << OTHER,
		.slots = OTHER + 1,
		.lossless = 1 << LOSSLESS,
	};
	lease_set(&a, 10000 * MS);
	return a;
}

void waits(struct arrivals *a, __u32 in, __u64 bytes)
{
	struct pfc_slot s = pauses_slot(SLOT), from;
	__u64 more = bytes - s.bytes[in][LOSSLESS];

	s.bytes[in][LOSSLESS] = bytes;
	s.queue_bytes[LOSSLESS] += more;
	s.total += more;
	pauses_slot_set(SLOT, &s);
	from = pauses_slot(in);
	from.ingress_bytes[LOSSLESS] += more;
	pauses_slot_set(in, &from);
	a->all.used_bytes += more;
	pauses_slot_set(0, &a->all);
}

struct result arrive(const struct arrivals *a, const struct frame *in)
{
	return run(HOP_MAP, in, .ingress_ifindex = a->ifindex);
}

void grow(struct arrivals *a, const struct frame *in)
{
	waits(a, IN, QUEUE);
	arrive(a, in);
	waits(a, IN, QUEUE + GROWTH);
}

struct pfc_class told(__u32 slot)
{
	return pauses_slot(slot).of[LOSSLESS];
}

__u32 quanta_predicted(__u32 frame_bytes)
{
	struct ppfc_params p = { .d_ns = D_NS };
	struct ppfc_share s = { .increment = GROWTH, .bytes = QUEUE + GROWTH + frame_bytes };
	struct ppfc_queue q = { .bps = ARRIVE_BPS, .increment = GROWTH, .bytes = s.bytes };

	return ppfc_duration(&s, &q, &p, WINDOW_NS, ARRIVE_BPS);
}

void expect_pause(const struct arrivals *a, __u32 quanta)
{
	struct frame got, want = { .len = PFC_FRAME_BYTES };
	struct pfc_frame p;

	pfc_build(&p, arrive_mac);
	pfc_set(&p, LOSSLESS, quanta);
	memcpy(want.b, &p, sizeof(p));
	cr_assert(packet_catch(a->fd, &got, 1000), "%sno PFC frame", world_fixture());
	expect_frame(&got, &want);
	cr_assert(!packet_catch(a->fd, &got, 20), "%sa second frame", world_fixture());
}

void expect_no_frame(const struct arrivals *a)
{
	struct frame got;

	cr_assert(!packet_catch(a->fd, &got, 20), "%sa frame of %u bytes", world_fixture(), got.len);
}

void expect_no_note(void)
{
	int fd = world_map("pfc_works"), cpus = libbpf_num_possible_cpus(), cpu;
	struct bpf_map_info info = {};
	__u32 zero = 0, len = sizeof(info), size;
	__u8 *works;

	cr_assert(!bpf_obj_get_info_by_fd(fd, &info, &len));
	size = (info.value_size + 7) / 8 * 8;
	works = calloc(cpus, size);
	cr_assert(works && !bpf_map_lookup_elem(fd, &zero, works));
	for (cpu = 0; cpu < cpus; cpu++)
		expect_eq(*(__u32 *)(works + cpu * size), 0);
	free(works);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bursts of packets through a program, from inside one test run that repeats.
 *
 *  1. No program can put a packet back as it was: once a header for tunnels was added, the kernel refuses a second one
 *     (skb->encapsulation stays set, EALREADY). So at tc each pass of driver() writes the head of the next packet and
 *     sends a clone of it to a device, where entry() goes over to the program by tail call and drop() ends the packet.
 *     The kernel's own clock of programs times entry(): the clone, the copy and the device are not in it.
 *  2. XDP can put its packet back: driver_xdp() does, and takes the time from there to its next pass, which is the
 *     program, a tail call, and one turn of the kernel's loop.
 *  3. A clone has no socket, and its headers are copied by whoever writes to them, which those of a packet on its way
 *     through a switch are not. A program that leaves the length of its packets runs for the packet of the test run itself:
 *     driver_inside() takes the time as driver_xdp() does.
 *  4. Everything besides the program is the same for the empty program.
 *  5. scene_set() makes the state of all flows what the case wants, without a new epoch, in which each packet would first
 *     look up its flow's parameters.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "sluice/abi/abi.h"
#include "sluice/cc/first.h"
#include "driver.h"

#define BPF_MAP_TYPE_PROG_ARRAY 3 /* the vmlinux.h of the data plane has only what that uses */
#define TC_ACT_UNSPEC (-1)
#define TC_ACT_SHOT 2
#define HEADROOM_BYTES 256 /* TCP leaves that much in front of its packets, a test run 66 bytes */
#define XDP_SETTLE 32	   /* passes before the clock counts: the kernel has just changed code for the test run */
#define HEARD_AHEAD_NS (10ULL * 1000 * 1000 * 1000) /* longer than a case takes, whatever takes its CPU away */
#define CREDIT_BYTES (1ULL << 30)
#define NOT_DUE_NS (4 * 1000 * 1000 * 1000U) /* T, of which a case takes less */

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, TARGETS);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps"), targets_xdp SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BURST);
	__type(key, __u32);
	__type(value, struct head);
} heads SEC(".maps");

/* The data plane's own: the loader puts its maps in the place of these. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct flow_key);
	__type(value, struct rx_flow);
} rx_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct host_key);
	__type(value, struct host);
} hosts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct voq_key);
	__type(value, struct voq);
} voqs SEC(".maps");

struct scene scene;
__u32 scene_hosts_only;	       /* the other state is as the last scene left it */
__u32 head_bytes, frame_bytes; /* of the packets of this burst */
__u32 device;		       /* to which tc's are sent */
__u32 target; /* of targets, or targets_xdp. A constant would have the kernel change code with each case */
__u32 next, roomy;
struct flow_key echo_flow; /* in which an echo waits for every packet, */
__u32 echo_waits;	   /*   if it does */
__u64 started_ns, spent_ns;
__u32 passes, counted;

static inline void echo_make(struct flow *f)
{
	f->echo.hops = 2;
	f->echo.nhop_path = 2 << 12;
	f->echo.version = (f->echo.sent & ~1U) + 2;
}

/* The next packet's, or NULL. */
static inline const struct head *head_next(void)
{
	__u32 i = next++ % BURST;
	struct flow *f;

	if (echo_waits) {
		f = bpf_map_lookup_elem(&flows, &echo_flow);
		if (f)
			echo_make(f);
	}
	return bpf_map_lookup_elem(&heads, &i);
}

SEC("tc")
int driver(struct __sk_buff *ctx)
{
	const struct head *head = head_next();
	__u32 bytes = head_bytes;

	if (!head || !bytes || bytes > HEAD_BYTES)
		return TC_ACT_UNSPEC;
	if (!roomy && !bpf_skb_adjust_room(ctx, HEADROOM_BYTES, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
		bpf_skb_adjust_room(ctx, -HEADROOM_BYTES, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	roomy = 1;
	bpf_skb_store_bytes(ctx, 0, head->b, bytes, 0);
	bpf_clone_redirect(ctx, device, 0);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int driver_inside(struct __sk_buff *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();
	const struct head *head = head_next();
	__u32 bytes = head_bytes;

	if (started_ns && ++passes > XDP_SETTLE) {
		spent_ns += now_ns - started_ns;
		counted++;
	}
	started_ns = 0;
	if (!head || !bytes || bytes > HEAD_BYTES || bpf_skb_store_bytes(ctx, 0, head->b, bytes, 0))
		return TC_ACT_UNSPEC;
	ctx->tstamp = now_ns; /* as TCP does */
	started_ns = bpf_ktime_get_ns();
	bpf_tail_call(ctx, &targets, target);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int entry(struct __sk_buff *ctx)
{
	bpf_tail_call(ctx, &targets, target);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int drop(struct __sk_buff *ctx)
{
	return TC_ACT_SHOT;
}

SEC("xdp")
int driver_xdp(struct xdp_md *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();
	const struct head *head = head_next();
	__u32 bytes = head_bytes;

	if (started_ns && ++passes > XDP_SETTLE) {
		spent_ns += now_ns - started_ns;
		counted++;
	}
	started_ns = 0;
	if (!head || !bytes || bytes > HEAD_BYTES)
		return XDP_PASS;
	bpf_xdp_adjust_meta(ctx, (long)ctx->data - (long)ctx->data_meta);
	bpf_xdp_adjust_head(ctx, bpf_xdp_get_buff_len(ctx) - frame_bytes);
	if (bpf_xdp_store_bytes(ctx, 0, (void *)head->b, bytes))
		return XDP_PASS;
	started_ns = bpf_ktime_get_ns();
	bpf_tail_call(ctx, &targets_xdp, target);
	return XDP_PASS;
}

SEC("tc")
int empty(struct __sk_buff *ctx)
{
	return TC_ACT_UNSPEC;
}

SEC("xdp")
int empty_xdp(struct xdp_md *ctx)
{
	return XDP_PASS;
}

/* --- the scene --- */

struct bpf_map;

static long flow_set(struct bpf_map *map, const struct flow_key *key, struct flow *f, void *unused)
{
	f->path.ifindex = scene.ifindex;
	f->path.port_flags = scene.port_flags;
	f->path.feedback = scene.feedback;
	f->path.encoding = scene.encoding;
	f->path.hiercc = scene.hiercc;
	f->tx.clock_ns = scene.clock_ns;
	f->tx.own_cc = scene.own;
	f->path.telemetry = scene.beside ? TELEMETRY_COMPANION : TELEMETRY_EVERY;
	/* No feedback is the first after a pause, and no round ends: all are of one kind. */
	f->tx.bytes = 1ULL << 40;
	f->cc.last_update_seq = 1ULL << 41;
	f->rx.fb_rx_ns = 0;
	/* No flow falls silent: as many questions are open as are counted, and the first has yet to leave. */
	f->beside.unanswered = FLOW_SILENT - 1;
	f->tx.asked = (scene.now_ns + HEARD_AHEAD_NS) >> FLOW_ASKED_SHIFT;
	if (scene.beside) {
		f->params.t_ns = NOT_DUE_NS;
		f->cc.u = 0;
		f->companion.left_ns = scene.now_ns;
		f->companion.sent = f->tx.bytes;
		f->companion.count = ~0U;
		f->companion.began_us = FIRST_OVER;
		f->cc.last_update_seq = 0; /* the last one is under way: it will end the round */
	}
	if (scene.echo)
		echo_make(f);
	else
		f->echo.version = f->echo.sent = 0;
	return 0;
}

static long rx_state_set(struct bpf_map *map, const struct flow_key *key, struct rx_flow *r, void *unused)
{
	r->last_ns = 0;
	return 0;
}

/* No peer answers here, and 100 ms after its first data a host would count as silent. */
static long host_set(struct bpf_map *map, const struct host_key *key, struct host *h, void *unused)
{
	h->heard_ns = h->unanswered_ns = scene.now_ns + HEARD_AHEAD_NS;
	h->capable = 1;
	return 0;
}

/* There is credit. */
static long voq_set(struct bpf_map *map, const struct voq_key *key, struct voq *v, void *unused)
{
	v->voq.credit = v->voq.sent + CREDIT_BYTES;
	v->voq.last_ns = v->voq.credit_ns = scene.now_ns;
	v->voq.short_ns = 0;
	return 0;
}

SEC("syscall")
int scene_set(void *ctx)
{
	bpf_for_each_map_elem(&hosts, host_set, NULL, 0);
	bpf_for_each_map_elem(&voqs, voq_set, NULL, 0);
	if (scene_hosts_only)
		return 0;
	bpf_for_each_map_elem(&flows, flow_set, NULL, 0);
	bpf_for_each_map_elem(&rx_states, rx_state_set, NULL, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

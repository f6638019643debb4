// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures a tc program from inside one test run with repeat = 2: the first pass makes the packet
 * ready, notes the time, and goes over to the program by tail call; the second pass notes the time
 * again. What lies between is the program, a tail call, and one turn of the kernel's loop, and the
 * last two are the same for the empty program.
 *
 * One run a packet, because no program can put a packet back as it was: once a header for tunnels was
 * added, the kernel refuses a second one (skb->encapsulation stays set, EALREADY).
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "sluice/abi/abi.h"

#define BPF_MAP_TYPE_PROG_ARRAY 3 /* the vmlinux.h of the data plane has only what that uses */
#define TC_ACT_UNSPEC (-1)
#define HEADROOM_BYTES 256 /* TCP leaves that much in front of its packets, a test run 66 bytes */

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

/* The data plane's own: the loader puts its map in the place of this one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

struct flow_key echo_flow; /* in which an echo waits for every packet */
__u32 echo_waits;
__u64 last_ns;
__u64 started_ns;

SEC("tc")
int driver(struct __sk_buff *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct flow *f;

	if (started_ns) {
		last_ns = now_ns - started_ns;
		started_ns = 0;
		return TC_ACT_UNSPEC;
	}
	if (!bpf_skb_adjust_room(ctx, HEADROOM_BYTES, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
		bpf_skb_adjust_room(ctx, -HEADROOM_BYTES, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	if (echo_waits) {
		f = bpf_map_lookup_elem(&flows, &echo_flow);
		if (f)
			f->echo.version += 2;
	}
	started_ns = bpf_ktime_get_ns();
	bpf_tail_call(ctx, &target, 0);
	return TC_ACT_UNSPEC;
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

char LICENSE[] SEC("license") = "GPL";

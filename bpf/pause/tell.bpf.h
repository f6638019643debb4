/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TELL_BPF_H
#define SLUICE_TELL_BPF_H
/*
 * Makes a PFC frame from a packet that came in by the port whose neighbour is to be paused.
 *
 *  1. pfc_frame_send() writes a note with the frame, and sends a clone of the packet out of the port by which it came in.
 *     Meanwhile the packet begins like the frame, so that no neighbour takes the clone for data if somebody has removed
 *     the program at that port: it is a PFC frame that is too long, which no bridge forwards and no stack reads.
 *  2. The clone passes the program at that port's egress (hop_handle()), where pfc_note_take() finds the note, cuts the clone
 *     and writes the frame over it.
 *  3. The kernel tells the qdisc the length that a packet had when it came to that program, so the frame is sent once
 *     more, and passes there a second time at its real length: 60 bytes.
 *
 * No other packet is taken for the clone. bpf_clone_redirect() runs that program before it returns, on this CPU, with bottom
 * halves off. The note names the port and the length, is consumed by the first packet that fits, and ends with the
 * call. And a packet that leaves by its ingress port is rare: only such packets are checked.
 *
 * The frame waits in the qdisc of its port: ahead of all other packets in fq, pfifo_fast and prio (TC_PRIO_CONTROL),
 * behind queued packets in other qdiscs. The daemon's frames bypass the qdisc, and its next round repeats a pause that
 * is still needed.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "pause/pfc.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/abi/stats.h"
#include "sluice/pause/arrive.h"

#define TC_PRIO_CONTROL 7
#define PFC_FRAME_BEGIN 34 /* bytes of a frame before its padding: no longer than an Ethernet and an IPv4 header */
#define PFC_TAGS 2	   /* VLAN tags in a row */
#define PFC_CUT_BYTES 512  /* above 60 and the checksum start of any header, tunnels included */

enum pfc_noted {
	PFC_NOTED_CLONE, /* the clone is expected */
	PFC_NOTED_FRAME, /* the frame made from the clone is expected */
	PFC_NOTED_DONE,	 /* the frame has passed */
};

/* The current packet, as arrive.bpf.h sees it. */
struct pfc_arrival {
	__u64 now_ns;
	__u64 elapsed_ns; /* length of the window that ended last */
	__u64 free;	  /* free bytes of the shared buffer */
	__u32 prio;
	__u32 in, out; /* slots; in 0: it came by another interface */
	__u32 bytes;   /* bytes of the packet, as the qdisc will charge it */
	__u32 waiting; /* bytes of its queue, including the packet */
	__u32 slots;   /* as in pfc_rule */
};

/* Objects too large for the stack of a packet that pauses a neighbour. */
struct pfc_work {
	/* The note; ifindex 0: there is none */
	__u32 ifindex;
	__u32 bytes; /* bytes of the packet */
	__u32 noted; /* enum pfc_noted */
	__u32 pad;
	struct pfc_frame frame;
	__u32 pad2;
	__u8 begin[PFC_FRAME_BEGIN]; /* saved start of the packet, while it begins like the frame */
	__u8 pad3[6];
	struct pfc_arrival a;
	/* Algorithms 1 and 2 */
	struct ppfc_queue queues[PFC_SLOTS];
	struct ppfc_share shares[PFC_SLOTS];
	struct ppfc_queue own;
	struct ppfc_blame blame;
	struct ppfc_share share; /* of the packet's port */
};

/* writer and reader: hop, for one packet with bottom halves off; life: that packet; not pinned. full: never */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pfc_work);
} pfc_works SEC(".maps");

static inline struct pfc_work *pfc_work_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&pfc_works, &zero);
}

/* ---- 1. The note ---- */

/*
 * Sends the clone, made while the packet begins like the frame. bpf_clone_redirect() leaves the packet with a private
 * head, so restoring its start does not affect the clone. It cannot fail: the first write made the head writable.
 */
static inline void pfc_clone_send(struct __sk_buff *ctx, struct pfc_work *w)
{
	if (bpf_skb_load_bytes(ctx, 0, w->begin, sizeof(w->begin)) ||
	    bpf_skb_store_bytes(ctx, 0, &w->frame, sizeof(w->begin), 0))
		return;
	bpf_clone_redirect(ctx, w->ifindex, 0);
	bpf_skb_store_bytes(ctx, 0, w->begin, sizeof(w->begin), 0);
}

/* Returns whether the frame has left, or would have left in a dry run. */
static inline int pfc_frame_send(struct __sk_buff *ctx, const struct pfc_port *in, __u32 prio, __u32 quanta)
{
	const struct control *ctl = control_get();
	struct pfc_work *w = pfc_work_get();
	__u32 done;

	if (!ctl || !w || prio >= PFC_PRIORITIES)
		return 0;
	if (ctl->mode != MODE_ENFORCE)
		return 1;
	pfc_build(&w->frame, in->mac);
	pfc_set(&w->frame, prio, quanta);
	w->bytes = ctx->len;
	w->noted = PFC_NOTED_CLONE;
	w->ifindex = ctx->ingress_ifindex;
	pfc_clone_send(ctx, w);
	w->ifindex = 0;
	done = w->noted == PFC_NOTED_DONE;
	stats_count(done ? STAT_PFC_TOLD : STAT_PFC_UNTOLD);
	return done;
}

/* ---- 2. The frame ---- */

/*
 * Cuts the packet to 60 bytes. A checksum that is still to be computed (CHECKSUM_PARTIAL: forwarded from a veth, or
 * merged by GRO) would be written into the frame. The kernel drops it when the bytes at its start are removed, which
 * bpf_skb_adjust_room() does with IP packets that are long enough. In a shorter packet it goes to byte 40 or later,
 * which is padding, or the cut is refused.
 */
static inline int pfc_frame_cut(struct __sk_buff *ctx)
{
	if (ctx->len > PFC_CUT_BYTES && bpf_skb_change_tail(ctx, PFC_CUT_BYTES, 0))
		return -EINVAL;
	if (ctx->len == PFC_CUT_BYTES)
		bpf_skb_adjust_room(ctx, -(PFC_CUT_BYTES - PFC_FRAME_BYTES), BPF_ADJ_ROOM_MAC, 0);
	return ctx->len == PFC_FRAME_BYTES ? 0 : bpf_skb_change_tail(ctx, PFC_FRAME_BYTES, 0);
}

static inline int pfc_frame_write(struct __sk_buff *ctx, const struct pfc_frame *f)
{
	__u32 i;

	for (i = 0; i < PFC_TAGS && ctx->vlan_present; i++)
		if (bpf_skb_vlan_pop(ctx))
			return -EINVAL;
	if (ctx->vlan_present || pfc_frame_cut(ctx) || bpf_skb_store_bytes(ctx, 0, f, sizeof(*f), 0))
		return -EINVAL;
	ctx->priority = TC_PRIO_CONTROL;
	ctx->tstamp = 0; /* it leaves at once, whatever the packet's departure was */
	return 0;
}

/* Handles a packet that leaves by its ingress port. Returns its fate; TC_ACT_OK: it is no clone. */
VERIFIED_ONCE int pfc_note_take(struct __sk_buff *ctx)
{
	struct pfc_work *w = pfc_work_get();

	if (!w || !w->ifindex || w->ifindex != ctx->ifindex || w->bytes != ctx->len)
		return TC_ACT_OK;
	w->ifindex = 0;
	if (w->noted == PFC_NOTED_FRAME) {
		w->noted = PFC_NOTED_DONE;
		return TC_ACT_UNSPEC;
	}
	if (pfc_frame_write(ctx, &w->frame))
		return TC_ACT_SHOT;
	w->noted = PFC_NOTED_FRAME;
	w->bytes = PFC_FRAME_BYTES;
	w->ifindex = ctx->ifindex;
	return bpf_redirect(ctx->ifindex, 0);
}

#endif

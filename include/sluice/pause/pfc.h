/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PFC_H
#define SLUICE_PFC_H
/*
 * Priority-based flow control (IEEE 802.1Qbb; 802.1Q clause 36, 802.3 annex 31D), in integers.
 *
 *  1. The frame: pfc_build(), pfc_check(), and its contents.
 *  2. The pausing side: pfc_ingress() sends XOFF and XON by the bytes that came in by a port and are still here.
 *     pfc_headroom() is the room for bytes that still arrive after XOFF.
 *  3. The obeying side: pfc_hear() takes a frame, pfc_asked() is when a packet may leave, and goes into pacer_reserve()
 *     as the asked time: the flow's clock continues from there, so departures are spaced at R from the end of the
 *     pause.
 *
 * Open in the standard, and done here:
 *  - A departure time cannot be revised. XON releases later packets; a packet scheduled for the end of the pause, and
 *    those behind it in its flow, wait for that end. So Sluice does not send 65535 quanta and an XON, but short pauses
 *    that are refreshed while they are needed (pause_ns). The qdisc `sluice` obeys at dequeue instead (qdisc.h).
 *  - A packet scheduled before the pause began leaves in it: headroom has to cover it, and it is part of d of ppfc.h.
 *    16:1 at 100 Mbit/s (simulated): departures that are given 150 us ahead make 183 KB of queue 227, 1 ms 473, against
 *    531 to 703 of PFC.
 *  - Reserved bits of the class enable vector are to be 0; a frame with other bits is refused, not read without them:
 *    their meaning is not known here. A frame that is neither 60 bytes long nor 64 (with its FCS) is refused too.
 *  - Quanta of a class that is not enabled are ignored, as the standard says.
 *  - A pause without end (a storm: a broken NIC, a deadlock) is obeyed for storm_ns, counted from its first frame as
 *    long as each comes before the last has run out; then the class sends, and frames are ignored (PFC_STORM) until
 *    none comes for restore_ns, or XON comes. Nothing is dropped.
 */
#include "sluice/pacer.h"

#define PFC_PRIORITIES 8
#define PFC_QUANTA_MAX 65535U
#define PFC_QUANTUM_NSBPS (512 * NSEC_PER_SEC) /* a quantum in ns, times the speed in bit/s */
#define PFC_FRAME_BYTES 60
#define PFC_FCS_BYTES 4
#define PFC_ETHERTYPE 0x8808 /* MAC control */
#define PFC_OPCODE 0x0101
#define PFC_OPCODE_PAUSE 0x0001 /* 802.3x PAUSE for the whole link */

#define PFC_BPS_MAX (1ULL << 40) /* 1.1 Tbit/s */
#define PFC_BYTES_MAX (1ULL << 30)
#define PFC_NS_MAX (1ULL << 31) /* longest measurement or pause; 2.1 s */

/* ---- Frame ---- */

/* Bytes in wire order: no alignment and no byte order to handle, the same in BPF. */
struct pfc_frame {
	__u8 dst[6];			/* 01:80:c2:00:00:01, which no bridge forwards */
	__u8 src[6];			/* of the port that sends it */
	__u8 ethertype[2];		/* 0x8808 */
	__u8 opcode[2];			/* 0x0101 */
	__u8 vector[2];			/* bit n: quanta[n] is valid; 8 to 15 are reserved */
	__u8 quanta[PFC_PRIORITIES][2]; /* of 512 bit times; 0: XON */
	__u8 pad[26];
};

_Static_assert(sizeof(struct pfc_frame) == PFC_FRAME_BYTES, "wire format");

enum pfc_check {
	PFC_OK,
	PFC_BAD_LENGTH,
	PFC_NOT_CONTROL, /* not a MAC control frame at all */
	PFC_BAD_GROUP,	 /* not to 01:80:c2:00:00:01 */
	PFC_LINK_PAUSE,	 /* PAUSE of 802.3x: no classes */
	PFC_BAD_OPCODE,
	PFC_BAD_VECTOR, /* reserved bits */
};

static inline int pfc_is_group(const __u8 *mac)
{
	return mac[0] == 0x01 && mac[1] == 0x80 && mac[2] == 0xc2 && !mac[3] && !mac[4] && mac[5] == 0x01;
}

/* bytes: size of the frame as received; if it is smaller than the struct, nothing of it is read. */
static inline enum pfc_check pfc_check(const struct pfc_frame *f, __u32 bytes)
{
	if (bytes < PFC_FRAME_BYTES)
		return PFC_BAD_LENGTH;
	if (f->ethertype[0] != PFC_ETHERTYPE >> 8 || f->ethertype[1] != (PFC_ETHERTYPE & 0xff))
		return PFC_NOT_CONTROL;
	if (bytes != PFC_FRAME_BYTES && bytes != PFC_FRAME_BYTES + PFC_FCS_BYTES)
		return PFC_BAD_LENGTH;
	if (!pfc_is_group(f->dst))
		return PFC_BAD_GROUP;
	if (f->opcode[0] == PFC_OPCODE_PAUSE >> 8 && f->opcode[1] == PFC_OPCODE_PAUSE)
		return PFC_LINK_PAUSE;
	if (f->opcode[0] != PFC_OPCODE >> 8 || f->opcode[1] != (PFC_OPCODE & 0xff))
		return PFC_BAD_OPCODE;
	if (f->vector[0])
		return PFC_BAD_VECTOR;
	return PFC_OK;
}

/* For a frame that was checked; prio < PFC_PRIORITIES. */
static inline int pfc_enabled(const struct pfc_frame *f, __u32 prio)
{
	return f->vector[1] >> prio & 1;
}

static inline __u32 pfc_quanta(const struct pfc_frame *f, __u32 prio)
{
	return (__u32)f->quanta[prio][0] << 8 | f->quanta[prio][1];
}

static inline void pfc_build(struct pfc_frame *f, const __u8 *src)
{
	int i;

	*f = (struct pfc_frame){ .dst = { 0x01, 0x80, 0xc2, 0, 0, 0x01 },
				 .ethertype = { PFC_ETHERTYPE >> 8, PFC_ETHERTYPE & 0xff },
				 .opcode = { PFC_OPCODE >> 8, PFC_OPCODE & 0xff } };
	for (i = 0; i < 6; i++)
		f->src[i] = src[i];
}

/* Pauses a class, or resumes it with 0 quanta; other classes stay as they are. */
static inline void pfc_set(struct pfc_frame *f, __u32 prio, __u32 quanta)
{
	f->vector[1] |= 1U << prio;
	f->quanta[prio][0] = quanta >> 8;
	f->quanta[prio][1] = quanta;
}

/* Quanta of a port of bps in ns, rounded up: nothing leaves too early. 2^16 * 2^39 = 2^55. */
static inline __u64 pfc_quanta_ns(__u32 quanta, __u64 bps)
{
	return bps ? (quanta * PFC_QUANTUM_NSBPS + bps - 1) / bps : 0;
}

/* The quanta that last for at least ns, at most 65535. ns * bps < 65535 * 2^39. */
static inline __u32 pfc_ns_quanta(__u64 ns, __u64 bps)
{
	if (ns >= pfc_quanta_ns(PFC_QUANTA_MAX, bps))
		return bps && ns ? PFC_QUANTA_MAX : 0;
	return (ns * bps + PFC_QUANTUM_NSBPS - 1) / PFC_QUANTUM_NSBPS;
}

/* Time in ns of bytes < PFC_BYTES_MAX at bps, rounded down: 2^30 * 2^33 = 2^63. */
static inline __u64 pfc_bytes_ns(__u64 bytes, __u64 bps)
{
	bytes = bytes < PFC_BYTES_MAX ? bytes : PFC_BYTES_MAX - 1;
	return bps ? bytes * 8 * NSEC_PER_SEC / bps : 0;
}

/* ---- Pausing ---- */

/*
 * Bytes that may still come in by a port after XOFF was decided: at its speed for the round trip to the neighbour and
 * react_ns of both ends (interval of the loop, departures already scheduled), a frame just begun at either end, and the
 * PFC frame with its preamble and gap. rtt and react below PFC_NS_MAX together; bps / 1000 * ns < 2^30 * 2^31.
 */
static inline __u64 pfc_headroom(__u64 bps, __u64 rtt_ns, __u64 react_ns, __u32 mtu)
{
	__u64 ns = rtt_ns + react_ns;

	ns = ns < PFC_NS_MAX ? ns : PFC_NS_MAX - 1;
	bps = bps < PFC_BPS_MAX ? bps : PFC_BPS_MAX - 1;
	return (bps + 999) / 1000 * ns / 8000000 + 1 + 2 * mtu + PFC_FRAME_BYTES + PFC_FCS_BYTES + 20;
}

struct pfc_params {
	__u64 pause_ns; /* of XOFF; refreshed when half of it is over, (0, PFC_NS_MAX) */
	q24_t alpha;	/* XOFF is at most alpha times the free shared buffer, < 64.0; 0: XOFF is fixed */
	__u32 xoff;	/* bytes of a port and priority, < PFC_BYTES_MAX */
	__u32 gap;	/* XON is this far below XOFF */
};

/*
 * The defaults: XOFF when a port has as much of the shared buffer as is free (alpha 1), XON two frames below,
 * for 100 frames at a time, but at least four rounds of the loop, which refreshes halfway through.
 */
static inline void pfc_params_init(struct pfc_params *p, __u64 shared, __u64 bps, __u32 mtu, __u64 interval_ns)
{
	__u64 pause_ns = pfc_bytes_ns(100ULL * mtu, bps);

	pause_ns = pause_ns > 4 * interval_ns ? pause_ns : 4 * interval_ns;
	*p = (struct pfc_params){ .pause_ns = pause_ns < PFC_NS_MAX ? pause_ns : PFC_NS_MAX - 1,
				  .alpha = Q24_ONE,
				  .xoff = shared < PFC_BYTES_MAX ? shared : PFC_BYTES_MAX - 1,
				  .gap = 2 * mtu };
}

/*
 * Pauses sent to a neighbour, per ingress port and priority; starts as zeros. Written by one thread. predict_ns is
 * P-PFC's bit against repetition: it is set until then.
 */
struct pfc_told {
	__u64 until_ns;	  /* when the pause of XOFF ends */
	__u64 predict_ns; /* when the pause of P-PFC ends */
	__u32 xoff;	  /* XOFF holds */
	__u32 kbps;	  /* growth of the port's share of the queue before the pause of P-PFC */
};

enum pfc_act {
	PFC_NOTHING,
	PFC_XOFF,
	PFC_REFRESH, /* XOFF again, before the last one runs out */
	PFC_XON,     /* *pause_ns is not 0 if a pause of P-PFC goes on */
};

static inline __u64 pfc_threshold(const struct pfc_params *p, __u64 free)
{
	__u64 xoff;

	if (!p->alpha)
		return p->xoff;
	free = free < PFC_BYTES_MAX ? free : PFC_BYTES_MAX - 1;
	xoff = free * p->alpha >> 24; /* 2^30 * 2^30 */
	return xoff < p->xoff ? xoff : p->xoff;
}

/*
 * bytes: the ingress counter; free: of the shared buffer. The caller sends the returned act with a pause of *pause_ns.
 * A frame replaces the one before it, so neither cuts the other's pause short.
 */
static inline enum pfc_act pfc_ingress(struct pfc_told *t, const struct pfc_params *p, __u64 now_ns, __u64 bytes,
				       __u64 free, __u64 *pause_ns)
{
	__u64 xoff = pfc_threshold(p, free), xon = xoff > p->gap ? xoff - p->gap : 0;
	__u64 predicted = t->predict_ns > now_ns ? t->predict_ns - now_ns : 0;
	enum pfc_act act = t->xoff ? PFC_REFRESH : PFC_XOFF;

	*pause_ns = p->pause_ns > predicted ? p->pause_ns : predicted;
	/* An empty counter ends XOFF whatever the threshold: nothing is left to wait for. */
	if (t->xoff && (bytes < xon || !bytes)) {
		t->xoff = 0;
		t->until_ns = 0;
		*pause_ns = predicted;
		return PFC_XON;
	}
	if (t->xoff ? t->until_ns > now_ns + p->pause_ns / 2 : bytes <= xoff)
		return PFC_NOTHING;
	t->xoff = 1;
	t->until_ns = now_ns + *pause_ns;
	return act;
}

/* ---- Obeying ---- */

struct pfc_obey_params {
	__u64 bps;	  /* of the port, (0, PFC_BPS_MAX) */
	__u64 storm_ns;	  /* longest pause without a break, > 0 */
	__u64 restore_ns; /* silence after which frames are obeyed again */
};

/* A storm is longer than four of the longest pauses, and at least 100 ms. */
static inline void pfc_obey_init(struct pfc_obey_params *p, __u64 bps)
{
	p->bps = !bps ? 1 : bps < PFC_BPS_MAX ? bps : PFC_BPS_MAX - 1;
	p->storm_ns = 4 * pfc_quanta_ns(PFC_QUANTA_MAX, p->bps);
	if (p->storm_ns < 100 * 1000 * 1000ULL)
		p->storm_ns = 100 * 1000 * 1000ULL;
	p->restore_ns = p->storm_ns;
}

enum pfc_state {
	PFC_OPEN,    /* never paused, or a storm is over */
	PFC_PAUSED,  /* paused until until_ns; pfc_state() tells when it has run out */
	PFC_EXPIRED, /* the pause ran out */
	PFC_RESUMED, /* XON ended it */
	PFC_STORM,   /* the watchdog ended it, and frames are ignored */
};

/*
 * Per port and priority; begins as zeros. Frames are rare and come by one queue of the port: the fields are stored one
 * by one, and a reader between two stores is wrong about one packet.
 */
struct pfc_obey {
	__u64 until_ns; /* when the pause ends; 0: there is none */
	__u64 since_ns; /* when it began */
	__u64 heard_ns; /* time of the last frame that names the class, but for an XON after another */
	__u32 state;	/* as of that frame */
	__u32 pad;
};

enum pfc_heard {
	PFC_PAUSES,
	PFC_REFRESHES,	   /* a pause is in force */
	PFC_RESUMES,	   /* XON */
	PFC_RESUMES_NONE,  /* XON, and nothing was paused */
	PFC_STORM_BEGINS,  /* the pause has been in force for storm_ns */
	PFC_STORM_IGNORED, /* more of the same storm */
	PFC_STORM_ENDS,	   /* XON ended the storm */
};

/* The state as of now. */
static inline enum pfc_state pfc_state(const struct pfc_obey *o, const struct pfc_obey_params *p, __u64 now_ns)
{
	if (o->state == PFC_STORM && now_ns >= o->heard_ns + p->restore_ns)
		return PFC_OPEN;
	if (o->state != PFC_PAUSED)
		return o->state;
	/* Obeyed for storm_ns, and it would continue. */
	if (o->until_ns > o->since_ns + p->storm_ns && now_ns >= o->since_ns + p->storm_ns)
		return now_ns < o->heard_ns + p->restore_ns ? PFC_STORM : PFC_OPEN;
	return now_ns < o->until_ns ? PFC_PAUSED : PFC_EXPIRED;
}

/* Takes the quanta of a frame for this class. */
static inline enum pfc_heard pfc_hear(struct pfc_obey *o, const struct pfc_obey_params *p, __u64 now_ns, __u32 quanta)
{
	enum pfc_state was = pfc_state(o, p, now_ns);
	int known = o->state == PFC_STORM;

	if (!quanta && o->state == PFC_RESUMED)
		return PFC_RESUMES_NONE;
	o->heard_ns = now_ns;
	if (!quanta) {
		o->until_ns = 0;
		o->state = PFC_RESUMED;
		return was == PFC_PAUSED ? PFC_RESUMES : was == PFC_STORM ? PFC_STORM_ENDS : PFC_RESUMES_NONE;
	}
	if (was == PFC_STORM) {
		o->until_ns = 0;
		o->state = PFC_STORM;
		return known ? PFC_STORM_IGNORED : PFC_STORM_BEGINS;
	}
	if (was != PFC_PAUSED)
		o->since_ns = now_ns;
	o->until_ns = now_ns + pfc_quanta_ns(quanta, p->bps);
	o->state = PFC_PAUSED;
	return was == PFC_PAUSED ? PFC_REFRESHES : PFC_PAUSES;
}

/* When the last pause ended: now, if one is in force; 0: there was none. */
static inline __u64 pfc_ended(const struct pfc_obey *o, const struct pfc_obey_params *p, __u64 now_ns)
{
	switch (pfc_state(o, p, now_ns)) {
	case PFC_PAUSED:
		return now_ns;
	case PFC_EXPIRED:
		return o->until_ns;
	case PFC_RESUMED:
		return o->heard_ns;
	case PFC_STORM:
		return o->since_ns + p->storm_ns;
	default:
		return 0;
	}
}

/* The port went down: pauses from its neighbour are void. */
static inline void pfc_forget(struct pfc_obey *o)
{
	*o = (struct pfc_obey){};
}

/* When a packet of this class may leave, for pacer_reserve(); asked_ns: the departure that the stack asked for. */
static inline __u64 pfc_asked(const struct pfc_obey *o, const struct pfc_obey_params *p, __u64 now_ns, __u64 asked_ns)
{
	__u64 until = o->until_ns, end = o->since_ns + p->storm_ns;

	if (pfc_state(o, p, now_ns) != PFC_PAUSED)
		return asked_ns;
	until = until < end ? until : end;
	return until > asked_ns ? until : asked_ns;
}

#endif

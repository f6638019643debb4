/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DRIVER_H
#define DRIVER_H
/* Shared by the benchmark and its BPF programs (driver.bpf.c). */

#define BURST 256      /* packets of one test run */
#define HEAD_BYTES 256 /* of a packet that are put back in front of each pass */
#define TARGETS 32     /* programs that are measured at one hook */

/* The first bytes of one packet of a burst. */
struct head {
	__u8 b[HEAD_BYTES];
};

/* The state of all flows, VOQs and hosts that a program is to find. */
struct scene {
	__u64 now_ns;
	__u64 clock_ns; /* departure clock of each flow */
	__u32 ifindex;	/* by which flows leave, and what is said of that port: */
	__u32 port_flags;
	__u32 feedback; /* enum rx_feedback */
	__u8 encoding;
	__u8 hiercc;
	__u8 echo;   /* one of two hops waits */
	__u8 beside; /* telemetry is beside the data, and none is due */
	__u8 own;    /* the sender's congestion control is ours */
	__u8 pad[7];
};

#endif

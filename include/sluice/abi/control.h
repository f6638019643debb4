/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_CONTROL_H
#define SLUICE_ABI_CONTROL_H
/* What the daemon and sluicectl tell the programs at any time. */
#include "sluice/abi/addr.h"
#include "sluice/types.h"

enum sluice_mode {
	MODE_OBSERVE, /* telemetry goes out and comes back; U is measured, W is not computed */
	MODE_DRY_RUN, /* W and R are computed and shown, and hold nothing back */
	MODE_ENFORCE,
};

/* The live knobs, one entry. */
struct control {
	__u32 abi;	    /* SLUICE_ABI; the first member, in every version. 0: the pins change places just now */
	__u32 mode;	    /* enum sluice_mode */
	__u32 bypass;	    /* 1: egress and hop pass everything untouched; ingress still strips */
	__u32 epoch;	    /* goes up when peers or ports change */
	__u32 pid;	    /* of the daemon that wrote it last */
	__u32 rwnd;	    /* 1: the receive windows that foreign stacks are granted are cut down to W */
	__u32 horizon_mark; /* what would wait for longer: 1 marked CE if ECN capable, 0 dropped */
	__u32 auth;	    /* keys in use: slot + 1; 0: messages are not authenticated */
	__u64 seq_base_ns;  /* what the clock of sequences is ahead of CLOCK_MONOTONIC; never goes back (seq.h) */
	__u64 horizon_ns;   /* how long packets without a window wait; 0: one base RTT */
	__u64 heartbeat_ns;
	__u64 doubt_ns;	      /* a host that was not heard since may have stopped stripping unseen: it is asked anew */
	__u64 credit_ns;      /* daemon: when it dealt out credit last */
	__u64 credit_life_ns; /* for so long after that, ports that do are not told of by their hops */
	__be32 tor;	      /* of this machine as a rack: not 0 */
	__u32 pfc;	      /* daemon: there are ports that obey pauses */
	__u32 cc_abi;	      /* SLUICE_ABI of the daemon that registered it; 0: of another version's maps */
	__u32 trace_pid;      /* of who traces, below */
	__u32 ports_leaving;  /* daemon: so many ports have PORT_F_LEAVING */
	__u32 pad2;
	char cc_name[16];    /* congestion control that is registered; "" for none */
	char cc_default[16]; /* the namespace's default before ours; "" if it was left alone */
	/* sluicectl trace. Of flows with this port (0: any) and a remote address in this prefix */
	__u32 trace_every; /*   one decision of so many, by chance, is recorded, */
	__be16 trace_port;
	__u8 trace_on; /*   if this is 1, and */
	__u8 pad;
	struct sluice_addr trace_addr, trace_mask;
	__u64 trace_until_ns; /* not after that: who traces puts it off; 0: nobody traces */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_CONTROL_H
#define SLUICE_ABI_CONTROL_H
/* The knobs through which the daemon and sluicectl control the running programs. */
#include "sluice/abi/addr.h"
#include "sluice/types.h"

enum sluice_mode {
	MODE_OBSERVE, /* telemetry goes out and comes back; U is measured, W is not computed */
	MODE_DRY_RUN, /* W and R are computed and shown, but not enforced */
	MODE_ENFORCE,
};

/* The parts of the programs that are only there if the configuration uses them: `wings`, a constant of an object. */
#define WING_PAUSES 1 /* pauses are heard, obeyed and sent */
#define WING_RACKS 2  /* VOQs and credit of HierCC */
#define WINGS_ALL (WING_PAUSES | WING_RACKS)

/* The live knobs, one entry. */
struct control {
	__u32 abi;	    /* SLUICE_ABI; the first member in every version. 0: the pins are being swapped */
	__u32 mode;	    /* enum sluice_mode */
	__u32 bypass;	    /* 1: egress and hop pass everything untouched; ingress still strips */
	__u32 epoch;	    /* goes up when peers or ports change */
	__u32 pid;	    /* of the daemon that wrote it last */
	__u32 rwnd;	    /* 1: the receive windows granted to foreign stacks are cut to W */
	__u32 horizon_mark; /* a packet beyond the horizon: 1 marked CE if ECN capable, 0 dropped */
	__u32 auth;	    /* keys in use: slot + 1; 0: messages are not authenticated */
	__u64 seq_base_ns; /* lead of the sequence clock over CLOCK_MONOTONIC; never goes back (seq.h). Also ingress moves it */
	__u64 real_base_ns; /* daemon: lead of the clock over CLOCK_MONOTONIC when it last looked */
	__u64 horizon_ns;   /* longest wait of packets without a window; 0: the default (departure.bpf.h) */
	__u64 heartbeat_ns;
	__u64 doubt_ns;	      /* a host silent for this long may have stopped stripping: it is asked anew */
	__u64 credit_ns;      /* daemon: when it last dealt out credit */
	__u64 credit_life_ns; /* for this long after credit_ns, hops do not report ports that grant credit */
	__be32 tor;	      /* of this machine as a rack: not 0 */
	__u32 pfc;	      /* daemon: some ports obey pauses */
	__u32 cc_abi;	      /* SLUICE_ABI of the daemon that registered it; 0: of another version's maps */
	__u32 trace_pid;      /* of the tracer, see below */
	__u32 ports_leaving;  /* daemon: number of ports with PORT_F_LEAVING */
	__u32 domains;	      /* daemon: number of ports in another domain than 0 */
	char cc_name[16];     /* registered congestion control; "" for none */
	char cc_default[16];  /* the namespace's default before ours; "" if it was left alone */
	/* sluicectl trace: of flows with this port (0: any) and a remote address in this prefix */
	__u32 trace_every; /* one decision in trace_every is recorded, at random */
	__be16 trace_port;
	__u8 trace_on; /* 1: tracing is on */
	__u8 pad;
	struct sluice_addr trace_addr, trace_mask;
	__u64 trace_until_ns; /* end of the tracing lease, which the tracer extends; 0: nobody traces */
};

#endif

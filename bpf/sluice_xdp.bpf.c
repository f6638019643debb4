// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sink at XDP, as an object of its own: the daemon loads it for each interface that has it, over
 * the maps of sluice.bpf.c, and libxdp makes it one of several programs there.
 */
#define SLUICE_XDP

#include "vmlinux.h"
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "sluice/abi.h"
#include "sluice/bucket.h"
#include "sluice/hpcc.h"
#include "sluice/intmd.h"
#include "sluice/seq.h"
#include "sluice/telemetry.h"
#include "sluice/wire.h"

#define EINVAL 22
#define E2BIG 7
#define EEXIST 17

/* Configuration that is fixed while the program is loaded. */
const volatile __u16 wire_port = WIRE_PORT_DEFAULT;

#include "maps.bpf.h"
#include "bucket.bpf.h"
#include "ctx.bpf.h"
#include "parse.bpf.h"
#include "intmd.bpf.h"
#include "flow.bpf.h"
#include "delay.bpf.h"
#include "auth.bpf.h"
#include "rate.bpf.h"
#include "voq.bpf.h"
#include "pod.bpf.h"
#include "report.bpf.h"
#include "trace.bpf.h"
#include "feedback.bpf.h"
#include "credit.bpf.h"
#include "batch.bpf.h"
#include "ingress.bpf.h"

char LICENSE[] SEC("license") = "GPL";

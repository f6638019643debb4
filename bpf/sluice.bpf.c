// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data plane as one object, a header for each stage:
 *
 *   host    egress  -> fq -> NIC -> ... switch port: hop ... -> NIC -> ingress   host
 *           tcp_cc  <- flows <- ingress <------------ echo on the reverse flow <- egress
 *   rack    hop -> fq, by the switch's VOQs; tor <- credit
 *   switch  class_enqueue, class_dequeue -> class_queues -> hop, where a port has several queues
 *   pauses  pfc -> pfc_ports -> egress, hop; pfc_enqueue, pfc_dequeue -> pfc_slots -> daemon -> neighbour
 *   node    ingress of the uplink -> ... -> pod_hop -> tbf -> veth -> pod
 *
 * The maps (maps.bpf.h) are all that the stages share.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sluice/abi.h"
#include "sluice/bucket.h"
#include "sluice/hpcc.h"
#include "sluice/intmd.h"
#include "sluice/pacer.h"
#include "sluice/pfc.h"
#include "sluice/seq.h"
#include "sluice/telemetry.h"
#include "sluice/wire.h"

#define TC_ACT_UNSPEC (-1)
#define TC_ACT_SHOT 2
#define EINVAL 22
#define E2BIG 7
#define EEXIST 17
#define ENOTSUP 95

/* Configuration that is fixed while the programs are loaded. */
const volatile __u16 wire_port = WIRE_PORT_DEFAULT;
/* 1: a tc program may look at qdiscs (Linux 6.2). Where it is 0 the verifier leaves out what does. */
const volatile __u8 qdisc_kfuncs = 0;

#include "maps.bpf.h"
#include "bucket.bpf.h"
#include "ctx.bpf.h"
#include "parse.bpf.h"
#include "class.bpf.h"
#include "intmd.bpf.h"
#include "pacer.bpf.h"
#include "flow.bpf.h"
#include "delay.bpf.h"
#include "auth.bpf.h"
#include "rate.bpf.h"
#include "voq.bpf.h"
#include "rwnd.bpf.h"
#include "report.bpf.h"
#include "trace.bpf.h"
#include "feedback.bpf.h"
#include "credit.bpf.h"
#include "batch.bpf.h"
#include "pfc.bpf.h"
#include "tor.bpf.h"
#include "hop.bpf.h"
#include "egress.bpf.h"
#include "pod.bpf.h"
#include "ingress.bpf.h"
#include "backlog.bpf.h"
#include "tcp_cc.bpf.h"

char LICENSE[] SEC("license") = "GPL";

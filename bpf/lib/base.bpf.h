/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_BASE_BPF_H
#define SLUICE_BASE_BPF_H
/* The kernel's types, libbpf's helpers, and the few constants of the kernel that vmlinux.h does not have. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sluice/abi/control.h"
#include "sluice/wire/wire.h"

#define TC_ACT_UNSPEC (-1)
#define TC_ACT_OK 0
#define TC_ACT_SHOT 2
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88a8
#define AF_INET 2
#define AF_INET6 10
#define EINVAL 22
#define E2BIG 7
#define EEXIST 17
#define ENOTSUP 95
#define ECN_MASK 3
#define ECN_CE 3

#define CTX_COUNTED 0x51d1ce01 /* the mark that XDP gives tc, see ctx.bpf.h */

/* Configuration that is fixed while the programs are loaded. */
const volatile __u16 wire_port = WIRE_PORT_DEFAULT;

/*
 * The parts that this object has beside the path of a packet between hosts: the verifier removes code behind a bit that
 * is 0, and does not verify it (programs.c).
 */
const volatile __u8 wings = WINGS_ALL;

static inline int has_pauses(void)
{
	return wings & WING_PAUSES;
}

static inline int has_racks(void)
{
	return wings & WING_RACKS;
}

#endif

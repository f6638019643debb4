/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CTX_BPF_H
#define SLUICE_CTX_BPF_H
/*
 * The sink's packet operations, for both of its entry points: tc, and XDP if SLUICE_XDP is defined. The stages that run
 * at both (parse, flow, ingress) see a ctx_t and these operations.
 *
 * XDP cannot bring page fragments into the linear part: a packet with headers in them is left to tc. A packet that XDP
 * has stripped comes to tc as a plain packet; it carries a mark, in the metadata in front of the frame, that it has
 * been counted. No packet has metadata on a wire, but one that the other end of a veth sends by XDP_TX keeps the
 * metadata of that end's program: XDP removes such a mark, and tc trusts none if the sink is not at XDP.
 */
#include "lib/base.bpf.h"

#ifdef SLUICE_XDP
#include "lib/ctx_xdp.bpf.h"
#else
#include "lib/ctx_skb.bpf.h"
#endif

#endif

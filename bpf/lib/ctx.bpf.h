/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CTX_BPF_H
#define SLUICE_CTX_BPF_H
/*
 * What the sink does to a packet, for both of its entry points: tc, and XDP where SLUICE_XDP is
 * defined. The stages that run at both (parse, flow, ingress) see a ctx_t and these operations.
 *
 * XDP cannot bring page fragments into the linear part: a packet whose headers lie there is left to
 * tc. What XDP has stripped comes to tc as a plain packet; it takes a mark along, in the room for
 * metadata in front of the frame, that says that it has been counted. No packet has metadata on a wire, but one
 * that the other end of a veth sends by XDP_TX has what that end's program gave it: XDP takes such a mark
 * away, and tc believes none where the sink is not at XDP.
 */
#include "lib/base.bpf.h"

#ifdef SLUICE_XDP
#include "lib/ctx_xdp.bpf.h"
#else
#include "lib/ctx_skb.bpf.h"
#endif

#endif

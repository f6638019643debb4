/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_H
#define SLUICE_HIERCC_H
/*
 * HierCC (APNet 2021, "HierCC: Hierarchical RDMA Congestion Control"), in integers: credits from rack to rack. A VOQ
 * is all traffic from one rack to one host; its packets are covered by credit that the port of that host grants.
 *
 *  1. Sender ToR (section 3.2): hiercc_send() gives each packet its place in the VOQ, S, and the time at which its
 *     credit is, or is expected to be, there. hiercc_credit() takes the port's grants.
 *  2. Receiver ToR (section 3.2): hiercc_see() notes S and F of a packet (data plane); hiercc_learn() judges these
 *     notes, hiercc_budget() and hiercc_grant() deal out credit by WRR (daemon). hiercc_ring.h does the same at packet
 *     arrival: no period, and a bounded number of steps for each packet.
 *  3. First hop (section 3.3, Equation 1): hiercc_rate() is the rate of each flow into the VOQ, hiercc_arrival()
 *     measures its inputs.
 *
 * S and credit are totals of wire bytes since the VOQ began: 64 bits here, the low 32 on the wire. A
 * message that is lost, repeated or late costs nothing: the next one has it all. F of a VOQ is
 * counted with rx_count() of rx.h.
 *
 * Open in the paper, and done here; docs/hiercc.md, "What the paper leaves open", has the reasons and the figures:
 *  - C0 is the BDP of the round trip of credit, including the time between two grants. A VOQ starts with it, and is
 *    due credit while Csent < S, as printed: so at most C0 is on the way that was not granted anew, a window.
 *  - A packet gets its departure when it enters, which cannot be corrected later. Without credit that is the time at
 *    which the granted total, continued at the measured rate, reaches it. A flow's own packets stay in order.
 *  - A round of WRR is F credits for each VOQ, one at a time in turn, not F at once.
 *  - A message says whether more is due. If not, credit is also expected at rate_first, from a round trip later on,
 *    and a rate that was measured when more was due is not lowered.
 *  - A packet with which F has doubled leaves at once, so that the VOQ's weight follows: one more than C0 for each
 *    doubling.
 *  - No packet waits for longer than limit_ns. When credit has lacked for that long packets leave at once
 *    (HIERCC_ALONE: the flow's own HPCC is all that paces it) until there is some. Those that wait by then, V_high at
 *    most, leave at the rate at which credit came, as far as that is within limit_ns of their own.
 *  - A VOQ that was silent for idle_ns has C0 again, whatever was lost.
 *  - A total beyond S, by more than the one credit that rounding may give, is refused.
 *  - The receiver takes the bytes sent before the first packet that it saw as granted, except for C0, which the VOQ
 *    may have used up.
 *  - A VOQ is never due more than debt_max, and the credit that a late loop has yet to grant. Bytes of S beyond that
 *    are taken as granted. The same applies to bytes that S claims and that did not arrive, beyond debt_max and 1/8
 *    of those that did (losses), and to a jump (a sender that began anew).
 *  - F is at most the number of packets that arrived in an epoch, and RX_FLOWS_MAX.
 *  - Equation 1 has "R_line if Q_voq < 0", which never is: q_line is the threshold. Between it and q0 the other case
 *    is used with its sign: N R = R_credit + beta (q0 - Q)/RTT_hop.
 *  - R changes at most fourfold in a period, either way, also to R_line.
 *  - The rate before a stop caused the stop, if it was not computed since the last one: then half of it is told. Bytes
 *    that arrived until then do not count.
 *  - If nothing arrived R is kept: there is nothing to divide by.
 *  - TCP is told R as a window, R * T, without the wait in the VOQ.
 *  - R is computed by time, not only when a packet asks: a flow that was told R_min has few packets to ask with.
 */
#include "sluice/rack/hiercc_params.h"
#include "sluice/rack/hiercc_voq.h"
#include "sluice/rack/hiercc_grant.h"
#include "sluice/rack/hiercc_ring.h"
#include "sluice/rack/hiercc_hop.h"

#endif

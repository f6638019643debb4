/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HIERCC_H
#define SLUICE_HIERCC_H
/*
 * HierCC (APNet 2021, "HierCC: Hierarchical RDMA Congestion Control"), in integers: credits from rack
 * to rack. A VOQ is all traffic from one rack to one host; its packets are covered by credit that the port of that host
 * grants.
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
 * Open in the paper, and done here:
 *  - A VOQ is due credit while Csent < S, as printed: starting with C0 it has at most C0 on the way that is not granted
 *    anew, a window. So one VOQ alone gets C0 per round trip of credit and no more: 10 KB and 8 us, the paper's values,
 *    are 10 of its 25 Gbit/s. hiercc_params_init() takes the BDP of that round trip, with the time between two grants
 *    in it. The bound of section 1, racks times C0, is only as good as that time is short: 146 KB with 4 us in
 *    tests/sim/scenarios/racks.yaml, 961 KB with 100 us. Granted with each packet that arrives C0 is the BDP of the
 *    round trip alone, and the burst of that scenario makes 108 KB.
 *  - A packet gets its departure when it enters, which cannot be corrected later: without credit it leaves when the
 *    totals, continued at the measured rate, reach it. Every message corrects the estimate for later packets, which do
 *    not wait behind those of other flows that entered when the rate was lower: after a burst of mice at a quarter of
 *    the port two VOQs of a long flow each had half of it, and sent a quarter until the last packet of the burst had
 *    left. A flow's own packets stay in order (its departure clock, or the switch's tor_flow).
 *  - A round of WRR is F credits for each VOQ, one at a time in turn, not F at once: with turns of nine, one after
 *    another, a VOQ measured rates of 17 to 30 Mbit/s, not 25, and packets that entered at 17 waited for too long.
 *  - A VOQ that is due no more is granted only what it sent, which does not show what it could have: a rate measured
 *    then would keep itself low indefinitely (the "wrong under-utilization equilibrium" of section 3.3; simulated). So
 *    a message says whether more is due; if not, credit is also expected at rate_first, from a round trip later on, and
 *    a rate that was measured when more was due is not lowered: bytes that S has not told the receiver yet, because
 *    they wait for their departure, cannot be due there. When it was lowered, three TCP flows that began together
 *    beside one were caught in a cycle for 250 ms, at times for good: held back by a low rate, not due, a lower rate.
 *  - A packet carries F as it was when it entered, and the weight of its VOQ is that until later ones leave: a long
 *    flow's q0 left at a weight of 1 of 20, and nine new flows waited behind it. A packet with which F has doubled
 *    leaves at once: one more than C0 for each doubling.
 *  - Credits that stop: no packet waits for longer than limit_ns. When credit has lacked for that long packets leave at
 *    once (HIERCC_ALONE: the flow's own HPCC is all that paces it) until there is some. Those that wait by then, V_high
 *    at most, leave at the rate at which credit came, as far as that is within limit_ns of their own: those of two
 *    VOQs, at 100 Mbit/s and 4 ms, were a queue of 51 KB together, 12 to 57 one by one at rate_first, and are 27 at the
 *    rate of each. The limit must not be below the time that V_high takes at a small share of the port: packets that
 *    wait longer leave that way.
 *  - A VOQ that was silent for idle_ns has C0 again, whatever was lost.
 *  - A total beyond S, by more than the one credit that rounding may give, is refused.
 *  - The receiver takes the bytes sent before the first packet that it saw as granted, except for C0, which the VOQ may
 *    have used up: after a restart each VOQ would have C0 to spare at once, beside its bytes already on the way. With
 *    two VOQs the port then had a queue of 82 KB, at 100 Mbit/s and 4 ms.
 *  - A VOQ is never due more than debt_max, and the credit that a late loop has yet to grant. Bytes of S beyond that
 *    are taken as granted: no other VOQ has to wait for them. The same applies to bytes that S claims and that did not
 *    arrive, beyond debt_max and 1/8 of those that did (losses), and to a jump (a sender that began anew).
 *  - F is at most the number of packets that arrived in an epoch, and RX_FLOWS_MAX.
 *  - Equation 1 is printed with "R_line if Q_voq < 0", which never is. q_line is the threshold: the default is 1, an
 *    empty queue. Between it and q0 the other case is used with its sign, which ends the under-utilisation that R_line
 *    is meant for: N R = R_credit + beta (q0 - Q)/RTT_hop. With q_line = q0, the other reading, the queue stands 20 %
 *    above q0, and 70 to 90 % where four flows share a VOQ (simulated: one long flow in each of four racks, and four).
 *  - R changes at most fourfold in a period, either way, also to R_line. Where a VOQ has a small share of the
 *    port, beta (Q - q0)/RTT_hop is soon more than all of its credit: R falls to R_min, the
 *    queue runs empty, all flows are told R_line, and it is above V_high again. Four flows at a quarter of the
 *    port went round like that, with 50 KB on average; now it is q0 (simulated, as above).
 *  - The rate before a stop caused the stop, if it was not computed since the last one: R_line, say, of 30 flows. Then
 *    half of it is told. Bytes that arrived until then do not count.
 *  - If nothing arrived R is kept: there is nothing to divide by.
 *  - TCP is told R as a window, R * T, and its bytes in flight include those that wait in the VOQ. Equation 1 then
 *    settles at the R with which q0 stands, N R T = q0 + R_credit T, and a window does not grow with the wait that it
 *    causes. With R * (T + the wait of the flow's last packet) the VOQs of long flows stood at 76 KB, and not at 32
 *    (q0: 27), the port had a queue of 344 KB, not 255, and was used less, .93 and not .97; 16 flows of 100 KB took 346
 *    ms, not 353 (LAB=fabric, HierCC alone, a run each). With R * T + q0/F they took 171 and 200 ms with and without
 *    HPCC, not 186 and 191, and the port was used less, by .003 (100 Mbit/s and 4 ms, simulated with windows in the
 *    place of rates).
 *  - R is computed by time, not only when a packet asks: a flow that was told R_min has few packets to ask with.
 */
#include "sluice/rack/hiercc_params.h"
#include "sluice/rack/hiercc_voq.h"
#include "sluice/rack/hiercc_grant.h"
#include "sluice/rack/hiercc_ring.h"
#include "sluice/rack/hiercc_hop.h"

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ELEMENTS_H
#define SLUICE_ELEMENTS_H
/*
 * The information elements of Sluice: X(number, name, type, bytes, semantics and units, description). A number
 * never gets another meaning; docs/ipfix.md has the same table. bytes 65535: a string.
 */
#define SLUICE_ELEMENTS(X)                                                                                          \
	X(1, "sluiceFlowState", STRING, 65535, 0, "how the flow is treated: STATE of sluicectl flows")              \
	X(2, "sluiceFlowHeldBy", STRING, 65535, 0, "what held its last packet: WHY of sluicectl flows")             \
	X(3, "sluiceWindow", UINT_64, 8, FB_IE_QUANTITY | FB_UNITS_OCTETS, "window W")                              \
	X(4, "sluiceRate", UINT_64, 8, FB_IE_QUANTITY, "pacing rate R, bit/s")                                      \
	X(5, "sluiceUtilisation", UINT_32, 4, FB_IE_QUANTITY, "U of the busiest hop, 10^-6")                        \
	X(6, "sluiceUtilisationMax", UINT_32, 4, FB_IE_QUANTITY, "the highest U in the time of the record, 10^-6")  \
	X(7, "sluiceBaseRtt", UINT_64, 8, FB_IE_QUANTITY | FB_UNITS_NANOSECONDS, "base RTT T")                      \
	X(8, "sluiceRttMin", UINT_64, 8, FB_IE_QUANTITY | FB_UNITS_NANOSECONDS, "shortest measured RTT; 0: none")   \
	X(9, "sluiceFeedbackDeltaCount", UINT_64, 8, FB_IE_DELTACOUNTER, "feedbacks in the time of the record")     \
	X(10, "sluicePathId", UINT_16, 2, FB_IE_IDENTIFIER, "the ids of all switch ports of the path, XORed")       \
	X(11, "sluiceBottleneckHop", UINT_8, 1, FB_IE_IDENTIFIER, "number of the busiest hop; 0: none")             \
	X(12, "sluiceHop", UINT_8, 1, FB_IE_IDENTIFIER, "number of the hop, from 1 at the sender")                  \
	X(13, "sluiceHopSpeed", UINT_64, 8, FB_IE_QUANTITY, "speed of its port, bit/s, as telemetry tells it")      \
	X(14, "sluiceHopQueue", UINT_32, 4, FB_IE_QUANTITY | FB_UNITS_OCTETS, "its queue in the last feedback")     \
	X(15, "sluiceHopQueueMax", UINT_32, 4, FB_IE_QUANTITY | FB_UNITS_OCTETS, "its high-water mark")             \
	X(16, "sluiceHopQueueDelayMax", UINT_64, 8, FB_IE_QUANTITY | FB_UNITS_NANOSECONDS, "the same as time")      \
	X(17, "sluiceHopUtilisationMax", UINT_32, 4, FB_IE_QUANTITY, "its highest use, 10^-6; 4294967295: unknown") \
	X(18, "sluicePortRole", STRING, 65535, 0, "host or switch")                                                 \
	X(19, "sluicePortSpeed", UINT_64, 8, FB_IE_QUANTITY, "bit/s")                                               \
	X(20, "sluicePortQueue", UINT_64, 8, FB_IE_QUANTITY | FB_UNITS_OCTETS, "backlog of its root qdisc")         \
	X(21, "sluicePortQueueMax", UINT_64, 8, FB_IE_QUANTITY | FB_UNITS_OCTETS, "its high-water mark")

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PFC_CASE_H
#define PFC_CASE_H
/*
 * Shared by the tests of ports with pauses. The tracepoints see the qdiscs of the whole machine, so the links have numbers of
 * their own.
 */
#include "world.h"

#define LOSSLESS 3
#define TOS (LOSSLESS << 5) /* CS3 */
#define SLOT 5

void pfc_make(void);
struct pfc_port pauses_usual(void);
/* As in Figure 31D-1 of 802.3, byte by byte. */
struct frame frame_pfc(__u16 vector, unsigned int prio, __u16 quanta);
/* The port obeys, and has fq. */
void port_obeys(enum sluice_mode mode);
/* Pauses the priority for that many ns; returns the end of the pause. */
__u64 pause_for(__u64 ns);

#endif

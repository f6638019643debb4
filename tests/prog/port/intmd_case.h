/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INTMD_CASE_H
#define INTMD_CASE_H
/*
 * Shared by the tests of INT-MD: peers that are asked for it, a port of a switch, and the bytes that a hop must have added. The bytes
 * are put together by packet.c from the pictures.
 */
#include "world.h"

void intmd_make(void);

#define GROW (4 + 12) /* shim and header of INT-MD */

/* The first word of the newest hop. */
unsigned int at_stack(const struct frame *f);
/* A port of 200 Mbit/s with some queue, of switch id. */
void port_of_switch(__u16 id);
/* Runs a hop and expects its words and nothing else; returns what leaves it, and the hop in *hop. */
struct frame expect_hop(enum program p, const struct frame *in, __u16 id, struct int_hop *hop);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_QUEUE_H
#define SLUICE_ATTACH_QUEUE_H
/* The qdisc `sluice`. */
#include <stddef.h>

struct qdisc_room;

/* Registers and pins it if possible; otherwise fills queue_why, and prints that if it can be fixed. */
void queue_register(struct qdisc_room *room);
/* Removes the name and the pins, if there are any. Qdiscs that are in place continue. */
void queue_unregister(const char *pin_dir);

/* Whether this build and this kernel have what the qdisc `sluice` needs; nothing is loaded. */
int queue_is_possible(void);
/* Loads the qdisc `sluice`, and discards it: 0, or -errno, and the reason against it. */
int queue_try(char *why, size_t size);

#endif

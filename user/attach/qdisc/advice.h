/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_ADVICE_H
#define SLUICE_ATTACH_ADVICE_H
/* What to do about qdiscs, in this kernel: the same words at a start and in sluicectl. */
#include <linux/types.h>

enum advice_on {
	ADVICE_NONE,
	ADVICE_TIMES,  /* departure times are kept */
	ADVICE_LENGTH, /* the length of the queue can be read */
};

struct advice {
	int is_command;
	char text[200];
};

/* device: NULL for any. That of ADVICE_TIMES may be one on which it is. */
void advice_get(enum advice_on on, const char *device, struct advice *a);

/* Whether the kernel has the qdisc fq, or can load it. */
int kernel_has_fq(void);
/* It was tried: has it or not. */
void kernel_fq_tried(int has);

#endif

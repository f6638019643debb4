/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_MATRIX_H
#define SLUICE_SIM_MATRIX_H
/*
 * A connection matrix of uet-htsim, the Ultra Ethernet simulator (.cm): one flow a line, which begins at its time, or
 * when its trigger fires. A trigger fires once, when as many flows as it waits for have been acknowledged to their end.
 */
#include <stdint.h>

struct matrix_flow {
	uint32_t from, to; /* hosts */
	uint32_t trigger;  /* that starts it; 0: it begins at start_ns */
	uint32_t fires;	   /* trigger that its end fires; 0: none */
	unsigned int line;
	uint64_t size, start_ns;
};

/* Triggers are numbered from 1 on. */
struct matrix_trigger {
	uint32_t waits;	   /* for so many flows; 0: the file does not describe it */
	uint32_t fired_by; /* flows that fire it */
};

struct matrix {
	struct matrix_flow *flows;
	struct matrix_trigger *triggers; /* the first one is not used */
	uint32_t nodes, count, triggers_count;
};

/* Returns 0, or -1 with a message. */
int matrix_load(const char *path, struct matrix *m);
void matrix_free(struct matrix *m);

#endif

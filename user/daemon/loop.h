/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_LOOP_H
#define SLUICE_LOOP_H
/* The one loop in which the daemon waits: each part adds what it waits for, and the function that is called then. */

struct loop;

int loop_open(struct loop **loop); /* 0, or -errno */
/* The file descriptors stay their owners'. */
void loop_close(struct loop *loop);

/* Calls fn with ctx whenever fd can be read. 0, or -errno. */
int loop_add(struct loop *loop, int fd, void (*fn)(void *ctx), void *ctx);

/* Until a function has called loop_stop(): 0, or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif

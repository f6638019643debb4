/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_LOOP_H
#define SLUICE_LOOP_H
/* The daemon's single event loop: each part adds its file descriptors, and the functions to call. */

struct loop;

int loop_open(struct loop **loop); /* 0, or -errno */
/* The file descriptors stay with their owners. */
void loop_close(struct loop *loop);

/* Calls fn with ctx whenever fd is readable. 0, or -errno. */
int loop_add(struct loop *loop, int fd, void (*fn)(void *ctx), void *ctx);

/* Runs until a function has called loop_stop(): 0, or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

#endif

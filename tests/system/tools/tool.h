/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_SYSTEM_TOOL_H
#define TESTS_SYSTEM_TOOL_H
/* Shared by the tools: an end with a reason, and the clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((noreturn)) static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

static inline long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void wait_until(long long at_ns)
{
	const struct timespec t = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PLAIN_CRITERION_H
#define PLAIN_CRITERION_H
/*
 * Replaces Criterion in programs that are not its tests, but use tests/prog/world/: a failure there ends
 * the program, and the program says in check_failed() and check_skipped() what it was doing.
 */
#include <stdarg.h>

void check_failed(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void check_skipped(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#define cr_assert_that(claim, text, fmt, ...)                                                      \
	do {                                                                                       \
		if (!(claim))                                                                      \
			check_failed("%s:%d: %s: " fmt, __FILE__, __LINE__, text, ##__VA_ARGS__);  \
	} while (0)
#define cr_assert(claim, ...) cr_assert_that(claim, #claim, "" __VA_ARGS__)
#define cr_assert_eq(a, b) cr_assert((a) == (b))
#define cr_skip_test(...) check_skipped(__VA_ARGS__)

#endif

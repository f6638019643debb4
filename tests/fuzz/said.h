/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_SAID_H
#define TESTS_FUZZ_SAID_H
/* Messages of the code under test go nowhere, and are counted: every refusal must have one. */
#include "fuzz.h"

static size_t said_bytes;

static ssize_t said_write(void *ctx, const char *text, size_t bytes)
{
	(void)ctx;
	(void)text;
	said_bytes += bytes;
	return bytes;
}

/* Once, before the first input: libFuzzer has its own copy of stderr by then. */
static inline void said_begin(void)
{
	FILE *to = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = said_write });

	FUZZ_ASSERT(to && !setvbuf(to, NULL, _IONBF, 0));
	stderr = to;
}

#endif

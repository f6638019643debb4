/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H
/* For targets that read a file: the input is one, and what the code under test prints goes nowhere. */
#include <sys/mman.h>
#include <unistd.h>

#include "said.h"

static int file_fd = -1;
static char file_path[64];

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	file_fd = memfd_create("input", MFD_CLOEXEC);
	stdout = fopen("/dev/null", "w");
	FUZZ_ASSERT(file_fd >= 0 && stdout);
	snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file_fd);
	said_begin();
	return 0;
}

/* The file has these bytes, and nothing is said of it yet. */
static inline void file_is(const uint8_t *data, size_t bytes)
{
	FUZZ_ASSERT(!ftruncate(file_fd, 0) && pwrite(file_fd, data, bytes, 0) == (ssize_t)bytes);
	said_bytes = 0;
}

#endif

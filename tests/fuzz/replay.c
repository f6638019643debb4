// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl replay: a recorded file, with options that the first byte of the input chooses. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/replay.h"
#include "said.h"
#include "lib/util.h"

static int fd = -1;
static char path[64];

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fd = memfd_create("trace.csv", MFD_CLOEXEC);
	stdout = fopen("/dev/null", "w");
	FUZZ_ASSERT(fd >= 0 && stdout);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	said_begin();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const variants[] = { "plain", "vai-sf" };
	struct fuzz f = { data, size };
	__u8 shape = fuzz_u8(&f), more = fuzz_u8(&f);
	char number[40], *argv[10] = { "replay", "--variant", (char *)variants[shape & 1] };
	int argc = 3, code;

	if (shape & 4)
		argv[argc++] = "--json";
	if (shape & 8) { /* a number of an option, or something else */
		size_t n;
		const uint8_t *at = fuzz_rest(&f, more % 16, &n);

		argv[argc++] = (char *)replay_option(more >> 5);
		snprintf(number, sizeof(number), "%.*s", (int)n, (const char *)at);
		argv[argc++] = number;
	}
	argv[argc++] = path;
	argv[argc] = NULL;
	FUZZ_ASSERT(!ftruncate(fd, 0) && pwrite(fd, f.at, f.left, 0) == (ssize_t)f.left);
	said_bytes = 0;
	code = cmd_replay(argc, argv);
	FUZZ_ASSERT(code == EXIT_DONE || code == EXIT_FAILED || code == EXIT_USAGE);
	FUZZ_ASSERT((code == EXIT_DONE) == !said_bytes);
	return 0;
}

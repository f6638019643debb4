// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl replay: a recorded file, with options that the first byte of the input chooses. */
#include <stdlib.h>

#include "ctl/replay.h"
#include "file.h"
#include "lib/util.h"

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
	argv[argc++] = file_path;
	argv[argc] = NULL;
	file_is(f.at, f.left);
	code = cmd_replay(argc, argv);
	FUZZ_ASSERT(code == EXIT_DONE || code == EXIT_FAILED || code == EXIT_USAGE);
	FUZZ_ASSERT((code == EXIT_DONE) == !said_bytes);
	return 0;
}

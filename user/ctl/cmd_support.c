// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl support: runs support.sh, whose text is compiled in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/config.h"
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/pods.h"
#include "ctl/show.h"

extern const char support_script[] __attribute__((visibility("hidden")));

__asm__(".pushsection .rodata\n"
	".globl support_script\n"
	"support_script: .incbin \"user/ctl/support.sh\"\n"
	".byte 0\n"
	".popsection");

int cmd_support(int argc, char **argv)
{
	char *args[68] = { "sh", "-c", (char *)support_script, "sluicectl" };
	char self[512], caps[128];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	memcpy(args + 4, argv + 1, argc * sizeof(*argv));
	self[n > 0 ? n : 0] = 0;
	setenv("SLUICECTL", self, 1);
	setenv("SLUICE_CONFIG", CONFIG_PATH, 1);
	setenv("SLUICE_PINS", show_pin_dir, 1);
	setenv("SLUICE_BUNDLES", show_bundles_dir ?: "", 1);
	setenv("SLUICE_JSON", out_json ? "1" : "", 1);
	/* Capabilities that are missing, by the name that the table has for them. */
	setenv("SLUICE_READ", caps_missing(caps, sizeof(caps), CAPS_READ), 1);
	setenv("SLUICE_ADMIN", caps_missing(caps, sizeof(caps), 1ULL << CAP_SYS_ADMIN), 1);
	setenv("SLUICE_SYSLOG", caps_missing(caps, sizeof(caps), 1ULL << CAP_SYSLOG), 1);
	execv("/bin/sh", args);
	msg("/bin/sh: %s", strerror(errno));
	return EXIT_FAILED;
}

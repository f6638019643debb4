// SPDX-License-Identifier: GPL-2.0-only
/* The key ecn of a switch port, beside the others that it depends on. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "lib/config.h"

static int said; /* what goes to stderr */

static void said_begin(void)
{
	said = memfd_create("said", MFD_CLOEXEC);
	cr_assert(said >= 0 && dup2(said, STDERR_FILENO) == STDERR_FILENO);
}

/* Loads a file of this interface. Its K, or -1 with the message in buf. */
static long long ecn_of(const char *interface, char *buf, size_t size)
{
	int file = memfd_create("sluice.yaml", MFD_CLOEXEC);
	struct config *c = NULL;
	long long bytes = -1;
	char path[64];
	ssize_t n;

	dprintf(file, "auth: none\npeers: [{prefix: 10.0.0.0/8, base_rtt: 30us}]\ninterfaces: [{name: p1, %s}]\n",
		interface);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	cr_assert(!ftruncate(said, 0) && !lseek(said, 0, SEEK_SET));
	if (!config_load(path, &c))
		bytes = c->interfaces[0].ecn_bytes;
	n = pread(said, buf, size - 1, 0);
	buf[n > 0 ? n : 0] = 0;
	config_free(c);
	close(file);
	return bytes;
}

#define SWITCH "role: switch, id: 1"

Test(config_ecn, key__is_taken, .init = said_begin)
{
	static const struct {
		const char *interface;
		long long bytes;
	} cases[] = {
		{ SWITCH, 0 },
		{ SWITCH ", ecn: 65KB", 65000 },
		{ SWITCH ", ecn: 1514B", 1514 },
		{ SWITCH ", ecn: 1GB", 1000000000 },
		{ SWITCH ", ecn: 2MB, queue: fq, classes: [{share: 70%}]", 2000000 }, /* another qdisc's limit */
		{ SWITCH ", ecn: 2MB, queue: sluice", 2000000 },
		{ SWITCH ", ecn: 999999B, queue: sluice, rate: 1Gbit", 999999 },
		{ SWITCH ", ecn: 400KB, queue: sluice, rate: 1Gbit, limit: 500KB", 400000 },
		{ "role: host", 0 },
	};
	char buf[1024];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(ecn_of(cases[i].interface, buf, sizeof(buf)), cases[i].bytes, "%s: %s", cases[i].interface,
			     buf);
}

Test(config_ecn, key__is_refused_with_what_to_write, .init = said_begin)
{
	static const struct {
		const char *interface, *what;
	} cases[] = {
		{ SWITCH ", ecn: 0B", "ecn '0B' is not a number of bytes from 1514 to 1GB: write for example 65KB" },
		{ SWITCH ", ecn: 0", "ecn '0' is not a number of bytes from 1514 to 1GB: write for example 65KB" },
		{ SWITCH ", ecn: 1513B", "is not a number of bytes from 1514 to 1GB: write for example 65KB" },
		{ SWITCH ", ecn: 2GB", "is not a number of bytes from 1514 to 1GB: write for example 65KB" },
		{ SWITCH ", ecn: 65", "is not a number of bytes from 1514 to 1GB: write for example 65KB" },
		{ SWITCH ", ecn: many", "is not a number of bytes from 1514 to 1GB: write for example 65KB" },
		{ "role: host, ecn: 65KB", "ecn is for the role switch" },
		{ SWITCH ", ecn: 500KB, queue: sluice, rate: 1Gbit, limit: 500KB",
		  "ecn is not less than limit (500000 bytes), so the queue never gets that long: write less than that" },
		{ SWITCH ", ecn: 1MB, queue: sluice, rate: 1Gbit", "ecn is not less than limit (1000000 bytes)" },
		{ SWITCH ", ecn: 1MB, queue: sluice, classes: [{share: 70%}]", "ecn is not less than limit" },
	};
	char buf[1024];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(ecn_of(cases[i].interface, buf, sizeof(buf)), -1, "%s", cases[i].interface);
		cr_expect(strstr(buf, cases[i].what), "%s: %s", cases[i].interface, buf);
	}
}

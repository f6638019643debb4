// SPDX-License-Identifier: GPL-2.0-only
/*
 * A machine with other work, for the program tests: a library to be preloaded, under which the process loses the CPU
 * for a while before some of the programs run, some of the maps are written, and some of the times are read.
 *
 *	STALL_MS=300 STALL_SEED=1 LD_PRELOAD=build/stall.so build/prog-tests --timeout 600 --jobs 8
 *
 * One call of 8 is held up, at most 20 in a test. A test that fails under it, and not without, looks at the clock.
 */
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONE_OF 8
#define MOST 20

static void stall(void)
{
	static unsigned int seed, stalls;
	const char *ms = getenv("STALL_MS"), *first = getenv("STALL_SEED");

	if (!seed)
		seed = (first ? strtoul(first, NULL, 10) : 1) * 2654435761U;
	if (rand_r(&seed) % ONE_OF == 0 && stalls++ < MOST)
		usleep((ms ? strtoul(ms, NULL, 10) : 300) * 1000);
}

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts)
{
	int (*real)(int fd, struct bpf_test_run_opts *opts) = dlsym(RTLD_NEXT, "bpf_prog_test_run_opts");

	stall();
	return real(fd, opts);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	int (*real)(int fd, const void *key, const void *value, __u64 flags) = dlsym(RTLD_NEXT, "bpf_map_update_elem");

	stall();
	return real(fd, key, value, flags);
}

/* Criterion reads the time as well, at the system call of its own. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = syscall(SYS_clock_gettime, clock, t);

	stall();
	return result;
}

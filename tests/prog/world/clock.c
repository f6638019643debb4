// SPDX-License-Identifier: GPL-2.0-only
/* The clock of the programs (tests/prog/clock.h). */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "load.h"

__u64 held_ns; /* the time at which the programs' clock stands; 0: it runs */

static void clock_write(__u64 is_real, __u64 ns)
{
	const __u64 value[] = { is_real, ns };
	__u32 zero = 0;
	const struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, ".data.clock");

	cr_assert(map && !bpf_map_update_elem(bpf_map__fd(map), &zero, value, BPF_ANY), "setting the clock: %s",
		  strerror(errno));
	held_ns = is_real ? 0 : ns;
}

void clock_hold(void)
{
	clock_write(0, clock_ns());
}

void clock_pass(__u64 ns)
{
	cr_assert(held_ns, "the clock is not held");
	clock_write(0, held_ns + ns);
}

void clock_release(void)
{
	clock_write(1, 0);
}

__u64 clock_ns(void)
{
	struct timespec t;

	if (held_ns)
		return held_ns;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs as the program tests load them, which the compiler is told to begin with this file: the shipped programs, except for
 * the clock. It is the kernel's, or one that the test moves (world.h): a busy machine between two steps is no input
 * of a test then. A product and a sum, for a branch would be two paths to the verifier.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

/* Of both objects: maps of one name are shared. Whether it is the kernel's, and what is added, in ns. */
volatile __u64 test_clock[2] SEC(".data.clock") = { 1, 0 };

static inline __u64 test_clock_ns(void)
{
	return bpf_ktime_get_ns() * test_clock[0] + test_clock[1];
}

#define bpf_ktime_get_ns test_clock_ns

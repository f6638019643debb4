// SPDX-License-Identifier: GPL-2.0-only
/* The core's functions, each as a program of its own, for core_test.c. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "core_case.h"

struct core_case core_case;

#define X(name, call)                             \
	SEC("tc") int name(struct __sk_buff *ctx) \
	{                                         \
		struct core_case *c = &core_case; \
                                                  \
		call;                             \
		return 0;                         \
	}
CORE_PROGRAMS(X)
#undef X

char LICENSE[] SEC("license") = "GPL";

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FILTER_H
#define SLUICE_FILTER_H
#include <bpf/libbpf.h>
#include <linux/types.h>

/* Our filters have one fixed handle and priority. */
#define DP_TC_PRIORITY 0x5463
#define DP_TC_HANDLE 1
int filter_set(__u32 ifindex, enum bpf_tc_attach_point where, int prog_fd);
/* 0, also if there is none, or -errno with a message: it stays. */
int filter_remove(__u32 ifindex, enum bpf_tc_attach_point where);
int filter_is_set(__u32 ifindex, enum bpf_tc_attach_point where);
/* *made: there was none. */
int clsact_make(__u32 ifindex, int *made);
/* Unless somebody has added filters to it. Returns as filter_remove(). */
int clsact_remove(__u32 ifindex);

#endif

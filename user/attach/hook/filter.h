/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_FILTER_H
#define SLUICE_ATTACH_FILTER_H
#include <bpf/libbpf.h>
#include <linux/types.h>

/*
 * Our programs at an interface. They are filters of its clsact; where a qdisc `ingress` has the place of clsact, they are
 * links at tcx, pinned in pin_dir (tcx.h). Except for filter_set() these functions find either.
 */

/* Our filters have one fixed handle and priority. */
#define DP_TC_PRIORITY 0x5463
#define DP_TC_HANDLE 1
/* tcx: by tcx, else by clsact. An earlier attachment by the other is replaced. */
int filter_set(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where, int prog_fd, int tcx);
/* 0, also if there is none, or -errno with a message: it stays. */
int filter_remove(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where);
/* The program; -ENOENT: there is none. */
int filter_find(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where, __u32 *prog_id);

/* Of clsact alone, whichever pin_dir it belongs to. */
int clsact_filter_find(__u32 ifindex, enum bpf_tc_attach_point where, __u32 *prog_id);
int clsact_filter_remove(__u32 ifindex, enum bpf_tc_attach_point where);
/* *made: there was none. */
int clsact_make(__u32 ifindex, int *made);
/* Unless somebody has added filters to it. Returns as filter_remove(). */
int clsact_remove(__u32 ifindex);

#endif

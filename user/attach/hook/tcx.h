/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_TCX_H
#define SLUICE_ATTACH_TCX_H
#include <bpf/libbpf.h>
#include <linux/types.h>

/* From the kernel's BTF: 1 (Linux 6.6 and newer), 0, or -errno if that cannot be read. */
int kernel_tcx(void);
/* 1 or 0: also if it cannot be read. */
int kernel_has_tcx(void);

/*
 * Our programs at tcx, each a link that is pinned in dir. A link outlives the daemon by its pin alone, and goes with it.
 */

/* Attaches the program, or replaces that of our link without a gap. */
int tcx_set(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where, int prog_fd);
/* 0, also if there is none, or -errno with a message: it stays. Also for an interface that is gone. */
int tcx_remove(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where);
/* The program of our link; -ENOENT: there is none at this interface of this network namespace. */
int tcx_find(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where, __u32 *prog_id);

#define TCX_PROGRAMS_MAX 64 /* that the kernel has at one place */
/* Programs there, of any owner; their number. */
int tcx_programs(__u32 ifindex, enum bpf_tc_attach_point where, __u32 *ids);
/* Detaches a program by its link, wherever that is pinned. Needs CAP_SYS_ADMIN. 0, or -errno with a message. */
int tcx_detach(__u32 prog_id);

/* Removes pins of links whose interfaces are gone; their number. The kernel forgets their programs a little later. */
int tcx_dead_remove(const char *dir);

/* Whether a file of the pin directory is one of these links. */
int tcx_pin_is(const char *name);

#endif

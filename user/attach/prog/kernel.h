/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_KERNEL_H
#define SLUICE_ATTACH_KERNEL_H
#include <linux/types.h>

struct btf;

/* NULL: errno says why. Valid until kernel_btf_free(). */
const struct btf *kernel_btf(void);
void kernel_btf_free(void);
/* 1, 0, or -errno if there is no BTF. kind: BTF_KIND_*. */
int kernel_btf_has(const char *name, __u32 kind);

/* Also 1, 0, or -errno. */
int kernel_has_kfunc(void);   /* bpf_cast_to_kern_ctx: a program may read the qdisc */
int kernel_has_tcp_ops(void); /* a TCP congestion control can be a BPF program */

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Questions about the running kernel, answered by its BTF. Reading that takes 20 ms and 1,700 calls, so it is read once for a start or a
 * reload, and released afterwards: it has 6 MB.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <unistd.h>
#include "attach/prog/kernel.h"

static struct btf *of_kernel;

const struct btf *kernel_btf(void)
{
	if (!of_kernel)
		of_kernel = btf__load_vmlinux_btf();
	return of_kernel;
}

void kernel_btf_free(void)
{
	btf__free(of_kernel);
	of_kernel = NULL;
}

int kernel_btf_has(const char *name, __u32 kind)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return -ENOENT;
	if (!kernel_btf())
		return -errno;
	return btf__find_by_name_kind(kernel_btf(), name, kind) > 0;
}

int kernel_has_kfunc(void)
{
	return kernel_btf_has("bpf_cast_to_kern_ctx", BTF_KIND_FUNC);
}

int kernel_has_tcp_ops(void)
{
	return kernel_btf_has("bpf_struct_ops_tcp_congestion_ops", BTF_KIND_STRUCT);
}

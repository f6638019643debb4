/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_STRUCT_OPS_H
#define SLUICE_ATTACH_STRUCT_OPS_H
#include <linux/types.h>

/* Whether this struct_ops map is registered under the name, or, if that is NULL, under any. */
int struct_ops_is_used(int fd, const char *name);
/* Whether it is a congestion control of ours that is registered, and not only kept by sockets. name: or NULL for any. */
int struct_ops_is_ours(__u32 id, const char *name);
__u32 struct_ops_by_name(const char *name); /* 0: none */
/* The same for a struct_ops map of any name. */
__u32 struct_ops_find(const char *map, const char *name);

#endif

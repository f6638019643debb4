// SPDX-License-Identifier: GPL-2.0-only
/* Our filters, and the clsact qdisc in which they are. */
#include <errno.h>
#include <string.h>
#include "attach/filter.h"
#include "lib/net.h"
#include "lib/util.h"

int filter_set(__u32 ifindex, enum bpf_tc_attach_point where, int prog_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY, .prog_fd = prog_fd,
			    .flags = BPF_TC_F_REPLACE);

	return bpf_tc_attach(&hook, &opts);
}

int filter_remove(__u32 ifindex, enum bpf_tc_attach_point where)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY);
	char name[IFNAMSIZ] = "?";
	int err = bpf_tc_detach(&hook, &opts);

	/* No such filter, clsact or interface: there is nothing to remove. */
	if (!err || err == -ENOENT || err == -EINVAL || err == -ENODEV)
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: taking off the %s filter: %s: it stays", name, where == BPF_TC_EGRESS ? "egress" : "ingress",
	    strerror(-err));
	return err;
}

int filter_is_set(__u32 ifindex, enum bpf_tc_attach_point where)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY);

	return !bpf_tc_query(&hook, &opts);
}

int clsact_make(__u32 ifindex, int *made)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int err = bpf_tc_hook_create(&hook);

	/* The kernel's answer may have been lost after the qdisc was made. An empty one is removed again. */
	if (err && err != -EEXIST && !filters_count(ifindex))
		bpf_tc_hook_destroy(&hook);
	*made = !err;
	return err == -EEXIST ? 0 : err;
}

int clsact_remove(__u32 ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	char name[IFNAMSIZ] = "?";
	/* Somebody may have added filters of their own to the qdisc that we made. */
	int filters = filters_count(ifindex), err = filters < 0 ? filters : 0;

	if (!filters)
		err = bpf_tc_hook_destroy(&hook);
	if (!err || err == -ENOENT || err == -EINVAL || err == -ENODEV) /* there is none, or no interface */
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: removing the clsact qdisc that was made for Sluice: %s: it stays; run 'tc qdisc del dev %s clsact'",
	    name, strerror(-err), name);
	return err;
}

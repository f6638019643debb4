// SPDX-License-Identifier: GPL-2.0-only
/* Our programs at an interface, and the clsact qdisc in which they are unless they are at tcx. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <string.h>
#include "attach/hook/filter.h"
#include "attach/hook/tcx.h"
#include "lib/net.h"
#include "lib/qdisc.h"
#include "lib/util.h"

static int clsact_filter_set(__u32 ifindex, enum bpf_tc_attach_point where, int prog_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY, .prog_fd = prog_fd,
			    .flags = BPF_TC_F_REPLACE);

	return bpf_tc_attach(&hook, &opts);
}

int clsact_filter_remove(__u32 ifindex, enum bpf_tc_attach_point where)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY);
	char name[IFNAMSIZ] = "?";
	int err = bpf_tc_detach(&hook, &opts);

	/* No such filter, clsact or interface: there is nothing to remove. */
	if (!err || err == -ENOENT || err == -EINVAL || err == -ENODEV)
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: removing the %s filter: %s: it stays", name, where == BPF_TC_EGRESS ? "egress" : "ingress",
	    strerror(-err));
	return err;
}

int clsact_filter_find(__u32 ifindex, enum bpf_tc_attach_point where, __u32 *prog_id)
{
	__u32 hook = where == BPF_TC_EGRESS ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS;

	return filter_bpf_find(ifindex, TC_H_MAKE(TC_H_CLSACT, hook), DP_TC_HANDLE, DP_TC_PRIORITY, prog_id);
}

int filter_set(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where, int prog_fd, int tcx)
{
	int first = where == BPF_TC_EGRESS, err = 0;

	/*
	 * While one takes over from the other, a packet may be stripped twice, so that none arrives with telemetry, but not
	 * stamped, wrapped or counted twice: at egress the old one goes first, and packets in between leave plain.
	 */
	if (first)
		err = tcx ? clsact_filter_remove(ifindex, where) : tcx_remove(pin_dir, ifindex, where);
	if (!err)
		err = tcx ? tcx_set(pin_dir, ifindex, where, prog_fd) : clsact_filter_set(ifindex, where, prog_fd);
	if (!first && !err)
		err = tcx ? clsact_filter_remove(ifindex, where) : tcx_remove(pin_dir, ifindex, where);
	return err;
}

int filter_remove(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where)
{
	int err = tcx_remove(pin_dir, ifindex, where);

	return clsact_filter_remove(ifindex, where) ?: err;
}

int filter_find(const char *pin_dir, __u32 ifindex, enum bpf_tc_attach_point where, __u32 *prog_id)
{
	int err = tcx_find(pin_dir, ifindex, where, prog_id);

	if (!err)
		return 0;
	if (err != -ENOENT)
		msg("%s: the tcx link of interface %u: %s: taken as not attached", pin_dir, ifindex, strerror(-err));
	return clsact_filter_find(ifindex, where, prog_id);
}

int clsact_make(__u32 ifindex, int *made)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int err = bpf_tc_hook_create(&hook);

	qdiscs_changed();
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
	qdiscs_changed();
	if (!err || err == -ENOENT || err == -EINVAL || err == -ENODEV) /* there is none, or no interface */
		return 0;
	if_indextoname(ifindex, name);
	msg("%s: removing the clsact qdisc that was made for Sluice: %s: it stays; run 'tc qdisc del dev %s clsact'",
	    name, strerror(-err), name);
	return err;
}

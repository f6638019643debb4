// SPDX-License-Identifier: GPL-2.0-only
/* user/lib/net/filter.c: our filter among those of others, who change their qdiscs at the same time. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/net.h"
#include "world.h"

#define HANDLE 1
#define PRIORITY 0x5463
#define AT_INGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)
#define AT_EGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)

TestSuite(filter, .init = world_make, .fini = world_drop, .timeout = 60);

/* Returns the number of the program. */
static __u32 filter_add(__u32 ifindex, enum bpf_tc_attach_point where, enum program program, __u32 handle,
			__u32 priority)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = handle, .priority = priority,
			    .prog_fd = world_program(program));

	expect_eq(bpf_tc_attach(&hook, &opts), 0);
	return opts.prog_id;
}

Test(filter, ours__is_found_by_its_handle_and_priority)
{
	__u32 ifindex = link_make(""), ours, id = 1;

	expect_eq(filter_bpf_find(ifindex, AT_EGRESS, HANDLE, PRIORITY, &id), -ENOENT);
	expect_eq(id, 0);
	sh("tc qdisc add dev " LINK_NEAR " clsact");
	expect_eq(filter_bpf_find(ifindex, AT_EGRESS, HANDLE, PRIORITY, &id), -ENOENT);
	filter_add(ifindex, BPF_TC_EGRESS, HOP, HANDLE, PRIORITY - 1);
	filter_add(ifindex, BPF_TC_EGRESS, HOP, HANDLE + 1, PRIORITY);
	filter_add(ifindex, BPF_TC_INGRESS, HOP, HANDLE, PRIORITY);
	expect_eq(filter_bpf_find(ifindex, AT_EGRESS, HANDLE, PRIORITY, &id), -ENOENT);
	ours = filter_add(ifindex, BPF_TC_EGRESS, EGRESS, HANDLE, PRIORITY);
	expect_eq(filter_bpf_find(ifindex, AT_EGRESS, HANDLE, PRIORITY, &id), 0);
	expect_eq(id, ours);
	expect_eq(filter_bpf_find(ifindex + 1000, AT_EGRESS, HANDLE, PRIORITY, &id), -ENOENT);
}

/* Until it is killed: searches, and something else that takes the lock of the network configuration. */
static void disturb(__u32 ifindex, int search)
{
	struct ifreq up = { .ifr_name = LINK_FAR, .ifr_flags = IFF_UP }, down = { .ifr_name = LINK_FAR };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	__u32 id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (search) {
			filter_bpf_find(ifindex, AT_INGRESS, HANDLE, PRIORITY, &id);
		} else {
			ioctl(fd, SIOCSIFFLAGS, &down);
			ioctl(fd, SIOCSIFFLAGS, &up);
		}
	}
}

/* With a request for the one filter, as bpf_tc_query() has it, more than 200 of 300 fail. */
Test(filter, search__keeps_nobody_from_deleting_the_qdisc)
{
	__u32 ifindex = link_make("");
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	pid_t child[3];
	int i, busy = 0;

	for (i = 0; i < 3; i++) {
		child[i] = fork();
		if (!child[i])
			disturb(ifindex, i);
	}
	for (i = 0; i < 300; i++) {
		bpf_tc_hook_create(&hook);
		busy += bpf_tc_hook_destroy(&hook) == -EBUSY;
	}
	for (i = 0; i < 3; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	expect_eq(busy, 0);
}

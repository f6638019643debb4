// SPDX-License-Identifier: GPL-2.0-only
/* user/lib/net/link.c: the links of a network namespace in which others come and go meanwhile. */
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/net.h"
#include "world.h"

#define STANDING 200 /* the kernel sends a list of 200 links in several parts */
#define DISTURBERS 8
#define DUMPS 300

TestSuite(link, .init = world_make, .fini = world_drop, .timeout = 60);

/* Ends with the test, whichever way that ends. */
static pid_t child_make(void)
{
	pid_t child = fork();

	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void child_end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A process that has a network namespace of its own. */
static pid_t netns_make(void)
{
	int ready[2];
	pid_t child;
	char byte;

	expect_eq(pipe(ready), 0);
	child = child_make();
	if (!child) {
		if (!unshare(CLONE_NEWNET))
			write(ready[1], "", 1);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	expect_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

/* Until it is killed. */
static void disturb(int number)
{
	char name[IFNAMSIZ] = "passing0";
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	name[7] += number;
	for (;;) {
		ioctl(fd, SIOCBRADDBR, name);
		ioctl(fd, SIOCBRDELBR, name);
	}
}

static void standing_make(pid_t netns)
{
	sh("for i in $(seq %d); do echo link add stand$i type veth peer name far$i netns %d; done | ip -batch -",
	   STANDING, netns);
	/* Not every kernel has VLANs. */
	sh("ip link add link stand%d name tagged type vlan id 7 2>/dev/null || :", STANDING);
}

static void behind_count(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx)
{
	(void)ifindex;
	(void)netnsid;
	(void)master;
	++*(unsigned int *)ctx;
}

/* Where a disturbed dump is not asked for again, 38 of the 600 fail. */
Test(link, dumps__are_whole_while_others_come_and_go)
{
	unsigned int behind, lacking = 0, failed = 0;
	pid_t netns = netns_make(), child[DISTURBERS];
	struct link_stack stack;
	__u32 last;
	int i, err;

	standing_make(netns);
	last = if_nametoindex("stand200");
	for (i = 0; i < DISTURBERS; i++) {
		child[i] = child_make();
		if (!child[i])
			disturb(i);
	}
	for (i = 0; i < DUMPS; i++) {
		behind = 0;
		failed += !!links_behind(behind_count, &behind);
		lacking += behind != STANDING;
		err = link_stack_get(last, &stack);
		failed += !!err;
		lacking += stack.vlans != !!if_nametoindex("tagged");
	}
	for (i = 0; i < DISTURBERS; i++)
		child_end(child[i]);
	child_end(netns);
	expect_eq(lacking, 0);
	expect_between(failed, 0, 2 * DUMPS / 100);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Something happens to a program at a call of its choice: LD_PRELOAD=accident.so ACCIDENT="kill rename 3" is a kill -9 before
 * the third rename(), "fail bpf_map_update_batch 1" makes the first such call find no memory. With "behind clock_gettime 60"
 * CLOCK_MONOTONIC is 60 s behind. (A time namespace would do that, but unshare of util-linux 2.39 sets none back.) With a file
 * ACCIDENT_REALTIME CLOCK_REALTIME is the number of seconds in it, for as long as there is such a file. With "refuse tracing"
 * programs of that type do not load, as under kernel lockdown; with "short memory" none does.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Is the call to fail? Does not return if it is the one to be killed at. */
static int accident(const char *call)
{
	const char *plan = getenv("ACCIDENT") ?: "";
	static unsigned int calls;
	char what[8], name[64];
	unsigned int n;

	if (sscanf(plan, "%7s %63s %u", what, name, &n) != 3 || strcmp(name, call) || ++calls != n)
		return 0;
	if (!strcmp(what, "kill"))
		raise(SIGKILL);
	errno = ENOMEM;
	return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* libbpf calls bpf() by syscall(2). */
long syscall(long number, ...)
{
	const char *plan = getenv("ACCIDENT") ?: "";
	const union bpf_attr *attr;
	long a[6];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	attr = (const union bpf_attr *)a[1];
	/* libbpf tries other programs to see what the kernel has. */
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && attr->insn_cnt > 20) {
		errno = !strcmp(plan, "short memory")						    ? ENOMEM :
			!strcmp(plan, "refuse tracing") && attr->prog_type == BPF_PROG_TYPE_TRACING ? EPERM :
												      0;
		if (errno)
			return -1;
	}
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int err = REAL(clock_gettime)(clock, ts);
	const char *file = getenv("ACCIDENT_REALTIME");
	unsigned int seconds;
	long long real;
	FILE *f;

	if (!err && clock == CLOCK_REALTIME && file && (f = fopen(file, "r"))) {
		if (fscanf(f, "%lld", &real) == 1)
			ts->tv_sec = real;
		fclose(f);
	}
	if (!err && clock == CLOCK_MONOTONIC &&
	    sscanf(getenv("ACCIDENT") ?: "", "behind clock_gettime %u", &seconds) == 1)
		ts->tv_sec -= seconds;
	return err;
}

__s32 btf__find_by_name_kind(const struct btf *btf, const char *name, __u32 kind)
{
	char lacking[64] = "";

	sscanf(getenv("ACCIDENT") ?: "", "lack %63s", lacking);
	if (!strcmp(name, lacking)) {
		errno = ENOENT;
		return -ENOENT;
	}
	return REAL(btf__find_by_name_kind)(btf, name, kind);
}

/* The call RTM_NEWQDISC: of all messages of rtnetlink those that make a qdisc, but for libbpf's. */
ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *buf, size_t size)
{
	const struct nlmsghdr *nlh = buf;
	int fails = nlh->nlmsg_type == RTM_NEWQDISC && accident("RTM_NEWQDISC");

	return fails ? -1 : REAL(mnl_socket_sendto)(nl, buf, size);
}

int rename(const char *from, const char *to)
{
	return accident("rename") ? -1 : REAL(rename)(from, to);
}

/* "kill sysctl 1": when the first sysctl has just been written. */
int fclose(FILE *f)
{
	char link[64], path[256] = "";
	int fd = fileno(f);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY && readlink(link, path, sizeof(path) - 1) > 0 &&
	    !strncmp(path, "/proc/sys/", 10) && accident("sysctl")) {
		REAL(fclose)(f);
		errno = ENOMEM;
		return EOF;
	}
	return REAL(fclose)(f);
}

int rmdir(const char *path)
{
	return accident("rmdir") ? -1 : REAL(rmdir)(path);
}

int bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	return accident("bpf_map_update_batch") ? -ENOMEM : REAL(bpf_map_update_batch)(fd, keys, values, count, opts);
}

/* "fail pods 1": the first entry of the map of pods. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);

	if (!bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, "pods") && accident("pods"))
		return -ENOMEM;
	return REAL(bpf_map_update_elem)(fd, key, value, flags);
}

int bpf_tc_detach(const struct bpf_tc_hook *hook, const struct bpf_tc_opts *opts)
{
	return accident("bpf_tc_detach") ? -ENOMEM : REAL(bpf_tc_detach)(hook, opts);
}

int bpf_tc_attach(const struct bpf_tc_hook *hook, struct bpf_tc_opts *opts)
{
	return accident("bpf_tc_attach") ? -ENOMEM : REAL(bpf_tc_attach)(hook, opts);
}

int bpf_link_create(int prog_fd, int target_fd, enum bpf_attach_type type, const struct bpf_link_create_opts *opts)
{
	return accident("bpf_link_create") ? -ENOMEM : REAL(bpf_link_create)(prog_fd, target_fd, type, opts);
}

struct bpf_link *bpf_map__attach_struct_ops(const struct bpf_map *map)
{
	return accident("bpf_map__attach_struct_ops") ? NULL : REAL(bpf_map__attach_struct_ops)(map);
}

struct bpf_link *bpf_program__attach_iter(const struct bpf_program *prog, const struct bpf_iter_attach_opts *opts)
{
	return accident("bpf_program__attach_iter") ? NULL : REAL(bpf_program__attach_iter)(prog, opts);
}

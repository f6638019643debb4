// SPDX-License-Identifier: GPL-2.0-only
/*
 * One call of a daemon to the kernel fails: LD_PRELOAD=fault.so FAULT_PLAN=FILE FAULT_LOG=FILE.
 *
 *  1. A daemon's life has phases, which are told by what it says to the service manager: `start` up to READY, `reload` from
 *     RELOADING to READY, `stop` from STOPPING on; in between `idle`. --detach says nothing: all of it is `start`.
 *  2. FAULT_PLAN has one line, "PHASE N": the N-th call of that phase fails; N = 0: none, and each call is written to
 *     FAULT_LOG as "PHASE N KIND DETAIL". The plan is read when a phase begins, so one daemon serves for many reloads.
 *     The injected failures are written there in any case.
 *  3. libbpf calls bpf() by syscall(2). Calls that glibc makes by itself (in fopen, getifaddrs, glob) fail with the function as a whole.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *phase = "start";
static unsigned int calls, wanted;
static int counting, planned, read_once;

static void plan_read(void)
{
	char line[64] = "", name[16] = "";
	int fd = REAL(open)(getenv("FAULT_PLAN") ?: "", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (REAL(read)(fd, line, sizeof(line) - 1) < 0)
			line[0] = 0;
		close(fd);
	}
	calls = wanted = 0;
	planned = sscanf(line, "%15s %u", name, &wanted) == 2 && !strcmp(name, phase);
	counting = planned && !wanted;
	read_once = 1;
}

static void phase_begin(const char *name)
{
	pthread_mutex_lock(&lock);
	phase = name;
	plan_read();
	pthread_mutex_unlock(&lock);
}

static void call_log(const char *kind, const char *detail)
{
	char line[320];
	int n = snprintf(line, sizeof(line), "%s %u %s %.200s\n", phase, calls, kind, detail);
	int fd = REAL(open)(getenv("FAULT_LOG") ?: "", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && REAL(write)(fd, line, n) != n)
		abort();
	if (fd >= 0)
		close(fd);
}

/* Is this the call that is to fail? */
static int fault(const char *kind, const char *detail, int error)
{
	int saved = errno, due;

	pthread_mutex_lock(&lock);
	if (!read_once)
		plan_read();
	calls++;
	due = planned && calls == wanted;
	if (counting || due)
		call_log(kind, detail ?: "-");
	pthread_mutex_unlock(&lock);
	errno = due ? error : saved;
	return due;
}

int sd_notifyf(int unset, const char *format, ...)
{
	static int (*notify)(int, const char *);
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (!strncmp(text, "RELOADING=1", 11))
		phase_begin("reload");
	if (!strncmp(text, "READY=1", 7))
		phase_begin("idle");
	notify = (__typeof__(notify))dlsym(RTLD_NEXT, "sd_notify");
	return notify(unset, text);
}

int sd_notify(int unset, const char *text)
{
	int (*notify)(int, const char *) = (__typeof__(notify))dlsym(RTLD_NEXT, "sd_notify");

	if (!strncmp(text, "STOPPING=1", 10))
		phase_begin("stop");
	return notify(unset, text);
}

/* --- bpf --- */

static long bpf_really(int cmd, union bpf_attr *attr)
{
	return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* The kind of a BPF object, and its name if it has one: "map flows". */
static void object_describe(int fd, char *text, size_t size)
{
	union {
		struct bpf_map_info map;
		struct bpf_prog_info prog;
	} info = {};
	union bpf_attr attr = { .info = { .bpf_fd = fd, .info_len = sizeof(info.map), .info = (unsigned long)&info } };
	char path[64], kind[64] = "";
	const char *name = "";
	int saved = errno;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, kind, sizeof(kind) - 1) < 0)
		strcpy(kind, "-");
	if (!strcmp(kind, "anon_inode:bpf-map") && !bpf_really(BPF_OBJ_GET_INFO_BY_FD, &attr))
		name = info.map.name;
	attr.info.info_len = sizeof(info.prog);
	if (!strcmp(kind, "anon_inode:bpf-prog") && !bpf_really(BPF_OBJ_GET_INFO_BY_FD, &attr))
		name = info.prog.name;
	snprintf(text, size, "%s %.15s", strrchr(kind, '-') ? strrchr(kind, '-') + 1 : kind, name);
	errno = saved;
}

/* Whose file descriptor a command is about; -1: of none. */
static int bpf_object(int cmd, const union bpf_attr *attr)
{
	switch (cmd) {
	case BPF_MAP_LOOKUP_ELEM:
	case BPF_MAP_UPDATE_ELEM:
	case BPF_MAP_DELETE_ELEM:
	case BPF_MAP_GET_NEXT_KEY:
	case BPF_MAP_FREEZE:
		return attr->map_fd;
	case BPF_MAP_LOOKUP_BATCH:
	case BPF_MAP_UPDATE_BATCH:
		return attr->batch.map_fd;
	case BPF_OBJ_GET_INFO_BY_FD:
		return attr->info.bpf_fd;
	default:
		return -1;
	}
}

static void bpf_describe(int cmd, const union bpf_attr *attr, char *text, size_t size)
{
	static const char *const names[] = {
		[BPF_MAP_CREATE] = "map_create",	 [BPF_MAP_LOOKUP_ELEM] = "map_lookup",
		[BPF_MAP_UPDATE_ELEM] = "map_update",	 [BPF_MAP_DELETE_ELEM] = "map_delete",
		[BPF_MAP_GET_NEXT_KEY] = "map_next",	 [BPF_PROG_LOAD] = "prog_load",
		[BPF_OBJ_PIN] = "obj_pin",		 [BPF_OBJ_GET] = "obj_get",
		[BPF_PROG_GET_NEXT_ID] = "prog_next_id", [BPF_MAP_GET_NEXT_ID] = "map_next_id",
		[BPF_PROG_GET_FD_BY_ID] = "prog_by_id",	 [BPF_MAP_GET_FD_BY_ID] = "map_by_id",
		[BPF_OBJ_GET_INFO_BY_FD] = "info",	 [BPF_BTF_LOAD] = "btf_load",
		[BPF_BTF_GET_FD_BY_ID] = "btf_by_id",	 [BPF_MAP_LOOKUP_BATCH] = "map_lookup_batch",
		[BPF_MAP_FREEZE] = "map_freeze",	 [BPF_MAP_UPDATE_BATCH] = "map_update_batch",
		[BPF_LINK_CREATE] = "link_create",	 [BPF_RAW_TRACEPOINT_OPEN] = "tracepoint_open",
		[BPF_ITER_CREATE] = "iter_create",	 [BPF_PROG_BIND_MAP] = "prog_bind_map",
	};
	const char *name = (size_t)cmd < sizeof(names) / sizeof(names[0]) ? names[cmd] : NULL;
	int fd = bpf_object(cmd, attr);
	char object[48];

	if (name && fd >= 0) {
		object_describe(fd, object, sizeof(object));
		snprintf(text, size, "%s %s", name, object);
	} else if (cmd == BPF_MAP_CREATE)
{
		snprintf(text, size, "%s %.15s", name, attr->map_name);
	} else if (cmd == BPF_PROG_LOAD) {
		snprintf(text, size, "%s %.15s", name, attr->prog_name);
	} else if (cmd == BPF_OBJ_PIN || cmd == BPF_OBJ_GET) {
		snprintf(text, size, "%s %.100s", name, (const char *)(uintptr_t)attr->pathname);
	} else if (name) {
		snprintf(text, size, "%s", name);
	} else {
		snprintf(text, size, "command %d", cmd);
	}
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (__typeof__(real))dlsym(RTLD_NEXT, "syscall"), a[6];
	char detail[160];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_bpf) {
		bpf_describe(a[0], (const union bpf_attr *)a[1], detail, sizeof(detail));
		if (fault("bpf", detail, ENOMEM))
			return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --- sockets --- */

static int is_netlink(int fd)
{
	int domain = 0, saved = errno;
	socklen_t len = sizeof(domain);

	if (REAL(getsockopt)(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len))
		errno = saved;
	return domain == AF_NETLINK;
}

static int fault_of_message(const char *kind, int fd, const void *data, size_t size)
{
	char detail[64];

	snprintf(detail, sizeof(detail), "other");
	if (is_netlink(fd))
		snprintf(detail, sizeof(detail), "netlink type %u",
			 data && size >= sizeof(struct nlmsghdr) ? ((const struct nlmsghdr *)data)->nlmsg_type : 0);
	return fault(kind, detail, ENOBUFS);
}

int socket(int domain, int type, int protocol)
{
	char detail[32];

	snprintf(detail, sizeof(detail), "family %d", domain);
	return fault("socket", detail, EMFILE) ? -1 : REAL(socket)(domain, type, protocol);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	return fault_of_message("send", fd, data, size) ? -1 : REAL(send)(fd, data, size, flags);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len)
{
	return fault_of_message("sendto", fd, data, size) ? -1 : REAL(sendto)(fd, data, size, flags, to, len);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (fault_of_message("sendmsg", fd, m->msg_iovlen ? m->msg_iov->iov_base : NULL, m->msg_iovlen ? m->msg_iov->iov_len : 0))
		return -1;
	return REAL(sendmsg)(fd, m, flags);
}

ssize_t recv(int fd, void *data, size_t size, int flags)
{
	return fault_of_message("recv", fd, NULL, 0) ? -1 : REAL(recv)(fd, data, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	return fault_of_message("recvmsg", fd, NULL, 0) ? -1 : REAL(recvmsg)(fd, m, flags);
}

/* FAIL(RESULT TYPE, NAME, (PARAMETERS), (ARGUMENTS), DETAIL, ERRNO, FAILURE) */
#define FAIL(type, name, parameters, arguments, detail, error, failure)                            \
	type name parameters                                                                       \
	{                                                                                          \
		return fault(#name, detail, error) ? failure : REAL(name) arguments;               \
	}

FAIL(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), is_netlink(fd) ? "netlink" : "other", EADDRINUSE, -1)
FAIL(int, getsockopt, (int fd, int l, int o, void *v, socklen_t *n), (fd, l, o, v, n), is_netlink(fd) ? "netlink" : "other", ENOPROTOOPT, -1)
FAIL(int, setsockopt, (int fd, int l, int o, const void *v, socklen_t n), (fd, l, o, v, n), is_netlink(fd) ? "netlink" : "other", ENOPROTOOPT, -1)
FAIL(int, listen, (int fd, int n), (fd, n), NULL, EADDRINUSE, -1)
FAIL(int, getifaddrs, (struct ifaddrs **list), (list), NULL, ENOMEM, -1)
FAIL(struct if_nameindex *, if_nameindex, (void), (), NULL, ENOBUFS, NULL)

int ioctl(int fd, unsigned long request, ...)
{
	char detail[32];
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	snprintf(detail, sizeof(detail), "%#lx", request);
	return fault("ioctl", detail, ENODEV) ? -1 : REAL(ioctl)(fd, request, arg);
}

/* --- files --- */

#define FAIL_OPEN(name)                                                                            \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = va_arg(ap, mode_t);                                                         \
		va_end(ap);                                                                        \
		return fault("open", path, EMFILE) ? -1 : REAL(name)(path, flags, mode);           \
	}
FAIL_OPEN(open)
FAIL_OPEN(open64)
FAIL(FILE *, fopen, (const char *path, const char *mode), (path, mode), path, EMFILE, NULL)
FAIL(FILE *, fopen64, (const char *path, const char *mode), (path, mode), path, EMFILE, NULL)
FAIL(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM, NULL)
FAIL(DIR *, opendir, (const char *path), (path), path, EMFILE, NULL)
FAIL(int, mkdir, (const char *path, mode_t mode), (path, mode), path, ENOSPC, -1)
FAIL(int, rmdir, (const char *path), (path), path, EPERM, -1)
FAIL(int, unlink, (const char *path), (path), path, EPERM, -1)
FAIL(int, rename, (const char *from, const char *to), (from, to), from, EIO, -1)
FAIL(int, statfs, (const char *path, struct statfs *s), (path, s), path, EIO, -1)
FAIL(int, stat, (const char *path, struct stat *s), (path, s), path, EIO, -1)
FAIL(int, fstat, (int fd, struct stat *s), (fd, s), NULL, EIO, -1)
FAIL(int, access, (const char *path, int mode), (path, mode), path, EIO, -1)
FAIL(char *, realpath, (const char *path, char *to), (path, to), path, EIO, NULL)
FAIL(int, flock, (int fd, int operation), (fd, operation), NULL, ENOLCK, -1)
FAIL(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from), (at, n, prot, flags, fd, from), NULL, ENOMEM, MAP_FAILED)

/* --- waiting --- */

FAIL(int, epoll_create1, (int flags), (flags), NULL, EMFILE, -1)
FAIL(int, epoll_ctl, (int at, int op, int fd, struct epoll_event *e), (at, op, fd, e), NULL, ENOSPC, -1)
FAIL(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), NULL, EMFILE, -1)
FAIL(int, timerfd_create, (int clock, int flags), (clock, flags), NULL, EMFILE, -1)
FAIL(int, timerfd_settime, (int fd, int flags, const struct itimerspec *t, struct itimerspec *old), (fd, flags, t, old), NULL, EINVAL, -1)

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return fault("pthread_create", NULL, EAGAIN) ? EAGAIN : REAL(pthread_create)(t, attr, fn, arg);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Our programs at tcx.
 *
 *  1. Ours is the first: a program in front of it may end the chain, as those of Cilium do, and ours would see nothing.
 *     One that comes later, and asks for that place, gets it (watch.c).
 *  2. Linux takes a link off an interface that is deleted, and leaves its pin: such a link is attached to nothing.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attach/hook/tcx.h"
#include "attach/prog/kernel.h"
#include "lib/util.h"

/* Of <linux/bpf.h> in Linux 6.6; the headers and libbpf of a build machine may be older. */
#define TCX_AT_INGRESS 46   /* BPF_TCX_INGRESS */
#define TCX_AT_EGRESS 47    /* BPF_TCX_EGRESS */
#define TCX_LINK 11	    /* BPF_LINK_TYPE_TCX */
#define TCX_FIRST (1U << 3) /* BPF_F_BEFORE, without naming another */
#define TCX_PIN_PREFIX "tcx_"
#define TCX_PATH 512

/* The beginning of struct bpf_link_info, as of a link at tcx. */
struct tcx_info {
	__u32 type, id, prog_id, pad;
	__u32 ifindex; /* 0: the interface is gone */
	__u32 place;   /* TCX_AT_* */
};

int kernel_tcx(void)
{
	static int has = -1; /* asked for each pod; reading the kernel's BTF takes time */

	if (has < 0)
		has = kernel_btf_has("tcx_link", BTF_KIND_STRUCT);
	return has;
}

int kernel_has_tcx(void)
{
	return kernel_tcx() > 0;
}

static enum bpf_attach_type tcx_place(enum bpf_tc_attach_point where)
{
	return (enum bpf_attach_type)(where == BPF_TC_EGRESS ? TCX_AT_EGRESS : TCX_AT_INGRESS);
}

static void tcx_path(char *path, const char *dir, __u32 ifindex, enum bpf_tc_attach_point where)
{
	snprintf(path, TCX_PATH, "%s/" TCX_PIN_PREFIX "%u_%s", dir, ifindex,
		 where == BPF_TC_EGRESS ? "egress" : "ingress");
}

int tcx_pin_is(const char *name)
{
	return !strncmp(name, TCX_PIN_PREFIX, strlen(TCX_PIN_PREFIX));
}

int tcx_programs(__u32 ifindex, enum bpf_tc_attach_point where, __u32 *ids)
{
	__u32 n = TCX_PROGRAMS_MAX, flags = 0;

	return bpf_prog_query(ifindex, tcx_place(where), 0, &flags, ids, &n) ? 0 : n;
}

/* Opens a pinned link, attached or not; the fd, or -errno. */
static int tcx_open_path(const char *path, struct tcx_info *info)
{
	__u32 len = sizeof(*info);
	int fd = bpf_obj_get(path), err = 0;

	memset(info, 0, sizeof(*info));
	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, info, &len))
		err = -errno;
	else if (info->type != TCX_LINK)
		err = -EBADF;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int tcx_open(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where, struct tcx_info *info)
{
	char path[TCX_PATH];

	tcx_path(path, dir, ifindex, where);
	return tcx_open_path(path, info);
}

/* Whether a link is attached to the interface, and in this network namespace: another may have the same ifindex. */
static int tcx_is_attached(const struct tcx_info *info, __u32 ifindex, enum bpf_tc_attach_point where)
{
	__u32 ids[TCX_PROGRAMS_MAX];
	int n = info->ifindex == ifindex ? tcx_programs(ifindex, where, ids) : 0;

	while (n-- > 0)
		if (ids[n] == info->prog_id)
			return 1;
	return 0;
}

int tcx_find(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where, __u32 *prog_id)
{
	struct tcx_info info;
	int fd = tcx_open(dir, ifindex, where, &info);

	if (fd < 0)
		return fd;
	close(fd);
	if (!tcx_is_attached(&info, ifindex, where))
		return -ENOENT;
	*prog_id = info.prog_id;
	return 0;
}

/* Makes a link and its pin. If the daemon dies in between, the kernel detaches the program. */
static int tcx_make(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where, int prog_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_FIRST);
	int fd = bpf_link_create(prog_fd, ifindex, tcx_place(where), &opts), err;
	char path[TCX_PATH];

	if (fd < 0)
		return -errno;
	tcx_path(path, dir, ifindex, where);
	err = bpf_obj_pin(fd, path) ? -errno : 0;
	close(fd);
	return err;
}

int tcx_set(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where, int prog_fd)
{
	struct tcx_info info;
	int fd = tcx_open(dir, ifindex, where, &info), err;

	if (fd < 0)
		return fd == -ENOENT ? tcx_make(dir, ifindex, where, prog_fd) : fd;
	if (tcx_is_attached(&info, ifindex, where)) {
		err = bpf_link_update(fd, prog_fd, NULL) ? -errno : 0;
		close(fd);
		return err;
	}
	close(fd);
	return tcx_remove(dir, ifindex, where) ?: tcx_make(dir, ifindex, where, prog_fd);
}

int tcx_remove(const char *dir, __u32 ifindex, enum bpf_tc_attach_point where)
{
	struct tcx_info info;
	int fd = tcx_open(dir, ifindex, where, &info), err;
	char path[TCX_PATH];

	if (fd == -ENOENT)
		return 0;
	/* Somebody may hold the link. An interface that is gone has lost it already. */
	if (fd >= 0) {
		bpf_link_detach(fd);
		close(fd);
	}
	tcx_path(path, dir, ifindex, where);
	if (!unlink(path))
		return 0;
	err = -errno;
	msg("%s: removing the tcx link: %s: it stays; run 'rm %s'", path, strerror(-err), path);
	return err;
}

int tcx_dead_remove(const char *dir)
{
	struct tcx_info info;
	char path[TCX_PATH];
	struct dirent *e;
	DIR *d = opendir(dir);
	int fd, n = 0;

	if (!d && errno != ENOENT)
		msg("%s: %s: links of interfaces that are gone may stay there", dir, strerror(errno));
	while (d && (e = readdir(d))) {
		if (!tcx_pin_is(e->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", dir, e->d_name);
		fd = tcx_open_path(path, &info);
		if (fd < 0)
			continue;
		close(fd);
		n += !info.ifindex && !unlink(path);
	}
	if (d)
		closedir(d);
	return n;
}

int tcx_detach(__u32 prog_id)
{
	struct tcx_info info;
	__u32 id = 0, len;
	int fd, err = 0;

	while (!err && !bpf_link_get_next_id(id, &id)) {
		fd = bpf_link_get_fd_by_id(id);
		if (fd < 0)
			continue;
		len = sizeof(info);
		memset(&info, 0, len);
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == TCX_LINK && info.prog_id == prog_id &&
		    bpf_link_detach(fd))
			err = -errno;
		close(fd);
	}
	if (err)
		msg("program %u: detaching its tcx link %u: %s: it stays; run 'bpftool link detach id %u'", prog_id, id,
		    strerror(-err), id);
	return err;
}

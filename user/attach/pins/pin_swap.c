// SPDX-License-Identifier: GPL-2.0-only
/* Pins of another version: read, swapped for this one's, and removed. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach/hook/tcx.h"
#include "attach/hook/xdp.h"
#include "attach/pins/leftover.h"
#include "attach/pins/pin_swap.h"
#include "attach/prog/bpf_id.h"
#include "lib/bpffs.h"
#include "lib/layout.h"
#include "lib/net.h"
#include "lib/pins.h"
#include "sluice.skel.h"

/* --- pins --- */

const char *const pin_names[] = {
#define ADOPT_NAME(name) #name,
	PINS(ADOPT_NAME)
#undef ADOPT_NAME
		"backlog_enqueue",
	"backlog_dequeue",
	"class_enqueue",
	"class_dequeue",
	"pfc_enqueue",
	"pfc_dequeue",
	"layout",
	"daemon",
};

static int pin_is_ours(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(pin_names) / sizeof(pin_names[0]); i++)
		if (!strcmp(name, pin_names[i]))
			return 1;
	return !strcmp(name, "tcp_cc");
}

/* Calls fn with every name in dir; 0, also if there is no dir, or -errno with a message. */
static int dir_each(const char *dir, void (*fn)(const char *name, void *ctx), void *ctx)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int err;

	if (!d && errno == ENOENT)
		return 0;
	if (!d) {
		err = -errno;
		msg("%s: reading the directory: %s: the pins of another version in it stay", dir, strerror(-err));
		return err;
	}
	while ((e = readdir(d)))
		if (*e->d_name != '.')
			fn(e->d_name, ctx);
	closedir(d);
	return 0;
}

static void entry_unlink(const char *name, void *dir)
{
	char path[ADOPT_PATH];

	pin_path(path, sizeof(path), dir, name);
	if (unlink(path))
		msg("%s: removing the pin: %s: remove it", path, strerror(errno));
}

void dir_remove(const char *pin_dir, const char *name)
{
	char path[ADOPT_DIR];

	pin_path(path, sizeof(path), pin_dir, name);
	dir_each(path, entry_unlink, path);
	if (rmdir(path) && errno != ENOENT)
		msg("%s: removing the directory: %s: remove it", path, strerror(errno));
}

int pin_get(const char *dir, const char *name)
{
	char path[ADOPT_PATH];

	pin_path(path, sizeof(path), dir, name);
	return bpf_obj_get(path);
}

struct btf *adopt_layout_read(const char *dir)
{
	int fd = pin_get(dir, "layout");
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0;
	struct btf *btf = NULL;
	void *data = NULL;
	int err;

	if (fd < 0)
		return NULL;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		data = malloc(info.value_size);
	if (data && !bpf_map_lookup_elem(fd, &zero, data))
		btf = btf__new(data, info.value_size);
	err = errno;
	free(data);
	close(fd);
	errno = err;
	return btf;
}

int adopt_layout_pin(const struct bpf_object *obj, const char *dir)
{
	struct btf *btf;
	const void *data;
	__u32 bytes, zero = 0;
	char path[ADOPT_PATH];
	int fd, err;

	pin_path(path, sizeof(path), dir, "layout");
	if (!access(path, F_OK)) /* another of the same ABI */
		return 0;
	btf = layout_published(bpf_object__btf(obj));
	data = btf ? btf__raw_data(btf, &bytes) : NULL;
	fd = data ? bpf_map_create(BPF_MAP_TYPE_ARRAY, "layout", sizeof(zero), bytes, 1, NULL) : -ENOMEM;
	err = fd < 0 ? fd : bpf_map_update_elem(fd, &zero, data, BPF_ANY) || bpf_obj_pin(fd, path) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	return err;
}

/* Another version may have had other pins, too; pins that are not Sluice's stay. */
struct pins_of {
	const char *dir, *to; /* to: where they move; NULL: they are removed */
	struct btf *btf;
};

static void foreign_remove(const char *name, void *ctx)
{
	const struct pins_of *p = ctx;
	char path[ADOPT_PATH], to[ADOPT_PATH];

	if (pin_is_ours(name) || !layout_knows(p->btf, name))
		return;
	pin_path(path, sizeof(path), p->dir, name);
	pin_path(to, sizeof(to), p->to ?: "", name);
	if (p->to ? rename(path, to) : unlink(path))
		msg("%s: %s: remove it: it is of another version", path, strerror(errno));
}

/* --- from one to the other --- */

struct swap {
	char dir[ADOPT_DIR], new[ADOPT_DIR], old[ADOPT_DIR];
	int err;
};

static void pin_swap(const char *name, struct swap *s)
{
	char at[ADOPT_PATH], from[ADOPT_PATH], to[ADOPT_PATH];

	pin_path(at, sizeof(at), s->dir, name);
	pin_path(from, sizeof(from), s->new, name);
	pin_path(to, sizeof(to), s->old, name);
	if ((rename(at, to) && errno != ENOENT) || rename(from, at)) {
		s->err = -errno;
		msg("%s: taking the place of the other version's: %s", at, strerror(errno));
	}
}

static void entry_swap(const char *name, void *ctx)
{
	if (strcmp(name, "control"))
		pin_swap(name, ctx);
}

int pins_swap(const char *pin_dir)
{
	struct swap s = {};
	struct pins_of p = { .dir = pin_dir, .to = s.old };
	char control[ADOPT_PATH];
	int err;

	snprintf(s.dir, sizeof(s.dir), "%s", pin_dir);
	pin_path(s.new, sizeof(s.new), pin_dir, "new");
	pin_path(s.old, sizeof(s.old), pin_dir, "old");
	if (mkdir(s.old, 0700) && errno != EEXIST)
		return -errno;
	err = dir_each(s.new, entry_swap, &s);
	s.err = s.err ?: err;
	pin_path(control, sizeof(control), s.new, "control");
	if (!s.err && !access(control, F_OK))
		pin_swap("control", &s);
	if (s.err)
		return s.err;
	p.btf = adopt_layout_read(s.old);
	if (p.btf)
		dir_each(pin_dir, foreign_remove, &p);
	btf__free(p.btf);
	return rmdir(s.new) && errno != ENOENT ? -errno : 0;
}

void old_xdp_remove(const char *pin_dir)
{
	struct leftover l = {};
	char old[ADOPT_DIR];
	int fd;

	pin_path(old, sizeof(old), pin_dir, "old");
	fd = pin_get(old, "stats");
	if (fd < 0) {
		if (errno != ENOENT)
			msg("%s/stats: %s: XDP programs of the other version are not looked for: see 'xdp-loader status' and 'xdp-loader unload'",
			    old, strerror(errno));
		return;
	}
	l.stats_id = map_id(fd);
	links_each(leftover_xdp_remove, &l);
	xdp_forget(0, l.stats_id);
	close(fd);
}

void old_retire(const char *pin_dir)
{
	const struct btf_member *m;
	struct bpf_map_info info = {};
	__u32 len = sizeof(info), zero = 0, key, value, one = 1;
	struct btf *btf;
	char old[ADOPT_DIR];
	char *entry;
	int fd;

	pin_path(old, sizeof(old), pin_dir, "old");
	if (access(old, F_OK)) {
		if (errno != ENOENT)
			msg("%s: %s: the pins that an upgrade left there stay: remove them", old, strerror(errno));
		return;
	}
	btf = adopt_layout_read(old);
	fd = pin_get(old, "control");
	m = btf && fd >= 0 && !layout_map(btf, "control", &key, &value) ? layout_member(btf, value, "bypass") : NULL;
	entry = m && !bpf_obj_get_info_by_fd(fd, &info, &len) ? malloc(info.value_size) : NULL;
	if (entry && m->offset / 8 + sizeof(one) <= info.value_size && !bpf_map_lookup_elem(fd, &zero, entry)) {
		memcpy(entry + m->offset / 8, &one, sizeof(one));
		bpf_map_update_elem(fd, &zero, entry, BPF_ANY);
	}
	free(entry);
	if (fd >= 0)
		close(fd);
	btf__free(btf);
	dir_remove(pin_dir, "old");
}

/* Removes the pins in dir of a version that left its layout in `where`. */
static void foreign_pins_remove(const char *dir, const char *where)
{
	struct pins_of p = { .dir = dir, .btf = adopt_layout_read(where) };

	if (!p.btf && errno != ENOENT)
		msg("%s/layout: %s: pins of another version are not looked for", where, strerror(errno));
	if (p.btf)
		dir_each(dir, foreign_remove, &p);
	btf__free(p.btf);
}

static void tcx_unlink(const char *name, void *dir)
{
	if (tcx_pin_is(name))
		entry_unlink(name, dir);
}

void adopt_pins_remove(const char *dir)
{
	static const char *const half_way[] = { "next", "new", "old" };
	char path[ADOPT_PATH], where[ADOPT_DIR];
	unsigned int i;

	/* Between two versions pins of both are in dir; those still to be swapped show which. */
	foreign_pins_remove(dir, dir);
	for (i = 0; i < sizeof(half_way) / sizeof(half_way[0]); i++) {
		pin_path(where, sizeof(where), dir, half_way[i]);
		foreign_pins_remove(dir, where);
	}
	dir_remove(dir, "next");
	dir_remove(dir, "new");
	old_retire(dir);
	dir_each(dir, tcx_unlink, (void *)dir);
	for (i = 0; i < sizeof(pin_names) / sizeof(pin_names[0]); i++) {
		pin_path(path, sizeof(path), dir, pin_names[i]);
		if (unlink(path) && errno != ENOENT)
			msg("%s: removing the pin: %s: remove it", path, strerror(errno));
	}
	if (rmdir(dir) && errno != ENOENT && errno != ENOTEMPTY) /* pins that are not Sluice's stay */
		msg("%s: removing the directory: %s: it stays, empty", dir, strerror(errno));
}

int adopt_recover(const char *pin_dir)
{
	char path[ADOPT_PATH];
	int err = 0;

	dir_remove(pin_dir, "next");
	pin_path(path, sizeof(path), pin_dir, "new");
	if (!access(path, F_OK) || errno != ENOENT)
		err = pins_swap(pin_dir);
	if (err)
		msg("%s: an upgrade that was interrupted cannot be completed: %s", pin_dir, strerror(-err));
	else
		old_xdp_remove(pin_dir);
	return err;
}

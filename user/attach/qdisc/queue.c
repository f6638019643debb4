// SPDX-License-Identifier: GPL-2.0-only
/*
 * The qdisc `sluice`: registered under that name, for `tc qdisc replace dev X root sluice`, if this build and this
 * kernel support it. Nothing else depends on it.
 *
 *  1. A name is registered once on a machine: by the first daemon, in its pin directory; others use it.
 *  2. It stays registered when the daemon ends, however it ends, and qdiscs continue. An existing qdisc keeps the code
 *     that it was made with, even when the name is gone or belongs to another version.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/kernel.h"
#include "attach/prog/load.h"
#include "attach/prog/queue_shared.h"
#include "attach/prog/struct_ops.h"
#include "attach/qdisc/qdisc_room.h"
#include "attach/qdisc/queue.h"
#include "lib/bpffs.h"
#include "lib/util.h"
#include "sluice.skel.h"
#include "sluice/queue/queue.h"
#include "sluice_queue.skel.h"

static const char *const queue_pins[] = { "queue_ops",	"queue_limits", "queues",      "queue_flows",
					  "queue_voqs", "queue_pauses", "queue_ports", "queue_classes" };
#define QUEUE_PINS (sizeof(queue_pins) / sizeof(queue_pins[0]))

static int queue_pin_get(const char *pin_dir, const char *name)
{
	char path[512];
	int fd;

	pin_path(path, sizeof(path), pin_dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0 && errno != ENOENT)
		msg("%s: %s: the qdisc that is pinned there is left as it is", path, strerror(errno));
	return fd;
}

static void queue_pins_remove(const char *pin_dir)
{
	char path[512];
	unsigned int i;

	for (i = 0; i < QUEUE_PINS; i++) {
		pin_path(path, sizeof(path), pin_dir, queue_pins[i]);
		if (unlink(path) && errno != ENOENT)
			msg("%s: removing the pin: %s: remove it", path, strerror(errno));
	}
}

/* Frees the name; existing qdiscs stay. */
void queue_unregister(const char *pin_dir)
{
	int fd = queue_pin_get(pin_dir, "queue_ops"), queues = queue_pin_get(pin_dir, "queues");
	__u32 zero = 0;
	__u64 key;

	if (fd >= 0 && bpf_map_delete_elem(fd, &zero) && errno != ENOENT && errno != EINPROGRESS)
		msg("qdisc 'sluice': taking the name away: %s: it stays until the machine is booted", strerror(errno));
	if (fd >= 0 && queues >= 0 && !bpf_map_get_next_key(queues, NULL, &key))
		msg("qdisc 'sluice': no longer registered; interfaces that have it keep it: see 'tc qdisc show'");
	if (fd >= 0)
		close(fd);
	if (queues >= 0)
		close(queues);
	queue_pins_remove(pin_dir);
}

#ifdef SLUICE_QUEUE_LEFT_OUT

int queue_is_possible(void)
{
	return 0;
}

int queue_try(char *why, size_t size)
{
	snprintf(why, size, "left out of this build, which had no clang 16 or newer");
	return -EOPNOTSUPP;
}

void queue_register(struct qdisc_room *room)
{
	queue_try(room->why, sizeof(room->why));
}

#else

/* 0, or -errno and the reason. */
static int kernel_has_qdiscs(char *why, size_t size)
{
	int has = kernel_btf_has("bpf_struct_ops_Qdisc_ops", BTF_KIND_STRUCT);

	if (has > 0 && kernel_btf_has("bpf_list_front", BTF_KIND_FUNC) > 0)
		return 0;
	snprintf(why, size, "%s",
		 has < 0 ? "this kernel has no BTF" :
			   "this kernel has no qdiscs in BPF (Linux 6.16 and newer with CONFIG_NET_SCH_BPF=y)");
	return has < 0 ? has : -EOPNOTSUPP;
}

int queue_is_possible(void)
{
	char why[128];

	return !kernel_has_qdiscs(why, sizeof(why));
}

/* The loaded object with its limits. shared: has the maps that it shares, NULL: its own. NULL: why has the reason. */
static struct sluice_queue_bpf *queue_load(struct sluice_bpf *shared, char *why, size_t size)
{
	struct queue_limits limits = QUEUE_LIMITS_PRESET;
	struct sluice_queue_bpf *s;
	__u32 zero = 0;
	int err;

	libbpf_init();
	s = sluice_queue_bpf__open();
	err = s ? 0 : -errno;
	if (!err && shared)
		err = queue_maps_take(s->obj, shared);
	err = err ?: sluice_queue_bpf__load(s);
	if (!err && bpf_map_update_elem(bpf_map__fd(s->maps.queue_limits), &zero, &limits, BPF_ANY))
		err = -errno;
	if (!err)
		return s;
	snprintf(why, size, "it does not load: %s (--verbose shows the verifier's words)", strerror(-err));
	sluice_queue_bpf__destroy(s);
	errno = -err;
	return NULL;
}

int queue_try(char *why, size_t size)
{
	struct sluice_queue_bpf *s;
	int err = kernel_has_qdiscs(why, size);

	if (err)
		return err;
	s = queue_load(NULL, why, size);
	if (!s)
		return -errno;
	sluice_queue_bpf__destroy(s);
	return 0;
}

/* Whether it is pinned there, by this version, and registered. */
static int queue_is_kept(const char *pin_dir)
{
	int fd = queue_pin_get(pin_dir, "queue_ops"), limits = queue_pin_get(pin_dir, "queue_limits");
	struct queue_limits l = {};
	__u32 zero = 0;
	int kept = fd >= 0 && limits >= 0 && !bpf_map_lookup_elem(limits, &zero, &l) && l.version == QUEUE_VERSION &&
		   struct_ops_is_used(fd, "sluice");

	if (fd >= 0)
		close(fd);
	if (limits >= 0)
		close(limits);
	return kept;
}

static int queue_pin(struct sluice_queue_bpf *s, const char *pin_dir)
{
	struct bpf_map *map;
	char path[512];
	unsigned int i;
	int err;

	for (i = 0; i < QUEUE_PINS; i++) {
		map = bpf_object__find_map_by_name(s->obj, queue_pins[i]);
		pin_path(path, sizeof(path), pin_dir, queue_pins[i]);
		err = map ? bpf_map__pin(map, path) : -ENOENT;
		if (err)
			return err;
	}
	return 0;
}

/* Pinned before it is registered: without a pin it could not be removed. */
void queue_register(struct qdisc_room *room)
{
	struct sluice_queue_bpf *s;
	struct bpf_link *link;
	char *why = room->why;
	int err;

	*why = 0;
	if (kernel_has_qdiscs(why, sizeof(room->why)) || queue_is_kept(room->pin_dir))
		return;
	queue_unregister(room->pin_dir);
	if (struct_ops_find("queue_ops", "sluice")) {
		msg_debug("qdisc 'sluice': another daemon has registered it");
		return;
	}
	s = queue_load(room->skel, why, sizeof(room->why));
	if (!s) {
		msg("qdisc 'sluice': %s; fq and all else are as they were", why);
		return;
	}
	err = queue_pin(s, room->pin_dir);
	link = err ? NULL : bpf_map__attach_struct_ops(s->maps.queue_ops);
	if (link) {
		/* It stays registered when the daemon ends; only deleting the map's element removes it. */
		bpf_link__disconnect(link);
		bpf_link__destroy(link);
		room->is_new = 1;
		msg_info(
			"qdisc 'sluice': registered: 'queue: sluice', or 'tc qdisc replace dev ... root sluice', takes it");
	} else {
		err = err ?: -errno;
		if (err == -EEXIST) {
			msg_debug("qdisc 'sluice': another daemon has registered it");
		} else {
			snprintf(why, sizeof(room->why), "registering it: %s", strerror(-err));
			msg("qdisc 'sluice': %s; fq and all else are as they were", why);
		}
		queue_pins_remove(room->pin_dir);
	}
	sluice_queue_bpf__destroy(s);
}

#endif

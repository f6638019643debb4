// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF programs that a configuration and this kernel want, loaded over pinned or new maps.
 *
 *  1. They come in sets (dataplane_int.h), with the wings that the configuration uses (abi/control.h): the verifier
 *     removes the code of the others, which is most of it. A start loads its sets in one object; a reload that needs
 *     more sets, or its sets with more wings, loads these in another one, over the same maps, and attaches its programs.
 *     None is unloaded before the end.
 *  2. The verifier takes a second of a CPU or more, so loading gives way to all other work.
 *  3. Maps that only the programs of a host, and its congestion control, use have 63 MB. Without either they have room
 *     for one entry. A reload that adds a host makes them anew, with the programs that it loads, as none that runs has
 *     them.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "attach/advice.h"
#include "attach/attached.h"
#include "attach/dataplane.h"
#include "attach/dataplane_int.h"
#include "attach/state/state.h"
#include "lib/bpffs.h"
#include "lib/layout.h"
#include "sluice.skel.h"

static char libbpf_reason[512];

/*
 * libbpf is verbose; its messages are logged one level lower. The verifier's first error, the line before its summary,
 * is kept as the reason when a load fails.
 */
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text, *line, *rest, *before = "";

	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		msg_debug("%s", line);
		if (!strncmp(line, "processed ", 10) && !libbpf_reason[0])
			snprintf(libbpf_reason, sizeof(libbpf_reason), "%.511s", before);
		before = line;
	}
	free(text);
	return 0;
}

void libbpf_init(void)
{
	libbpf_set_print(libbpf_print);
}

#define SETS_ALL (SET_BIT(SET_N) - 1)

unsigned int sets_wanted(const struct config *c)
{
	unsigned int sets = c->node.uplink ? SET_BIT(SET_PODS) | SET_BIT(SET_BACKLOG) : 0;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		if (i->role == PORT_F_HOST)
			sets |= SET_BIT(SET_HOST);
		else
			sets |= SET_BIT(SET_SWITCH) | SET_BIT(SET_BACKLOG);
		if (i->voqs == PORT_F_VOQ_UP)
			sets |= SET_BIT(SET_VOQS);
		if (i->classes_count && i->queue != CONFIG_QUEUE_SLUICE)
			sets |= SET_BIT(SET_CLASSES);
		if (i->pfc && i->role == PORT_F_SWITCH)
			sets |= SET_BIT(SET_PFC);
	}
	return sets;
}

static __u8 wings_wanted(const struct config *c)
{
	unsigned int k;
	__u8 wings = 0;

	for (k = 0; k < c->interfaces_count; k++) {
		if (c->interfaces[k].pfc)
			wings |= WING_PAUSES;
		if (c->interfaces[k].voqs)
			wings |= WING_RACKS;
	}
	for (k = 0; k < c->peers_count; k++)
		if (c->peers[k].hiercc)
			wings |= WING_RACKS;
	return wings;
}

/* Of these sets those that have to be loaded to have all wings, too. */
static unsigned int sets_missing(const struct dataplane *dp, unsigned int sets, __u8 wings)
{
	const unsigned int winged = SET_BIT(SET_HOST) | SET_BIT(SET_SWITCH) | SET_BIT(SET_VOQS);
	unsigned int i;

	for (i = 0; i < SET_N; i++)
		if (dp->of[i] && (!(winged & SET_BIT(i)) || !(wings & ~dp->of[i]->rodata->wings)))
			sets &= ~SET_BIT(i);
	return sets;
}

/*
 * Gives cc_event the member that this kernel calls when a socket begins to send. libbpf finds the members of a struct_ops
 * by name, and until 1.5 refuses those that the kernel lacks, so it is one or the other: the object's own type gets
 * the name that a flavour of it has.
 */
static int cc_event_place(struct bpf_object *obj)
{
	const struct btf *kernel = kernel_btf(), *own = bpf_object__btf(obj);
	const struct btf_member *wanted;
	struct btf_member *m;
	int id = btf__find_by_name_kind(own, "tcp_congestion_ops___tx_start", BTF_KIND_STRUCT);
	int ops = btf__find_by_name_kind(own, "tcp_congestion_ops", BTF_KIND_STRUCT), at, err;

	if (!kernel) {
		err = -errno;
		msg("/sys/kernel/btf/vmlinux: %s", strerror(-err));
		return err;
	}
	at = btf__find_by_name_kind(kernel, "tcp_congestion_ops", BTF_KIND_STRUCT);
	wanted = id > 0 ? btf_members(btf__type_by_id(own, id)) : NULL;
	m = ops > 0 ? (struct btf_member *)layout_member(own, ops, "cwnd_event") : NULL;
	if (wanted && m && at > 0 && layout_member(kernel, at, btf__name_by_offset(own, wanted->name_off)))
		m->name_off = wanted->name_off;
	return 0;
}

/* Disables the programs that this kernel or this run does not want. */
static int programs_choose(struct sluice_bpf *s, unsigned int sets, int want_cc)
{
	int kfunc = kernel_has_kfunc();
	const struct {
		struct bpf_program *prog;
		unsigned int sets;
		int wanted;
	} all[] = {
		{ s->progs.egress, SET_BIT(SET_HOST), 1 },
		{ s->progs.ingress, SET_BIT(SET_HOST), 1 },
		{ s->progs.hop, SET_BIT(SET_SWITCH), kfunc },
		{ s->progs.hop_map, SET_BIT(SET_SWITCH), !kfunc },
		{ s->progs.tor, SET_BIT(SET_VOQS), 1 },
		{ s->progs.pod_hop, SET_BIT(SET_PODS), 1 },
		{ s->progs.backlog_enqueue, SET_BIT(SET_BACKLOG), !kfunc },
		{ s->progs.backlog_dequeue, SET_BIT(SET_BACKLOG), !kfunc },
		{ s->progs.class_enqueue, SET_BIT(SET_CLASSES), 1 },
		{ s->progs.class_dequeue, SET_BIT(SET_CLASSES), 1 },
		{ s->progs.pfc, SET_BIT(SET_PFC), 1 },
		{ s->progs.pfc_enqueue, SET_BIT(SET_PFC), 1 },
		{ s->progs.pfc_dequeue, SET_BIT(SET_PFC), 1 },
		{ s->progs.cc_init, ~0, want_cc },
		{ s->progs.cc_release, ~0, want_cc },
		{ s->progs.cc_event, ~0, want_cc },
		{ s->progs.cc_segments, ~0, want_cc },
		{ s->progs.cc_control, ~0, want_cc },
		{ s->progs.cc_ssthresh, ~0, want_cc },
		{ s->progs.cc_undo_cwnd, ~0, want_cc },
		{ s->progs.cc_move, ~0, want_cc },
	};
	unsigned int i;

	if (kfunc < 0) {
		msg("this kernel has no BTF (/sys/kernel/btf/vmlinux): Sluice needs one with CONFIG_DEBUG_INFO_BTF=y, as Debian's and Ubuntu's have it");
		return -EOPNOTSUPP;
	}
	s->rodata->qdisc_kfuncs = kfunc;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		bpf_program__set_autoload(all[i].prog, all[i].wanted && all[i].sets & sets);
	if (!want_cc)
		return bpf_map__set_autocreate(s->maps.tcp_cc, false);
	return cc_event_place(s->obj);
}

/* --- maps of a host --- */

static const char *const host_map_names[] = { "flows", "rx_states", "hosts", "asked", "syn_offers", "wanted" };
#define HOST_MAPS (sizeof(host_map_names) / sizeof(host_map_names[0]))

/* The room that a host needs; flows and their rx_states have as many as the configuration says. */
static __u32 room_wanted(const struct bpf_map *map, const struct config *c)
{
	const char *name = bpf_map__name(map);

	return !strcmp(name, "flows") || !strcmp(name, "rx_states") ? c->max_flows : bpf_map__max_entries(map);
}

int host_maps_are_used(const struct config *c)
{
	return sets_wanted(c) & SET_BIT(SET_HOST) || c->tcp.name;
}

__u32 map_entries(int fd, const char *name)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		return info.max_entries;
	msg("%s: asking how large the map is: %s: assuming the size in the configuration", name, strerror(errno));
	return 0;
}

/* The same for a pin; 0 also if there is none. */
static __u32 pin_entries(const char *dir, const char *name)
{
	char path[512];
	__u32 has;
	int fd;

	pin_path(path, sizeof(path), dir, name);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		if (errno != ENOENT)
			msg("%s: %s: assuming the size in the configuration", path, strerror(errno));
		return 0;
	}
	has = map_entries(fd, name);
	close(fd);
	return has;
}

__u32 room_kept(__u32 has, __u32 wanted, const char *key)
{
	if (has && has != wanted)
		msg("%s stays %u: its map is in use; stop sluiced or detach to change it", key, has);
	return has ?: wanted;
}

/* One that is pinned keeps its size, unless it is that of an earlier daemon that had no host: then it is made anew. */
static __u32 host_map_room(struct dataplane *dp, const struct bpf_map *map, __u32 room, int used)
{
	__u32 has = bpf_map__pin_path(map) ? pin_entries(dp->pin_dir, bpf_map__name(map)) : 0;
	char path[512];

	if (!has || has == room)
		return room;
	if (!used)
		return has;
	if (has > 1)
		return room_kept(has, room, "max_flows");
	if (dp->adopt) /* the other version's pin goes with its maps */
		return room;
	pin_path(path, sizeof(path), dp->pin_dir, bpf_map__name(map));
	if (unlink(path)) {
		msg("%s: %s: it stays as small as without a host", path, strerror(errno));
		return has;
	}
	dp->lost = !dp->fresh;
	return room;
}

/* The maps that have as many entries as flows. */
static int flow_maps_size(struct sluice_bpf *s, __u32 room)
{
	return bpf_map__set_max_entries(s->maps.rx_states, room) ?: bpf_map__set_max_entries(s->maps.flow_paths, room);
}

/* Before the programs are loaded: their sizes. */
static int host_maps_size(struct dataplane *dp, const struct config *c)
{
	int used = host_maps_are_used(c), err = 0;
	struct bpf_map *map;
	unsigned int i;
	__u32 room;

	for (i = 0; i < HOST_MAPS && !err; i++) {
		map = bpf_object__find_map_by_name(dp->skel->obj, host_map_names[i]);
		if (!map)
			continue;
		room = host_map_room(dp, map, used ? room_wanted(map, c) : 1, used);
		err = bpf_map__set_max_entries(map, room);
	}
	room = bpf_map__max_entries(dp->skel->maps.flows);
	return err ?: flow_maps_size(dp->skel, room);
}

/* Whether a map of a new object is one of these that is to be made anew, as the one in use has room for one entry. */
static int host_map_is_small(const struct bpf_map *map, const struct bpf_map *in_use)
{
	unsigned int i;

	for (i = 0; i < HOST_MAPS && strcmp(bpf_map__name(map), host_map_names[i]); i++)
		;
	return i < HOST_MAPS && map_entries(bpf_map__fd(in_use), host_map_names[i]) == 1 &&
	       bpf_map__max_entries(map) > 1;
}

/* The sizes in the object that a reload loads. */
static int host_maps_grow(struct sluice_bpf *s, const struct config *c)
{
	return bpf_map__set_max_entries(s->maps.flows, c->max_flows) ?: flow_maps_size(s, c->max_flows);
}

/* The file descriptor of a pinned map; -1: it is none. */
static int pins_fd(const struct pins *p, const char *name)
{
#define PINS_NAMED(pin)          \
	if (!strcmp(name, #pin)) \
		return p->pin;
	PINS(PINS_NAMED)
#undef PINS_NAMED
	return -1;
}

/* A map takes the place of a small one: its pin, and the file descriptors by which everybody here knows that. */
static int host_map_replace(struct dataplane *dp, const struct bpf_map *map, int in_use, int pin)
{
	char path[512], next[520];
	int fd = bpf_map__fd(map);

	if (pin >= 0) {
		pin_path(path, sizeof(path), dp->pin_dir, bpf_map__name(map));
		snprintf(next, sizeof(next), "%s_next", path);
		if (bpf_obj_pin(fd, next))
			return -errno;
		if (rename(next, path)) {
			unlink(next);
			return -errno;
		}
		dup3(fd, pin, O_CLOEXEC);
	}
	return dup3(fd, in_use, O_CLOEXEC) < 0 ? -errno : 0;
}

/* When that is loaded, its maps take the place of the small ones. */
static int host_maps_take(struct dataplane *dp)
{
	const struct sluice_bpf *s = dp->of[SET_HOST] ?: dp->skel;
	const struct bpf_map *map, *in_use;
	unsigned int i;
	int err = 0;

	for (i = 0; i < HOST_MAPS && !err && s != dp->skel; i++) {
		map = bpf_object__find_map_by_name(s->obj, host_map_names[i]);
		in_use = bpf_object__find_map_by_name(dp->skel->obj, host_map_names[i]);
		if (!map || !in_use || !host_map_is_small(map, in_use))
			continue;
		err = host_map_replace(dp, map, bpf_map__fd(in_use), pins_fd(&dp->pins, host_map_names[i]));
		if (err)
			msg("%s: a map for a host's flows in place of the small one: %s", host_map_names[i],
			    strerror(-err));
	}
	return err;
}

/* --- load --- */

/* Sets the origin and the size of the maps. */
static int maps_prepare(struct dataplane *dp, const struct config *c)
{
	struct sluice_bpf *s = dp->skel;
	char path[512];
	struct bpf_map *map;
	__u32 room;
	int err;

	bpf_object__for_each_map (map, s->obj) {
		const char *name = bpf_map__name(map);

#define DP_IS_PIN(pin) || !strcmp(name, #pin)
		if (!(0 PINS(DP_IS_PIN)))
			continue;
#undef DP_IS_PIN
		snprintf(path, sizeof(path), "%s/%s%s", dp->pin_dir, dp->adopt ? "next/" : "", name);
		err = bpf_map__set_pin_path(map, path);
		if (err)
			return err;
	}
	err = host_maps_size(dp, c);
	room = room_kept(pin_entries(dp->pin_dir, "voqs"), c->hiercc.voqs, "hiercc: voqs");
	if (!err)
		err = bpf_map__set_max_entries(s->maps.voqs, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.arrival_slots, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.arrivals, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.credits, room);
	return err ?: queue_maps_share(s, dp->pin_dir);
}

/* Decides what to load for this configuration. */
static int programs_prepare(struct dataplane *dp, const struct config *c, const struct control *was)
{
	struct sluice_bpf *s = dp->skel;
	int err = programs_choose(s, sets_wanted(c), c->tcp.name && (!was || !cc_is_kept(was, c)));

	if (err)
		return err;
	s->rodata->wire_port = c->port;
	s->rodata->wings = wings_wanted(c);
	if (!was || !was->cc_name[0] || !c->tcp.name)
		return bpf_program__set_autoload(s->progs.cc_move, false);
	memcpy((char *)s->rodata->cc_from, was->cc_name, sizeof(was->cc_name));
	strncpy((char *)s->rodata->cc_to, c->tcp.name, sizeof(s->rodata->cc_to) - 1);
	return 0;
}

const char *const part_names[PARTS_N] = {
	[SET_HOST] = "host",
	[SET_SWITCH] = "switch",
	[SET_VOQS] = "switch as ToR",
	[SET_PODS] = "pods",
	[SET_BACKLOG] = "tracepoints of the backlog",
	[SET_CLASSES] = "classes",
	[SET_PFC] = "pauses",
	[SET_N] = "tcp congestion control",
};

_Static_assert(SET_N + 1 == PARTS_N, "the congestion control is a part beside the sets");

int programs_try(unsigned int part)
{
	unsigned int sets = part == PARTS_N ? SETS_ALL : part < SET_N ? SET_BIT(part) : 0;
	struct sluice_bpf *s;
	int err;

	libbpf_init();
	s = sluice_bpf__open();
	if (!s)
		return -errno;
	err = programs_choose(s, sets, part >= SET_N && kernel_has_tcp_ops() > 0);
	if (!err)
		err = sluice_bpf__load(s);
	sluice_bpf__destroy(s);
	return err;
}

struct loading {
	struct sluice_bpf *s;
	int err;
};

/* The verifier takes a second of a CPU or more, possibly of the only one: the traffic goes first. */
static void *load_behind_others(void *arg)
{
	struct loading *l = arg;

	setpriority(PRIO_PROCESS, gettid(), 10);
	l->err = sluice_bpf__load(l->s);
	return NULL;
}

/* Loads an open object, and notes its sets. Runs in a thread, which may lower its priority, but not raise it again. */
static int sets_load(struct dataplane *dp, struct sluice_bpf *s, unsigned int sets)
{
	struct loading l = { .s = s };
	pthread_t thread;
	unsigned int i;
	int err = -pthread_create(&thread, NULL, load_behind_others, &l);

	if (!err) {
		pthread_join(thread, NULL);
		err = l.err;
	}
	if (err) {
		msg("loading the BPF programs: %s%s%s", load_error(err) ?: strerror(-err), libbpf_reason[0] ? ": " : "",
		    libbpf_reason);
		if (!load_error(err))
			msg("'sluicectl probe' says what this kernel lacks; --verbose shows the verifier's words");
		return err;
	}
	for (i = 0; i < SET_N; i++)
		if (sets & SET_BIT(i))
			dp->of[i] = s;
	return 0;
}

int maps_share(struct bpf_object *to, const struct bpf_object *from, int grow)
{
	struct bpf_map *map, *other;
	int err;

	bpf_object__for_each_map (map, to) {
		other = bpf_object__find_map_by_name(from, bpf_map__name(map));
		if (!other || bpf_map__is_internal(map) || bpf_map__fd(other) < 0 ||
		    (grow && host_map_is_small(map, other)))
			continue;
		err = bpf_map__reuse_fd(map, bpf_map__fd(other));
		if (err)
			return err;
	}
	return 0;
}

int programs_add(struct dataplane *dp, const struct config *c)
{
	__u8 wings = wings_wanted(c);
	unsigned int sets, i;
	struct sluice_bpf *s;
	int err;

	for (i = 0; i < SET_N; i++) /* they only become more, so there is an end to loading */
		if (dp->of[i])
			wings |= dp->of[i]->rodata->wings;
	sets = sets_missing(dp, sets_wanted(c), wings);
	if (!sets)
		return host_maps_take(dp); /* if an earlier reload failed there */
	s = sluice_bpf__open();
	if (!s)
		return -errno;
	s->rodata->wire_port = dp->skel->rodata->wire_port;
	s->rodata->wings = wings;
	err = programs_choose(s, sets, 0)  ?:
		      host_maps_grow(s, c) ?:
					     maps_share(s->obj, dp->skel->obj, sets & SET_BIT(SET_HOST));
	if (!err)
		err = sets_load(dp, s, sets);
	if (err) {
		sluice_bpf__destroy(s);
		return err;
	}
	for (i = 0; dp->more[i]; i++)
		; /* each has a set or a wing that the others lack: there is room */
	dp->more[i] = s;
	return host_maps_take(dp);
}

int programs_open(struct dataplane *dp, const struct config *c)
{
	int err;

	dp->skel = calloc(1, sizeof(*dp->skel));
	if (!dp->skel)
		return -ENOMEM;
	err = sluice_bpf__create_skeleton(dp->skel);
	if (!err && c->tcp.name)
		err = cc_name_set(dp, c->tcp.name);
	if (!err)
		err = bpf_object__open_skeleton(dp->skel->skeleton, NULL);
	return err ?: maps_prepare(dp, c);
}

int programs_load(struct dataplane *dp, const struct config *c, const struct control *was)
{
	return programs_prepare(dp, c, was) ?: sets_load(dp, dp->skel, sets_wanted(c));
}

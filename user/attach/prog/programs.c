// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF programs that a configuration and this kernel want, loaded over pinned or new maps.
 *
 *  1. They come in sets (prog_room.h), with the wings that the configuration uses (abi/control.h): the verifier
 *     removes the code of the others, which is most of it. A start loads its sets in one object; a reload that needs
 *     more sets, or its sets with more wings, loads these in another one, over the same maps, and attaches its programs.
 *     None is unloaded before the end.
 *  2. The verifier takes a second of a CPU or more, so loading gives way to all other work.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "attach/prog/cc.h"
#include "attach/prog/host_maps.h"
#include "attach/prog/kernel.h"
#include "attach/prog/load.h"
#include "attach/prog/prog_room.h"
#include "attach/prog/programs.h"
#include "attach/prog/queue_shared.h"
#include "attach/prog/sets.h"
#include "lib/bpffs.h"
#include "lib/layout.h"
#include "sluice.skel.h"

#define SETS_ALL (SET_BIT(SET_N) - 1)

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

/* --- load --- */

/* Sets the origin and the size of the maps. */
static int maps_prepare(struct prog_room *prog, const struct config *c)
{
	struct sluice_bpf *s = prog->skel;
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
		snprintf(path, sizeof(path), "%s/%s%s", prog->pin_dir, prog->adopting ? "next/" : "", name);
		err = bpf_map__set_pin_path(map, path);
		if (err)
			return err;
	}
	err = host_maps_size(prog, c);
	room = room_kept(pin_entries(prog->pin_dir, "voqs"), c->hiercc.voqs, "hiercc: voqs");
	if (!err)
		err = bpf_map__set_max_entries(s->maps.voqs, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.arrival_slots, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.arrivals, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.credits, room);
	return err ?: queue_maps_share(s, prog->pin_dir);
}

/* Decides what to load for this configuration. */
static int programs_prepare(struct prog_room *prog, const struct config *c, const struct control *was)
{
	struct sluice_bpf *s = prog->skel;
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
static int sets_load(struct prog_room *prog, struct sluice_bpf *s, unsigned int sets)
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
		msg("loading the BPF programs: %s%s%s", load_error(err) ?: strerror(-err), *load_reason() ? ": " : "",
		    load_reason());
		if (!load_error(err))
			msg("'sluicectl probe' says what this kernel lacks; --verbose shows the verifier's words");
		return err;
	}
	for (i = 0; i < SET_N; i++)
		if (sets & SET_BIT(i))
			prog->of[i] = s;
	return 0;
}

int programs_add(struct prog_room *prog, const struct config *c)
{
	__u8 wings = wings_wanted(c);
	unsigned int sets, i;
	struct sluice_bpf *s;
	int err;

	for (i = 0; i < SET_N; i++) /* they only become more, so there is an end to loading */
		if (prog->of[i])
			wings |= prog->of[i]->rodata->wings;
	sets = sets_missing(prog, sets_wanted(c), wings);
	if (!sets)
		return host_maps_take(prog); /* if an earlier reload failed there */
	s = sluice_bpf__open();
	if (!s)
		return -errno;
	s->rodata->wire_port = prog->skel->rodata->wire_port;
	s->rodata->wings = wings;
	err = programs_choose(s, sets, 0)  ?:
		      host_maps_grow(s, c) ?:
					     maps_share(s->obj, prog->skel->obj, sets & SET_BIT(SET_HOST));
	if (!err)
		err = sets_load(prog, s, sets);
	if (err) {
		sluice_bpf__destroy(s);
		return err;
	}
	for (i = 0; prog->more[i]; i++)
		; /* each has a set or a wing that the others lack: there is room */
	prog->more[i] = s;
	return host_maps_take(prog);
}

int programs_open(struct prog_room *prog, const struct config *c)
{
	int err;

	prog->skel = calloc(1, sizeof(*prog->skel));
	if (!prog->skel)
		return -ENOMEM;
	err = sluice_bpf__create_skeleton(prog->skel);
	if (!err && c->tcp.name)
		err = cc_name_set(prog, c->tcp.name);
	if (!err)
		err = bpf_object__open_skeleton(prog->skel->skeleton, NULL);
	return err ?: maps_prepare(prog, c);
}

int programs_load(struct prog_room *prog, const struct config *c, const struct control *was)
{
	return programs_prepare(prog, c, was) ?: sets_load(prog, prog->skel, sets_wanted(c));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl clean: does what `sluiced --detach` does, and removes what that cannot find, because its pins are gone:
 * filters at our place, and links at tcx, whose program has our name, and whose counters are neither pinned nor written by a live daemon.
 * Those of other pin directories stay.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "attach/dataplane.h"
#include "attach/hook/filter.h"
#include "attach/hook/tcx.h"
#include "attach/hook/xdp.h"
#include "attach/pins/leftover.h"
#include "attach/prog/struct_ops.h"
#include "attach/qdisc/queue_root.h"
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"
#include "lib/route.h"

#define CLEAN_LINGER_NS (300 * 1000 * 1000) /* as DP_LINGER_NS: peers switch to plain packets while we still strip */
#define CLEAN_ALIVE_NS (3 * NSEC_PER_SEC)

struct clean {
	struct left_filter *filter;
	unsigned int n;
	int dry, err;
};

static void filter_note(struct clean *c, struct left_filter f, __u32 prog_id)
{
	struct left_filter *list;

	if (left_filter_describe(&f, prog_id))
		return;
	map_owner_find("stats", f.stats_id, f.owner, sizeof(f.owner));
	list = realloc(c->filter, (c->n + 1) * sizeof(f));
	if (!list) {
		c->err = -ENOMEM;
		return;
	}
	c->filter = list;
	c->filter[c->n++] = f;
}

static void filters_note(struct clean *c, __u32 ifindex, enum bpf_tc_attach_point where)
{
	__u32 id, ids[TCX_PROGRAMS_MAX];
	int n = tcx_programs(ifindex, where, ids), i;

	if (!clsact_filter_find(ifindex, where, &id))
		filter_note(c, (struct left_filter){ .ifindex = ifindex, .where = where }, id);
	for (i = 0; i < n; i++)
		filter_note(c, (struct left_filter){ .ifindex = ifindex, .where = where, .tcx_prog = ids[i] }, ids[i]);
}

static void filters_find(__u32 ifindex, void *ctx)
{
	filters_note(ctx, ifindex, BPF_TC_EGRESS);
	filters_note(ctx, ifindex, BPF_TC_INGRESS);
}

static int filter_take_off(const struct left_filter *f)
{
	return f->tcx_prog ? tcx_detach(f->tcx_prog) : clsact_filter_remove(f->ifindex, f->where);
}

static int filter_is_left(const struct left_filter *f)
{
	return now_ns() >= f->heartbeat_ns + CLEAN_ALIVE_NS && !*f->owner;
}

static void clean_report(struct clean *c, const char *object, const char *detail, int removed)
{
	if (!out_json)
		printf("%-14s %s: %s\n", !removed ? "stays" : c->dry ? "would go" : "removed", object, detail);
	out_object(NULL);
	out_string("object", object);
	out_string("detail", detail);
	out_bool("removed", removed && !c->dry);
	out_bool("would_be_removed", removed && c->dry);
	out_end();
}

static void clean_filters_report(struct clean *c)
{
	char object[64], detail[320], name[IFNAMSIZ];
	const struct left_filter *f;
	int mine;

	for (f = c->filter; f < c->filter + c->n; f++) {
		mine = !strcmp(f->owner, show_pin_dir);
		snprintf(object, sizeof(object), "%s %s", if_indextoname(f->ifindex, name) ?: "?",
			 f->where == BPF_TC_EGRESS ? "egress" : "ingress");
		snprintf(detail, sizeof(detail), "%s with program %s%s%s%s", f->tcx_prog ? "tcx link" : "filter",
			 f->program,
			 *f->owner	   ? " of " :
			 filter_is_left(f) ? ", pinned nowhere and without a daemon" :
					     " of a sluiced that runs",
			 f->owner,
			 mine	   ? "" :
			 *f->owner ? " (--pin-dir)" :
				     "");
		clean_report(c, object, detail, mine || filter_is_left(f));
	}
}

/* In the order of a detach: programs that add telemetry first, programs that strip it last. */
static void clean_left(struct clean *c)
{
	const struct timespec linger = { 0, CLEAN_LINGER_NS };
	struct left_filter *f, *end = c->filter + c->n;
	int removed = 0;

	for (f = c->filter; f < end; f++)
		if (filter_is_left(f) && f->where == BPF_TC_EGRESS)
			removed |= !filter_take_off(f);
	if (removed)
		nanosleep(&linger, NULL);
	for (f = c->filter; f < end; f++) {
		if (!filter_is_left(f) || f->where != BPF_TC_INGRESS)
			continue;
		xdp_remove(f->ifindex, f->stats_id);
		xdp_forget(0, f->stats_id);
		filter_take_off(f);
		route_remove_ours(f->ifindex);
		removed = 1;
	}
	if (removed)
		msg("clsact qdiscs, the default congestion control and PFC of NICs stay, for who made them so is not known: see 'tc qdisc show clsact', 'dcb pfc show dev ...' and 'sysctl net.ipv4.tcp_congestion_control'; set the last to another if it names Sluice's, for new connections would have the one that is gone");
}

/* Whether a daemon or a pin directory has filters at the interface, and so knows what was there before. */
static int is_owned(const struct clean *c, __u32 ifindex)
{
	const struct left_filter *f;

	for (f = c->filter; f < c->filter + c->n; f++)
		if (f->ifindex == ifindex && !filter_is_left(f))
			return 1;
	return 0;
}

/* Our root qdisc. The qdiscs that the pins know are put back already; else the kernel's default comes back. */
static void clean_queue(__u32 ifindex, void *ctx)
{
	char object[64], name[IFNAMSIZ] = "?",
			 detail[96] = "'sluice', which nobody looks after; the kernel's default comes back";
	struct clean *c = ctx;
	int err;

	if (!queue_is_left(ifindex) || is_owned(c, ifindex))
		return;
	if_indextoname(ifindex, name);
	snprintf(object, sizeof(object), "%s qdisc", name);
	err = c->dry ? 0 : qdisc_root_delete(ifindex);
	if (err)
		snprintf(detail, sizeof(detail), "%s: run 'tc qdisc del dev %s root'", strerror(-err), name);
	clean_report(c, object, detail, !err);
}

/* A congestion control of ours that is not pinned: its owner is unknown, so it is only reported. */
static void clean_cc_report(struct clean *c)
{
	char detail[160], object[64], dir[128];
	__u32 id = 0;

	while (!bpf_map_get_next_id(id, &id)) {
		if (!struct_ops_is_ours(id, NULL))
			continue;
		if (map_owner_find("tcp_cc", id, dir, sizeof(dir)))
			continue;
		snprintf(object, sizeof(object), "struct_ops %u", id);
		snprintf(
			detail, sizeof(detail),
			"a congestion control that is pinned nowhere; if no container's sluiced has it: bpftool struct_ops unregister id %u",
			id);
		clean_report(c, object, detail, 0);
	}
}

/* Whether a process holds the lock of the pin directory. */
static int pin_dir_is_used(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), used;

	if (fd < 0)
		return 0;
	used = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return used;
}

static int clean_run(struct clean *c)
{
	const char *dir = show_pin_dir;
	int pins = !access(dir, F_OK), err = EXIT_DONE;

	if (pin_dir_is_used(dir)) {
		msg("%s: a sluiced is running there: stop it (SIGTERM), which removes everything by itself", dir);
		return EXIT_FAILED;
	}
	links_each(filters_find, c);
	if (c->err) {
		msg("looking for filters: %s", strerror(-c->err));
		return EXIT_FAILED;
	}
	if (!c->dry && pins)
		err = dataplane_detach_dir(dir);
	if (err)
		return err;
	if (!c->dry)
		clean_left(c);
	if (pins)
		clean_report(c, dir, "pins, and by them routes, congestion control, tracepoints, XDP", 1);
	clean_filters_report(c);
	links_each(clean_queue, c);
	clean_cc_report(c);
	return EXIT_DONE;
}

int cmd_clean(int argc, char **argv)
{
	struct clean c = { .dry = argc == 2 && !strcmp(argv[1], "--dry-run") };
	char caps[96];
	int err;

	if (argc > 1 && !c.dry) {
		msg("clean takes only --dry-run (says what would go, and changes nothing)");
		return EXIT_USAGE;
	}
	/* Only CAP_SYS_ADMIN can look at attached programs. */
	libbpf_set_print(NULL); /* a missing clsact is expected */
	caps_missing(caps, sizeof(caps), CAPS_LOAD | 1ULL << CAP_SYS_ADMIN);
	if (*caps) {
		msg("clean needs %s: run it as root", caps);
		return EXIT_FAILED;
	}
	out_array(NULL);
	err = clean_run(&c);
	free(c.filter);
	if (err) {
		out_drop();
		return err;
	}
	return out_done();
}

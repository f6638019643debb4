// SPDX-License-Identifier: GPL-2.0-only
/*
 * From configuration to attached programs, and back.
 *
 * prog/ loads programs and maps, pins/ keeps, adopts and finds them, hook/ attaches programs to an interface, qdisc/ has
 * the root qdisc, net/ peers and routes. port/ leads each interface through them, and this file all.
 *
 *  1. The pin directory is the state that survives the daemon: maps, the struct_ops map, and (before Linux 6.2, with
 *     ports that stamp) the tracepoint links. State that cannot be derived from the kernel is in the control and ports
 *     maps: who made the clsact qdisc, which default congestion control there was.
 *  2. The struct_ops map of an earlier daemon is kept under its name: it reads the same pinned maps. That of another
 *     version (pins/adopt.c) is replaced.
 *  3. A peer, or an interface, that is no longer configured goes in two steps, so that no wrapped packet arrives
 *     unstripped: it leaves (the programs fall silent and continue to strip), and is removed when the other side must
 *     have noticed. The maps record that it leaves: the next daemon completes the work of one that died.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "attach/dataplane.h"
#include "attach/lifetime.h"
#include "attach/linger.h"
#include "attach/net/peers.h"
#include "attach/net/routes.h"
#include "attach/pins/adopt.h"
#include "attach/pins/pin_dir.h"
#include "attach/pins/pin_swap.h"
#include "attach/pins/restore.h"
#include "attach/port/nic.h"
#include "attach/port/pods.h"
#include "attach/port/ports.h"
#include "attach/port/watch.h"
#include "attach/prog/cc.h"
#include "attach/prog/control.h"
#include "attach/prog/host_maps.h"
#include "attach/prog/kernel.h"
#include "attach/prog/programs.h"
#include "attach/qdisc/queue.h"
#include "attach/qdisc/queue_apply.h"
#include "attach/state/between.h"
#include "attach/state/state.h"
#include "sluice.skel.h"

static int exit_code(int err, int undone)
{
	if (!err)
		return EXIT_DONE;
	if (err == -EOPNOTSUPP)
		return EXIT_UNSUPPORTED;
	return undone ? EXIT_ROLLED_BACK : EXIT_FAILED;
}

/* Opens the maps that an earlier daemon left in the pin directory; dp->prog.fresh: there are none. */
static int earlier_open(struct dataplane *dp, const struct config *c)
{
	int err = adopt_recover(c->pin_dir);

	if (err) {
		msg("%s: run 'sluiced --detach --pin-dir %s', and start it again", c->pin_dir, c->pin_dir);
		return err;
	}
	err = pins_restore(c->pin_dir, c);
	if (err) {
		msg("what the earlier daemon attached stays as it was");
		return err;
	}
	err = pins_open(c->pin_dir, &dp->pins);
	if (err == -ENOENT) {
		err = pins_open_some(c->pin_dir, &dp->pins);
		dp->prog.lost = !err;
	}
	if (err == -EPROTO) {
		err = adopt_open(&dp->pin);
		if (err)
			return err;
	}
	/* Only a missing pin is a reason to start afresh: running programs may hold maps that cannot be opened. */
	if (err && err != -ENOENT) {
		msg("%s: opening the maps: %s: what the earlier daemon attached stays as it was", c->pin_dir,
		    strerror(-err));
		return err;
	}
	dp->prog.fresh = err != 0;
	if (!dp->prog.fresh && !dp->pin.adopt)
		msg_info("adopting the maps in %s", c->pin_dir);
	return 0;
}

/* Opens the maps of the programs that were just loaded, with the control map filled in. */
static int maps_open(struct dataplane *dp, const struct config *c)
{
	struct control ctl = { .abi = SLUICE_ABI, .mode = c->mode };
	__u32 zero = 0;
	int err = 0;

	if (dp->prog.lost) { /* missing maps were made with the programs */
		pins_close(&dp->pins);
		err = pins_open(c->pin_dir, &dp->pins);
	}
	/* The abi is written before anyone may read. */
	if (dp->prog.fresh) {
		err = bpf_map_update_elem(bpf_map__fd(dp->prog.skel->maps.control), &zero, &ctl, BPF_ANY) ? -errno : 0;
		err = err ?: pins_open(c->pin_dir, &dp->pins);
	}
	if (!err && dp->pin.adopt)
		err = adopt_fill(&dp->pin, dp->prog.skel, &dp->pins);
	else if (!err)
		err = adopt_layout_pin(dp->prog.skel->obj, c->pin_dir);
	if (err)
		msg("%s: opening the maps: %s", c->pin_dir, strerror(-err));
	return err;
}

int dataplane_load(const struct config *c, struct dataplane **out)
{
	struct dataplane *dp = dataplane_new();
	const struct control *was;
	int err, locked = 0;

	if (!dp) {
		msg("%s: nothing is left attached", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	dp->linger_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (dp->linger_fd < 0) {
		err = -errno;
		msg("a timer: %s", strerror(-err));
		goto close;
	}
	err = pin_dir_lock(&dp->pin, c->pin_dir);
	if (err)
		goto close;
	locked = 1;
	err = earlier_open(dp, c);
	if (err)
		goto close;
	dp->prog.adopting = !!dp->pin.adopt;
	err = programs_open(&dp->prog, c);
	dp->qdisc.skel = dp->prog.skel;
	if (!err && dp->pin.adopt)
		err = adopt_plan(&dp->pin, dp->prog.skel->obj);
	was = dp->prog.fresh ? NULL : dp->pin.adopt ? adopt_control(&dp->pin) : dp->pins.ctl;
	err = err ?: programs_load(&dp->prog, c, was) ?: maps_open(dp, c);
	if (err)
		return dataplane_undo(dp, err);
	*out = dp;
	return EXIT_DONE;
close:
	if (locked)
		rmdir(c->pin_dir); /* fails while there is something in it */
	dataplane_close(dp);
	return exit_code(err, 0);
}

int dataplane_attach(struct dataplane *dp, struct config *c)
{
	int err;

	queue_register(&dp->qdisc);
	if (!dp->prog.fresh)
		ports_name(dp, c, 1);
	err = ports_check(dp, c);
	/* A data plane of an earlier daemon is not given up because somebody changed a route meanwhile. */
	if (!err && dp->prog.fresh)
		err = routes_check(&dp->routes, c);
	err = err ?: queues_check(&dp->qdisc, c);
	err = err ?: keys_apply(&dp->prog, c) ?: peers_apply(&dp->pins, c);
	if (!err && dp->pin.adopt)
		err = adopt_commit(&dp->pin, dp->pins.ctl);
	/* Another version's continues until the programs are replaced, which waits for RCU. */
	if (!err && !dp->pin.adopt)
		err = cc_register(&dp->prog, c);
	if (!err)
		err = ports_apply(dp, c, dp->prog.fresh);
	if (!err && dp->pin.adopt)
		err = cc_register(&dp->prog, c);
	if (!err)
		err = cc_default_apply(&dp->prog, c);
	if (!err)
		pods_follow(dp, c);
	routes_forget(&dp->routes);
	return err;
}

void dataplane_commit(struct dataplane *dp, const struct config *c)
{
	kernel_btf_free();
	epoch_next(&dp->prog, c);
	linger_begin(dp);
	if (!dp->prog.running) {
		adopt_finish(&dp->pin);
		adopt_close(&dp->pin);
		dp->prog.running = 1;
	}
}

int dataplane_undo(struct dataplane *dp, int err)
{
	if (dp->prog.fresh) {
		if (dataplane_detach(dp))
			return exit_code(err, 0);
		msg("nothing is left attached");
		return exit_code(err, 1);
	}
	if (adopt_is_committed(&dp->pin))
		msg("the maps are this version's now; what was not replaced goes on by itself: start this version again, or the other");
	else
		msg("what the earlier daemon attached stays as it was");
	rmdir(dp->pin.dir); /* fails while there is something in it */
	dataplane_close(dp);
	return exit_code(err, 0);
}

int dataplane_prepare(struct dataplane *dp, struct config *c)
{
	int err;

	ports_name(dp, c, 1);
	err = nic_check(&dp->pins, c) ?: ports_check(dp, c) ?: queues_check(&dp->qdisc, c);
	err = err ?: routes_check(&dp->routes, c);
	routes_forget(&dp->routes);
	return err ?: programs_add(&dp->prog, c);
}

/* After SIGHUP an administrator expects every message, even one that was printed a moment ago. */
static void limits_forget(struct dataplane *dp)
{
	unsigned int i;

	dp->routes.limit.next_ns = dp->port.pod_limit.next_ns = dp->port.limit.next_ns = 0;
	dp->port.put_back.since_ns = dp->port.put_back.next_ns = 0;
	dp->prog.cc_back_ns = 0;
	dp->prog.cc_others[0] = 0;
	for (i = 0; i < HTB_VERDICTS; i++)
		dp->port.htb_limit[i].next_ns = 0;
}

int dataplane_reload(struct dataplane *dp, struct config *c)
{
	int err;

	limits_forget(dp);
	err = keys_apply(&dp->prog, c);
	if (!err)
		err = peers_apply(&dp->pins, c);
	if (host_maps_are_used(c))
		room_kept(map_entries(dp->pins.flows, "flows"), c->max_flows, "max_flows");
	room_kept(map_entries(dp->pins.voqs, "voqs"), c->hiercc.voqs, "hiercc: voqs");
	if (!err)
		err = ports_apply(dp, c, 0);
	err = cc_default_apply(&dp->prog, c) ?: err; /* the mode changes in any case */
	routes_forget(&dp->routes);
	pods_forget(dp);
	pods_follow(dp, c);
	return err;
}

int dataplane_peer_changed(struct dataplane *dp, const struct config *c, const struct config_peer *p)
{
	int err = peer_set(&dp->pins, c, p);

	if (err)
		msg("peers: %s: %s: its measured round trip is not published", p->prefix, strerror(-err));
	return err;
}

struct rtts_ctx {
	const struct dataplane *dp;
	__u64 count_ns;
};

static int port_recount(__u32 ifindex, const struct port *port, void *ctx)
{
	const struct rtts_ctx *x = ctx;
	struct port v = *port;

	if (!v.count_ns || v.count_ns == x->count_ns)
		return 0;
	v.count_ns = x->count_ns;
	return bpf_map_update_elem(x->dp->pins.ports, &ifindex, &v, BPF_EXIST) ? -errno : 0;
}

void dataplane_rtts_changed(struct dataplane *dp, const struct config *c)
{
	struct rtts_ctx x = { dp, config_count_ns(c) };
	int err = pins_each_port(&dp->pins, port_recount, &x);

	if (err)
		msg("ports: %s: flows are counted by the base RTT of before", strerror(-err));
	dp->pins.ctl->epoch++; /* and nothing else: knobs stay as sluicectl set them */
}

void dataplane_routes_changed(struct dataplane *dp)
{
	dp->routes_changed = 1;
}

/* Takes up the interfaces that have appeared and match a pattern. */
static void patterns_follow(struct dataplane *dp, struct config *c)
{
	int err = config_follow(c);

	if (err == -ENOSPC)
		msg("interfaces: '%s' matches more interfaces than there is room for: %u, with classes %u, with pfc %u: one that appeared is left alone; write a pattern that matches fewer",
		    c->crowded->pattern, CONFIG_INTERFACES, CONFIG_CLASS_PORTS, CONFIG_PFC_PORTS);
	else if (err)
		msg_limited(
			&dp->port.limit, 60,
			"interfaces: looking for those that a pattern matches: %s: the next change of a link looks again",
			strerror(-err));
}

int dataplane_follow(struct dataplane *dp, struct config *c, const struct between *between)
{
	int changed;

	dp->port.pods_changed = 1;
	pods_watch(dp);
	ports_name(dp, c, 0);
	patterns_follow(dp, c);
	changed = ports_follow(dp, c, between);
	routes_forget(&dp->routes);
	if (changed)
		epoch_next(&dp->prog, c);
	return changed;
}

int dataplane_is_touched(struct dataplane *dp)
{
	return ports_are_touched(dp);
}

void dataplane_beat(struct dataplane *dp, const struct config *c)
{
	__u64 now = now_ns();

	dp->pins.ctl->heartbeat_ns = now;
	pins_watch(&dp->pin);
	/* The tracer was killed. */
	if (dp->pins.ctl->trace_on && now > dp->pins.ctl->trace_until_ns)
		dp->pins.ctl->trace_on = 0;
	seq_base_follow(&dp->prog, c, 0);
}

void dataplane_tick(struct dataplane *dp, const struct config *c)
{
	cc_default_watch(&dp->prog, c);
	if (dp->routes_changed) {
		dp->routes_changed = 0;
		routes_follow(&dp->routes, c);
		dp->port.pods_changed |= !!c->node.uplink;
	}
	if (dp->port.pods_changed) {
		dp->port.pods_changed = 0;
		pods_follow(dp, c);
	}
}

void dataplane_keep(struct dataplane *dp)
{
	pins_keep(&dp->pin);
}

const struct pins *dataplane_pins(const struct dataplane *dp)
{
	return &dp->pins;
}

void dataplane_maps(const struct dataplane *dp, struct dataplane_maps *m)
{
	m->reports = bpf_map__fd(dp->prog.skel->maps.reports);
	m->arrival_news = bpf_map__fd(dp->prog.skel->maps.arrival_news);
	m->rate_asks = bpf_map__fd(dp->prog.skel->maps.rate_asks);
	m->pfc_alarms = bpf_map__fd(dp->prog.skel->maps.pfc_alarms);
	m->rx_states = bpf_map__fd(dp->prog.skel->maps.rx_states);
	m->flow_paths = bpf_map__fd(dp->prog.skel->maps.flow_paths);
	m->flows_room = map_entries(dp->pins.flows, "flows");
}

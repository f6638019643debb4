// SPDX-License-Identifier: GPL-2.0-only
/* Removes everything of ours from the machine, by the maps if readable, else by the attached programs (leftover.c). */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach/dataplane.h"
#include "attach/hook/tcx.h"
#include "attach/hook/xdp.h"
#include "attach/lifetime.h"
#include "attach/linger.h"
#include "attach/net/peers.h"
#include "attach/pins/leftover.h"
#include "attach/pins/pin_dir.h"
#include "attach/pins/pin_swap.h"
#include "attach/pins/restore.h"
#include "attach/port/ports_drop.h"
#include "attach/prog/cc.h"
#include "attach/qdisc/queue.h"
#include "attach/qdisc/queue_apply.h"
#include "attach/state/state.h"
#include "lib/net.h"

int dataplane_detach(struct dataplane *dp)
{
	struct control *ctl = dp->pins.ctl;
	int err = 0;
	struct timespec linger;
	struct leaving l;
	char usual[sizeof(ctl->cc_default)] = "";

	pins_watch(&dp->pin); /* they record what is to be removed, and where the congestion control is */
	if (ctl) {
		memcpy(usual, ctl->cc_default, sizeof(usual));
		if (!ctl->bypass) {
			ctl->bypass = 1;
			linger = timespec_of(linger_ns(dp, &l));
			if (!dp->prog.fresh || ctl->epoch)
				nanosleep(&linger, NULL);
		}
		err = ports_drop(dp, NULL);
		err = cc_restore_default(ctl, "as it was before") ?: err;
		cc_pin_restore(dp->pin.dir, ctl); /* its pin, needed to unregister it, may have been removed */
	}
	err = cc_unregister(dp->pin.dir) ?: err;
	err = queues_apply(&dp->qdisc, NULL) ?: err;
	queue_unregister(dp->pin.dir);
	/* Sockets that still have it get the machine's own, which it was before, with their next ACK. */
	if (ctl && !err) {
		memset(ctl->cc_name, 0, sizeof(ctl->cc_name));
		memcpy(ctl->cc_default, usual, sizeof(usual));
	}
	/* The pins record what is left: another detach removes it. */
	if (err)
		msg("%s: not everything could be removed, so the pins stay: run 'sluiced --detach --pin-dir %s'",
		    dp->pin.dir, dp->pin.dir);
	else
		adopt_pins_remove(dp->pin.dir);
	dataplane_close(dp);
	return err ? EXIT_FAILED : EXIT_DONE;
}

/*
 * Detaches without the layout of the maps. Egress goes first and ingress continues to strip, as with bypass; clsact and
 * the default congestion control stay, because their makers are not known.
 */
static int dataplane_detach_other(struct dataplane *dp, struct leftover *l, const char *what)
{
	const struct timespec linger = timespec_of(DP_LINGER_SILENCES * DP_SILENT_NS);
	int err;

	links_each(leftover_egress_remove, l);
	nanosleep(&linger, NULL);
	links_each(leftover_xdp_remove, l);
	xdp_forget(0, l->stats_id);
	if (l->old_id)
		xdp_forget(0, l->old_id);
	links_each(leftover_ingress_remove, l);
	queues_apply(&dp->qdisc, NULL);
	queue_unregister(dp->pin.dir);
	err = cc_unregister(dp->pin.dir);
	if (err) {
		msg("%s: filters, routes and XDP programs are removed, and the pins stay: run 'sluiced --detach --pin-dir %s' again",
		    dp->pin.dir, dp->pin.dir);
		dataplane_close(dp);
		return EXIT_FAILED;
	}
	adopt_pins_remove(dp->pin.dir);
	msg("%s: was %s: filters of %d interface%s, routes, congestion control and pins are removed; clsact qdiscs, the default congestion control and PFC of NICs stay: see 'tc qdisc show clsact', 'sysctl net.ipv4.tcp_congestion_control' and 'dcb pfc show dev ...'",
	    dp->pin.dir, what, l->interfaces, PLURAL(l->interfaces));
	dataplane_close(dp);
	return EXIT_DONE;
}

/* Whether the interfaces are in another network namespace. The programs of dead links do not count, and go with them. */
static int is_elsewhere(const struct leftover *l, int dead)
{
	const struct timespec step = { 0, 50 * 1000 * 1000 };
	int tries = dead ? 60 : 1;

	while (!l->interfaces && leftover_anywhere(l)) {
		if (--tries == 0)
			return 1;
		nanosleep(&step, NULL);
	}
	return 0;
}

int dataplane_detach_dir(const char *pin_dir)
{
	struct dataplane *dp;
	struct leftover l;
	char caps[96];
	int err, broken, dead;

	if (access(pin_dir, F_OK) && errno == ENOENT) {
		msg("%s: nothing is pinned there", pin_dir);
		return EXIT_DONE;
	}
	if (*caps_missing(caps, sizeof(caps), CAPS_DETACH)) {
		msg("%s: --detach needs %s: run it as root, or give it these capabilities; nothing was changed",
		    pin_dir, caps);
		return EXIT_FAILED;
	}
	dp = dataplane_new();
	if (!dp)
		return EXIT_FAILED;
	err = pin_dir_lock(&dp->pin, pin_dir);
	if (err)
		goto close;
	/* If the maps are neither version's, their counters identify the attached programs. */
	broken = adopt_recover(pin_dir) != 0;
	if (!broken && pins_restore(pin_dir, NULL))
		goto close;
	dead = tcx_dead_remove(pin_dir);
	leftover_find(pin_dir, &l);
	if (is_elsewhere(&l, dead)) {
		msg("%s: its interfaces are in another network namespace: run this there (nsenter --net=/run/netns/NAME, or --net --target PID); nothing was changed",
		    pin_dir);
		goto close;
	}
	if (broken)
		return dataplane_detach_other(dp, &l, "half of another version");
	err = pins_open(pin_dir, &dp->pins);
	if (err == -EPROTO)
		return dataplane_detach_other(dp, &l, "of another version");
	if (err == -ENOENT)
		err = pins_open_some(pin_dir, &dp->pins);
	if (err == -ENOENT && l.interfaces)
		return dataplane_detach_other(dp, &l, "incomplete");
	/* -ENOENT: an incomplete start: only pins to remove */
	if (!err || err == -ENOENT)
		return dataplane_detach(dp);
	msg("%s: %s", pin_dir, strerror(-err));
close:
	dataplane_close(dp);
	return EXIT_FAILED;
}

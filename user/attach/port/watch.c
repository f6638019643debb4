// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of ours that somebody removes: an agent that cleans up, 'tc qdisc del dev eth0 clsact'.
 *
 *  1. The kernel reports changes of clsact and its filters (RTNLGRP_TC), and none of tcx, where the tick looks.
 *  2. They are put back, as routes are: without egress packets leave plain, and without ingress those with
 *     telemetry are lost. If somebody removes it again and again, then not more than PUT_BACK_TIMES in a minute.
 */
#include <bpf/libbpf.h>
#include <string.h>
#include "attach/hook/attached.h"
#include "attach/hook/tcx.h"
#include "attach/port/pods.h"
#include "attach/port/port.h"
#include "attach/port/watch.h"
#include "attach/state/state.h"
#include "lib/maps.h"

#define PUT_BACK_TIMES 5
#define PUT_BACK_NS (60 * NSEC_PER_SEC)
#define ROUND_NS (NSEC_PER_SEC / 2)
#define PODS_TICKS 10 /* a node has many */

static int is_watched(const struct port *port)
{
	return !(port->flags & (PORT_F_LEAVING | PORT_F_LEFT));
}

/* Counts the times in a minute. Whether this one is not too many. */
static int put_back_may(struct dataplane *dp, const char *name, const char *missing)
{
	__u64 now = now_ns();

	if (now < dp->port.put_back.next_ns)
		return 0;
	if (now < dp->port.put_back.last_ns + ROUND_NS) /* of several interfaces at a time */
		return 1;
	dp->port.put_back.last_ns = now;
	if (now > dp->port.put_back.since_ns + PUT_BACK_NS) {
		dp->port.put_back.since_ns = now;
		dp->port.put_back.times = 0;
	}
	if (dp->port.put_back.times++ < PUT_BACK_TIMES)
		return 1;
	dp->port.put_back.next_ns = now + PUT_BACK_NS;
	msg("%s: its programs were removed (%s) again, more than %u times in a minute: the next try is in a minute, or at SIGHUP; find out what removes them: a cleanup agent, or another sluiced",
	    name, missing, PUT_BACK_TIMES);
	return 0;
}

int port_is_touched(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	struct attached a;

	if (!is_watched(port))
		return 0;
	attached_see(&dp->pins, dp->pin.dir, ifindex, port, &a);
	if (!*a.missing || !put_back_may(dp, port->name, a.missing))
		return 0;
	msg("%s: its programs were removed (%s): attaching them again", port->name, a.missing);
	return 1;
}

static int pod_watch(__u32 ifindex, const struct port *port, void *ctx)
{
	struct dataplane *dp = ctx;

	if (!(port->flags & PORT_F_POD) || !port_is_touched(dp, ifindex, port))
		return 0;
	pods_forget(dp);
	dp->port.pods_changed = 1;
	return 0;
}

void pods_watch(struct dataplane *dp)
{
	pins_each_port(&dp->pins, pod_watch, dp);
}

/* Whether the programs of a port at tcx are there. Reports one that came in front of them. */
static int tcx_watch(struct dataplane *dp, unsigned int k, const struct port *port)
{
	enum bpf_tc_attach_point where[] = { BPF_TC_INGRESS, BPF_TC_EGRESS };
	__u32 ifindex = dp->port.known[k].ifindex, ids[TCX_PROGRAMS_MAX], own, i;
	int first = 1;

	for (i = !port_has_ingress(&dp->pins, ifindex, port); i < 2; i++) {
		if (tcx_find(dp->pin.dir, ifindex, where[i], &own) || !tcx_programs(ifindex, where[i], ids))
			return 0;
		first &= ids[0] == own;
	}
	if (!first)
		port_before_watch(dp, k, port);
	else
		dp->port.known[k].before = 0;
	return 1;
}

int ports_are_touched(struct dataplane *dp)
{
	unsigned int k, gone = 0;
	struct port port;

	for (k = 0; k < CONFIG_INTERFACES; k++)
		if (dp->port.known[k].ifindex &&
		    map_find(dp->pins.ports, "ports", &dp->port.known[k].ifindex, &port) > 0 &&
		    port.flags & PORT_F_TCX && is_watched(&port))
			gone += !tcx_watch(dp, k, &port);
	if (dp->port.pods_stamped && dp->port.ticks++ % PODS_TICKS == 0)
		pods_watch(dp);
	return gone && now_ns() >= dp->port.put_back.next_ns;
}

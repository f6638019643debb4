// SPDX-License-Identifier: GPL-2.0-only
/* The time for which leaving peers and interfaces linger. */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "attach/dataplane.h"
#include "attach/linger.h"
#include "attach/net/peers.h"
#include "attach/port/ports_drop.h"
#include "attach/state/state.h"
#include "lib/util.h"

__u64 linger_ns(const struct dataplane *dp, struct leaving *l)
{
	__u64 silent_ns;

	*l = (struct leaving){};
	if (peers_leaving(&dp->pins, l))
		l->peers++; /* an unreadable peer may leave */
	silent_ns = DP_SILENT_RTTS * l->longest_ns;
	return DP_LINGER_SILENCES * (silent_ns > DP_SILENT_NS ? silent_ns : DP_SILENT_NS);
}

struct timespec timespec_of(__u64 ns)
{
	return (struct timespec){ .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };
}

void linger_begin(struct dataplane *dp)
{
	struct itimerspec once = {};
	struct leaving l;

	once.it_value = timespec_of(linger_ns(dp, &l));
	if (!l.peers && !dp->pins.ctl->ports_leaving)
		once.it_value = (struct timespec){};
	if (timerfd_settime(dp->linger_fd, 0, &once, NULL))
		msg("the timer of peers and interfaces that leave: %s: they stay until the next SIGHUP",
		    strerror(errno));
}

int dataplane_linger_fd(const struct dataplane *dp)
{
	return dp->linger_fd;
}

void dataplane_linger(struct dataplane *dp)
{
	__u64 ticks;

	if (read(dp->linger_fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	peers_drop_leaving(&dp->pins);
	ports_leave(dp);
}

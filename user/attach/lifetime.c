// SPDX-License-Identifier: GPL-2.0-only
/* The data plane itself: made empty, and closed with all that its rooms hold. */
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <unistd.h>
#include "attach/hook/xdp.h"
#include "attach/lifetime.h"
#include "attach/pins/adopt.h"
#include "attach/pins/pin_dir.h"
#include "attach/port/pods.h"
#include "attach/prog/load.h"
#include "attach/prog/prog_room.h"
#include "attach/state/state.h"
#include "sluice.skel.h"

struct dataplane *dataplane_new(void)
{
	struct dataplane *dp = calloc(1, sizeof(*dp));

	if (!dp)
		return NULL;
	dp->pin.lock_fd = dp->linger_fd = -1;
	dp->prog.pins = &dp->pins;
	dp->prog.pin_dir = dp->qdisc.pin_dir = dp->pin.dir;
	libbpf_init();
	xdp_init();
	return dp;
}

void dataplane_close(struct dataplane *dp)
{
	unsigned int k;

	if (!dp)
		return;
	pins_release(&dp->pin);
	pins_close(&dp->pins);
	adopt_close(&dp->pin);
	pods_forget(dp);
	for (k = 0; k < RELOADS_MAX && dp->prog.more[k]; k++)
		sluice_bpf__destroy(dp->prog.more[k]);
	if (dp->prog.skel && dp->prog.skel->skeleton)
		sluice_bpf__destroy(dp->prog.skel);
	else
		free(dp->prog.skel);
	free(dp->prog.elf);
	if (dp->linger_fd >= 0)
		close(dp->linger_fd);
	if (dp->pin.lock_fd >= 0)
		close(dp->pin.lock_fd);
	free(dp);
}

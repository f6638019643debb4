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
#include "attach/state/state.h"
#include "sluice.skel.h"

struct dataplane *dataplane_new(void)
{
	struct dataplane *dp = calloc(1, sizeof(*dp));

	if (!dp)
		return NULL;
	dp->lock_fd = dp->linger_fd = -1;
	libbpf_init();
	xdp_init();
	return dp;
}

void dataplane_close(struct dataplane *dp)
{
	unsigned int k;

	if (!dp)
		return;
	pins_release(dp);
	pins_close(&dp->pins);
	adopt_close(dp);
	pods_forget(dp);
	for (k = 0; k < RELOADS_MAX && dp->more[k]; k++)
		sluice_bpf__destroy(dp->more[k]);
	if (dp->skel && dp->skel->skeleton)
		sluice_bpf__destroy(dp->skel);
	else
		free(dp->skel);
	free(dp->elf);
	if (dp->linger_fd >= 0)
		close(dp->linger_fd);
	if (dp->lock_fd >= 0)
		close(dp->lock_fd);
	free(dp);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The control map, which tells the programs the current state, and the keys. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "attach/prog/control.h"
#include "attach/prog/prog_room.h"
#include "lib/knobs.h"
#include "sluice.skel.h"
#include "sluice/seq.h"

#define DP_CLOCK_SAID_NS (3600 * NSEC_PER_SEC)

void epoch_next(struct prog_room *prog, const struct config *c)
{
	struct control *ctl = prog->pins->ctl;

	knobs_take(ctl, c);
	ctl->epoch++;
	ctl->pid = getpid();
	ctl->heartbeat_ns = now_ns();
}

static __u64 realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

void seq_base_follow(struct prog_room *prog, const struct config *c, int asked)
{
	struct control *ctl = prog->pins->ctl;
	__u64 now = now_ns(), real = realtime_ns(), own = ctl->seq_base_ns + now, off;
	enum seq_move move = seq_base_move(own, real);

	ctl->real_base_ns = real - now;
	if (prog->seq_base_ns && ctl->seq_base_ns != prog->seq_base_ns && c->keys.n)
		msg_info(
			"a peer holds sequences of authentication that are newer than this host's, as after a clock that was ahead: they have moved forward by %llu s, and are %llu s ahead of the clock",
			(ctl->seq_base_ns - prog->seq_base_ns) / NSEC_PER_SEC,
			own > real ? (own - real) / NSEC_PER_SEC : 0);
	/* Small steps only on request: one in each tick would add up to a leap. */
	if (move == SEQ_FOLLOWS && (asked || own < SEQ_SET_NS)) {
		if (!asked && c->keys.n)
			msg_info("the clock was set: the sequences of authentication follow it");
		ctl->seq_base_ns = real - now;
		own = real;
	}
	prog->seq_base_ns = ctl->seq_base_ns;
	if (!c->keys.n || (!asked && now < prog->clock_said_ns + DP_CLOCK_SAID_NS))
		return;
	off = real > own ? real - own : own - real;
	if (own < SEQ_SET_NS)
		msg("the clock was never set, so messages of peers count as from the future and their flows go plain: set it, and the sequences of authentication follow");
	else if (move == SEQ_AHEAD || move == SEQ_BEHIND)
		msg("the clock is %llu hours %s the sequences of authentication, which stay as they are: if the clock is wrong, set it; if it is right, stop sluiced and start it again",
		    off / (3600 * NSEC_PER_SEC), move == SEQ_AHEAD ? "ahead of" : "behind");
	else
		return;
	prog->clock_said_ns = now;
}

int keys_apply(struct prog_room *prog, const struct config *c)
{
	struct control *ctl = prog->pins->ctl;
	__u32 slot = 0;

	seq_base_follow(prog, c, 1);
	if (!c->keys.n) {
		ctl->auth = 0;
		return 0;
	}
	if (ctl->auth)
		slot = (ctl->auth - 1) ^ !!prog->running;
	if (bpf_map_update_elem(bpf_map__fd(prog->skel->maps.auth_keys), &slot, &c->keys, BPF_ANY)) {
		msg("the map of the keys: %s", strerror(errno));
		return -errno;
	}
	__atomic_store_n(&ctl->auth, slot + 1, __ATOMIC_RELEASE);
	return 0;
}

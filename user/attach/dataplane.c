// SPDX-License-Identifier: GPL-2.0-only
/*
 * From configuration to attached programs (programs.c, ports.c), and back.
 *
 *  1. The pin directory is the state that survives the daemon: maps, the struct_ops map, and (before
 *     Linux 6.2, with ports that stamp) the tracepoint links. What cannot be derived from the kernel is in the control and
 *     ports maps: who made the clsact qdisc, what the default congestion control was.
 *  2. The struct_ops map of an earlier daemon is kept under its name: it reads the same pinned maps. Of another version
 *     (adopt.c) it is replaced.
 *  3. A peer, or an interface, that the configuration has no more goes in two steps, so that nothing which is wrapped
 *     arrives unstripped: it leaves (the programs fall silent and strip on), and is gone when the other side must have
 *     noticed. That it leaves is in the maps: the next daemon completes what one that died began.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "attach/dataplane_int.h"
#include "attach/nic.h"
#include "sluice/seq.h"
#include "sluice.skel.h"

#define DP_LINGER_SILENCES 3 /* those after which peers go plain, */
#define DP_SILENT_NS (100 * 1000 * 1000ULL) /* of this, or of so many base RTTs: egress_peer() */
#define DP_SILENT_RTTS 4
#define DP_BPFFS_MAGIC 0xcafe4a11
#define DP_CLOSED_NS (5 * NSEC_PER_SEC)
#define DP_CROWDED_NS (1000 * 1000 * 1000ULL)
#define DP_CLOCK_SAID_NS (3600 * NSEC_PER_SEC)

static int pin_dir_lock(struct dataplane *dp, const char *dir)
{
	struct statfs fs;
	int err, made;

	if (strlen(dir) >= sizeof(dp->pin_dir))
		return -ENAMETOOLONG;
	strcpy(dp->pin_dir, dir);
	if (statfs("/sys/fs/bpf", &fs) || (__u32)fs.f_type != DP_BPFFS_MAGIC) {
		msg("/sys/fs/bpf is not a BPF file system: mount -t bpf bpf /sys/fs/bpf");
		return -ENOENT;
	}
	made = !mkdir(dir, 0700);
	if (!made && errno != EEXIST) {
		err = -errno;
		msg("%s: %s", dir, strerror(-err));
		return err;
	}
	dp->lock_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dp->lock_fd < 0) {
		err = -errno;
		msg("%s: %s: run it as root, or as who owns it", dir, strerror(-err));
		if (made)
			rmdir(dir);
		return err;
	}
	if (flock(dp->lock_fd, LOCK_EX | LOCK_NB)) {
		err = -errno;
		if (err != -EWOULDBLOCK) {
			msg("%s: locking the directory: %s", dir, strerror(-err));
			if (made)
				rmdir(dir);
			return err;
		}
		msg("%s: another sluiced works there: stop it, or give this one another pin_dir", dir);
		return -EBUSY;
	}
	return 0;
}

/* --- control map --- */

static void epoch_next(struct dataplane *dp, const struct config *c)
{
	struct control *ctl = dp->pins.ctl;

	ctl->mode = c->mode;
	ctl->rwnd = !c->tcp.receive_window || *c->tcp.receive_window;
	ctl->horizon_ns = c->horizon_ns;
	ctl->horizon_mark = c->pacing.mark;
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

/*
 * Moves the base of sequences (seq.h). What is said of a clock that is off is said at once where somebody has asked,
 * else once an hour.
 */
static void seq_base_follow(struct dataplane *dp, const struct config *c, int asked)
{
	struct control *ctl = dp->pins.ctl;
	__u64 now = now_ns(), real = realtime_ns(), own = ctl->seq_base_ns + now, off;
	enum seq_move move = seq_base_move(own, real);

	/* Of small steps only what somebody has seen: in each tick one, they would be a leap. */
	if (move == SEQ_FOLLOWS && (asked || own < SEQ_SET_NS)) {
		if (!asked && c->keys.n)
			msg_info("the clock was set: the sequences of authentication follow it");
		ctl->seq_base_ns = real - now;
		own = real;
	}
	if (!c->keys.n || (!asked && now < dp->clock_said_ns + DP_CLOCK_SAID_NS))
		return;
	off = real > own ? real - own : own - real;
	if (own < SEQ_SET_NS)
		msg("the clock was never set, so messages of peers count as from the future and their flows go plain: set it, and the sequences of authentication follow");
	else if (move == SEQ_AHEAD || move == SEQ_BEHIND)
		msg("the clock is %llu hours %s the sequences of authentication, which stay as they are: if the clock is wrong, set it; if it is right, stop sluiced and start it again",
		    off / (3600 * NSEC_PER_SEC), move == SEQ_AHEAD ? "ahead of" : "behind");
	else
		return;
	dp->clock_said_ns = now;
}

/*
 * The configuration's keys, in the slot that is not in use. A new daemon has slots of its own: it takes
 * the number that is in use, for the programs of the one before read that, too.
 */
static int keys_apply(struct dataplane *dp, const struct config *c)
{
	struct control *ctl = dp->pins.ctl;
	__u32 slot = 0;

	seq_base_follow(dp, c, 1);
	if (!c->keys.n) {
		ctl->auth = 0;
		return 0;
	}
	if (ctl->auth)
		slot = (ctl->auth - 1) ^ !!dp->running;
	if (bpf_map_update_elem(bpf_map__fd(dp->skel->maps.keys), &slot, &c->keys, BPF_ANY)) {
		msg("the map of the keys: %s", strerror(errno));
		return -errno;
	}
	__atomic_store_n(&ctl->auth, slot + 1, __ATOMIC_RELEASE);
	return 0;
}

/* --- peers --- */

/* Calls fn with each peer of the map; 0, or the first -errno, of fn or with a message. */
static int peers_each(const struct dataplane *dp, int (*fn)(const struct dataplane *dp, const struct peer_key *key,
							    struct peer *v, void *ctx), void *ctx)
{
	struct peer_key key, next;
	struct peer v;
	int more = map_next(dp->pins.peers, "peers", NULL, &next), found, err = 0;

	while (more > 0) {
		key = next;
		more = map_next(dp->pins.peers, "peers", &key, &next);
		found = map_find(dp->pins.peers, "peers", &key, &v);
		if (found > 0)
			found = fn(dp, &key, &v, ctx);
		err = err ?: found;
	}
	return err ?: more;
}

/* Are all addresses of a prefix those of a peer of the configuration? */
static int peer_is_covered(const struct config *c, const struct peer_key *key)
{
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		if (c->peers[k].key.prefixlen <= key->prefixlen && addr_in_prefix(&key->addr, &c->peers[k].key))
			return 1;
	return 0;
}

static int peer_is_configured(const struct config *c, const struct peer_key *key)
{
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		if (!memcmp(key, &c->peers[k].key, sizeof(*key)))
			return 1;
	return 0;
}

/* What a wider prefix of the configuration takes over does not leave. */
static int peer_leave(const struct dataplane *dp, const struct peer_key *key, struct peer *v, void *ctx)
{
	char text[PREFIX_STRLEN];
	int err;

	if (peer_is_covered(ctx, key) || v->leaving)
		return 0;
	v->leaving = 1;
	err = bpf_map_update_elem(dp->pins.peers, key, v, BPF_EXIST) ? -errno : 0;
	if (err)
		msg("peers: %s, which the configuration does not have any more: %s: it stays a peer until the next SIGHUP",
		    prefix_format(key, text), strerror(-err));
	return err;
}

static int peer_drop(const struct dataplane *dp, const struct peer_key *key)
{
	int err = map_remove(dp->pins.peers, "peers", key);

	return err < 0 ? err : 0;
}

static int peer_drop_covered(const struct dataplane *dp, const struct peer_key *key, struct peer *v, void *ctx)
{
	(void)v;
	return peer_is_covered(ctx, key) && !peer_is_configured(ctx, key) ? peer_drop(dp, key) : 0;
}

static int peer_drop_leaving(const struct dataplane *dp, const struct peer_key *key, struct peer *v, void *ctx)
{
	(void)ctx;
	return v->leaving ? peer_drop(dp, key) : 0;
}

static int peer_set(struct dataplane *dp, const struct config *c, const struct config_peer *p)
{
	struct peer v = config_peer_value(c, p);
	int err = bpf_map_update_elem(dp->pins.peers, &p->key, &v, BPF_ANY) ? -errno : 0;

	if (err != -ENOSPC)
		return err;
	/* Those that leave take the room of those that come. */
	peers_each(dp, peer_drop_covered, (void *)c);
	peers_each(dp, peer_drop_leaving, NULL);
	return bpf_map_update_elem(dp->pins.peers, &p->key, &v, BPF_ANY) ? -errno : 0;
}

/* Makes the peers map say what the configuration says, and of those that it has no more that they leave. */
static int peers_apply(struct dataplane *dp, const struct config *c)
{
	int left = peers_each(dp, peer_leave, (void *)c), dropped, err;
	unsigned int k;

	for (k = 0; k < c->peers_count; k++) {
		err = peer_set(dp, c, &c->peers[k]);
		if (err) {
			msg("peers: %s: %s", c->peers[k].prefix_text, strerror(-err));
			return err;
		}
	}
	dropped = peers_each(dp, peer_drop_covered, (void *)c);
	return left ?: dropped;
}

/* --- leaving --- */

struct leaving {
	__u64 longest_ns; /* base RTT */
	unsigned int peers;
};

static int peer_linger(const struct dataplane *dp, const struct peer_key *key, struct peer *v, void *ctx)
{
	struct leaving *l = ctx;

	(void)dp;
	(void)key;
	l->peers += v->leaving;
	if (v->t_ns > l->longest_ns)
		l->longest_ns = v->t_ns;
	return 0;
}

/* How long the other side may take to notice that we are silent. Its base RTT is taken to be like ours. */
static __u64 linger_ns(const struct dataplane *dp, struct leaving *l)
{
	__u64 silent_ns;

	*l = (struct leaving){};
	if (peers_each(dp, peer_linger, l))
		l->peers++; /* what could not be read may leave */
	silent_ns = DP_SILENT_RTTS * l->longest_ns;
	return DP_LINGER_SILENCES * (silent_ns > DP_SILENT_NS ? silent_ns : DP_SILENT_NS);
}

static struct timespec timespec_of(__u64 ns)
{
	return (struct timespec){ .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };
}

/* What leaves has its time from now on: the programs know of it, by the epoch. */
static void linger_begin(struct dataplane *dp)
{
	struct itimerspec once = {};
	struct leaving l;

	once.it_value = timespec_of(linger_ns(dp, &l));
	if (!l.peers && !dp->pins.ctl->ports_leaving)
		once.it_value = (struct timespec){};
	if (timerfd_settime(dp->linger_fd, 0, &once, NULL))
		msg("the timer of peers and interfaces that leave: %s: they stay until the next SIGHUP", strerror(errno));
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
	peers_each(dp, peer_drop_leaving, NULL);
	ports_leave(dp);
}

static int exit_code(int err, int undone)
{
	if (!err)
		return EXIT_DONE;
	if (err == -EOPNOTSUPP)
		return EXIT_UNSUPPORTED;
	return undone ? EXIT_ROLLED_BACK : EXIT_FAILED;
}

static struct dataplane *dataplane_new(void)
{
	struct dataplane *dp = calloc(1, sizeof(*dp));

	if (!dp)
		return NULL;
	dp->lock_fd = dp->linger_fd = -1;
	libbpf_init();
	xdp_init();
	return dp;
}

int dataplane_open(struct config *c, struct dataplane **out)
{
	struct dataplane *dp = dataplane_new();
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
	err = pin_dir_lock(dp, c->pin_dir);
	if (err)
		goto close;
	locked = 1;
	err = adopt_recover(c->pin_dir);
	if (err) {
		msg("%s: run 'sluiced --detach --pin-dir %s', and start it again", c->pin_dir, c->pin_dir);
		goto close;
	}
	err = pins_restore(c->pin_dir, c);
	if (err) {
		msg("what the earlier daemon attached stays as it was");
		goto close;
	}
	err = pins_open(c->pin_dir, &dp->pins);
	if (err == -ENOENT) {
		err = pins_open_some(c->pin_dir, &dp->pins);
		dp->lost = !err;
	}
	if (err == -EPROTO) {
		err = adopt_open(dp);
		if (err)
			goto close;
	}
	/* Nothing but that there is nothing is a reason to begin anew: programs that run may hold what cannot be opened. */
	if (err && err != -ENOENT) {
		msg("%s: opening the maps: %s: what the earlier daemon attached stays as it was", c->pin_dir, strerror(-err));
		goto close;
	}
	dp->fresh = err != 0;
	if (!dp->fresh && !dp->adopt)
		msg_info("adopting the maps in %s", c->pin_dir);
	err = programs_load(dp, c);
	if (err)
		goto undo;
	if (dp->lost) { /* what was missing was made with the programs */
		pins_close(&dp->pins);
		err = pins_open(c->pin_dir, &dp->pins);
	}
	/* The abi is written before anyone may look. */
	if (dp->fresh) {
		struct control ctl = { .abi = SLUICE_ABI, .mode = c->mode };
		__u32 zero = 0;

		err = bpf_map_update_elem(bpf_map__fd(dp->skel->maps.control), &zero, &ctl, BPF_ANY) ? -errno : 0;
		err = err ?: pins_open(c->pin_dir, &dp->pins);
	}
	if (!err && dp->adopt)
		err = adopt_fill(dp);
	else if (!err)
		err = adopt_layout_pin(dp, c->pin_dir);
	if (err) {
		msg("%s: opening the maps: %s", c->pin_dir, strerror(-err));
		goto undo;
	}
	err = messages_open(&dp->messages);
	if (!err)
		err = reports_open(bpf_map__fd(dp->skel->maps.reports), dp->messages, &dp->reports);
	if (!err)
		err = credits_open(&dp->pins, bpf_map__fd(dp->skel->maps.news), dp->messages, &dp->credits);
	if (!err)
		err = tor_open(bpf_map__fd(dp->skel->maps.asks), dp->messages, &dp->tor);
	if (!err)
		err = ppfc_open(&dp->pins, bpf_map__fd(dp->skel->maps.pfc_alarms), &dp->ppfc);
	if (err)
		msg("the rings of reports, news, asks and alarms: %s", strerror(-err));
	if (!err && !dp->fresh) {
		ports_name(dp, c, 1);
		err = ports_check(dp, c);
	}
	if (!err)
		err = keys_apply(dp, c);
	if (!err)
		err = peers_apply(dp, c);
	if (!err && dp->adopt)
		err = adopt_commit(dp);
	/* Another version's goes on until the programs are replaced, as it waits for RCU. */
	if (!err && !dp->adopt)
		err = cc_register(dp, c);
	if (!err)
		err = ports_apply(dp, c, dp->fresh);
	if (!err && dp->adopt)
		err = cc_register(dp, c);
	if (!err)
		err = cc_default_apply(dp, c);
	if (err)
		goto undo;
	pods_follow(dp, c);
	credits_apply(dp->credits, c);
	epoch_next(dp, c);
	linger_begin(dp);
	adopt_finish(dp);
	adopt_close(dp);
	ppfc_apply(dp->ppfc, c);
	dp->running = 1;
	*out = dp;
	return EXIT_DONE;
undo:
	if (dp->fresh) {
		if (dataplane_detach(dp))
			return exit_code(err, 0);
		msg("nothing is left attached");
		return exit_code(err, 1);
	}
	if (adopt_is_committed(dp))
		msg("the maps are this version's now; what was not replaced goes on by itself: start this version again, or the other");
	else
		msg("what the earlier daemon attached stays as it was");
close:
	if (locked)
		rmdir(c->pin_dir); /* as long as there is nothing in it */
	dataplane_close(dp);
	return exit_code(err, 0);
}

int dataplane_prepare(struct dataplane *dp, struct config *c)
{
	ports_name(dp, c, 1);
	return nic_check(&dp->pins, c) ?: ports_check(dp, c) ?: programs_add(dp, c);
}

/* An administrator who has just sent SIGHUP wants to see every complaint, even one that was printed a moment ago. */
static void limits_forget(struct dataplane *dp)
{
	dp->route_limit.next_ns = dp->pod_limit.next_ns = dp->htb_limit.next_ns = dp->limit.next_ns = 0;
}

int dataplane_reload(struct dataplane *dp, const struct config *c)
{
	int err;

	limits_forget(dp);
	err = keys_apply(dp, c);
	if (!err)
		err = peers_apply(dp, c);
	map_room(dp->pins.flows, c->max_flows, "max_flows");
	map_room(dp->pins.voqs, c->hiercc.voqs, "hiercc: voqs");
	if (!err)
		err = ports_apply(dp, c, 0);
	err = cc_default_apply(dp, c) ?: err; /* the mode changes in any case */
	pods_forget(dp);
	pods_follow(dp, c);
	credits_apply(dp->credits, c);
	epoch_next(dp, c);
	linger_begin(dp);
	ppfc_apply(dp->ppfc, c);
	return err;
}

void dataplane_routes_changed(struct dataplane *dp)
{
	dp->routes_changed = 1;
}

void dataplane_qdiscs_changed(struct dataplane *dp)
{
	dp->qdiscs_changed = 1;
}

void dataplane_follow(struct dataplane *dp, struct config *c)
{
	dp->pods_changed = 1;
	ports_name(dp, c, 0);
	if (ports_follow(dp, c)) {
		epoch_next(dp, c);
		ppfc_apply(dp->ppfc, c);
	}
}

/* --- time --- */

struct age_ctx {
	struct dataplane *dp;
	__u64 now_ns, timeout_ns;
	__u32 flows; /* seen */
};

static int flow_age(const struct flow_key *key, const struct flow *f, void *ctx)
{
	struct age_ctx *a = ctx;
	__u64 last = f->last_tx_ns > f->last_rx_ns ? f->last_tx_ns : f->last_rx_ns;
	__u64 limit = f->flags & FLOW_F_CLOSED ? DP_CLOSED_NS : a->timeout_ns;

	/* All of a large map takes longer than a period of credit. */
	if (a->flows++ % 64 == 0) {
		credits_run(a->dp->credits);
		ppfc_run(a->dp->ppfc);
	}
	if (a->dp->watcher)
		a->dp->watcher->flow(a->dp->watcher->ctx, key, f, a->now_ns);
	if (a->dp->crowded && f->feedbacks < 2) /* at most the answer to one probe */
		limit = DP_CROWDED_NS;
	if (a->now_ns > last + limit) {
		bpf_map_delete_elem(a->dp->pins.flows, key);
		if (f->rx_kept)
			bpf_map_delete_elem(bpf_map__fd(a->dp->skel->maps.rx_states), key);
	}
	return 0;
}

/*
 * All of the flow map, unless it was empty and nothing has been put in since: a walk through one of a million entries
 * takes 2 ms, empty or not. Who puts an entry in counts it afterwards, so what a walk did not see is counted by the next.
 */
static void flows_age(struct dataplane *dp, struct age_ctx *a)
{
	__u32 room = bpf_map__max_entries(dp->skel->maps.flows);
	__u64 made = 0;
	int err = pins_stat(&dp->pins, STAT_FLOW_MADE, &made);

	if (!err && dp->empty && made == dp->made)
		return;
	if (!err)
		err = pins_each_flow(&dp->pins, flow_age, a);
	if (err)
		msg_limited(&dp->limit, 60, "looking for idle flows: %s", strerror(-err));
	dp->empty = !err && !a->flows;
	dp->made = made;
	/* One-packet flows (a scan, a flood, a resolver) shall not keep others out. */
	dp->crowded = a->flows > room - room / 8;
	if (dp->crowded)
		msg_limited(&dp->crowded_limit, 60, "the flow map is nearly full (%u of %u): flows of a packet or two are forgotten after 1 s; a larger max_flows makes room",
			    a->flows, room);
}

void dataplane_tick(struct dataplane *dp, struct config *c)
{
	struct age_ctx a = { .dp = dp, .now_ns = now_ns(), .timeout_ns = c->flow_timeout_ns };

	dp->pins.ctl->heartbeat_ns = a.now_ns;
	/* Who traced was killed. */
	if (dp->pins.ctl->trace_on && a.now_ns > dp->pins.ctl->trace_until_ns)
		dp->pins.ctl->trace_on = 0;
	seq_base_follow(dp, c, 0);
	if (dp->qdiscs_changed) {
		dp->qdiscs_changed = 0;
		dataplane_follow(dp, c);
	}
	if (dp->routes_changed) {
		dp->routes_changed = 0;
		routes_follow(dp, c);
		dp->pods_changed |= !!c->node.uplink;
	}
	if (dp->pods_changed) {
		dp->pods_changed = 0;
		pods_follow(dp, c);
	}
	credits_tick(dp->credits);
	tor_tick(dp->tor);
	ppfc_tick(dp->ppfc);
	flows_age(dp, &a);
}

void dataplane_watch(struct dataplane *dp, const struct watcher *w)
{
	dp->watcher = w;
	credits_watch(dp->credits, w);
	ppfc_watch(dp->ppfc, w);
}

const struct pins *dataplane_pins(const struct dataplane *dp)
{
	return &dp->pins;
}

int dataplane_reports_fd(const struct dataplane *dp)
{
	return reports_fd(dp->reports);
}

void dataplane_reports(struct dataplane *dp, const struct config *c)
{
	reports_read(dp->reports, c, dp->pins.ctl->seq_base_ns);
}

int dataplane_credits_fd(const struct dataplane *dp)
{
	return credits_fd(dp->credits);
}

void dataplane_credits(struct dataplane *dp)
{
	credits_run(dp->credits);
}

int dataplane_tor_fd(const struct dataplane *dp)
{
	return tor_fd(dp->tor);
}

void dataplane_tor(struct dataplane *dp, const struct config *c)
{
	tor_run(dp->tor, c, dp->pins.ctl->seq_base_ns);
}

int dataplane_ppfc_fd(const struct dataplane *dp)
{
	return ppfc_fd(dp->ppfc);
}

void dataplane_ppfc(struct dataplane *dp)
{
	ppfc_run(dp->ppfc);
}

/* --- end --- */

void dataplane_close(struct dataplane *dp)
{
	unsigned int k;

	if (!dp)
		return;
	ppfc_close(dp->ppfc);
	credits_close(dp->credits);
	tor_close(dp->tor);
	reports_close(dp->reports);
	messages_close(dp->messages);
	pins_close(&dp->pins);
	adopt_close(dp);
	pods_forget(dp);
	for (k = 0; k < SET_N && dp->more[k]; k++)
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

int dataplane_detach(struct dataplane *dp)
{
	struct control *ctl = dp->pins.ctl;
	int err = 0;
	struct timespec linger;
	struct leaving l;

	ppfc_close(dp->ppfc); /* lets go, which bypass would not */
	dp->ppfc = NULL;
	if (ctl) {
		if (!ctl->bypass) {
			ctl->bypass = 1;
			linger = timespec_of(linger_ns(dp, &l));
			if (!dp->fresh || ctl->epoch)
				nanosleep(&linger, NULL);
		}
		err = ports_drop(dp, NULL);
		err = cc_restore_default(ctl, "as it was before") ?: err;
		cc_pin_restore(dp->pin_dir, ctl); /* somebody may have removed the pin, by which it is unregistered */
	}
	err = cc_unregister(dp->pin_dir) ?: err;
	/* The pins say what there still is: another detach takes it off. */
	if (err)
		msg("%s: not all could be taken off, and the pins stay: run 'sluiced --detach --pin-dir %s'", dp->pin_dir, dp->pin_dir);
	else
		adopt_pins_remove(dp->pin_dir);
	dataplane_close(dp);
	return err ? EXIT_FAILED : EXIT_DONE;
}

/*
 * What can be told without the layout of the maps. Egress goes first and ingress strips on, as with
 * bypass; clsact and the default congestion control stay, for who made them is not known.
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
	err = cc_unregister(dp->pin_dir);
	if (err) {
		msg("%s: filters, routes and XDP programs are removed, and the pins stay: run 'sluiced --detach --pin-dir %s' again", dp->pin_dir,
		    dp->pin_dir);
		dataplane_close(dp);
		return EXIT_FAILED;
	}
	adopt_pins_remove(dp->pin_dir);
	msg("%s: was %s: filters of %d interfaces, routes, congestion control and pins are removed; clsact qdiscs, the default congestion control and PFC of NICs stay: see 'tc qdisc show clsact', 'sysctl net.ipv4.tcp_congestion_control' and 'dcb pfc show dev ...'",
	    dp->pin_dir, what, l->interfaces);
	dataplane_close(dp);
	return EXIT_DONE;
}

int dataplane_detach_dir(const char *pin_dir)
{
	struct dataplane *dp;
	struct leftover l;
	char caps[96];
	int err, broken;

	if (access(pin_dir, F_OK) && errno == ENOENT) {
		msg("%s: nothing is pinned there", pin_dir);
		return EXIT_DONE;
	}
	if (*caps_missing(caps, sizeof(caps), CAPS_DETACH)) {
		msg("%s: --detach needs %s: run it as root, or give it these capabilities; nothing was changed", pin_dir, caps);
		return EXIT_FAILED;
	}
	dp = dataplane_new();
	if (!dp)
		return EXIT_FAILED;
	err = pin_dir_lock(dp, pin_dir);
	if (err)
		goto close;
	/* What cannot be told by maps that are neither version's is told by their counters. */
	broken = adopt_recover(pin_dir) != 0;
	if (!broken && pins_restore(pin_dir, NULL))
		goto close;
	leftover_find(pin_dir, &l);
	if (!l.interfaces && leftover_anywhere(&l)) {
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
	/* -ENOENT: half of a start: only pins to remove */
	if (!err || err == -ENOENT)
		return dataplane_detach(dp);
	msg("%s: %s", pin_dir, strerror(-err));
close:
	dataplane_close(dp);
	return EXIT_FAILED;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Access to the pinned maps for daemon and tool. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/pins.h"

const char *const stat_names[STAT_MAX] = {
#define STAT_NAME(symbol, name, kind, help) name,
	SLUICE_STATS(STAT_NAME)
#undef STAT_NAME
};

const char *const stat_help[STAT_MAX] = {
#define STAT_HELP(symbol, name, kind, help) STAT_TEXT(kind, help),
	SLUICE_STATS(STAT_HELP)
#undef STAT_HELP
};

static int pins_get(const char *dir, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static int control_map(struct pins *p)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	void *at;

	if (bpf_obj_get_info_by_fd(p->control, &info, &len))
		return -errno;
	if (info.value_size != sizeof(*p->ctl) || !(info.map_flags & BPF_F_MMAPABLE))
		return -EPROTO;
	at = mmap(NULL, sizeof(*p->ctl), PROT_READ | PROT_WRITE, MAP_SHARED, p->control, 0);
	if (at == MAP_FAILED)
		return -errno;
	p->ctl = at;
	return p->ctl->abi == SLUICE_ABI ? 0 : -EPROTO;
}

/* The inode of the map pinned as control; 0: none. 0, or -errno if that cannot be determined. */
static int control_pin(const char *dir, ino_t *pin)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/control", dir);
	*pin = stat(path, &st) ? 0 : st.st_ino;
	return *pin || errno == ENOENT ? 0 : -errno;
}

/* some: missing maps stay -1. */
static int pins_open_all(const char *dir, struct pins *p, int some)
{
	ino_t was, now;
	int err = control_pin(dir, &was);

	p->ctl = NULL;
#define PINS_INIT(name) p->name = -1;
	PINS(PINS_INIT)
#undef PINS_INIT
	if (err)
		return err;
#define PINS_GET(name)                                                                             \
	p->name = pins_get(dir, #name);                                                            \
	if (p->name < 0 && !(some && p->name == -ENOENT)) {                                        \
		err = p->name;                                                                     \
		goto close;                                                                        \
	}
	PINS(PINS_GET)
#undef PINS_GET
	err = p->control < 0 || p->ports < 0 || p->stats < 0 ? -ENOENT : control_map(p);
	/* While a daemon of another version adopts the maps, pins are swapped, this one last. */
	if (!err)
		err = control_pin(dir, &now);
	if (!err && was != now)
		err = -EPROTO;
	if (!err)
		return 0;
close:
	/* Another version may have had other maps. */
	if (err == -ENOENT && p->control < 0) {
		p->control = pins_get(dir, "control");
		err = p->control < 0 ? p->control : err;
	}
	if (err == -ENOENT && p->control >= 0 && control_map(p) == -EPROTO)
		err = -EPROTO;
	pins_close(p);
	return err;
}

int pins_open(const char *dir, struct pins *p)
{
	return pins_open_all(dir, p, 0);
}

int pins_open_some(const char *dir, struct pins *p)
{
	return pins_open_all(dir, p, 1);
}

void pins_close(struct pins *p)
{
	if (p->ctl)
		munmap(p->ctl, sizeof(*p->ctl));
	p->ctl = NULL;
#define PINS_CLOSE(name)                                                                           \
	if (p->name >= 0)                                                                          \
		close(p->name);                                                                    \
	p->name = -1;
	PINS(PINS_CLOSE)
#undef PINS_CLOSE
}

/* Sums n counters starting at from. */
static int stats_sum(const struct pins *p, __u32 from, __u32 n, __u64 *out)
{
	int cpus = libbpf_num_possible_cpus(), cpu;
	__u64 *per_cpu;
	__u32 i, key;
	int err = 0;

	if (cpus < 0)
		return cpus;
	per_cpu = calloc(cpus, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	for (i = 0; i < n && !err; i++) {
		key = from + i;
		out[i] = 0;
		err = bpf_map_lookup_elem(p->stats, &key, per_cpu) ? -errno : 0;
		for (cpu = 0; cpu < cpus; cpu++)
			out[i] += per_cpu[cpu];
	}
	free(per_cpu);
	return err;
}

int pins_stat(const struct pins *p, enum sluice_stat which, __u64 *out)
{
	return stats_sum(p, which, 1, out);
}

int pins_stats(const struct pins *p, __u64 *out)
{
	return stats_sum(p, 0, STAT_MAX, out);
}

const char *const flow_state_names[FLOW_STATES] = {
	[FLOW_OBSERVED] = "observe",  [FLOW_DRY_RUN] = "dry-run",
	[FLOW_GOVERNED] = "governed", [FLOW_NO_FEEDBACK] = "no feedback yet",
	[FLOW_PLAIN] = "plain",	      [FLOW_BYPASSED] = "bypassed",
	[FLOW_CLOSED] = "closed",
};

enum flow_state flow_state(const struct flow *f, const struct control *ctl)
{
	if (f->tx.flags & FLOW_F_CLOSED)
		return FLOW_CLOSED;
	if (ctl->bypass)
		return FLOW_BYPASSED;
	if (!(f->tx.flags & FLOW_F_TELEM))
		return FLOW_PLAIN;
	if (!f->rx.feedbacks)
		return FLOW_NO_FEEDBACK;
	return ctl->mode == MODE_ENFORCE ? FLOW_GOVERNED : ctl->mode == MODE_DRY_RUN ? FLOW_DRY_RUN : FLOW_OBSERVED;
}

/* Whether the next segment exceeds the granted receive window. */
static int flow_edge_near(const struct flow *f)
{
	return f->wnd.edge_ns && f->wnd.seq_known && (__s32)(f->wnd.edge - f->tx.seq_end) < (__s32)(f->tx.mss ?: 1);
}

const char *port_role(const struct port *port)
{
	return port->flags & PORT_F_HOST ? "host" : port->flags & PORT_F_POD ? "pod" : "switch";
}

const char *flow_protocol(const struct flow_key *k)
{
	switch (k->proto) {
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_IPIP:
		return "ipip";
	case IPPROTO_IPV6:
		return "ipv6";
	case IPPROTO_GRE:
		return "gre";
	default:
		return "tcp";
	}
}

const char *const flow_hold_names[FLOW_HOLDS] = {
	[HELD_NOT] = "none",	  [HELD_RATE] = "rate",	  [HELD_HOP] = "hop",
	[HELD_CREDIT] = "credit", [HELD_PAUSE] = "pause", [FLOW_HELD_WINDOW] = "window",
};

/* The constraint that held its last packet. A socket that obeys W itself waits before it makes a packet. */
const char *flow_why(const struct flow_key *k, const struct flow *f, const struct control *ctl, __u64 now)
{
	enum flow_state state = flow_state(f, ctl);

	if ((state != FLOW_GOVERNED && state != FLOW_NO_FEEDBACK) || now > f->tx.last_ns + NSEC_PER_SEC)
		return "none";
	if (f->tx.held != HELD_NOT)
		return f->tx.held <= HELD_PAUSE ? flow_hold_names[f->tx.held] : "unknown";
	return k->proto == IPPROTO_TCP && (f->tx.own_cc || flow_edge_near(f)) ? "window" : "none";
}

int flow_is_paused(const struct pins *p, const struct flow *f, __u64 now)
{
	__u32 class = (f->tx.flags & FLOW_F_PAUSE) >> FLOW_F_PAUSE_SHIFT;
	struct pfc_port port;

	return class && class <= PFC_PRIORITIES && !bpf_map_lookup_elem(p->pfc_ports, &f->path.ifindex, &port) &&
	       pfc_asked(&port.obey[class - 1], &port.params, now, 0) > now;
}

/* An entry is not read atomically: its feedback may be newer than its count of sent bytes. */
__u32 flow_under_way(const struct flow *f)
{
	__s32 bytes = (__u32)f->tx.bytes - f->rx.fb_seq;

	return bytes > 0 ? bytes : 0;
}

/* More than twice W means nothing if it includes packets without telemetry. */
int flow_fills_w(const struct flow *f, __u64 now)
{
	__u64 w = q12_to_bytes(f->cc.w), under_way = flow_under_way(f);

	if (f->wnd.digest && !f->tx.own_cc) /* no window of it is W */
		return 0;
	return now < f->rx.fb_ns + NSEC_PER_SEC && under_way >= w / 2 &&
	       (f->path.telemetry == TELEMETRY_EVERY || under_way <= 2 * w);
}

const char *flow_holds(const struct flow_key *k, const struct flow *f, const struct control *ctl, __u64 now,
		       __u64 sent_bps)
{
	const char *why = flow_why(k, f, ctl, now);

	if ((strcmp(why, "window") && strcmp(why, "rate")) || sent_bps * 2 >= f->cc.rate_bps)
		return why;
	return k->proto == IPPROTO_TCP && flow_fills_w(f, now) ? "window" : "none";
}

/*
 * A port whose speed is not in the table scales its bytes to the speed that it announces (telemetry.h): only the time
 * that they take is exact.
 */
__u64 hop_queue_ns(const struct hpcc_hop *h)
{
	return h->bps ? h->qlen_bytes * 8e9 / h->bps : 0;
}

__u64 flow_queue_ns(const struct flow *f)
{
	__u64 longest = 0, ns;
	int i;

	for (i = 0; i < f->cc.hops && i < HPCC_MAX_HOPS; i++) {
		ns = hop_queue_ns(&f->cc.last[i]);
		longest = ns > longest ? ns : longest;
	}
	return longest;
}

int voq_is_at_tor(const struct voq *v)
{
	return v->asked_ns && v->voq.sent == HIERCC_TOTAL_FIRST;
}

int pins_each_flow(const struct pins *p,
		   int (*fn)(const struct flow_key *key, const struct flow *flow, void *ctx),
		   void *ctx)
{
	enum { BATCH = 64 };
	struct flow_key *keys = calloc(BATCH, sizeof(*keys));
	struct flow *values = calloc(BATCH, sizeof(*values));
	__u32 cursor = 0, count, i;
	int err = 0, first = 1, done = 0;

	if (!keys || !values)
		err = -ENOMEM;
	while (!err && !done) {
		count = BATCH;
		if (bpf_map_lookup_batch(p->flows, first ? NULL : &cursor, &cursor, keys, values,
					 &count, NULL)) {
			done = errno == ENOENT; /* the end; count entries came all the same */
			if (!done) {
				err = -errno;
				break;
			}
		}
		first = 0;
		for (i = 0; i < count && !err; i++)
			err = fn(&keys[i], &values[i], ctx);
	}
	free(keys);
	free(values);
	return err;
}

int pins_each_arrival(const struct pins *p,
		      int (*fn)(const struct arrival_key *key, __u32 slot, void *ctx), void *ctx)
{
	struct arrival_key key, next;
	int err = 0, more = !bpf_map_get_next_key(p->arrival_slots, NULL, &next);
	__u32 slot;

	while (more && !err) {
		key = next;
		more = !bpf_map_get_next_key(p->arrival_slots, &key, &next);
		if (!bpf_map_lookup_elem(p->arrival_slots, &key, &slot))
			err = fn(&key, slot, ctx);
	}
	return err;
}

int pins_some_voqs(const struct pins *p, __u32 *cursor, __u32 max,
		   int (*fn)(const struct voq_key *key, const struct voq *voq, void *ctx), void *ctx)
{
	enum { BATCH = 256 };
	struct voq_key *keys = calloc(BATCH, sizeof(*keys));
	struct voq *values = calloc(BATCH, sizeof(*values));
	__u32 count, i, seen = 0;
	int err = keys && values ? 0 : -ENOMEM;

	do {
		count = BATCH;
		if (!err && bpf_map_lookup_batch(p->voqs, *cursor ? cursor : NULL, cursor, keys, values, &count, NULL)) {
			*cursor = 0;
			if (errno != ENOENT) /* the end; count entries came all the same */
				err = -errno;
		}
		for (i = 0; i < count && !err; i++)
			err = fn(&keys[i], &values[i], ctx);
		seen += count;
	} while (!err && *cursor && (!max || seen < max));
	free(keys);
	free(values);
	return err;
}

static int index_compare(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return x < y ? -1 : x > y;
}

/* In the order of their indices, in which they were made; the map has none. */
int pins_each_port(const struct pins *p,
		   int (*fn)(__u32 ifindex, const struct port *port, void *ctx), void *ctx)
{
	__u32 list[PORTS_MAX], key, n = 0, i;
	struct port port;
	int err = 0;

	while (n < PORTS_MAX && !err) {
		err = bpf_map_get_next_key(p->ports, n ? &list[n - 1] : NULL, &key) ? -errno : 0;
		if (!err)
			list[n++] = key;
	}
	if (err == -ENOENT)
		err = 0;
	qsort(list, n, sizeof(*list), index_compare);
	for (i = 0; i < n && !err; i++) {
		if (!bpf_map_lookup_elem(p->ports, &list[i], &port))
			err = fn(list[i], &port, ctx);
		else if (errno != ENOENT) /* it left meanwhile */
			err = -errno;
	}
	return err;
}

int pins_each_peer(const struct pins *p, int (*fn)(const struct peer_key *key, const struct peer *peer, void *ctx),
		   void *ctx)
{
	struct peer_key key, next;
	struct peer peer;
	int err = 0, more = map_next(p->peers, "peers", NULL, &next);

	while (more > 0 && !err) {
		key = next;
		if (!bpf_map_lookup_elem(p->peers, &key, &peer))
			err = fn(&key, &peer, ctx);
		more = map_next(p->peers, "peers", &key, &next);
	}
	return err ?: more;
}

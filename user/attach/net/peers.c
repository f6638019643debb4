// SPDX-License-Identifier: GPL-2.0-only
/* The peers map, and the measured T of peers. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "attach/net/peers.h"
#include "lib/maps.h"

/* --- peers --- */

/* Calls fn with each peer of the map; 0, or the first -errno, from fn or with a message. */
static int peers_each(const struct pins *pins,
		      int (*fn)(const struct pins *pins, const struct peer_key *key, struct peer *v, void *ctx),
		      void *ctx)
{
	struct peer_key key, next;
	struct peer v;
	int more = map_next(pins->peers, "peers", NULL, &next), found, err = 0;

	while (more > 0) {
		key = next;
		more = map_next(pins->peers, "peers", &key, &next);
		found = map_find(pins->peers, "peers", &key, &v);
		if (found > 0)
			found = fn(pins, &key, &v, ctx);
		err = err ?: found;
	}
	return err ?: more;
}

/* Whether all addresses of a prefix belong to a peer of the configuration. */
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

/* A peer that a wider prefix of the configuration covers does not leave. */
static int peer_leave(const struct pins *pins, const struct peer_key *key, struct peer *v, void *ctx)
{
	char text[PREFIX_STRLEN];
	int err;

	if (peer_is_covered(ctx, key) || v->leaving)
		return 0;
	v->leaving = 1;
	err = bpf_map_update_elem(pins->peers, key, v, BPF_EXIST) ? -errno : 0;
	if (err)
		msg("peers: %s, which is no longer in the configuration: %s: it stays a peer until the next SIGHUP",
		    prefix_format(key, text), strerror(-err));
	return err;
}

static int peer_drop(const struct pins *pins, const struct peer_key *key)
{
	int err = map_remove(pins->peers, "peers", key);

	return err < 0 ? err : 0;
}

static int peer_drop_covered(const struct pins *pins, const struct peer_key *key, struct peer *v, void *ctx)
{
	(void)v;
	return peer_is_covered(ctx, key) && !peer_is_configured(ctx, key) ? peer_drop(pins, key) : 0;
}

static int peer_drop_leaving(const struct pins *pins, const struct peer_key *key, struct peer *v, void *ctx)
{
	(void)ctx;
	return v->leaving ? peer_drop(pins, key) : 0;
}

int peer_set(const struct pins *pins, const struct config *c, const struct config_peer *p)
{
	struct peer v = config_peer_value(c, p);
	int err = bpf_map_update_elem(pins->peers, &p->key, &v, BPF_ANY) ? -errno : 0;

	if (err != -ENOSPC)
		return err;
	/* Leaving peers make room for new ones. */
	peers_each(pins, peer_drop_covered, (void *)c);
	peers_each(pins, peer_drop_leaving, NULL);
	return bpf_map_update_elem(pins->peers, &p->key, &v, BPF_ANY) ? -errno : 0;
}

/* Copies the T that this daemon, or an earlier one, has measured for the prefix to c. */
static void peer_recall(const struct pins *pins, const struct config *c, struct config_peer *p)
{
	__u64 max_ns = config_rtt_max_ns(c, p);
	struct peer v;

	/* The map finds the longest prefix. */
	if (map_find(pins->peers, "peers", &p->key, &v) <= 0 || v.prefixlen != p->key.prefixlen || !v.measured_ns)
		return;
	p->measured_ns = v.measured_ns;
	p->rtt_changes = v.t_changes;
	if (p->rtt_auto)
		p->base_rtt_ns = v.measured_ns < max_ns ? v.measured_ns : max_ns;
}

int peers_apply(const struct pins *pins, struct config *c)
{
	int left = peers_each(pins, peer_leave, (void *)c), dropped, err;
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		peer_recall(pins, c, &c->peers[k]);
	for (k = 0; k < c->peers_count; k++) {
		err = peer_set(pins, c, &c->peers[k]);
		if (err) {
			msg("peers: %s: %s", c->peers[k].prefix, strerror(-err));
			return err;
		}
	}
	dropped = peers_each(pins, peer_drop_covered, (void *)c);
	return left ?: dropped;
}

/* --- leaving --- */

static int peer_linger(const struct pins *pins, const struct peer_key *key, struct peer *v, void *ctx)
{
	struct leaving *l = ctx;

	(void)pins;
	(void)key;
	l->peers += v->leaving;
	if (v->t_ns > l->longest_ns)
		l->longest_ns = v->t_ns;
	return 0;
}

int peers_leaving(const struct pins *pins, struct leaving *l)
{
	return peers_each(pins, peer_linger, l);
}

void peers_drop_leaving(const struct pins *pins)
{
	peers_each(pins, peer_drop_leaving, NULL);
}

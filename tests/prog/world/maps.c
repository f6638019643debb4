// SPDX-License-Identifier: GPL-2.0-only
/* Entries of maps, and what waits in the ring buffers. */
#include <errno.h>
#include <string.h>

#include "load.h"
#include "maps.h"

void map_set(const struct bpf_map *map, const void *key, const void *value)
{
	cr_assert(!bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY), "%s: %s", bpf_map__name(map),
		  strerror(errno));
}

int world_map(const char *name)
{
	return bpf_object__find_map_fd_by_name(skel->obj, name);
}

int map_get(const struct bpf_map *map, const void *key, void *value)
{
	return !bpf_map_lookup_elem(bpf_map__fd(map), key, value);
}

struct taken {
	void *out;
	size_t each;
	unsigned int n, most;
};

static int ring_take(void *ctx, void *data, size_t size)
{
	struct taken *t = ctx;

	cr_assert_eq(size, t->each);
	if (t->n < t->most)
		memcpy(t->out + t->each * t->n++, data, size);
	return 0;
}

static unsigned int taken(const struct bpf_map *map, void *out, size_t each, unsigned int most)
{
	struct taken t = { out, each, 0, most };
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(map), ring_take, &t, NULL);

	cr_assert(ring);
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return t.n;
}

unsigned int reports_taken(struct report *out, unsigned int most)
{
	return taken(skel->maps.reports, out, sizeof(*out), most);
}

unsigned int traces_taken(struct trace *out, unsigned int most)
{
	return taken(skel->maps.trace, out, sizeof(*out), most);
}

unsigned int asks_taken(struct tor_news *out, unsigned int most)
{
	return taken(skel->maps.rate_asks, out, sizeof(*out), most);
}

unsigned int news_taken(struct arrival_news *out, unsigned int most)
{
	return taken(skel->maps.arrival_news, out, sizeof(*out), most);
}

unsigned int asks_to_tell(struct arrival_ask *out, unsigned int most)
{
	return taken(skel->maps.arrival_news, out, sizeof(*out), most);
}

static int alarm_count(void *ctx, void *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	++*(unsigned int *)ctx;
	return 0;
}

unsigned int alarms_taken(void)
{
	unsigned int n = 0;
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(skel->maps.pfc_alarms), alarm_count, &n, NULL);

	cr_assert(ring, "the ring of alarms: %s", strerror(errno));
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return n;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lasting names. An upgrade and a downgrade find the members of a flow by name. So the BTF pinned for other versions
 * has the members of all groups in the flow itself: by the names here, which 0.1.0 uses, and others as "group.member".
 * A member that moves to another group keeps its name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/layout.h"

static const struct {
	const char *group, *member, *name;
} names[] = {
	{ "path", "epoch", "epoch" },
	{ "path", "ifindex", "ifindex" },
	{ "path", "mtu", "mtu" },
	{ "path", "port_flags", "port_flags" },
	{ "path", "pod_ifindex", "pod_ifindex" },
	{ "path", "feedback", "feedback" },
	{ "path", "flows_expected", "flows_expected" },
	{ "path", "flows_fixed", "flows_fixed" },
	{ "path", "encoding", "encoding" },
	{ "path", "telemetry", "telemetry" },
	{ "path", "hiercc", "hiercc" },
	{ "path", "hpcc_off", "hpcc_off" },
	{ "path", "no_peer", "no_peer" },
	{ "tx", "bytes", "tx_bytes" },
	{ "tx", "clock_ns", "clock_ns" },
	{ "tx", "last_ns", "last_tx_ns" },
	{ "tx", "telem_ns", "telem_tx_ns" },
	{ "tx", "probe_ns", "probe_ns" },
	{ "tx", "flags", "flags" },
	{ "tx", "mss", "mss" },
	{ "tx", "segment", "segment" },
	{ "tx", "source", "source" },
	{ "tx", "seq_end", "seq_end" },
	{ "tx", "held", "held" },
	{ "tx", "own_cc", "own_cc" },
	{ "rx", "last_ns", "last_rx_ns" },
	{ "rx", "fb_ns", "last_fb_ns" },
	{ "rx", "fb_rx_ns", "fb_rx_ns" },
	{ "rx", "feedbacks", "feedbacks" },
	{ "rx", "count_ns", "count_next_ns" },
	{ "rx", "counted", "counted" },
	{ "rx", "lock", "lock" },
	{ "rx", "flows", "flows" },
	{ "rx", "fb_seq", "fb_seq" },
	{ "rx", "form", "form" },
	{ "rx", "told_hops", "told_hops" },
	{ "rx", "own_port", "own_port" },
	{ "rx", "kept", "rx_kept" },
	{ "rx", "fb_probe", "fb_probe" },
	{ "rx", "voq_in", "voq_in" },
	{ "rx", "voq_pod", "voq_pod" },
	{ "wnd", "edge_ns", "edge_ns" },
	{ "wnd", "asked_ns", "asked_ns" },
	{ "wnd", "edge", "edge" },
	{ "wnd", "snd_una", "snd_una" },
	{ "wnd", "grant_max", "grant_max" },
	{ "wnd", "seq_known", "seq_known" },
	{ "wnd", "wscale", "wscale" },
	{ "wnd", "wscale_known", "wscale_known" },
	{ "auth", "telem_seq", "telem_seq" },
	{ "auth", "telem_ns", "telem_ns" },
	{ "auth", "echo_seq", "echo_seq" },
	{ "auth", "probe_seq", "probe_seq" },
	{ "auth", "reply_seq", "reply_seq" },
	{ "auth", "asked_seq", "asked_seq" },
	{ "voq", "rate_bps", "hop_rate_bps" },
	{ "voq", "mark", "voq_mark" },
	{ "voq", "asked", "voq_asked" },
	{ "voq", "merged", "voq_merged" },
	{ "voq", "prefixlen", "voq_prefixlen" },
	{ "voq", "count_mark", "count_mark" },
	{ "delay", "timed", "timed" },
	{ "delay", "probed", "probed" },
	{ "delay", "timed_count", "timed_count" },
	{ "delay", "sample_ns", "delay_ns" },
};

static int is_group(const char *member)
{
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].group, member))
			return 1;
	return 0;
}

/* The lasting name, or NULL: then it is "group.member". */
static const char *name_find(const char *group, const char *member)
{
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].group, group) && !strcmp(names[i].member, member))
			return names[i].name;
	return NULL;
}

/* A member of the copy; adding to the copy moves its memory, so each is looked up anew. */
static struct btf_member *member_at(const struct btf *btf, __u32 id, unsigned int i)
{
	return &btf_members(btf__type_by_id(btf, id))[i];
}

static __u32 bits_at(const struct btf *btf, __u32 id, unsigned int i)
{
	return btf_member_bit_offset(btf__type_by_id(btf, id), i);
}

static int group_add(struct btf *btf, __u32 group_id, const char *group, __u32 bits)
{
	unsigned int i, n = btf_vlen(btf__type_by_id(btf, group_id));
	char name[64], dotted[192];
	int err = 0;

	for (i = 0; !err && i < n; i++) {
		const struct btf_member *m = member_at(btf, group_id, i);

		snprintf(name, sizeof(name), "%s", btf__name_by_offset(btf, m->name_off) ?: "");
		snprintf(dotted, sizeof(dotted), "%s.%s", group, name);
		err = btf__add_field(btf, name_find(group, name) ?: dotted, m->type, bits + bits_at(btf, group_id, i), 0);
	}
	return err;
}

/* Adds a second struct flow to the end of the copy, without groups: its id, or -errno. */
static int flow_flatten(struct btf *btf, __u32 id)
{
	unsigned int i, n = btf_vlen(btf__type_by_id(btf, id));
	int flat = btf__add_struct(btf, "flow", btf__type_by_id(btf, id)->size), err = 0;
	char name[128];

	for (i = 0; flat > 0 && !err && i < n; i++) {
		const struct btf_member *m = member_at(btf, id, i);

		snprintf(name, sizeof(name), "%s", btf__name_by_offset(btf, m->name_off) ?: "");
		err = is_group(name) ? group_add(btf, m->type, name, bits_at(btf, id, i)) :
					      btf__add_field(btf, name, m->type, bits_at(btf, id, i), 0);
	}
	return flat < 0 ? flat : err ?: flat;
}

static int flows_flatten(struct btf *btf)
{
	__u32 key, value;
	int err = layout_map(btf, "flows", &key, &value), flat, pointer;

	if (err)
		return err;
	flat = flow_flatten(btf, value);
	pointer = flat < 0 ? flat : btf__add_ptr(btf, flat);
	return pointer < 0 ? pointer : layout_map_value_set(btf, "flows", pointer);
}

struct btf *layout_published(const struct btf *own)
{
	struct btf *copy = btf__new_empty();
	int err;

	if (!copy)
		return NULL;
	btf__set_pointer_size(copy, btf__pointer_size(own));
	err = btf__add_btf(copy, own);
	if (err > 0)
		err = flows_flatten(copy);
	if (!err)
		return copy;
	btf__free(copy);
	errno = -err;
	return NULL;
}

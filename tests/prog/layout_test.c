// SPDX-License-Identifier: GPL-2.0-only
/* user/lib/layout.c: values of another version, by BTFs that are made up here. */
#include <bpf/btf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "lib/layout.h"
#include "sluice.skel.h"
#include "world.h"

TestSuite(layout, .timeout = 20);

static struct btf *from, *to;
static int u8_id, u32_id, u64_id; /* the same in both */

static void types(struct btf *btf)
{
	u8_id = btf__add_int(btf, "unsigned char", 1, 0);
	u32_id = btf__add_int(btf, "unsigned int", 4, 0);
	u64_id = btf__add_int(btf, "unsigned long long", 8, 0);
}

static void make(void)
{
	from = btf__new_empty();
	to = btf__new_empty();
	types(from);
	types(to);
}

/* The members of a struct, one after another, to the one without a name. */
struct m {
	const char *name;
	int id, bytes;
};

static int struct_of(struct btf *btf, const char *name, const struct m *m)
{
	int bytes = 0, at = 0, i, id;

	for (i = 0; m[i].name; i++)
		bytes += m[i].bytes;
	id = btf__add_struct(btf, name, bytes);
	for (i = 0; m[i].name; at += m[i++].bytes)
		cr_assert_eq(btf__add_field(btf, m[i].name, m[i].id, at * 8, 0), 0);
	return id;
}

#define STRUCT(btf, name, ...) struct_of(btf, name, (const struct m[]){ __VA_ARGS__, {} })

static struct layout_plan plan(int from_id, int to_id, const char *const *anew)
{
	struct layout_plan p;

	expect_eq(layout_plan(&p, from, from_id, to, to_id, anew), 0);
	return p;
}

Test(layout, what_is_the_same_is_the_same, .init = make)
{
	int a = STRUCT(from, "flow", { "w", u64_id, 8 }, { "mss", u32_id, 4 }, { "flags", u32_id, 4 });
	int b = STRUCT(to, "flow", { "w", btf__add_typedef(to, "__u64", u64_id), 8 }, { "mss", u32_id, 4 },
		       { "flags", btf__add_enum(to, "held", 4), 4 });
	struct layout_plan p = plan(a, b, NULL);

	cr_assert(p.same);
	expect_eq(p.n, 1);
	expect_eq(p.copy[0].bytes, 16);
	layout_free(&p);
}

Test(layout, members_are_found_by_name, .init = make)
{
	const struct { __u64 w; __u32 mss, gone; } __attribute__((packed)) had = { 1ULL << 40, 1448, 7 };
	struct { __u32 fresh, mss; __u64 w; } __attribute__((packed)) has;
	int a = STRUCT(from, "flow", { "w", u64_id, 8 }, { "mss", u32_id, 4 }, { "gone", u32_id, 4 });
	int b = STRUCT(to, "flow", { "fresh", u32_id, 4 }, { "mss", u32_id, 4 }, { "w", u64_id, 8 });
	struct layout_plan p = plan(a, b, NULL);

	memset(&has, 0xff, sizeof(has));
	layout_apply(&p, &had, &has);
	cr_assert(!p.same);
	expect_eq(has.w, 1ULL << 40);
	expect_eq(has.mss, 1448);
	expect_eq(has.fresh, 0);
	cr_assert_str_eq(p.lost, "gone");
	cr_assert_str_eq(p.added, "fresh");
	layout_free(&p);
}

/* The same names and sizes at other places are another layout, too. */
Test(layout, order_counts, .init = make)
{
	int a = STRUCT(from, "x", { "a", u32_id, 4 }, { "b", u32_id, 4 }), b = STRUCT(to, "x", { "b", u32_id, 4 }, { "a", u32_id, 4 });
	struct layout_plan p = plan(a, b, NULL);
	const __u32 had[2] = { 1, 2 };
	__u32 has[2];

	layout_apply(&p, had, has);
	cr_assert(!p.same);
	expect_eq(has[0], 2);
	expect_eq(has[1], 1);
	layout_free(&p);
}

Test(layout, structs_in_arrays_in_structs, .init = make)
{
	const struct { __u32 n; struct { __u32 bps, qlen; } hop[2]; } had = { 2, { { 10, 20 }, { 30, 40 } } };
	struct { struct { __u32 qlen, path, bps; } hop[3]; __u32 n; } has;
	int hop = STRUCT(from, "hop", { "bps", u32_id, 4 }, { "qlen", u32_id, 4 });
	int hop_to = STRUCT(to, "hop", { "qlen", u32_id, 4 }, { "path", u32_id, 4 }, { "bps", u32_id, 4 });
	int a = STRUCT(from, "cc", { "n", u32_id, 4 }, { "hop", btf__add_array(from, u32_id, hop, 2), 16 });
	int b = STRUCT(to, "cc", { "hop", btf__add_array(to, u32_id, hop_to, 3), 36 }, { "n", u32_id, 4 });
	struct layout_plan p = plan(a, b, NULL);

	layout_apply(&p, &had, &has);
	expect_eq(has.n, 2);
	expect_eq(has.hop[0].bps, 10);
	expect_eq(has.hop[1].bps, 30);
	expect_eq(has.hop[1].qlen, 40);
	expect_eq(has.hop[1].path, 0);
	expect_eq(has.hop[2].bps, 0);
	cr_assert_str_eq(p.added, "hop, hop.path");
	cr_assert_str_eq(p.lost, "");
	layout_free(&p);
}

/* A number of another size may mean another thing, and half of it surely does. */
Test(layout, other_kinds_are_not_carried, .init = make)
{
	int inner = STRUCT(to, "inner", { "x", u32_id, 4 });
	int a = STRUCT(from, "x", { "ns", u64_id, 8 }, { "id", u32_id, 4 }, { "keep", u32_id, 4 });
	int b = STRUCT(to, "x", { "ns", u32_id, 4 }, { "id", inner, 4 }, { "keep", u32_id, 4 });
	struct layout_plan p = plan(a, b, NULL);

	expect_eq(p.n, 1);
	expect_eq(p.copy[0].from, 12);
	expect_eq(p.copy[0].to, 8);
	cr_assert_str_eq(p.lost, "ns, id");
	cr_assert_str_eq(p.added, "ns, id");
	layout_free(&p);
}

Test(layout, a_lock_is_not_carried_and_padding_is_not_told_of, .init = make)
{
	static const char *const anew[] = { "lock", "" };
	int a = STRUCT(from, "x", { "lock", u32_id, 4 }, { "w", u32_id, 4 }, { "pad", u64_id, 8 });
	int b = STRUCT(to, "x", { "lock", u32_id, 4 }, { "w", u32_id, 4 }, { "pad2", u32_id, 4 });
	struct layout_plan p = plan(a, b, anew);
	const __u32 had[4] = { 1, 2 };
	__u32 has[3];

	layout_apply(&p, had, has);
	expect_eq(has[0], 0);
	expect_eq(has[1], 2);
	cr_assert_str_eq(p.lost, "");
	cr_assert_str_eq(p.added, "");
	layout_free(&p);
}

/* The writer of a pinned file is unknown. */
Test(layout, a_layout_that_is_none, .init = make)
{
	struct layout_plan p;
	int b = STRUCT(to, "x", { "w", u64_id, 8 }), a = STRUCT(from, "x", { "w", 99, 8 });
	int beyond;

	expect_eq(layout_plan(&p, from, a, to, b, NULL), -EPROTO);
	expect_eq(layout_plan(&p, from, 77, to, b, NULL), -EPROTO);
	beyond = btf__add_struct(from, "y", 8);
	btf__add_field(from, "w", u64_id, 64, 0);
	expect_eq(layout_plan(&p, from, beyond, to, b, NULL), -EPROTO);
}

Test(layout, maps_and_programs_are_found, .init = make)
{
	int flow = STRUCT(from, "flow", { "w", u64_id, 8 });
	int map = STRUCT(from, "", { "key", btf__add_ptr(from, u32_id), 8 }, { "value", btf__add_ptr(from, flow), 8 });
	int var = btf__add_var(from, "flows", BTF_VAR_GLOBAL_ALLOCATED, map);
	__u32 key, value;

	btf__add_datasec(from, ".maps", 16);
	btf__add_datasec_var_info(from, var, 0, 16);
	btf__add_func(from, "egress", BTF_FUNC_GLOBAL, btf__add_func_proto(from, u32_id));
	expect_eq(layout_map(from, "flows", &key, &value), 0);
	expect_eq(key, u32_id);
	expect_eq(value, flow);
	expect_eq(layout_map(from, "hosts", &key, &value), -ENOENT);
	expect_eq(layout_map(to, "flows", &key, &value), -ENOENT);
	cr_assert(layout_knows(from, "flows") && layout_knows(from, "egress") && !layout_knows(from, "flow"));
}

/* Members of struct flow in version 12, before there were groups, that there are still; their bytes. */
static const struct {
	const char *name;
	__u32 bytes;
} flow_12[] = {
	{ "tx_bytes", 8 },	{ "clock_ns", 8 },
	{ "last_tx_ns", 8 },	{ "last_rx_ns", 8 },
	{ "last_fb_ns", 8 },	{ "probe_ns", 8 },
	{ "asked_ns", 8 },	{ "fb_rx_ns", 8 },
	{ "feedbacks", 8 },	{ "flags", 4 },
	{ "epoch", 4 },		{ "lock", 4 },
	{ "ifindex", 4 },	{ "mtu", 4 },
	{ "port_flags", 4 },	{ "mss", 4 },
	{ "segment", 4 },	{ "source", 4 },
	{ "edge_ns", 8 },	{ "edge", 4 },
	{ "seq_end", 4 },	{ "pod_ifindex", 4 },
	{ "seq_known", 1 },	{ "wscale", 1 },
	{ "wscale_known", 1 },	{ "own_cc", 1 },
	{ "form", 1 },		{ "told_hops", 1 },
	{ "own_port", 1 },	{ "rx_kept", 1 },
	{ "encoding", 1 },	{ "telemetry", 1 },
	{ "fb_probe", 1 },	{ "flows", 4 },
	{ "fb_seq", 4 },	{ "count_mark", 4 },
	{ "feedback", 4 },	{ "flows_expected", 4 },
	{ "flows_fixed", 4 },	{ "telem_tx_ns", 8 },
	{ "count_next_ns", 8 }, { "counted", 4 },
	{ "hiercc", 1 },	{ "hpcc_off", 1 },
	{ "held", 1 },		{ "voq_prefixlen", 1 },
	{ "telem_seq", 8 },	{ "telem_ns", 8 },
	{ "echo_seq", 8 },	{ "probe_seq", 8 },
	{ "reply_seq", 8 },	{ "params", 64 },
	{ "cc", 192 },		{ "echo", 72 },
	{ "timed", 32 },	{ "probed", 8 },
	{ "timed_count", 4 },	{ "delay_ns", 4 },
	{ "hop_rate_bps", 8 },	{ "voq_mark", 4 },
	{ "voq_asked", 4 },	{ "voq_merged", 1 },
	{ "voq_in", 1 },	{ "voq_pod", 1 },
};

/* A change that removes a member, or its size, has to state here that it is not carried any more. */
Test(layout, what_is_published_of_a_flow_has_the_names_of_version_12)
{
	struct sluice_bpf *skel = sluice_bpf__open();
	struct btf *btf = skel ? layout_published(bpf_object__btf(skel->obj)) : NULL;
	const struct btf_member *m;
	__u32 key, value;
	unsigned int i;

	cr_assert(btf, "publishing the layout: %s", strerror(errno));
	expect_eq(layout_map(btf, "flows", &key, &value), 0);
	expect_eq(btf__resolve_size(btf, value), sizeof(struct flow));
	for (i = 0; i < sizeof(flow_12) / sizeof(flow_12[0]); i++) {
		m = layout_member(btf, value, flow_12[i].name);
		cr_assert(m, "%s is not there", flow_12[i].name);
		cr_assert_eq(btf__resolve_size(btf, m->type), flow_12[i].bytes, "%s has %lld bytes", flow_12[i].name,
			     (long long)btf__resolve_size(btf, m->type));
	}
	expect_eq(layout_member(btf, value, "tx_bytes")->offset, 8 * offsetof(struct flow, tx.bytes));
	expect_eq(layout_member(btf, value, "delay_ns")->offset, 8 * offsetof(struct flow, delay.sample_ns));
	cr_assert(layout_member(btf, value, "path.share"), "what has no name of its own is named by its group");
	cr_assert(!layout_member(btf, value, "tx"), "a group is not published as one");
	btf__free(btf);
	sluice_bpf__destroy(skel);
}

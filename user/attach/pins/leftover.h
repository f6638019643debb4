/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_LEFTOVER_H
#define SLUICE_ATTACH_LEFTOVER_H
#include <bpf/libbpf.h>
#include <linux/types.h>

/*
 * The pin directory that has this map under this name, among all in this bpffs mount down to the third level. 0: none.
 */
int map_owner_find(const char *name, __u32 map, char *dir, size_t size);

/* A filter at our place, or a link at tcx, whose program is ours by name. */
struct left_filter {
	__u32 ifindex, stats_id;
	__u32 tcx_prog; /* at tcx: the program; 0: it is a filter */
	enum bpf_tc_attach_point where;
	char program[16], owner[256]; /* where its counters are pinned; "": nowhere */
	__u64 heartbeat_ns;	      /* when the daemon whose maps it holds was last alive */
};

/* Fills in program, stats_id and heartbeat_ns, from the maps that the program holds; -ENOENT: it is not ours. */
int left_filter_describe(struct left_filter *f, __u32 prog_id);

struct leftover {
	const char *pin_dir;
	__u32 stats_id;
	__u32 old_id;	/* of older counters, whose programs a killed adoption has not replaced; 0: none */
	int interfaces; /* of this network namespace */
};

void leftover_find(const char *pin_dir, struct leftover *l);
/* Whether there is any, in any network namespace. */
int leftover_anywhere(const struct leftover *l);
/* For links_each(). */
void leftover_egress_remove(__u32 ifindex, void *ctx);
void leftover_xdp_remove(__u32 ifindex, void *ctx);
void leftover_ingress_remove(__u32 ifindex, void *ctx);

#endif

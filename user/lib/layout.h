/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_LAYOUT_H
#define SLUICE_LAYOUT_H
/*
 * Converts a value of one version to another: member by member, by name. Members that both have, in the same size, are
 * carried, through structs and arrays; members that only the new one has are 0.
 */
#include <bpf/btf.h>
#include "lib/util.h"

struct layout_copy {
	__u32 from, to, bytes;
};

struct layout_plan {
	struct layout_copy *copy; /* adjacent ranges are merged */
	unsigned int n, room;
	__u32 from_bytes, to_bytes;
	int same;	 /* the layouts are equal */
	char lost[192];	 /* members that are not carried: "cc.u, mss" */
	char added[192]; /* members that start at 0 */
};

/*
 * Plans the conversion between types of two BTFs. anew: members of the outermost struct that are never carried, ending
 * with ""; or NULL. 0, -ENOMEM, or -EPROTO if a BTF is malformed.
 */
int layout_plan(struct layout_plan *p, const struct btf *from, __u32 from_id, const struct btf *to, __u32 to_id,
		const char *const *anew);
/* to: all of its to_bytes are overwritten. */
void layout_apply(const struct layout_plan *p, const void *from, void *to);
void layout_free(struct layout_plan *p);

/* The types of a map's key and value in the object's BTF. 0, or -ENOENT. */
int layout_map(const struct btf *btf, const char *name, __u32 *key_id, __u32 *value_id);
/* Whether the object has a map, or a program, of this name. */
int layout_knows(const struct btf *btf, const char *name);
/* A member of a struct, or NULL. */
const struct btf_member *layout_member(const struct btf *btf, __u32 id, const char *name);

/* Sets the value type of the map of that name to the target of this pointer type. 0, or -ENOENT. */
int layout_map_value_set(struct btf *btf, const char *name, __u32 pointer_id);

/*
 * The BTF that is pinned for other versions, made from the object's: a copy in which the members of a flow's groups are
 * in the flow itself, by their lasting names (layout_names.c). NULL with errno; the caller frees it.
 */
struct btf *layout_published(const struct btf *own);

#endif

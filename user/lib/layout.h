/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_LAYOUT_H
#define SLUICE_LAYOUT_H
/*
 * How a value of one version becomes one of another: member by member, by name. What both know and hold in the same
 * size is carried, through structs and arrays; what only the new one knows is 0.
 */
#include <bpf/btf.h>
#include "lib/util.h"

struct layout_copy {
	__u32 from, to, bytes;
};

struct layout_plan {
	struct layout_copy *copy; /* without gaps where the bytes lie without gaps */
	unsigned int n, room;
	__u32 from_bytes, to_bytes;
	int same;	 /* it is the same layout */
	char lost[192];	 /* members that are not carried: "cc.u, mss", */
	char added[192]; /*   and those that begin at 0 */
};

/*
 * Types of two BTFs. anew: members of the outermost struct that are not carried all the same, "" in the end; or NULL.
 * 0, -ENOMEM, or -EPROTO where a BTF is not sound.
 */
int layout_plan(struct layout_plan *p, const struct btf *from, __u32 from_id, const struct btf *to, __u32 to_id,
		const char *const *anew);
/* to: of to_bytes, is overwritten from end to end. */
void layout_apply(const struct layout_plan *p, const void *from, void *to);
void layout_free(struct layout_plan *p);

/* The types of a map's key and value in the object's BTF. 0, or -ENOENT. */
int layout_map(const struct btf *btf, const char *name, __u32 *key_id, __u32 *value_id);
/* Does the object have a map, or a program, of this name? */
int layout_knows(const struct btf *btf, const char *name);
/* A member of a struct, or NULL. */
const struct btf_member *layout_member(const struct btf *btf, __u32 id, const char *name);

/* Gives the map of that name another type of value, of which this is a pointer. 0, or -ENOENT. */
int layout_map_value_set(struct btf *btf, const char *name, __u32 pointer_id);

/*
 * The BTF that is pinned for other versions, made from that of the object: a copy in which the members of a flow's groups
 * stand in the flow itself, by the names that last (layout_names.c). NULL with errno; the caller frees it.
 */
struct btf *layout_published(const struct btf *own);

#endif

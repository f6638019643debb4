// SPDX-License-Identifier: GPL-2.0-only
/* Converts values of another version, by the names of their members. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/layout.h"

#define LAYOUT_DEPTH 16 /* deeper than any struct of ours */

static const char *name_of(const struct btf *btf, __u32 offset)
{
	return btf__name_by_offset(btf, offset) ?: "";
}

/* The type without typedefs and qualifiers; NULL if there is none. */
static const struct btf_type *type_of(const struct btf *btf, __u32 *id)
{
	int real = btf__resolve_type(btf, *id);

	if (real <= 0)
		return NULL;
	*id = real;
	return btf__type_by_id(btf, real);
}

const struct btf_member *layout_member(const struct btf *btf, __u32 id, const char *name)
{
	const struct btf_type *t = type_of(btf, &id);
	unsigned int i;

	for (i = 0; t && btf_is_composite(t) && i < btf_vlen(t); i++)
		if (!strcmp(name_of(btf, btf_members(t)[i].name_off), name))
			return &btf_members(t)[i];
	return NULL;
}

/* Padding is not listed. */
static void note(char *list, size_t size, const char *path)
{
	const char *last = strrchr(path, '.');
	size_t n = strlen(list);

	if (strncmp(path, "pad", 3) && (!last || strncmp(last + 1, "pad", 3)))
		snprintf(list + n, size - n, "%s%s", n ? ", " : "", path);
}

static int copy_add(struct layout_plan *p, __u32 from, __u32 to, __u32 bytes)
{
	struct layout_copy *last = p->n ? &p->copy[p->n - 1] : NULL;

	if (from + bytes > p->from_bytes || to + bytes > p->to_bytes)
		return -EPROTO;
	if (from != to)
		p->same = 0;
	if (last && last->from + last->bytes == from && last->to + last->bytes == to) {
		last->bytes += bytes;
		return 0;
	}
	if (p->n == p->room) {
		unsigned int room = p->room ? 2 * p->room : 64;
		struct layout_copy *more = realloc(p->copy, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		p->copy = more;
		p->room = room;
	}
	p->copy[p->n++] = (struct layout_copy){ from, to, bytes };
	return 0;
}

struct side {
	const struct btf *btf;
	__u32 id, at; /* the current type, and its first byte */
};

static int plan_type(struct layout_plan *p, struct side from, struct side to, const char *path, int depth);

/* Bit-fields, which no map of ours has, are not carried. */
static int is_whole(const struct btf_member *m, const struct btf_type *t)
{
	__u32 i = m - btf_members(t);

	return !btf_member_bitfield_size(t, i) && btf_member_bit_offset(t, i) % 8 == 0;
}

static int plan_struct(struct layout_plan *p, struct side from, struct side to, const char *path,
		       const char *const *anew, int depth)
{
	const struct btf_type *f = btf__type_by_id(from.btf, from.id), *t = btf__type_by_id(to.btf, to.id);
	char name[128];
	unsigned int i;
	int err = 0, k;

	for (i = 0; !err && i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i], *had;
		const char *own = name_of(to.btf, m->name_off);

		snprintf(name, sizeof(name), "%s%s%s", path, *path ? "." : "", own);
		for (k = 0; anew && *anew[k] && strcmp(anew[k], own); k++)
			;
		had = anew && *anew[k] ? NULL : layout_member(from.btf, from.id, own);
		if (had && is_whole(had, f) && is_whole(m, t)) {
			struct side a = { from.btf, had->type,
					  from.at + btf_member_bit_offset(f, had - btf_members(f)) / 8 };
			struct side b = { to.btf, m->type, to.at + btf_member_bit_offset(t, i) / 8 };

			err = plan_type(p, a, b, name, depth + 1);
		} else if (!anew || !*anew[k]) {
			p->same = 0;
			note(p->added, sizeof(p->added), name);
		}
	}
	for (i = 0; i < btf_vlen(f); i++) {
		const char *own = name_of(from.btf, btf_members(f)[i].name_off);

		if (layout_member(to.btf, to.id, own))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", path, *path ? "." : "", own);
		p->same = 0;
		note(p->lost, sizeof(p->lost), name);
	}
	return err;
}

static int plan_array(struct layout_plan *p, struct side from, struct side to, const char *path, int depth)
{
	const struct btf_array *f = btf_array(btf__type_by_id(from.btf, from.id));
	const struct btf_array *t = btf_array(btf__type_by_id(to.btf, to.id));
	__s64 from_bytes = btf__resolve_size(from.btf, f->type), to_bytes = btf__resolve_size(to.btf, t->type);
	__u32 n = f->nelems < t->nelems ? f->nelems : t->nelems, i;
	int err = 0;

	if (from_bytes <= 0 || to_bytes <= 0)
		return -EPROTO;
	if (f->nelems != t->nelems) {
		p->same = 0;
		if (f->nelems > n)
			note(p->lost, sizeof(p->lost), path);
		else
			note(p->added, sizeof(p->added), path);
	}
	from.id = f->type;
	to.id = t->type;
	for (i = 0; !err && i < n; i++) {
		err = plan_type(p, from, to, i ? "pad" : path, depth + 1); /* reported once, for the first element */
		from.at += from_bytes;
		to.at += to_bytes;
	}
	return err;
}

static int plan_type(struct layout_plan *p, struct side from, struct side to, const char *path, int depth)
{
	const struct btf_type *f = type_of(from.btf, &from.id), *t = type_of(to.btf, &to.id);
	__s64 from_bytes = btf__resolve_size(from.btf, from.id), to_bytes = btf__resolve_size(to.btf, to.id);

	if (!f || !t || depth > LAYOUT_DEPTH || from_bytes < 0 || to_bytes < 0)
		return -EPROTO;
	if (btf_is_struct(f) && btf_is_struct(t))
		return plan_struct(p, from, to, path, NULL, depth);
	if (btf_is_array(f) && btf_is_array(t))
		return plan_array(p, from, to, path, depth);
	/* A number, with or without enum names; or a union, whose content is unknown. */
	if (from_bytes == to_bytes && (btf_is_union(f) == btf_is_union(t)) && !btf_is_struct(f) && !btf_is_struct(t) &&
	    !btf_is_array(f) && !btf_is_array(t))
		return copy_add(p, from.at, to.at, to_bytes);
	p->same = 0;
	note(p->lost, sizeof(p->lost), path);
	note(p->added, sizeof(p->added), path);
	return 0;
}

int layout_plan(struct layout_plan *p, const struct btf *from, __u32 from_id, const struct btf *to, __u32 to_id,
		const char *const *anew)
{
	struct side a = { from, from_id, 0 }, b = { to, to_id, 0 };
	__s64 from_bytes = btf__resolve_size(from, from_id), to_bytes = btf__resolve_size(to, to_id);
	const struct btf_type *f = type_of(from, &a.id), *t = type_of(to, &b.id);
	int err;

	*p = (struct layout_plan){ .same = from_bytes == to_bytes };
	if (!f || !t || from_bytes <= 0 || to_bytes <= 0)
		return -EPROTO;
	p->from_bytes = from_bytes;
	p->to_bytes = to_bytes;
	err = btf_is_struct(f) && btf_is_struct(t) ? plan_struct(p, a, b, "", anew, 0) : plan_type(p, a, b, "value", 0);
	if (err)
		layout_free(p);
	return err;
}

void layout_apply(const struct layout_plan *p, const void *from, void *to)
{
	unsigned int i;

	memset(to, 0, p->to_bytes);
	for (i = 0; i < p->n; i++)
		memcpy((char *)to + p->copy[i].to, (const char *)from + p->copy[i].from, p->copy[i].bytes);
}

void layout_free(struct layout_plan *p)
{
	free(p->copy);
	p->copy = NULL;
	p->n = p->room = 0;
}

/* Maps are variables in a section of their own. */
static const struct btf_type *map_var_find(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, ".maps", BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, id) : NULL, *var;
	unsigned int i;

	for (i = 0; section && i < btf_vlen(section); i++) {
		var = btf__type_by_id(btf, btf_var_secinfos(section)[i].type);
		if (var && btf_is_var(var) && !strcmp(name_of(btf, var->name_off), name))
			return var;
	}
	return NULL;
}

int layout_map(const struct btf *btf, const char *name, __u32 *key_id, __u32 *value_id)
{
	const struct btf_type *var = map_var_find(btf, name), *pointer;
	static const char *const names[] = { "key", "value" };
	__u32 *const ids[] = { key_id, value_id };
	const struct btf_member *m;
	int i;

	for (i = 0; i < 2; i++) {
		m = var ? layout_member(btf, var->type, names[i]) : NULL;
		pointer = m ? btf__type_by_id(btf, m->type) : NULL;
		if (!pointer || !btf_is_ptr(pointer))
			return -ENOENT;
		*ids[i] = pointer->type;
	}
	return 0;
}

int layout_map_value_set(struct btf *btf, const char *name, __u32 pointer_id)
{
	const struct btf_type *var = map_var_find(btf, name);
	struct btf_member *m = var ? (struct btf_member *)layout_member(btf, var->type, "value") : NULL;

	if (!m)
		return -ENOENT;
	m->type = pointer_id;
	return 0;
}

int layout_knows(const struct btf *btf, const char *name)
{
	return map_var_find(btf, name) || btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

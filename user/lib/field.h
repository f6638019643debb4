/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FIELD_H
#define SLUICE_FIELD_H
/* Struct members that a table names: unsigned integers of 1, 2, 4 or 8 bytes. */
#include <stddef.h>
#include "sluice/types.h"

struct field {
	size_t offset, size; /* bytes; size 0: there is none */
};

#define FIELD(type, member)                                         \
	{                                                           \
		offsetof(type, member), sizeof(((type *)0)->member) \
	}

/* A member that points to entries. */
#define FIELD_POINTER(type, member)                    \
	{                                              \
		offsetof(type, member), sizeof(void *) \
	}

static inline void *field_at(void *of, const struct field *f)
{
	return (char *)of + f->offset;
}

static inline __u64 field_get(const void *of, const struct field *f)
{
	const void *at = (const char *)of + f->offset;

	return f->size == 8 ? *(const __u64 *)at :
	       f->size == 4 ? *(const __u32 *)at :
	       f->size == 2 ? *(const __u16 *)at :
			      *(const __u8 *)at;
}

static inline void field_set(void *of, const struct field *f, __u64 value)
{
	if (f->size == 8)
		*(__u64 *)field_at(of, f) = value;
	else if (f->size == 4)
		*(__u32 *)field_at(of, f) = value;
	else if (f->size == 2)
		*(__u16 *)field_at(of, f) = value;
	else if (f->size == 1)
		*(__u8 *)field_at(of, f) = value;
}

#endif

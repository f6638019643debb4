/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H
/*
 * Shared by the targets of libFuzzer. A target reads its input as a sequence of operations: numbers come from the
 * front, and are 0 where the input has ended, so that every input means something and a shorter one means less.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sluice/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise of the code under test. It is what makes a wrong number a crash that libFuzzer keeps the input of. */
#define FUZZ_ASSERT(condition)                                                                                        \
	do {                                                                                                          \
		if (!(condition))                                                                                     \
			fuzz_failed(__FILE__, __LINE__, #condition);                                                  \
	} while (0)

__attribute__((cold, noreturn)) static inline void fuzz_failed(const char *file, int line, const char *condition)
{
	dprintf(2, "%s:%d: broken: %s\n", file, line, condition);
	__builtin_trap();
}

struct fuzz {
	const uint8_t *at;
	size_t left;
};

static inline __u64 fuzz_bytes(struct fuzz *f, size_t bytes)
{
	__u64 v = 0;

	if (bytes > f->left)
		bytes = f->left;
	memcpy(&v, f->at, bytes);
	f->at += bytes;
	f->left -= bytes;
	return v;
}

static inline __u8 fuzz_u8(struct fuzz *f)
{
	return fuzz_bytes(f, 1);
}

static inline __u16 fuzz_u16(struct fuzz *f)
{
	return fuzz_bytes(f, 2);
}

static inline __u32 fuzz_u32(struct fuzz *f)
{
	return fuzz_bytes(f, 4);
}

static inline __u64 fuzz_u64(struct fuzz *f)
{
	return fuzz_bytes(f, 8);
}

/* Any size with the same chance, in [0, 2^63): the first byte gives the number of bits, and alone makes a power of two. */
static inline __u64 fuzz_any(struct fuzz *f)
{
	__u8 bits = fuzz_u8(f) & 0x7f;

	if (bits < 64)
		return (1ULL << bits) >> 1; /* 0, 1, 2, 4 ... 2^62 */
	return fuzz_bytes(f, (bits - 64 + 7) / 8) & ((1ULL << (bits - 64)) - 1);
}

/* In [least, most]. Larger values are reduced to the remainder, so both ends occur often. */
static inline __u64 fuzz_in(struct fuzz *f, __u64 least, __u64 most)
{
	__u64 v = fuzz_any(f);

	if (v <= least)
		return least;
	if (v >= most)
		return v % 2 ? most : least + v % (most - least + 1);
	return v;
}

static inline int fuzz_coin(struct fuzz *f)
{
	return fuzz_u8(f) & 1;
}

/* The next bytes themselves, at most that number; *bytes: how many there are. */
static inline const uint8_t *fuzz_rest(struct fuzz *f, size_t most, size_t *bytes)
{
	const uint8_t *at = f->at;

	*bytes = f->left < most ? f->left : most;
	f->at += *bytes;
	f->left -= *bytes;
	return at;
}

/* The next operation of the input: one of n, or -1 when the input has ended. */
static inline int fuzz_op(struct fuzz *f, int n)
{
	return f->left ? fuzz_u8(f) % n : -1;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIPHASH_H
#define SLUICE_SIPHASH_H
/*
 * SipHash-2-4 (Aumasson and Bernstein, INDOCRYPT 2012) with a tag of 64 bits: it proves that a message that changes
 * state comes from a holder of the key. Messages are whole 32-bit words, up to a maximum that the caller gives: the
 * verifier sees where the loop ends.
 *
 * No branch and no address depends on the key or on the text; only the length, which is public.
 *
 * Each step can be undone: the state after a known text reveals the key. A text begins with addresses, so a state kept
 * from packet to packet is as secret as the key, and must not be in a pinned map.
 */
#include "sluice/types.h"

struct siphash_key {
	__u64 k0, k1; /* the 16 bytes of the key, each half little endian */
};

static inline __u64 siphash_rotate(__u64 v, int bits)
{
	return v << bits | v >> (64 - bits);
}

/* SipRound (section 2.2, figure 2.1). */
static inline void siphash_round(__u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = siphash_rotate(v[1], 13) ^ v[0];
	v[3] = siphash_rotate(v[3], 16) ^ v[2];
	v[0] = siphash_rotate(v[0], 32) + v[3];
	v[2] += v[1];
	v[1] = siphash_rotate(v[1], 17) ^ v[2];
	v[3] = siphash_rotate(v[3], 21) ^ v[0];
	v[2] = siphash_rotate(v[2], 32);
}

/* One block of the message: c = 2 rounds. */
static inline void siphash_block(__u64 v[4], __u64 m)
{
	v[3] ^= m;
	siphash_round(v);
	siphash_round(v);
	v[0] ^= m;
}

static inline void siphash_begin(__u64 v[4], const struct siphash_key *key)
{
	v[0] = key->k0 ^ 0x736f6d6570736575ULL;
	v[1] = key->k1 ^ 0x646f72616e646f6dULL;
	v[2] = key->k0 ^ 0x6c7967656e657261ULL;
	v[3] = key->k1 ^ 0x7465646279746573ULL;
}

/* The tag of a message of `words` words; m: the last of them, if their number is odd, or 0. */
static inline __u64 siphash_end(__u64 v[4], __u64 m, __u32 words)
{
	int i;

	siphash_block(v, m | (__u64)words << 58); /* the length in bytes on top */
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++) /* d = 4 rounds */
		siphash_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/*
 * The tag of a message of `words` words, at most `most`: a constant, the size of the array at word. word: the message
 * as it is in memory, read by a little-endian machine.
 */
static inline __u64 siphash(const struct siphash_key *key, const __u32 *word, __u32 words, __u32 most)
{
	__u64 v[4], m = 0;
	__u32 i;

	siphash_begin(v, key);
	if (words > most)
		words = most;
	for (i = 0; i + 1 < most && i + 1 < words; i += 2)
		siphash_block(v, word[i] | (__u64)word[i + 1] << 32);
	if (i < most && i < words)
		m = word[i];
	return siphash_end(v, m, words);
}

#endif

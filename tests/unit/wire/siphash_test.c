// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/wire/siphash.h"

TestSuite(siphash, .timeout = 60);

/*
 * The reference implementation's vectors (vectors.h of its authors): key 00 01 .. 0f, message
 * 00 01 .. of 0, 4, 8 .. 60 bytes.
 */
#define MAX_WORDS 204 /* of the longest text, struct wire_batch_text */

Test(siphash, siphash__reference_vectors)
{
	static const uint64_t want[] = {
		0x726fdb47dd0e0e31, 0xcf2794e0277187b7, 0x93f5f5799a932462, 0x751e8fbc860ee5fb,
		0x3f2acc7f57c29bdb, 0xbed65cf21aa2ee98, 0xb8ad50c6f649af94, 0xde4daaaca71dc9a5,
		0x7127512f72f27cce, 0x314dffbe0815a3b4, 0x0e3ea96b5304a7d0, 0xf935451de4f21df2,
		0xe612a3cb9ecba951, 0x0a8787bf8ecb74b2, 0xb78dbfaf3a8d83bd, 0x6ca4ecb15c5f91e1,
	};
	struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	__u32 word[MAX_WORDS];
	size_t i;

	for (i = 0; i < sizeof(word); i++)
		((__u8 *)word)[i] = i;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		cr_expect_eq(siphash(&key, word, i, MAX_WORDS), want[i], "%zu bytes: %#llx", 4 * i,
			     siphash(&key, word, i, MAX_WORDS));
}

/* The paper's definition by bytes: any length, any key. */
static uint64_t model(const uint8_t key[16], const uint8_t *text, size_t bytes)
{
	uint64_t k[2], v0, v1, v2, v3, m;
	size_t block, i, blocks = bytes / 8 + 1;
	int round;

	memcpy(k, key, 16);
	v0 = k[0] ^ 0x736f6d6570736575;
	v1 = k[1] ^ 0x646f72616e646f6d;
	v2 = k[0] ^ 0x6c7967656e657261;
	v3 = k[1] ^ 0x7465646279746573;
	for (block = 0; block <= blocks; block++) {
		for (m = 0, i = 0; block < blocks && i < 8; i++)
			if (8 * block + i < bytes)
				m |= (uint64_t)text[8 * block + i] << 8 * i;
		if (block == blocks - 1)
			m |= (uint64_t)bytes << 56;
		if (block == blocks)
			v2 ^= 255;
		v3 ^= m;
		for (round = block == blocks ? 4 : 2; round; round--) {
			v0 += v1, v1 = v1 << 13 | v1 >> 51, v1 ^= v0, v0 = v0 << 32 | v0 >> 32;
			v2 += v3, v3 = v3 << 16 | v3 >> 48, v3 ^= v2;
			v0 += v3, v3 = v3 << 21 | v3 >> 43, v3 ^= v0;
			v2 += v1, v1 = v1 << 17 | v1 >> 47, v1 ^= v2, v2 = v2 << 32 | v2 >> 32;
		}
		v0 ^= m;
	}
	return v0 ^ v1 ^ v2 ^ v3;
}

Test(siphash, siphash__agrees_with_its_definition)
{
	unsigned short rng[3] = { 1, 2, 3 };
	int i, words;
	size_t b;

	for (i = 0; i < 200; i++)
		for (words = 0; words <= MAX_WORDS; words++) {
			uint8_t bytes[16];
			struct siphash_key key;
			__u32 word[MAX_WORDS];

			for (b = 0; b < sizeof(bytes); b++)
				bytes[b] = nrand48(rng);
			for (b = 0; b < sizeof(word); b++)
				((uint8_t *)word)[b] = nrand48(rng);
			memcpy(&key, bytes, sizeof(key));
			cr_assert_eq(siphash(&key, word, words, MAX_WORDS), model(bytes, (uint8_t *)word, 4 * words),
				     "%d words", words);
		}
}

Test(siphash, siphash__every_bit_of_key_text_and_length_matters)
{
	__u32 word[MAX_WORDS] = { 0 };
	struct siphash_key key = { 1, 2 };
	__u64 tag = siphash(&key, word, MAX_WORDS, MAX_WORDS);
	int bit;

	for (bit = 0; bit < 32 * MAX_WORDS; bit++) {
		word[bit / 32] ^= 1U << bit % 32;
		cr_expect_neq(siphash(&key, word, MAX_WORDS, MAX_WORDS), tag, "bit %d", bit);
		word[bit / 32] ^= 1U << bit % 32;
	}
	for (bit = 0; bit < 64; bit++) {
		key.k0 ^= 1ULL << bit;
		cr_expect_neq(siphash(&key, word, MAX_WORDS, MAX_WORDS), tag, "k0 bit %d", bit);
		key.k0 ^= 1ULL << bit;
		key.k1 ^= 1ULL << bit;
		cr_expect_neq(siphash(&key, word, MAX_WORDS, MAX_WORDS), tag, "k1 bit %d", bit);
		key.k1 ^= 1ULL << bit;
	}
	for (bit = 0; bit < MAX_WORDS; bit++)
		cr_expect_neq(siphash(&key, word, bit, MAX_WORDS), tag, "%d words of zeros", bit);
}

/* A round backwards. */
static void round_undo(__u64 v[4])
{
	v[2] = siphash_rotate(v[2], 32);
	v[1] = siphash_rotate(v[1] ^ v[2], 47);
	v[2] -= v[1];
	v[3] = siphash_rotate(v[3] ^ v[0], 43);
	v[0] = siphash_rotate(v[0] - v[3], 32);
	v[3] = siphash_rotate(v[3] ^ v[2], 48);
	v[2] -= v[3];
	v[1] = siphash_rotate(v[1] ^ v[0], 51);
	v[0] -= v[1];
}

/* Why none is kept in struct flow, though that would save half of the rounds. */
Test(siphash, siphash__a_state_after_known_text_gives_the_key_away)
{
	const struct siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	const __u64 text[5] = { 0, 0x0101530affff0000, 0, 0x0202530affff0000, 0x06901f419c };
	__u64 v[4], begin[4];
	int i;

	siphash_begin(v, &key);
	for (i = 0; i < 5; i++)
		siphash_block(v, text[i]);
	while (i--) {
		v[0] ^= text[i];
		round_undo(v);
		round_undo(v);
		v[3] ^= text[i];
	}
	siphash_begin(begin, &(struct siphash_key){ 0, 0 });
	cr_expect_eq(v[0] ^ begin[0], key.k0);
	cr_expect_eq(v[1] ^ begin[1], key.k1);
}

/* AddressSanitizer looks. */
Test(siphash, siphash__reads_as_many_words_as_there_are_at_most)
{
	__u32 *word = calloc(MAX_WORDS, sizeof(*word));
	struct siphash_key key = { 1, 2 };

	cr_expect_eq(siphash(&key, word, 205, MAX_WORDS), siphash(&key, word, 204, MAX_WORDS));
	cr_expect_eq(siphash(&key, word, ~0U, MAX_WORDS), siphash(&key, word, 204, MAX_WORDS));
	free(word);
}

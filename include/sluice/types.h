/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TYPES_H
#define SLUICE_TYPES_H
/*
 * Integer types for code that is compiled twice, for BPF and for the host, and the two fixed-point formats of the core.
 * BPF has no floating point, so all numbers are unsigned integers whose type gives the position of the binary point.
 */
#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif
#include "sluice/verifier.h"

/* A ratio with 24 fractional bits: U, eta, weights. 1.0 is Q24_ONE. Kept below 2^38 (16384.0). */
typedef __u64 q24_t;
/* Bytes with 12 fractional bits: windows. Kept below 2^39 (128 MiB), see HPCC_W_MAX_BYTES. */
typedef __u64 q12_t;

#define Q24_ONE (1ULL << 24)
#define Q12_ONE (1ULL << 12)

#define NSEC_PER_SEC 1000000000ULL

static inline q12_t q12_from_bytes(__u64 bytes)
{
	return bytes << 12;
}

/* Bytes, rounded to the nearest. */
static inline __u64 q12_to_bytes(q12_t v)
{
	return (v + Q12_ONE / 2) >> 12;
}

/*
 * num / den in Q24, saturated at 2^38; 0 for den == 0.
 *
 * num and den may use all 64 bits: the integer part is taken first and the remainder is scaled
 * down with the divisor until the shifted remainder fits, which keeps 27 bits of precision.
 */
VERIFIED_ONCE q24_t q24_ratio(__u64 num, __u64 den)
{
	__u64 whole, rest;

	if (!den)
		return 0;
	whole = num / den;
	if (whole >= 1ULL << 14)
		return 1ULL << 38;
	rest = num % den;
	if (den >> 51) {
		den >>= 13;
		rest >>= 13;
	}
	if (den >> 39) {
		den >>= 12;
		rest >>= 12;
	}
	return (whole << 24) + ((rest << 24) + den / 2) / den; /* rest <= den < 2^39: sum < 2^64 */
}

#endif

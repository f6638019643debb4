/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_VERIFIER_H
#define SLUICE_VERIFIER_H
/*
 * What is written for the sake of the verifier. It follows each path through a program, and knows of every number the range
 * that the comparisons so far leave. Where it loses that range, or clang leaves a comparison out that it can prove, the
 * range is shown again right in front of the use. What these checks refuse never happens.
 *
 *  1. VERIFIER_AT_MOST() and VERIFIER_AT_LEAST() return from the caller if v is out of range. Without the barrier in them
 *     clang compares v minus a constant, and Linux 6.12 and older do not carry that bound over to v: "invalid indirect
 *     access to stack R3 off=-136 size=2048". Two in a row stay two: clang would make one subtraction of them.
 *  2. Linux 6.1 forgets the range of a number that lies on the stack during a call: the check stands behind the call. An
 *     address keeps its bounds there: VERIFIER_FORGET() makes clang put the address aside, and not the number.
 *  3. A VERIFIED_ONCE function (a BPF global function) is checked once, with any arguments, and not at each call. Inlined
 *     five times, once per hop, the branches of q24_ratio() alone took ingress past 10^6 instructions (Linux 6.18). Such a
 *     function has at most five arguments, and checks its pointers.
 *  4. A VERIFIED_APART function has locals that take room on the stack only while it runs: all calls together have 512
 *     bytes ("combined stack size of 5 calls is 560"). What has to be inlined for the same reason is __always_inline.
 *
 * On the host there is no verifier.
 */
#ifdef __bpf__
#define VERIFIED_ONCE __attribute__((noinline))
#define VERIFIED_APART static __attribute__((noinline))
#define VERIFIER_FORGET(v) asm volatile("" : "+r"(v))
#else
#define VERIFIED_ONCE static inline
#define VERIFIED_APART static inline
#define VERIFIER_FORGET(v) ((void)(v))
#endif

#define VERIFIER_AT_MOST(v, most, otherwise) \
	do {                                 \
		VERIFIER_FORGET(v);          \
		if ((v) > (most))            \
			return otherwise;    \
	} while (0)
#define VERIFIER_AT_LEAST(v, least, otherwise) \
	do {                                   \
		VERIFIER_FORGET(v);            \
		if ((v) < (least))             \
			return otherwise;      \
	} while (0)

#endif

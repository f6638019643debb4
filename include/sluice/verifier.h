/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_VERIFIER_H
#define SLUICE_VERIFIER_H
/*
 * Code written for the verifier. It follows each path through a program, and tracks the range of every number from the
 * comparisons so far. Where it loses a range, or clang removes a comparison that it can prove, the range is checked
 * again right before the use. These checks never fail at run time.
 *
 *  1. VERIFIER_AT_MOST() and VERIFIER_AT_LEAST() return from the caller if v is out of range. Without the barrier in them
 *     clang compares v minus a constant, and Linux 6.12 and older do not carry that bound over to v: "invalid indirect
 *     access to stack R3 off=-136 size=2048". Two in a row stay two: clang would make one subtraction of them.
 *  2. Linux 6.1 forgets the range of a number spilled to the stack during a call, so the check comes after the call. A
 *     spilled address keeps its bounds: VERIFIER_FORGET() makes clang spill the address, and not the number.
 *  3. A VERIFIED_ONCE function (a BPF global function) is checked once, with any arguments, and not at each call. Inlined
 *     five times, once per hop, the branches of q24_ratio() alone took ingress past 10^6 instructions (Linux 6.18). Such a
 *     function has at most five arguments, and checks its pointers. Linux 6.1 wants memory to be set that a pointer to the
 *     caller's stack names: "invalid indirect read from stack R4 off -32+0 size 8".
 *  4. The locals of a VERIFIED_APART function use stack only while it runs: all calls together have 512 bytes
 *     ("combined stack size of 5 calls is 560"). Functions that have to be inlined for the same reason are
 *     __always_inline.
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

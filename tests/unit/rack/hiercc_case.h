/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HIERCC_CASE_H
#define HIERCC_CASE_H
/* Shared by the tests of include/sluice/rack/hiercc.h: a VOQ, and a receiver with many. */
#include "sluice/rack/hiercc.h"

#define PACKET 1462
#define RATE 3125000000ULL /* 25 Gbit/s */
#define START 1000000ULL

/* 25 Gbit/s, 8 us between the racks, a grant every 4 us: C0 is 37500. */
struct hiercc_params voq_params(void);
struct hiercc_voq voq(void);

struct sent {
	enum hiercc_sent verdict;
	__u64 at;
	__u32 total;
};

struct sent voq_send(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now, __u32 bytes);
/* A message that takes no time: the port's clock is ours. */
enum hiercc_credit credited(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now, __u32 total, int due);

#define VOQS 1000

struct box {
	struct hiercc_params p;
	struct hiercc_port port;
	struct hiercc_due due[VOQS];
	struct hiercc_seen seen[VOQS];
	__u64 now;
};

struct box *box_new(void);
enum hiercc_claim box_learn(struct box *b, __u32 i);
void box_see(struct box *b, __u32 i, __u32 total, __u32 flows, __u32 bytes);
/* Grants for so long; returns the calls that it took. */
int box_grant(struct box *b, __u64 elapsed);

#endif

// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <stdlib.h>

#include "hiercc_case.h"

struct hiercc_params voq_params(void)
{
	struct hiercc_params p;

	hiercc_params_init(&p, RATE, 8000, 4000);
	return p;
}

struct hiercc_voq voq(void)
{
	struct hiercc_voq v;

	hiercc_voq_init(&v, START);
	return v;
}

struct sent voq_send(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now, __u32 bytes)
{
	struct sent s;

	s.verdict = hiercc_send(v, p, now, bytes, &s.total, &s.at);
	cr_assert(s.at >= now && s.at <= now + p->limit_ns, "never back, never past the limit");
	return s;
}

enum hiercc_credit credited(struct hiercc_voq *v, const struct hiercc_params *p, __u64 now, __u32 total, int due)
{
	return hiercc_credit(v, p, now, total, due, now / HIERCC_AT_NS);
}

struct box *box_new(void)
{
	struct box *b = calloc(1, sizeof(*b));

	cr_assert(b);
	b->p = voq_params();
	b->now = START;
	hiercc_port_init(&b->port, RATE);
	return b;
}

enum hiercc_claim box_learn(struct box *b, __u32 i)
{
	return hiercc_learn(&b->port, b->due, i, &b->p, &b->seen[i], b->now);
}

void box_see(struct box *b, __u32 i, __u32 total, __u32 flows, __u32 bytes)
{
	hiercc_see(&b->seen[i], total, flows, bytes, 1, b->p.debt_max);
}

int box_grant(struct box *b, __u64 elapsed)
{
	int calls = 0;

	hiercc_budget(&b->port, elapsed);
	while (hiercc_grant(&b->port, b->due) != HIERCC_NONE)
		calls++;
	b->now += elapsed;
	return calls;
}

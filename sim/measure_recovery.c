// SPDX-License-Identifier: GPL-2.0-only
/* How soon endless flows regain their rates after a burst of others: see measure_rooms.h. */
#include <math.h>
#include <stdlib.h>
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/measure_rooms.h"
#include "sim/control.h"

#define BACK 0.95 /* share of the rate before the burst */
#define BACK_TS 3 /* number of T over which the rate is averaged */

/* Bytes that the endless flows of a load had received, once in a T. */
struct moment {
	uint64_t ns, received;
};
struct series {
	struct moment *list;
	uint32_t count;
};

static struct series *series; /* by load */
static uint32_t series_count;
static uint32_t *endless, endless_count; /* flows; all of them are known before the run begins */
static uint64_t due_ns;

static void recovery_begin(const struct scenario *s)
{
	uint32_t i;

	series = calloc(s->loads_count, sizeof(*series));
	series_count = series ? s->loads_count : 0;
	for (i = 0; series && i < traffic.count; i++) {
		if (traffic.list[i].size)
			continue;
		endless = list_add(endless, &endless_count, sizeof(*endless));
		endless[endless_count - 1] = i;
	}
}

void recovery_sample(const struct scenario *s)
{
	uint32_t i;

	if (!traffic.endless || engine.now_ns < due_ns)
		return;
	due_ns = engine.now_ns + scheme_rules.hpcc.t_ns;
	if (!series)
		recovery_begin(s);
	for (i = 0; i < series_count; i++) {
		series[i].list = list_add(series[i].list, &series[i].count, sizeof(*series[i].list));
		series[i].list[series[i].count - 1].ns = engine.now_ns;
	}
	for (i = 0; i < endless_count; i++) {
		const struct sim_flow *f = &traffic.list[endless[i]];

		series[f->group].list[series[f->group].count - 1].received += f->rcv_nxt;
	}
}

static double rate_between(const struct moment *a, const struct moment *b)
{
	return b->ns > a->ns ? (b->received - a->received) / (double)(b->ns - a->ns) : 0;
}

/* The first moment not before ns. */
static uint32_t moment_at(const struct series *r, uint64_t ns)
{
	uint32_t i = 0;

	while (i < r->count && r->list[i].ns < ns)
		i++;
	return i;
}

/* Time from the end of the burst; infinite: not by the end of the run. */
static double recovered_ns(const struct series *r, uint64_t begun_ns, uint64_t over_ns)
{
	uint32_t i, first = moment_at(r, begun_ns / 2), last = moment_at(r, begun_ns);
	double before = last < r->count ? rate_between(&r->list[first], &r->list[last]) : 0;

	if (!before)
		return INFINITY;
	for (i = moment_at(r, over_ns); i + BACK_TS < r->count; i++)
		if (rate_between(&r->list[i], &r->list[i + BACK_TS]) >= BACK * before)
			return r->list[i + 1].ns - over_ns;
	return INFINITY;
}

void recovery_add(struct json_object *load, const struct scenario *s, uint32_t group)
{
	uint64_t begun = NEVER_NS, over = 0;
	uint32_t i;

	if (group >= series_count || s->loads[group].size || s->loads[group].sizes)
		return;
	for (i = 0; i < traffic.count; i++) {
		const struct sim_flow *f = &traffic.list[i];

		if (!f->size)
			continue;
		begun = f->start_ns < begun ? f->start_ns : begun;
		over = f->done_ns > over ? f->done_ns : over;
	}
	if (over)
		result_number(load, "recovered_us", recovered_ns(&series[group], begun, over) / 1e3);
}

void recovery_end(void)
{
	uint32_t i;

	for (i = 0; i < series_count; i++)
		free(series[i].list);
	free(series);
	free(endless);
}

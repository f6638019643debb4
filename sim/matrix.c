// SPDX-License-Identifier: GPL-2.0-only
/*
 * See matrix.h.
 *
 *	Nodes 16
 *	Connections 2
 *	Triggers 1
 *	0->15 id 1 start 0 size 2000000 send_done_trigger 1
 *	15->0 id 2 trigger 1 size 2000000
 *	trigger id 1 oneshot
 *
 * Times are picoseconds, sizes bytes of payload.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/lines.h"
#include "sim/matrix.h"

#define MATRIX_NODES 100000
#define MATRIX_ENTRIES 1000000 /* flows, and triggers */
#define SIZE_MAX_BYTES 1000000000000ULL
#define PS_PER_NS 1000
#define START_MAX_PS (1000ULL * NS_PER_S * PS_PER_NS)

/* A file that is being read. */
struct reading {
	struct lines lines;
	struct matrix *m;
	uint64_t connections, triggers; /* as its head says */
	uint32_t described;		/* triggers */
};

/* --- the head --- */

/* "Connections 15". *value: 0 until then. */
static int head_take(struct reading *r, uint64_t least, uint64_t most, uint64_t *value)
{
	struct lines *l = &r->lines;

	if (r->m->count || r->described)
		return lines_bad(l, l->number, "%s after the first connection: write it at the beginning", l->word[0]);
	if (*value)
		return lines_bad(l, l->number, "%s again: remove one of the two lines", l->word[0]);
	if (l->words != 2 || lines_number(l->word[1], least, most, value))
		return lines_bad(l, l->number, "not a number from %u to %u: write for example '%s 16'",
				 (unsigned int)least, (unsigned int)most, l->word[0]);
	return 0;
}

static int nodes_take(struct reading *r)
{
	uint64_t nodes = r->m->nodes;
	int err = head_take(r, 2, MATRIX_NODES, &nodes);

	r->m->nodes = nodes;
	return err;
}

static int triggers_take(struct reading *r)
{
	struct matrix *m = r->m;
	int err = head_take(r, 0, MATRIX_ENTRIES, &r->triggers);

	if (err || !r->triggers)
		return err;
	m->triggers_count = r->triggers;
	m->triggers = grow(NULL, m->triggers_count + 1, sizeof(*m->triggers));
	memset(m->triggers, 0, (m->triggers_count + 1) * sizeof(*m->triggers));
	return 0;
}

/* --- a flow --- */

/* "7->15", two different hosts. */
static int ends_take(struct reading *r, char *text, struct matrix_flow *f)
{
	struct lines *l = &r->lines;
	char *arrow = strstr(text, "->");
	uint64_t from, to;

	if (!r->m->nodes)
		return lines_bad(l, l->number,
				 "a connection before the number of nodes: write for example 'Nodes 16' above");
	*arrow = 0;
	if (lines_number(text, 0, r->m->nodes - 1, &from) || lines_number(arrow + 2, 0, r->m->nodes - 1, &to) ||
	    from == to)
		return lines_bad(l, l->number,
				 "not two different nodes from 0 to %u: write for example '0->1 start 0 size 1000000'",
				 r->m->nodes - 1);
	f->from = from;
	f->to = to;
	return 0;
}

/* The number of a trigger, after the word that names its use. */
static int trigger_number(struct reading *r, const char *word, const char *text, uint32_t *trigger)
{
	struct lines *l = &r->lines;
	uint64_t number;

	if (lines_number(text, 1, r->triggers, &number))
		return lines_bad(l, l->number, "%s: write a number from 1 to %u, which 'Triggers' above says", word,
				 (unsigned int)r->triggers);
	*trigger = number;
	return 0;
}

/* One pair of words of a flow. given: the words so far, one bit each. */
static int pair_take(struct reading *r, char **word, struct matrix_flow *f, unsigned int *given)
{
	static const char *const names[] = { "start", "size", "id", "trigger", "send_done_trigger", NULL };
	struct lines *l = &r->lines;
	uint64_t number;
	unsigned int i;

	for (i = 0; names[i] && strcmp(names[i], word[0]); i++)
		;
	if (!names[i])
		return lines_bad(l, l->number,
				 "'%s' is not simulated: remove it; start, size, id, trigger and send_done_trigger are",
				 word[0]);
	if (*given & 1U << i)
		return lines_bad(l, l->number, "%s again: write it once", word[0]);
	*given |= 1U << i;
	switch (i) {
	case 0:
		if (lines_number(word[1], 0, START_MAX_PS, &number))
			return lines_bad(l, l->number,
					 "start: write whole picoseconds, at most 1000 s: 'start 5000000' is 5 us");
		f->start_ns = (number + PS_PER_NS / 2) / PS_PER_NS;
		return 0;
	case 1:
		if (!lines_number(word[1], 1, SIZE_MAX_BYTES, &f->size))
			return 0;
		return lines_bad(l, l->number, "size: write bytes, at least 1: 'size 2000000'");
	case 2:
		if (!lines_number(word[1], 1, UINT32_MAX, &number))
			return 0;
		return lines_bad(l, l->number, "id: write a number, at least 1: 'id 7'");
	case 3:
		return trigger_number(r, word[0], word[1], &f->trigger);
	}
	if (trigger_number(r, word[0], word[1], &f->fires))
		return -1;
	r->m->triggers[f->fires].fired_by++;
	return 0;
}

static int connection_take(struct reading *r)
{
	struct lines *l = &r->lines;
	struct matrix *m = r->m;
	struct matrix_flow f = { .line = l->number };
	unsigned int given = 0, i;

	if (ends_take(r, l->word[0], &f))
		return -1;
	for (i = 1; i < l->words; i += 2)
		if (pair_take(r, l->word + i, &f, &given))
			return -1;
	if (!f.size)
		return lines_bad(l, l->number, "a flow of no size: write for example 'size 2000000'");
	if ((given & 1) == !!f.trigger)
		return lines_bad(l, l->number, "%s: write one of 'start 0' and 'trigger 1'",
				 f.trigger ? "a start and a trigger" : "neither a start nor a trigger");
	if (m->count == MATRIX_ENTRIES)
		return lines_bad(l, l->number, "more than %d connections: write them into several files",
				 MATRIX_ENTRIES);
	m->flows = list_add(m->flows, &m->count, sizeof(*m->flows));
	m->flows[m->count - 1] = f;
	return 0;
}

/* --- a trigger: "trigger id 1 oneshot", "trigger id 2 barrier count 16" --- */

static int trigger_take(struct reading *r)
{
	struct lines *l = &r->lines;
	uint64_t waits = 1;
	uint32_t number = 0;

	if (l->words < 4 || strcmp(l->word[1], "id"))
		return lines_bad(l, l->number, "not a trigger: write for example 'trigger id 1 oneshot'");
	if (trigger_number(r, "id", l->word[2], &number))
		return -1;
	if (r->m->triggers[number].waits)
		return lines_bad(l, l->number, "trigger %u again: remove one of the two lines", number);
	if (!(l->words == 4 && !strcmp(l->word[3], "oneshot")) &&
	    !(l->words == 6 && !strcmp(l->word[3], "barrier") && !strcmp(l->word[4], "count") &&
	      !lines_number(l->word[5], 1, MATRIX_ENTRIES, &waits)))
		return lines_bad(l, l->number,
				 "a trigger that is not simulated: write 'oneshot' or 'barrier count 16'");
	r->m->triggers[number].waits = waits;
	r->described++;
	return 0;
}

/* --- the file --- */

static int line_take(struct reading *r)
{
	struct lines *l = &r->lines;

	if (!strcmp(l->word[0], "Nodes"))
		return nodes_take(r);
	if (!strcmp(l->word[0], "Connections"))
		return head_take(r, 1, MATRIX_ENTRIES, &r->connections);
	if (!strcmp(l->word[0], "Triggers"))
		return triggers_take(r);
	if (!strcmp(l->word[0], "trigger"))
		return trigger_take(r);
	if (strstr(l->word[0], "->"))
		return connection_take(r);
	return lines_bad(l, l->number,
			 "'%s' is not simulated: remove the line; Nodes, Connections, Triggers, flows and triggers are",
			 l->word[0]);
}

static int matrix_check(const struct reading *r)
{
	const struct lines *l = &r->lines;
	const struct matrix *m = r->m;
	const struct matrix_trigger *t;
	uint32_t i;

	if (!m->count)
		return lines_bad(
			l, l->number,
			"the file ends without a flow: write 'Nodes 2', 'Connections 1' and '0->1 start 0 size 1000000'");
	if (m->count != r->connections)
		return lines_bad(l, l->number, "the file ends after %u connections: write 'Connections %u'", m->count,
				 m->count);
	if (r->described != r->triggers)
		return lines_bad(l, l->number, "the file ends after %u triggers: write 'Triggers %u'", r->described,
				 r->described);
	for (i = 0; i < m->count; i++) {
		t = m->flows[i].trigger ? &m->triggers[m->flows[i].trigger] : NULL;
		if (t && t->fired_by < t->waits)
			return lines_bad(
				l, m->flows[i].line,
				"trigger %u waits for %u flows, and %u have 'send_done_trigger %u': write it for more",
				m->flows[i].trigger, t->waits, t->fired_by, m->flows[i].trigger);
	}
	return 0;
}

int matrix_load(const char *path, struct matrix *m)
{
	struct reading r = { .m = m };
	int next = 0, err = 0;

	*m = (struct matrix){};
	if (lines_open(&r.lines, path, "matrix"))
		return -1;
	while (!err && (next = lines_next(&r.lines)) == 1)
		err = line_take(&r);
	err = err ?: next ?: matrix_check(&r);
	lines_close(&r.lines);
	if (err)
		matrix_free(m);
	return err;
}

void matrix_free(struct matrix *m)
{
	free(m->flows);
	free(m->triggers);
	*m = (struct matrix){};
}

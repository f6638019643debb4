// SPDX-License-Identifier: GPL-2.0-only
/* The flows of a run, and the time that its figures are of. */
#include "sum.h"

static int flows_read(const struct lab *lab, struct run *run, const char *raw)
{
	FILE *file = file_open(raw, "flows.csv", "r");
	char line[256];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file) && run->flows < FLOWS_MAX) {
		struct flow *f = &run->flow[run->flows];
		char *at = strchr(line, ',');

		if (*line == 'f' || !at)
			continue;
		f->start_us = strtoull(at + 1, &at, 10);
		f->end_us = strtoull(at + 1, &at, 10);
		f->bytes = strtoull(at + 1, &at, 10);
		f->lost = *at == ',' ? strtoull(at + 1, &at, 10) : 0;
		f->port = lab->join_bytes ? 1 : run->flows;
		if (run->flows >= run->recorded && lab->racks)
			f->port = -1;
		run->flows++;
	}
	fclose(file);
	return run->flows ? 0 : -1;
}

int window_find_racks(const struct lab *lab, struct run *run, const char *raw)
{
	uint64_t last_start = 0, last_end = 0, end = series_end_us(&run->queue);
	int i;

	run->longs = lab->long_flows;
	if (flows_read(lab, run, raw) || run->flows < run->longs)
		return -1;
	run->finite = run->flows > run->longs;
	run->zero_us = run->flow[0].start_us;
	for (i = 0; i < run->flows; i++) {
		struct flow *f = &run->flow[i];

		if (i < run->longs)
			last_start = max_u64(last_start, f->start_us);
		else
			last_end = max_u64(last_end, f->end_us ? f->end_us : end);
	}
	run->from_us = (run->longs ? last_start : run->zero_us) + lab->warmup_us;
	run->to_us = run->longs ? min_u64(series_end_us(&run->ports), run->zero_us + lab->time_us) : last_end;
	if (run->from_us >= run->to_us) {
		fprintf(stderr, "lab-sum: %s: nothing is left after the warm-up\n", run->cc);
		return -1;
	}
	for (i = 0; i < run->longs; i++) {
		run->flow[i].end_us = run->to_us;
		run->flow[i].bytes = series_at(&run->ports, i + 1, run->to_us);
	}
	return 0;
}

/* See 2. in main.c. */
int window_find(const struct lab *lab, struct run *run, const char *raw)
{
	uint64_t last_start = 0, last_end = 0, end = series_end_us(&run->queue), begun;
	int i;

	run->finite = lab->size_bytes || lab->join_bytes;
	if (run->finite && flows_read(lab, run, raw))
		return -1;
	run->zero_us = UINT64_MAX;
	if (!lab->size_bytes) {
		int longs = lab->join_bytes ? 1 : lab->long_flows;

		for (i = 0; i < longs; i++) {
			begun = port_begun_us(run, i);
			if (!begun) {
				fprintf(stderr, "lab-sum: %s: flow %d never began\n", run->cc, i);
				return -1;
			}
			run->zero_us = min_u64(run->zero_us, begun);
			last_start = max_u64(last_start, begun);
			run->steady = (struct flow){ .start_us = begun, .end_us = end, .port = i };
			if (!run->finite)
				run->flow[run->flows++] = run->steady;
		}
		last_start = max_u64(last_start, run->attached_us);
		run->from_us = last_start + lab->warmup_us;
		run->to_us = lab->join_bytes ? end : min_u64(end, last_start + lab->time_us);
	} else {
		for (i = 0; i < run->flows; i++) {
			run->zero_us = min_u64(run->zero_us, run->flow[i].start_us);
			last_end = max_u64(last_end, run->flow[i].end_us ? run->flow[i].end_us : end);
		}
		run->from_us = run->zero_us + lab->warmup_us;
		run->to_us = last_end;
	}
	if (run->from_us >= run->to_us) {
		fprintf(stderr, "lab-sum: %s: nothing is left after the warm-up\n", run->cc);
		return -1;
	}
	for (i = 0; !run->finite && i < run->flows; i++) {
		run->flow[i].end_us = run->to_us;
		run->flow[i].bytes = series_at(&run->ports, i + 1, run->to_us) -
				     series_at(&run->ports, i + 1, run->flow[i].start_us);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* A CSV for each picture. */
#include "sum.h"

void queue_write(const struct run *run, int queue)
{
	char name[32] = "queue.csv";
	FILE *file;
	size_t row;

	if (queue)
		snprintf(name, sizeof(name), "queue%d.csv", queue + 1);
	file = file_open(run->dir, name, "w");
	fprintf(file, "t_us,bytes\n");
	for (row = 0; row < run->queue.rows; row++) {
		const uint64_t *cell = series_row(&run->queue, row);

		if (cell[0] >= run->zero_us)
			fprintf(file, "%lu,%lu\n", cell[0] - run->zero_us, cell[1 + 3 * queue]);
	}
	file_close(file);
}

/* Bins of 100 ms, of 10 ms where there is less than 3 s. */
void rates_write(const struct run *run)
{
	uint64_t end = series_end_us(&run->ports), us, i, columns = run->ports.columns - 1;
	uint64_t bin_us = run->to_us - run->zero_us < 3000000 ? 10000 : 100000;
	FILE *file = file_open(run->dir, "rates.csv", "w");

	fprintf(file, "t_ms");
	for (i = 0; i < columns; i++)
		fprintf(file, ",f%lu_bps", i);
	fprintf(file, "\n");
	for (us = run->zero_us; us + bin_us <= end; us += bin_us) {
		fprintf(file, "%lu", (us - run->zero_us) / 1000);
		for (i = 0; i < columns; i++)
			fprintf(file, ",%.0f", port_rate_bps(run, i, us, us + bin_us));
		fprintf(file, "\n");
	}
	file_close(file);
}

void probe_write(const struct run *run)
{
	FILE *file = file_open(run->dir, "probe.csv", "w");
	size_t i;

	fprintf(file, "t_us,rtt_us\n");
	for (i = 0; i < run->probes; i++)
		if (run->probe[i].t_us >= run->zero_us && run->probe[i].rtt_us)
			fprintf(file, "%lu,%lu\n", run->probe[i].t_us - run->zero_us, run->probe[i].rtt_us);
	file_close(file);
}

/* A long flow has no fct_ms, one that did not end has no end_us either. */
static void flow_write(const struct run *run, FILE *file, int number, const struct flow *f, int finite)
{
	fprintf(file, "%d,%lu,", number, f->start_us - run->zero_us);
	if (f->end_us)
		fprintf(file, "%lu", f->end_us - run->zero_us);
	fprintf(file, ",%lu,", f->bytes);
	if (f->end_us && finite)
		fprintf(file, "%.3f", (f->end_us - f->start_us) / 1e3);
	fprintf(file, "\n");
}

void flows_write(const struct lab *lab, const struct run *run)
{
	FILE *file = file_open(run->dir, "flows.csv", "w");
	int i, number = 0;

	fprintf(file, "flow,start_us,end_us,bytes,fct_ms\n");
	if (lab->join_bytes) {
		struct flow f = run->steady;

		f.end_us = run->to_us;
		f.bytes = series_at(&run->ports, 1, f.end_us) - series_at(&run->ports, 1, f.start_us);
		flow_write(run, file, number++, &f, 0);
	}
	for (i = 0; i < run->flows; i++)
		flow_write(run, file, number++, &run->flow[i], run->finite && i >= run->longs);
	file_close(file);
}

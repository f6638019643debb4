// SPDX-License-Identifier: GPL-2.0-only
/* The raw data of a run. */
#include "sum.h"

static void probes_read(struct run *run, const char *raw)
{
	FILE *file = file_open(raw, "probe.csv", "r");
	char line[128], *rtt;
	size_t room = 0;

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (*line == 't')
			continue;
		if (run->probes == room) {
			room = room ? 2 * room : 4096;
			run->probe = realloc(run->probe, room * sizeof(*run->probe));
			if (!run->probe)
				die("lab-sum: out of memory");
		}
		run->probe[run->probes].t_us = strtoull(line, &rtt, 10);
		run->probe[run->probes++].rtt_us = *rtt == ',' ? strtoull(rtt + 1, NULL, 10) : 0;
	}
	fclose(file);
}

int run_read(const struct lab *lab, struct run *run, const char *name)
{
	char raw[4000], line[8192];
	FILE *file;
	char *at;

	memset(run, 0, sizeof(*run));
	snprintf(run->cc, sizeof(run->cc), "%s", name);
	snprintf(run->dir, sizeof(run->dir), "%s/%s", lab->dir, name);
	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	file = file_open(raw, "meta", "r");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		value_read(line, "cc", run->cc, sizeof(run->cc));
		value_read(line, "mech", run->mech, sizeof(run->mech));
		value_read(line, "ports", run->port_names, sizeof(run->port_names));
		value_read(line, "classes", run->class_names, sizeof(run->class_names));
		value_read(line, "paths", run->paths, sizeof(run->paths));
		number_read(line, "base_us", &run->base_us);
		number_read(line, "attached_us", &run->attached_us);
		number_read(line, "last_pause_us", &run->last_pause_us);
		number_read(line, "retransmits", &run->retransmits);
		if (sscanf(line, "killed=%lu %lu %lu", &run->killed[0], &run->killed[1], &run->killed[2]) < 3)
			continue;
	}
	fclose(file);
	run->queues = 1;
	for (at = run->port_names; *at; at++)
		run->queues += *at == ' ';
	run->classes = *run->class_names != 0;
	for (at = run->class_names; *at; at++)
		run->classes += *at == ' ';
	if (run->queues + run->classes > QUEUES_MAX ||
	    series_read(raw, "queue.bin", 1 + 3 * (run->queues + run->classes), &run->queue))
		return -1;
	run->recorded = lab->long_flows + (lab->size_bytes ? lab->senders : 0);
	if (!lab->incast_bytes)
		run->recorded += lab->burst;
	if (series_read(raw, lab->racks ? "received.bin" : "ports.bin",
			1 + (lab->racks ? (uint64_t)run->recorded : lab->long_flows), &run->ports))
		return -1;
	if (lab->racks && series_read(raw, "voqs.bin", 1 + 3 * lab->racks, &run->voqs))
		run->voqs.rows = 0;
	if (series_read(raw, "latency.bin", 2, &run->latency))
		run->latency.rows = 0;
	probes_read(run, raw);
	return lab->racks ? window_find_racks(lab, run, raw) : window_find(lab, run, raw);
}

void run_free(struct run *run)
{
	free(run->queue.cell);
	free(run->ports.cell);
	free(run->probe);
	free(run->voqs.cell);
	free(run->latency.cell);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * lab-sum: turns the raw data of a lab into results.json, one CSV per picture, and a table.
 *
 *	lab-sum DIR
 *
 * 1. DIR/params: what was asked for, and what ran. Per control DIR/CC/raw: queue.bin and
 *    ports.bin (lab-sample), probe.csv (lab-probe), flows.csv (lab-flows), meta; with APP=web
 *    bulk and what redis-benchmark said (web.sh). Raw times have the clock of the machine measured
 *    on.
 * 2. Zero is the start of the first flow: of finite ones as lab-flows has it, of long ones when
 *    their port began to carry data. Figures are of the window from the start of the last long
 *    flow (of the first finite one; with ATTACH=late of Sluice) plus the warm-up, to the end of
 *    the measurement (of the last finite flow).
 *    A run whose bottleneck had nothing to send, or no rate, has no figures: lab-sum says so, and fails.
 * 3. Byte counters between two samples are taken to grow evenly.
 * 4. With LAB=racks all flows are lab-flows', the long ones first: their rates are of what the receiver read
 *    (received.bin), and voqs.bin (lab-sample) has the VOQs of each rack.
 * 5. With LAB=pfc a run is of a control and a mechanism: its directory is CC-MECH, and meta has both. Of UDP there
 *    are the latencies of all packets (latency.bin, lab-flows). pauses.csv (lab-sample) has what was sent to each port.
 */
#include "sum.h"

int main(int argc, char **argv)
{
	json_object *results = json_object_new_object(), *runs = json_object_new_array();
	static struct lab lab;
	static struct run run;
	char ran[256], path[4096], *cc, *save = NULL;
	int queue, failed = 0;

	if (argc != 2)
		die("usage: lab-sum DIR");
	snprintf(lab.dir, sizeof(lab.dir), "%s", argv[1]);
	lab_read(&lab);
	snprintf(ran, sizeof(ran), "%s", lab.ran);
	for (cc = strtok_r(ran, " ", &save); cc; cc = strtok_r(NULL, " ", &save)) {
		if (run_read(&lab, &run, cc)) {
			fprintf(stderr, "lab-sum: %s left nothing to add up\n", cc);
			failed = 1;
			continue;
		}
		if (queues_hold(&lab, &run)) {
			failed = 1;
			run_free(&run);
			continue;
		}
		for (queue = 0; queue < run.queues; queue++)
			queue_write(&run, queue);
		rates_write(&run);
		probe_write(&run);
		flows_write(&lab, &run);
		json_object_array_add(runs, run_figures(&lab, &run));
		run_free(&run);
	}
	json_object_object_add(results, "lab", json_object_new_string(lab.name));
	json_object_object_add(results, "kernel", json_object_new_string(lab.kernel));
	json_object_object_add(results, "params", lab_params(&lab));
	json_object_object_add(results, "missing", words(lab.missing));
	json_object_object_add(results, "runs", runs);
	snprintf(path, sizeof(path), "%s/results.json", lab.dir);
	if (json_object_to_file_ext(path, results, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED))
		die("lab-sum: cannot write %s: %s", path, json_util_get_last_err());
	table_print(&lab, results);
	json_object_put(results);
	return failed;
}

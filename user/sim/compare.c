// SPDX-License-Identifier: GPL-2.0-only
/* See compare.h. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/util.h"
#include "sim/compare.h"
#include "sim/csv.h"
#include "sim/memory.h"
#include "sim/result.h"
#include "sim/scheme.h"

static volatile sig_atomic_t interrupted;

/* Ctrl-C ends the current runs; no further ones begin. */
static void compare_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static uint32_t cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* Splits the list at its commas. Returns the number of schemes, or 0 with a message. */
static uint32_t schemes_read(char *text, struct compared *list)
{
	uint32_t n = 0;
	char *name;

	for (name = strtok(text, ","); name; name = strtok(NULL, ",")) {
		if (!scheme_find(name)) {
			msg("--compare: scheme '%s' is not known: sluice-sim --list-schemes names them", name);
			return 0;
		}
		if (n == COMPARED_MAX) {
			msg("--compare: more than %d schemes", COMPARED_MAX);
			return 0;
		}
		list[n++].scheme = name;
	}
	if (!n)
		msg("--compare: no scheme: write for example --compare hpcc,dcqcn");
	return n;
}

static int run_start(struct scenario *s, const struct wanted *w, struct compared *c)
{
	struct wanted one = { .result = AS_JSON, .series = *c->series ? c->series : NULL };
	int status;

	one.series_in_short = !w->series;
	c->process = fork();
	if (c->process)
		return c->process < 0 ? -1 : 0;
	free(s->scheme);
	s->scheme = strdup(c->scheme);
	status = s->scheme && freopen(c->json, "we", stdout) ? simulate(s, &one) : EXIT_FAILED;
	exit(fclose(stdout) ? EXIT_FAILED : status);
}

/* Waits for one of the runs. Returns its exit status. */
static int run_wait(struct compared *list, uint32_t n)
{
	int status, process = wait(&status);
	uint32_t i;

	for (i = 0; i < n; i++)
		if (list[i].process == process)
			list[i].process = 0;
	if (process < 0 || !WIFEXITED(status)) {
		msg("--compare: a run ended by signal %d", process < 0 ? 0 : WTERMSIG(status));
		return EXIT_FAILED;
	}
	return WEXITSTATUS(status);
}

/* Runs all schemes. After a failure, no further ones begin. Returns an exit status. */
static int runs_make(struct scenario *s, const struct wanted *w, struct compared *list, uint32_t n)
{
	uint32_t at_once = cpus() < n ? cpus() : n, i, running = 0;
	int status = EXIT_DONE, one;

	memory_divide(at_once);
	signal(SIGINT, compare_interrupt);
	for (i = 0; running || (i < n && !status && !interrupted);) {
		if (i < n && running < at_once && !status && !interrupted) {
			if (run_start(s, w, &list[i])) {
				msg("--compare: no process for a run: %s", strerror(errno));
				status = EXIT_FAILED;
				continue;
			}
			i++;
			running++;
			continue;
		}
		one = run_wait(list, n);
		status = status ?: one;
		running--;
	}
	return status;
}

/* Reads the results. Returns their number: those of the first schemes, if Ctrl-C came before the last ones. */
static uint32_t results_read(struct compared *list, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (interrupted && access(list[i].json, F_OK)) {
			msg("--compare: interrupted before the run of %s", list[i].scheme);
			break;
		}
		list[i].result = json_object_from_file(list[i].json);
		if (!list[i].result) {
			msg("--compare: the run of %s left no result: %s", list[i].scheme, json_util_get_last_err());
			return 0;
		}
	}
	return i;
}

/* A cell of the table; "-" if there is no such number. */
static void cell(int width, int digits, double v)
{
	if (isnan(v))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, v);
}

static void scheme_print(const struct compared *c)
{
	struct json_object *all = json_object_object_get(c->result, "all"),
			   *brief = json_object_object_get(all, "slowdown_short"),
			   *lengthy = json_object_object_get(all, "slowdown_long"),
			   *latency = json_object_object_get(c->result, "latency_us"),
			   *queue = json_object_object_get(c->result, "queue_bytes"),
			   *pauses = json_object_object_get(c->result, "pauses");

	printf("%-18s", c->scheme);
	cell(7, 0, result_get(all, "flows") - result_get(all, "done"));
	cell(7, 2, result_get(brief, "p50"));
	cell(8, 2, result_get(brief, "p99"));
	cell(7, 2, result_get(lengthy, "p50"));
	cell(8, 2, result_get(lengthy, "p99"));
	cell(9, 2, result_get(latency, "p99"));
	cell(9, 1, result_get(queue, "p99") / 1e3);
	cell(9, 1, result_get(queue, "max") / 1e3);
	cell(6, 3, result_get(c->result, "use"));
	cell(8, 0, result_get(pauses, "xoffs") + result_get(pauses, "predicted"));
	cell(8, 0, result_get(c->result, "dropped"));
	putchar('\n');
}

static void table_print(const struct compared *list, uint32_t n)
{
	uint32_t i;

	printf("Slowdown of flows below 100 KB (SHORT) and of all others (LONG): p50, p99. Latency of packets: p99, in us.\n"
	       "LEFT are flows that were not done. Queues: p99 and longest, in KB.\n\n");
	printf("%-18s %7s %7s %8s %7s %8s %9s %9s %9s %6s %8s %8s\n", "SCHEME", "LEFT", "SHORT", "p99", "LONG", "p99",
	       "LATENCY", "QUEUE", "MAX", "USE", "PAUSES", "DROPPED");
	for (i = 0; i < n; i++)
		scheme_print(&list[i]);
}

static void results_print(const struct wanted *w, const struct compared *list, uint32_t n)
{
	struct json_object *all;
	uint32_t i;

	if (w->result == AS_TABLE) {
		table_print(list, n);
		return;
	}
	all = json_object_new_array();
	for (i = 0; i < n; i++)
		json_object_array_add(all, json_object_get(list[i].result));
	if (w->result == AS_JSON)
		puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		csv_flatten(stdout, all);
	json_object_put(all);
}

/* Names the files of all runs. Files of a series that the user wants are kept, and named after the scheme. */
static int files_name(const struct wanted *w, const char *directory, struct compared *list, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		snprintf(list[i].json, sizeof(list[i].json), "%s/%u.json", directory, i);
		if (w->series && snprintf(list[i].series, sizeof(list[i].series), "%s.%s", w->series, list[i].scheme) >=
					 (int)sizeof(list[i].series)) {
			msg("--series %s: the name is too long", w->series);
			return -1;
		}
		if (!w->series && w->picture)
			snprintf(list[i].series, sizeof(list[i].series), "%s/%u.csv", directory, i);
	}
	return 0;
}

static void files_remove(const struct wanted *w, const char *directory, const struct compared *list, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		unlink(list[i].json);
		if (!w->series && *list[i].series)
			unlink(list[i].series);
		json_object_put(list[i].result);
	}
	rmdir(directory);
}

int compare_schemes(struct scenario *s, const struct wanted *w)
{
	char directory[] = "/tmp/sluice-sim.XXXXXX";
	struct compared list[COMPARED_MAX] = {};
	uint32_t n = schemes_read(w->schemes, list), done = 0;
	int status = EXIT_USAGE;

	if (!n || (w->picture && picture_check(w->picture)))
		return EXIT_USAGE;
	if (!mkdtemp(directory)) {
		msg("--compare: %s: %s", directory, strerror(errno));
		return EXIT_FAILED;
	}
	if (!files_name(w, directory, list, n))
		status = runs_make(s, w, list, n);
	if (!status)
		done = results_read(list, n);
	if (done)
		results_print(w, list, done);
	if (!status && (!done || (w->picture && picture_draw(w->picture, list, done))))
		status = EXIT_FAILED;
	files_remove(w, directory, list, n);
	return status;
}

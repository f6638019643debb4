// SPDX-License-Identifier: GPL-2.0-only
/* The picture of a comparison, drawn by gnuplot: see compare.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/util.h"
#include "sim/compare.h"
#include "sim/result.h"

/* Colours that people with red-green blindness can distinguish. */
static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
				       "#e69f00", "#56b4e9", "#999999", "#000000" };
#define COLOURS (sizeof(colours) / sizeof(*colours))

int picture_check(const char *file)
{
	FILE *f = fopen(file, "ae");

	if (!f) {
		msg("--picture %s: %s", file, strerror(errno));
		return -1;
	}
	fclose(f);
	if (!system("gnuplot --version >/dev/null 2>&1"))
		return 0;
	msg("--picture: gnuplot is not there: apt-get install gnuplot-nox");
	return -1;
}

/* A text of gnuplot, in quotes. */
static void text_put(FILE *to, const char *text)
{
	putc('\'', to);
	for (; *text; text++)
		fputs((char[]){ *text, *text == '\'' ? '\'' : 0, 0 }, to);
	putc('\'', to);
}

static struct json_object *classes_of(const struct compared *c)
{
	return json_object_object_get(json_object_object_get(c->result, "all"), "slowdown_by_size");
}

/* "$size0", and the names of the size classes in which some scheme has flows, from left to right. */
static void sizes_put(FILE *to, const struct compared *list, uint32_t n)
{
	size_t classes = json_object_array_length(classes_of(list)), i;
	size_t first = classes, last = 0;
	uint32_t k, has;

	fputs("set xtics (", to);
	for (i = 0; i < classes; i++) {
		struct json_object *class = json_object_array_get_idx(classes_of(list), i);
		double from = result_get(class, "from_bytes");

		for (k = has = 0; k < n; k++)
			has |= result_get(json_object_array_get_idx(classes_of(&list[k]), i), "flows") > 0;
		if (!has)
			continue;
		first = i < first ? i : first;
		last = i;
		fprintf(to, "%s'%g%s' %zu", first < i ? ", " : "", from < 1e6 ? from / 1e3 : from / 1e6,
			from < 1   ? "" :
			from < 1e6 ? "K" :
				     "M",
			i);
	}
	fprintf(to, ")\nset xrange [%g:%g]\n", first - 0.4, last + 0.4);
	for (k = 0; k < n; k++) {
		fprintf(to, "$size%u << END\n", k);
		for (i = 0; i < classes; i++) {
			struct json_object *class = json_object_array_get_idx(classes_of(&list[k]), i);

			if (result_get(class, "flows") > 0)
				fprintf(to, "%zu %g %g\n", i, result_get(class, "p50"), result_get(class, "p99"));
		}
		fputs("END\n", to);
	}
}

static int has_flows(const struct compared *c)
{
	return result_get(json_object_object_get(json_object_object_get(c->result, "all"), "slowdown"), "flows") > 0;
}

static void slowdown_plot(FILE *to, const struct compared *list, uint32_t n)
{
	uint32_t k, drawn = 0;

	sizes_put(to, list, n);
	fputs("set title 'Slowdown by size of flow: p99, and p50 broken'\n"
	      "set xlabel 'bytes, from'\nset ylabel 'slowdown'\nset logscale y\n",
	      to);
	for (k = 0; k < n; k++) {
		if (!has_flows(&list[k]))
			continue;
		fprintf(to, "%s $size%u using 1:3 with linespoints pt 7 ps 0.5 lw 2 lc rgb '%s' title ",
			drawn++ ? "," : "plot", k, colours[k % COLOURS]);
		text_put(to, list[k].scheme);
		fprintf(to, ", $size%u using 1:2 with lines dt 2 lw 1.5 lc rgb '%s' notitle", k, colours[k % COLOURS]);
	}
	if (!drawn)
		fputs("unset logscale y\nset label 1 'no flow was done' at graph 0.5, 0.5 center\n"
		      "plot [0:1] [0:1] -1 notitle",
		      to);
	fputs("\nunset logscale y\nunset label 1\nset xtics auto\n", to);
}

/*
 * Writes the drawn lines of a series as gnuplot data. *last_us grows to the last time at which the queue is longer than
 * `least`. Returns 0, or -1 with a message.
 */
static int queue_data(FILE *to, const struct compared *c, uint32_t k, double least, double *last_us)
{
	FILE *f = fopen(c->series, "re");
	double us, bytes;
	char line[256];

	if (!f) {
		msg("--picture: %s: %s", c->series, strerror(errno));
		return -1;
	}
	fprintf(to, "$queue%u << END\n", k);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lf,queue_bytes_max,all,%lf", &us, &bytes) != 2)
			continue;
		fprintf(to, "%g %g\n", us, bytes / 1e3);
		if (bytes > least)
			*last_us = fmax(*last_us, us);
	}
	fputs("END\n", to);
	fclose(f);
	return 0;
}

static int queue_plot(FILE *to, const struct compared *list, uint32_t n)
{
	double last_us = 1, most = 0;
	uint32_t k;

	for (k = 0; k < n; k++)
		most = fmax(most, result_get(json_object_object_get(list[k].result, "queue_bytes"), "max"));
	for (k = 0; k < n; k++)
		if (queue_data(to, &list[k], k, most / 100, &last_us))
			return -1;
	fprintf(to,
		"set title 'Longest queue of the ports that are sampled'\nset xlabel 'us'\nset ylabel 'KB'\n"
		"set xrange [0:%g]\nset yrange [0:*]\nset key top right noreverse Right\n",
		last_us);
	for (k = 0; k < n; k++) {
		fprintf(to, "%s $queue%u using 1:2 with lines lw 1.5 lc rgb '%s' title ", k ? "," : "plot", k,
			colours[k % COLOURS]);
		text_put(to, list[k].scheme);
	}
	fputs("\n", to);
	return 0;
}

int picture_draw(const char *file, const struct compared *list, uint32_t n)
{
	FILE *to = popen("gnuplot", "w");
	int err = 0;

	if (!to) {
		msg("--picture: gnuplot: %s", strerror(errno));
		return -1;
	}
	fputs("set terminal svg size 1100,420 dynamic noenhanced background 'white' font ',12'\nset output ", to);
	text_put(to, file);
	fputs("\nset multiplot layout 1,2\nset key top left reverse Left samplen 2\nset grid y lc rgb '#dddddd'\n"
	      "set border 3\nset tics nomirror\n",
	      to);
	slowdown_plot(to, list, n);
	err = queue_plot(to, list, n);
	fputs("unset multiplot\n", to);
	if (pclose(to)) {
		msg("--picture %s: gnuplot could not draw it; its words are above", file);
		err = -1;
	}
	return err;
}

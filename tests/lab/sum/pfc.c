// SPDX-License-Identifier: GPL-2.0-only
/* LAB=pfc: packets of UDP that were lost, and pauses. */
#include "sum.h"

/* Of flows of UDP: packets that did not arrive, and how much longer all together took to leave than at their speeds. */
void losses_figures(json_object *object, const struct run *run)
{
	uint64_t lost = 0, held_us = 0, of[2];
	char raw[4000], line[256];
	FILE *file;

	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	file = file_open(raw, "flows.csv", "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*u,%*u,%*[^,],%*u,%lu,%lu", &of[0], &of[1]) != 2 &&
		    sscanf(line, "%*u,%*u,,%*u,%lu,%lu", &of[0], &of[1]) != 2)
			continue;
		lost += of[0];
		held_us += of[1];
	}
	if (file)
		fclose(file);
	json_int(object, "lost", lost);
	json_int(object, "held_us", held_us);
}

static json_object *pauses_add(json_object *object, const char *key, const double *counts)
{
	static const char *const names[] = { "predicted", "xoffs", "refreshes", "xons", "paused_us" };
	json_object *sum = json_object_new_object();
	int i;

	if (key)
		json_object_object_add(sum, strchr(key, ':') ? "port" : "receiver", json_object_new_string(key));
	json_int(sum, "sent", counts[0] + counts[1]);
	for (i = 0; i < 5; i++)
		json_int(sum, names[i], counts[i]);
	if (object)
		json_object_array_add(object, sum);
	return sum;
}

/*
 * The pauses of the switch: all together, to each group, to each port. sent: pauses that are no repetition. rank: of
 * those of the first group, the correlation with the share of the queue; rank_rate: with the sender's rate. last_us:
 * when the last of them was seen. NULL: nothing was noted.
 */
json_object *pauses_figures(const struct lab *lab, const struct run *run)
{
	double all[5] = {}, group[5], sent[PORTS_MAX], share[PORTS_MAX], rate[PORTS_MAX];
	json_object *object, *groups, *ports, *cores;
	char raw[4000], line[256], name[32], text[64], *word, *save = NULL;
	int i, k, first = 0, number = 0, core = 0;
	FILE *file;

	snprintf(raw, sizeof(raw), "%s/raw", run->dir);
	file = file_open(raw, "pauses.csv", "r");
	if (!file)
		return NULL;
	groups = json_object_new_array();
	ports = json_object_new_array();
	cores = json_object_new_array();
	snprintf(text, sizeof(text), "%s", lab->groups);
	if (!fgets(line, sizeof(line), file))
		*line = 0;
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		uint64_t count = number_parse("groups", word), in;

		memset(group, 0, sizeof(group));
		for (in = 0; in < count && first < PORTS_MAX && fgets(line, sizeof(line), file); in++, first++) {
			double of[5];

			if (sscanf(line, "%31[^,],%lf,%lf,%lf,%lf,%lf,%lf", name, &of[0], &of[1], &of[2], &of[3],
				   &of[4], &share[first]) != 7)
				die("lab-sum: %s/pauses.csv: %s", raw, line);
			sent[first] = of[0] + of[1];
			rate[first] = lab->rate[first];
			for (k = 0; k < 5; k++) {
				group[k] += of[k];
				all[k] += of[k];
			}
			json_object_object_add(pauses_add(ports, name, of), "share", json_number(share[first], 4));
		}
		snprintf(name, sizeof(name), "r%d", ++number);
		pauses_add(groups, name, group);
	}
	/* The rest are ports between switches. */
	for (; fgets(line, sizeof(line), file); core++) {
		if (sscanf(line, "%31[^,],%lf,%lf,%lf,%lf,%lf", name, &group[0], &group[1], &group[2], &group[3],
			   &group[4]) != 6)
			die("lab-sum: %s/pauses.csv: %s", raw, line);
		pauses_add(cores, name, group);
	}
	fclose(file);
	i = number_parse("groups", strtok_r(strcpy(text, lab->groups), " ", &save));
	object = pauses_add(NULL, NULL, all);
	json_object_object_add(
		object, "last_us",
		run->last_pause_us ? json_object_new_int64((int64_t)(run->last_pause_us - run->zero_us)) : NULL);
	json_object_object_add(object, "rank", json_number(rank_correlation(share, sent, i), 3));
	json_object_object_add(object, "rank_rate", json_number(rank_correlation(rate, sent, i), 3));
	json_object_object_add(object, "groups", groups);
	json_object_object_add(object, "ports", ports);
	if (core)
		json_object_object_add(object, "cores", cores);
	else
		json_object_put(cores);
	return object;
}

// SPDX-License-Identifier: GPL-2.0-only
/* params: what was asked for, and what ran. */
#include "sum.h"

void lab_read(struct lab *lab)
{
	FILE *file = file_open(lab->dir, "params", "r");
	char line[4096], text[4096] = "", *word, *save = NULL;
	int i;

	if (!file)
		die("lab-sum: %s has no params: nothing was measured", lab->dir);
	while (fgets(line, sizeof(line), file)) {
		value_read(line, "lab", lab->name, sizeof(lab->name));
		value_read(line, "kernel", lab->kernel, sizeof(lab->kernel));
		value_read(line, "missing", lab->missing, sizeof(lab->missing));
		value_read(line, "ran", lab->ran, sizeof(lab->ran));
		value_read(line, "podcc", lab->podcc, sizeof(lab->podcc));
		value_read(line, "telemetry", lab->telemetry, sizeof(lab->telemetry));
		value_read(line, "app", lab->app, sizeof(lab->app));
		value_read(line, "attach", lab->attach, sizeof(lab->attach));
		value_read(line, "nic", lab->nic, sizeof(lab->nic));
		number_read(line, "gso", &lab->gso);
		value_read(line, "queue", lab->queue, sizeof(lab->queue));
		value_read(line, "aqm", lab->aqm, sizeof(lab->aqm));
		number_read(line, "senders", &lab->senders);
		number_read(line, "parallel", &lab->parallel);
		number_read(line, "long_flows", &lab->long_flows);
		number_read(line, "rate_bps", &lab->rate_bps);
		number_read(line, "rtt_us", &lab->rtt_us);
		number_read(line, "buffer_bytes", &lab->buffer_bytes);
		number_read(line, "time_us", &lab->time_us);
		number_read(line, "seed", &lab->seed);
		number_read(line, "warmup_us", &lab->warmup_us);
		number_read(line, "size_bytes", &lab->size_bytes);
		number_read(line, "stagger_us", &lab->stagger_us);
		number_read(line, "join_bytes", &lab->join_bytes);
		number_read(line, "auth", &lab->auth);
		number_read(line, "racks", &lab->racks);
		number_read(line, "servers", &lab->servers);
		number_read(line, "uplink", &lab->uplink);
		number_read(line, "burst", &lab->burst);
		number_read(line, "burst_bytes", &lab->burst_bytes);
		number_read(line, "incast_bytes", &lab->incast_bytes);
		number_read(line, "churn_us", &lab->churn_us);
		number_read(line, "lose_percent", &lab->lose);
		number_read(line, "repeat_percent", &lab->repeat);
		number_read(line, "reorder_percent", &lab->reorder);
		number_read(line, "kill_us", &lab->kill_us);
		value_read(line, "hiercc", lab->hiercc, sizeof(lab->hiercc));
		value_read(line, "longs", lab->longs, sizeof(lab->longs));
		number_read(line, "headroom_bytes", &lab->headroom_bytes);
		value_read(line, "groups", lab->groups, sizeof(lab->groups));
		number_read(line, "core", &lab->core);
		value_read(line, "shape", lab->shape, sizeof(lab->shape));
		value_read(line, "rates", lab->rates, sizeof(lab->rates));
		value_read(line, "sender_rates", text, sizeof(text));
		value_read(line, "pfc", lab->pfc, sizeof(lab->pfc));
	}
	fclose(file);
	word = strtok_r(text, " ", &save);
	for (i = 0; i < PORTS_MAX && word; i++, word = strtok_r(NULL, " ", &save))
		lab->rate[i] = number_parse("sender_rates", word);
	if (!lab->long_flows && !lab->racks)
		lab->long_flows = lab->senders;
}

static void racks_params(json_object *object, const struct lab *lab)
{
	json_int(object, "racks", lab->racks);
	json_int(object, "servers", lab->servers);
	json_int(object, "uplink", lab->uplink);
	json_object_object_add(object, "longs", words(lab->longs));
	json_int(object, "burst", lab->burst);
	json_int(object, "burst_bytes", lab->burst_bytes);
	if (lab->incast_bytes)
		json_int(object, "incast_bytes", lab->incast_bytes);
	json_int(object, "churn_us", lab->churn_us);
	json_int(object, "lose_percent", lab->lose);
	json_int(object, "repeat_percent", lab->repeat);
	json_int(object, "reorder_percent", lab->reorder);
	json_int(object, "kill_us", lab->kill_us);
	json_object_object_add(object, "hiercc", json_object_new_string(lab->hiercc));
}

static void pfc_params(json_object *object, const struct lab *lab)
{
	json_object_object_add(object, "groups", words(lab->groups));
	json_object_object_add(object, "rates", json_object_new_string(lab->rates));
	json_int(object, "headroom_bytes", lab->headroom_bytes);
	json_object_object_add(object, "shape", json_object_new_string(lab->shape));
	if (strcmp(lab->shape, "star"))
		json_int(object, "core", lab->core);
	json_object_object_add(object, "pfc", json_object_new_string(lab->pfc));
}

json_object *lab_params(const struct lab *lab)
{
	json_object *object = json_object_new_object();

	json_int(object, "senders", lab->senders);
	if (lab->parallel > 1)
		json_int(object, "parallel", lab->parallel);
	json_int(object, "rate_bps", lab->rate_bps);
	json_int(object, "rtt_us", lab->rtt_us);
	json_int(object, "buffer_bytes", lab->buffer_bytes);
	json_int(object, "time_us", lab->time_us);
	json_int(object, "warmup_us", lab->warmup_us);
	json_int(object, "size_bytes", lab->size_bytes);
	json_int(object, "stagger_us", lab->stagger_us);
	json_int(object, "join_bytes", lab->join_bytes);
	if (lab->racks)
		racks_params(object, lab);
	if (*lab->groups)
		pfc_params(object, lab);
	if (*lab->telemetry)
		json_object_object_add(object, "telemetry", json_object_new_string(lab->telemetry));
	json_object_object_add(object, "auth", json_object_new_boolean(lab->auth));
	json_int(object, "seed", lab->seed);
	if (*lab->podcc)
		json_object_object_add(object, "podcc", words(lab->podcc));
	if (*lab->app)
		json_object_object_add(object, "app", json_object_new_string(lab->app));
	if (*lab->attach)
		json_object_object_add(object, "attach", json_object_new_string(lab->attach));
	if (*lab->nic)
		json_object_object_add(object, "nic", json_object_new_string(lab->nic));
	json_object_object_add(object, "gso", json_object_new_boolean(lab->gso));
	if (*lab->queue)
		json_object_object_add(object, "queue", json_object_new_string(lab->queue));
	if (*lab->aqm)
		json_object_object_add(object, "aqm", json_object_new_string(lab->aqm));
	return object;
}

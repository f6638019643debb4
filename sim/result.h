/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_RESULT_H
#define SLUICE_SIM_RESULT_H
/* Members of the result, which is one JSON object. */
#include <json-c/json.h>
#include <stdint.h>

/* With six digits; null if the number is not finite. */
void result_number(struct json_object *o, const char *key, double v);
void result_count(struct json_object *o, const char *key, uint64_t v);
/* NAN if there is none. */
double result_get(struct json_object *o, const char *key);

#endif

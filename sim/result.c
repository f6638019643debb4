// SPDX-License-Identifier: GPL-2.0-only
/* See result.h. */
#include <math.h>
#include <stdio.h>
#include "sim/result.h"

void result_number(struct json_object *o, const char *key, double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", v);
	json_object_object_add(o, key, isfinite(v) ? json_object_new_double_s(v, text) : NULL);
}

void result_count(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

double result_get(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_double(v) : NAN;
}

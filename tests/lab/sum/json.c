// SPDX-License-Identifier: GPL-2.0-only
/* Figures as JSON. */
#include "sum.h"

json_object *json_number(double value, int decimals)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	return json_object_new_double_s(value, text);
}

void json_int(json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

json_object *json_percentiles(uint64_t *values, size_t count, int p95)
{
	json_object *object = json_object_new_object();

	qsort(values, count, sizeof(*values), compare_u64);
	json_int(object, "p50", percentile(values, count, 0.50));
	if (p95)
		json_int(object, "p95", percentile(values, count, 0.95));
	json_int(object, "p99", percentile(values, count, 0.99));
	json_int(object, "max", count ? values[count - 1] : 0);
	return object;
}

json_object *words(const char *text)
{
	json_object *array = json_object_new_array();
	char copy[4096], *word, *save = NULL;

	snprintf(copy, sizeof(copy), "%s", text);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		json_object_array_add(array, json_object_new_string(word));
	return array;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Parsers for each kind of value, and what messages say of it. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/config.h"
#include "lib/config/keys.h"

#define PPM 1000000

static int in_range(const struct config_key *k, double value)
{
	return value >= k->min && (!k->max || value <= k->max);
}

/* Stores a parsed value; err is the parser's result. */
static int value_store(const struct config_key *k, int err, __u64 value, void *of)
{
	if (!err && !in_range(k, value))
		err = -ERANGE;
	if (!err)
		field_set(of, &k->field, value);
	return err;
}

static int word_value(const struct config_key *k, const char *text, void *of)
{
	unsigned int value = 0;
	int err = word_parse(k->words, text, &value);

	return value_store(k, err, value, of);
}

static int number_value(const struct config_key *k, const char *text, void *of)
{
	__u64 value = 0;
	int err = digits_parse(text, &value);

	if (!err && !value && k->zero)
		err = digits_parse(k->preset, &value);
	return value_store(k, err, value, of);
}

/* Parses a number, or 0 for auto. */
static int flows_value(const struct config_key *k, const char *text, void *of)
{
	__u64 value = 0;
	int err;

	if (!strcmp(text, "auto")) {
		field_set(of, &k->field, 0);
		return 0;
	}
	err = digits_parse(text, &value);
	return value_store(k, err, value, of);
}

/* A double. */
static int fraction_value(const struct config_key *k, const char *text, void *of)
{
	const char *end;
	double value;

	if (decimal_parse(text, &value, &end) || *end)
		return -EINVAL;
	if (!value && k->zero)
		value = strtod(k->preset, NULL);
	if (!in_range(k, value))
		return -ERANGE;
	*(double *)field_at(of, &k->field) = value;
	return 0;
}

/* A number that is stored in Q24; min and max are in units of 2^-24. */
static int q24_value(const struct config_key *k, const char *text, void *of)
{
	const char *end;
	double value;

	if (decimal_parse(text, &value, &end) || *end || value >= 1 << 24)
		return -EINVAL;
	return value_store(k, 0, value * Q24_ONE, of);
}

/* "30%" or "12.5%", in millionths. */
static int share_value(const struct config_key *k, const char *text, void *of)
{
	const char *end;
	double v;
	__u32 ppm;

	if (decimal_parse(text, &v, &end) || strcmp(end, "%") || !(v > 0 && v <= 100))
		return -EINVAL;
	ppm = lround(v * PPM / 100);
	return value_store(k, ppm ? 0 : -EINVAL, ppm, of);
}

static int time_value(const struct config_key *k, const char *text, void *of)
{
	__u64 ns = 0;
	int err = units_time(text, &ns);

	return value_store(k, err, ns, of);
}

/* Parses a time, or 0 for auto. */
static int rtt_value(const struct config_key *k, const char *text, void *of)
{
	if (strcmp(text, "auto"))
		return time_value(k, text, of);
	field_set(of, &k->field, 0);
	return 0;
}

static int speed_value(const struct config_key *k, const char *text, void *of)
{
	__u64 bps = 0;
	int err = units_speed(text, &bps);

	return value_store(k, err, bps, of);
}

static int bytes_value(const struct config_key *k, const char *text, void *of)
{
	__u64 bytes = 0;
	int err = units_bytes(text, &bytes);

	return value_store(k, err, bytes, of);
}

static int string_value(const struct config_key *k, const char *text, void *of)
{
	char *copy;

	if (k->chars && text[strspn(text, k->chars)])
		return -EINVAL;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	*(char **)field_at(of, &k->field) = copy;
	return 0;
}

/* An IPv4 address, or a number, in network order; neither is 0. */
static int id_value(const struct config_key *k, const char *text, void *of)
{
	__be32 id = 0;
	__u64 n;

	if (inet_pton(AF_INET, text, &id) != 1) {
		if (digits_parse(text, &n) || n > 0xffffffff)
			return -EINVAL;
		id = htonl(n);
	}
	return value_store(k, id ? 0 : -EINVAL, id, of);
}

static int listen_value(const struct config_key *k, const char *text, void *of)
{
	struct config_listen l = {};

	if (strlen(text) >= sizeof(l.text) || listen_parse(text, &l.at, &l.len))
		return -EINVAL;
	strcpy(l.text, text);
	*(struct config_listen *)field_at(of, &k->field) = l;
	return 0;
}

static int prefix_value(const struct config_key *k, const char *text, void *of)
{
	return prefix_parse(text, field_at(of, &k->field));
}

/* A number from 0 to max: its bit in the field. */
static int bits_add(const struct config_key *k, const char *text, void *of)
{
	__u64 bits = field_get(of, &k->field), n = 0;
	int err = digits_parse(text, &n);

	if (err || n > k->max)
		return err ?: -ERANGE;
	if (bits >> n & 1)
		return -EEXIST;
	field_set(of, &k->field, bits | 1ULL << n);
	return 0;
}

static int prefixes_add(const struct config_key *k, const char *text, void *of)
{
	struct peer_key *list = field_at(of, &k->field), one;
	unsigned int n = field_get(of, &k->count), i;

	if (prefix_parse(text, &one))
		return -EINVAL;
	if (n >= k->most)
		return -ERANGE;
	for (i = 0; i < n; i++)
		if (!memcmp(&list[i], &one, sizeof(one)))
			return -EEXIST;
	list[n] = one;
	field_set(of, &k->count, n + 1);
	return 0;
}

const struct config_kind config_word = { .parse = word_value };
const struct config_kind config_number = { .parse = number_value };
const struct config_kind config_flows = { .parse = flows_value };
const struct config_kind config_fraction = { .parse = fraction_value };
const struct config_kind config_q24 = { .parse = q24_value };
const struct config_kind config_share = { .parse = share_value };
const struct config_kind config_time = { .parse = time_value };
const struct config_kind config_rtt = { .parse = rtt_value };
const struct config_kind config_speed = { .parse = speed_value };
const struct config_kind config_bytes = { .parse = bytes_value };
const struct config_kind config_string = { .parse = string_value };
const struct config_kind config_id = { .parse = id_value };
const struct config_kind config_listen = { .parse = listen_value };
const struct config_kind config_prefix = { .parse = prefix_value };
const struct config_kind config_bits = { .add = bits_add };
const struct config_kind config_prefixes = { .add = prefixes_add };
const struct config_kind config_section = {};
const struct config_kind config_entries = {};

const char *config_key_range(const struct config_key *k, char *buf, size_t size)
{
	if (k->range)
		snprintf(buf, size, "%s", k->range);
	else
		words_list(k->words, buf, size);
	return buf;
}

const char *config_key_advice(const struct config_key *k, char *buf, size_t size)
{
	if (k->advice)
		snprintf(buf, size, "%s", k->advice);
	else if (k->words)
		words_list(k->words, buf, size);
	else
		snprintf(buf, size, "for example %s", k->example);
	return buf;
}

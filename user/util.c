// SPDX-License-Identifier: GPL-2.0-only
/* Messages, units and addresses: what every other file needs. */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "util.h"

static const char *msg_program = "sluice";
static int msg_is_verbose;

void msg_init(const char *program)
{
	msg_program = program;
}

void msg_verbose(int on)
{
	msg_is_verbose = on;
}

static void msg_print(const char *fmt, va_list ap)
{
	char line[2048];

	/* One write, so that lines of several processes on one terminal do not mix. */
	vsnprintf(line, sizeof(line), fmt, ap);
	fprintf(stderr, "%s: %s\n", msg_program, line);
}

void msg(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	msg_print(fmt, ap);
	va_end(ap);
}

void msg_debug(const char *fmt, ...)
{
	va_list ap;

	if (!msg_is_verbose)
		return;
	va_start(ap, fmt);
	msg_print(fmt, ap);
	va_end(ap);
}

void msg_limited(struct msg_limit *l, unsigned int interval_s, const char *fmt, ...)
{
	__u64 now = now_ns();
	va_list ap;

	if (now < l->next_ns) {
		l->left_out++;
		return;
	}
	va_start(ap, fmt);
	msg_print(fmt, ap);
	va_end(ap);
	if (l->left_out)
		msg("(the same %u times more since it was last said)", l->left_out);
	l->left_out = 0;
	l->next_ns = now + interval_s * NSEC_PER_SEC;
}

__u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

struct unit {
	const char *name;
	double factor;
};

static int units_parse(const char *s, const struct unit *units, __u64 *value)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(s, &end);
	if (end == s || errno || !isfinite(v) || v < 0)
		return -EINVAL;
	for (; units->name; units++) {
		if (strcasecmp(end, units->name))
			continue;
		v = v * units->factor + 0.5;
		if (v >= 9.2e18)
			return -EINVAL;
		*value = (__u64)v;
		return 0;
	}
	return -EINVAL;
}

int units_speed(const char *s, __u64 *bps)
{
	static const struct unit units[] = {
		{ "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 }, {},
	};

	return units_parse(s, units, bps);
}

int units_time(const char *s, __u64 *ns)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, {},
	};

	return units_parse(s, units, ns);
}

int units_bytes(const char *s, __u64 *bytes)
{
	static const struct unit units[] = {
		{ "b", 1 }, { "kb", 1e3 }, { "mb", 1e6 }, { "gb", 1e9 }, {},
	};

	return units_parse(s, units, bytes);
}

static const struct sluice_addr v4_mapped = { { [10] = 0xff, [11] = 0xff } };

int addr_is_v4(const struct sluice_addr *a)
{
	return !memcmp(a, &v4_mapped, 12);
}

int prefix_parse(const char *s, struct peer_key *key)
{
	char text[INET6_ADDRSTRLEN + 1];
	const char *slash = strchr(s, '/');
	size_t len = slash ? (size_t)(slash - s) : strlen(s);
	unsigned int i, bits;
	int offset = 0;
	char *end;
	long n;

	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, s, len);
	text[len] = 0;
	memset(key, 0, sizeof(*key));
	if (inet_pton(AF_INET, text, &key->addr.b[12]) == 1) {
		key->addr.b[10] = key->addr.b[11] = 0xff;
		offset = 96;
	} else if (inet_pton(AF_INET6, text, &key->addr) != 1) {
		return -EINVAL;
	}
	n = 128 - offset;
	if (slash) {
		n = strtol(slash + 1, &end, 10);
		if (end == slash + 1 || *end || n < 0 || n > 128 - offset)
			return -EINVAL;
	}
	bits = n + offset;
	key->prefixlen = bits;
	for (i = bits; i < 128; i++)
		if (key->addr.b[i / 8] & (0x80 >> i % 8))
			return -EINVAL;
	return 0;
}

const char *addr_format(const struct sluice_addr *a, char *buf)
{
	if (addr_is_v4(a))
		inet_ntop(AF_INET, &a->b[12], buf, PREFIX_STRLEN);
	else
		inet_ntop(AF_INET6, a, buf, PREFIX_STRLEN);
	return buf;
}

const char *prefix_format(const struct peer_key *key, char *buf)
{
	int v4 = addr_is_v4(&key->addr) && key->prefixlen >= 96;
	size_t n;

	addr_format(&key->addr, buf);
	n = strlen(buf);
	snprintf(buf + n, PREFIX_STRLEN - n, "/%u", key->prefixlen - (v4 ? 96 : 0));
	return buf;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Messages, units and addresses, used by all other files. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include "lib/util.h"

static const char *msg_program = "sluice";
static int msg_is_verbose, msg_is_journal;

void msg_init(const char *program)
{
	const char *journal = getenv("JOURNAL_STREAM");
	char stream[48];
	struct stat st;

	msg_program = program;
	/* Children inherit the variable, even those whose stderr is another file. */
	if (!journal || fstat(STDERR_FILENO, &st))
		return;
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	msg_is_journal = !strcmp(journal, stream);
}

void msg_verbose(int on)
{
	msg_is_verbose = on;
}

static char msg_all[4096];

static void msg_print(int priority, const char *fmt, va_list ap)
{
	char line[2048], in_front[8] = "";
	size_t n = strlen(msg_all);

	/* One write, so that lines of several processes on one terminal do not mix. */
	vsnprintf(line, sizeof(line), fmt, ap);
	if (msg_is_journal)
		snprintf(in_front, sizeof(in_front), "<%d>", priority);
	fprintf(stderr, "%s%s: %s\n", in_front, msg_program, line);
	snprintf(msg_all + n, sizeof(msg_all) - n, "%s%s", n ? "; " : "", line);
}

const char *msg_said(void)
{
	return msg_all;
}

void msg(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	msg_print(LOG_WARNING, fmt, ap);
	va_end(ap);
}

void msg_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	msg_print(LOG_INFO, fmt, ap);
	va_end(ap);
}

void msg_debug(const char *fmt, ...)
{
	va_list ap;

	if (!msg_is_verbose)
		return;
	va_start(ap, fmt);
	msg_print(LOG_DEBUG, fmt, ap);
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
	msg_print(LOG_WARNING, fmt, ap);
	va_end(ap);
	if (l->left_out)
		msg("(repeated %u more times since the last message)", l->left_out);
	l->left_out = 0;
	l->next_ns = now + interval_s * NSEC_PER_SEC;
}

const char *caps_missing(char *buf, size_t size, __u64 caps)
{
	static const struct {
		int bit;
		const char *name;
	} names[] = {
		{ CAP_BPF, "CAP_BPF" },		{ CAP_PERFMON, "CAP_PERFMON" }, { CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_NET_RAW, "CAP_NET_RAW" }, { CAP_SYSLOG, "CAP_SYSLOG" },	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	unsigned int i;
	size_t n = 0;
	__u64 have;

	syscall(SYS_capget, &head, data);
	have = (__u64)data[1].effective << 32 | data[0].effective;
	/* Before Linux 5.8, and still today, this includes the first two. */
	if (have & 1ULL << CAP_SYS_ADMIN)
		have |= 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;
	*buf = 0;
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && n < size; i++)
		if (caps & ~have & 1ULL << names[i].bit)
			n += snprintf(buf + n, size - n, "%s%s", n ? ", " : "", names[i].name);
	return buf;
}

void memory_keep_private(void)
{
	const struct rlimit none = {};

	if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_DUMPABLE, 0))
		msg("core files cannot be switched off: %s: one would hold the keys of authentication",
		    strerror(errno));
}

__u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

#define DIGITS "0123456789"

int decimal_parse(const char *s, double *value, const char **end)
{
	size_t whole = strspn(s, DIGITS), fraction = s[whole] == '.' ? strspn(s + whole + 1, DIGITS) : 0;

	if ((s[whole] == '.' && !fraction) || !(whole + fraction) || (whole > 1 && *s == '0'))
		return -EINVAL;
	*end = s + whole + (fraction ? 1 + fraction : 0);
	errno = 0;
	*value = strtod(s, NULL); /* which also reads an exponent or hexadecimal: no unit begins with e or x */
	return -errno;
}

int digits_parse(const char *s, __u64 *value)
{
	if (!*s || s[strspn(s, DIGITS)] || (*s == '0' && s[1]))
		return -EINVAL;
	errno = 0;
	*value = strtoull(s, NULL, 10);
	return -errno;
}

struct unit {
	const char *name;
	double factor;
};

static int units_parse(const char *s, const struct unit *units, __u64 *value)
{
	const char *end;
	double v;

	if (decimal_parse(s, &v, &end))
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

/* In the largest unit that leaves a whole part, exactly: 10500000 ns are "10.5ms". */
static const char *units_format(__u64 value, const char *const *units, char *buf)
{
	double v = value;

	for (; v >= 1000 && units[1]; units++)
		v /= 1000;
	snprintf(buf, UNITS_STRLEN, "%.15g%s", v, *units);
	return buf;
}

const char *units_time_format(__u64 ns, char *buf)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };

	return units_format(ns, units, buf);
}

const char *units_bytes_format(__u64 bytes, char *buf)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", NULL };

	return units_format(bytes, units, buf);
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
	__u64 n;

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
	if (slash && (digits_parse(slash + 1, &n) || n > 128U - offset))
		return -EINVAL;
	bits = n + offset;
	key->prefixlen = bits;
	for (i = bits; i < 128; i++)
		if (key->addr.b[i / 8] & (0x80 >> i % 8))
			return -EINVAL;
	return 0;
}

int listen_parse(const char *s, struct sockaddr_storage *at, unsigned int *len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;
	struct sockaddr_un *local = (struct sockaddr_un *)at;
	const char *colon = strrchr(s, ':');
	char host[INET6_ADDRSTRLEN + 3];
	size_t bytes = colon ? (size_t)(colon - s) : 0;
	__u64 port;

	memset(at, 0, sizeof(*at));
	if (s[0] == '/') {
		if (strlen(s) >= sizeof(local->sun_path) || s[strlen(s) - 1] == '/')
			return -EINVAL;
		local->sun_family = AF_UNIX;
		strcpy(local->sun_path, s);
		*len = sizeof(*local);
		return 0;
	}
	if (!bytes || bytes >= sizeof(host) || digits_parse(colon + 1, &port) || !port || port > 0xffff)
		return -EINVAL;
	memcpy(host, s, bytes);
	host[bytes] = 0;
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		*len = sizeof(*v4);
		return 0;
	}
	if (host[0] != '[' || host[bytes - 1] != ']')
		return -EINVAL;
	host[bytes - 1] = 0;
	if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) != 1)
		return -EINVAL;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	*len = sizeof(*v6);
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

int addr_in_prefix(const struct sluice_addr *a, const struct peer_key *prefix)
{
	unsigned int bytes = prefix->prefixlen / 8, bits = prefix->prefixlen % 8;

	return !memcmp(a, &prefix->addr, bytes) && (!bits || (a->b[bytes] ^ prefix->addr.b[bytes]) >> (8 - bits) == 0);
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

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_UTIL_H
#define SLUICE_UTIL_H
#ifdef __bpf__
#error "user/ is for the host; what both sides see is in include/sluice"
#endif
#include <linux/capability.h>
#include <stdarg.h>
#include <stddef.h>
#include "sluice/abi/abi.h"

#define SLUICE_VERSION "0.1.0"
#define SLUICE_PIN_DIR "/sys/fs/bpf/sluice"

/* The ending of a word that counts n things. */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* Exit codes of both programs. */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_UNSUPPORTED = 3, /* this kernel or device cannot do it */
	EXIT_ROLLED_BACK = 4, /* failed halfway, and undone */
};

/*
 * Messages go to stderr with the program's name in front, and to the journal with a priority: problems as warnings,
 * actions as information. msg_debug() only after msg_verbose().
 */
void msg_init(const char *program);
void msg_verbose(int on);
void msg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void msg_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same message at most once in interval_s, with the number of omitted ones; state is the caller's. */
struct msg_limit {
	__u64 next_ns;
	unsigned int left_out;
};
void msg_limited(struct msg_limit *l, unsigned int interval_s, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* All messages so far, up to 4 KB, joined by "; ". */
const char *msg_said(void);

/* Those of these capabilities (bits of CAP_*) that this process lacks, as "CAP_BPF, CAP_NET_ADMIN"; "" if none. */
const char *caps_missing(char *buf, size_t size, __u64 caps);
#define CAPS_READ (1ULL << CAP_BPF)
#define CAPS_LOAD (1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_NET_ADMIN)
#define CAPS_DETACH (1ULL << CAP_BPF | 1ULL << CAP_NET_ADMIN)
#define CAPS_RUN (CAPS_LOAD | 1ULL << CAP_NET_RAW)

/*
 * To be called before keys are read: this process writes no core file, and only a process with CAP_SYS_PTRACE can read
 * its memory, not even another one of the same user.
 */
void memory_keep_private(void);

__u64 now_ns(void); /* CLOCK_MONOTONIC, the clock of bpf_ktime_get_ns() */

/* The age of an event at then_ns: 0 if it never happened (0), or came after now_ns was read, as programs keep writing. */
static inline __u64 age_ns(__u64 now_ns, __u64 then_ns)
{
	return then_ns && then_ns < now_ns ? now_ns - then_ns : 0;
}

/*
 * Numbers as people write them: decimal digits, in decimal_parse() with a fraction behind a point ("2.5", ".5"). No sign,
 * blank, exponent, or needless 0 in front, which some would read as octal. decimal_parse() sets end behind the number.
 * 0, -EINVAL, or -ERANGE.
 */
int digits_parse(const char *s, __u64 *value);
int decimal_parse(const char *s, double *value, const char **end);

/*
 * Numbers with units: "25Gbit", "12us", "10KB", "2.5Gbit". Unit names in any case. K, M and G are powers of 1000.
 * Return 0, or -EINVAL without a change.
 */
int units_speed(const char *s, __u64 *bps);
int units_time(const char *s, __u64 *ns);
int units_bytes(const char *s, __u64 *bytes);
/* The reverse of the above, in buf of UNITS_STRLEN, which is returned. */
#define UNITS_STRLEN 32
const char *units_time_format(__u64 ns, char *buf);
const char *units_bytes_format(__u64 bytes, char *buf);

/* "10.0.0.0/8", "fd00::/16", "10.1.2.3". Host bits must be 0. Returns 0 or -EINVAL. */
int prefix_parse(const char *s, struct peer_key *key);
/* buf of PREFIX_STRLEN; IPv4-mapped addresses print as IPv4. */
#define PREFIX_STRLEN 64
const char *addr_format(const struct sluice_addr *a, char *buf);
const char *prefix_format(const struct peer_key *key, char *buf);
/* "127.0.0.1:9463", "[::1]:9463", or the path of a socket. Returns 0 or -EINVAL. */
struct sockaddr_storage;
int listen_parse(const char *s, struct sockaddr_storage *at, unsigned int *len);
int addr_is_v4(const struct sluice_addr *a);
int addr_in_prefix(const struct sluice_addr *a, const struct peer_key *prefix);

#endif

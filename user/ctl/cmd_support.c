// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl support [FILE]: the state of this machine for somebody else to analyse, in one tar archive.
 *
 *  1. A table of commands, whose output makes the files. Each has a time limit; a failed one is still in the archive,
 *     with its messages, and is named at the end with its missing capabilities.
 *  2. The archive is written into an unnamed file, which gets its name when it is complete: a full disk or a signal
 *     leaves nothing. The format is ustar (POSIX.1-1988, pax): a header of 512 bytes in front of each file, so neither
 *     a library nor a temporary directory is needed.
 *  3. The authentication key is never read; the configuration names its file. Text there that looks like a key is left
 *     out.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "lib/config.h"
#include "ctl/pods.h"
#include "ctl/show.h"

#define SUPPORT_SECONDS "60" /* for each command */
#define SUPPORT_FILE_MIB 64
#define SUPPORT_FILE_MAX (SUPPORT_FILE_MIB << 20)
#define SUPPORT_KEY_DIGITS 32

#define CTL "\"$SLUICECTL\" --pin-dir \"$SLUICE_PINS\" ${SLUICE_BUNDLES:+--bundles \"$SLUICE_BUNDLES\"} "
#define CAP(name) (1ULL << CAP_##name)

static const struct support_item {
	const char *name;
	const char *command; /* NULL: the configuration */
	__u64 caps;	     /* capabilities without which it fails */
} support_items[] = {
	{ "version.txt", "\"$SLUICECTL\" --version; uname -a; cat /etc/os-release; date; uptime", 0 },
	{ "config.yaml", NULL, 0 },
	{ "probe.json", CTL "probe --json; true", 0 },
	{ "stats-1.json", CTL "stats --json", CAPS_READ },
	{ "status.json", CTL "status --json", CAPS_READ },
	{ "flows.json", CTL "flows --json", CAPS_READ },
	{ "int.json", CTL "int --json", CAPS_READ },
	{ "voqs.json", CTL "voqs --json", CAPS_READ },
	{ "credits.json", CTL "credits --json", CAPS_READ },
	{ "pods.json", CTL "pods --json", 0 },
	{ "ports.json", CTL "ports --json", CAPS_READ },
	{ "queue.json", CTL "queue --json", CAPS_READ },
	{ "set.json", CTL "set --json", CAPS_READ },
	{ "ip-link.txt", "ip -d -s link && ip address", 0 },
	{ "ip-route.txt", "ip rule && ip route show table all && ip -6 route show table all", 0 },
	{ "tc-qdisc.txt", "tc -d -s qdisc", 0 },
	{ "tc-filter.txt",
	  "ip -o link | awk -F': ' '{ sub(\"@.*\", \"\", $2); print $2 }' | while read -r d; do echo \"# $d\"; "
	  "tc -s filter show dev \"$d\" egress; tc -s filter show dev \"$d\" ingress; done",
	  0 },
	{ "sysctl.txt",
	  "cd /proc/sys/net && grep -H . ipv4/tcp_*congestion_control core/default_qdisc ipv4/tcp_[rw]mem; true", 0 },
	{ "ss.txt", "ss -s && ss -tinm | head -n 4000", 0 },
	{ "bpftool-net.txt", "bpftool net show", CAP(SYS_ADMIN) },
	{ "bpftool-prog.txt", "bpftool prog show", CAP(SYS_ADMIN) },
	{ "bpftool-map.txt", "bpftool map show", CAP(SYS_ADMIN) },
	{ "bpftool-link.txt", "bpftool link show", CAP(SYS_ADMIN) },
	{ "bpftool-struct_ops.txt", "bpftool struct_ops show", CAP(SYS_ADMIN) },
	{ "kernel.log", "dmesg | tail -n 5000 | grep '' ", CAP(SYSLOG) },
	{ "sluiced.log", "journalctl -q --no-pager -n 5000 -u sluiced -u sluice; true", 0 },
	{ "stats-2.json", CTL "stats --json", CAPS_READ },
	{},
};

#define SUPPORT_ITEMS (sizeof(support_items) / sizeof(support_items[0]))

struct text {
	char *at;
	size_t n, room;
	int cut; /* the text was truncated */
};

struct support {
	const char *config;
	int fd;
	__u64 bytes;
	struct text missing;
	const char *file[SUPPORT_ITEMS + 1]; /* files in the archive */
	struct {
		const char *file;
		char why[400];
	} lack[2 * SUPPORT_ITEMS]; /* a command may both fail and have its output truncated */
	unsigned int files, lacks;
};

/* Adds at most up to SUPPORT_FILE_MAX. */
static int text_add(struct text *t, const char *from, size_t n)
{
	char *at;

	if (n > SUPPORT_FILE_MAX - t->n) {
		n = SUPPORT_FILE_MAX - t->n;
		t->cut = 1;
	}
	if (t->n + n + 1 > t->room) {
		t->room = 2 * (t->n + n + 1);
		at = realloc(t->at, t->room);
		if (!at)
			return -ENOMEM;
		t->at = at;
	}
	memcpy(t->at + t->n, from, n);
	t->n += n;
	t->at[t->n] = 0;
	return 0;
}

/* --- 2. --- */

struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};

_Static_assert(sizeof(struct ustar) == 512, "a block");

static int support_write(struct support *s, const void *from, size_t n)
{
	ssize_t written;

	for (; n; n -= written, from = (const char *)from + written, s->bytes += written) {
		written = write(s->fd, from, n);
		if (written < 0 && errno == EINTR)
			written = 0;
		else if (written <= 0)
			return written ? -errno : -EIO;
	}
	return 0;
}

static int support_add(struct support *s, const char *name, const struct text *t)
{
	static const char zeros[512];
	struct ustar h = { .type = '0', .magic = "ustar", .version = { '0', '0' } };
	unsigned int sum = 0;
	size_t i;
	int err;

	snprintf(h.name, sizeof(h.name), "sluice-support/%s", name);
	snprintf(h.mode, sizeof(h.mode), "%07o", 0600);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011lo", (unsigned long)t->n);
	snprintf(h.mtime, sizeof(h.mtime), "%011lo", (unsigned long)time(NULL));
	memset(h.sum, ' ', sizeof(h.sum)); /* the checksum counts itself as blanks */
	for (i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.sum, sizeof(h.sum), "%06o", sum);
	err = support_write(s, &h, sizeof(h));
	if (!err && t->n)
		err = support_write(s, t->at, t->n);
	if (!err && t->n % 512)
		err = support_write(s, zeros, 512 - t->n % 512);
	s->file[s->files++] = name;
	return err;
}

/* --- 1. --- */

static int support_lacks(struct support *s, const char *name, const char *why)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%s: %s\n", name, why);

	msg("%s is not complete: %s", name, why);
	s->lack[s->lacks].file = name;
	snprintf(s->lack[s->lacks++].why, sizeof(s->lack[0].why), "%s", why);
	return text_add(&s->missing, line, n < (int)sizeof(line) ? n : (int)sizeof(line) - 1);
}

/* Runs a command, with its output in out. Returns its exit status, or -errno. */
static int command_run(const char *command, struct text *out)
{
	char line[2048], buf[65536];
	FILE *f;
	size_t n;
	int err = 0, status;

	snprintf(line, sizeof(line), "exec 2>&1; %s", command);
	setenv("SLUICE_RUN", line, 1);
	fflush(NULL);
	f = popen("exec timeout " SUPPORT_SECONDS " sh -c \"$SLUICE_RUN\" </dev/null", "re");
	if (!f)
		return -errno;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0 && !err)
		err = text_add(out, buf, n);
	status = pclose(f);
	return err ?: WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

static int support_command(struct support *s, const struct support_item *i, struct text *out)
{
	int status = command_run(i->command, out);
	char caps[128], why[400], first[200];

	if (status <= 0)
		return status;
	caps_missing(caps, sizeof(caps), i->caps);
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(out->at ?: "", "\n"), out->at ?: "");
	if (*caps)
		snprintf(why, sizeof(why), "it needs %s", caps);
	else if (status == 124)
		snprintf(why, sizeof(why), "it took longer than " SUPPORT_SECONDS " s");
	else
		snprintf(why, sizeof(why), "%s", *first ? first : "it failed and said nothing");
	return support_lacks(s, i->name, why);
}

/* Nobody should write the key itself there; if somebody did, it goes no further. */
static void keys_remove(struct text *t)
{
	size_t i, digits = 0;

	for (i = 0; i <= t->n; i++) {
		if (i < t->n && strchr("0123456789abcdefABCDEF", t->at[i])) {
			digits++;
			continue;
		}
		if (digits >= SUPPORT_KEY_DIGITS)
			memset(t->at + i - digits, '*', digits);
		digits = 0;
	}
}

static int support_config(struct support *s, const char *name, struct text *out)
{
	char buf[4096], why[300];
	FILE *f = fopen(s->config, "re");
	int err = 0;
	size_t n;

	if (!f) {
		snprintf(why, sizeof(why), "%s: %s (--config FILE names another)", s->config, strerror(errno));
		return support_lacks(s, name, why);
	}
	while (!err && !out->cut && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		err = text_add(out, buf, n);
	fclose(f);
	if (!err && out->n)
		keys_remove(out);
	return err;
}

static int support_collect(struct support *s)
{
	static const char end[1024]; /* end of the archive */
	const struct support_item *i;
	const struct timespec second = { 1, 0 };
	struct text out = {};
	char why[96];
	int err = 0;

	for (i = support_items; i->name && !err; i++) {
		if (!strcmp(i->name, "stats-2.json"))
			nanosleep(&second, NULL);
		out.n = out.cut = 0;
		if (out.at)
			*out.at = 0;
		err = i->command ? support_command(s, i, &out) : support_config(s, i->name, &out);
		if (!err && out.cut) {
			snprintf(why, sizeof(why), "cut after %d MiB: run its command by itself for the rest",
				 SUPPORT_FILE_MIB);
			err = support_lacks(s, i->name, why);
		}
		if (!err)
			err = support_add(s, i->name, &out);
	}
	if (!err && s->missing.n)
		err = support_add(s, "MISSING.txt", &s->missing);
	free(out.at);
	return err ?: support_write(s, end, sizeof(end));
}

/* --- the file --- */

/* named: the file has its name from the start, because the file system has no unnamed files. */
static int archive_open(const char *path, int *named)
{
	char copy[4096];
	int fd;

	*named = 0;
	if (!access(path, F_OK))
		return -EEXIST;
	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		*named = 1;
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	}
	return fd < 0 ? -errno : fd;
}

static int archive_name(int fd, const char *path)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

static int support_run(struct support *s, const char *path)
{
	int named, err;

	s->fd = archive_open(path, &named);
	if (s->fd < 0) {
		msg("%s: %s%s", path, strerror(-s->fd), s->fd == -EEXIST ? ": name another file" : "");
		return EXIT_FAILED;
	}
	err = support_collect(s);
	/* Some file systems report a full disk only now. */
	if (!err && fsync(s->fd) && errno != EINVAL)
		err = -errno;
	if (!err && !named)
		err = archive_name(s->fd, path);
	if (close(s->fd) && !err)
		err = -errno;
	if (!err)
		return EXIT_DONE;
	if (named)
		unlink(path);
	msg("%s: %s: nothing is left of it%s", path, strerror(-err),
	    err == -ENOSPC || err == -EDQUOT ? "; name a file where there is room" : "");
	return EXIT_FAILED;
}

static int support_done(const struct support *s, const char *path)
{
	unsigned int i;

	if (!out_json) {
		printf("%s: %llu bytes, %u files%s; it has addresses of this network, and no keys\n", path, s->bytes,
		       s->files, s->missing.n ? " (MISSING.txt: what was not to be had)" : "");
		return EXIT_DONE;
	}
	out_object(NULL);
	out_string("archive", path);
	out_u64("size_bytes", s->bytes);
	out_array("files");
	for (i = 0; i < s->files; i++)
		out_string(NULL, s->file[i]);
	out_end();
	out_array("missing");
	for (i = 0; i < s->lacks; i++) {
		out_object(NULL);
		out_string("file", s->lack[i].file);
		out_string("reason", s->lack[i].why);
		out_end();
	}
	return out_done();
}

int cmd_support(int argc, char **argv)
{
	struct support s = { .config = CONFIG_PATH };
	char path[256] = "", self[512], host[64] = "", when[32], sbin[1024];
	time_t now = time(NULL);
	struct tm tm;
	ssize_t n;
	int i, err;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--config") && i + 1 < argc) {
			s.config = argv[++i];
		} else if (argv[i][0] != '-' && !*path) {
			snprintf(path, sizeof(path), "%s", argv[i]);
		} else {
			msg("usage: sluicectl support [--config FILE] [ARCHIVE.tar]");
			return EXIT_USAGE;
		}
	}
	if (!*path) {
		gethostname(host, sizeof(host) - 1);
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", localtime_r(&now, &tm));
		snprintf(path, sizeof(path), "sluice-support-%s-%s.tar", host, when);
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	setenv("SLUICECTL", self, 1);
	setenv("SLUICE_PINS", show_pin_dir, 1);
	setenv("SLUICE_BUNDLES", show_bundles_dir ?: "", 1);
	snprintf(sbin, sizeof(sbin), "%s:/usr/sbin:/sbin", getenv("PATH") ?: "/usr/bin:/bin");
	setenv("PATH", sbin, 1);
	err = support_run(&s, path) ?: support_done(&s, path);
	free(s.missing.at);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The record of a daemon in its pin directory, and what recognises a changed file. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/record.h"

#define DIGEST_START 0xcbf29ce484222325ULL /* FNV-1a, 64 bits */
#define DIGEST_PRIME 0x100000001b3ULL

/* The map and the size of its value; or -errno. */
static int record_open(const char *pin_dir, __u32 *bytes)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	char path[512];
	int fd, err;

	snprintf(path, sizeof(path), "%s/" RECORD_PIN, pin_dir);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(fd, &info, &len)) {
		err = -errno;
		close(fd);
		return err;
	}
	*bytes = info.value_size;
	return fd;
}

static int record_make(const char *pin_dir)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, RECORD_PIN, sizeof(__u32), sizeof(struct daemon_record), 1, NULL);
	char path[512];
	int err;

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "%s/" RECORD_PIN, pin_dir);
	if ((unlink(path) && errno != ENOENT) || bpf_obj_pin(fd, path)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int record_store(const char *pin_dir, const struct daemon_record *r)
{
	__u32 bytes = 0, zero = 0;
	int fd = record_open(pin_dir, &bytes), err;

	if (fd >= 0 && bytes != sizeof(*r)) {
		close(fd);
		fd = -ENOENT;
	}
	if (fd == -ENOENT)
		fd = record_make(pin_dir);
	if (fd < 0)
		return fd;
	err = bpf_map_update_elem(fd, &zero, r, BPF_ANY) ? -errno : 0;
	close(fd);
	return err;
}

int record_read(const char *pin_dir, struct daemon_record *r, int *whole)
{
	__u32 bytes = 0, zero = 0;
	int fd = record_open(pin_dir, &bytes), err = fd < 0 ? fd : 0;
	void *value = err ? NULL : malloc(bytes);

	memset(r, 0, sizeof(*r));
	*whole = bytes == sizeof(*r);
	if (!err)
		err = !value ? -ENOMEM : bpf_map_lookup_elem(fd, &zero, value) ? -errno : 0;
	if (!err)
		memcpy(r, value, *whole ? sizeof(*r) : bytes < sizeof(r->head) ? bytes : sizeof(r->head));
	if (!err && r->head.form != RECORD_FORM)
		err = r->head.form ? -EPROTO : -ENOENT;
	r->head.version[sizeof(r->head.version) - 1] = 0;
	r->head.config_path[RECORD_PATH - 1] = r->head.key_path[RECORD_PATH - 1] = 0;
	free(value);
	if (fd >= 0)
		close(fd);
	return err;
}

void path_absolute(const char *path, char *absolute)
{
	char here[RECORD_PATH] = "";
	int n;

	if (*path != '/' && !getcwd(here, sizeof(here)))
		n = RECORD_PATH;
	else
		n = snprintf(absolute, RECORD_PATH, "%s%s%s", here, *here ? "/" : "", path);
	if (n >= RECORD_PATH)
		*absolute = 0;
}

int file_digest(const char *path, __u64 *digest)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = fd < 0 ? -errno : 0; /* a FIFO would wait */
	__u64 d = DIGEST_START;
	unsigned char buf[4096];
	struct stat st;
	ssize_t n = 0, i;

	if (err)
		return err;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		err = -EINVAL;
	while (!err && (n = read(fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++)
			d = (d ^ buf[i]) * DIGEST_PRIME;
	if (n < 0)
		err = -errno;
	close(fd);
	if (!err)
		*digest = d;
	return err;
}

__s64 file_mtime_ns(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mtim.tv_sec * (__s64)NSEC_PER_SEC + st.st_mtim.tv_nsec;
}

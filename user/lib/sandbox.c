// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sandboxes from the files of container runtimes. The files belong to root, but a pod chooses its own annotations, so
 * every name is checked before it gets anywhere near a terminal, and every size has a bound.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/sandbox.h"

/* The annotations of a runtime. CRI-O has the first pair from the kubelet, and the second one itself. */
static const struct runtime_keys {
	const char *type, *name, *namespace;
} runtime_keys[] = {
	{ "io.kubernetes.cri.container-type", "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.sandbox-namespace" },
	{ "io.kubernetes.cri-o.ContainerType", "io.kubernetes.pod.name", "io.kubernetes.pod.namespace" },
	{ "io.kubernetes.cri-o.ContainerType", "io.kubernetes.cri-o.KubeName", "io.kubernetes.cri-o.Namespace" },
};

const char *const sandbox_dirs[] = {
	"/run/containerd/io.containerd.runtime.v2.task/k8s.io",
	"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io",
	"/run/containers/storage/overlay-containers", /* CRI-O */
	NULL,
};

#define RUNTIME_KEYS (sizeof(runtime_keys) / sizeof(runtime_keys[0]))

/* --- the text --- */

/* A string without a NUL inside; NULL: there is none. */
static const char *member_text(struct json_object *of, const char *key)
{
	struct json_object *v;
	const char *text;

	if (!json_object_is_type(of, json_type_object) || !json_object_object_get_ex(of, key, &v) ||
	    !json_object_is_type(v, json_type_string))
		return NULL;
	text = json_object_get_string(v);
	return strlen(text) == (size_t)json_object_get_string_len(v) ? text : NULL;
}

static int is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Copies a name of lower-case letters, digits, hyphens and, if allowed, dots; 0 if it is none, or too long. */
static int name_copy(char *to, const char *name, size_t most, int dots)
{
	size_t n = name ? strlen(name) : 0, i;

	if (!n || n > most || !is_alphanumeric(name[0]) || !is_alphanumeric(name[n - 1]))
		return 0;
	for (i = 0; i < n; i++)
		if (!is_alphanumeric(name[i]) && name[i] != '-' && !(dots && name[i] == '.'))
			return 0;
	memcpy(to, name, n + 1);
	return 1;
}

/* The path of the network namespace; NULL: none. */
static const char *netns_path(struct json_object *config)
{
	struct json_object *of, *list, *one;
	const char *type;
	size_t i;

	if (!json_object_object_get_ex(config, "linux", &of) || !json_object_is_type(of, json_type_object) ||
	    !json_object_object_get_ex(of, "namespaces", &list) || !json_object_is_type(list, json_type_array))
		return NULL;
	for (i = 0; i < json_object_array_length(list); i++) {
		one = json_object_array_get_idx(list, i);
		type = member_text(one, "type");
		if (type && !strcmp(type, "network"))
			return member_text(one, "path");
	}
	return NULL;
}

static enum sandbox_kind sandbox_fill(struct json_object *config, struct sandbox *s)
{
	enum sandbox_kind kind = SANDBOX_OTHER;
	struct json_object *of;
	const char *type, *path;
	size_t i;

	if (!json_object_is_type(config, json_type_object))
		return SANDBOX_MALFORMED;
	if (!json_object_object_get_ex(config, "annotations", &of))
		return SANDBOX_OTHER;
	for (i = 0; i < RUNTIME_KEYS && kind != SANDBOX_POD; i++) {
		type = member_text(of, runtime_keys[i].type);
		if (!type || strcmp(type, "sandbox"))
			continue;
		kind = name_copy(s->name, member_text(of, runtime_keys[i].name), POD_NAME_MAX, 1) &&
				       name_copy(s->namespace, member_text(of, runtime_keys[i].namespace),
						 POD_NAMESPACE_MAX, 0) ?
			       SANDBOX_POD :
			       SANDBOX_MALFORMED;
	}
	if (kind != SANDBOX_POD)
		return kind;
	path = netns_path(config);
	if (!path || !*path)
		return SANDBOX_HOST;
	if (*path != '/' || strlen(path) >= sizeof(s->netns))
		return SANDBOX_MALFORMED;
	strcpy(s->netns, path);
	return SANDBOX_POD;
}

enum sandbox_kind sandbox_parse(const char *text, size_t n, struct sandbox *s)
{
	struct json_tokener *tok = json_tokener_new();
	enum sandbox_kind kind = SANDBOX_MALFORMED;
	struct json_object *config;

	if (!tok)
		return kind;
	config = n <= SANDBOX_FILE_MAX ? json_tokener_parse_ex(tok, text, n) : NULL;
	if (config && json_tokener_get_error(tok) == json_tokener_success)
		kind = sandbox_fill(config, s);
	json_object_put(config);
	json_tokener_free(tok);
	return kind;
}

/* --- the files --- */

struct sandbox_walk {
	void (*fn)(const struct sandbox *s, void *ctx);
	void *ctx;
	struct sandboxes_seen *seen;
	unsigned int bundles;
	char *text; /* of SANDBOX_FILE_MAX bytes */
	struct sandbox sandbox;
};

/* The config.json of a bundle, or -errno. Anything but a file is not waited for. */
static int bundle_open(int dir, const char *id)
{
	static const char *const files[] = { "config.json", "userdata/config.json" };
	char path[512];
	int fd = -1;
	size_t i;

	for (i = 0; i < 2 && fd < 0; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", id, files[i]) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return -errno;
	}
	return fd < 0 ? -errno : fd;
}

/* Its length; -EFBIG: too long; or -errno. */
static ssize_t file_read(int fd, char *text, size_t size)
{
	struct stat st;
	size_t used = 0;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((unsigned long long)st.st_size > size)
		return -EFBIG;
	while (used < size) {
		n = read(fd, text + used, size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			break;
		used += n > 0 ? n : 0;
	}
	return used;
}

enum sandbox_kind sandbox_read(int dir, const char *id, char *text, struct sandbox *s)
{
	int fd = bundle_open(dir, id);
	ssize_t n;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return SANDBOX_ABSENT;
	n = fd < 0 ? fd : file_read(fd, text, SANDBOX_FILE_MAX);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return n == -EFBIG ? SANDBOX_LARGE : SANDBOX_UNREADABLE;
	return sandbox_parse(text, n, s);
}

static void bundle_read(struct sandbox_walk *w, int dir, const char *id)
{
	struct sandboxes_seen *seen = w->seen;
	enum sandbox_kind kind = sandbox_read(dir, id, w->text, &w->sandbox);

	seen->pods += kind == SANDBOX_POD;
	seen->host += kind == SANDBOX_HOST;
	seen->other += kind == SANDBOX_OTHER;
	seen->malformed += kind == SANDBOX_MALFORMED;
	seen->large += kind == SANDBOX_LARGE;
	seen->unreadable += kind == SANDBOX_UNREADABLE;
	if (kind == SANDBOX_POD)
		w->fn(&w->sandbox, w->ctx);
}

static void bundles_read(struct sandbox_walk *w, const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (!dir) {
		w->seen->unreadable += errno != ENOENT && errno != ENOTDIR;
		w->seen->directories += errno != ENOENT && errno != ENOTDIR;
		return;
	}
	w->seen->directories++;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (w->seen->pods == SANDBOXES_MAX || w->bundles == SANDBOX_BUNDLES_MAX) {
			w->seen->beyond++;
			continue;
		}
		w->bundles++;
		bundle_read(w, dirfd(dir), e->d_name);
	}
	closedir(dir);
}

void sandboxes_each(const char *const *dirs, void (*fn)(const struct sandbox *s, void *ctx), void *ctx,
		    struct sandboxes_seen *seen)
{
	struct sandbox_walk *w = calloc(1, sizeof(*w));

	memset(seen, 0, sizeof(*seen));
	if (!w)
		return;
	w->fn = fn;
	w->ctx = ctx;
	w->seen = seen;
	w->text = malloc(SANDBOX_FILE_MAX);
	for (; w->text && *dirs; dirs++)
		bundles_read(w, *dirs);
	free(w->text);
	free(w);
}

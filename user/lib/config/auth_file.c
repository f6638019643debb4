// SPDX-License-Identifier: GPL-2.0-only
/* The file of authentication keys: its readers, its possible replacers, and its content. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/config/check.h"

/* One line of 32 hex digits, without its newline: the bytes of the key in their order. */
static int key_parse(const char *line, struct siphash_key *key)
{
	__u8 bytes[16];
	unsigned int i;

	if (strlen(line) != 2 * sizeof(bytes) || strspn(line, "0123456789abcdefABCDEF") != 2 * sizeof(bytes))
		return -EINVAL;
	for (i = 0; i < sizeof(bytes); i++)
		sscanf(line + 2 * i, "%2hhx", &bytes[i]);
	memcpy(key, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/*
 * Checks that only root and this user can replace this file: they own each directory above it, and nobody else may
 * write to it, unless it is sticky, as /tmp is. file is without symbolic links.
 */
static int key_path_check(struct tables *in, const struct config *c, const char *file)
{
	char dir[PATH_MAX], *slash;
	struct stat st;

	snprintf(dir, sizeof(dir), "%s", file);
	while ((slash = strrchr(dir, '/'))) {
		slash[slash == dir] = 0; /* the root itself comes last */
		if (stat(dir, &st)) {
			config_bad(
				in, &c->auth,
				"auth: %s: its directory %s: %s: write the path of a file in a directory that can be looked at",
				c->auth, dir, strerror(errno));
			return -EPERM;
		}
		if (st.st_uid && st.st_uid != geteuid()) {
			config_bad(
				in, &c->auth,
				"auth: %s: its directory %s is of user %u, who can put another key there: write the path of a file below directories of root",
				c->auth, dir, st.st_uid);
			return -EPERM;
		}
		if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX)) {
			config_bad(
				in, &c->auth,
				"auth: %s: others may write to its directory %s, and so put another key there: chmod go-w %s, or write the path of a file elsewhere",
				c->auth, dir, dir);
			return -EPERM;
		}
		if (slash == dir)
			break;
	}
	return 0;
}

/* The links to a file are checked as well as the file: a Kubernetes secret has two of them. */
static int key_paths_check(struct tables *in, const struct config *c)
{
	char *file = realpath(c->auth, NULL);
	int err = file ? 0 : -errno;

	if (err)
		config_bad(in, &c->auth, "auth: %s: %s: write the path of a file that can be read", c->auth,
			   strerror(-err));
	err = err ?: key_path_check(in, c, c->auth) ?: key_path_check(in, c, file);
	free(file);
	return err;
}

/* Reads the keys of an open file; reports what is wrong with it. */
static int keys_read(struct tables *in, struct config *c, FILE *f)
{
	static const struct siphash_key zero;
	struct auth_keys *keys = &c->keys;
	char line[64];
	struct stat st;

	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode)) {
		return config_bad(in, &c->auth,
				  "auth: %s is not a file: write the path of one with a line of 32 hex digits",
				  c->auth);
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		config_bad(in, &c->auth,
			   "auth: %s may be read by others: chmod 600 %s, and make a new key if it has been in use",
			   c->auth, c->auth);
		return -EPERM;
	}
	if (st.st_uid && st.st_uid != geteuid()) {
		config_bad(
			in, &c->auth,
			"auth: %s is of user %u, who knows the key and can change it: chown root %s, and make a new key if it has been in use",
			c->auth, st.st_uid, c->auth);
		return -EPERM;
	}
	if (key_paths_check(in, c))
		return -EPERM;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (keys->n == 2 || key_parse(line, &keys->key[keys->n])) {
			explicit_bzero(line, sizeof(line));
			return config_bad(
				in, &c->auth,
				"auth: %s: line %u is not a key, or one too many: write one line of 32 hex digits, or two while keys are exchanged",
				c->auth, keys->n + 1);
		}
		if (!memcmp(&keys->key[keys->n], &zero, sizeof(zero))) {
			return config_bad(
				in, &c->auth,
				"auth: %s: line %u is all zeros, which everybody guesses: write 32 hex digits at random, as docs/configuration.md makes them",
				c->auth, keys->n + 1);
		}
		keys->n++;
	}
	explicit_bzero(line, sizeof(line));
	if (!keys->n) {
		return config_bad(in, &c->auth, "auth: %s is empty: write one line of 32 hex digits", c->auth);
	}
	return 0;
}

int config_check_auth(struct tables *in, struct config *c)
{
	FILE *f;
	int fd, err;

	if (!c->auth) {
		return config_bad(
			in, &c->auth,
			"auth is missing: write 'auth: /etc/sluice/key', a file with the key of all hosts, or 'auth: none', with which whoever can send to this host can tell it how fast to send");
	}
	if (!strcmp(c->auth, "none"))
		return 0;
	if (c->auth[0] != '/') {
		return config_bad(
			in, &c->auth,
			"auth '%s' is neither none nor a path that begins with /: write for example /etc/sluice/key",
			c->auth);
	}
	fd = open(c->auth, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		err = config_bad(
			in, &c->auth,
			"auth: %s: %s: write the path of a file that can be read, with a line of 32 hex digits",
			c->auth, strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	setvbuf(f, NULL, _IONBF, 0); /* no copy of the keys in a buffer that would outlive this */
	err = keys_read(in, c, f);
	fclose(f);
	return err ? -EINVAL : 0;
}

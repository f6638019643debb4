// SPDX-License-Identifier: GPL-2.0-only
/* The TCP congestion control: registered under the configured name, and the default or not. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dataplane_int.h"

#define DP_CC_MARK "@sluice-cc-name"
#define DP_CC_SYSCTL "/proc/sys/net/ipv4/tcp_congestion_control"

static int sysctl_read(char *value, size_t size)
{
	FILE *f = fopen(DP_CC_SYSCTL, "re");

	if (!f)
		return -errno;
	if (!fgets(value, size, f))
		*value = 0;
	value[strcspn(value, "\n")] = 0;
	fclose(f);
	return 0;
}

static int sysctl_write(const char *value)
{
	FILE *f = fopen(DP_CC_SYSCTL, "we");
	int err = 0;

	if (!f)
		return -errno;
	if (fputs(value, f) < 0 || fflush(f))
		err = -errno;
	fclose(f);
	return err;
}

void cc_unregister(const char *pin_dir)
{
	char path[512];
	__u32 zero = 0;
	int fd;

	pin_path(path, sizeof(path), pin_dir, "tcp_cc");
	fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	bpf_map_delete_elem(fd, &zero); /* sockets that use it keep it until they end */
	close(fd);
	unlink(path);
}

void cc_restore_default(struct control *ctl)
{
	char now[64];

	if (!ctl->cc_default[0])
		return;
	/* Only if it is still what we set: an administrator's later choice stands. */
	if (!sysctl_read(now, sizeof(now)) && !strcmp(now, ctl->cc_name))
		sysctl_write(ctl->cc_default);
	ctl->cc_default[0] = 0;
}

int cc_is_kept(const struct pins *pins, const struct config *c)
{
	return !strcmp(pins->ctl->cc_name, c->tcp.name ?: "");
}

int cc_register(struct dataplane *dp, const struct config *c)
{
	struct control *ctl = dp->pins.ctl;
	struct bpf_link *link = NULL;
	char path[512];
	int err;

	if (cc_is_kept(&dp->pins, c))
		return 0;
	if (c->tcp.name) {
		link = bpf_map__attach_struct_ops(dp->skel->maps.tcp_cc);
		if (!link) {
			err = -errno;
			msg("tcp: registering the congestion control '%s': %s%s", c->tcp.name,
			    strerror(-err),
			    err == -EEXIST ? ": the name is taken: choose another with tcp: name" : "");
			return err;
		}
		/* It stays registered when we end; only deleting the map's element takes it away. */
		bpf_link__disconnect(link);
		bpf_link__destroy(link);
	}
	if (ctl->cc_name[0]) {
		msg("tcp: congestion control: %s -> %s", ctl->cc_name, c->tcp.name ?: "none");
		cc_restore_default(ctl);
		cc_unregister(dp->pin_dir);
	}
	memset(ctl->cc_name, 0, sizeof(ctl->cc_name));
	if (!c->tcp.name)
		return 0;
	pin_path(path, sizeof(path), dp->pin_dir, "tcp_cc");
	err = bpf_map__pin(dp->skel->maps.tcp_cc, path);
	if (err) {
		msg("tcp: pinning %s: %s", path, strerror(-err));
		return err;
	}
	memcpy(ctl->cc_name, c->tcp.name, strlen(c->tcp.name));
	return 0;
}

int cc_default_apply(struct dataplane *dp, const struct config *c)
{
	char now[64];
	int err;

	if (!c->tcp.name || !c->tcp.make_default || c->mode != MODE_ENFORCE) {
		cc_restore_default(dp->pins.ctl);
		return 0;
	}
	err = sysctl_read(now, sizeof(now));
	if (err || !strcmp(now, c->tcp.name))
		return err;
	err = sysctl_write(c->tcp.name);
	if (err) {
		msg("tcp: making '%s' the default congestion control: %s", c->tcp.name, strerror(-err));
		return err;
	}
	msg("tcp: default congestion control: %s -> %s", now, c->tcp.name);
	snprintf(dp->pins.ctl->cc_default, sizeof(dp->pins.ctl->cc_default), "%.15s", now);
	return 0;
}

int cc_name_set(struct dataplane *dp, const char *name)
{
	struct bpf_object_skeleton *s = dp->skel->skeleton;
	unsigned char *at;

	dp->elf = malloc(s->data_sz);
	if (!dp->elf)
		return -ENOMEM;
	memcpy(dp->elf, s->data, s->data_sz);
	at = memmem(dp->elf, s->data_sz, DP_CC_MARK, sizeof(DP_CC_MARK));
	if (!at)
		return -EINVAL;
	memset(at, 0, sizeof(DP_CC_MARK));
	memcpy(at, name, strlen(name));
	s->data = dp->elf;
	return 0;
}

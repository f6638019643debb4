// SPDX-License-Identifier: GPL-2.0-only
/*
 * The TCP congestion control: registered under the configured name, and made the default or not. When it replaces
 * another one, whose maps are no longer written, sockets are moved to it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/cc.h"
#include "attach/prog/prog_room.h"
#include "lib/bpffs.h"
#include "lib/netns.h"
#include "sluice.skel.h"

#define DP_CC_MARK "@sluice-cc-name"
#define DP_CC_INSISTS_NS (600 * NSEC_PER_SEC)
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

/* Removes a map's congestion control from the kernel. Sockets that use it keep it until they end. */
static int map_unregister(int fd)
{
	__u32 zero = 0;

	/* It may not be registered yet, or no longer. */
	return bpf_map_delete_elem(fd, &zero) && errno != ENOENT && errno != EINPROGRESS ? -errno : 0;
}

int cc_unregister(const char *pin_dir)
{
	char path[512];
	int fd, err;

	pin_path(path, sizeof(path), pin_dir, "tcp_cc");
	fd = bpf_obj_get(path);
	if (fd < 0 && errno == ENOENT)
		return 0;
	err = fd < 0 ? -errno : map_unregister(fd);
	if (fd >= 0)
		close(fd);
	if (err) {
		msg("tcp: the congestion control that is pinned at %s stays registered: %s", path, strerror(-err));
		return err; /* the pin stays, so another try finds it */
	}
	if (unlink(path))
		msg("%s: removing the pin: %s: remove it", path, strerror(errno));
	return 0;
}

/*
 * A network namespace begins with the default of the machine's first one. Those that were made while that was ours, as
 * for pods, keep it, and with it our programs and maps.
 */
struct heirs {
	const char *from, *to; /* the same: `from` was registered anew, and is chosen again */
	struct bpf_link *move; /* moves sockets, or NULL */
	unsigned int n, unread;
};

static int sockets_visit(struct bpf_link *move)
{
	int fd = bpf_iter_create(bpf_link__fd(move));
	char buf[64];
	ssize_t n = -1;

	while (fd >= 0 && ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EAGAIN)))
		;
	n = n < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return n;
}

static void heir_visit(void *ctx)
{
	struct heirs *h = ctx;
	char now[64];

	if (sysctl_read(now, sizeof(now)))
		h->unread++;
	else if (!strcmp(now, h->from) && !sysctl_write(h->to))
		h->n++;
	if (h->move)
		sockets_visit(h->move);
}

static void heirs_visit(struct heirs *h, const char *consequence)
{
	unsigned int missed;
	int err = netns_each(heir_visit, h, &missed);

	if (err)
		msg("tcp: looking for other network namespaces with '%s': %s: %s", h->from, strerror(-err),
		    consequence);
	else if (missed)
		msg("tcp: %u other network namespace%s cannot be entered without CAP_SYS_ADMIN: those that began with '%s' as their default %s",
		    missed, PLURAL(missed), h->from, consequence);
	if (h->unread)
		msg("tcp: the default of %u other network namespace%s cannot be read: if it is '%s', it stays", h->unread,
		    PLURAL(h->unread), h->from);
	if (h->n && strcmp(h->from, h->to))
		msg_info("tcp: default congestion control of %u other network namespace%s: %s -> %s", h->n,
			 PLURAL(h->n), h->from, h->to);
}

int cc_restore_default(struct control *ctl, const char *why)
{
	struct heirs heirs = { .from = ctl->cc_name, .to = ctl->cc_default };
	char now[64];
	int err;

	if (!ctl->cc_default[0])
		return 0;
	/* Only if it still has our value: an administrator's later choice stands. */
	err = sysctl_read(now, sizeof(now));
	if (err) {
		msg("tcp: reading the default congestion control: %s: if it is %s, run 'sysctl net.ipv4.tcp_congestion_control=%s'",
		    strerror(-err), ctl->cc_name, ctl->cc_default);
		return err; /* retried with the next SIGHUP */
	}
	if (!strcmp(now, ctl->cc_name)) {
		err = sysctl_write(ctl->cc_default);
		if (err) {
			msg("tcp: default congestion control: stays %s: %s: run 'sysctl net.ipv4.tcp_congestion_control=%s'",
			    now, strerror(-err), ctl->cc_default);
			return err == -EROFS ? 0 : err; /* not possible in a container */
		}
		msg_info("tcp: default congestion control: %s -> %s, %s", now, ctl->cc_default, why);
	}
	heirs_visit(&heirs, "keep it, and the memory of its maps, until they end or get another by sysctl");
	ctl->cc_default[0] = 0;
	return 0;
}

int cc_is_kept(const struct control *was, const struct config *c)
{
	return !strcmp(was->cc_name, c->tcp.name ?: "") && (!c->tcp.name || was->cc_abi == SLUICE_ABI);
}

static int cc_pin(struct prog_room *prog)
{
	char path[512];
	int err;

	pin_path(path, sizeof(path), prog->pin_dir, "tcp_cc");
	err = bpf_map__pin(prog->skel->maps.tcp_cc, path);
	if (err)
		msg("tcp: pinning %s: %s", path, strerror(-err));
	return err;
}

/* Moves the sockets of all network namespaces that can be entered; those of others keep theirs until they end. */
static void sockets_move(struct prog_room *prog, const char *from, const char *to)
{
	struct heirs heirs = { .from = from, .to = to };
	int err;

	heirs.move = bpf_program__attach_iter(prog->skel->progs.cc_move, NULL);
	err = heirs.move ? sockets_visit(heirs.move) : -errno;
	if (err)
		msg("tcp: sockets of the earlier '%s' do not go over to '%s': %s: they run Reno, held by their receive window, until they end",
		    from, to, strerror(-err));
	heirs_visit(&heirs, "keep the earlier one, whose sockets are held by their receive windows, until they end");
	bpf_link__destroy(heirs.move);
}

int cc_register(struct prog_room *prog, const struct config *c)
{
	struct control *ctl = prog->pins->ctl;
	struct bpf_link *link = NULL;
	int err, alone;
	char now[64];

	if (cc_is_kept(ctl, c))
		return 0;
	/* One name, one congestion control: another version's is removed first, so for a moment there is none. */
	alone = c->tcp.name && (!ctl->cc_name[0] || !strcmp(ctl->cc_name, c->tcp.name));
	if (alone) {
		/* Pinned before it is registered: without a pin it could not be removed. */
		err = cc_unregister(prog->pin_dir) ?: cc_pin(prog);
		if (err)
			return err;
	}
	if (c->tcp.name) {
		link = bpf_map__attach_struct_ops(prog->skel->maps.tcp_cc);
		if (!link) {
			err = -errno;
			msg("tcp: registering the congestion control '%s': %s%s", c->tcp.name, strerror(-err),
			    err == -EEXIST ?
				    ": the name is taken: if by an earlier sluiced whose pins are gone, 'sluicectl clean' says how to remove it; else choose another with tcp: name" :
				    "");
			return err;
		}
		/* It stays registered when the daemon ends; only deleting the map's element removes it. */
		bpf_link__disconnect(link);
		bpf_link__destroy(link);
	}
	if (ctl->cc_name[0] && !alone) {
		msg_info("tcp: congestion control: %s -> %s, by the configuration", ctl->cc_name,
			 c->tcp.name ?: "none");
		cc_restore_default(ctl, "which was there before");
		err = cc_unregister(prog->pin_dir);
		if (!err && c->tcp.name)
			err = cc_pin(prog);
		if (err) {
			if (c->tcp.name)
				map_unregister(bpf_map__fd(prog->skel->maps.tcp_cc));
			return err;
		}
	}
	if (c->tcp.name && ctl->cc_name[0]) {
		/* If the previous one has that name, setting it again selects it. */
		if (!sysctl_read(now, sizeof(now)) && !strcmp(now, c->tcp.name))
			sysctl_write(now);
		sockets_move(prog, ctl->cc_name, c->tcp.name);
	}
	memset(ctl->cc_name, 0, sizeof(ctl->cc_name));
	if (c->tcp.name)
		memcpy(ctl->cc_name, c->tcp.name, strlen(c->tcp.name));
	ctl->cc_abi = SLUICE_ABI;
	return 0;
}

int cc_default_apply(struct prog_room *prog, const struct config *c)
{
	struct control *ctl = prog->pins->ctl;
	char now[64];
	int err;

	if (!c->tcp.name || !c->tcp.make_default || c->mode != MODE_ENFORCE) {
		return cc_restore_default(ctl, c->mode != MODE_ENFORCE ? "as the mode is not enforce" :
									 "as the configuration has no tcp: default");
	}
	err = sysctl_read(now, sizeof(now));
	if (err || !strcmp(now, c->tcp.name))
		return err;
	/* Kept before it is replaced: after a crash in between, the next daemon has to know what to restore. */
	snprintf(ctl->cc_default, sizeof(ctl->cc_default), "%.15s", now);
	err = sysctl_write(c->tcp.name);
	if (err)
		ctl->cc_default[0] = 0;
	if (err == -EROFS) { /* a container: everything else is in place, and sockets may still choose it */
		msg("tcp: default congestion control: stays %s, as /proc/sys is read-only here; to fix it, on the machine itself: sysctl net.ipv4.tcp_congestion_control=%s",
		    now, c->tcp.name);
		return 0;
	}
	if (err) {
		msg("tcp: making '%s' the default congestion control: %s", c->tcp.name, strerror(-err));
		return err;
	}
	msg_info("tcp: default congestion control: %s -> %s, by tcp: default in mode enforce", now, c->tcp.name);
	return 0;
}

/*
 * The value of the configuration is put back, as routes are: most often a 'sysctl --system' has read an older file again.
 * A second change within DP_CC_INSISTS_NS is meant, or comes from a program that would go on: it stays.
 */
void cc_default_watch(struct prog_room *prog, const struct config *c)
{
	struct control *ctl = prog->pins->ctl;
	char now[64];

	if (!ctl->cc_default[0] || !c->tcp.name || !c->tcp.make_default || c->mode != MODE_ENFORCE ||
	    sysctl_read(now, sizeof(now)) || !strcmp(now, c->tcp.name) || !strcmp(now, prog->cc_others))
		return;
	if (prog->cc_others[0] || (prog->cc_back_ns && now_ns() < prog->cc_back_ns + DP_CC_INSISTS_NS)) {
		snprintf(prog->cc_others, sizeof(prog->cc_others), "%.15s", now);
		msg("tcp: default congestion control: it was set to %s again: leaving it so; new connections do not use %s until SIGHUP; 'tcp: {default: false}' leaves the default alone",
		    now, c->tcp.name);
		return;
	}
	msg("tcp: default congestion control: it was set to %s: setting it back, because the configuration has tcp: default",
	    now);
	if (!cc_default_apply(prog, c))
		prog->cc_back_ns = now_ns();
}

int cc_name_set(struct prog_room *prog, const char *name)
{
	struct bpf_object_skeleton *s = prog->skel->skeleton;
	unsigned char *at;

	prog->elf = malloc(s->data_sz);
	if (!prog->elf)
		return -ENOMEM;
	memcpy(prog->elf, s->data, s->data_sz);
	at = memmem(prog->elf, s->data_sz, DP_CC_MARK, sizeof(DP_CC_MARK));
	if (!at)
		return -EINVAL;
	memset(at, 0, sizeof(DP_CC_MARK));
	memcpy(at, name, strlen(name)); /* NOLINT(bugprone-not-null-terminated-result): zeros follow */
	s->data = prog->elf;
	return 0;
}

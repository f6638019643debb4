// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sink at XDP, in front of tc.
 *
 *  1. tc ingress is always attached and strips what XDP leaves. So a sink at XDP only adds speed: if it is not
 *     available that is reported, not an error, and it may be replaced in two steps.
 *  2. It goes through the dispatcher of libxdp, so that other programs that use it share the interface. If the kernel
 *     or libxdp has no dispatcher, it is attached alone, if nothing else is there. libxdp's calls wait for each other
 *     by a lock of its own.
 *  3. Our program is identified by the counters that it uses, as with the filters (leftover.c).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>
#include "attach/hook/xdp.h"
#include "attach/prog/bpf_id.h"
#include "attach/prog/host_maps.h"
#include "lib/net.h"
#include "sluice_xdp.skel.h"

/* Before programs without a priority (50): those see the packets as their sender made them. */
#define XDP_RUN_PRIO 20
#define XDP_PINS "/sys/fs/bpf/xdp"

static int libxdp_print(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	char line[512];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	msg_debug("%s", line);
	return 0;
}

void xdp_init(void)
{
	libxdp_set_print(libxdp_print);
}

/* Our program among those of an interface, or NULL. */
static struct xdp_program *program_find(struct xdp_multiprog *mp, __u32 stats_id)
{
	struct xdp_program *p = NULL;

	if (xdp_multiprog__is_legacy(mp)) {
		p = xdp_multiprog__main_prog(mp);
		return p && prog_uses(xdp_program__id(p), stats_id) ? p : NULL;
	}
	while ((p = xdp_multiprog__next_prog(p, mp)))
		if (prog_uses(xdp_program__id(p), stats_id))
			return p;
	return NULL;
}

static enum xdp_attach_mode mode_now(__u32 ifindex, __u32 stats_id, int *alone)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);
	enum xdp_attach_mode mode = XDP_MODE_UNSPEC;
	int err = libxdp_get_error(mp);

	if (err && err != -ENOENT && err != -EPERM)
		msg("interface %u: looking for our XDP program: %s: it counts as not there until the next SIGHUP", ifindex, strerror(-err));
	if (err)
		return mode;
	if (program_find(mp, stats_id))
		mode = xdp_multiprog__attach_mode(mp);
	*alone = xdp_multiprog__is_legacy(mp);
	xdp_multiprog__close(mp);
	return mode;
}

int xdp_is_there(__u32 ifindex, __u32 stats_id)
{
	int alone;

	return mode_now(ifindex, stats_id, &alone) != XDP_MODE_UNSPEC;
}

void xdp_remove(__u32 ifindex, __u32 stats_id)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex(ifindex);
	struct xdp_program *p;
	int err = libxdp_get_error(mp);

	if (err) {
		if (err != -ENOENT && err != -ENODEV && err != -EPERM) /* none, gone, or none that we could have attached */
			msg("interface %u: looking for our XDP program: %s: see 'xdp-loader status' and 'xdp-loader unload'", ifindex,
			    strerror(-err));
		return;
	}
	p = program_find(mp, stats_id);
	err = p ? xdp_program__detach(p, ifindex, xdp_multiprog__attach_mode(mp), 0) : 0;
	if (err)
		msg("interface %u: removing our XDP program: %s: see 'xdp-loader status' and 'xdp-loader unload'",
		    ifindex, strerror(-err));
	xdp_multiprog__close(mp);
}

/* The kernel removes the dispatcher with the interface; libxdp's pins would hold our program. */
void xdp_forget(__u32 ifindex, __u32 stats_id)
{
	struct bpf_prog_info info;
	char path[512], *end;
	__u32 len;
	glob_t g;
	size_t i;
	int fd;

	if (ifindex)
		snprintf(path, sizeof(path), XDP_PINS "/dispatch-%u-*/prog*-prog", ifindex);
	else
		snprintf(path, sizeof(path), XDP_PINS "/dispatch-*/prog*-prog");
	if (glob(path, 0, NULL, &g))
		return;
	for (i = 0; i < g.gl_pathc; i++) {
		fd = bpf_obj_get(g.gl_pathv[i]);
		if (fd < 0)
			continue;
		memset(&info, 0, sizeof(info));
		len = sizeof(info);
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && prog_uses(info.id, stats_id)) {
			unlink(g.gl_pathv[i]);
			snprintf(path, sizeof(path), "%s", g.gl_pathv[i]);
			end = strrchr(path, '-');
			strcpy(end, "-link");
			unlink(path);
			*strrchr(path, '/') = 0;
			rmdir(path); /* fails while others have pins in it */
		}
		close(fd);
	}
	globfree(&g);
}

/*
 * With the driver, packets may be in fragments: large MTUs. Not in generic mode: after a program that takes fragments
 * the kernel (6.18) hands tc a packet without its Ethernet header (mac_len 0); for other programs it linearises
 * packets.
 */
static struct sluice_xdp_bpf *skel_open(const struct xdp_maps *m, const struct config *c,
					enum xdp_attach_mode mode)
{
	struct sluice_xdp_bpf *s = sluice_xdp_bpf__open();

	if (!s)
		return NULL;
	s->rodata->wire_port = c->port;
	if (mode == XDP_MODE_NATIVE)
		bpf_program__set_flags(s->progs.ingress_xdp, BPF_F_XDP_HAS_FRAGS);
	if (maps_share(s->obj, m->obj, 0)) {
		sluice_xdp_bpf__destroy(s);
		return NULL;
	}
	return s;
}

static int attach_shared(const struct xdp_maps *m, const struct config *c, __u32 ifindex,
			 enum xdp_attach_mode mode)
{
	struct sluice_xdp_bpf *s = skel_open(m, c, mode);
	struct xdp_program *p;
	int err;

	if (!s)
		return -errno;
	p = xdp_program__from_bpf_obj(s->obj, "xdp");
	err = libxdp_get_error(p);
	if (!err) {
		xdp_program__set_run_prio(p, XDP_RUN_PRIO);
		err = xdp_program__attach(p, ifindex, mode, 0);
		xdp_program__close(p);
	}
	sluice_xdp_bpf__destroy(s);
	return err;
}

static int attach_alone(const struct xdp_maps *m, const struct config *c, __u32 ifindex,
			enum xdp_attach_mode mode)
{
	__u32 flags = mode == XDP_MODE_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
	struct sluice_xdp_bpf *s = skel_open(m, c, mode);
	int err;

	if (!s)
		return -errno;
	err = sluice_xdp_bpf__load(s);
	if (!err)
		err = bpf_xdp_attach(ifindex, bpf_program__fd(s->progs.ingress_xdp),
				     flags | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
	sluice_xdp_bpf__destroy(s);
	return err;
}

int xdp_try(void)
{
	struct sluice_xdp_bpf *s = sluice_xdp_bpf__open_and_load();
	int err = s ? 0 : -errno;

	sluice_xdp_bpf__destroy(s);
	return err;
}

static const char *sink_name(enum xdp_attach_mode mode)
{
	return mode == XDP_MODE_SKB ? "generic XDP" : mode == XDP_MODE_UNSPEC ? "tc" : "native XDP";
}

static void say_why(const char *name, enum xdp_attach_mode mode, int err)
{
	if (err == -EBUSY || err == -EEXIST)
		msg("%s: another XDP program is there, and cannot be shared with: telemetry is stripped at tc; to strip it at XDP, load that program with xdp-loader (libxdp 1.5.5 or newer), or remove it, and send SIGHUP",
		    name);
	else if (err == -EOPNOTSUPP)
		msg("%s: its driver has no %s: telemetry is stripped at tc", name, sink_name(mode));
	else
		msg("%s: attaching to %s: %s: telemetry is stripped at tc; --verbose shows more", name, sink_name(mode),
		    strerror(-err));
}

/* libxdp and we look programs up by id, which needs CAP_SYS_ADMIN. */
static int numbers_are_allowed(void)
{
	__u32 id;

	return !bpf_prog_get_next_id(0, &id) || errno != EPERM;
}

/* unread: 0, or the error (-errno) that left the stack unknown: `auto` keeps what is there. */
static enum xdp_attach_mode mode_wanted(const struct config_interface *i, const struct link_stack *stack, int unread,
					enum xdp_attach_mode now)
{
	if (unread)
		msg("%s: reading what lies below and above it: %s: %s until the next SIGHUP", i->name,
		    strerror(-unread),
		    i->xdp == CONFIG_XDP_AUTO ? "XDP there stays as it is" : "XDP sends nothing back there");
	switch (i->xdp) {
	case CONFIG_XDP_GENERIC:
		return XDP_MODE_SKB;
	case CONFIG_XDP_OFF:
		return XDP_MODE_UNSPEC;
	case CONFIG_XDP_AUTO:
		return unread ? now : stack->device ? XDP_MODE_NATIVE : XDP_MODE_UNSPEC;
	default:
		return XDP_MODE_NATIVE;
	}
}

__u32 xdp_apply(const struct xdp_maps *m, const struct config *c, const struct config_interface *i,
		const struct link_info *link, int loud)
{
	enum xdp_attach_mode mode, now, was = XDP_MODE_UNSPEC;
	__u32 stats = counters_id(m->pins), flags = PORT_F_XDP;
	struct link_stack stack;
	int err, alone = 0, unread = link_stack_get(link->ifindex, &stack);

	now = mode_now(link->ifindex, stats, &alone);
	mode = mode_wanted(i, &stack, unread, now);
	if (now && (now != mode || !m->running)) {
		xdp_remove(link->ifindex, stats);
		was = now != mode ? now : XDP_MODE_UNSPEC;
		now = XDP_MODE_UNSPEC;
	}
	if (!mode && was)
		msg_info("%s: telemetry is stripped at %s -> %s, by 'xdp' in the configuration", i->name,
			 sink_name(was), sink_name(mode));
	if (!mode) {
		if (loud && !unread && i->xdp == CONFIG_XDP_AUTO)
			msg_info("%s: a virtual link: telemetry is stripped at tc, not at XDP", i->name);
		return 0;
	}
	if (!numbers_are_allowed()) {
		if (loud)
			msg("%s: telemetry is stripped at tc: XDP needs CAP_SYS_ADMIN, which sluiced does not have: see docs/service.md",
			    i->name);
		return 0;
	}
	if (!now) {
		err = attach_shared(m, c, link->ifindex, mode);
		if (err && err != -EBUSY)
			err = attach_alone(m, c, link->ifindex, mode);
		if (err) {
			say_why(i->name, mode, err);
			return 0;
		}
		mode_now(link->ifindex, stats, &alone);
		msg_info("%s: telemetry is stripped at %s%s%s%s", i->name, was ? sink_name(was) : "", was ? " -> " : "",
			 sink_name(mode), alone ? ", alone: other XDP programs find the place taken" : "");
	}
	/* A virtual driver may need help at the other end, and a NIC strips VLAN tags. */
	if (mode == XDP_MODE_SKB || (!unread && stack.device && !stack.vlans))
		flags |= PORT_F_XDP_TX;
	return flags | (mode == XDP_MODE_SKB ? PORT_F_XDP_GENERIC : 0);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches a program of neighbour.bpf.c and keeps it until SIGTERM.
 * usage: neighbour HOOK DEVICE PORT FILE
 * HOOK: xdp-native, xdp-generic (by libxdp); tcx-ingress, tcx-egress, and in front of all others tcx-ingress-first,
 * tcx-egress-first; ingress:PRIORITY, egress:PRIORITY (clsact, which has to be there). PORT: of TCP, whose packets are
 * dropped. FILE: has, 20 times a second, {"seen": N, "tcp": N, "dropped": N}. With NEIGHBOUR_ENDS in its environment it
 * ends with "ok" for the others, so that no program behind it sees them.
 * Exit status: 0, or 1 if it could not be attached, with the reason.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "neighbour.skel.h"

/* Linux 6.6; the headers of a build machine may be older. */
#define NEIGHBOUR_TCX_INGRESS 46
#define NEIGHBOUR_TCX_EGRESS 47
#define NEIGHBOUR_TCX_FIRST (1U << 3)

static volatile sig_atomic_t over;

static void on_term(int signal)
{
	(void)signal;
	over = 1;
}

/* Not by s->bss, which is not the map's where libxdp loads the object. */
static int report(const struct neighbour_bpf *s, const char *file)
{
	typeof(*s->bss) now;
	char fresh[512];
	__u32 zero = 0;
	FILE *f;

	if (bpf_map_lookup_elem(bpf_map__fd(s->maps.bss), &zero, &now))
		return -errno;
	snprintf(fresh, sizeof(fresh), "%s.new", file);
	f = fopen(fresh, "w");
	if (!f)
		return -errno;
	fprintf(f, "{\"seen\": %llu, \"tcp\": %llu, \"dropped\": %llu}\n", now.seen, now.tcp, now.dropped);
	fclose(f);
	return rename(fresh, file) ? -errno : 0;
}

int main(int argc, char **argv)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1);
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, link);
	enum xdp_attach_mode mode = XDP_MODE_NATIVE;
	struct xdp_program *xdp = NULL;
	struct neighbour_bpf *s;
	unsigned int ifindex;
	const char *priority;
	int err = 0, fd;

	if (argc != 5 || !(ifindex = if_nametoindex(argv[2])))
		return 2;
	signal(SIGTERM, on_term);
	s = neighbour_bpf__open();
	if (!s)
		return 1;
	s->rodata->drop_port = atoi(argv[3]);
	s->rodata->ends = getenv("NEIGHBOUR_ENDS") != NULL;
	bpf_program__set_autoload(s->progs.neighbour_tc, strncmp(argv[1], "xdp", 3) != 0);
	bpf_program__set_autoload(s->progs.neighbour_xdp, !strncmp(argv[1], "xdp", 3));
	priority = strchr(argv[1], ':');
	if (!strncmp(argv[1], "xdp-", 4)) {
		if (!strcmp(argv[1], "xdp-generic"))
			mode = XDP_MODE_SKB;
		xdp = xdp_program__from_bpf_obj(s->obj, "xdp");
		err = libxdp_get_error(xdp) ?: xdp_program__attach(xdp, ifindex, mode, 0);
	} else {
		err = neighbour_bpf__load(s);
		fd = bpf_program__fd(s->progs.neighbour_tc);
		if (!err && priority) {
			hook.ifindex = ifindex;
			hook.attach_point = argv[1][0] == 'i' ? BPF_TC_INGRESS : BPF_TC_EGRESS;
			opts.priority = atoi(priority + 1);
			opts.prog_fd = fd;
			err = bpf_tc_attach(&hook, &opts);
		} else if (!err) {
			link.flags = strstr(argv[1], "-first") ? NEIGHBOUR_TCX_FIRST : 0;
			fd = bpf_link_create(fd, ifindex,
					     strncmp(argv[1], "tcx-egress", 10) ? NEIGHBOUR_TCX_INGRESS :
										  NEIGHBOUR_TCX_EGRESS,
					     &link);
			err = fd < 0 ? -errno : 0;
		}
	}
	if (err) {
		fprintf(stderr, "neighbour: %s at %s: %s\n", argv[2], argv[1], strerror(-err));
		return 1;
	}
	while (!over && !err) {
		err = report(s, argv[4]);
		usleep(50000);
	}
	if (xdp)
		err = xdp_program__detach(xdp, ifindex, mode, 0);
	if (priority) {
		opts.flags = opts.prog_fd = opts.prog_id = 0;
		err = bpf_tc_detach(&hook, &opts);
	}
	return err ? 1 : 0;
}

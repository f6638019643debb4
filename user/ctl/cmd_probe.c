// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl probe: the abilities of this kernel, its interfaces and their qdiscs. Features are tried where possible,
 * not guessed: the data plane is loaded (and discarded), fq is set on the loopback device of a temporary network
 * namespace.
 */
#include <errno.h>
#include <glob.h>
#include <linux/pkt_sched.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attach/dataplane.h"
#include "attach/hook/tcx.h"
#include "attach/hook/xdp.h"
#include "attach/port/port_describe.h"
#include "attach/prog/kernel.h"
#include "attach/prog/load.h"
#include "attach/prog/programs.h"
#include "attach/qdisc/advice.h"
#include "attach/qdisc/queue.h"
#include "lib/bpffs.h"
#include "lib/net.h"
#include "lib/qdisc.h"
#include "ctl/out.h"
#include "ctl/probe.h"
#include "sluice/wire/wire.h"

/* A command that helps, or advice in words; NULL or "": none. */
struct probe_fix {
	const char *mend, *advice;
};

static void report_put(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
		       struct probe_fix fix)
{
	static const char *const words[] = { "ok", "less", "missing" };
	char left[160], last[640];

	if (result > r->worst)
		r->worst = result;
	if (!out_json) {
		snprintf(left, sizeof(left), "%-8s %-24s ", words[result], check);
		line_print(left, detail);
		snprintf(left, sizeof(left), "%34s", "");
		snprintf(last, sizeof(last), "to fix: %s", fix.mend ?: "");
		if (fix.mend && *fix.mend)
			line_print(left, last);
		snprintf(last, sizeof(last), "to do: %s", fix.advice ?: "");
		if (fix.advice && *fix.advice)
			line_print(left, last);
		return;
	}
	out_object(NULL);
	out_string("check", check);
	out_string("result", words[result]);
	out_string("detail", detail);
	if (fix.mend && *fix.mend)
		out_string("mend", fix.mend);
	if (fix.advice && *fix.advice)
		out_string("advice", fix.advice);
	out_end();
}

void probe_report_add(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
		      const char *mend)
{
	report_put(r, check, result, detail, (struct probe_fix){ .mend = mend });
}

void probe_report_advise(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
			 const char *advice)
{
	report_put(r, check, result, detail, (struct probe_fix){ .advice = advice });
}

void probe_report_get(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
		      enum advice_on on, const char *device)
{
	struct advice a = {};

	if (on)
		advice_get(on, device, &a);
	if (a.is_command)
		probe_report_add(r, check, result, detail, a.text);
	else
		probe_report_advise(r, check, result, detail, a.text);
}

/* Sets fq on lo in a new network namespace. Runs in a child. */
static int fq_try(void)
{
	return unshare(CLONE_NEWNET) ? errno : -qdisc_set(1, TC_H_ROOT, 0, &(struct qdisc){ .kind = "fq" });
}

static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return errno;
	if (!pid)
		_exit(fn() & 0xff);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return EIO;
	return WEXITSTATUS(status);
}

/* Nothing depends on it: without it fq does its work. */
static void probe_queue(struct probe_report *r)
{
	char why[256], text[320];
	int err = queue_try(why, sizeof(why));

	snprintf(text, sizeof(text), "%s%s", err ? "not available, and not needed: " : "loads", err ? why : "");
	probe_report_add(r, "qdisc sluice", PROBE_OK, text, NULL);
}

/* The kernel loads the module by itself, if it is installed and allowed. */
static void probe_fq(struct probe_report *r, const char *release)
{
	char text[256], module[256];
	glob_t found = {};
	int err = in_child(fq_try);

	if (!err) {
		kernel_fq_tried(1);
		probe_report_add(r, "fq", PROBE_OK, "available", NULL);
		return;
	}
	kernel_fq_tried(0);
	snprintf(text, sizeof(text), "not available: %s: only TCP sockets are paced, by TCP itself", strerror(err));
	snprintf(module, sizeof(module), "/lib/modules/%s/kernel/net/sched/sch_fq.ko*", release);
	if (glob(module, 0, NULL, &found))
		probe_report_advise(r, "fq", PROBE_LESS, text,
				    "boot a kernel with CONFIG_NET_SCH_FQ (Debian's and Ubuntu's have it)");
	else
		probe_report_add(r, "fq", PROBE_LESS, text, "modprobe sch_fq");
	globfree(&found);
}

static void probe_bpffs(struct probe_report *r)
{
	enum bpffs_state state = bpffs_state();

	if (state == BPFFS_HIDDEN)
		probe_report_advise(r, "bpffs", PROBE_MISSING, bpffs_what[state],
				    "run it by 'nsenter --net=/run/netns/NAME', which leaves /sys as it is");
	else
		probe_report_add(r, "bpffs", state == BPFFS_MOUNTED ? PROBE_OK : PROBE_MISSING,
				 state == BPFFS_MOUNTED ? "/sys/fs/bpf" : bpffs_what[state], bpffs_fix[state]);
}

static void probe_btf_lacks(struct probe_report *r)
{
	enum bpffs_state state = bpffs_state();

	if (state == BPFFS_NO_SYS)
		probe_report_add(r, "btf", PROBE_MISSING, bpffs_what[state], bpffs_fix[state]);
	else
		probe_report_advise(r, "btf", PROBE_MISSING, "no /sys/kernel/btf/vmlinux",
				    "boot a kernel with CONFIG_DEBUG_INFO_BTF=y (Debian's and Ubuntu's have it)");
}

/* The verdict on one part of the data plane, or on all of it (NULL). */
static void probe_part(struct probe_report *r, const char *name, enum probe_result bad, int err)
{
	const char *why = err ? load_error(err) : NULL;
	char check[64], text[256];

	snprintf(check, sizeof(check), "data plane%s%s", name ? ": " : "", name ?: "");
	if (!err) {
		probe_report_add(r, check, PROBE_OK, "loads", NULL);
		return;
	}
	snprintf(text, sizeof(text), "does not load: %s", why ?: strerror(-err));
	probe_report_advise(r, check, bad, text, why ? NULL : "sluiced --verbose shows the verifier's words");
}

/* The machine's, or a limit: no part would load. */
static int is_shortage(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}

/* Together, as most machines load them, or else one by one: the kernel may refuse a part that nobody here needs. */
static void probe_programs(struct probe_report *r)
{
	int err = programs_try(PARTS_N) ?: xdp_try();
	unsigned int i;

	if (!err) {
		probe_report_add(r, "data plane", PROBE_OK, "all programs load", NULL);
		return;
	}
	if (is_shortage(err)) {
		probe_part(r, NULL, PROBE_MISSING, err);
		return;
	}
	for (i = 0; i < PARTS_N; i++)
		probe_part(r, part_names[i], i < 2 ? PROBE_MISSING : PROBE_LESS, programs_try(i));
	probe_part(r, "xdp", PROBE_LESS, xdp_try());
}

void probe_kernel(struct probe_report *r)
{
	int kfunc = kernel_has_kfunc(), cc = kernel_has_tcp_ops();
	struct utsname u;
	char text[256], detail[320];

	uname(&u);
	probe_report_add(r, "kernel", PROBE_OK, u.release, NULL);
	if (kfunc < 0) {
		probe_btf_lacks(r);
		return;
	}
	probe_report_add(r, "btf", PROBE_OK, "/sys/kernel/btf/vmlinux", NULL);
	probe_bpffs(r);
	probe_report_add(r, "queue length", PROBE_OK,
			 kfunc ? "read from the qdisc (bpf_cast_to_kern_ctx)" : "kept by the qdisc tracepoints", NULL);
	probe_report_add(
		r, "tcx", PROBE_OK,
		kernel_has_tcx() ?
			"holds the programs, in front of those of others; clsact is left alone" :
			"none (Linux 6.6 has it): the programs are filters of clsact; an interface with a qdisc 'ingress' is refused",
		NULL);
	probe_report_advise(r, "tcp congestion control", cc > 0 ? PROBE_OK : PROBE_LESS,
			    cc > 0 ? "struct_ops" : "no struct_ops: local TCP sockets are not governed",
			    cc > 0 ? NULL : "boot a kernel with CONFIG_BPF_JIT=y and tcp_congestion_ops as struct_ops");
	caps_missing(text, sizeof(text), CAPS_LOAD);
	if (*text) {
		snprintf(detail, sizeof(detail), "not tried: loading programs needs %s", text);
		probe_report_advise(r, "data plane", PROBE_LESS, detail, "run it as root");
		return;
	}
	if (*caps_missing(text, sizeof(text), 1ULL << CAP_NET_RAW))
		probe_report_advise(r, "messages", PROBE_MISSING,
				    "a raw socket for what daemons tell each other needs CAP_NET_RAW",
				    "give sluiced that capability");
	probe_programs(r);
	if (*caps_missing(text, sizeof(text), 1ULL << CAP_SYS_ADMIN)) {
		probe_report_advise(r, "fq", PROBE_LESS,
				    "not tried: a network namespace to try it in needs CAP_SYS_ADMIN",
				    "see what the interfaces have, or run it as root of the host");
		return;
	}
	probe_fq(r, u.release);
	probe_queue(r);
}

/* Reports a qdisc `ingress` of an interface; whether it can be managed nevertheless. */
static int probe_tcx(struct probe_report *r, const char *name)
{
	char mend[64];

	if (kernel_has_tcx()) {
		probe_report_add(r, name, PROBE_OK, "a qdisc 'ingress' has the place of clsact: attached by tcx", NULL);
		return 1;
	}
	snprintf(mend, sizeof(mend), "tc qdisc del dev %s ingress", name);
	probe_report_add(r, name, PROBE_LESS,
			 "a qdisc 'ingress' where clsact has to be, and no tcx in this kernel (Linux 6.6 has it)",
			 mend);
	return 0;
}

/* A host's interface: departure times are honoured where every leaf is fq. */
static void probe_pacing(struct probe_report *r, const char *name, const struct qdisc_info *q)
{
	__u32 lacks = link_lacks_times(if_nametoindex(name), q);
	char check[64], text[256];

	snprintf(check, sizeof(check), "%s pacing (host)", name);
	snprintf(text, sizeof(text), "root %s, %u of %u leaves fq%s", q->root, q->fq, q->leaves,
		 !lacks && q->fq != q->leaves ? "; those of the device below are" : "");
	if (lacks)
		probe_report_get(r, check, PROBE_LESS, text, ADVICE_TIMES, name);
	else
		probe_report_add(r, check, PROBE_OK, text, NULL);
}

void probe_interface(struct probe_report *r, const char *name, __u32 roles, __u64 speed_bps)
{
	const struct config_interface i = { .speed_bps = speed_bps };
	struct link_info link;
	struct qdisc_info q;
	char check[64], text[256], mend[256];
	int err = link_get(name, &link);
	__u64 bps;

	snprintf(check, sizeof(check), "%s", name);
	if (!err)
		err = qdisc_get(link.ifindex, &q);
	if (err == -ENODEV && r->found)
		return;
	if (err) {
		probe_report_advise(
			r, check, PROBE_MISSING, strerror(-err),
			err == -ENODEV ?
				"name one that 'ip link' shows here, in this network namespace, or make it first" :
				"see whether 'ip -d link' and 'tc qdisc' can read it");
		return;
	}
	if (link.type != ARPHRD_ETHER) {
		probe_report_advise(r, check, PROBE_LESS, "not an Ethernet device: cannot be managed",
				    "name the Ethernet device below it");
		return;
	}
	if (!link.up && !q.root[0]) {
		snprintf(mend, sizeof(mend), "ip link set dev %s up", name);
		probe_report_add(r, check, PROBE_LESS, "the link is down, and has no qdisc until it is up", mend);
		return;
	}
	if (!link.up) {
		snprintf(check, sizeof(check), "%s link", name);
		snprintf(mend, sizeof(mend), "ip link set dev %s up", name);
		probe_report_add(r, check, PROBE_LESS, "down: its speed and qdisc may be others once it is up", mend);
	}
	if (q.ingress && !probe_tcx(r, name))
		return;
	snprintf(check, sizeof(check), "%s speed", name);
	bps = port_speed(&i, &link, &q, 0);
	snprintf(text, sizeof(text), "%.6g Mbit/s by the %s%s", bps / 1e6,
		 speed_bps	       ? "configuration" :
		 bps == link.speed_bps ? "driver" :
					 q.root,
		 speed_bps || bps == link.speed_bps ? "" : " at its root");
	if (speed_bps > q.shaper_bps && q.shaper_bps)
		probe_report_advise(r, check, PROBE_LESS, text,
				    "the shaper at its root sends less: leave speed out, or write the rate of that");
	else if (bps)
		probe_report_add(r, check, PROBE_OK, text, NULL);
	else
		probe_report_advise(r, check, roles == PROBE_ANY_ROLE ? PROBE_LESS : PROBE_MISSING,
				    "the driver does not know",
				    "write speed: 25Gbit, for example, for the interface in the configuration");
	snprintf(check, sizeof(check), "%s mtu", name);
	snprintf(text, sizeof(text),
		 "%u; telemetry in the data leaves %u (IPv4) or %u (IPv6) of it, %u less with authentication", link.mtu,
		 link.mtu - (unsigned int)WIRE_OVERHEAD_BYTES(20), link.mtu - (unsigned int)WIRE_OVERHEAD_BYTES(40),
		 (unsigned int)WIRE_AUTH_BYTES);
	probe_report_add(r, check, PROBE_OK, text, NULL);
	if (!(roles & PORT_F_HOST))
		goto queue;
	probe_pacing(r, name, &q);
queue:
	if (!(roles & PORT_F_SWITCH))
		return;
	snprintf(check, sizeof(check), "%s queue (switch)", name);
	err = q.unreadable || !q.root[0];
	snprintf(text, sizeof(text), "root %s: %s", q.root[0] ? q.root : "none",
		 !err			    ? "its length can be read" :
		 q.leaves > PORT_QUEUES_MAX ? "more than 64 transmit queues: they are not read for every packet" :
					      "its length cannot be read, as that of fq, tbf or htb can");
	probe_report_get(r, check, err ? PROBE_LESS : PROBE_OK, text, err ? ADVICE_LENGTH : ADVICE_NONE, name);
}

int cmd_probe(int argc, char **argv)
{
	struct probe_report r = {};
	struct if_nameindex *list, *i;
	int k;

	out_array(NULL);
	probe_kernel(&r);
	for (k = 1; k < argc; k++)
		probe_interface(&r, argv[k], PROBE_ANY_ROLE, 0);
	r.found = argc <= 1;
	list = r.found ? if_nameindex() : NULL;
	for (i = list; i && i->if_index; i++)
		if (strcmp(i->if_name, "lo"))
			probe_interface(&r, i->if_name, PROBE_ANY_ROLE, 0);
	if (list)
		if_freenameindex(list);
	out_done();
	return r.worst == PROBE_MISSING ? EXIT_UNSUPPORTED : EXIT_DONE;
}

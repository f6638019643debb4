// SPDX-License-Identifier: GPL-2.0-only
/* The state of the interfaces in the kernel now, where the configuration wants another. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include "attach/hook/attached.h"
#include "ctl/health.h"
#include "ctl/show.h"

struct kernel {
	const struct pins *pins;
	int runs; /* a daemon that puts back what is gone */
	int here; /* some interface is in this network namespace */
	const char *name;
	warning_fn fn;
	void *ctx;
};

static void before_warn(const struct before *b, void *ctx)
{
	char text[BEFORE_STRLEN], line[2 * BEFORE_STRLEN];
	const struct kernel *k = ctx;

	snprintf(line, sizeof(line), "%s %s: %s", k->name, before_format(b, text), before_advice(b));
	k->fn(NULL, 0, 0, line, k->ctx);
}

static int port_warn(__u32 ifindex, const struct port *port, void *ctx)
{
	struct kernel *k = ctx;
	struct attached a;
	char text[256];

	attached_see(k->pins, show_pin_dir, ifindex, port, &a);
	k->here |= a.known;
	if (!a.known || port->flags & (PORT_F_LEFT | PORT_F_LEAVING))
		return 0;
	if (*a.missing) {
		snprintf(text, sizeof(text), "%s: Sluice's programs were removed (%s): %s", port->name, a.missing,
			 k->runs ? "sluiced attaches them again, and its journal says why if it does not" :
				   "start sluiced, which attaches them again");
		k->fn(NULL, 0, 0, text, k->ctx);
	}
	k->name = port->name;
	before_each(show_pin_dir, ifindex, !a.clsact, a.ingress, before_warn, k);
	return 0;
}

void default_control(char *name, size_t size)
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_congestion_control", "re");

	*name = 0;
	if (!f)
		return;
	if (fgets(name, size, f))
		name[strcspn(name, "\n")] = 0;
	fclose(f);
}

void kernel_warnings_each(const struct pins *p, const struct daemon_seen *d, warning_fn fn, void *ctx)
{
	struct kernel k = { .pins = p, .runs = d->state != DAEMON_GONE, .fn = fn, .ctx = ctx };
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* a filter that is missing is no error here */
	const struct control *ctl = p->ctl;
	char now[32], text[256];

	pins_each_port(p, port_warn, &k);
	default_control(now, sizeof(now));
	if (k.here && ctl->cc_default[0] && *now && strcmp(now, ctl->cc_name)) {
		snprintf(
			text, sizeof(text),
			"net.ipv4.tcp_congestion_control is %s, but tcp: default wants %s: new connections use %s; SIGHUP of sluiced sets it back",
			now, ctl->cc_name, now);
		fn(NULL, 0, 0, text, ctx);
	}
	libbpf_set_print(print);
}

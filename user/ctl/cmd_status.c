// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl status: the page of health: daemon, mode, interfaces, peers, what was changed on this machine, warnings. As
 * text these are sentences, so text and JSON are separate: they share few values in one form.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"
#include "ctl/status.h"
#include "lib/classes.h"
#include "lib/names.h"
#include "sluice/cc/base_rtt.h"

#define STATUS_CHANGES 16 /* most changes that the text has: a route for each peer is many */

static void classes_print(const struct pins *p, __u32 ifindex)
{
	struct class_seen seen[CLASSES_MAX];
	char left[64], text[128];
	struct port_classes c;
	unsigned int n = classes_get(p, show_pin_dir, ifindex, &c, seen), i;

	for (i = 0; i < n; i++) {
		snprintf(left, sizeof(left), "    class %-10u %15.0f Mbit/s  ", i + 1, c.share[i].bps / 1e6);
		snprintf(text, sizeof(text), "backlog %llu bytes, sojourn %llu us", seen[i].backlog_bytes,
			 seen[i].sojourn_ns / 1000);
		line_print(left, text);
	}
}

static int interface_print(__u32 ifindex, const struct port *port, void *ctx)
{
	char left[64], text[224], id[24] = "", ecn[32] = "";
	const char *pacing = "";
	struct attached a;

	if (port->flags & PORT_F_LEFT)
		return 0;
	/* A switch that forwards at once has no departure times to keep. */
	if (port->flags & PORT_F_EDT)
		pacing = "  paced by departure time";
	else if (port->flags & (PORT_F_HOST | PORT_F_VOQ_UP))
		pacing = "  no fq";
	attached_see(ctx, show_pin_dir, ifindex, port, &a);
	if (port_stamps(port))
		snprintf(id, sizeof(id), "  id %u", port->switch_id);
	if (port->ecn_bytes)
		snprintf(ecn, sizeof(ecn), "  ECN above %u bytes", port->ecn_bytes);
	snprintf(left, sizeof(left), "  %-16s %-6s %8.0f Mbit/s  ", port->name, port_role(port), port->speed_bps / 1e6);
	snprintf(text, sizeof(text), "MTU %u%s%s%s%s%s%s%s%s%s", port->mtu, pacing, id, ecn,
		 port->flags & PORT_F_HOST ? "  sink at " : "", port->flags & PORT_F_HOST ? port_sink(port, &a) : "",
		 a.tcx	  ? "  attached by tcx" :
		 a.clsact ? "  attached by clsact" :
			    "",
		 port->flags & PORT_F_LEAVING ? "  leaving" : "", *a.missing ? "  NOT ATTACHED: " : "", a.missing);
	line_print(left, text);
	classes_print(ctx, ifindex);
	return 0;
}

static int peer_print(const struct peer_key *key, const struct peer *v, void *ctx)
{
	char prefix[PREFIX_STRLEN], left[PREFIX_STRLEN + 8], text[160], t[UNITS_STRLEN], measured[UNITS_STRLEN];

	(void)ctx;
	snprintf(left, sizeof(left), "  %-24s ", prefix_format(key, prefix));
	units_time_format((v->t_ns + 500) / 1000 * 1000, t);
	units_time_format((v->measured_ns + 500) / 1000 * 1000, measured);
	if (v->t_auto && !v->measured_ns)
		snprintf(text, sizeof(text), "base_rtt auto: not measured yet");
	else if (v->t_auto)
		snprintf(text, sizeof(text), "base_rtt %s, as measured (auto)", t);
	else
		snprintf(text, sizeof(text), "base_rtt %s%s%s%s", t, v->measured_ns ? ", measured " : "",
			 v->measured_ns ? measured : "",
			 v->measured_ns && base_rtt_is_off(v->t_ns, v->measured_ns) ? ": more than a quarter off" : "");
	if (v->leaving)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  leaving");
	line_print(left, text);
	return 0;
}

/* "since 2026-11-26 18:40:12 (2 min)"; buf of SINCE_STRLEN. */
#define SINCE_STRLEN 64
static const char *since_format(__u64 age, char *buf)
{
	static const struct {
		const char *name;
		unsigned int s;
	} units[] = { { "days", 86400 }, { "h", 3600 }, { "min", 60 }, { "s", 1 } };
	unsigned int s = age / NSEC_PER_SEC, i = 0;
	struct timespec now;
	char text[32];
	struct tm tm;
	time_t then;

	clock_gettime(CLOCK_REALTIME, &now);
	then = (now.tv_sec * NSEC_PER_SEC + now.tv_nsec - age) / NSEC_PER_SEC;
	while (i < 3 && s < 2 * units[i].s)
		i++;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&then, &tm));
	snprintf(buf, SINCE_STRLEN, "since %s (%u %s)", text, s / units[i].s, units[i].name);
	return buf;
}

static void daemon_print(const struct status *s)
{
	const struct daemon_seen *d = &s->daemon;
	__u32 pid = d->pid ?: s->ctl.pid;
	char text[256], since[SINCE_STRLEN];

	switch (d->state) {
	case DAEMON_RUNS:
		snprintf(text, sizeof(text), "running, pid %u%s%s%s", pid, d->pid ? "" : " of another PID namespace",
			 d->recorded ? ", " : "",
			 d->recorded ? since_format(age_ns(d->now_ns, d->record.head.started_ns), since) : "");
		break;
	case DAEMON_STARTS:
		snprintf(text, sizeof(text), "starting, pid %u: packets go on without it meanwhile", pid);
		break;
	case DAEMON_HANGS:
		snprintf(
			text, sizeof(text),
			"hung, pid %u: the process is there, and gave no sign for %.0f s: it is stopped, or busy with a reload; if that lasts, kill -9 it and start it again",
			pid, d->age_ns / 1e9);
		break;
	default:
		snprintf(
			text, sizeof(text),
			"not running, no sign for %.0f s (was pid %u): packets go on without it; start it again to adopt them",
			d->age_ns / 1e9, s->ctl.pid);
	}
	line_print("sluiced: ", text);
	if (d->recorded && strcmp(d->record.head.version, SLUICE_VERSION) != 0) {
		snprintf(text, sizeof(text), "sluiced is %s, this sluicectl is %s: use the same of both",
			 d->record.head.version, SLUICE_VERSION);
		line_print("version: ", text);
	}
	if (d->replaced)
		line_print("program: ", "the file of sluiced was replaced since it started: systemctl restart sluiced");
}

/* One of the files that the daemon has read, unless it is as it was. */
static void file_print(const struct status *s, const char *left, const char *path, enum file_state state)
{
	char text[RECORD_PATH + 160];

	if (s->daemon.state == DAEMON_GONE || (state != FILE_CHANGED && state != FILE_UNREADABLE))
		return;
	if (state == FILE_CHANGED)
		snprintf(
			text, sizeof(text),
			"%s has changed since it was read: 'systemctl reload sluiced', or kill -HUP %u, reads it again",
			path, s->daemon.pid ?: s->ctl.pid);
	else
		snprintf(text, sizeof(text),
			 "%s, which sluiced has read, cannot be read here: see whether it is still there", path);
	line_print(left, text);
}

static int sequences_text(char *text, size_t size, const struct hosts_sequences *s, const char *what)
{
	char addr[PREFIX_STRLEN];

	if (!s->n)
		return 0;
	return snprintf(text, size, "; %u %s (%s by %.0f s)", s->n, what, addr_format(&s->addr, addr), s->by_ns / 1e9);
}

/* A switch has no peers, unless it is a ToR. */
static void hosts_print(const struct pins *p, const struct hosts_seen *h)
{
	struct peer_key first;
	char text[1024];
	enum host_plain i;
	int n;

	if (bpf_map_get_next_key(p->peers, NULL, &first))
		return;
	n = snprintf(text, sizeof(text), "%u run%s Sluice", h->strip, h->strip == 1 ? "s" : "");
	for (i = 0; i < HOST_PLAIN_REASONS; i++)
		if (h->plain[i])
			n += snprintf(text + n, sizeof(text) - n, "; plain: %u %s (%s)", h->plain[i],
				      host_plain_names[i], host_plain_hints[i]);
	n += sequences_text(text + n, sizeof(text) - n, &h->old,
			    "sent sequences older than those heard of it before: its clock was ahead");
	sequences_text(text + n, sizeof(text) - n, &h->held,
		       "had heard newer sequences of this host: its clock was ahead");
	line_print("peers: ", text);
}

static void change_print(const char *kind, const char *object, const char *was, const char *is, void *ctx)
{
	struct status *s = ctx;
	char left[128], text[256];

	if (!s->headed)
		line_print("", "changed on this machine (a stop of sluiced, or sluiced --detach, undoes it):");
	if (++s->headed > STATUS_CHANGES)
		return;
	snprintf(left, sizeof(left), "  %-8s %s: ", kind, object);
	snprintf(text, sizeof(text), "%s%s%s", was, *was ? " -> " : "", is);
	line_print(left, text);
}

static void warning_print(const char *counter, __u64 n, __u64 over_ns, const char *text, void *ctx)
{
	struct status *s = ctx;
	char left[96] = "  ";

	if (!s->headed++)
		puts("warnings:");
	if (counter)
		snprintf(left, sizeof(left), "  %s +%llu in %.0f s: ", counter, n, over_ns / 1e9);
	line_print(left, text);
}

static int status_print(struct pins *p, struct status *s)
{
	const struct daemon_head *h = &s->daemon.record.head;
	const struct control *c = &s->ctl;
	char rack[INET_ADDRSTRLEN], text[512];

	snprintf(text, sizeof(text), "mode %s%s, pins in %s", mode_name(c->mode), c->bypass ? ", BYPASS ON" : "",
		 show_pin_dir);
	line_print("", text);
	daemon_print(s);
	file_print(s, "configuration: ", h->config_path, s->config);
	file_print(s, "key: ", h->key_path, s->key);
	if (c->tor)
		printf("HierCC: rack %s\n", inet_ntop(AF_INET, &c->tor, rack, sizeof(rack)));
	printf("congestion control: %s\nauthentication: %s\nflows: %u\ninterfaces:\n",
	       c->cc_name[0] ? c->cc_name : "none", c->auth ? "with a key" : "none", s->flows);
	pins_each_port(p, interface_print, p);
	hosts_print(p, &s->hosts);
	pins_each_peer(p, peer_print, NULL);
	s->headed = 0;
	changes_each(p, show_pin_dir, change_print, s);
	if (s->headed > STATUS_CHANGES) {
		snprintf(text, sizeof(text), "  and %u more: sluicectl --json status has them all",
			 s->headed - STATUS_CHANGES);
		line_print("", text);
	}
	s->headed = 0;
	warnings_each(p, &s->daemon, s->flows, warning_print, s);
	return EXIT_DONE;
}

static int count_flow(const struct flow_key *key, const struct flow *f, void *ctx)
{
	(void)key;
	(void)f;
	++*(unsigned int *)ctx;
	return 0;
}

int cmd_status(int argc, char **argv)
{
	struct status s = {};
	struct pins p;
	int err;

	(void)argv;
	if (arguments_refused(argc, "status"))
		return EXIT_USAGE;
	err = show_open(&p);
	if (err)
		return err;
	pins_each_flow(&p, count_flow, &s.flows);
	daemon_see(&s.daemon, show_pin_dir, p.ctl);
	s.ctl = *p.ctl;
	s.config = config_file_state(&s.daemon);
	s.key = key_file_state(&s.daemon);
	hosts_see(&s.hosts, &p);
	err = out_json ? status_json(&p, &s) : status_print(&p, &s);
	pins_close(&p);
	return err;
}

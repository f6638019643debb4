// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl status: mode, daemon, interfaces and their classes. As text these are sentences, so text and JSON are
 * separate: they share few values in one form.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include "ctl/show.h"
#include "lib/names.h"
#include "sluice/cc/base_rtt.h"
#include "sluice/once.h"

#define STATUS_ALIVE_NS (3 * NSEC_PER_SEC)
#define STATUS_BEAT_NS (3 * NSEC_PER_SEC / 2) /* the daemon's heartbeat is once a second */

struct status {
	struct control ctl;
	unsigned int flows;
	double age_s; /* age of the last sign of life of the daemon */
	int alive;    /* the daemon is alive */
};

static int port_stamps(const struct port *port)
{
	return !!(port->flags & (PORT_F_SWITCH | PORT_F_STAMP | PORT_F_POD));
}

/* Where the port strips telemetry. */
static const char *port_sink(const struct port *port)
{
	if (!(port->flags & PORT_F_XDP))
		return "tc";
	return port->flags & PORT_F_XDP_GENERIC ? "generic XDP" : "native XDP";
}

/* --- JSON --- */

static void classes_json(const struct pins *p, __u32 ifindex)
{
	struct class_key key = { .ifindex = ifindex };
	struct port_classes c;
	struct class_queue q;

	if (bpf_map_lookup_elem(p->classes, &ifindex, &c))
		return;
	out_array("classes");
	for (; key.class < c.n && key.class < CLASSES_MAX; key.class ++) {
		if (bpf_map_lookup_elem(p->class_queues, &key, &q))
			continue;
		out_object(NULL);
		out_u64("class", key.class + 1);
		out_u64("share_bps", c.share[key.class].bps);
		out_u64("tx_bytes", q.tx_bytes);
		out_u64("backlog_bytes", q.backlog_bytes);
		out_u64("sojourn_ns", q.sojourn_ns);
		out_end();
	}
	out_end();
}

static int interface_json(__u32 ifindex, const struct port *port, void *ctx)
{
	if (port->flags & PORT_F_LEFT)
		return 0;
	out_object(NULL);
	out_string("name", port->name);
	out_u64("ifindex", ifindex);
	out_string("role", port_role(port));
	out_u64("speed_bps", port->speed_bps);
	out_u64("mtu_bytes", port->mtu);
	out_bool("leaving", port->flags & PORT_F_LEAVING);
	out_bool("edt", port->flags & PORT_F_EDT);
	out_u64("switch_id", port->switch_id);
	out_bool("stamps", port_stamps(port));
	out_string("attached_by", port->flags & PORT_F_TCX ? "tcx" : "clsact");
	if (port->flags & PORT_F_HOST)
		out_string("sink", port_sink(port));
	classes_json(ctx, ifindex);
	out_end();
	return 0;
}

static int peer_json(const struct peer_key *key, const struct peer *v, void *ctx)
{
	char prefix[PREFIX_STRLEN];

	(void)ctx;
	out_object(NULL);
	out_string("prefix", prefix_format(key, prefix));
	out_u64("base_rtt_ns", v->t_auto && !v->measured_ns ? 0 : v->t_ns);
	out_bool("base_rtt_auto", v->t_auto);
	out_u64("measured_rtt_ns", v->measured_ns);
	out_u64("measured_rtt_changes", v->t_changes);
	out_bool("leaving", v->leaving);
	out_end();
	return 0;
}

static int status_json(struct pins *p, const struct status *s)
{
	const struct control *c = &s->ctl;
	char rack[INET_ADDRSTRLEN];

	out_object(NULL);
	out_string("version", SLUICE_VERSION);
	out_u64("abi", c->abi);
	out_string("mode", mode_name(c->mode));
	out_bool("bypass", c->bypass);
	out_bool("authenticated", c->auth);
	out_u64("daemon_pid", c->pid);
	out_double("heartbeat_age_s", s->age_s);
	out_bool("daemon_alive", s->alive);
	out_string("congestion_control", c->cc_name);
	out_u64("flows", s->flows);
	if (c->tor)
		out_string("rack", inet_ntop(AF_INET, &c->tor, rack, sizeof(rack)));
	out_array("interfaces");
	pins_each_port(p, interface_json, p);
	out_end();
	out_array("peers");
	pins_each_peer(p, peer_json, NULL);
	return out_done();
}

/* --- text --- */

static void classes_print(const struct pins *p, __u32 ifindex)
{
	struct class_key key = { .ifindex = ifindex };
	char left[64], text[128];
	struct port_classes c;
	struct class_queue q;

	if (bpf_map_lookup_elem(p->classes, &ifindex, &c))
		return;
	for (; key.class < c.n && key.class < CLASSES_MAX; key.class ++) {
		if (bpf_map_lookup_elem(p->class_queues, &key, &q))
			continue;
		snprintf(left, sizeof(left), "    class %-10u %15.0f Mbit/s  ", key.class + 1,
			 c.share[key.class].bps / 1e6);
		snprintf(text, sizeof(text), "backlog %llu bytes, sojourn %llu us", q.backlog_bytes,
			 q.sojourn_ns / 1000);
		line_print(left, text);
	}
}

static int interface_print(__u32 ifindex, const struct port *port, void *ctx)
{
	char left[64], text[128], id[24] = "";

	if (port->flags & PORT_F_LEFT)
		return 0;
	if (port_stamps(port))
		snprintf(id, sizeof(id), "  id %u", port->switch_id);
	snprintf(left, sizeof(left), "  %-16s %-6s %8.0f Mbit/s  ", port->name, port_role(port), port->speed_bps / 1e6);
	snprintf(text, sizeof(text), "MTU %u  %s%s%s%s%s%s", port->mtu,
		 port->flags & PORT_F_EDT ? "paced by departure time" : "no fq", id,
		 port->flags & PORT_F_HOST ? "  sink at " : "", port->flags & PORT_F_HOST ? port_sink(port) : "",
		 port->flags & PORT_F_TCX ? "  attached by tcx" : "", port->flags & PORT_F_LEAVING ? "  leaving" : "");
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

static int status_print(struct pins *p, const struct status *s)
{
	const struct control *c = &s->ctl;
	char rack[INET_ADDRSTRLEN], text[512];

	snprintf(text, sizeof(text), "mode %s%s, pins in %s", mode_name(c->mode), c->bypass ? ", BYPASS ON" : "",
		 show_pin_dir);
	line_print("", text);
	if (s->alive)
		snprintf(text, sizeof(text), "running, pid %u", c->pid);
	else
		snprintf(text, sizeof(text),
			 "no sign for %.0f s (was pid %u): packets go on without it; start it again to adopt them",
			 s->age_s, c->pid);
	line_print("sluiced: ", text);
	if (c->tor)
		printf("HierCC: rack %s\n", inet_ntop(AF_INET, &c->tor, rack, sizeof(rack)));
	printf("congestion control: %s\nauthentication: %s\nflows: %u\ninterfaces:\n",
	       c->cc_name[0] ? c->cc_name : "none", c->auth ? "with a key" : "none", s->flows);
	pins_each_port(p, interface_print, p);
	puts("peers:");
	pins_each_peer(p, peer_print, NULL);
	return EXIT_DONE;
}

static int count_flow(const struct flow_key *key, const struct flow *f, void *ctx)
{
	(void)key;
	(void)f;
	++*(unsigned int *)ctx;
	return 0;
}

/*
 * A killed daemon has a fresh heartbeat for a while, but no process. The process of one in another PID namespace (a
 * container) is not visible here: then this waits for the next heartbeat.
 */
static int daemon_lives(const struct control *c)
{
	__u64 last_ns = READ_ONCE(c->heartbeat_ns), end_ns = now_ns() + STATUS_BEAT_NS;
	const struct timespec pause = { 0, NSEC_PER_SEC / 20 };

	if (age_ns(now_ns(), last_ns) >= STATUS_ALIVE_NS)
		return 0;
	if (!kill(c->pid, 0) || errno != ESRCH)
		return 1;
	while (READ_ONCE(c->heartbeat_ns) == last_ns && now_ns() < end_ns)
		nanosleep(&pause, NULL);
	return READ_ONCE(c->heartbeat_ns) != last_ns;
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
	s.alive = daemon_lives(p.ctl);
	s.ctl = *p.ctl;
	s.age_s = age_ns(now_ns(), s.ctl.heartbeat_ns) / 1e9;
	err = out_json ? status_json(&p, &s) : status_print(&p, &s);
	pins_close(&p);
	return err;
}

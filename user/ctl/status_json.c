// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl status --json: the same facts as the text, each under a key of its own. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <string.h>
#include "ctl/out.h"
#include "ctl/show.h"
#include "ctl/status.h"
#include "lib/classes.h"
#include "lib/names.h"

static void classes_json(const struct pins *p, __u32 ifindex)
{
	struct class_seen seen[CLASSES_MAX];
	struct port_classes c;
	unsigned int n = classes_get(p, show_pin_dir, ifindex, &c, seen), i;

	if (!n)
		return;
	out_array("classes");
	for (i = 0; i < n; i++) {
		out_object(NULL);
		out_u64("class", i + 1);
		out_u64("share_bps", c.share[i].bps);
		out_u64("tx_bytes", seen[i].tx_bytes);
		out_u64("backlog_bytes", seen[i].backlog_bytes);
		out_u64("sojourn_ns", seen[i].sojourn_ns);
		out_end();
	}
	out_end();
}

static int interface_json(__u32 ifindex, const struct port *port, void *ctx)
{
	struct attached a;
	char *rest, *hook;

	if (port->flags & PORT_F_LEFT)
		return 0;
	attached_see(ctx, show_pin_dir, ifindex, port, &a);
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
	if (port->ecn_bytes)
		out_u64("ecn_bytes", port->ecn_bytes);
	out_string("attached_by", a.clsact					  ? "clsact" :
				  a.tcx || (!a.known && port->flags & PORT_F_TCX) ? "tcx" :
				  a.known					  ? "nothing" :
										    "clsact");
	out_array("missing");
	for (rest = a.missing; rest && (hook = strsep(&rest, ", "));)
		if (*hook)
			out_string(NULL, hook);
	out_end();
	if (port->flags & PORT_F_HOST)
		out_string("sink", port_sink(port, &a));
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

static void daemon_json(const struct status *s)
{
	const struct daemon_seen *d = &s->daemon;
	const struct daemon_head *h = &d->record.head;

	out_u64("daemon_pid", d->pid ?: s->ctl.pid);
	out_double("heartbeat_age_s", d->age_ns / 1e9);
	out_bool("daemon_alive", d->state == DAEMON_RUNS);
	out_string("daemon_state", daemon_state_names[d->state]);
	out_bool("daemon_replaced", d->replaced);
	if (!d->recorded)
		return;
	out_string("daemon_version", h->version);
	if (d->state == DAEMON_RUNS || d->state == DAEMON_HANGS)
		out_double("daemon_uptime_s", age_ns(d->now_ns, h->started_ns) / 1e9);
	out_object("configuration");
	out_string("file", h->config_path);
	out_string("file_state", file_state_names[s->config]);
	if (h->key_path[0]) {
		out_string("key_file", h->key_path);
		out_string("key_file_state", file_state_names[s->key]);
	}
	out_end();
}

static void sequences_json(const char *name, const struct hosts_sequences *s)
{
	char addr[PREFIX_STRLEN];

	out_object(name);
	out_u64("hosts", s->n);
	if (s->n) {
		out_string("largest", addr_format(&s->addr, addr));
		out_u64("by_ns", s->by_ns);
	}
	out_end();
}

static void hosts_json(const struct hosts_seen *h)
{
	enum host_plain i;

	out_object("hosts");
	out_u64("strip", h->strip);
	out_array("plain");
	for (i = 0; i < HOST_PLAIN_REASONS; i++) {
		if (!h->plain[i])
			continue;
		out_object(NULL);
		out_string("reason", host_plain_names[i]);
		out_u64("hosts", h->plain[i]);
		out_end();
	}
	out_end();
	sequences_json("old_sequences", &h->old);
	sequences_json("held_sequences", &h->held);
	out_end();
}

static void change_json(const char *kind, const char *object, const char *was, const char *is, void *ctx)
{
	(void)ctx;
	out_object(NULL);
	out_string("kind", kind);
	out_string("object", object);
	if (*was)
		out_string("was", was);
	out_string("is", is);
	out_end();
}

static void warning_json(const char *counter, __u64 n, __u64 over_ns, const char *text, void *ctx)
{
	(void)ctx;
	out_object(NULL);
	if (counter) {
		out_string("counter", counter);
		out_u64("grown", n);
		out_double("window_s", over_ns / 1e9);
	}
	out_string("warning", text);
	out_end();
}

int status_json(struct pins *p, const struct status *s)
{
	const struct control *c = &s->ctl;
	char rack[INET_ADDRSTRLEN];

	out_object(NULL);
	out_string("version", SLUICE_VERSION);
	out_u64("abi", c->abi);
	out_string("mode", mode_name(c->mode));
	out_bool("bypass", c->bypass);
	out_bool("authenticated", c->auth);
	daemon_json(s);
	out_string("congestion_control", c->cc_name);
	out_u64("flows", s->flows);
	if (c->tor)
		out_string("rack", inet_ntop(AF_INET, &c->tor, rack, sizeof(rack)));
	out_array("interfaces");
	pins_each_port(p, interface_json, p);
	out_end();
	out_array("peers");
	pins_each_peer(p, peer_json, NULL);
	out_end();
	hosts_json(&s->hosts);
	out_array("changes");
	changes_each(p, show_pin_dir, change_json, NULL);
	out_end();
	out_array("warnings");
	warnings_each(p, &s->daemon, s->flows, warning_json, NULL);
	return out_done();
}

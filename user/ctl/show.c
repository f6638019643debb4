// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl status, stats, bypass, and what is said of a flow: the pinned maps, for people and as JSON. They need no
 * daemon, only the pins. JSON keys carry their unit.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include "lib/config.h"
#include "lib/pins.h"
#include "ctl/show.h"
#include "lib/names.h"

struct show_options show_options = { .pin_dir = SLUICE_PIN_DIR };

int show_open(struct pins *p)
{
	int err = pins_open(show_options.pin_dir, p);
	char caps[64];

	if (!err)
		return EXIT_DONE;
	caps_missing(caps, sizeof(caps), CAPS_READ);
	if (err == -ENOENT)
		msg("%s: nothing is pinned there: is sluiced running? (--pin-dir DIR for another place)",
		    show_options.pin_dir);
	else if (err == -EPERM || err == -EACCES)
		msg("%s: not allowed: reading BPF maps needs root, or %s%sread and write access to what is pinned there (CAP_DAC_OVERRIDE)",
		    show_options.pin_dir, caps, *caps ? " and " : "");
	else if (err == -EPROTO)
		msg("%s: the maps there are of another version of Sluice: use its own sluicectl",
		    show_options.pin_dir);
	else
		msg("%s: %s", show_options.pin_dir, strerror(-err));
	return EXIT_FAILED;
}

int show_json(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
	return EXIT_DONE;
}

void add_u64(struct json_object *o, const char *key, __u64 v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

void add_string(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

void add_bool(struct json_object *o, const char *key, int v)
{
	json_object_object_add(o, key, json_object_new_boolean(v));
}

/* --- status --- */

/* Where telemetry is taken off. */
static const char *port_sink(const struct port *port)
{
	if (!(port->flags & PORT_F_XDP))
		return "tc";
	return port->flags & PORT_F_XDP_GENERIC ? "generic XDP" : "native XDP";
}

struct status_ctx {
	const struct pins *pins;
	struct json_object *list; /* NULL: as text */
};

/* The classes of a port as a list of "classes" in o, or printed. */
static void status_classes(__u32 ifindex, const struct pins *p, struct json_object *o)
{
	struct class_key key = { .ifindex = ifindex };
	struct json_object *list, *class;
	struct port_classes c;
	struct class_queue q;
	char left[64], text[128];

	if (bpf_map_lookup_elem(p->classes, &ifindex, &c))
		return;
	list = o ? json_object_new_array() : NULL;
	for (; key.class < c.n && key.class < CLASSES_MAX; key.class ++) {
		if (bpf_map_lookup_elem(p->class_queues, &key, &q))
			continue;
		if (!o) {
			snprintf(left, sizeof(left), "    class %-10u %15.0f Mbit/s  ", key.class + 1,
				 c.share[key.class].bps / 1e6);
			snprintf(text, sizeof(text), "backlog %llu bytes, sojourn %llu us", q.backlog_bytes,
				 q.sojourn_ns / 1000);
			line_print(left, text);
			continue;
		}
		class = json_object_new_object();
		add_u64(class, "class", key.class + 1);
		add_u64(class, "share_bps", c.share[key.class].bps);
		add_u64(class, "tx_bytes", q.tx_bytes);
		add_u64(class, "backlog_bytes", q.backlog_bytes);
		add_u64(class, "sojourn_ns", q.sojourn_ns);
		json_object_array_add(list, class);
	}
	if (o)
		json_object_object_add(o, "classes", list);
}

static int status_port(__u32 ifindex, const struct port *port, void *ctx)
{
	const struct status_ctx *s = ctx;
	struct json_object *list = s->list, *o;
	char left[64], text[128], id[24] = "";

	if (port->flags & PORT_F_LEFT)
		return 0;
	if (!list) {
		if (port->flags & (PORT_F_SWITCH | PORT_F_STAMP | PORT_F_POD))
			snprintf(id, sizeof(id), "  id %u", port->switch_id);
		snprintf(left, sizeof(left), "  %-16s %-6s %8.0f Mbit/s  ", port->name, port_role(port),
			 port->speed_bps / 1e6);
		snprintf(text, sizeof(text), "MTU %u  %s%s%s%s%s", port->mtu,
			 port->flags & PORT_F_EDT ? "fq: paced by departure time" : "no fq", id,
			 port->flags & PORT_F_HOST ? "  sink at " : "",
			 port->flags & PORT_F_HOST ? port_sink(port) : "",
			 port->flags & PORT_F_LEAVING ? "  leaving" : "");
		line_print(left, text);
		status_classes(ifindex, s->pins, NULL);
		return 0;
	}
	o = json_object_new_object();
	add_string(o, "name", port->name);
	add_u64(o, "ifindex", ifindex);
	add_string(o, "role", port_role(port));
	add_u64(o, "speed_bps", port->speed_bps);
	add_u64(o, "mtu_bytes", port->mtu);
	add_bool(o, "leaving", !!(port->flags & PORT_F_LEAVING));
	add_bool(o, "edt", !!(port->flags & PORT_F_EDT));
	add_u64(o, "switch_id", port->switch_id);
	add_bool(o, "stamps", !!(port->flags & (PORT_F_SWITCH | PORT_F_STAMP | PORT_F_POD)));
	if (port->flags & PORT_F_HOST)
		add_string(o, "sink", port_sink(port));
	status_classes(ifindex, s->pins, o);
	json_object_array_add(list, o);
	return 0;
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
	struct pins p;
	struct control c;
	unsigned int flows = 0;
	struct json_object *o, *ports;
	char rack[INET_ADDRSTRLEN], text[512];
	double age;
	int err;

	(void)argv;
	if (argc > 1) {
		msg("status takes no arguments");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	c = *p.ctl;
	pins_each_flow(&p, count_flow, &flows);
	age = age_ns(now_ns(), c.heartbeat_ns) / 1e9;
	if (show_options.json) {
		o = json_object_new_object();
		add_string(o, "version", SLUICE_VERSION);
		add_u64(o, "abi", c.abi);
		add_string(o, "mode", mode_name(c.mode));
		add_bool(o, "bypass", c.bypass);
		add_bool(o, "authenticated", !!c.auth);
		add_u64(o, "daemon_pid", c.pid);
		json_object_object_add(o, "heartbeat_age_s", json_object_new_double(age));
		add_bool(o, "daemon_alive", age < 3);
		add_string(o, "congestion_control", c.cc_name);
		add_u64(o, "flows", flows);
		if (c.tor)
			add_string(o, "rack", inet_ntop(AF_INET, &c.tor, rack, sizeof(rack)));
		ports = json_object_new_array();
		pins_each_port(&p, status_port, &(struct status_ctx){ &p, ports });
		json_object_object_add(o, "interfaces", ports);
		pins_close(&p);
		return show_json(o);
	}
	snprintf(text, sizeof(text), "mode %s%s, pins in %s", mode_name(c.mode), c.bypass ? ", BYPASS ON" : "",
		 show_options.pin_dir);
	line_print("", text);
	if (age < 3)
		snprintf(text, sizeof(text), "running, pid %u", c.pid);
	else
		snprintf(text, sizeof(text), "no sign for %.0f s (was pid %u): packets go on without it; start it again to adopt them",
			 age, c.pid);
	line_print("sluiced: ", text);
	if (c.tor)
		printf("HierCC: rack %s\n", inet_ntop(AF_INET, &c.tor, rack, sizeof(rack)));
	printf("congestion control: %s\nauthentication: %s\nflows: %u\ninterfaces:\n",
	       c.cc_name[0] ? c.cc_name : "none", c.auth ? "with a key" : "none", flows);
	pins_each_port(&p, status_port, &(struct status_ctx){ &p, NULL });
	pins_close(&p);
	return EXIT_DONE;
}

/* --- flows --- */

const char *row_why(const struct flow_row *r, const struct flow_list *l)
{
	return r->why ?: flow_why(&r->key, &r->flow, &l->ctl, l->now_ns);
}

const char *flow_control(const struct flow *f)
{
	return f->fallback.swift ? "swift" : "hpcc";
}

const char *flow_format(const struct flow_key *k, char *buf)
{
	char local[PREFIX_STRLEN], remote[PREFIX_STRLEN];

	snprintf(buf, FLOW_STRLEN, "%s:%u -> %s:%u", addr_format(&k->local, local), ntohs(k->local_port),
		 addr_format(&k->remote, remote), ntohs(k->remote_port));
	return buf;
}

void flow_json(struct json_object *list, const struct flow_row *row, const struct flow_list *l, int watched)
{
	const struct flow_key *k = &row->key;
	const struct flow *f = &row->flow;
	const struct control *ctl = &l->ctl;
	__u64 now = l->now_ns;
	struct json_object *o = json_object_new_object(), *hops, *hop;
	char buf[PREFIX_STRLEN];
	int i;

	add_string(o, "local", addr_format(&k->local, buf));
	add_u64(o, "local_port", ntohs(k->local_port));
	add_string(o, "remote", addr_format(&k->remote, buf));
	add_u64(o, "remote_port", ntohs(k->remote_port));
	add_string(o, "protocol", k->proto == IPPROTO_UDP ? "udp" : "tcp");
	add_string(o, "state", flow_state_names[flow_state(f, ctl)]);
	add_string(o, "control", flow_control(f));
	add_string(o, "why", row_why(row, l));
	if (watched) {
		add_u64(o, "why_age_ns", age_ns(now, row->why_since_ns));
		add_bool(o, "why_from_start", row->why_from_start);
	}
	if (f->path.hiercc)
		add_u64(o, "hop_rate_bps", f->voq.rate_bps);
	add_bool(o, "hiercc", f->path.hiercc);
	add_bool(o, "hpcc", !f->path.hpcc_off);
	if (f->fallback.swift && f->delay.sample_ns)
		add_u64(o, "delay_ns", f->delay.sample_ns);
	add_bool(o, "telemetry", !!(f->tx.flags & FLOW_F_TELEM));
	add_u64(o, "tx_bytes", f->tx.bytes);
	if (watched)
		add_u64(o, "sent_bps", row->sent_bps);
	add_u64(o, "w_bytes", q12_to_bytes(f->cc.w));
	add_u64(o, "wc_bytes", q12_to_bytes(f->cc.wc));
	add_u64(o, "w_init_bytes", q12_to_bytes(f->params.w_init));
	json_object_object_add(o, "w_ai_bytes",
			       json_object_new_double((double)f->params.w_ai / Q12_ONE));
	add_u64(o, "rate_bps", f->cc.rate_bps);
	add_string(o, "telemetry_mode", telemetry_name(f->path.telemetry));
	add_string(o, "variant", variant_name(f->params.variant));
	add_string(o, "encoding", f->path.encoding == ENCODING_INT_MD ? "int-md" : "hpcc");
	if (f->params.variant == HPCC_VAI_SF) {
		add_u64(o, "bank_tokens", f->cc.vai.bank);
		json_object_object_add(o, "dampener",
				       json_object_new_double((double)f->cc.vai.dampener_q8 /
							      VAI_DAMPENER_ONE));
	}
	add_string(o, "feedback", feedback_name(f->rx.form));
	if (f->rx.flows)
		add_u64(o, "flows", f->rx.flows);
	json_object_object_add(o, "u", json_object_new_double((double)f->cc.u / Q24_ONE));
	add_u64(o, "inc_stage", f->cc.inc_stage);
	add_u64(o, "base_rtt_ns", f->params.t_ns);
	add_u64(o, "path_id", f->cc.path_id);
	add_u64(o, "feedbacks", f->rx.feedbacks);
	if (f->rx.fb_ns)
		add_u64(o, "feedback_age_ns", age_ns(now, f->rx.fb_ns));
	hops = json_object_new_array();
	for (i = 0; i < f->cc.hops && i < HPCC_MAX_HOPS; i++) {
		hop = json_object_new_object();
		add_u64(hop, "speed_bps", f->cc.last[i].bps);
		add_u64(hop, "ts_ns", f->cc.last[i].ts_ns);
		add_u64(hop, "tx_bytes", f->cc.last[i].tx_bytes);
		add_u64(hop, "qlen_bytes", f->cc.last[i].qlen_bytes);
		add_u64(hop, "queue_ns", hop_queue_ns(&f->cc.last[i]));
		json_object_array_add(hops, hop);
	}
	json_object_object_add(o, "hops", hops);
	json_object_array_add(list, o);
}

void flow_line(const struct flow_row *row, const struct flow_list *l, int watched, char *buf, size_t size)
{
	char ends[FLOW_STRLEN], by[40] = "", n[16] = "-", sent[16] = "";
	const struct flow *f;

	if (!row) {
		snprintf(buf, size, "%-48s %s%10s %12s %6s %5s %10s %8s %5s %-6s  %s", "LOCAL -> REMOTE",
			 watched ? " SENT Mb/s " : "", "W BYTES", "R Mbit/s", "U", "HOPS", "QUEUE us", "FB", "N", "WHY",
			 "STATE");
		return;
	}
	f = &row->flow;
	flow_format(&row->key, ends);
	if (f->fallback.swift && f->delay.sample_ns)
		snprintf(by, sizeof(by), ", swift: delay %u us", f->delay.sample_ns / 1000);
	else if (f->rx.form != RX_HOPS)
		snprintf(by, sizeof(by), ", told by %s", feedback_name(f->rx.form));
	if (f->rx.flows)
		snprintf(n, sizeof(n), "%u", f->rx.flows);
	if (watched)
		snprintf(sent, sizeof(sent), "%10.3f ", row->sent_bps / 1e6);
	snprintf(buf, size, "%-48s %s%10llu %12.3f %6.3f %5u %10llu %8llu %5s %-6s  %s%s%s%s", ends, sent,
		 q12_to_bytes(f->cc.w), f->cc.rate_bps / 1e6, (double)f->cc.u / Q24_ONE, f->cc.hops ?: f->rx.told_hops,
		 flow_queue_ns(f) / 1000, f->rx.feedbacks, n, row_why(row, l), flow_state_names[flow_state(f, &l->ctl)],
		 f->params.variant ? ", " : "", f->params.variant ? variant_name(f->params.variant) : "", by);
}

/* --- stats --- */

int cmd_stats(int argc, char **argv)
{
	__u64 stats[STAT_MAX];
	struct json_object *o;
	char left[64];
	struct pins p;
	int err, i, all;

	all = argc == 2 && !strcmp(argv[1], "--all");
	if (argc > 1 && !all) {
		msg("stats takes only --all (also the counters that are 0)");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	err = pins_stats(&p, stats);
	pins_close(&p);
	if (err) {
		msg("reading the counters: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (show_options.json) {
		o = json_object_new_object();
		for (i = 0; i < STAT_MAX; i++)
			add_u64(o, stat_names[i], stats[i]);
		return show_json(o);
	}
	for (i = 0; i < STAT_MAX; i++) {
		if (!stats[i] && !all)
			continue;
		snprintf(left, sizeof(left), "%-18s %14llu  ", stat_names[i], stats[i]);
		line_print(left, stat_help[i]);
	}
	return EXIT_DONE;
}

/* --- bypass --- */

int cmd_bypass(int argc, char **argv)
{
	__u32 was, now;
	struct pins p;
	int err;

	if (argc != 2 || (strcmp(argv[1], "on") && strcmp(argv[1], "off"))) {
		msg("usage: sluicectl bypass on|off");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	was = p.ctl->bypass;
	now = !strcmp(argv[1], "on");
	if (was && !now)
		p.ctl->doubt_ns = now_ns();
	p.ctl->bypass = now;
	pins_close(&p);
	if (show_options.json) {
		struct json_object *o = json_object_new_object();

		add_bool(o, "bypass", now);
		add_bool(o, "was", was);
		return show_json(o);
	}
	printf("bypass: %s -> %s\n", was ? "on" : "off", argv[1]);
	return EXIT_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Checks of configuration values against each other, which the table of keys cannot express. */
#include <errno.h>
#include <string.h>
#include "lib/config/check.h"
#include "lib/config/devices.h"
#include "sluice/rack/hiercc.h"
#include "sluice/wire/wire.h"

#define CONFIG_PFC_MTU 1500
#define PPM 1000000

static int config_check_classes(struct tables *in, const struct config_interface *i)
{
	unsigned int n, others = 0;
	__u64 seen = 0, twice;
	__u32 sum = 0;
	int err = 0;

	if (i->classes_count && i->role != PORT_F_SWITCH) {
		err |= config_bad(
			in, &i->classes,
			"interfaces: %s: classes are for the role switch: what a host sends waits in its fq; leave them out",
			i->name);
	}
	if (i->classes_count && i->queue == CONFIG_QUEUE_SLUICE && i->voqs) {
		err |= config_bad(
			in, &i->voqs,
			"interfaces: %s: voqs need departure times, and with classes a packet leaves in the turn of its class: leave out voqs, or classes",
			i->name);
	}
	for (n = 0; n < i->classes_count; n++) {
		const struct config_class *c = &i->classes[n];

		sum += c->share_ppm;
		if (c->strict && i->queue != CONFIG_QUEUE_SLUICE) {
			err |= config_bad(
				in, &c->strict,
				"interfaces: %s: classes: strict is for queue: sluice: with other qdiscs the operator's decides; write queue: sluice, or leave strict out",
				i->name);
		}
		if (!c->dscp && others) {
			err |= config_bad(
				in, &c->dscp,
				"interfaces: %s: classes: %u and %u have no dscp: one class without takes all DSCPs that no other names; write dscp: [8] for example in the other",
				i->name, others, n + 1);
		}
		if (!c->dscp)
			others = n + 1;
		twice = seen & c->dscp;
		if (twice) {
			err |= config_bad(in, &c->dscp, "interfaces: %s: classes: dscp %u is named twice: leave one",
					  i->name, __builtin_ctzll(twice));
		}
		seen |= c->dscp;
	}
	if (sum > PPM) {
		err |= config_bad(in, &i->classes,
				  "interfaces: %s: classes: the shares sum to %.4g%%: write at most 100%%", i->name,
				  sum * 100. / PPM);
	}
	return err;
}

/* Checks what only the qdisc `sluice` does. */
static int config_check_queue(struct tables *in, const struct config_interface *i)
{
	int err = 0;

	if (i->rate_bps && i->queue != CONFIG_QUEUE_SLUICE) {
		err |= config_bad(
			in, &i->rate_bps,
			"interfaces: %s: rate is for queue: sluice, which enforces it: write queue: sluice, or speed in the place of rate if another qdisc does",
			i->name);
	}
	if (i->limit_bytes && !config_has_setup(i)) {
		err |= config_bad(
			in, &i->limit_bytes,
			"interfaces: %s: limit is for queue: sluice with a rate or classes: write them, or leave limit out",
			i->name);
	}
	if (i->rate_bps && i->speed_bps > i->rate_bps) {
		err |= config_bad(
			in, &i->speed_bps,
			"interfaces: %s: speed is more than rate, so its queue is not kept low: leave speed out, or write the rate",
			i->name);
	}
	return err;
}

/* Checks that a queue can grow beyond K. */
static int config_check_ecn(struct tables *in, const struct config_interface *i)
{
	__u64 limit_bytes = i->limit_bytes ?: CONFIG_LIMIT_BYTES;
	int err = 0;

	if (i->ecn_bytes && i->role == PORT_F_HOST) {
		err |= config_bad(
			in, &i->ecn_bytes,
			"interfaces: %s: ecn is for the role switch: what waits in a host's qdisc waits for its departure time; leave it out, or let fq mark: 'tc qdisc replace dev %s root fq ce_threshold 1ms'",
			i->name, i->name);
	}
	if (i->ecn_bytes && config_has_setup(i) && i->ecn_bytes >= limit_bytes) {
		err |= config_bad(
			in, &i->ecn_bytes,
			"interfaces: %s: ecn is not less than limit (%llu bytes), so the queue never gets that long: write less than that, or more for limit",
			i->name, limit_bytes);
	}
	return err;
}

/* Checks the keys that belong to one role, and the needs of a switch port. */
static int config_check_role(struct tables *in, const struct config_interface *i)
{
	int err = 0;

	if (i->role == PORT_F_SWITCH && !i->id) {
		err |= config_bad(
			in, &i->id,
			"interfaces: %s: a switch port needs an id that no other switch has: write one from 1 to %u",
			i->name, WIRE_PATH_MASK);
	}
	if (i->role == PORT_F_SWITCH && i->xdp != CONFIG_XDP_AUTO && i->xdp != CONFIG_XDP_OFF) {
		err |= config_bad(
			in, &i->xdp,
			"interfaces: %s: xdp is for the role host: a switch port takes nothing off; leave it out",
			i->name);
	}
	if (i->role == PORT_F_HOST && i->pfc > CONFIG_PFC_OBEY) {
		err |= config_bad(
			in, &i->pfc,
			"interfaces: %s: pfc: %s is for the role switch: a host has no buffer that others fill; write obey or off",
			i->name, word_name(pfc_words, i->pfc));
	}
	if (i->role == PORT_F_HOST && i->voqs) {
		err |= config_bad(
			in, &i->voqs,
			"interfaces: %s: voqs is for the role switch: a host that is its own rack writes 'hiercc: {enabled: true}', one behind a switch 'hiercc: tor' for its peers",
			i->name);
	}
	return err | config_check_queue(in, i) | config_check_ecn(in, i) | config_check_classes(in, i);
}

/* fnmatch() takes a bracket without an end for the character itself. */
static int config_check_pattern(struct tables *in, const struct config_interface *i)
{
	const char *open = strchr(i->name, '[');

	if (!open || strchr(open, ']'))
		return 0;
	return config_bad(in, &i->name, "interfaces: %s: the bracket has no end: write for example swp[1-4]", i->name);
}

static int config_check_interface(struct tables *in, const struct config *c, unsigned int n)
{
	const struct config_interface *i = &c->entries[n];
	unsigned int k;
	int err = 0;

	for (k = 0; k < n; k++) {
		const struct config_interface *other = &c->entries[k];

		if (strcmp(i->name, other->name))
			continue;
		if (strcmp(i->configured, other->configured))
			err |= config_bad(in, &i->name, "interfaces: %s and %s are names of the same device: leave one",
					  i->configured, other->configured);
		else
			err |= config_bad(in, &i->name, "interfaces: %s is named twice: leave one", i->configured);
	}
	return err | config_check_pattern(in, i) | config_check_role(in, i);
}

static int config_check_peer(struct tables *in, const struct config *c, unsigned int n)
{
	const struct config_peer *p = &c->peers[n];
	unsigned int k;
	int err = 0;

	if (!p->hpcc && !p->hiercc) {
		err |= config_bad(
			in, &p->hpcc,
			"peers: %s: neither hpcc nor hiercc: nothing would govern what is sent there; write one of them as true, or leave the prefix out",
			p->prefix);
	}
	if (p->telemetry == TELEMETRY_COMPANION && p->encoding == ENCODING_INT_MD) {
		err |= config_bad(
			in, &p->telemetry,
			"peers: %s: telemetry 'companion' and encoding 'int-md': that travels in packets of data, and they leave as they are; write telemetry: every, or no int-md",
			p->prefix);
	}
	for (k = 0; k < n; k++) {
		if (!memcmp(&p->key, &c->peers[k].key, sizeof(p->key))) {
			err |= config_bad(in, &p->key, "peers: %s is named twice: leave one", p->prefix);
		}
	}
	return err;
}

static int config_check_node(struct tables *in, const struct config *c)
{
	const struct config_interface *e = config_entry_of(c, c->node.uplink);
	int err = 0;

	if (!e || e->role != PORT_F_HOST) {
		err |= config_bad(
			in, &c->node.uplink,
			"node: uplink '%s' is not one of the interfaces with role host: write the one that leads to the network",
			c->node.uplink);
	}
	if (!c->node.id) {
		err |= config_bad(in, &c->node.id,
				  "node: id 0: write one from 1 to %u, different from that of other nodes and switches",
				  WIRE_PATH_MASK);
	}
	return err;
}

static int config_check_metrics(struct tables *in, const struct config *c)
{
	int err = 0;

	if (c->metrics.pods && !c->node.uplink)
		err |= config_bad(
			in, &c->metrics.pods,
			"metrics: pods needs the section node, by which pods are found: write that, or leave pods away");
	if (c->metrics.bundles && c->metrics.bundles[0] != '/')
		err |= config_bad(in, &c->metrics.bundles,
				  "metrics: bundles '%s' is not an absolute path: write for example %s",
				  c->metrics.bundles, "/run/containerd/io.containerd.runtime.v2.task/k8s.io");
	return err;
}

static int config_check_pin_dir(struct tables *in, const struct config *c)
{
	if (!strncmp(c->pin_dir, "/sys/fs/bpf/", 12) && c->pin_dir[12] && !strstr(c->pin_dir, ".."))
		return 0;
	return config_bad(in, &c->pin_dir, "pin_dir '%s' is not below /sys/fs/bpf: write for example %s", c->pin_dir,
			  SLUICE_PIN_DIR);
}

/*
 * INT-MD is in the data, a receiver that computes needs telemetry in the data, and HierCC handles bursts and lost
 * credit better if each packet carries S.
 */
static void config_choose_telemetry(struct config_peer *p)
{
	int in_data = p->encoding == ENCODING_INT_MD || p->feedback != RX_HOPS || p->hiercc;

	if (p->telemetry == CONFIG_TELEMETRY_AUTO)
		p->telemetry = in_data ? TELEMETRY_EVERY : TELEMETRY_COMPANION;
}

/* HierCC: the times of a round of credit. */
static int config_check_rounds(struct tables *in, const struct config *c)
{
	char text[UNITS_STRLEN];
	unsigned int k;
	int err = 0;

	for (k = 0; k < c->peers_count; k++) {
		const struct config_peer *p = &c->peers[k];

		if (!p->hiercc)
			continue;
		if (config_round_ns(c, p) >= HIERCC_NS_MAX) {
			err |= config_bad(
				in, &p->base_rtt_ns,
				"peers: %s: base_rtt '%s' is too long for hiercc: with the period of %llu us it has to be below 67ms; write hiercc: false",
				p->prefix, units_time_format(p->base_rtt_ns, text), config_period_ns(c) / 1000);
		}
		if (c->limit_ns && c->limit_ns < CONFIG_LIMIT_ROUNDS_MIN * config_round_ns(c, p)) {
			err |= config_bad(
				in, &c->limit_ns,
				"hiercc: limit '%s' is less than four rounds of credit of %s, each its base_rtt and a period of %llu us: write %llu us or more, or leave it out",
				units_time_format(c->limit_ns, text), p->prefix, config_period_ns(c) / 1000,
				CONFIG_LIMIT_ROUNDS_MIN * config_round_ns(c, p) / 1000 + 1);
		}
	}
	return err;
}

/* The thresholds of a VOQ that are configured, in their order. The others follow from the BDP (hiercc_hop_tune()). */
static int config_check_voq(struct tables *in, const struct config *c)
{
	const struct hiercc_tuning *t = &c->voq;
	char q0[UNITS_STRLEN], low[UNITS_STRLEN], high[UNITS_STRLEN];
	int err = 0;

	units_bytes_format(t->q0, q0);
	units_bytes_format(t->v_low, low);
	units_bytes_format(t->v_high, high);
	if (t->v_low && t->q0 > t->v_low) {
		err |= config_bad(in, &t->v_low, "hiercc: v_low '%s' is less than q0, %s: write at least that", low,
				  q0);
	}
	if (t->v_high && t->v_low >= t->v_high) {
		err |= config_bad(in, &t->v_high, "hiercc: v_high '%s' is not more than v_low, %s: write more", high,
				  low);
	}
	if (t->v_high && t->q0 >= t->v_high) {
		err |= config_bad(in, &t->v_high, "hiercc: v_high '%s' is not more than q0, %s: write more", high, q0);
	}
	if (c->c0_bytes && t->delta && c->c0_bytes < 2ULL * t->delta) {
		err |= config_bad(
			in, &c->c0_bytes,
			"hiercc: c0 is less than two credits of %u bytes (delta): write more, or a smaller delta",
			t->delta);
	}
	return err;
}

/* A switch as a ToR. */
static int config_check_tor(struct tables *in, const struct config *c)
{
	const struct config_interface *tor = NULL;
	unsigned int k, hosts = 0;
	int err = 0;

	for (k = 0; k < c->entries_count; k++) {
		if (c->entries[k].voqs)
			tor = &c->entries[k];
		hosts += c->entries[k].role == PORT_F_HOST;
	}
	if (!tor)
		return 0;
	if (!config_hiercc(c)) {
		return config_bad(
			in, &tor->voqs,
			"interfaces: %s: voqs needs peers by whose base_rtt they are made: write 'hiercc: {enabled: true}' and the prefixes of all racks under peers, with their base_rtt",
			tor->name);
	}
	for (k = 0; k < c->peers_count; k++) {
		if (c->peers[k].hiercc == VOQS_TOR) {
			err |= config_bad(in, &c->peers[k].hiercc,
					  "peers: %s: hiercc: tor is for the hosts behind this switch: write true here",
					  c->peers[k].prefix);
		}
		if (c->peers[k].hiercc && c->peers[k].rtt_auto && !hosts) {
			err |= config_bad(
				in, &c->peers[k].base_rtt_ns,
				"peers: %s: base_rtt: auto: a switch measures no round trips: write that between the racks, as 'sluicectl status' of a host behind it has it",
				c->peers[k].prefix);
		}
	}
	if (!c->tor) {
		err |= config_bad(
			in, &tor->voqs,
			"interfaces: %s: voqs needs the number of this rack: write 'hiercc: {enabled: true, id: 1}' with one that no other rack has",
			tor->name);
	}
	return err;
}

static unsigned int pfc_ports(const struct config *c)
{
	unsigned int k, n = 0;

	for (k = 0; k < c->interfaces_count; k++)
		n += c->interfaces[k].pfc != CONFIG_PFC_OFF;
	return n;
}

/* Whether any entry, also one whose device is not there, pauses its neighbour. */
static int pfc_pauses(const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->entries_count && c->entries[k].pfc < CONFIG_PFC_PAUSE; k++)
		;
	return k < c->entries_count;
}

/* The buffer has to have room for more than the bytes that arrive after XOFF. */
static int config_check_buffer(struct tables *in, const struct config *c)
{
	unsigned int k, priorities = __builtin_popcount(c->lossless);
	__u64 headroom = 0, most;
	char text[UNITS_STRLEN];
	int xoff;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].pfc >= CONFIG_PFC_PAUSE)
			headroom += priorities * config_headroom(c, c->interfaces[k].speed_bps, CONFIG_PFC_MTU);
	if (headroom >= c->buffer_bytes) {
		return config_bad(
			in, &c->buffer_bytes,
			"pfc: buffer '%s' is no more than the headroom of its ports, %llu bytes, for what comes in by them after XOFF: write more, fewer priorities (lossless), or a shorter delay",
			units_bytes_format(c->buffer_bytes, text), headroom);
	}
	most = c->buffer_bytes - headroom;
	xoff = c->xoff_bytes >= most;
	if (xoff || c->k_max_bytes >= most) {
		return config_bad(
			in, xoff ? &c->xoff_bytes : &c->k_max_bytes,
			"pfc: %s '%s' is not less than what the headroom leaves of the buffer, %llu bytes: it would never be reached; write less",
			xoff ? "xoff" : "k_max", units_bytes_format(xoff ? c->xoff_bytes : c->k_max_bytes, text), most);
	}
	return 0;
}

static int config_check_pfc(struct tables *in, const struct config *c)
{
	if (pfc_ports(c) > CONFIG_PFC_PORTS) {
		return config_bad(in, &c->entries, "interfaces: more than %u have pfc: leave it out at some",
				  CONFIG_PFC_PORTS);
	}
	if (!pfc_pauses(c))
		return 0;
	if (!c->buffer_bytes) {
		return config_bad(
			in, &c->buffer_bytes,
			"pfc: buffer is missing: write what the egress queues of the ports with pfc hold together before they drop, for example the sum of their limits: 'pfc: {buffer: 500KB}'");
	}
	return config_check_buffer(in, c);
}

/* Checks each interface and each peer, and both against each other. */
static int config_check_lists(struct tables *in, struct config *c)
{
	unsigned int i, hosts = 0, sending = 0, classes = 0;
	int err = 0;

	for (i = 0; i < c->entries_count; i++) {
		err |= config_check_interface(in, c, i);
		hosts += c->entries[i].role == PORT_F_HOST;
		sending += c->entries[i].role == PORT_F_HOST && c->entries[i].pfc == CONFIG_PFC_OFF;
	}
	for (i = 0; i < c->interfaces_count; i++)
		classes += !!c->interfaces[i].classes_count;
	for (i = 0; i < c->peers_count; i++) {
		config_choose_telemetry(&c->peers[i]);
		config_rtt_begin(&c->peers[i]);
		err |= config_check_peer(in, c, i);
	}
	if (classes > CONFIG_CLASS_PORTS)
		err |= config_bad(in, &c->entries,
				  "interfaces: %u have classes, and there is room for %u: leave them out at some",
				  classes, CONFIG_CLASS_PORTS);
	err |= config_check_rounds(in, c) | config_check_voq(in, c) | config_check_pfc(in, c);
	/* A port that only obeys pauses needs no peer. */
	if (sending && !c->peers_count)
		err |= config_bad(
			in, &c->entries,
			"a host interface needs peers: name the prefixes to which telemetry may be sent, or write 'pfc: obey' if it does no more than that");
	err |= config_check_tor(in, c);
	if ((hosts && c->peers_count) || config_is_tor(c))
		return err | config_check_auth(in, c);
	return err;
}

int config_check(struct tables *in, struct config *c)
{
	int err = config_check_pin_dir(in, c) | config_check_lists(in, c) | config_check_metrics(in, c);

	if (c->node.uplink)
		err |= config_check_node(in, c);
	if (!err && c->tcp.make_default && !c->tcp.name) {
		c->tcp.name = strdup("sluice");
		err = c->tcp.name ? 0 : -ENOMEM;
	}
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Checks of configuration values against each other, which the table of keys cannot express. */
#include <errno.h>
#include <string.h>
#include "lib/config/check.h"
#include "sluice/wire/wire.h"

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

static int config_check_interface(struct tables *in, const struct config *c, unsigned int n)
{
	const struct config_interface *i = &c->interfaces[n];
	unsigned int k;
	int err = 0;

	for (k = 0; k < n; k++) {
		const struct config_interface *other = &c->interfaces[k];

		if (strcmp(i->name, other->name))
			continue;
		if (strcmp(i->configured, other->configured))
			err |= config_bad(in, &i->name, "interfaces: %s and %s are names of the same device: leave one",
					  i->configured, other->configured);
		else
			err |= config_bad(in, &i->name, "interfaces: %s is named twice: leave one", i->configured);
	}
	return err | config_check_role(in, i);
}

static int config_check_peer(struct tables *in, const struct config *c, unsigned int n)
{
	const struct config_peer *p = &c->peers[n];
	char target[UNITS_STRLEN], rtt[UNITS_STRLEN];
	unsigned int k;
	int err = 0;

	if (c->target_ns && c->target_ns <= p->base_rtt_ns) {
		err |= config_bad(
			in, &c->target_ns,
			"swift: target '%s' is not more than the base_rtt of %s, %s: no queue at all would be above it; leave it out, or write a time above every base_rtt",
			units_time_format(c->target_ns, target), p->prefix, units_time_format(p->base_rtt_ns, rtt));
	}
	if (!p->hpcc && !p->hiercc) {
		err |= config_bad(
			in, &p->hpcc,
			"peers: %s: neither hpcc nor hiercc: nothing would govern what is sent there; write one of them as true, or leave the prefix out",
			p->prefix);
	}
	if (p->telemetry == TELEMETRY_COMPANION && p->encoding == ENCODING_INT_MD) {
		err |= config_bad(
			in, &p->telemetry,
			"peers: %s: telemetry 'companion' and encoding 'int-md': that travels in packets of data, and they leave as they are; write another telemetry, or no int-md",
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
	unsigned int i;
	int err = 0;

	for (i = 0; i < c->interfaces_count && !config_is_uplink(c, c->interfaces[i].name); i++)
		;
	if (i == c->interfaces_count || c->interfaces[i].role != PORT_F_HOST) {
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

/* Checks each interface and each peer, and both against each other. */
static int config_check_lists(struct tables *in, struct config *c)
{
	unsigned int i, hosts = 0, sending = 0, classes = 0;
	int err = 0;

	for (i = 0; i < c->interfaces_count; i++) {
		err |= config_check_interface(in, c, i);
		hosts += c->interfaces[i].role == PORT_F_HOST;
		classes += !!c->interfaces[i].classes_count;
		sending += c->interfaces[i].role == PORT_F_HOST && c->interfaces[i].pfc == CONFIG_PFC_OFF;
	}
	for (i = 0; i < c->peers_count; i++) {
		config_choose_telemetry(&c->peers[i]);
		config_rtt_begin(&c->peers[i]);
		err |= config_check_peer(in, c, i);
	}
	if (classes > CONFIG_CLASS_PORTS)
		err |= config_bad(in, &c->interfaces,
				  "interfaces: %u have classes, and there is room for %u: leave them out at some",
				  classes, CONFIG_CLASS_PORTS);
	err |= config_check_rounds(in, c) | config_check_voq(in, c) | config_check_pfc(in, c);
	/* A port that only obeys pauses needs no peer. */
	if (sending && !c->peers_count)
		err |= config_bad(
			in, &c->interfaces,
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

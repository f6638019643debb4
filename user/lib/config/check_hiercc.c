// SPDX-License-Identifier: GPL-2.0-only
/* HierCC: checks the times of a round of credit, and a switch as a ToR. */
#include <errno.h>
#include "lib/config/check.h"
#include "sluice/rack/hiercc.h"

int config_check_rounds(struct tables *in, const struct config *c)
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

/* Checks the configured values, in their order. The others follow from the BDP (hiercc_hop_tune()). */
int config_check_voq(struct tables *in, const struct config *c)
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

int config_check_tor(struct tables *in, const struct config *c)
{
	const struct config_interface *tor = NULL;
	unsigned int k, hosts = 0;
	int err = 0;

	for (k = 0; k < c->interfaces_count; k++) {
		if (c->interfaces[k].voqs)
			tor = &c->interfaces[k];
		hosts += c->interfaces[k].role == PORT_F_HOST;
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

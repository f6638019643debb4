// SPDX-License-Identifier: GPL-2.0-only
/* Pauses: checks that the buffer has room for its ports. */
#include <errno.h>
#include "lib/config/check.h"

#define CONFIG_PFC_MTU 1500

/* The number of interfaces that do at least this with pauses. */
static unsigned int pfc_count(const struct config *c, enum config_pfc least)
{
	unsigned int k, n = 0;

	for (k = 0; k < c->interfaces_count; k++)
		n += c->interfaces[k].pfc >= least;
	return n;
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

int config_check_pfc(struct tables *in, const struct config *c)
{
	if (pfc_count(c, CONFIG_PFC_OBEY) >= PFC_SLOTS) {
		return config_bad(in, &c->interfaces, "interfaces: more than %u have pfc: leave it out at some",
				  PFC_SLOTS - 1);
	}
	if (!pfc_count(c, CONFIG_PFC_PAUSE))
		return 0;
	if (!c->buffer_bytes) {
		return config_bad(
			in, &c->buffer_bytes,
			"pfc: buffer is missing: write what the egress queues of the ports with pfc hold together before they drop, for example the sum of their limits: 'pfc: {buffer: 500KB}'");
	}
	return config_check_buffer(in, c);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hops as telemetry tells them. A speed that is not in the table of telemetry.h is told as the next one that is, with
 * bytes scaled alike: times and shares are exact, speeds and bytes are not. The real speed of a port of this machine is
 * in the ports map; of a port elsewhere the told speed is an upper bound.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include "ctl/hop.h"
#include "ctl/why.h"
#include "sluice/wire/telemetry.h"

double hop_own(const struct pins *p, struct flow *f)
{
	struct hpcc_hop *h = &f->cc.last[0];
	struct port port;
	double ratio;

	if (!f->cc.hops || bpf_map_lookup_elem(p->ports, &f->path.ifindex, &port) || !(port.flags & PORT_F_STAMP) ||
	    port.flags & PORT_F_NO_QUEUE || !port.speed_bps ||
	    telem_speed_mbps(telem_speed_fit(port.speed_bps).code) * 1000000ULL != h->bps)
		return 0;
	ratio = (double)port.speed_bps / h->bps;
	h->bps = port.speed_bps;
	h->qlen_bytes *= ratio;
	return ratio;
}

const char *hop_speed_text(__u64 bps, int own, char *buf)
{
	snprintf(buf, HOP_STRLEN, own ? "%.0f Mbit/s" : "up to %.0f Mbit/s", bps / 1e6);
	return buf;
}

/* --- hops of why --- */

unsigned int why_hops(const struct flow *f)
{
	return f->cc.hops < HPCC_MAX_HOPS ? f->cc.hops : HPCC_MAX_HOPS;
}

double hop_busy(const struct why *w, unsigned int i)
{
	return w->hop_ns[i] ? w->hop_bytes[i] * 8e9 / w->hop_ns[i] / w->flow.cc.last[i].bps : -1;
}

const char *hop_busy_text(const struct why *w, unsigned int i, char *buf)
{
	double busy = hop_busy(w, i);

	if (busy < 0)
		snprintf(buf, HOP_STRLEN, "was not seen twice");
	else if (w->own && !i)
		snprintf(buf, HOP_STRLEN, "sends %.1f Mbit/s (%.0f %%)", busy * w->flow.cc.last[i].bps / 1e6,
			 busy * 100);
	else
		snprintf(buf, HOP_STRLEN, "is %.0f %% busy", busy * 100);
	return buf;
}

int hop_is_shaped(const struct why *w, unsigned int i)
{
	double busy = hop_busy(w, i);

	return busy >= 0 && busy < .5 && w->hop_queued[i] * 2 > w->looks;
}

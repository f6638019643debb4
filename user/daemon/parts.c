// SPDX-License-Identifier: GPL-2.0-only
/* Opens and closes the parts, and runs their work once a second. */
#include <string.h>
#include "daemon/parts.h"

int parts_open(struct parts *p, const struct dataplane *dp, const struct config *c)
{
	struct dataplane_maps maps;
	int err;

	dataplane_maps(dp, &maps);
	p->pins = dataplane_pins(dp);
	p->config = c;
	err = messages_open(p->pins->domains, &p->messages);
	if (!err)
		err = reports_open(maps.reports, p->messages, &p->reports);
	if (!err)
		err = credits_open(p->pins, maps.arrival_news, p->messages, &p->credits);
	if (!err)
		err = tor_open(maps.rate_asks, p->messages, &p->tor);
	if (!err)
		err = ppfc_open(p->pins, maps.pfc_alarms, &p->ppfc);
	if (!err)
		err = rtts_open(&p->rtts);
	if (err)
		msg("the rings of reports, news, asks and alarms: %s", strerror(-err));
	p->age = (struct age){ .pins = p->pins,
			       .rx_states = maps.rx_states,
			       .flow_paths = maps.flow_paths,
			       .flows_room = maps.flows_room,
			       .credits = p->credits,
			       .ppfc = p->ppfc,
			       .rtts = p->rtts };
	return err;
}

void parts_reload(struct parts *p, const struct dataplane *dp, const struct config *c)
{
	struct dataplane_maps maps;

	dataplane_maps(dp, &maps);
	p->config = c;
	p->age.flows_room = maps.flows_room;
}

void parts_close(struct parts *p)
{
	ppfc_close(p->ppfc); /* first: bypass and a detach would not release its pauses */
	credits_close(p->credits);
	tor_close(p->tor);
	reports_close(p->reports);
	messages_close(p->messages);
	rtts_close(p->rtts);
	*p = (struct parts){};
}

void parts_tick(struct parts *p, __u64 now_ns)
{
	credits_tick(p->credits);
	tor_tick(p->tor);
	ppfc_tick(p->ppfc);
	age_tick(&p->age, p->config, now_ns);
}

void parts_report_to(struct parts *p, const struct watcher *w)
{
	p->age.watcher = w;
	credits_watch(p->credits, w);
	ppfc_watch(p->ppfc, w);
}

/* --- callbacks of the loop --- */

static void parts_reports(void *ctx)
{
	struct parts *p = ctx;

	reports_read(p->reports, p->config, p->pins->ctl->seq_base_ns);
}

static void parts_credits(void *ctx)
{
	struct parts *p = ctx;

	credits_run(p->credits);
}

static void parts_tor(void *ctx)
{
	struct parts *p = ctx;

	tor_run(p->tor, p->config, p->pins->ctl->seq_base_ns);
}

static void parts_ppfc(void *ctx)
{
	struct parts *p = ctx;

	ppfc_run(p->ppfc);
}

int parts_watch(struct parts *p, struct loop *loop)
{
	return loop_add(loop, reports_fd(p->reports), parts_reports, p)		?:
		       loop_add(loop, credits_fd(p->credits), parts_credits, p) ?:
		       loop_add(loop, tor_fd(p->tor), parts_tor, p)		?:
		       loop_add(loop, ppfc_fd(p->ppfc), parts_ppfc, p);
}

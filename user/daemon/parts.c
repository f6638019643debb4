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

static int parts_reports(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct parts *p = ctx;

	(void)s;
	(void)fd;
	(void)events;
	reports_read(p->reports, p->config, p->pins->ctl->seq_base_ns);
	return 0;
}

static int parts_credits(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct parts *p = ctx;

	(void)s;
	(void)fd;
	(void)events;
	credits_run(p->credits);
	return 0;
}

static int parts_tor(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct parts *p = ctx;

	(void)s;
	(void)fd;
	(void)events;
	tor_run(p->tor, p->config, p->pins->ctl->seq_base_ns);
	return 0;
}

static int parts_ppfc(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct parts *p = ctx;

	(void)s;
	(void)fd;
	(void)events;
	ppfc_run(p->ppfc);
	return 0;
}

int parts_watch(struct parts *p, sd_event *loop)
{
	return sd_event_add_io(loop, NULL, reports_fd(p->reports), EPOLLIN, parts_reports, p)	      ?:
		       sd_event_add_io(loop, NULL, credits_fd(p->credits), EPOLLIN, parts_credits, p) ?:
		       sd_event_add_io(loop, NULL, tor_fd(p->tor), EPOLLIN, parts_tor, p)	      ?:
		       sd_event_add_io(loop, NULL, ppfc_fd(p->ppfc), EPOLLIN, parts_ppfc, p);
}

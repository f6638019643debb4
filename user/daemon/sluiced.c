// SPDX-License-Identifier: GPL-2.0-only
/*
 * The daemon: loads and attaches the data plane, then waits in one event loop for signals, changes of
 * links and qdiscs, feedback without packets going back, VOQs that want credit, hosts that ask for R, queues that get
 * long, the end of leaving peers and ports, and a timer of one second. Packets do not need it: when it dies, HPCC
 * continues in the kernel, and the next daemon adopts the pins.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include "attach/dataplane.h"
#include "daemon/metrics.h"
#include "daemon/options.h"
#include "daemon/parts.h"
#include "daemon/recorder.h"
#include "lib/config.h"
#include "lib/knobs.h"
#include "lib/net.h"

#define SECOND_USEC 1000000

struct daemon {
	const char *config_path;
	struct config *config;
	struct dataplane *dp;
	struct parts parts;
	struct metrics *metrics;
	struct recorder recorder;
	int qdiscs_changed; /* since the last tick */
	sd_event *loop;
	int net_fd;
	int watchdog;	     /* the service manager expects keepalives */
	struct control told; /* as last reported: the knobs of sluicectl set, and bypass */
};

/* Reports the current state to the service manager, if there is one: event in front, whatever its cause. */
static void daemon_tell(struct daemon *d, const char *event)
{
	const struct control *ctl = dataplane_pins(d->dp)->ctl;

	d->told = *ctl;
	sd_notifyf(0, "%sSTATUS=%u interface%s, mode %s%s", event, d->config->interfaces_count,
		   PLURAL(d->config->interfaces_count), mode_name(ctl->mode), ctl->bypass ? ", bypass on" : "");
}

/* Measures the round trips of the prefixes of c. */
static void daemon_rtts(struct daemon *d, const struct config *c)
{
	int err = rtts_apply(d->parts.rtts, c);

	if (err)
		msg("the prefixes whose round trips are measured: %s", strerror(-err));
}

/* A new configuration is applied completely or not at all. */
static void daemon_reload_config(struct daemon *d)
{
	struct config *c;
	int err;

	recorder_look(&d->recorder, d->config_path);
	if (config_load(d->config_path, &c)) {
		msg("keeping the current configuration");
		return;
	}
	if (strcmp(c->pin_dir, d->config->pin_dir) || c->port != d->config->port ||
	    strcmp(c->tcp.name ?: "", d->config->tcp.name ?: "")) {
		msg("%s: pin_dir, port and tcp: name change only with a restart: keeping the current configuration",
		    d->config_path);
		config_free(c);
		return;
	}
	if (dataplane_prepare(d->dp, c)) {
		msg("keeping the current configuration");
		config_free(c);
		return;
	}
	d->parts.age.limit.next_ns = 0; /* a message that was printed a moment ago is printed again */
	err = dataplane_reload(d->dp, c);
	daemon_rtts(d, c);
	credits_apply(d->parts.credits, c);
	dataplane_commit(d->dp, c);
	ppfc_apply(d->parts.ppfc, c);
	if (err)
		msg("reload: not everything could be applied; see above");
	else
		msg_info("reloaded %s", d->config_path);
	metrics_reload(d->metrics, c);
	recorder_commit(&d->recorder, dataplane_pins(d->dp), c);
	dataplane_keep(d->dp);
	config_free(d->config);
	d->config = c;
	parts_reload(&d->parts, d->dp, c);
}

/* Logs a changed knob, and whether it agrees with the configuration. */
static void knob_look(const struct daemon *d, const struct knob *k, const struct control *ctl)
{
	__u64 was = field_get(&d->told, &k->control), is = field_get(ctl, &k->control);
	const char *by = is == field_get(d->config, &k->config) ? "by the configuration" : "by sluicectl set";

	if (was == is)
		return;
	if (k->words)
		msg_info("%s %s -> %s, %s", k->name, word_name(k->words, was), word_name(k->words, is), by);
	else
		msg_info("%s %llu -> %llu us, %s", k->name, was / 1000, is / 1000, by);
}

/* Logs changes by the configuration, sluicectl set and bypass. Returns whether there were any. */
static int daemon_look(const struct daemon *d)
{
	const struct control *ctl = dataplane_pins(d->dp)->ctl, *told = &d->told;
	const struct knob *k;

	if (knobs_equal(ctl, told) && ctl->bypass == told->bypass)
		return 0;
	for (k = knobs; k->name; k++)
		knob_look(d, k, ctl);
	if (ctl->bypass != told->bypass)
		msg_info("bypass %s, by sluicectl bypass", ctl->bypass ? "off -> on" : "on -> off");
	return 1;
}

static void daemon_reload(struct daemon *d)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", now_ns() / 1000);
	daemon_reload_config(d);
	daemon_look(d);
	daemon_tell(d, "READY=1\n");
}

static void daemon_between(void *ctx)
{
	struct daemon *d = ctx;

	ppfc_run(d->parts.ppfc); /* its rounds do not wait for all interfaces */
}

static void daemon_follow(struct daemon *d)
{
	const struct between between = { daemon_between, d };

	if (dataplane_follow(d->dp, d->config, &between))
		ppfc_apply(d->parts.ppfc, d->config);
}

static void daemon_tick(struct daemon *d)
{
	__u64 now = now_ns();

	dataplane_beat(d->dp, d->config);
	if (d->qdiscs_changed || dataplane_is_touched(d->dp)) {
		d->qdiscs_changed = 0;
		daemon_follow(d);
	}
	dataplane_tick(d->dp, d->config);
	parts_tick(&d->parts, now);
	if (rtts_tick(d->parts.rtts, d->dp, d->config, now) && config_hiercc(d->config))
		credits_apply(d->parts.credits, d->config);
	if (daemon_look(d))
		daemon_tell(d, "");
	metrics_tick(d->metrics);
	recorder_tick(&d->recorder, dataplane_pins(d->dp), d->config, now);
	if (d->watchdog)
		sd_notify(0, "WATCHDOG=1");
}

/* --- callbacks of the loop --- */

static int daemon_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *ctx)
{
	(void)s;
	(void)si;
	daemon_reload(ctx);
	return 0;
}

/* The next second is one from when this one was noticed: none is made up for. */
static int daemon_second(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)usec;
	daemon_tick(ctx);
	return sd_event_source_set_time_relative(s, SECOND_USEC) ?: sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int daemon_changed(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	int changed = net_watch_read(fd);
	struct daemon *d = ctx;

	(void)s;
	(void)events;
	if (changed & NET_CHANGED_LINK)
		daemon_follow(d);
	if (changed & NET_CHANGED_ROUTE)
		dataplane_routes_changed(d->dp);
	if (changed & NET_CHANGED_QDISC)
		d->qdiscs_changed = 1;
	return 0;
}

static int daemon_linger(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct daemon *d = ctx;

	(void)s;
	(void)fd;
	(void)events;
	dataplane_linger(d->dp);
	return 0;
}

static int daemon_metrics(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct daemon *d = ctx;

	(void)s;
	(void)fd;
	(void)events;
	metrics_serve(d->metrics);
	return 0;
}

/* --- begin and end --- */

/* Blocks signals, watches links and qdiscs, and starts the tick of a second: before anything is changed. */
static int daemon_fds(struct daemon *d)
{
	int err = sd_event_new(&d->loop);

	if (err < 0)
		return err;
	d->net_fd = net_watch_open();
	if (d->net_fd < 0)
		return d->net_fd;
	return sd_event_add_signal(d->loop, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, daemon_hup, d)	  ?:
		       sd_event_add_signal(d->loop, NULL, SIGTERM | SD_EVENT_SIGNAL_PROCMASK, NULL, NULL) ?:
		       sd_event_add_signal(d->loop, NULL, SIGINT | SD_EVENT_SIGNAL_PROCMASK, NULL, NULL)  ?:
		       sd_event_add_io(d->loop, NULL, d->net_fd, EPOLLIN, daemon_changed, d)		  ?:
		       sd_event_add_time_relative(d->loop, NULL, CLOCK_MONOTONIC, SECOND_USEC, 1, daemon_second, d);
}

static void daemon_fds_close(struct daemon *d)
{
	sd_event_unref(d->loop);
	if (d->net_fd >= 0)
		close(d->net_fd);
}

/* Attaches everything. Returns EXIT_*; on an error everything is undone. */
static int daemon_open(struct daemon *d)
{
	int err = dataplane_load(d->config, &d->dp);

	if (err)
		return err;
	err = parts_open(&d->parts, d->dp, d->config) ?: dataplane_attach(d->dp, d->config);
	if (err) {
		parts_close(&d->parts);
		return dataplane_undo(d->dp, err);
	}
	daemon_rtts(d, d->config);
	credits_apply(d->parts.credits, d->config);
	dataplane_commit(d->dp, d->config);
	ppfc_apply(d->parts.ppfc, d->config);
	recorder_commit(&d->recorder, dataplane_pins(d->dp), d->config);
	dataplane_keep(d->dp);
	msg_info("ready: %u interface%s, mode %s, pins in %s", d->config->interfaces_count,
		 PLURAL(d->config->interfaces_count), mode_name(d->config->mode), d->config->pin_dir);
	d->watchdog = sd_watchdog_enabled(0, NULL) > 0;
	daemon_tell(d, "READY=1\n");
	return EXIT_DONE;
}

/* Adds the remaining events to the loop. 0, or -errno. */
static int daemon_watch(struct daemon *d)
{
	int err = parts_watch(&d->parts, d->loop);

	if (!err)
		err = sd_event_add_io(d->loop, NULL, dataplane_linger_fd(d->dp), EPOLLIN, daemon_linger, d);
	if (!err)
		err = metrics_open(d->parts.pins, d->config, &d->metrics);
	if (err)
		return err;
	parts_report_to(&d->parts, metrics_watcher(d->metrics));
	return sd_event_add_io(d->loop, NULL, metrics_fd(d->metrics), EPOLLIN, daemon_metrics, d);
}

/* Detaches everything. 0, or -EIO with a message. */
static int daemon_close(struct daemon *d)
{
	sd_notify(0, "STOPPING=1");
	parts_report_to(&d->parts, NULL);
	metrics_close(d->metrics);
	msg_info("detaching");
	parts_close(&d->parts);
	if (dataplane_detach(d->dp))
		return -EIO;
	msg_info("detached: the interfaces are as they were");
	return 0;
}

/* Returns EXIT_*. */
static int daemon_run(struct daemon *d)
{
	char caps[96];
	int err, left;

	if (*caps_missing(caps, sizeof(caps), CAPS_RUN)) {
		msg("it needs %s: run it as root, or give it these capabilities, as its unit does; nothing is left attached",
		    caps);
		return EXIT_FAILED;
	}
	err = daemon_fds(d);
	if (err) {
		msg("timers and sockets: %s: nothing was changed", strerror(-err));
		err = EXIT_FAILED;
		goto close_fds;
	}
	err = daemon_open(d);
	if (err)
		goto close_fds;
	err = daemon_watch(d) ?: sd_event_loop(d->loop);
	if (err)
		msg("waiting for events: %s", strerror(-err));
	left = daemon_close(d);
	err = err || left ? EXIT_FAILED : EXIT_DONE;
close_fds:
	daemon_fds_close(d);
	return err;
}

int main(int argc, char **argv)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct daemon d = { .net_fd = -1 };
	struct options o = {};
	int err;

	msg_init("sluiced");
	err = options_parse(argc, argv, &o);
	if (err >= 0)
		return err;
	memory_keep_private();
	/* Before Linux 5.11 maps are charged to this limit. */
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	if (o.detach)
		return dataplane_detach_dir(o.pin_dir ?: SLUICE_PIN_DIR);
	d.config_path = o.config_path;
	recorder_look(&d.recorder, d.config_path);
	if (config_load(d.config_path, &d.config))
		return EXIT_FAILED;
	if (o.check) {
		config_patterns_list(d.config, stdout);
		msg_info("%s: valid", d.config_path);
	}
	err = o.check ? EXIT_DONE : daemon_run(&d);
	config_free(d.config); /* wipes the keys */
	return err;
}

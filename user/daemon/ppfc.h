/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PPFC_LOOP_H
#define SLUICE_PPFC_LOOP_H
/* Pauses (sluice/pause/pfc.h, sluice/pause/ppfc.h): which ports have them, and what their neighbours are told. */
#include "lib/config.h"
#include "lib/net.h"
#include "lib/pins.h"

struct ppfc;

/* alarms_fd: the ring of queues that get long while the loop sleeps. 0, or -errno. */
int ppfc_open(const struct pins *pins, int alarms_fd, struct ppfc **ppfc);
/* Whom XOFF holds is let go. */
void ppfc_close(struct ppfc *p);

/*
 * The entry of an interface in pfc_ports, by its configuration, its link and its NIC, which is told what it has to do:
 * made, changed, or taken away. What was heard is kept, but for a link that is down. 0, or -errno with a message.
 */
int ppfc_port_set(const struct pins *pins, const struct config *c, const struct config_interface *i,
		  const struct link_info *link, const struct port *port);
/* Whether there was one. Its NIC does what it did before. */
int ppfc_port_forget(const struct pins *pins, __u32 ifindex);
/* Does the NIC obey pauses? */
int ppfc_port_by_nic(const struct pins *pins, __u32 ifindex);
/* Whether it says of the link what is so. */
int ppfc_port_follows(const struct pins *pins, __u32 ifindex, int up);

/* A configuration, or ports that changed; it stays the caller's and in use until the next. */
void ppfc_apply(struct ppfc *p, const struct config *config);

/*
 * To be waited for; then call ppfc_run(). While all queues are short nothing makes it ready. It may be called at
 * any time, and is within what takes long: nothing is done before its time.
 */
int ppfc_fd(const struct ppfc *p);
void ppfc_run(struct ppfc *p);

/* Once a second: says what the watchdog did, and reads what NICs did. */
void ppfc_tick(struct ppfc *p);

/* Who is told of pauses by prediction from now on; NULL: nobody. */
void ppfc_watch(struct ppfc *p, const struct watcher *w);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CLASSES_H
#define SLUICE_CLASSES_H
/* The classes of a port with several queues, for programs of user space. */
#include "lib/pins.h"
#include "sluice/queue/port.h"
#include "sluice/queue/queue.h"

/*
 * The classes of a port, and the queue of each: as the qdisc `sluice` counts it, or as the tracepoints see it, which do not
 * know what was dropped. The number of classes; 0: the port has none. seen: CLASSES_MAX
 */
unsigned int classes_get(const struct pins *p, const char *pin_dir, __u32 ifindex, struct port_classes *c,
			 struct class_seen *seen);
/* Those of a qdisc `sluice`. Their number; 0: it has none. seen: CLASSES_MAX */
unsigned int classes_of_queue(const char *pin_dir, const struct queue_seen *q, struct class_seen *seen);

#endif

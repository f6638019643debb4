/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SINK_H
#define SLUICE_SINK_H
/* Where messages go: a collector by UDP or TCP, or a file. Nothing here waits for a collector. */
#include <signal.h>
#include <sys/socket.h>
#include "lib/util.h"

#define SINK_QUEUE_MAX (4 << 20) /* bytes that wait for a collector by TCP */

enum sink_kind { SINK_UDP, SINK_TCP, SINK_FILE };
enum sink_state { SINK_CLOSED, SINK_CONNECTING, SINK_OPEN };

struct sink_message;

struct sink {
	enum sink_kind kind;
	enum sink_state state;
	const char *name; /* as it was given */
	const char *path; /* of a file */
	struct sockaddr_storage address;
	unsigned int address_bytes;
	int fd;
	__u64 again_ns, backoff_ns;	   /* the next try, and the pause before the one after it */
	unsigned int sessions;		   /* goes up with each connection or opening */
	struct sink_message *first, **end; /* TCP: the queue, the first one sent up to sent_bytes */
	size_t queued_bytes, sent_bytes;
	unsigned long long messages, records, lost; /* lost: records that did not get out */
	int err;				    /* the last failure; a message says it once */
};

/* "udp:192.0.2.7:4739", "tcp:[2001:db8::7]:4739", "file:/var/log/sluice.ipfix". 0, or -EINVAL with a message. */
int sink_parse(struct sink *s, const char *text);
/* Opens or connects if it is time to. Whether messages can be sent now. */
int sink_ready(struct sink *s);
/* Closes it, and has it opened at once however long it has failed. */
void sink_reopen(struct sink *s);
/* Bytes of the largest message. */
__u16 sink_message_max(const struct sink *s);
void sink_send(struct sink *s, const void *message, size_t bytes, unsigned int records);
/* Waits until a time or a signal of the mask, and serves the connection meanwhile. */
void sink_wait(struct sink *s, __u64 until_ns, const sigset_t *mask);
/* Closes it; records that still wait are lost. */
void sink_close(struct sink *s);

#endif

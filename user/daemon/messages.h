/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_MESSAGES_H
#define SLUICE_MESSAGES_H
/*
 * The daemon's own messages (FEEDBACK, CREDIT, RATE): a program cannot make a packet, so they are sent from here.
 * Their source is an address that packets went to, which on a node is a pod's: hence raw sockets with our own header.
 */
#include "lib/config.h"
#include "sluice/wire/wire.h"

/* Up to WIRE_REPORTS_MAX entries of WIRE_REPORT_BYTES: struct wire_report, wire_credit or wire_rate. */
struct message {
	enum wire_msg type;
	struct sluice_addr from, to;
	__u16 domain; /* of routing, in which both are */
	__be32 tor;   /* WIRE_CREDIT: the destination rack */
	const void *entries;
	unsigned int n;
};

/*
 * Writes the message from the shim on into buf of MESSAGE_MAX bytes. keys: n = 0 for none; seq: for authentication.
 * Returns its length.
 */
#define MESSAGE_MAX 1024
unsigned int message_write(const struct message *m, const struct auth_keys *keys, __u64 seq, void *buf);

struct messages;

/* domains: the map. 0, or -errno. */
int messages_open(int domains, struct messages **messages);
void messages_close(struct messages *messages);
/* seq_base_ns: of the control map. A message that cannot be sent is lost, and reported. */
void messages_send(struct messages *messages, const struct message *m, const struct config *c, __u64 seq_base_ns);

#endif

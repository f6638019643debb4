/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ENCODER_H
#define SLUICE_ENCODER_H
/* Records as messages of IPFIX (RFC 7011), by libfixbuf. Its errors are bugs of ours: they are said, and end the program. */
#include "ipfix/marks.h"

#define ENCODER_PEN 32473	  /* for documentation (RFC 5612): Sluice has no number of its own */
#define ENCODER_PEN_REVERSE 29305 /* of reverse elements (RFC 5103) */

struct encoder;

/* Takes a message; records: the number of data records in it, without those that describe elements. */
typedef void encoder_send(void *ctx, const void *message, size_t bytes, unsigned int records);

struct encoder *encoder_new(__u32 domain, __u32 pen, encoder_send *send, void *ctx);
/* Begins a session: the next message is its first one. most: bytes of a message. */
void encoder_begin(struct encoder *e, __u16 most);
/* Templates, and what the elements of the enterprise are (RFC 5610). */
void encoder_templates(struct encoder *e);
/* real_ns: CLOCK_REALTIME less CLOCK_MONOTONIC. */
void encoder_flow(struct encoder *e, const struct flow_mark *f, const struct marks *m, const struct control *ctl,
		  __u64 real_ns);
void encoder_port(struct encoder *e, const struct port_mark *p, const struct marks *m, __u64 real_ns);
/* Sends what waits for a message to fill. */
void encoder_flush(struct encoder *e);
void encoder_free(struct encoder *e);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_VOQ_CLOCK_H
#define SLUICE_VOQ_CLOCK_H
/*
 * When the bytes that wait in a VOQ have credit.
 *
 * HierCC names a time for each packet that enters a VOQ (hiercc_send()): when credit for all bytes up to its last is
 * expected. Credit belongs to the VOQ and not to the packet. So the queue remembers when how many bytes have credit, and
 * chooses only when a packet leaves whose packet it is: a short flow need not wait behind packets of a long one.
 *
 * Times and bytes are kept as up to VOQ_SPANS spans, in each of which credit comes at an even rate. While the order of
 * packets is that in which they came, and the rate of credit is even, each packet leaves exactly at its time. With more
 * changes of the rate than spans the last span takes them all together: its end stays exact.
 */
#include "sluice/types.h"

#define VOQ_SPANS 4

/* Bytes whose credit comes at an even rate from from_ns to to_ns. */
struct voq_span {
	__u64 from_ns, to_ns; /* CLOCK_MONOTONIC; from_ns <= to_ns */
	__u64 bytes;
};

/* All zero: nothing waits. */
struct voq_clock {
	struct voq_span span[VOQ_SPANS]; /* in the order of time, without gaps in between; unused ones are 0 */
	__u64 n;			 /* spans in use */
};

/* How much the rates of two spans may differ to be one: a quarter of the time of the later one. */
#define VOQ_SPAN_SLACK 4

/* Whether bytes that have credit at to_ns continue the span. */
static inline int voq_span_continues(const struct voq_span *s, __u64 to_ns, __u64 bytes)
{
	__u64 took = to_ns - s->to_ns, had = s->to_ns - s->from_ns, expected;

	if (!took || !had)
		return took == had;
	/* Times of up to 10 s, and 2^27 bytes. */
	expected = had / 1024 * bytes / (s->bytes ? s->bytes : 1) * 1024;
	return took <= expected + expected / VOQ_SPAN_SLACK && took >= expected - expected / VOQ_SPAN_SLACK;
}

/*
 * A packet of bytes enters; at_ns: when the bytes up to its last have credit. If that is earlier than was expected for
 * bytes that wait, credit comes faster than it did then, and they have theirs by that time, too.
 */
static inline void voq_clock_add(struct voq_clock *c, __u64 at_ns, __u64 bytes)
{
	struct voq_span *s;
	__u64 last_ns = 0;
	int i;

	for (i = 0; i < VOQ_SPANS; i++) {
		s = &c->span[i];
		s->from_ns = s->from_ns < at_ns ? s->from_ns : at_ns;
		s->to_ns = s->to_ns < at_ns ? s->to_ns : at_ns;
	}
	if (c->n) {
		s = &c->span[(c->n - 1) & (VOQ_SPANS - 1)];
		last_ns = s->to_ns;
		if (c->n >= VOQ_SPANS || voq_span_continues(s, at_ns, bytes)) {
			s->to_ns = at_ns;
			s->bytes += bytes;
			return;
		}
	}
	s = &c->span[c->n & (VOQ_SPANS - 1)];
	s->from_ns = last_ns ? last_ns : at_ns;
	s->to_ns = at_ns;
	s->bytes = bytes;
	c->n++;
}

/* When the next bytes have credit; 0: at once, because nothing waits. */
static inline __u64 voq_clock_when_ns(const struct voq_clock *c, __u64 bytes)
{
	const struct voq_span *s = c->span;
	__u64 at_ns = 0, i;

	for (i = 0; i < VOQ_SPANS; i++, s++) {
		if (i >= c->n)
			break;
		if (bytes < s->bytes)
			return s->from_ns + (s->to_ns - s->from_ns) / s->bytes * bytes +
			       (s->to_ns - s->from_ns) % s->bytes * bytes / s->bytes;
		at_ns = s->to_ns;
		bytes -= s->bytes;
		if (!bytes)
			break;
	}
	return at_ns;
}

/* A packet of bytes leaves: it used the earliest credit. */
static inline void voq_clock_take(struct voq_clock *c, __u64 bytes)
{
	int i;

	for (i = 0; i < VOQ_SPANS; i++) {
		struct voq_span *s = c->span;

		if (!c->n || !bytes)
			return;
		if (bytes < s->bytes) {
			s->from_ns = voq_clock_when_ns(c, bytes);
			s->bytes -= bytes;
			return;
		}
		bytes -= s->bytes;
		c->span[0] = c->span[1];
		c->span[1] = c->span[2];
		c->span[2] = c->span[3];
		c->span[3] = (struct voq_span){};
		c->n--;
	}
}

#endif

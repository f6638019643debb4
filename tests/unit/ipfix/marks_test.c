// SPDX-License-Identifier: GPL-2.0-only
/* Counters between two records, and high-water marks. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "ipfix/marks.h"

#define LOOK_NS 100000000ULL
#define SPEED_BPS 100000000ULL

static struct marks m;
static struct flow_mark seen;
static struct port_mark seen_port;
static unsigned int records;

static void flow_take(const struct flow_mark *f, void *ctx)
{
	(void)ctx;
	seen = *f;
	records++;
}

static void port_take(const struct port_mark *p, void *ctx)
{
	(void)ctx;
	seen_port = *p;
	records++;
}

static unsigned int flows_exported(void)
{
	records = 0;
	marks_each_flow(&m, flow_take, NULL);
	return records;
}

static unsigned int ports_exported(void)
{
	records = 0;
	marks_each_port(&m, port_take, NULL);
	return records;
}

/* A flow with hops that has sent bytes; each change of feedbacks is a new feedback. */
static struct flow flow_of(__u64 bytes, __u64 feedbacks, __u8 hops)
{
	struct flow f = { .tx.bytes = bytes, .rx.feedbacks = feedbacks, .rx.fb_ns = feedbacks, .cc.hops = hops };
	unsigned int i;

	for (i = 0; i < hops; i++)
		f.cc.last[i].bps = SPEED_BPS;
	return f;
}

static const struct flow_key key = { .local_port = 1, .proto = 6 };

static void look_at(const struct flow *f)
{
	marks_look(&m, m.now_ns + LOOK_NS);
	if (f)
		cr_assert(!marks_flow(&m, &key, f));
}

static void begin(void)
{
	m.now_ns = 0;
	marks_look(&m, LOOK_NS);
}

static void end(void)
{
	marks_free(&m);
}

TestSuite(marks, .init = begin, .fini = end);

Test(marks, flow__counts_from_the_first_look)
{
	struct flow f = flow_of(1000, 0, 0);

	cr_assert(!marks_flow(&m, &key, &f));
	cr_assert(!flows_exported(), "it has sent nothing since");
	f.tx.bytes = 1500;
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(seen.begin_bytes == 1000 && seen.flow.tx.bytes == 1500);
	cr_assert(seen.begin_ns == LOOK_NS, "%llu", seen.begin_ns);
	cr_assert(!flows_exported(), "nothing new");
	f.tx.bytes = 1600;
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(seen.begin_bytes == 1500 && seen.begin_ns == 2 * LOOK_NS);
}

Test(marks, flow__that_began_between_two_looks_is_counted_whole)
{
	struct flow f = flow_of(700, 2, 0);

	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(!seen.begin_bytes && !seen.begin_feedbacks && seen.begin_ns == LOOK_NS);
}

Test(marks, flow__after_a_failed_look_counts_from_there)
{
	struct flow f = flow_of(700, 2, 0);

	marks_look_failed(&m);
	look_at(&f);
	cr_assert(!flows_exported());
}

Test(marks, flow__that_is_gone_has_one_last_record)
{
	struct flow f = flow_of(700, 0, 0);

	look_at(&f);
	look_at(NULL);
	cr_assert(flows_exported());
	cr_assert(mark_is_gone(&seen, &m));
	cr_assert(!m.flows && !flows_exported());
}

Test(marks, flow__made_again_counts_from_zero)
{
	struct flow f = flow_of(9000, 5, 0);

	look_at(&f);
	cr_assert(flows_exported());
	f = flow_of(300, 1, 0);
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(!seen.begin_bytes && !seen.begin_feedbacks && seen.flow.tx.bytes == 300);
}

Test(marks, hops__keep_their_highest_until_the_record)
{
	struct flow f = flow_of(100, 1, 2);

	f.cc.last[1].qlen_bytes = 12500;
	f.cc.u = 3;
	look_at(&f);
	f = flow_of(200, 2, 2);
	f.cc.last[1].qlen_bytes = 100;
	f.cc.u = 2;
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(seen.hops == 2 && seen.u == 3);
	cr_assert(seen.hop[1].queue_bytes == 12500 && seen.flow.cc.last[1].qlen_bytes == 100);
	cr_assert(seen.hop[1].queue_ns == 1000000, "12,500 bytes at 100 Mbit/s: %llu", seen.hop[1].queue_ns);
	cr_assert(!seen.hop[0].queue_bytes);
	f = flow_of(300, 3, 2);
	f.cc.last[1].qlen_bytes = 50;
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(seen.hop[1].queue_bytes == 50, "the mark begins anew: %u", seen.hop[1].queue_bytes);
}

Test(marks, hops__without_a_new_feedback_are_none)
{
	struct flow f = flow_of(100, 1, 2);

	look_at(&f);
	cr_assert(flows_exported() && seen.hops == 2);
	f.tx.bytes = 200;
	look_at(&f);
	cr_assert(flows_exported() && !seen.hops && !seen.u);
}

Test(marks, hops__of_another_path_begin_anew)
{
	struct flow f = flow_of(100, 1, 1);

	f.cc.last[0].qlen_bytes = 5000;
	look_at(&f);
	f = flow_of(200, 2, 1);
	f.cc.path_id = 7;
	f.cc.last[0].qlen_bytes = 40;
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(seen.hop[0].queue_bytes == 40 && seen.hop[0].busy_ppm == BUSY_UNKNOWN);
}

/* Half of 100 Mbit/s for a millisecond: 6,250 bytes, as the hop's clock and counter tell it. */
Test(marks, hops__tell_their_use_where_they_were_seen_twice)
{
	struct flow f = flow_of(100, 1, 1);

	f.cc.last[0].ts_ns = 1000;
	f.rx.fb_rx_ns = 5000;
	look_at(&f);
	cr_assert(flows_exported() && seen.hop[0].busy_ppm == BUSY_UNKNOWN);
	f = flow_of(200, 2, 1);
	f.cc.last[0].ts_ns = 1001000;
	f.cc.last[0].tx_bytes = 6250;
	f.rx.fb_rx_ns = 1005000;
	look_at(&f);
	cr_assert(flows_exported());
	cr_assert(seen.hop[0].busy_ppm >= 490000 && seen.hop[0].busy_ppm <= 510000, "%u", seen.hop[0].busy_ppm);
}

Test(marks, flows__beyond_the_room_are_counted)
{
	struct flow f = flow_of(100, 0, 0);
	struct flow_key k = key;
	unsigned int i;

	for (i = 0; i <= MARKS_MAX; i++) {
		memcpy(&k.local, &i, sizeof(i));
		cr_assert(!marks_flow(&m, &k, &f));
	}
	cr_assert(m.flows == MARKS_MAX && m.beyond == 1);
}

static void numbered_take(unsigned int number, __u64 bytes)
{
	struct flow f = flow_of(bytes, 0, 0);
	struct flow_key k = key;

	memcpy(&k.local, &number, sizeof(number));
	cr_assert(!marks_flow(&m, &k, &f));
}

/* It may be a day old: its bytes of that day are none of this interval. */
Test(marks, flow__that_had_no_room_counts_from_the_look_that_has_it)
{
	unsigned int i;

	for (i = 0; i <= MARKS_MAX; i++)
		numbered_take(i, 9000);
	look_at(NULL);
	for (i = 1; i <= MARKS_MAX; i++)
		numbered_take(i, 9000);
	cr_assert(m.beyond == 2 && !flows_exported() && m.flows == MARKS_MAX - 1, "flow 0 is gone");
	look_at(NULL);
	numbered_take(MARKS_MAX, 9100);
	cr_assert(m.flows == MARKS_MAX && m.beyond == 2 && !flows_exported());
	/* All the others are gone. One that begins now was not there at the look before. */
	look_at(NULL);
	numbered_take(MARKS_MAX, 9300);
	numbered_take(1, 50);
	cr_assert(flows_exported() == 2);
	cr_assert(m.flows == 2);
}

Test(marks, port__keeps_its_longest_queue_until_the_record)
{
	struct link_load load = { .tx_bytes = 1000, .backlog_bytes = 500, .drops = 3 };
	struct port port = { .speed_bps = SPEED_BPS };

	cr_assert(!marks_port(&m, 2, &port, &load));
	load = (struct link_load){ .tx_bytes = 3000, .backlog_bytes = 20, .drops = 4 };
	cr_assert(!marks_port(&m, 2, &port, &load));
	cr_assert(ports_exported() == 1);
	cr_assert(seen_port.backlog_bytes == 500 && seen_port.load.backlog_bytes == 20);
	cr_assert(seen_port.begin_bytes == 1000 && seen_port.begin_drops == 3);
	look_at(NULL);
	cr_assert(!ports_exported() && !m.ports, "it is gone");
}

/* Counters of a qdisc that was made again. */
Test(marks, port__whose_counters_fell_counts_from_zero)
{
	struct link_load load = { .tx_bytes = 1000, .drops = 3 };
	struct port port = {};

	cr_assert(!marks_port(&m, 2, &port, &load));
	load = (struct link_load){ .tx_bytes = 400, .drops = 1 };
	cr_assert(!marks_port(&m, 2, &port, &load));
	cr_assert(ports_exported() == 1 && !seen_port.begin_bytes && !seen_port.begin_drops);
}

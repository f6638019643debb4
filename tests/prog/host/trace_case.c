// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "trace_case.h"

#define MOST 4000

struct control wish(void)
{
	return (struct control){ .trace_on = 1, .trace_every = 1, .trace_until_ns = clock_ns() + 60 * NSEC_PER_SEC };
}

unsigned int records(void)
{
	static struct trace r[MOST];

	return traces_taken(r, MOST);
}

void trace_all(void)
{
	struct control w = wish();

	trace_set(&w);
	records();
}

struct trace the_record(void)
{
	static struct trace r[2];

	expect_eq(traces_taken(r, 2), 1);
	return r[0];
}

void expect_record(const struct trace *r, struct ip_spec s, const struct frame *f)
{
	struct flow_key k = flow_key_of(s);
	unsigned int kept = f->len < TRACE_PACKET_BYTES ? f->len : TRACE_PACKET_BYTES;

	expect_between(r->ns, clock_ns() - 10 * NSEC_PER_SEC, clock_ns());
	cr_assert(!memcmp(&r->key, &k, sizeof(k)), "%sthe flow is another one", world_fixture());
	expect_eq(r->ifindex, WORLD_IFINDEX);
	expect_eq(r->packet_bytes, f->len);
	expect_eq(r->kept_bytes, kept);
	cr_assert(!memcmp(r->packet, f->b, kept), "%sthe packet is another one", world_fixture());
}

__u64 trace_hop_of(__u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes)
{
	return 12ULL << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 | qlen_bytes / 80;
}

struct frame echo(int v6, unsigned int n, unsigned int payload)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = payload);

	return wrap(&inner, .echo = 1, .echo_hops = 2, .echo_path = 2 << 12 | 0x123, .echo_seq = 1000 * (n + 1),
		    .echo_hop = { trace_hop_of(n * 1000000, n * 6250000, 8000),
				  trace_hop_of(n * 1000000, n * 12500000, 16000) });
}

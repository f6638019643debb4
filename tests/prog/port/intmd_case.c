// SPDX-License-Identifier: GPL-2.0-only
#include <linux/if_packet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "intmd_case.h"

void intmd_make(void)
{
	world_make();
	hosts_strip();
	encoding_set(ENCODING_INT_MD);
}

unsigned int at_stack(const struct frame *f)
{
	return at_shim(f) + GROW;
}

void port_of_switch(__u16 id)
{
	struct port p = port_usual();

	p.flags = PORT_F_SWITCH | PORT_F_XDP_TX;
	p.speed_bps = 200000000;
	p.speed = telem_speed_fit(p.speed_bps);
	p.switch_id = id;
	p.tx_bytes = 777 * 128 + 5;
	p.backlog_bytes = 3300;
	port_set(WORLD_IFINDEX, &p);
}

struct frame expect_hop(enum program p, const struct frame *in, __u16 id, struct int_hop *hop)
{
	__u64 before = clock_ns();
	struct frame want = *in;
	struct result r;
	unsigned int at = at_stack(in), len = 14 + (frame_is_v6(in) ? 4 : 2);

	port_of_switch(id);
	r = run(p, in);
	expect_verdict(r, VERDICT_PASS);
	*hop = (struct int_hop){ .node = id, .queue = 3300, .tx = 777, .kbps = 200000, .ts = get64(r.out.b + at + 8) };
	expect_between(hop->ts, before, clock_ns());
	memmove(want.b + at + 24, want.b + at, want.len - at);
	put32(want.b + at, hop->node);
	put32(want.b + at + 4, hop->queue);
	put64(want.b + at + 8, hop->ts);
	put32(want.b + at + 16, hop->tx);
	put32(want.b + at + 20, hop->kbps);
	want.len += 24;
	want.b[at_shim(in) + 1] += 6;
	want.b[at_shim(in) + 7]--;
	put16(want.b + len, get16(want.b + len) + 24);
	put16(want.b + at_udp(in) + 4, get16(want.b + at_udp(in) + 4) + 24);
	frame_fix(&want);
	expect_frame(&r.out, &want);
	return r.out;
}

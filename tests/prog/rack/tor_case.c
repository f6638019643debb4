// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "tor_case.h"

#define C0 3000

void peers_become(enum voqs_where hiercc)
{
	struct peer peer = peer_usual();

	peer.hiercc = hiercc;
	peer.voq_c0 = C0;
	peer.voq_limit_ns = LIMIT_NS;
	peer.voq_period_ns = MS / 4;
	peer.prefixlen = 96 + 16;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer.prefixlen = 32;
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

void port_become(__u32 flags)
{
	struct port port = port_usual();

	port.flags = flags;
	port.switch_id = 0x123;
	port_change(WORLD_IFINDEX, &port);
}

void make_switch(void)
{
	world_make();
	control_set(MODE_ENFORCE, 0);
	tor_set(TOR);
	peers_become(VOQS_HERE);
	port_become(PORT_F_SWITCH | PORT_F_VOQ_UP | PORT_F_EDT);
}

struct voq_key tor_to_b(int v6)
{
	return voq_key_of(v6, HOST_B, 128);
}

struct frame frame_passing(struct passing p)
{
	struct frame inner = tcp(.v6 = p.v6, .payload = p.payload ?: 700);
	struct frame f = wrap(&inner, .sport = p.sport ?: 0xc000, .room = 5, .voq = !p.no_block, .voq_tor = p.tor,
			      .voq_total = p.total, .voq_flows = p.flows, .voq_prefixlen = p.prefixlen ?: 128);

	if (p.mark)
		f.b[at_voq(&f) + 11] = MARK;
	return f;
}

void expect_block(const struct frame *f, __u32 tor, __u32 total, __u16 flows, __u8 prefixlen, __u8 flags)
{
	const __u8 *p = f->b + at_voq(f);

	expect_eq(get32(p), tor);
	expect_eq(get32(p + 4), total);
	expect_eq(get16(p + 8), flows);
	expect_eq(p[10], prefixlen);
	expect_eq(p[11], flags);
}

struct frame frame_message(struct message m)
{
	unsigned int bytes = 12 + 24 + (m.key ? 16 : 0);
	__u8 at[64] = { 0x98, (bytes - 4) / 4, 0, 59, 0x40 | (m.type ?: 6), 1, m.key ? 2 : 0 };
	struct sluice_addr src = addr_of(m.v6, HOST_B);

	put32(at + 8, m.seq);
	memcpy(at + 12, &src, 16);
	put32(at + 28, m.value);
	at[32] = m.prefixlen ?: 128;
	at[33] = m.flags;
	if (m.key)
		batch_sign(at, bytes, 1, m.v6, m.key, m.auth_seq);
	return frame_of_batch(m.v6, at, bytes);
}

// SPDX-License-Identifier: GPL-2.0-only
#include "voq_case.h"

struct peer peer_with_voqs(void)
{
	struct peer peer = peer_usual();

	peer.hiercc = 1;
	peer.voq_c0 = C0;
	peer.voq_limit_ns = LIMIT_NS;
	peer.voq_period_ns = MS / 4;
	return peer;
}

void peers_change(struct peer peer)
{
	peer.prefixlen = 96 + 16;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer.prefixlen = 32;
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

void voq_make_world(void)
{
	struct port port = port_usual();

	world_make();
	hosts_strip();
	control_set(MODE_ENFORCE, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	tor_set(TOR);
	peers_change(peer_with_voqs());
}

struct voq_key voq_to_b(int v6)
{
	return voq_key_of(v6, HOST_B, 128);
}

__u32 total_of(const struct frame *f)
{
	return get32(f->b + at_voq(f) + 4);
}

unsigned int flows_of(const struct frame *f)
{
	return get16(f->b + at_voq(f) + 8);
}

struct result voq_leaves(struct ip_spec s)
{
	struct frame in = frame_of(s);

	hosts_strip();
	return run(EGRESS, &in);
}

void clocks_stop(struct ip_spec s)
{
	struct flow f = flow_get(s);
	struct voq v = voq_get(voq_to_b(s.v6));

	f.tx.clock_ns = 0;
	flow_set(s, &f);
	v.voq.clock_ns = 0;
	voq_set(voq_to_b(s.v6), &v);
}

void credit_lacks(int v6, __u64 bytes)
{
	struct voq v = voq_get(voq_to_b(v6));

	v.voq.credit = v.voq.sent - bytes - C0;
	v.voq.short_ns = 0;
	voq_set(voq_to_b(v6), &v);
}

void hop_rate_is(int v6, __u64 rate)
{
	struct voq v = voq_get(voq_to_b(v6));

	v.hop.rate = rate;
	v.hop.stopped = 0;
	v.hop.settling = 1;
	v.hop.mark_ns = 1;
	v.hop_params.rtt_ns = ~0ULL; /* no period ends */
	v.voq.credit = v.voq.sent + 1000;
	voq_set(voq_to_b(v6), &v);
}

// SPDX-License-Identifier: GPL-2.0-only
#include "report_case.h"

void peers_tell(enum rx_feedback feedback, __u64 t_ns)
{
	struct peer peer = peer_usual();

	peer.feedback = feedback;
	peer.t_ns = t_ns;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

__u64 report_hop_of(__u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes)
{
	return 12ULL << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 | qlen_bytes / 80;
}

struct wire_spec telemetry(unsigned int n, unsigned int full)
{
	struct wire_spec w = { .room = 5, .nhop = 2, .path = 0x123, .seq = 1000 * (n + 1) };
	unsigned int i;

	for (i = 0; i < 2; i++)
		w.hop[i] = report_hop_of(n * 1000000, n * 12500000ULL * (i == full ? 12 : 6) / 10, 8000);
	return w;
}

struct result arrives(int v6, struct wire_spec w)
{
	struct frame inner = tcp(.v6 = v6, .reply = 1, .payload = 500), in = frame_wrap(&inner, w);

	return run(sink, &in);
}

struct flow report_flow_of(int v6)
{
	return flow_get((struct ip_spec){ .v6 = v6 });
}

void report_flow_runs(int v6, __u64 tx_bytes)
{
	flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100 }, tx_bytes);
}

void flow_change(int v6, struct flow f)
{
	flow_set((struct ip_spec){ .v6 = v6 }, &f);
}

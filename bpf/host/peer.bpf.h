/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PEER_BPF_H
#define SLUICE_PEER_BPF_H
/*
 * The hosts at the other end: whether they strip telemetry, and when they were heard.
 *
 *  1. A host gets telemetry only after it has shown that it strips it: it asked us (PROBE), or
 *     answered us (PROBE_REPLY), or sent telemetry itself. One that leaves data unanswered for
 *     HOST_SILENT_NS goes back to unknown, so a peer whose Sluice went away is served plainly.
 *  2. What was heard of a host, the newest sequence above all, is kept apart from the addresses that were only asked:
 *     a SYN or a datagram with a false source makes us send there, and a flood of them evicts nobody from hosts.
 *  3. A prefix that leaves the configuration does so in two steps: at once nothing of ours is sent there and nothing
 *     learned from there, so that its hosts find us silent (1); what they send until then is still stripped. When that
 *     time is over the daemon removes the prefix.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/seq.h"

#define HOST_SILENT_NS (100 * 1000 * 1000ULL)
#define HOST_ASK_NS (1000 * 1000 * 1000ULL)

enum host_standing {
	HOST_FOREIGN, /* in no peer's prefix */
	HOST_LEAVING, /* in one that the configuration had until a moment ago */
	HOST_PEER,
};

/*
 * Does a lie in a peer's prefix? h: what is known about it, or NULL; it remembers for the epoch that it does,
 * so that the prefixes are not searched for every packet. A host that leaves is to be asked again should it come back:
 * nobody hears until then whether it still strips.
 */
static inline enum host_standing host_standing(const struct sluice_addr *a, struct host *h, __u32 epoch)
{
	struct peer_key pk = { .prefixlen = 128 };
	const struct peer *peer;

	if (h && h->epoch == epoch)
		return HOST_PEER;
	pk.addr = *a;
	peer = bpf_map_lookup_elem(&peers, &pk);
	if (!peer)
		return HOST_FOREIGN;
	if (peer->leaving) {
		if (h && h->capable)
			h->capable = 0;
		return HOST_LEAVING;
	}
	if (h)
		h->epoch = epoch;
	return HOST_PEER;
}

/* Was a asked at any time? h: as above. */
static inline int host_was_asked(const struct sluice_addr *a, const struct host *h)
{
	return h ? !!h->asked_ns : !!bpf_map_lookup_elem(&asked, a);
}

/*
 * A valid Sluice message came from a: it is alive, and speaks our protocol. h: as above. seq: of an
 * authenticated message, which tells nothing if it is not the newest; otherwise 0.
 */
static inline void host_heard(const struct sluice_addr *a, struct host *h, __u64 now_ns, __u64 seq)
{
	__u64 seen;

	if (!h) {
		struct host fresh = { .heard_ns = now_ns, .capable = 1, .rx_seq = seq };
		const __u64 *asked_ns = bpf_map_lookup_elem(&asked, a);

		if (asked_ns)
			fresh.asked_ns = *asked_ns;
		if (bpf_map_update_elem(&hosts, a, &fresh, BPF_NOEXIST) != -EEXIST) {
			if (asked_ns)
				bpf_map_delete_elem(&asked, a);
			return;
		}
		h = bpf_map_lookup_elem(&hosts, a); /* another CPU has made it meanwhile */
		if (!h)
			return;
	}
	if (seq && !seq_take(&h->rx_seq, 0, seq, &seen))
		return;
	h->heard_ns = now_ns;
	h->unanswered_ns = 0;
	h->capable = 1;
}

#endif

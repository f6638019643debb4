/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PEER_BPF_H
#define SLUICE_PEER_BPF_H
/*
 * The hosts at the other end: whether they strip telemetry, and when they were last heard from.
 *
 *  1. A host gets telemetry only after it has shown that it strips it: it asked us (PROBE), or
 *     answered us (PROBE_REPLY), or sent telemetry itself. A host that leaves data unanswered for HOST_SILENT_NS goes
 *     back to unknown, so a peer whose Sluice went away gets plain packets.
 *  2. State heard from a host, above all the newest sequence, is kept apart from the addresses that were only asked: a
 *     SYN or a datagram with a forged source makes us send there, and a flood of them must not evict entries from
 *     hosts.
 *  3. A prefix that leaves the configuration does so in two steps: at once nothing of ours is sent there and nothing
 *     learned from there, so that its hosts find us silent (1); their packets are stripped until then. After that time
 *     the daemon removes the prefix.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/seq.h"

#define HOST_SILENT_NS (100 * 1000 * 1000ULL)
#define HOST_ASK_NS (1000 * 1000 * 1000ULL)

enum host_standing {
	HOST_FOREIGN, /* in no peer's prefix */
	HOST_LEAVING, /* in a prefix that was configured until a moment ago */
	HOST_PEER,
};

/*
 * Whether a is in a peer's prefix. h: its entry, or NULL; it caches a match for the epoch, so that the prefixes are not
 * searched for every packet. A host that leaves is asked again if it comes back: until then nothing shows whether it
 * still strips.
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

/* Whether a was ever asked. h: as above. */
static inline int host_was_asked(const struct host_key *a, const struct host *h)
{
	return h ? !!h->asked_ns : !!bpf_map_lookup_elem(&asked, a);
}

/*
 * A valid Sluice message came from a: it is alive, and speaks our protocol. h: as above. seq: of an authenticated
 * message, which is ignored if it is not the newest; otherwise 0.
 */
static inline void host_heard(const struct host_key *a, struct host *h, __u64 now_ns, __u64 seq)
{
	__u64 seen = 0;

	if (!h) {
		const __u64 *asked_ns = bpf_map_lookup_elem(&asked, a);
		struct scratch_space *space = scratch_get();

		if (!space)
			return;
		__builtin_memset(&space->host, 0, sizeof(space->host));
		space->host.heard_ns = now_ns;
		space->host.capable = 1;
		space->host.rx_seq = seq;
		if (asked_ns)
			space->host.asked_ns = *asked_ns;
		if (bpf_map_update_elem(&hosts, a, &space->host, BPF_NOEXIST) != -EEXIST) {
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

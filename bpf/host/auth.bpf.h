/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_AUTH_BPF_H
#define SLUICE_AUTH_BPF_H
/*
 * Who may change our state: whoever has the key, and says it for the first time.
 *
 *  1. With keys configured every message carries a sequence and a tag (wire.h), and one without, or
 *     with a wrong tag, is as if it were not Sluice's: it passes as it is. What has the right tag is
 *     stripped; whether it is also learned from is for the sequence to say.
 *  2. A sequence is the sender's clock in 64 bits of ns, real time where it started and monotonic from
 *     there. So it needs no state, does not wrap, and goes on above the last after a restart.
 *  3. What is new is told for each flow, and there for telemetry and echoes apart. The packets of a
 *     host wait in fq by flow, for as long as their departure times say: a window over all that a host
 *     sends, of 64 or of any size, would find most of them too old. And an ACK, which does not wait,
 *     overtakes the data of its flow.
 *  4. All segments of a GSO packet have one sequence. The echo counts with the first of them; the
 *     telemetry of each counts, for AUTH_REPEAT_NS.
 *  5. What is ahead of our own clock by more than SEQ_AHEAD_NS (seq.h) is stripped and not learned from. Learned,
 *     a sequence of a wrong clock would make all right ones old for as long as it was wrong by. Not stripped, it
 *     would be lost: its sender hears us, and takes us for one who strips.
 *  6. A flow that is new here is measured by the newest message of its host. A PROBE says that its host
 *     lives, if it is the newest of it, and is answered once: if it is the newest of its flow (ingress_takes_probe).
 *     A PROBE_REPLY has the sequence of our PROBE: it counts once.
 *
 * The races: where two CPUs get messages of a flow at the same time, a compare-and-swap decides, and the newer one stays
 * (seq_take). The older one counts as replayed if it comes second. A segment of the packet that was just taken counts
 * still: its CPU may see the sequence before it sees telem_ns, compares with the time of an earlier packet then, and
 * counts it as replayed.
 */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/seq.h"
#include "sluice/wire/siphash.h"
#include "sluice/types.h"
#include "sluice/wire/wire.h"

/* What a packet may wait longer than another of its host: the longest horizon. */
#define AUTH_LATE_NS NSEC_PER_SEC
/* Below half a turn of TS: telemetry that is repeated tells of no time passed. */
#define AUTH_REPEAT_NS (8 * 1000 * 1000ULL)

static inline __u64 auth_seq(const struct control *ctl)
{
	return bpf_ktime_get_ns() + ctl->seq_base_ns;
}

/* Is a message not to be learned from because of its sequence, which is 0 without a key? Counts it. */
static inline int auth_is_future(const struct control *ctl, __u64 seq, __u64 now_ns)
{
	if (!seq_is_future(seq, ctl->seq_base_ns + now_ns))
		return 0;
	stats_count(STAT_RX_FUTURE);
	return 1;
}

static inline const struct auth_keys *auth_keys_get(const struct control *ctl)
{
	__u32 slot = ctl->auth - 1;

	return bpf_map_lookup_elem(&keys, &slot);
}

CORE_GLOBAL __u64 auth_tag(struct wire_auth_text *text, __u64 k0, __u64 k1, __u32 words)
{
	const struct siphash_key key = { k0, k1 };

	return text ? siphash(&key, (const __u32 *)text, words, sizeof(*text) / 4) : 0;
}

struct auth_batch {
	__u64 v[4];
	const struct wire_batch_text *text;
};

static long auth_batch_block(__u32 i, struct auth_batch *b)
{
	const __u32 *word = (const __u32 *)b->text;

	if (i >= sizeof(*b->text) / 8)
		return 1;
	word += 2 * i;
	bound_here(word); /* or the second half is at 8 * i | 4, which for the verifier is as far as 127 * 8 | 4 */
	siphash_block(b->v, word[0] | (__u64)word[1] << 32);
	return 0;
}

/*
 * The tag of so many words, of which a batch has an even number. By bpf_loop(), where the verifier sees one block:
 * each of the 102 in turn would be a tenth of all that it does for the programs at ingress.
 */
CORE_GLOBAL __u64 auth_batch_tag(struct wire_batch_text *text, __u64 k0, __u64 k1, __u32 words)
{
	const struct siphash_key key = { k0, k1 };
	struct auth_batch b = { .text = text };

	if (!text)
		return 0;
	siphash_begin(b.v, &key);
	bpf_loop(words / 2, auth_batch_block, &b, 0);
	return siphash_end(b.v, 0, words);
}

/* The oldest sequence that counts of a flow that we have heard nothing of, from host h or NULL. */
static inline __u64 auth_floor(const struct host *h)
{
	return h && h->rx_seq > AUTH_LATE_NS ? h->rx_seq - AUTH_LATE_NS : 0;
}

static inline int auth_takes_telem(struct flow *f, __u64 floor, __u64 seq, __u64 now_ns)
{
	__u64 kept;

	if (seq_take(&f->telem_seq, floor, seq, &kept)) {
		f->telem_ns = now_ns;
		return 1;
	}
	return seq == kept && now_ns < *(volatile __u64 *)&f->telem_ns + AUTH_REPEAT_NS;
}

static inline int auth_takes_echo(struct flow *f, __u64 floor, __u64 seq)
{
	__u64 kept;

	return seq_take(&f->echo_seq, floor, seq, &kept);
}

static inline int auth_takes_reply(struct flow *f, __u64 seq)
{
	__u64 kept;

	return seq <= f->probe_seq && seq_take(&f->reply_seq, 0, seq, &kept);
}

/* Of CREDIT and RATE. A credit that is refused after all is given back: R comes to the same entry. */
static inline int auth_takes_voq(struct voq *v, __u64 floor, __u64 seq, __u64 *kept)
{
	return seq_take(&v->credit_seq, floor, seq, kept);
}

static inline void auth_gives_back(struct voq *v, __u64 seq, __u64 kept)
{
	__sync_val_compare_and_swap(&v->credit_seq, seq, kept);
}

#endif

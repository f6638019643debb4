/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_AUTH_BPF_H
#define SLUICE_AUTH_BPF_H
/*
 * Only messages with a valid tag and a fresh sequence may change our state.
 *
 *  1. With keys configured every message carries a sequence and a tag (wire.h). A message without a tag, or with a
 *     wrong one, passes as if it were not Sluice's. A message with the right tag is stripped; the sequence decides
 *     whether it is also learned from.
 *  2. A sequence is the sender's clock in 64 bits of ns, real time where it started and monotonic from
 *     there. So it needs no state, does not wrap, and continues above the last after a restart.
 *  3. Freshness is judged per flow, and separately for telemetry and echoes. The packets of a host wait in fq by flow,
 *     until their departure times: a replay window over all packets of a host, of 64 or of any size, would find most of
 *     them too old. And an ACK, which does not wait, overtakes the data of its flow.
 *  4. All segments of a GSO packet have one sequence. The echo counts with the first of them; the telemetry counts in
 *     each, for AUTH_REPEAT_NS.
 *  5. A message ahead of our own clock by more than SEQ_AHEAD_NS (seq.h) is stripped and not learned from. If it were
 *     learned, the sequence of a wrong clock would make all right ones old for as long as the error. If it were not
 *     stripped, it would be lost: its sender hears us, and assumes that we strip.
 *  6. A flow that is new here is compared with the newest message of its host. A PROBE shows that its host is alive, if
 *     it is the host's newest, and is answered once: if it is the newest of its flow (ingress_takes_probe). A
 *     PROBE_REPLY has the sequence of our PROBE: it counts once.
 *
 * The races: if two CPUs get messages of a flow at the same time, a compare-and-swap decides, and the newer one stays
 * (seq_take). The older one counts as replayed if it comes second. A segment of the packet that was just taken still
 * counts: its CPU may see the sequence before it sees telem_ns, compares with the time of an earlier packet then, and
 * counts it as replayed.
 */
#include "lib/base.bpf.h"
#include "lib/ctx.bpf.h"
#include "lib/maps.bpf.h"
#include "lib/parse.bpf.h"
#include "lib/scratch.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/once.h"
#include "sluice/seq.h"
#include "sluice/types.h"
#include "sluice/wire/siphash.h"
#include "sluice/wire/wire.h"

/* The longest that a packet may wait behind another of its host: the longest horizon. */
#define AUTH_LATE_NS NSEC_PER_SEC
/* Below half the range of TS: repeated telemetry never shows elapsed time. */
#define AUTH_REPEAT_NS (8 * 1000 * 1000ULL)

static inline __u64 auth_seq(const struct control *ctl)
{
	return bpf_ktime_get_ns() + ctl->seq_base_ns;
}

/* Whether a message is not learned from because its sequence (0 without a key) is too far ahead; counts it. */
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

	return bpf_map_lookup_elem(&auth_keys, &slot);
}

VERIFIED_ONCE __u64 auth_tag(struct wire_auth_text *text, __u64 k0, __u64 k1, __u32 words)
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
	VERIFIER_FORGET(word); /* or the second half is at 8 * i | 4, which the verifier bounds by 127 * 8 | 4 */
	siphash_block(b->v, word[0] | (__u64)word[1] << 32);
	return 0;
}

/*
 * The tag of a batch of `words` words, an even number. It uses bpf_loop(), so the verifier sees one block: unrolled,
 * the 102 blocks would be a tenth of its work on the programs at ingress.
 */
VERIFIED_ONCE __u64 auth_batch_tag(struct wire_batch_text *text, __u64 k0, __u64 k1, __u32 words)
{
	const struct siphash_key key = { k0, k1 };
	struct auth_batch b = { .text = text };

	if (!text)
		return 0;
	siphash_begin(b.v, &key);
	bpf_loop(words / 2, auth_batch_block, &b, 0);
	return siphash_end(b.v, 0, words);
}

/* The oldest sequence that counts for a flow not heard from yet, from host h or NULL. */
static inline __u64 auth_floor(const struct host *h)
{
	return h && h->rx_seq > AUTH_LATE_NS ? h->rx_seq - AUTH_LATE_NS : 0;
}

static inline int auth_takes_telem(struct flow *f, __u64 floor, __u64 seq, __u64 now_ns)
{
	__u64 kept = 0;

	if (seq_take(&f->auth.telem_seq, floor, seq, &kept)) {
		f->auth.telem_ns = now_ns;
		return 1;
	}
	return seq == kept && now_ns < READ_ONCE(f->auth.telem_ns) + AUTH_REPEAT_NS;
}

static inline int auth_takes_echo(struct flow *f, __u64 floor, __u64 seq)
{
	__u64 kept = 0;

	return seq_take(&f->auth.echo_seq, floor, seq, &kept);
}

static inline int auth_takes_reply(struct flow *f, __u64 seq)
{
	__u64 kept = 0;

	return seq <= f->auth.probe_seq && seq_take(&f->auth.reply_seq, 0, seq, &kept);
}

/* For CREDIT and RATE. A credit that is refused after all is given back: R comes to the same entry. */
static inline int auth_takes_voq(struct voq *v, __u64 floor, __u64 seq, __u64 *kept)
{
	return seq_take(&v->credit_seq, floor, seq, kept);
}

static inline void auth_gives_back(struct voq *v, __u64 seq, __u64 kept)
{
	__sync_val_compare_and_swap(&v->credit_seq, seq, kept);
}

/* --- messages --- */

/* Writes the authentication block after the echo; the rest of head is complete. Returns 0 if there is no key. */
VERIFIED_ONCE int egress_sign(struct egress_head *head, struct egress_pkt *p, __u32 echo_at, __u32 echo_bytes,
			      __u64 seq)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	struct wire_auth_text *text;
	const struct wire_echo *echo;
	const struct auth_keys *k;
	struct wire_auth *auth;
	__u32 at;
	__u64 tag;

	if (!head || !p || !space || !ctl)
		return 0;
	k = auth_keys_get(ctl);
	if (!k)
		return 0;
	VERIFIER_AT_MOST(echo_at, sizeof(struct wire_telem) + sizeof(struct wire_voq), 0);
	echo = (const struct wire_echo *)(head->blocks + echo_at);
	VERIFIER_FORGET(echo); /* a spilled address keeps its bounds, a spilled number does not */
	text = &space->text;
	text->echo = *echo;
	__builtin_memcpy(text->src, &p->key.local, sizeof(text->src));
	__builtin_memcpy(text->dst, &p->key.remote, sizeof(text->dst));
	text->port[0] = p->key.local_port;
	text->port[1] = p->key.remote_port;
	text->proto = p->key.proto;
	text->hdr = head->hdr;
	text->seq_high = bpf_htonl(seq >> 32);
	text->seq_low = bpf_htonl((__u32)seq);
	tag = auth_tag(text, k->key[0].k0, k->key[0].k1, wire_auth_words(&head->hdr));
	at = echo_at + echo_bytes;
	VERIFIER_AT_MOST(at, sizeof(head->blocks) - sizeof(*auth), 0);
	auth = (struct wire_auth *)(head->blocks + at);
	auth->seq_high = text->seq_high;
	auth->seq_low = text->seq_low;
	auth->tag_high = bpf_htonl(tag >> 32);
	auth->tag_low = bpf_htonl((__u32)tag);
	return 1;
}

/*
 * Whether the tag is right under one of our keys. Leaves the text for ingress_probe(). The tags are compared as
 * numbers: no timing depends on where they differ.
 */
VERIFIED_ONCE int ingress_auth(ctx_t *ctx, const struct msg *m, struct ingress_pkt *p)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	const struct auth_keys *k;
	struct wire_auth_text *text;
	const struct wire_auth *auth;
	const struct wire_echo *echo;
	const struct wire_voq *voq;
	__u64 sent, diff;
	int reply;

	if (!m || !p || !space || !ctl)
		return STAT_RX_BAD_AUTH;
	k = auth_keys_get(ctl);
	if (!k)
		return STAT_RX_BAD_AUTH;
	text = &space->text;
	if (m->hdr.flags & WIRE_F_ECHO) {
		/* Read at its full length: authentication and the headers of the inner packet follow. */
		echo = pkt_bytes(ctx, m->offset + wire_echo_offset(&m->hdr), sizeof(*echo));
		if (!echo)
			return STAT_RX_TRUNCATED;
		text->echo = *echo;
	} else if (wire_signs_voq(&m->hdr)) {
		voq = pkt_bytes(ctx, m->offset + wire_echo_offset(&m->hdr) - sizeof(*voq), sizeof(*voq));
		if (!voq)
			return STAT_RX_TRUNCATED;
		if (voq->flags & WIRE_VOQ_SWITCH)
			__builtin_memset(&text->echo, 0, sizeof(*voq));
		else
			__builtin_memcpy(&text->echo, voq, sizeof(*voq));
	}
	auth = pkt_bytes(ctx, p->inner - WIRE_AUTH_BYTES, sizeof(*auth));
	if (!auth)
		return STAT_RX_TRUNCATED;
	sent = (__u64)bpf_ntohl(auth->tag_high) << 32 | bpf_ntohl(auth->tag_low);
	p->auth_seq = (__u64)bpf_ntohl(auth->seq_high) << 32 | bpf_ntohl(auth->seq_low);
	text->seq_high = auth->seq_high;
	text->seq_low = auth->seq_low;
	__builtin_memcpy(text->src, &m->ip.src, sizeof(text->src));
	__builtin_memcpy(text->dst, &m->ip.dst, sizeof(text->dst));
	reply = wire_message(&m->hdr) == WIRE_PROBE_REPLY;
	text->port[0] = reply ? p->key.local_port : p->key.remote_port;
	text->port[1] = reply ? p->key.remote_port : p->key.local_port;
	text->proto = p->key.proto;
	text->hdr = m->hdr;
	diff = auth_tag(text, k->key[0].k0, k->key[0].k1, wire_auth_words(&m->hdr)) ^ sent;
	if (diff && k->n > 1)
		diff = auth_tag(text, k->key[1].k0, k->key[1].k1, wire_auth_words(&m->hdr)) ^ sent;
	return diff || !k->n || !p->auth_seq ? STAT_RX_BAD_AUTH : STAT_RX_DATA;
}

/* The tag of a PROBE that is turned round: its own text, except for addresses and header. */
VERIFIED_APART int ingress_answer_sign(ctx_t *ctx, const struct msg *m, const struct wire_hdr *hdr)
{
	struct scratch_space *space = scratch_get();
	const struct control *ctl = control_get();
	const struct auth_keys *k;
	__be64 tag;

	if (!space || !ctl)
		return -EINVAL;
	k = auth_keys_get(ctl);
	if (!k)
		return -EINVAL;
	__builtin_memcpy(space->text.src, &m->ip.dst, sizeof(space->text.src));
	__builtin_memcpy(space->text.dst, &m->ip.src, sizeof(space->text.dst));
	space->text.hdr = *hdr;
	tag = bpf_cpu_to_be64(auth_tag(&space->text, k->key[0].k0, k->key[0].k1, wire_auth_words(&m->hdr)));
	return ctx_store(ctx, m->offset + wire_length(&m->hdr) - sizeof(tag), &tag, sizeof(tag));
}

/* Checks the tag of a batch against our keys; its reports are in text already. Returns 0 if it is right. */
VERIFIED_ONCE int batch_auth(ctx_t *ctx, const struct msg *m, struct wire_batch_text *text, __u64 *seq)
{
	const struct control *ctl = control_get();
	const struct auth_keys *k;
	struct wire_auth auth;
	__u64 sent, diff;
	__u32 words;

	if (!m || !text || !seq || !ctl)
		return STAT_RX_BAD_AUTH;
	words = (sizeof(*text) - sizeof(text->report)) / 4 + m->hdr.max_hops * sizeof(text->report[0]) / 4;
	if (ctx_load(ctx, m->offset + wire_length(&m->hdr) - sizeof(auth), &auth, sizeof(auth)))
		return STAT_RX_TRUNCATED;
	k = auth_keys_get(ctl);
	if (!k)
		return STAT_RX_BAD_AUTH;
	sent = (__u64)bpf_ntohl(auth.tag_high) << 32 | bpf_ntohl(auth.tag_low);
	*seq = (__u64)bpf_ntohl(auth.seq_high) << 32 | bpf_ntohl(auth.seq_low);
	__builtin_memcpy(text->src, &m->ip.src, sizeof(text->src));
	__builtin_memcpy(text->dst, &m->ip.dst, sizeof(text->dst));
	text->hdr = m->hdr;
	text->seq_high = auth.seq_high;
	text->seq_low = auth.seq_low;
	diff = auth_batch_tag(text, k->key[0].k0, k->key[0].k1, words) ^ sent;
	if (diff && k->n > 1)
		diff = auth_batch_tag(text, k->key[1].k0, k->key[1].k1, words) ^ sent;
	return diff || !k->n || !*seq ? STAT_RX_BAD_AUTH : 0;
}

#endif

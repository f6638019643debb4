// SPDX-License-Identifier: GPL-2.0-only
/*
 * A receiver that computes W from telemetry (rx.h), and that counts the active flows: against a
 * count that forgets nothing.
 */
#include "hpcc.h"
#include "sluice/cc/rx.h"

#define FLOWS 16

struct receiver {
	struct hpcc_params params;
	struct rx_state rx;
	struct hpcc_ack ack;
	__u64 now_ns, reported_ns;
	struct rx_counter counter;
	__u64 epoch_ns;
	__u32 mark[FLOWS];  /* the flows' own */
	__u64 began_ns;	    /* the epoch that runs; 0: none yet */
	__u32 seen, before; /* flows of the epoch that runs, and of the last one, a bit each */
	__u32 packets;	    /* of the epoch that runs */
	__u8 certainty;
};

static void receiver_packet(struct receiver *r, struct fuzz *f)
{
	struct hpcc_state was = r->rx.cc;
	__u64 updated_ns = r->rx.last_update_ns;
	enum hpcc_kind kind;
	int report;

	fuzz_hpcc_ack(f, &r->ack);
	kind = rx_new_int(&r->rx, &r->params, &r->ack, r->now_ns, &report);
	fuzz_hpcc_kind_holds(&was, &r->rx.cc, kind);
	if (kind != HPCC_SKIPPED)
		fuzz_hpcc_recorded(&r->rx.cc, &r->ack);
	FUZZ_ASSERT(!report || kind == HPCC_FAST || kind == HPCC_FULL);
	/* W is reported at most once per T. */
	if (report) {
		FUZZ_ASSERT(r->now_ns > r->reported_ns + r->params.t_ns);
		r->reported_ns = r->now_ns;
	}
	if (kind != HPCC_FAST && kind != HPCC_FULL) {
		FUZZ_ASSERT(r->rx.last_update_ns == updated_ns);
		return;
	}
	fuzz_hpcc_u_holds(&was, &r->rx.cc, &r->params, &r->ack);
	fuzz_vai_holds(&was.vai, &r->rx.cc.vai, &r->params);
	fuzz_hpcc_rate_holds(&r->rx.cc, &r->params);
	if (r->params.variant == HPCC_VAI_SF)
		return;
	fuzz_hpcc_window_holds(&r->rx.cc, &r->params, was.wc, was.inc_stage, r->params.w_ai);
	if (kind == HPCC_FULL)
		FUZZ_ASSERT(r->now_ns > updated_ns + r->params.t_ns);
}

/*
 * One packet, against sets that forget nothing. An epoch ends with the first packet behind its length, if its flows were seen
 * twice, or behind RX_COUNT_LONGEST lengths; its count is dropped if it ended long ago. slack: the counter's clock is coarse.
 */
static void receiver_count(struct receiver *r, struct fuzz *f)
{
	__u64 slack = 2ULL << RX_COUNT_SHIFT, passed = r->now_ns - r->began_ns, since = r->counter.now >> 32;
	__u32 i = fuzz_u8(f) % FLOWS, flows = __builtin_popcount(r->seen), before;

	if (r->began_ns && passed >= ((1ULL << 32) - RX_COUNT_LATE) << RX_COUNT_SHIFT) /* its clock wraps */
		return;
	rx_count(&r->counter, &r->mark[i], r->now_ns, r->epoch_ns);
	if (r->counter.now >> 32 != since) {
		if (r->began_ns)
			FUZZ_ASSERT(passed + slack >= r->epoch_ns * (r->packets >= 2 * flows ? 1 : RX_COUNT_LONGEST));
		FUZZ_ASSERT(r->counter.before == flows || (!r->counter.before && passed + slack >= 2 * r->epoch_ns));
		r->before = r->counter.before ? r->seen : 0;
		r->began_ns = r->now_ns;
		r->seen = r->packets = 0;
	} else {
		FUZZ_ASSERT(passed < slack + r->epoch_ns * (r->packets >= 2 * flows ? 1 : RX_COUNT_LONGEST));
	}
	r->seen |= 1U << i;
	r->packets++;
	flows = __builtin_popcount(r->seen);
	before = __builtin_popcount(r->before);
	FUZZ_ASSERT((__u32)r->counter.now == flows && rx_counted(&r->counter) == (flows > before ? flows : before));
}

/* The length of an epoch changes with a reload: the count may be less meanwhile, and is never more. */
static void receiver_count_anyhow(struct fuzz *f)
{
	struct rx_counter c = {};
	__u32 mark[FLOWS] = {};
	__u64 now = fuzz_any(f), epoch_ns = fuzz_any(f);
	int op;

	while ((op = fuzz_op(f, FLOWS + 2)) >= 0) {
		if (op == FLOWS)
			now = fuzz_any(f);
		else if (op == FLOWS + 1)
			epoch_ns = fuzz_any(f);
		else
			rx_count(&c, &mark[op], now, epoch_ns);
		FUZZ_ASSERT(rx_counted(&c) <= FLOWS);
	}
}

static void receiver_flows(struct receiver *r, struct fuzz *f)
{
	__u32 n = fuzz_u32(f), expected = fuzz_in(f, 1, RX_N_MAX), counted = fuzz_in(f, 0, RX_FLOWS_MAX), chosen, scaled;
	__u64 bps = fuzz_in(f, 0, (1ULL << 44) - 1);

	chosen = rx_flows_choose(r->certainty, expected, counted);
	FUZZ_ASSERT(chosen == expected || chosen == counted + counted / 2);
	FUZZ_ASSERT(chosen <= RX_N_MAX && chosen);
	if (r->certainty && r->certainty < RX_OWN_MAX)
		FUZZ_ASSERT(chosen >= expected);
	/* A slower bottleneck never makes the increase larger. */
	scaled = rx_flows_scale(&r->params, n, bps);
	FUZZ_ASSERT(scaled >= n && (scaled == n || scaled <= RX_N_MAX));
	rx_flows(&r->params, fuzz_coin(f) ? chosen : scaled, bps);
}

static void receiver_port(struct receiver *r, struct fuzz *f)
{
	int last_hop = fuzz_coin(f);
	__u8 was = r->certainty;

	r->certainty = rx_own_port(was, last_hop);
	FUZZ_ASSERT(r->certainty <= RX_OWN_MAX && r->certainty - was <= 1 && was - r->certainty <= 1);
	FUZZ_ASSERT(last_hop ? r->certainty >= was : r->certainty <= was);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };
	struct receiver r = {};
	int op;

	fuzz_hpcc_params(&f, &r.params);
	rx_init(&r.rx, &r.params);
	r.epoch_ns = fuzz_in(&f, 8 * 1000, NSEC_PER_SEC); /* 8 T */
	r.now_ns = fuzz_in(&f, 0, 1ULL << 60);
	while ((op = fuzz_op(&f, 12)) >= 0) {
		switch (op) {
		case 0:
			r.now_ns += fuzz_in(&f, 0, r.epoch_ns * 3);
			break;
		case 1:
		case 2:
			receiver_count(&r, &f);
			break;
		case 3:
			receiver_flows(&r, &f);
			break;
		case 4:
			receiver_port(&r, &f);
			break;
		case 5:
			rx_resume(&r.rx, &r.params, fuzz_u32(&f), fuzz_any(&f));
			break;
		case 6:
			hpcc_params_variant(&r.params, fuzz_u8(&f) % (HPCC_VARIANTS + 1));
			break;
		case 7:
			receiver_count_anyhow(&f);
			break;
		default:
			r.now_ns += fuzz_in(&f, 0, 1 << 30);
			receiver_packet(&r, &f);
		}
		fuzz_hpcc_holds(&r.rx.cc, &r.params);
	}
	return 0;
}

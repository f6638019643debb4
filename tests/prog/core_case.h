/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TEST_CORE_CASE_H
#define SLUICE_TEST_CORE_CASE_H
/* Everything that the core's functions read and write, for core.bpf.c and core_test.c alike. */
#include "sluice/cc/ceiling.h"
#include "sluice/rack/hiercc.h"
#include "sluice/wire/intmd.h"
#include "sluice/pause/arrive.h"
#include "sluice/cc/rx.h"
#include "sluice/wire/siphash.h"

struct core_case {
	struct hpcc_params params;
	struct hpcc_state state;
	struct hpcc_ack ack;
	struct rx_state rx;
	struct rx_counter counter;
	struct ceiling ceiling;
	struct ceiling_sample sample;
	struct hiercc_params voq_params;
	struct hiercc_voq voq;
	struct hiercc_hop_params hop_params;
	struct hiercc_hop hop;
	struct hiercc_seen seen;
	struct hiercc_due due;
	struct hiercc_port port;
	struct hiercc_ring ring;
	struct hiercc_told told_credit;
	struct pfc_obey_params obey_params;
	struct pfc_obey obey;
	struct pfc_params gate;
	struct pfc_told told;
	struct ppfc_params ppfc;
	struct ppfc_random random;
	struct ppfc_queue queue[4];
	struct ppfc_share share[4];
	struct ppfc_meter meter;
	struct ppfc_blame blame;
	__u64 departure_ns;
	__u32 total, pad;
	struct siphash_key key;
	struct intmd_values values;
	struct intmd_path path;
	__u64 now_ns, bytes, tag;
	__u32 mark, n, out_bytes;
	int verdict, report;
	__u32 word[27];
	__u8 hdr[INTMD_HDR_BYTES];
	__u8 out[INTMD_HOP_BYTES_MAX];
	__u8 stack[INTMD_STACK_BYTES_MAX];
};

/* Name of a program, and what it does with the case c. */
#define CORE_PROGRAMS(X)                                                                                               \
	X(core_hpcc, c->verdict = hpcc_new_ack(&c->state, &c->params, &c->ack))                                        \
	X(core_variant, hpcc_params_variant(&c->params, (enum hpcc_variant)c->n))                                      \
	X(core_rx, c->verdict = rx_new_int(&c->rx, &c->params, &c->ack, c->now_ns, &c->report))                        \
	X(core_rx_window, c->verdict = rx_window(&c->state, &c->params, c->bytes))                                     \
	X(core_rx_flows, c->verdict = rx_flows(&c->params, c->n, c->bytes >> 20))                                      \
	X(core_rx_count, rx_count(&c->counter, &c->mark, c->now_ns, c->params.t_ns))                                   \
	X(core_ceiling, c->verdict = ceiling_feedback(&c->ceiling, &c->params, &c->sample);                            \
	  ceiling_apply(&c->ceiling, &c->params, &c->state, c->report))                                                \
	X(core_ceiling_lost, c->verdict = ceiling_lost(&c->ceiling, &c->params, c->state.w))                           \
	X(core_voq_init, hiercc_params_init(&c->voq_params, c->bytes, c->n, c->mark))                                  \
	X(core_voq_send,                                                                                               \
	  c->verdict = hiercc_send(&c->voq, &c->voq_params, c->now_ns, c->word[0] >> 12, &c->total, &c->departure_ns)) \
	X(core_voq_credit,                                                                                             \
	  c->verdict = hiercc_credit(&c->voq, &c->voq_params, c->now_ns, c->voq.credit + c->n, c->report, c->mark))    \
	X(core_voq_see, hiercc_see(&c->seen, c->n, c->mark, c->word[0], c->word[1], 75000))                            \
	X(core_voq_judge, c->verdict = hiercc_judge(&c->due, &c->voq_params, &c->seen, c->now_ns, c->word[0] >> 12))   \
	X(core_voq_budget, hiercc_budget(&c->port, c->bytes))                                                          \
	X(core_ring_learn, c->verdict = hiercc_ring_enter(&c->ring, c->now_ns);                                        \
	  if (c->verdict) hiercc_ring_clock(&c->ring, c->now_ns, c->word[0] >> 12);                                    \
	  c->n = hiercc_ring_learn(&c->ring, &c->due, c->mark, &c->voq_params, &c->seen, c->now_ns);                   \
	  hiercc_ring_leave(&c->ring, c->now_ns - c->report))                                                          \
	X(core_ring_grant, hiercc_ring_clock(&c->ring, c->now_ns, c->word[0] >> 12);                                   \
	  hiercc_ring_enlist(&c->ring, &c->due, c->mark); c->n = hiercc_ring_next(&c->ring);                           \
	  if (c->n != HIERCC_NONE) c->total = hiercc_ring_grant(&c->ring, &c->due, c->n))                              \
	X(core_ring_tell, hiercc_ring_note(&c->ring, &c->told_credit, c->mark); c->n = hiercc_ring_untold(&c->ring);   \
	  c->verdict = hiercc_ring_tells(&c->ring, &c->due, &c->told_credit, c->now_ns, c->bytes))                     \
	X(core_hop_rate, c->verdict = hiercc_arrival(&c->hop, &c->hop_params, c->now_ns, c->bytes);                    \
	  hiercc_rate(&c->hop, &c->hop_params, c->n, c->word[0]))                                                      \
	X(core_pfc_frame, pfc_set((struct pfc_frame *)c->stack, c->n & 7, c->mark);                                    \
	  c->verdict = pfc_check((struct pfc_frame *)c->stack, 60 + c->report))                                        \
	X(core_pfc_hear, c->verdict = pfc_hear(&c->obey, &c->obey_params, c->now_ns, c->mark & 0xffff);                \
	  c->departure_ns = pfc_asked(&c->obey, &c->obey_params, c->now_ns, 0))                                        \
	X(core_pfc_ingress, c->verdict = pfc_ingress(&c->told, &c->gate, c->now_ns, c->word[0] >> 14,                  \
						     c->word[1] >> 12, &c->departure_ns))                              \
	X(core_ppfc_predict, c->total = ppfc_predict(c->queue, 4, &c->ppfc, c->word[0], c->word[1] >> 12);             \
	  c->bytes = ppfc_duration(c->share, c->queue, &c->ppfc, c->word[1] >> 12, c->obey_params.bps);                \
	  c->verdict = ppfc_tell(&c->told, c->now_ns, c->bytes, c->obey_params.bps, c->share, c->word[1] >> 12);       \
	  c->bytes += ppfc_returning(&c->told, c->now_ns, -5, c->word[2] >> 12))                                       \
	X(core_ppfc_choose, c->total = ppfc_choose(c->share, 4, &c->ppfc, &c->random))                                 \
	X(core_ppfc_meter, c->verdict = ppfc_meter_step(&c->meter, c->now_ns, c->queue[0].bytes,                       \
							ppfc_window_ns(c->obey_params.bps, c->n & 0xffff));            \
	  c->queue[1] = ppfc_seen(&c->meter, c->now_ns + c->mark, c->queue[1].bytes, c->obey_params.bps, c->bytes);    \
	  ppfc_seen_end(&c->queue[1]);                                                                                 \
	  c->share[0] = ppfc_share_now(c->share[0].bytes, c->share[1].bytes, c->share[2].increment))                   \
	X(core_ppfc_blame, c->blame = (struct ppfc_blame){};                                                           \
	  ppfc_blame_add(&c->blame, c->queue, c->queue + 1, 0, &c->ppfc, c->word[1] >> 12);                            \
	  ppfc_blame_add(&c->blame, c->queue, c->queue + 2, 1, &c->ppfc, c->word[1] >> 12);                            \
	  c->verdict = ppfc_blames(&c->blame, c->queue, &c->ppfc, c->word[0], c->word[1] >> 12))                       \
	X(core_ppfc_draw, ppfc_draw_ports(c->share, 4, &c->ppfc, &c->random))                                          \
	X(core_siphash, c->tag = siphash(&c->key, c->word, c->n, 27))                                                  \
	X(core_source, intmd_source(c->hdr, c->n, c->report))                                                          \
	X(core_transit, c->verdict = intmd_transit(c->hdr, c->n, c->mark, &c->values, c->out, &c->out_bytes))          \
	X(core_sink, c->verdict = intmd_sink(c->hdr, c->stack, c->n, &c->path))

#endif

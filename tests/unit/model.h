/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TEST_MODEL_H
#define SLUICE_TEST_MODEL_H
/*
 * Algorithm 1 of the HPCC paper (SIGCOMM 2019) in double precision, written from the paper: the
 * yardstick of the integer core. It knows nothing of the core's headers, of fixed point or of
 * fields that wrap: its input is the true measurements, at full width.
 */
#define MODEL_HOPS 5

struct model_hop {
	double bps;
	double ts_ns;
	double tx_bytes;
	double qlen_bytes;
};

struct model_ack {
	double seq, snd_nxt;
	int path_id;
	int hops;
	struct model_hop hop[MODEL_HOPS];
};

struct model_params {
	double t_ns;
	double w_init, w_min, w_ai; /* bytes */
	double eta;
	int max_stage;
	double chance;	      /* a queue of this many bytes is none */
	double packet;	      /* a W below it sends this much in packet / W round trips, bytes */
	double idle_ns;	      /* a longer pause between two feedbacks starts anew, */
	double tx_wrap_bytes; /* as does one in which a port can send this much */
	/* Variable AI and Sampling Frequency ("Convergence to fairness", Algorithms 1 and 2) */
	int vai;
	double token_thresh, ai_div, bank_cap, ai_cap, dampener_div;
	int every;
};

struct model {
	double u, w, wc, rate_bps;
	int inc_stage;
	double round_ns;
	double last_update_seq;
	int path_id, hops;
	struct model_hop last[MODEL_HOPS];
	unsigned long ties; /* that a hint decided */
	double measured, dampener, bank;
	int congested, feedbacks;
};

/*
 * The result of the implementation under test for the same feedback. Algorithm 1 is discontinuous: at
 * U = eta, and where two hops are equally loaded but were seen over different times. Within
 * MODEL_TIE (relative) of such a point rounding may decide either way and both are right; there,
 * and only there, the model goes the way of the hint.
 */
struct model_hint {
	double u;
	int inc_stage;
	int full; /* Wc was committed */
};

#define MODEL_TIE 1e-4

enum model_kind { MODEL_FIRST, MODEL_FAST, MODEL_FULL, MODEL_SKIPPED };

void model_init(struct model *m, const struct model_params *p);
enum model_kind model_new_ack(struct model *m, const struct model_params *p, const struct model_ack *ack,
			      const struct model_hint *hint);
const char *model_kind_name(enum model_kind kind);

#endif

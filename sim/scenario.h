/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_SCENARIO_H
#define SLUICE_SIM_SCENARIO_H
/*
 * The scenario: a small YAML file, whose keys are the rows of scenario_keys.c. Any value may be overridden by
 * SECTION.KEY=VALUE. Speeds in bit/s, times in ns, sizes in bytes.
 */
#include "sluice/types.h"

enum topology_kind { TOPOLOGY_STAR, TOPOLOGY_DUMBBELL, TOPOLOGY_PARKING, TOPOLOGY_LEAF_SPINE, TOPOLOGY_FAT_TREE };
enum load_kind { LOAD_FLOWS, LOAD_INCAST, LOAD_POISSON, LOAD_MATRIX };
enum stamp_kind { STAMP_DEQUEUE, STAMP_ENQUEUE, STAMP_NONE };
enum pause_kind { PAUSE_NONE, PAUSE_PFC, PAUSE_PPFC };
enum hiercc_kind { HIERCC_OFF, HIERCC_CREDIT, HIERCC_RATES };
enum grant_kind { GRANT_ARRIVAL, GRANT_ROUND };
enum recovery_kind { RECOVERY_GO_BACK, RECOVERY_SELECTIVE };
enum carriage_kind { CARRIAGE_PACKET, CARRIAGE_COMPANION };
enum moment_kind { MOMENT_ACK, MOMENT_DATA };

/* One part of the workload. */
struct load {
	char *name; /* name in the results */
	__u8 kind;
	__u8 class;
	/* flows: `count` flows, from the host `from` and those after it, each to the host `to` */
	__u32 from, to, count, step;
	__u8 to_given;	/* poisson: all flows go there */
	__u32 together; /* flows that start at once; the next ones follow after gap */
	__u64 start_ns, gap_ns, jitter_ns;
	__u64 size; /* bytes; 0: endless, or by sizes */
	__u64 rate; /* bit/s that each sends at most; 0: no limit */
	/* incast: count hosts, drawn anew each time, send to one; poisson: from each host to any other */
	double share; /* mean load as a share of the speed of all hosts */
	char *sizes;  /* name of a distribution, or its file */
	char *file;   /* matrix: its connections */
	__u64 period_ns;
};

struct scenario {
	char *name;
	struct {
		char *file; /* that the other values come from; NULL: none */
		__u8 kind;
		__u32 hosts; /* of a leaf; of a star: all; of each side of a dumbbell; of each switch of a parking lot */
		__u32 leaves, spines, pods, cores;
		__u64 speed, uplink, core;
		__u64 delay_ns, uplink_delay_ns;
	} topology;
	struct {
		__u64 buffer;
		__u8 stamp, rx_rate, pause, arrival;
		double alpha;
		__u64 ecn_min, ecn_max, round_ns, late_ns, t_thresh_ns, k_max, fixed_ns;
		double ecn_most, r;
		__u64 cost_ns;
	} sw;
	struct {
		__u32 payload, header, ack, ack_every, slack, burst, stamps;
		__u64 late_ns, rto_ns, ack_late_ns;
		__u8 recovery, windows, carriage, handshake;
	} host;
	struct {
		__u8 moment;
		__u32 bytes, after, first, packets, busy_packets;
		__u64 every_ns, late_ns;
	} companion;
	char *scheme;
	struct {
		double eta;
		__u32 max_stage, flows, vai_every;
		unsigned int stages;
		__u64 w_ai, w_min, t_ns, rtt_second_ns;
		__u8 per_ack, per_rtt, vai;
	} hpcc;
	struct {
		__u64 cnp_ns, alpha_ns, timer_ns;
		__u32 fast;
	} dcqcn;
	struct {
		__u8 mode, port, grant;
		__u64 period_ns, late_ns, c0;
		double eta, lose, repeat, reorder;
		__u64 cost_ns;
	} hiercc;
	struct {
		__u64 time_ns, warmup_ns, sample_ns, series_ns, seed;
		__u8 drain;
		char *queue; /* ports whose queues are sampled */
	} run;
	struct load *loads;
	__u32 loads_count;
};

/* Reads a file and then the overrides. NULL on an error, with a message that has its line. */
struct scenario *scenario_load(const char *path, char **overrides, int count);
void scenario_free(struct scenario *s);

/* Builds the network. Returns 0, or -1 with a message. */
int topology_build(const struct scenario *s);
/* The least round trip of a full packet and its ACK between the hosts furthest apart, and the switches in between. */
__u64 topology_rtt_ns(__u32 *hops);

/* Starts the flows of a workload, now and as time advances. Returns 0, or -1 with a message. */
int loads_begin(const struct scenario *s);
void load_on_next(__u32 load); /* EVENT_LOAD */
void loads_end(void);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* The keys of a scenario. */
#include "lib/config/keys.h"
#include "sim/scenario.h"
#include "sim/scenario_keys.h"

#define USEC 1000ULL
#define SECOND 1000000000ULL

static const struct word topology_words[] = {
	{ "star", TOPOLOGY_STAR },	     { "dumbbell", TOPOLOGY_DUMBBELL },
	{ "parking-lot", TOPOLOGY_PARKING }, { "leaf-spine", TOPOLOGY_LEAF_SPINE },
	{ "fat-tree", TOPOLOGY_FAT_TREE },   {}
};
static const struct word load_words[] = {
	{ "flows", LOAD_FLOWS }, { "incast", LOAD_INCAST }, { "poisson", LOAD_POISSON }, { "matrix", LOAD_MATRIX }, {}
};
static const struct word stamp_words[] = {
	{ "dequeue", STAMP_DEQUEUE }, { "enqueue", STAMP_ENQUEUE }, { "none", STAMP_NONE }, {}
};
static const struct word pause_words[] = { { "none", PAUSE_NONE }, { "pfc", PAUSE_PFC }, { "ppfc", PAUSE_PPFC }, {} };
static const struct word hiercc_kind_words[] = {
	{ "off", HIERCC_OFF }, { "credit", HIERCC_CREDIT }, { "rates", HIERCC_RATES }, {}
};
static const struct word grant_words[] = { { "arrival", GRANT_ARRIVAL }, { "round", GRANT_ROUND }, {} };
static const struct word recovery_words[] = { { "go-back-n", RECOVERY_GO_BACK },
					      { "selective", RECOVERY_SELECTIVE },
					      {} };

static const struct word carriage_words[] = { { "packet", CARRIAGE_PACKET }, { "companion", CARRIAGE_COMPANION }, {} };
static const struct word moment_words[] = { { "ack", MOMENT_ACK }, { "data", MOMENT_DATA }, {} };

/* clang-format off: a row reads as a row */
#define AT(member) FIELD(struct scenario, member)
#define COUNT(name, member, least, greatest, is, what)                                               \
	{                                                                                            \
		name, &config_number, AT(member), .min = least, .max = greatest, .preset = is,       \
						  .range = "a number from " #least " to " #greatest, \
						  .refusal = "is not from " #least " to " #greatest, \
						  .example = is ?: #least, .meaning = what           \
	}
/* Or the word auto, which is 0. */
#define AUTO(name, member, greatest, is, what)                                                                      \
	{                                                                                                           \
		name, &config_flows, AT(member),                                                                    \
			.min = 1, .max = greatest, .preset = is, .range = "auto, or a number from 1 to " #greatest, \
			.refusal = "is neither auto nor from 1 to " #greatest, .example = is, .meaning = what       \
	}
#define SPEED(name, member, is, what)                                                                       \
	{                                                                                                   \
		name, &config_speed, AT(member), .min = CONFIG_SPEED_MIN_BPS, .max = CONFIG_SPEED_MAX_BPS,  \
						 .preset = is, .range = "a speed from 0.1Mbit to 1000Gbit", \
						 .example = "100Gbit", .meaning = what                      \
	}
#define TIME(name, member, is, what)                                                                                  \
	{                                                                                                             \
		name, &config_time, AT(member), .max = 1000 * SECOND, .preset = is,                                   \
						.range = "a time of at most 1000s", .example = "1us", .meaning = what \
	}
#define BYTES(name, member, is, what)                                                                     \
	{                                                                                                 \
		name, &config_bytes, AT(member), .max = 1e12, .preset = is, .range = "a number of bytes", \
						 .example = "32MB", .meaning = what                       \
	}
#define PART(name, member, least, greatest, is, what)                                                  \
	{                                                                                              \
		name, &config_fraction, AT(member), .min = least, .max = greatest, .preset = is,       \
						    .range = "a number from " #least " to " #greatest, \
						    .example = "0.5", .meaning = what                  \
	}
#define WORD(name, member, list, is, what)                                                   \
	{                                                                                    \
		name, &config_word, AT(member), .words = list, .preset = is, .meaning = what \
	}

static const struct config_key topology_keys[] = {
	{ "file", &config_string, AT(topology.file), .most = 4000, .range = "the name of a file",
	  .example = "fabric.topo",
	  .meaning = "a .topo of uet-htsim, which gives the other keys their values where the scenario does not" },
	WORD("kind", topology.kind, topology_words, "star", "how nodes are joined"),
	COUNT("hosts", topology.hosts, 1, 100000, "16", "hosts of each switch that has any"),
	COUNT("leaves", topology.leaves, 1, 10000, "4", "switches with hosts; of a pod, where there are pods"),
	COUNT("spines", topology.spines, 1, 10000, "4", "switches above them; of a pod, where there are pods"),
	COUNT("pods", topology.pods, 1, 10000, "5", "of a fat tree"),
	COUNT("cores", topology.cores, 1, 10000, "16", "of a fat tree: a multiple of spines"),
	SPEED("speed", topology.speed, "100Gbit", "of the link of a host"),
	SPEED("uplink", topology.uplink, NULL, "of links between leaves and spines, or between leaves; none: speed"),
	SPEED("core", topology.core, NULL, "of links between spines and cores; none: uplink"),
	TIME("delay", topology.delay_ns, "1us", "of the link of a host, one way"),
	TIME("uplink_delay", topology.uplink_delay_ns, "1us", "of all other links"),
	{}
};

static const struct config_key switch_keys[] = {
	BYTES("buffer", sw.buffer, "32MB", "shared by all ports of a switch, without headroom"),
	WORD("stamp", sw.stamp, stamp_words, "dequeue",
	     "when telemetry is taken: as in the papers, or as clsact does it; none: switches stamp nothing"),
	{ "rx_rate", &config_word, AT(sw.rx_rate), .words = flag_words, .preset = "false",
	  .meaning = "telemetry tells what came in for a port, not what left it (HPCC, section 3.4)" },
	WORD("pause", sw.pause, pause_words, "none", "what keeps the buffer from running over"),
	PART("alpha", sw.alpha, 0.01, 16, "0.125",
	     "of the free buffer, what one ingress port may fill, or without pauses one queue"),
	BYTES("ecn_min", sw.ecn_min, "100KB",
	      "queue from which on packets are marked, for 25 Gbit/s; other speeds in proportion"),
	BYTES("ecn_max", sw.ecn_max, "400KB", "queue from which on all are"),
	PART("ecn_most", sw.ecn_most, 0, 1, "0.2", "chance of a mark at ecn_max"),
	{ "arrival", &config_word, AT(sw.arrival), .words = flag_words, .preset = "true",
	  .meaning = "pauses are decided where a packet enters the buffer; false: by the looks of a daemon alone" },
	TIME("round", sw.round_ns, NULL,
	     "time between two looks of a daemon at the queues; none: XON when a packet leaves, or with arrival: false each us"),
	TIME("late", sw.late_ns, NULL, "a look is late by up to that"),
	TIME("cost", sw.cost_ns, NULL, "of each pause of a round, which later ones wait for"),
	TIME("t_thresh", sw.t_thresh_ns, NULL, "ppfc: acts if the buffer lasts for less; none: twice Equation 5"),
	BYTES("k_max", sw.k_max, NULL,
	      "ppfc: a queue that is not longer is left alone; none: a twentieth of the buffer"),
	PART("r", sw.r, 0.01, 1, "0.8", "ppfc: R of Algorithm 2"),
	TIME("fixed", sw.fixed_ns, NULL, "ppfc: all pauses last that long; none: by Algorithm 3"),
	{}
};

static const struct config_key host_keys[] = {
	COUNT("payload", host.payload, 64, 65000, "1000", "bytes of a full packet"),
	COUNT("header", host.header, 0, 1000, "90", "bytes of a packet besides"),
	COUNT("ack", host.ack, 20, 1500, "102", "bytes of an ACK"),
	COUNT("ack_every", host.ack_every, 1, 1000, "1", "packets of which one is acknowledged"),
	TIME("ack_late", host.ack_late_ns, "40ms", "an ACK waits for so long for another packet"),
	AUTO("burst", host.burst, 1000, "1",
	     "packets that leave in a row, as GSO makes them of one large packet; auto: by rate and window, as Linux does"),
	COUNT("stamps", host.stamps, 0, 1000, "1000", "packets of a burst, from its first on, that carry telemetry"),
	WORD("carriage", host.carriage, carriage_words, "packet",
	     "what carries telemetry: each packet of data, or companions beside them"),
	COUNT("slack", host.slack, 0, 1000, "0", "packets on top of the window"),
	TIME("late", host.late_ns, NULL, "departures are late by up to that"),
	TIME("rto", host.rto_ns, NULL, "of the retransmission timer; none: 20 T, and 1 ms at least"),
	WORD("recovery", host.recovery, recovery_words, "selective",
	     "what a receiver does with what comes out of order"),
	{ "windows", &config_word, AT(host.windows), .words = flag_words, .preset = "true",
	  .meaning = "whether windows are obeyed, or rates alone" },
	{ "handshake", &config_word, AT(host.handshake), .words = flag_words, .preset = "false",
	  .meaning =
		  "whether a flow begins with a companion, as SYN has one, whose answer tells N before the first data" },
	{}
};

static const struct config_key companion_keys[] = {
	WORD("moment", companion.moment, moment_words, "data",
	     "a companion is made when data leaves, or when an ACK arrives"),
	COUNT("bytes", companion.bytes, 64, 1500, "150", "bytes of a companion"),
	COUNT("after", companion.after, 0, 1000000, "2", "packets that a flow sends before its first companion"),
	COUNT("packets", companion.packets, 0, 1000000, "8",
	      "packets of data between two companions of a flow, at least"),
	COUNT("busy_packets", companion.busy_packets, 0, 1000000, "8", "the same while U is above eta"),
	TIME("every", companion.every_ns, NULL,
	     "time between two companions of a flow, at least, unless U is above eta; none: T"),
	TIME("late", companion.late_ns, NULL, "after which one is due with any packet; none: 2 T"),
	COUNT("first", companion.first, 0, 1000000, "8", "companions of a flow that do not wait for every"),
	{}
};

static const struct config_key hpcc_keys[] = {
	PART("eta", hpcc.eta, 0.5, 1, "0.95", "target utilisation of a port"),
	COUNT("max_stage", hpcc.max_stage, 0, 255, "5", "additive increases in a row before a multiplicative one"),
	WORD("stages", hpcc.stages, stages_words, "time",
	     "what max_stage counts. time: round trips of T; rounds: rounds of feedback, as Algorithm 1 is printed"),
	AUTO("flows", hpcc.flows, 16777216, "100",
	     "N: W_AI is W_init (1 - eta) / N. auto, with the scheme sluice: as receivers count it, 12 before that"),
	WORD("vai", hpcc.vai, vai_preset_words, "derived",
	     "vai-sf: its parameters, derived from W_init and flows, or the paper's"),
	COUNT("vai_every", hpcc.vai_every, 1, 10000, NULL,
	      "vai-sf: s, feedbacks between two decreases; none: a tenth of the packets of W_init"),
	BYTES("w_ai", hpcc.w_ai, NULL, "W_AI itself"),
	BYTES("w_min", hpcc.w_min, NULL, "floor of W; none: W_init/1000, at least 60 bytes"),
	TIME("base_rtt", hpcc.t_ns, NULL, "T; none: the least round trip between the hosts furthest apart, and 1 us"),
	TIME("rtt_second", hpcc.rtt_second_ns, NULL,
	     "T is measured, as base_rtt: auto does, with a second of its windows that long; none: it is as base_rtt says"),
	{ "per_ack", &config_word, AT(hpcc.per_ack), .words = flag_words, .preset = "false",
	  .meaning = "W is computed from the last W by each ACK (Figure 13 of HPCC)" },
	{ "per_rtt", &config_word, AT(hpcc.per_rtt), .words = flag_words, .preset = "false",
	  .meaning = "W is computed once in a round trip" },
	{}
};

static const struct config_key dcqcn_keys[] = {
	TIME("cnp", dcqcn.cnp_ns, "4us", "least between two CNPs for a flow"),
	TIME("alpha", dcqcn.alpha_ns, "1us", "between two updates of alpha"),
	TIME("timer", dcqcn.timer_ns, "300us", "between two increases of the rate"),
	COUNT("fast", dcqcn.fast, 0, 100, "1", "increases of fast recovery, before additive ones"),
	{}
};

static const struct config_key hiercc_keys[] = {
	WORD("mode", hiercc.mode, hiercc_kind_words, "off",
	     "credit: what leaves a rack is covered by credit; rates: and flows obey the rate of Equation 1"),
	WORD("grant", hiercc.grant, grant_words, "round",
	     "where credit is granted: in rounds of a daemon, as sluiced does, or with each packet that arrives"),
	TIME("period", hiercc.period_ns, "100us", "of those rounds, which with arrival are the second line"),
	TIME("late", hiercc.late_ns, "50us", "a round is late by up to that"),
	BYTES("c0", hiercc.c0, NULL, "C0; none: what a round trip of credit takes, in rounds with the period"),
	PART("eta", hiercc.eta, 0.1, 1, "0.98", "of a port, what is granted"),
	{ "port", &config_word, AT(hiercc.port), .words = flag_words, .preset = "true",
	  .meaning = "whether HPCC minds the receiver's port too, or leaves it to the credits" },
	TIME("cost", hiercc.cost_ns, NULL, "of each message, which later ones of a round wait for"),
	PART("lose", hiercc.lose, 0, 0.9, "0", "of the messages"),
	PART("repeat", hiercc.repeat, 0, 0.9, "0", "of the messages"),
	PART("reorder", hiercc.reorder, 0, 0.9, "0", "of the messages, that come later by three periods"),
	{}
};

static const struct config_key run_keys[] = {
	TIME("time", run.time_ns, "10ms", "until which flows begin, and that is simulated"),
	TIME("warmup", run.warmup_ns, NULL, "of which flows and queues are not counted"),
	TIME("sample", run.sample_ns, "1us", "between two looks at queues and rates"),
	TIME("series", run.series_ns, NULL,
	     "between two samples of --series, a multiple of sample; none: a thousandth of time, and sample at least"),
	COUNT("seed", run.seed, 0, 4294967295, "1", "of all that is random"),
	{ "drain", &config_word, AT(run.drain), .words = flag_words, .preset = "true",
	  .meaning = "whether it goes on until all flows are done" },
	{ "queue", &config_string, AT(run.queue), .most = 40, .preset = "to-hosts",
	  .chars = "abcdefghijklmnopqrstuvwxyz-0123456789", .range = "all, to-hosts, or host-N",
	  .note = "to-hosts: the ports of switches that hosts are at", .example = "host-16",
	  .meaning = "ports whose queues are sampled" },
	{}
};

#undef AT
#define AT(member) FIELD(struct load, member)
static const struct config_key load_keys[] = {
	{ "name", &config_string, AT(name), .required = true, .most = 40, .range = "a text", .example = "mice",
	  .meaning = "of this part of the workload, in the results" },
	WORD("kind", kind, load_words, "flows",
	     "which flows: listed, many to one again and again, each host to any other, or those of a file"),
	COUNT("from", from, 0, 99999, "0", "flows: the first host that sends; then those after it"),
	{ "to", &config_number, AT(to), .max = 99999, .preset = "0", .range = "a number from 0 to 99999",
	  .refusal = "is not from 0 to 99999", .example = "0", .given = AT(to_given),
	  .meaning = "the host that receives; poisson, incast: none: any, drawn anew each time" },
	COUNT("step", step, 1, 99999, "1", "flows: from one sender to the next"),
	COUNT("count", count, 1, 1000000, "1", "flows, or hosts that send at once to one"),
	COUNT("together", together, 1, 1000000, "1000000", "flows: how many of them begin together"),
	TIME("gap", gap_ns, NULL, "flows: until the next ones begin"),
	TIME("start", start_ns, NULL, "when the first begin; matrix: its time 0"),
	TIME("jitter", jitter_ns, NULL, "flows: each begins later, at random, by up to that"),
	BYTES("size", size, NULL, "of a flow; none: by sizes, or without an end"),
	SPEED("rate", rate, NULL, "flows: that each sends at most; none: what its scheme allows"),
	{ "sizes", &config_string, AT(sizes), .most = 200,
	  .range = "websearch, fb-hadoop, ali-storage, cache-follower, data-mining, or a file", .example = "websearch",
	  .meaning = "distribution of sizes" },
	{ "file", &config_string, AT(file), .most = 4000, .range = "the name of a file", .example = "incast.cm",
	  .meaning = "matrix: a .cm of uet-htsim, a flow a line" },
	PART("share", share, 0, 1, NULL, "incast, poisson: of the speed of all hosts, as a mean"),
	TIME("period", period_ns, NULL, "incast, poisson: mean time between two arrivals, in place of share"),
	COUNT("class", class, 1, 2, "1", "class of traffic"),
	{}
};
static const struct config_table load_table = { load_keys, sizeof(struct load) };
/* clang-format on */

#define SECTION(title, keys)                                                  \
	{                                                                     \
		title, &config_section, .table = &(const struct config_table) \
		{                                                             \
			keys, 0                                               \
		}                                                             \
	}

static const struct config_key top_keys[] = {
	SECTION("topology", topology_keys),
	SECTION("switch", switch_keys),
	SECTION("host", host_keys),
	SECTION("companion", companion_keys),
	{ "scheme", &config_string, FIELD(struct scenario, scheme), .most = 40, .preset = "hpcc",
	  .range = "a scheme: sluice-sim --list-schemes names them", .example = "hpcc",
	  .meaning = "congestion control of all flows; some, as sluice, come with other defaults of other keys" },
	SECTION("hpcc", hpcc_keys),
	SECTION("dcqcn", dcqcn_keys),
	SECTION("hiercc", hiercc_keys),
	SECTION("run", run_keys),
	{ "loads", &config_entries, FIELD_POINTER(struct scenario, loads), .required = true, .most = 64,
	  .range = "a list of entries", .table = &load_table, .count = FIELD(struct scenario, loads_count),
	  .meaning = "the workload, part by part" },
	{}
};
const struct config_table scenario_top = { top_keys, 0 };

// SPDX-License-Identifier: GPL-2.0-only
/* The keys of the whole configuration, a section after the other. Those of its lists are in keys_entries.c. */
#include "lib/config.h"
#include "lib/config/check.h"
#include "lib/config/keys.h"
#include "sluice/pause/ppfc.h"
#include "sluice/wire/wire.h"

#define USEC 1000ULL
#define MSEC 1000000ULL
#define CONFIG_PFC_BUFFER_MAX 1000000000 /* pfc.h goes to 2^30 */
/* The kernel's rule for the names of BPF objects. */
#define CONFIG_CC_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* clang-format off: a row reads as a row */

static const struct config_key tcp_keys[] = {
	{ "name", &config_string, FIELD(struct config, tcp.name), .most = 15, .chars = CONFIG_CC_CHARS,
	  .range = "letters, digits, '_' and '.'", .note = "1 to 15 characters",
	  .refusal = "is no name: only letters, digits, '_' and '.' are allowed", .example = "sluice",
	  .otherwise = "none; sluice if default is true", .reload = "refused",
	  .meaning = "name under which the congestion control is registered. Without it none is. Names are "
		     "shared by all network namespaces of a kernel" },
	{ "default", &config_word, FIELD(struct config, tcp.make_default), .words = flag_words, .preset = "false",
	  .reload = "at once, for new sockets",
	  .meaning = "makes it net.ipv4.tcp_congestion_control of this network namespace, in mode enforce "
		     "only. Accepted connections of servers that run already follow too" },
	{ "receive_window", &config_word, FIELD(struct config, tcp.receive_window), .words = flag_words,
	  .preset = "true", .reload = "at once; what was granted before stays granted",
	  .meaning = "in mode enforce, holds TCP that has another control (pods, VMs, sockets with CUBIC) to "
		     "W by cutting the receive windows that arrive for it: limits 3, 4. false: such flows "
		     "have departure times only" },
	{}
};

static const struct config_key hpcc_keys[] = {
	{ "enabled", &config_word, FIELD(struct config, hpcc.enabled), .words = flag_words, .preset = "true",
	  .reload = "at once",
	  .meaning = "whether Algorithm 1 governs what is sent. false wants hiercc: which of both" },
	{ "eta", &config_fraction, FIELD(struct config, eta), .min = 0.5, .max = 1, .zero = true,
	  .range = "a number from 0.5 to 1", .note = "without %", .example = "0.95", .preset = "0.95",
	  .reload = "at once", .meaning = "target utilisation of a port" },
	{ "max_stage", &config_number, FIELD(struct config, hpcc.max_stage), .min = 1, .max = 255, .zero = true,
	  .range = "a number from 1 to 255", .example = "5", .preset = "5", .reload = "at once",
	  .meaning = "additive increases in a row before a multiplicative one" },
	{ "stages", &config_word, FIELD(struct config, hpcc.stages), .words = stages_words, .refusal = "is unknown",
	  .preset = "time", .reload = "at once",
	  .meaning = "what max_stage counts. time: round trips of base_rtt, however long a round of feedback takes. "
		     "rounds: rounds of feedback, as Algorithm 1 is printed" },
	{ "flows", &config_flows, FIELD(struct config, flows), .min = 1, .max = 1 << 24,
	  .range = "auto, or a number from 1 to 16777216", .refusal = "is neither auto nor a number from 1 to 16777216",
	  .example = "16", .preset = "auto", .reload = "at once",
	  .meaning = "N, the flows that share a port. Gives W_AI if w_ai is absent. auto: as receivers count, "
		     "and 12 where they do not. A number is never changed" },
	{ "w_ai", &config_bytes, FIELD(struct config, w_ai_bytes), .min = 1, .max = HPCC_W_MAX_BYTES,
	  .range = "a number of bytes from 1B to 134MB", .example = "80B", .otherwise = "W_init (1 - eta) / flows",
	  .reload = "at once",
	  .meaning = "additive increase of W for each feedback; the same for all peers, whatever receivers "
		     "count. With eta: 1 the default is 0" },
	{ "delay", &config_word, FIELD(struct config, hpcc.delay), .words = flag_words, .preset = "true",
	  .reload = "at once; a flow whose path stamps nothing is back at W_init",
	  .meaning =
		  "whether delays and losses that no port reports bound W. false: W of a path that stamps nothing is "
		  "W_init" },
	{ "variant", &config_word, FIELD(struct config, variant), .words = variant_words, .refusal = "is unknown",
	  .preset = "plain", .reload = "at once", .meaning = "how flows come to equal rates" },
	{ "feedback", &config_word, FIELD(struct config, feedback), .words = feedback_words, .refusal = "is unknown",
	  .preset = "hops", .reload = "at once", .meaning = "who computes: what this host tells of what arrives" },
	{ "encoding", &config_word, FIELD(struct config, hpcc.encoding), .words = encoding_words, .preset = "hpcc",
	  .reload = "at once; routes too", .meaning = "how packets carry telemetry" },
	{ "telemetry", &config_word, FIELD(struct config, hpcc.telemetry), .words = telemetry_words, .preset = "auto",
	  .reload = "at once; routes too",
	  .meaning = "which packets collect telemetry. auto: companion, but "
		     "every with hiercc, with encoding: int-md and with a feedback that the receiver computes" },
	{}
};

static const struct config_key vai_keys[] = {
	{ "preset", &config_word, FIELD(struct config, vai_preset), .words = vai_preset_words, .preset = "derived",
	  .reload = "at once",
	  .meaning =
		  "values of the keys below that are absent. derived: from W_init and flows. paper: those of the paper, "
		  "for 100 Gbit/s and a BDP of 50 KB" },
	{ "token_thresh", &config_bytes, FIELD(struct config, vai.token_thresh), .min = 1, .max = HPCC_W_MAX_BYTES,
	  .range = "a number of bytes from 1B to 134MB", .example = "50KB", .otherwise = "W_init", .reload = "at once",
	  .meaning = "Token_Thresh: a queue that is longer makes tokens" },
	{ "ai_div", &config_bytes, FIELD(struct config, vai.ai_div), .min = 1, .max = HPCC_W_MAX_BYTES,
	  .range = "a number of bytes from 1B to 134MB", .example = "1KB", .otherwise = "2 W_init / flows",
	  .reload = "at once", .meaning = "AI_DIV: bytes of queue that make one token" },
	{ "ai_cap", &config_number, FIELD(struct config, vai.ai_cap), .min = 1, .max = VAI_TOKENS_MAX,
	  .range = "a number from 1 to 32767", .example = "24", .otherwise = "2 flows", .reload = "at once",
	  .meaning = "AI_Cap: tokens that one adjustment of W may use" },
	{ "bank_cap", &config_number, FIELD(struct config, vai.bank_cap), .min = 1, .max = VAI_TOKENS_MAX,
	  .range = "a number from 1 to 32767", .example = "120", .otherwise = "10 flows", .reload = "at once",
	  .meaning = "Bank_Cap: tokens that a flow may hold" },
	{ "dampener", &config_number, FIELD(struct config, vai.dampener_div), .min = 1, .max = 65535,
	  .range = "a number from 1 to 65535", .example = "8", .otherwise = "8", .reload = "at once",
	  .meaning = "Dampener_Constant: the larger it is, the longer tokens count in full while the queue stays" },
	{ "s", &config_number, FIELD(struct config, vai.every), .min = 1, .max = 65535,
	  .range = "a number from 1 to 65535", .example = "10",
	  .otherwise = "a tenth of the full packets in W_init, from 1 to 30", .reload = "at once",
	  .meaning = "s of Sampling Frequency: a decrease of W is committed every s feedbacks" },
	{}
};

static const struct config_key hiercc_keys[] = {
	{ "enabled", &config_word, FIELD(struct config, hiercc.enabled), .words = flag_words, .preset = "false",
	  .reload = "at once",
	  .meaning = "HierCC: credits from rack to rack, for what is sent. If it is on for any peer this "
		     "host also deals out credit to all that ask" },
	{ "id", &config_id, FIELD(struct config, tor), .range = "an IPv4 address, or a number from 1 to 4294967295",
	  .refusal = "is neither an IPv4 address nor a number from 1 to 4294967295", .example = "1",
	  .advice = "one that no other rack has",
	  .otherwise = "an address of the uplink, or of the first host interface, when it first has one",
	  .reload = "at once; senders' VOQs begin anew",
	  .meaning = "names this rack: a node with its pods, or a plain host. No two racks may have the same" },
	{ "eta", &config_fraction, FIELD(struct config, credit_eta), .min = 0.5, .max = 1,
	  .range = "a number from 0.5 to 1", .note = "without %", .example = "0.98", .preset = "0.98",
	  .reload = "at once", .meaning = "of each port's speed, what is dealt out as credit" },
	{ "c0", &config_bytes, FIELD(struct config, c0_bytes), .min = 2 * HIERCC_DELTA_BYTES,
	  .max = HIERCC_BYTES_MAX / 2. - 1, .range = "a number of bytes from 2048B to 67MB", .example = "37.5KB",
	  .advice = "for example 37.5KB, or leave it out", .otherwise = "the port's speed x (base_rtt + 1.25 period)",
	  .reload = "at once", .meaning = "what a VOQ may send without having been granted it. The same on all hosts" },
	{ "delta", &config_bytes, FIELD(struct config, voq.delta), .min = 128, .max = HIERCC_DELTA_MAX,
	  .range = "a number of bytes from 128B to 65536B", .example = "1024B", .otherwise = "1024B",
	  .reload = "at once", .meaning = "one credit. C0 holds at least two of them. The same on all hosts" },
	{ "beta", &config_q24, FIELD(struct config, voq.beta), .min = Q24_ONE / 100., .max = Q24_ONE - 1,
	  .range = "a number from 0.01 to less than 1", .example = "0.2", .otherwise = "0.2",
	  .reload = "at once, for new VOQs",
	  .meaning = "of Equation 1: the part of a VOQ's excess that goes in each RTT_hop" },
	{ "q0", &config_bytes, FIELD(struct config, voq.q0), .min = 1, .max = HIERCC_BYTES_MAX / 2.,
	  .range = "a number of bytes from 1B to 67MB", .example = "20KB", .otherwise = "8/15 of a BDP",
	  .reload = "at once, for new VOQs", .meaning = "of Equation 1: the queue that a VOQ aims at" },
	{ "v_high", &config_bytes, FIELD(struct config, voq.v_high), .min = 2, .max = HIERCC_BYTES_MAX / 2.,
	  .range = "a number of bytes from 2B to 67MB", .note = "more than v_low", .example = "70KB",
	  .otherwise = "28/15 of a BDP", .reload = "at once, for new VOQs",
	  .meaning = "V_high: a VOQ above it stops its senders" },
	{ "v_low", &config_bytes, FIELD(struct config, voq.v_low), .min = 1, .max = HIERCC_BYTES_MAX / 2.,
	  .range = "a number of bytes from 1B to 67MB", .note = "q0 or more", .example = "50KB",
	  .otherwise = "4/3 of a BDP", .reload = "at once, for new VOQs",
	  .meaning = "V_low: below it they may send again" },
	{ "limit", &config_time, FIELD(struct config, limit_ns), .min = 1, .max = 10 * NSEC_PER_SEC,
	  .range = "a time of at most 10s", .note = "four rounds (base_rtt + 1.25 period) or more", .example = "100ms",
	  .otherwise = "64 rounds, at most 100ms but not below four rounds", .reload = "at once",
	  .meaning = "how long a packet waits for credit at most; also after how long without any HPCC alone "
		     "decides" },
	{ "period", &config_time, FIELD(struct config, period_ns), .min = 20 * USEC, .max = CONFIG_PERIOD_MAX_NS,
	  .range = "a time from 20us to 50ms", .example = "100us",
	  .otherwise = "a quarter of the shortest base_rtt with hiercc, at least 100us", .reload = "at once",
	  .meaning = "between two rounds of the credit loop" },
	{ "port_speed", &config_speed, FIELD(struct config, port_bps), .min = CONFIG_SPEED_MIN_BPS,
	  .max = CONFIG_SPEED_MAX_BPS, .range = "a speed from 100 kbit/s to 1 Tbit/s", .example = "25Gbit",
	  .otherwise = "that of the port that leads there", .reload = "at once",
	  .meaning = "of the ports of the hosts, or of the tbf or htb of the pods, at the other end: from it follow C0 "
		     "and the rate that is expected at first" },
	{ "voqs", &config_number, FIELD(struct config, hiercc.voqs), .min = 1, .max = 1 << 20, .zero = true,
	  .range = "a number up to 1048576", .example = "16384", .advice = "at most that", .preset = "16384",
	  .reload = "no effect, and says so",
	  .meaning = "most VOQs of this host, and most that it grants credit to: memory. Fixed while the maps "
		     "exist: detach to change it" },
	{}
};

static const struct config_key pacing_keys[] = {
	{ "horizon", &config_time, FIELD(struct config, horizon_ns), .max = NSEC_PER_SEC, .zero = true,
	  .range = "a time of at most 1s", .example = "10ms",
	  .otherwise = "100 ms; base_rtt of the peer for a standing backlog", .reload = "at once",
	  .meaning = "how long a UDP packet may wait in fq for its departure time: UDP" },
	{ "beyond", &config_word, FIELD(struct config, pacing.mark), .words = beyond_words, .preset = "drop",
	  .reload = "at once", .meaning = "what happens to one that would have to wait for longer" },
	{}
};

static const struct config_key pfc_keys[] = {
	{ "lossless", &config_bits, FIELD(struct config, lossless), .one = "lossless: priority", .max = 7,
	  .most = PFC_PRIORITIES, .range = "a list of 1 to 8 numbers from 0 to 7", .refusal = "does not exist",
	  .example = "3", .advice = "numbers from 0 to 7", .preset = "3", .reload = "at once",
	  .meaning = "the priorities that are paused, and for which pauses are obeyed. The same at both ends "
		     "of a link" },
	{ "trust", &config_word, FIELD(struct config, pfc.trust), .words = trust_words, .preset = "dscp",
	  .reload = "at once",
	  .meaning = "where a packet's priority is from: its DSCP divided by 8, or its VLAN tag. A "
		     "packet with neither has priority 0" },
	{ "buffer", &config_bytes, FIELD(struct config, buffer_bytes), .min = 1, .max = CONFIG_PFC_BUFFER_MAX,
	  .range = "a number of bytes up to 1GB", .example = "500KB", .otherwise = "required with pfc or ppfc",
	  .reload = "at once", .meaning = "what the egress queues of these ports hold together before they drop" },
	{ "headroom", &config_bytes, FIELD(struct config, headroom_bytes), .min = 1, .max = CONFIG_PFC_BUFFER_MAX,
	  .range = "a number of bytes up to 1GB", .example = "500KB", .otherwise = "by speed, delay and MTU",
	  .reload = "at once",
	  .meaning = "of buffer, what is kept for each port and lossless priority for what still comes after "
		     "XOFF" },
	{ "xoff", &config_bytes, FIELD(struct config, xoff_bytes), .min = 1, .max = CONFIG_PFC_BUFFER_MAX,
	  .range = "a number of bytes up to 1GB", .example = "500KB", .otherwise = "as much as is free",
	  .reload = "at once",
	  .meaning = "the bytes of a port and priority above which it is paused; XON is two frames below" },
	{ "k_max", &config_bytes, FIELD(struct config, k_max_bytes), .min = 1, .max = CONFIG_PFC_BUFFER_MAX,
	  .range = "a number of bytes up to 1GB", .example = "500KB",
	  .otherwise = "a twentieth of what is not headroom", .reload = "at once",
	  .meaning = "P-PFC: a queue that is not longer is left alone" },
	{ "r", &config_q24, FIELD(struct config, ppfc_r), .min = Q24_ONE / 100., .max = Q24_ONE,
	  .range = "a number from 0.01 to 1", .example = "0.8", .preset = "0.8", .reload = "at once",
	  .meaning = "P-PFC: R of Algorithm 2. Ports are drawn until they hold more than this part of a queue" },
	{ "delay", &config_time, FIELD(struct config, delay_ns), .max = 100 * MSEC,
	  .range = "a time from 0 us to 100 ms", .example = "100us", .preset = "50us", .reload = "at once",
	  .meaning = "from the decision until the neighbour has stopped: the way there, and what was given "
		     "its departure before" },
	{ "interval", &config_time, FIELD(struct config, interval_ns), .min = 20 * USEC, .max = 50 * MSEC,
	  .range = "a time from 20 us to 50 ms", .example = "100us", .preset = "100us", .reload = "at once",
	  .meaning = "between two rounds of the loop" },
	{ "t_thresh", &config_time, FIELD(struct config, t_thresh_ns), .min = USEC, .max = NSEC_PER_SEC,
	  .range = "a time from 1 us to 1000 ms", .example = "200ms",
	  .otherwise = "twice Equation 5: buffer / (ports x speed)", .reload = "at once",
	  .meaning = "P-PFC: acts if the buffer would last for less" },
	{ "fixed", &config_time, FIELD(struct config, fixed_ns), .min = USEC, .max = NSEC_PER_SEC,
	  .range = "a time from 1 us to 1000 ms", .example = "200ms", .otherwise = "none: as Algorithm 3 has it",
	  .reload = "at once", .meaning = "P-PFC: the length of all pauses, for comparison: what it costs" },
	{ "watchdog", &config_time, FIELD(struct config, watchdog_ns), .min = 10 * MSEC, .max = 10 * NSEC_PER_SEC,
	  .range = "a time from 10000 us to 10000 ms", .example = "200ms",
	  .otherwise = "four times the longest pause, at least 100ms", .reload = "at once",
	  .meaning = "a pause without a break is obeyed for this time; then the class sends, and frames are "
		     "ignored until they stop for as long" },
	{ "seed", &config_number, FIELD(struct config, pfc.seed), .given = FIELD(struct config, pfc.seeded),
	  .range = "a number", .example = "1", .otherwise = "a random one", .reload = "at once",
	  .meaning = "P-PFC: the same seed draws the same ports" },
	{}
};

static const struct config_key node_keys[] = {
	{ "uplink", &config_string, FIELD(struct config, node.uplink), .required = true, .most = IFNAMSIZ - 1,
	  .range = "the name of an interface", .example = "eth0", .otherwise = "required with node",
	  .reload = "at once",
	  .meaning = "a Kubernetes node: the interface to the network, one of interfaces with role host. It "
		     "stamps itself as the first hop of what leaves by it" },
	{ "id", &config_number, FIELD(struct config, node.id), .min = 1, .max = WIRE_PATH_MASK,
	  .range = "a number from 1 to 4095", .refusal = "", .example = "1",
	  .advice = "one from 1 to 4095, different from that of other nodes and switches",
	  .otherwise = "required with node", .reload = "at once",
	  .meaning = "goes into pathID like a switch's. Different from that of other nodes and switches" },
	{ "pod_cidrs", &config_prefixes, FIELD(struct config, pod_cidrs), .required = true,
	  .one = "pod_cidrs:", .most = CONFIG_POD_CIDRS, .count = FIELD(struct config, node.pod_cidrs_count),
	  .range = "a prefix", .note = "a list of 1 to 16, with host bits 0", .example = "10.244.1.0/24",
	  .advice = "for example 10.244.1.0/24 (host bits 0)", .otherwise = "required with node", .reload = "at once",
	  .meaning = "where this node's own pods are. Those with a queue are stamped" },
	{}
};

static const struct config_key metrics_keys[] = {
	{ "listen", &config_listen, FIELD(struct config, metrics.listen), .most = 107,
	  .range = "an address with a port, or a path", .refusal = "is neither an address with a port nor a path",
	  .example = "127.0.0.1:9463", .advice = "for example 127.0.0.1:9463, '[::1]:9463' or /run/sluice/metrics.sock",
	  .preset = "127.0.0.1:9463", .reload = "at once",
	  .meaning = "where Prometheus is served. Without the section metrics it is not; metrics: {} is enough" },
	{ "flows", &config_number, FIELD(struct config, metrics.flows), .max = 100, .range = "a number from 0 to 100",
	  .example = "10", .preset = "0", .reload = "at once",
	  .meaning = "number of the busiest flows that have a series of their own; the dashboard shows those of 16" },
	{ "pods", &config_number, FIELD(struct config, metrics.pods), .max = METRICS_PODS_MAX,
	  .range = "a number from 0 to 500", .example = "16", .preset = "0", .reload = "at once",
	  .meaning = "number of the busiest pods with a queue, on a node, that have series of their own" },
	{ "bundles", &config_string, FIELD(struct config, metrics.bundles), .most = 200,
	  .range = "the path of a directory", .example = "/run/containerd/io.containerd.runtime.v2.task/k8s.io",
	  .otherwise = "those of containerd, k3s and CRI-O", .reload = "at once",
	  .meaning = "where the container runtime has its OCI bundles, which have the names of pods" },
	{}
};

static const struct config_table tcp_table = { .keys = tcp_keys };
static const struct config_table hpcc_table = { .keys = hpcc_keys };
static const struct config_table vai_table = { .keys = vai_keys };
static const struct config_table hiercc_table = { .keys = hiercc_keys };
static const struct config_table pacing_table = { .keys = pacing_keys };
static const struct config_table pfc_table = { .keys = pfc_keys };
static const struct config_table node_table = { .keys = node_keys };
static const struct config_table metrics_table = { .keys = metrics_keys };

static const struct config_key top_keys[] = {
	{ "pin_dir", &config_string, FIELD(struct config, pin_dir), .most = 200, .range = "a path below /sys/fs/bpf/",
	  .note = "its parent must exist", .example = "/sys/fs/bpf/sluice", .preset = SLUICE_PIN_DIR,
	  .reload = "refused", .meaning = "where maps are pinned; one for each running sluiced" },
	{ "mode", &config_word, FIELD(struct config, mode), .words = mode_words, .refusal = "is unknown",
	  .preset = "enforce", .reload = "at once", .meaning = "what is done with what is measured" },
	{ "port", &config_number, FIELD(struct config, port), .min = 1, .max = 65535, .zero = true,
	  .range = "a UDP port from 1 to 65535", .refusal = "is not a UDP port", .example = "5463",
	  .advice = "1 to 65535", .preset = "5463", .reload = "refused",
	  .meaning = "the same on all hosts and switches" },
	{ "max_flows", &config_number, FIELD(struct config, max_flows), .min = 1, .max = 1 << 24, .zero = true,
	  .range = "a number up to 16777216", .example = "65536", .advice = "at most that", .preset = "65536",
	  .reload = "no effect, and says so",
	  .meaning = "entries of the flow map, one for each TCP connection and each pair of UDP ports with a peer; 896 "
		     "bytes each, allocated at the start. Fixed while the map exists: detach to change it" },
	{ "auth", &config_string, FIELD(struct config, auth), .most = 200, .range = "the path of a key file, or none",
	  .example = "/etc/sluice/key",
	  .otherwise = "required with a host interface and peers, and on a switch with voqs",
	  .reload = "at once, in three steps", .meaning = "who is believed. none: every source address in peers" },
	{ "flow_timeout", &config_time, FIELD(struct config, flow_timeout_ns), .min = NSEC_PER_SEC,
	  .range = "a time of 1s or more", .example = "60s", .preset = "60s", .reload = "at once",
	  .meaning = "a flow idle for longer is forgotten; one whose FIN or RST left here, after 5 s. UDP has "
		     "no end: it is always this" },
	{ "tcp", &config_section, .table = &tcp_table },
	{ "hpcc", &config_section, .table = &hpcc_table },
	{ "vai", &config_section, .table = &vai_table },
	{ "hiercc", &config_section, .table = &hiercc_table },
	{ "pacing", &config_section, .table = &pacing_table },
	{ "pfc", &config_section, .table = &pfc_table },
	{ "node", &config_section, .table = &node_table },
	{ "metrics", &config_section, .table = &metrics_table, .given = FIELD(struct config, metrics.wanted) },
	{ "interfaces", &config_entries, FIELD_POINTER(struct config, entries), .required = true,
	  .most = CONFIG_INTERFACES, .table = &config_interface_table, .count = FIELD(struct config, entries_count),
	  .label = FIELD(struct config_interface, configured), .range = "a list of 1 to 1024",
	  .note = "up to 64 of them with classes, 63 with pfc", .reload = "at once",
	  .meaning = "managed interfaces; one that is no longer listed is detached" },
	{ "peers", &config_entries, FIELD_POINTER(struct config, peers), .most = 1024, .table = &config_peer_table,
	  .count = FIELD(struct config, peers_count), .label = FIELD(struct config_peer, prefix),
	  .range = "a list of 1 to 1024",
	  .otherwise = "required with a host interface, unless all it does is pfc: obey; and with voqs",
	  .reload = "at once",
	  .meaning = "the hosts to which telemetry may be sent, and from which it is accepted. The longest "
		     "prefix that matches counts" },
	{}
};

/* clang-format on */

const struct config_table config_top = { .keys = top_keys };

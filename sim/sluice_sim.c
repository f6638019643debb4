// SPDX-License-Identifier: GPL-2.0-only
/* sluice-sim: simulates a network of your own under Sluice, or under another control. See docs/simulator.md. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/config/tables.h"
#include "lib/util.h"
#include "sim/carriage.h"
#include "sim/control.h"
#include "sim/csv.h"
#include "sim/engine.h"
#include "sim/flow.h"
#include "sim/grant.h"
#include "sim/host.h"
#include "sim/measure.h"
#include "sim/memory.h"
#include "sim/net.h"
#include "sim/predict.h"
#include "sim/rack.h"
#include "sim/receiver.h"
#include "sim/rivals.h"
#include "sim/rtt.h"
#include "sim/scenario.h"
#include "sim/scenario_keys.h"
#include "sim/scheme.h"
#include "sim/series.h"
#include "sim/sluice.h"
#include "sim/switch.h"
#include "sim/voq.h"

/* Options of the command line besides the scenario. */
struct wanted {
	enum { AS_TABLE, AS_JSON, AS_CSV } result;
	const char *series; /* file */
};

enum option_name {
	OPTION_HELP = 256,
	OPTION_VERSION,
	OPTION_JSON,
	OPTION_CSV,
	OPTION_SERIES,
	OPTION_KEYS,
	OPTION_SCHEMES
};

static const struct option options[] = {
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "csv", no_argument, NULL, OPTION_CSV },
	{ "series", required_argument, NULL, OPTION_SERIES },
	{ "list-keys", no_argument, NULL, OPTION_KEYS },
	{ "list-schemes", no_argument, NULL, OPTION_SCHEMES },
	{},
};

static void sim_usage(FILE *to)
{
	fputs("usage: sluice-sim [--json | --csv] [--series FILE] SCENARIO [SECTION.KEY=VALUE ...]\n"
	      "\n"
	      "Simulates a network, its hosts and its traffic, packet by packet, and prints how long flows took and how\n"
	      "long queues were. The scenario is a YAML file; each KEY=VALUE overrides what the file says.\n"
	      "\n"
	      "  --json          the result as JSON\n"
	      "  --csv           the result as CSV: a line for each number, with its path in the JSON\n"
	      "  --series FILE   and to FILE, as CSV: queues, rates and pauses as time goes on, every run.series\n"
	      "  --list-keys     all keys of a scenario: values, default, meaning\n"
	      "  --list-schemes  the congestion controls\n"
	      "  --help, --version\n",
	      to);
}

/* Ctrl-C: prints the results so far. */
static void interrupt(int signal)
{
	(void)signal;
	engine.stopped = 2;
}

static void flow_on_scheme(uint32_t flow)
{
	scheme->timer(&traffic.list[flow]);
}

static const event_handler handlers[EVENT_KINDS] = {
	[EVENT_WIRE] = net_on_wire,	     [EVENT_FREE] = net_on_free,
	[EVENT_HOST] = host_on_wake,	     [EVENT_FLOW] = host_on_flow,
	[EVENT_TIMER] = host_on_timer,	     [EVENT_SCHEME] = flow_on_scheme,
	[EVENT_LOAD] = load_on_next,	     [EVENT_KICK] = port_kick,
	[EVENT_PAUSE] = net_on_pause,	     [EVENT_SWITCH] = net_on_round,
	[EVENT_MEASURE] = measure_on_sample, [EVENT_VOQ] = net_on_voq,
	[EVENT_GRANT] = grant_on_round,	     [EVENT_CREDIT] = grant_on_message,
	[EVENT_RATE] = voq_on_rate,	     [EVENT_ACK] = receiver_on_ack,
};

static const struct net_ends ends = {
	.host_next = host_next,
	.host_receive = receiver_take,
	.switch_receive = switch_receive,
	.switch_sent = switch_sent,
};

static void rules_take(const struct scenario *s)
{
	scheme = scheme_find(s->scheme);
	rules = (struct switch_rules){
		.stamp_enqueue = s->sw.stamp == STAMP_ENQUEUE,
		.stamp_none = s->sw.stamp == STAMP_NONE,
		.rx_rate = s->sw.rx_rate,
		.ecn = scheme->ecn,
		.pfc = s->sw.pause != PAUSE_NONE,
		.alpha = s->sw.alpha,
		.ecn_min = s->sw.ecn_min,
		.ecn_max = s->sw.ecn_max,
		.ecn_most = s->sw.ecn_most,
		.predict = s->sw.pause == PAUSE_PPFC,
		.arrival = s->sw.pause != PAUSE_NONE && s->sw.arrival,
		.round_ns = s->sw.round_ns	  ?:
				    s->sw.arrival ? 0 :
						    NS_PER_US,
		.round_late_ns = s->sw.late_ns,
		.round_cost_ns = s->sw.cost_ns,
		.frame = s->host.payload + s->host.header,
	};
	predict_rules = (struct predict_rules){
		.t_thresh_ns = s->sw.t_thresh_ns,
		.k_max = s->sw.k_max,
		.r = s->sw.r,
		.seed = s->run.seed,
		.fixed_ns = s->sw.fixed_ns,
	};
	dcqcn_rules = (struct dcqcn_rules){
		.cnp_ns = s->dcqcn.cnp_ns,
		.alpha_ns = s->dcqcn.alpha_ns ?: 1,
		.timer_ns = s->dcqcn.timer_ns ?: 1,
		.fast = s->dcqcn.fast,
	};
	credit_rules = (struct credit_rules){
		.on = s->hiercc.mode != HIERCC_OFF,
		.rates = s->hiercc.mode == HIERCC_RATES,
		.port_free = !s->hiercc.port,
		.arrival = s->hiercc.grant == GRANT_ARRIVAL,
		.period_ns = s->hiercc.period_ns,
		.late_ns = s->hiercc.late_ns,
		.c0 = s->hiercc.c0,
		.eta = s->hiercc.eta,
		.lose = s->hiercc.lose,
		.repeat = s->hiercc.repeat,
		.cost_ns = s->hiercc.cost_ns,
		.reorder = s->hiercc.reorder,
		.warmup_ns = s->run.warmup_ns,
	};
	host_rules = (struct host_rules){
		.payload = s->host.payload,
		.header = s->host.header,
		.ack = s->host.ack,
		.ack_every = s->host.ack_every,
		.slack = s->host.slack,
		.late_ns = s->host.late_ns,
		.selective = s->host.recovery == RECOVERY_SELECTIVE,
		.windows = s->host.windows,
		.handshake = s->host.handshake,
		.ack_late_ns = s->host.ack_late_ns,
		.burst = s->host.burst,
		.stamps = s->host.stamps,
	};
	carriage_rules = (struct carriage_rules){
		.companions = scheme->telemetry && s->host.carriage == CARRIAGE_COMPANION,
		.at_data = scheme->telemetry && s->host.carriage == CARRIAGE_COMPANION &&
			   s->companion.moment == MOMENT_DATA,
		.bytes = s->companion.bytes,
		.due = {
			.after = s->companion.after * (__u64)s->host.payload,
			.between = s->companion.packets * (__u64)s->host.payload,
			.busy = s->companion.busy_packets * (__u64)s->host.payload,
			.first = s->companion.first,
		},
	};
}

/* T, and the values derived from it: like flow_params() of bpf/host/flow.bpf.h. */
static void scheme_take(const struct scenario *s)
{
	struct hpcc_params *p = &scheme_rules.hpcc;
	__u64 rtt = topology_rtt_ns(&scheme_rules.hops), bdp;

	p->t_ns = rtt_t_ns() ?: s->hpcc.t_ns ?: rtt + NS_PER_US;
	bdp = hpcc_bdp_bytes(s->topology.speed, p->t_ns);
	p->w_init = q12_from_bytes(bdp < HPCC_W_MAX_BYTES ? bdp : HPCC_W_MAX_BYTES);
	if (p->w_init < q12_from_bytes(rules.frame))
		p->w_init = q12_from_bytes(rules.frame);
	p->packet = rules.frame < 0xffff ? rules.frame : 0xffff;
	p->w_min = s->hpcc.w_min ? hpcc_clamp(q12_from_bytes(s->hpcc.w_min), 1, p->w_init) :
				   hpcc_w_min(p->w_init, p->packet, p->t_ns);
	p->eta = s->hpcc.eta * Q24_ONE;
	p->max_stage = s->hpcc.max_stage;
	p->stages = s->hpcc.stages;
	scheme_rules.count = !s->hpcc.flows && !s->hpcc.w_ai;
	scheme_rules.flows = s->hpcc.flows ?: RX_FLOWS_EXPECTED;
	hpcc_params_flows(p, scheme_rules.flows, 0);
	scheme_rules.told = (scheme_rules.flows * 2 + 2) / 3;
	if (s->hpcc.w_ai) {
		p->w_ai = q12_from_bytes(s->hpcc.w_ai);
		p->chance = 0;
	}
	hpcc_params_variant(p, scheme->variant);
	if (s->hpcc.vai == VAI_PAPER)
		vai_tune(&p->vai, &VAI_TUNING_PAPER);
	if (s->hpcc.vai_every)
		p->vai.every = s->hpcc.vai_every;
	host_rules.rto_ns = 20 * p->t_ns > NS_PER_MS ? 20 * p->t_ns : NS_PER_MS;
	if (s->host.ack_every > 1)
		host_rules.rto_ns += s->host.ack_late_ns;
	if (s->host.rto_ns)
		host_rules.rto_ns = s->host.rto_ns;
	carriage_rules.due.late_ns = s->companion.late_ns ?: COMPANION_LATE * p->t_ns;
	carriage_rules.due.every_ns = s->companion.every_ns ?: p->t_ns;
	scheme_rules.per_ack = s->hpcc.per_ack;
	scheme_rules.per_rtt = s->hpcc.per_rtt;
}

/* Once per process. Returns an exit status. */
static int simulate(const struct scenario *s, const struct wanted *w)
{
	struct json_object *result;
	int status = EXIT_DONE;

	engine_begin(s->run.seed);
	net_ends = ends;
	rules_take(s);
	if (memory_check(s, 0) || topology_build(s))
		return EXIT_USAGE;
	hosts_begin();
	sluice_hosts_begin();
	switches_begin();
	rtt_begin(s, scheme_take);
	scheme_take(s);
	racks_begin();
	voqs_begin();
	grants_begin();
	if (measure_begin(s) || series_begin(s, w->series) || loads_begin(s))
		return EXIT_USAGE;
	signal(SIGINT, interrupt);
	engine_run(handlers);
	if (engine.stopped == 2)
		msg("interrupted after %.3f of %.3f ms: the result is of that time", engine.now_ns / 1e6,
		    s->run.time_ns / 1e6);
	result = measure_result();
	switch (w->result) {
	case AS_JSON:
		puts(json_object_to_json_string_ext(result, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
		break;
	case AS_CSV:
		csv_flatten(stdout, result);
		break;
	case AS_TABLE:
		measure_print(result);
		break;
	}
	json_object_put(result);
	if (series_end())
		status = EXIT_FAILED;
	loads_end();
	measure_end();
	hosts_end();
	sluice_hosts_end();
	grants_end();
	voqs_end();
	racks_end();
	predict_end();
	net_free();
	engine_end();
	return status;
}

int main(int argc, char **argv)
{
	struct wanted wanted = {};
	struct scenario *s;
	int status, o;

	msg_init("sluice-sim");
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case OPTION_HELP:
			sim_usage(stdout);
			return EXIT_DONE;
		case OPTION_VERSION:
			puts("sluice-sim " SLUICE_VERSION);
			return EXIT_DONE;
		case OPTION_JSON:
			wanted.result = AS_JSON;
			break;
		case OPTION_CSV:
			wanted.result = AS_CSV;
			break;
		case OPTION_SERIES:
			wanted.series = optarg;
			break;
		case OPTION_KEYS:
			tables_list(stdout, &scenario_top);
			return EXIT_DONE;
		case OPTION_SCHEMES:
			schemes_list(stdout);
			return EXIT_DONE;
		default:
			sim_usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		sim_usage(stderr);
		return EXIT_USAGE;
	}
	s = scenario_load(argv[optind], argv + optind + 1, argc - optind - 1);
	if (!s)
		return EXIT_USAGE;
	status = simulate(s, &wanted);
	scenario_free(s);
	return status;
}

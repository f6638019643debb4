// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration file. Shape and key names are checked by the schema (config_lines.h); what remains, units and
 * ranges, is checked here before anything is used; each complaint has its line. Defaults are
 * filled in afterwards, so that a key that is absent and one that is 0 are told apart where 0 means
 * something.
 */
#include <arpa/inet.h>
#include <cyaml/cyaml.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/config.h"
#include "lib/config_lines.h"
#include "lib/names.h"
#include "sluice/pause/ppfc.h"
#include "sluice/wire/wire.h"

#define CONFIG_MAX_FLOWS 65536
#define CONFIG_FLOW_TIMEOUT_NS (60 * NSEC_PER_SEC)
#define CONFIG_RTT_MAX_NS NSEC_PER_SEC
#define CONFIG_TARGET_MAX_NS (NSEC_PER_SEC / 4) /* swift.h goes to 2^28 */
#define CONFIG_SPEED_MIN_BPS 100000
#define CONFIG_SPEED_MAX_BPS 1000000000000 /* products in flow_params() stay below 2^64 */
#define CONFIG_FLOWS_MAX (1 << 24)
#define CONFIG_STAGE_MAX 255 /* inc_stage has 8 bits */
#define CONFIG_VOQS 16384
#define CONFIG_VOQS_MAX (1 << 20)
#define CONFIG_CREDIT_ETA 0.98 /* what is left is for what has no credit: messages, strangers */
#define CONFIG_LIMIT_NS (100 * 1000 * 1000ULL)
#define CONFIG_LIMIT_MAX_NS (10 * NSEC_PER_SEC)
#define CONFIG_LIMIT_ROUNDS 64
#define CONFIG_PERIOD_NS (100 * 1000ULL) /* shorter is not worth the wake-ups */
#define CONFIG_PERIOD_MIN_NS (20 * 1000ULL)
#define CONFIG_PERIOD_MAX_NS (50 * 1000 * 1000ULL)
#define CONFIG_CC_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
#define CONFIG_FLOWS 12 /* N where nobody counts: see docs/limits.md */
#define CONFIG_N_MAX (1 << 24)
#define CONFIG_METRICS_LISTEN "127.0.0.1:9463"
#define CONFIG_METRICS_FLOWS_MAX 100
#define CONFIG_PFC_LOSSLESS 3 /* where RoCE is by custom */
#define CONFIG_PFC_DELAY_NS (50 * 1000ULL)
#define CONFIG_PFC_DELAY_MAX_NS (100 * 1000 * 1000ULL)
#define CONFIG_PFC_INTERVAL_NS (100 * 1000ULL)
#define CONFIG_PFC_INTERVAL_MIN_NS (20 * 1000ULL)
#define CONFIG_PFC_INTERVAL_MAX_NS (50 * 1000 * 1000ULL)
#define CONFIG_PFC_THRESH_MAX_NS NSEC_PER_SEC
#define CONFIG_PFC_WATCHDOG_MIN_NS (10 * 1000 * 1000ULL)
#define CONFIG_PFC_WATCHDOG_MAX_NS (10 * NSEC_PER_SEC) /* fq drops what is to leave later */
#define CONFIG_PFC_BUFFER_MAX 1000000000 /* pfc.h goes to 2^30 */
#define CONFIG_PFC_MTU 1500
#define DSCPS 64
#define PPM 1000000

#define OPT CYAML_FLAG_OPTIONAL
#define PTR CYAML_FLAG_POINTER

static const cyaml_strval_t xdp_words[] = {
	{ "auto", CONFIG_XDP_AUTO },
	{ "native", CONFIG_XDP_NATIVE },
	{ "generic", CONFIG_XDP_GENERIC },
	{ "off", CONFIG_XDP_OFF },
};

static const cyaml_strval_t pfc_words[] = {
	{ "off", CONFIG_PFC_OFF },
	{ "obey", CONFIG_PFC_OBEY },
	{ "pfc", CONFIG_PFC_PAUSE },
	{ "ppfc", CONFIG_PFC_PREDICT },
};

static const cyaml_strval_t trusts[] = { { "dscp", PFC_TRUST_DSCP }, { "pcp", PFC_TRUST_PCP } };

static const cyaml_schema_value_t priority_schema = {
	CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, unsigned int),
};

static const cyaml_schema_value_t dscp_schema = {
	CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, unsigned int),
};

static const cyaml_schema_field_t class_fields[] = {
	CYAML_FIELD_SEQUENCE("dscp", PTR | OPT, struct config_class, dscp, &dscp_schema, 1, DSCPS),
	CYAML_FIELD_STRING_PTR("share", PTR, struct config_class, share_text, 1, 32),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t class_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_class, class_fields),
};

static const cyaml_strval_t telemetries[TELEMETRY_MODES] = {
	{ "every", TELEMETRY_EVERY },
	{ "rtt", TELEMETRY_RTT },
	{ "congestion", TELEMETRY_CONGESTION },
	{ "probe", TELEMETRY_PROBE },
};

static const cyaml_schema_field_t interface_fields[] = {
	CYAML_FIELD_STRING_PTR("name", PTR, struct config_interface, name, 1, IFNAMSIZ - 1),
	CYAML_FIELD_STRING_PTR("role", PTR, struct config_interface, role_text, 1, 16),
	CYAML_FIELD_STRING_PTR("speed", PTR | OPT, struct config_interface, speed_text, 1, 32),
	CYAML_FIELD_UINT("id", OPT, struct config_interface, id),
	CYAML_FIELD_ENUM("xdp", OPT | CYAML_FLAG_STRICT, struct config_interface, xdp, xdp_words, 4),
	CYAML_FIELD_ENUM("pfc", OPT | CYAML_FLAG_STRICT, struct config_interface, pfc, pfc_words, 4),
	CYAML_FIELD_STRING_PTR("voqs", PTR | OPT, struct config_interface, voqs_text, 1, 16),
	CYAML_FIELD_SEQUENCE("classes", PTR | OPT, struct config_interface, classes, &class_schema, 1,
			     CLASSES_MAX),
	CYAML_FIELD_END,
};

/* libcyaml's own booleans take every word for true. */
static const cyaml_strval_t bools[] = { { "false", 0 }, { "true", 1 } };

/* Who keeps the VOQs. */
static const cyaml_strval_t voqs_wheres[] = {
	{ "false", VOQS_OFF }, { "true", VOQS_HERE }, { "tor", VOQS_TOR }
};

static const cyaml_strval_t encodings[] = { { "hpcc", ENCODING_HPCC }, { "int-md", ENCODING_INT_MD } };

static const cyaml_schema_field_t peer_fields[] = {
	CYAML_FIELD_STRING_PTR("prefix", PTR, struct config_peer, prefix_text, 1, 64),
	CYAML_FIELD_STRING_PTR("base_rtt", PTR, struct config_peer, base_rtt_text, 1, 32),
	CYAML_FIELD_STRING_PTR("variant", PTR | OPT, struct config_peer, variant_text, 1, 32),
	CYAML_FIELD_STRING_PTR("feedback", PTR | OPT, struct config_peer, feedback_text, 1, 32),
	CYAML_FIELD_ENUM_PTR("encoding", PTR | OPT | CYAML_FLAG_STRICT, struct config_peer, encoding,
			     encodings, 2),
	CYAML_FIELD_ENUM_PTR("telemetry", PTR | OPT | CYAML_FLAG_STRICT, struct config_peer, telemetry,
			     telemetries, TELEMETRY_MODES),
	CYAML_FIELD_ENUM_PTR("hpcc", PTR | OPT | CYAML_FLAG_STRICT, struct config_peer, hpcc, bools, 2),
	CYAML_FIELD_ENUM_PTR("hiercc", PTR | OPT | CYAML_FLAG_STRICT, struct config_peer, hiercc, voqs_wheres, 3),
	CYAML_FIELD_STRING_PTR("port_speed", PTR | OPT, struct config_peer, port_speed_text, 1, 32),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t interface_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_interface, interface_fields),
};

static const cyaml_schema_value_t peer_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_peer, peer_fields),
};

static const cyaml_schema_field_t tcp_fields[] = {
	CYAML_FIELD_STRING_PTR("name", PTR | OPT, struct config, tcp.name, 1, 15),
	CYAML_FIELD_ENUM("default", OPT | CYAML_FLAG_STRICT, struct config, tcp.make_default, bools, 2),
	CYAML_FIELD_ENUM_PTR("receive_window", PTR | OPT | CYAML_FLAG_STRICT, struct config,
			     tcp.receive_window, bools, 2),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t hpcc_fields[] = {
	CYAML_FIELD_ENUM_PTR("enabled", PTR | OPT | CYAML_FLAG_STRICT, struct config, hpcc.enabled, bools, 2),
	CYAML_FIELD_STRING_PTR("eta", PTR | OPT, struct config, hpcc.eta_text, 1, 32),
	CYAML_FIELD_UINT("max_stage", OPT, struct config, hpcc.max_stage),
	CYAML_FIELD_STRING_PTR("flows", PTR | OPT, struct config, hpcc.flows_text, 1, 32),
	CYAML_FIELD_STRING_PTR("w_ai", PTR | OPT, struct config, hpcc.w_ai_text, 1, 32),
	CYAML_FIELD_STRING_PTR("variant", PTR | OPT, struct config, hpcc.variant_text, 1, 32),
	CYAML_FIELD_STRING_PTR("feedback", PTR | OPT, struct config, hpcc.feedback_text, 1, 32),
	CYAML_FIELD_ENUM("encoding", OPT | CYAML_FLAG_STRICT, struct config, hpcc.encoding, encodings, 2),
	CYAML_FIELD_ENUM("telemetry", OPT | CYAML_FLAG_STRICT, struct config, hpcc.telemetry,
			 telemetries, TELEMETRY_MODES),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t hiercc_fields[] = {
	CYAML_FIELD_ENUM("enabled", OPT | CYAML_FLAG_STRICT, struct config, hiercc.enabled, bools, 2),
	CYAML_FIELD_STRING_PTR("id", PTR | OPT, struct config, hiercc.id_text, 1, 32),
	CYAML_FIELD_STRING_PTR("eta", PTR | OPT, struct config, hiercc.eta_text, 1, 32),
	CYAML_FIELD_STRING_PTR("c0", PTR | OPT, struct config, hiercc.c0_text, 1, 32),
	CYAML_FIELD_STRING_PTR("limit", PTR | OPT, struct config, hiercc.limit_text, 1, 32),
	CYAML_FIELD_STRING_PTR("period", PTR | OPT, struct config, hiercc.period_text, 1, 32),
	CYAML_FIELD_STRING_PTR("port_speed", PTR | OPT, struct config, hiercc.port_speed_text, 1, 32),
	CYAML_FIELD_UINT("voqs", OPT, struct config, hiercc.voqs),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t swift_fields[] = {
	CYAML_FIELD_STRING_PTR("target", PTR | OPT, struct config, swift.target_text, 1, 32),
	CYAML_FIELD_ENUM_PTR("fallback", PTR | OPT | CYAML_FLAG_STRICT, struct config, swift.fallback,
			     bools, 2),
	CYAML_FIELD_END,
};

static const cyaml_strval_t beyond[] = { { "drop", 0 }, { "mark", 1 } };

static const cyaml_schema_field_t pacing_fields[] = {
	CYAML_FIELD_STRING_PTR("horizon", PTR | OPT, struct config, pacing.horizon_text, 1, 32),
	CYAML_FIELD_ENUM("beyond", OPT | CYAML_FLAG_STRICT, struct config, pacing.mark, beyond, 2),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t pfc_fields[] = {
	CYAML_FIELD_SEQUENCE("lossless", PTR | OPT, struct config, pfc.lossless, &priority_schema, 1,
			     PFC_PRIORITIES),
	CYAML_FIELD_ENUM("trust", OPT | CYAML_FLAG_STRICT, struct config, pfc.trust, trusts, 2),
	CYAML_FIELD_STRING_PTR("buffer", PTR | OPT, struct config, pfc.buffer_text, 1, 32),
	CYAML_FIELD_STRING_PTR("headroom", PTR | OPT, struct config, pfc.headroom_text, 1, 32),
	CYAML_FIELD_STRING_PTR("xoff", PTR | OPT, struct config, pfc.xoff_text, 1, 32),
	CYAML_FIELD_STRING_PTR("k_max", PTR | OPT, struct config, pfc.k_max_text, 1, 32),
	CYAML_FIELD_STRING_PTR("delay", PTR | OPT, struct config, pfc.delay_text, 1, 32),
	CYAML_FIELD_STRING_PTR("interval", PTR | OPT, struct config, pfc.interval_text, 1, 32),
	CYAML_FIELD_STRING_PTR("t_thresh", PTR | OPT, struct config, pfc.t_thresh_text, 1, 32),
	CYAML_FIELD_STRING_PTR("fixed", PTR | OPT, struct config, pfc.fixed_text, 1, 32),
	CYAML_FIELD_STRING_PTR("watchdog", PTR | OPT, struct config, pfc.watchdog_text, 1, 32),
	CYAML_FIELD_UINT_PTR("seed", PTR | OPT, struct config, pfc.seed),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t cidr_schema = {
	CYAML_VALUE_STRING(PTR, char *, 1, 64),
};

static const cyaml_schema_field_t node_fields[] = {
	CYAML_FIELD_STRING_PTR("uplink", PTR, struct config, node.uplink, 1, IFNAMSIZ - 1),
	CYAML_FIELD_UINT("id", OPT, struct config, node.id),
	CYAML_FIELD_SEQUENCE("pod_cidrs", PTR, struct config, node.pod_cidrs, &cidr_schema, 1,
			     CONFIG_POD_CIDRS),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t metrics_fields[] = {
	CYAML_FIELD_STRING_PTR("listen", PTR | OPT, struct config_metrics, listen_text, 1, 107),
	CYAML_FIELD_UINT("flows", OPT, struct config_metrics, flows),
	CYAML_FIELD_END,
};

/* Sections of the file are not structs of their own: their fields are the top struct's. */
static const cyaml_schema_field_t config_fields[] = {
	CYAML_FIELD_STRING_PTR("pin_dir", PTR | OPT, struct config, pin_dir, 1, 200),
	CYAML_FIELD_STRING_PTR("mode", PTR | OPT, struct config, mode_text, 1, 16),
	CYAML_FIELD_UINT("port", OPT, struct config, port),
	CYAML_FIELD_UINT("max_flows", OPT, struct config, max_flows),
	CYAML_FIELD_STRING_PTR("auth", PTR | OPT, struct config, auth, 1, 200),
	CYAML_FIELD_STRING_PTR("flow_timeout", PTR | OPT, struct config, flow_timeout_text, 1, 32),
	{ .key = "tcp", .value = { .type = CYAML_MAPPING, .flags = OPT,
				   .data_size = sizeof(struct config),
				   .mapping = { .fields = tcp_fields } } },
	{ .key = "hpcc", .value = { .type = CYAML_MAPPING, .flags = OPT,
				    .data_size = sizeof(struct config),
				    .mapping = { .fields = hpcc_fields } } },
	{ .key = "hiercc", .value = { .type = CYAML_MAPPING, .flags = OPT,
				      .data_size = sizeof(struct config),
				      .mapping = { .fields = hiercc_fields } } },
	{ .key = "swift", .value = { .type = CYAML_MAPPING, .flags = OPT,
				     .data_size = sizeof(struct config),
				     .mapping = { .fields = swift_fields } } },
	{ .key = "pacing", .value = { .type = CYAML_MAPPING, .flags = OPT,
				      .data_size = sizeof(struct config),
				      .mapping = { .fields = pacing_fields } } },
	{ .key = "pfc", .value = { .type = CYAML_MAPPING, .flags = OPT,
				   .data_size = sizeof(struct config),
				   .mapping = { .fields = pfc_fields } } },
	{ .key = "node", .value = { .type = CYAML_MAPPING, .flags = OPT,
				    .data_size = sizeof(struct config),
				    .mapping = { .fields = node_fields } } },
	CYAML_FIELD_MAPPING_PTR("metrics", PTR | OPT, struct config, metrics, metrics_fields),
	CYAML_FIELD_SEQUENCE("interfaces", PTR, struct config, interfaces, &interface_schema, 1, CONFIG_INTERFACES),
	CYAML_FIELD_SEQUENCE("peers", PTR | OPT, struct config, peers, &peer_schema, 1, 1024),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t config_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config, config_fields),
};

/* libcyaml's own words ("Unexpected key: ...", with line and column), under our name. */
static void config_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	char line[512];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	msg("%s: %s", (const char *)ctx, line);
}

static cyaml_config_t config_cyaml(const char *path)
{
	cyaml_config_t c = {
		.log_level = CYAML_LOG_ERROR,
		.log_fn = config_log,
		.log_ctx = (void *)path,
		.mem_fn = cyaml_mem,
	};

	return c;
}

/* What is wrong with a value, beginning with the way to it: its line is looked up by that. */
static void bad(const char *path, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void bad(const char *path, const char *fmt, ...)
{
	char text[512];
	unsigned int line;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	line = config_line(path, text);
	if (line)
		msg("%s: line %u: %s", path, line, text);
	else
		msg("%s: %s", path, text);
}

/* "30%" or "12.5%", in millionths. */
static int share_parse(const char *text, __u32 *ppm)
{
	char *end;
	double v = strtod(text, &end);

	if (strcmp(end, "%") || !(v > 0 && v <= 100))
		return -EINVAL;
	*ppm = lround(v * PPM / 100);
	return *ppm ? 0 : -EINVAL;
}

static int config_check_classes(const char *path, const struct config_interface *i)
{
	int class_of[DSCPS], others = -1;
	unsigned int n, k;
	__u32 sum = 0;

	memset(class_of, -1, sizeof(class_of));
	if (i->classes_count && i->role != PORT_F_SWITCH) {
		bad(path, "interfaces: %s: classes are for the role switch: what a host sends waits in its fq; leave them out",
		    i->name);
		return -EINVAL;
	}
	for (n = 0; n < i->classes_count; n++) {
		struct config_class *c = &i->classes[n];

		if (share_parse(c->share_text, &c->share_ppm)) {
			bad(path, "interfaces: %s: classes: share '%s' is not a share of the port of more than 0%% and at most 100%%: write for example 30%%",
			    i->name, c->share_text);
			return -EINVAL;
		}
		sum += c->share_ppm;
		if (!c->dscp && others >= 0) {
			bad(path, "interfaces: %s: classes: %u and %u have no dscp: one class without takes all DSCPs that no other names; write dscp: [8] for example in the other",
			    i->name, others + 1, n + 1);
			return -EINVAL;
		}
		if (!c->dscp)
			others = n;
		for (k = 0; k < c->dscp_count; k++) {
			if (c->dscp[k] >= DSCPS || class_of[c->dscp[k]] >= 0) {
				bad(path, c->dscp[k] >= DSCPS ?
					    "interfaces: %s: classes: dscp %u is more than 63: write the six bits of the DSCP, without those of ECN (a TOS byte divided by 4)" :
					    "interfaces: %s: classes: dscp %u is named twice: leave one",
				    i->name, c->dscp[k]);
				return -EINVAL;
			}
			class_of[c->dscp[k]] = n;
		}
	}
	if (sum > PPM) {
		bad(path, "interfaces: %s: classes: the shares sum to %.4g%%: write at most 100%%", i->name,
		    sum * 100. / PPM);
		return -EINVAL;
	}
	return 0;
}

static int speed_parse(const char *text, __u64 *bps)
{
	return units_speed(text, bps) || *bps < CONFIG_SPEED_MIN_BPS || *bps > CONFIG_SPEED_MAX_BPS ? -EINVAL : 0;
}

static int config_check_interface(const char *path, struct config *c, unsigned int n)
{
	struct config_interface *i = &c->interfaces[n];
	unsigned int k;

	snprintf(i->configured, sizeof(i->configured), "%s", i->name);
	if (!strcmp(i->role_text, "host")) {
		i->role = PORT_F_HOST;
	} else if (!strcmp(i->role_text, "switch")) {
		i->role = PORT_F_SWITCH;
	} else {
		bad(path, "interfaces: %s: role '%s' is unknown: write host or switch", i->name,
		    i->role_text);
		return -EINVAL;
	}
	if (i->speed_text && speed_parse(i->speed_text, &i->speed_bps)) {
		bad(path, "interfaces: %s: speed '%s' is not a speed from 100 kbit/s to 1 Tbit/s: write for example 25Gbit",
		    i->name, i->speed_text);
		return -EINVAL;
	}
	if (i->id > WIRE_PATH_MASK || (i->role == PORT_F_SWITCH && !i->id)) {
		bad(path, "interfaces: %s: a switch port needs an id that no other switch has: write one from 1 to %u",
		    i->name, WIRE_PATH_MASK);
		return -EINVAL;
	}
	if (i->role == PORT_F_SWITCH && i->xdp != CONFIG_XDP_AUTO && i->xdp != CONFIG_XDP_OFF) {
		bad(path, "interfaces: %s: xdp is for the role host: a switch port takes nothing off; leave it out", i->name);
		return -EINVAL;
	}
	if (i->role == PORT_F_HOST && i->pfc > CONFIG_PFC_OBEY) {
		bad(path, "interfaces: %s: pfc: %s is for the role switch: a host has no buffer that others fill; write obey or off",
		    i->name, pfc_words[i->pfc].str);
		return -EINVAL;
	}
	if (i->voqs_text && i->role != PORT_F_SWITCH) {
		bad(path, "interfaces: %s: voqs is for the role switch: a host that is its own rack writes 'hiercc: {enabled: true}', one behind a switch 'hiercc: tor' for its peers",
		    i->name);
		return -EINVAL;
	}
	if (i->voqs_text) {
		i->voqs = !strcmp(i->voqs_text, "up")	? PORT_F_VOQ_UP :
			  !strcmp(i->voqs_text, "down") ? PORT_F_VOQ_DOWN : 0;
		if (!i->voqs) {
			bad(path, "interfaces: %s: voqs '%s' is unknown: write up for a port to other racks, down for one to a host of this rack",
			    i->name, i->voqs_text);
			return -EINVAL;
		}
	}
	for (k = 0; k < n; k++) {
		if (!strcmp(i->name, c->interfaces[k].name)) {
			bad(path, "interfaces: %s is named twice: leave one", i->name);
			return -EINVAL;
		}
	}
	return config_check_classes(path, i);
}

static int config_check_peer(const char *path, struct config *c, unsigned int n)
{
	struct config_peer *p = &c->peers[n];
	unsigned int k;

	if (prefix_parse(p->prefix_text, &p->key)) {
		bad(path, "peers: '%s' is not a prefix: write for example 10.0.0.0/8 (host bits 0)", p->prefix_text);
		return -EINVAL;
	}
	if (units_time(p->base_rtt_text, &p->base_rtt_ns) || p->base_rtt_ns < 1000 ||
	    p->base_rtt_ns > CONFIG_RTT_MAX_NS) {
		bad(path, "peers: %s: base_rtt '%s' is not a time between 1us and 1s: write for example 12us",
		    p->prefix_text, p->base_rtt_text);
		return -EINVAL;
	}
	p->variant = c->variant;
	if (p->variant_text && word_parse(variant_words, p->variant_text, &p->variant)) {
		bad(path, "peers: %s: variant '%s' is unknown: write plain, high-ai, probabilistic or vai-sf", p->prefix_text, p->variant_text);
		return -EINVAL;
	}
	p->feedback = c->feedback;
	if (p->feedback_text && word_parse(feedback_words, p->feedback_text, &p->feedback)) {
		bad(path, "peers: %s: feedback '%s' is unknown: write hops, ratio or window",
		    p->prefix_text, p->feedback_text);
		return -EINVAL;
	}
	if (c->target_ns && c->target_ns <= p->base_rtt_ns) {
		bad(path, "swift: target '%s' is not more than the base_rtt of %s, %s: no queue at all would be above it; leave it out, or write a time above every base_rtt",
		    c->swift.target_text, p->prefix_text, p->base_rtt_text);
		return -EINVAL;
	}
	if (!config_peer_hpcc(c, p) && !config_peer_hiercc(c, p)) {
		bad(path, "peers: %s: neither hpcc nor hiercc: nothing would govern what is sent there; write one of them as true, or leave the prefix out",
		    p->prefix_text);
		return -EINVAL;
	}
	p->port_bps = c->port_bps;
	if (p->port_speed_text && speed_parse(p->port_speed_text, &p->port_bps)) {
		bad(path, "peers: %s: port_speed '%s' is not a speed from 100 kbit/s to 1 Tbit/s: write for example 25Gbit",
		    p->prefix_text, p->port_speed_text);
		return -EINVAL;
	}
	for (k = 0; k < n; k++) {
		if (!memcmp(&p->key, &c->peers[k].key, sizeof(p->key))) {
			bad(path, "peers: %s is named twice: leave one", p->prefix_text);
			return -EINVAL;
		}
	}
	return 0;
}

int config_peer_hpcc(const struct config *c, const struct config_peer *p)
{
	return p->hpcc ? *p->hpcc : !c->hpcc.enabled || *c->hpcc.enabled;
}

enum voqs_where config_peer_hiercc(const struct config *c, const struct config_peer *p)
{
	return p->hiercc ? *p->hiercc : c->hiercc.enabled ? VOQS_HERE : VOQS_OFF;
}

int config_hiercc(const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->peers_count && config_peer_hiercc(c, &c->peers[k]) != VOQS_HERE; k++)
		;
	return k < c->peers_count;
}

__u64 config_period_ns(const struct config *c)
{
	__u64 period = CONFIG_PERIOD_MAX_NS;
	unsigned int k;

	if (c->period_ns)
		return c->period_ns;
	for (k = 0; k < c->peers_count; k++)
		if (config_peer_hiercc(c, &c->peers[k]) && c->peers[k].base_rtt_ns / 4 < period)
			period = c->peers[k].base_rtt_ns / 4;
	return period > CONFIG_PERIOD_NS ? period : CONFIG_PERIOD_NS;
}

/* A timer is late by half a period at worst, if the daemon gets its CPU: a quarter on average. */
static __u64 config_round_ns(const struct config *c, const struct config_peer *p)
{
	return p->base_rtt_ns + config_period_ns(c) * 5 / 4;
}

/* An IPv4 address, or a number. */
static int id_parse(const char *text, __be32 *id)
{
	unsigned long n;
	char *end;

	if (inet_pton(AF_INET, text, id) != 1) {
		n = strtoul(text, &end, 10);
		if (text[strspn(text, "0123456789")] || *end || n > 0xffffffff)
			return -EINVAL;
		*id = htonl(n);
	}
	return *id ? 0 : -EINVAL;
}

static int config_check_hiercc(const char *path, struct config *c)
{
	char *end = "";

	if (c->hiercc.id_text && id_parse(c->hiercc.id_text, &c->tor)) {
		bad(path, "hiercc: id '%s' is neither an IPv4 address nor a number from 1 to 4294967295: write one that no other rack has",
		    c->hiercc.id_text);
		return -EINVAL;
	}
	c->credit_eta = c->hiercc.eta_text ? strtod(c->hiercc.eta_text, &end) : CONFIG_CREDIT_ETA;
	if (*end || !(c->credit_eta >= 0.5 && c->credit_eta <= 1)) {
		bad(path, "hiercc: eta '%s' is not a number from 0.5 to 1: write for example 0.98", c->hiercc.eta_text);
		return -EINVAL;
	}
	if (c->hiercc.c0_text && (units_bytes(c->hiercc.c0_text, &c->c0_bytes) ||
				  c->c0_bytes < 2 * HIERCC_DELTA_BYTES || c->c0_bytes >= HIERCC_BYTES_MAX / 2)) {
		bad(path, "hiercc: c0 '%s' is not a number of bytes from 2048B to 67MB: write for example 37.5KB, or leave it out",
		    c->hiercc.c0_text);
		return -EINVAL;
	}
	if (c->hiercc.limit_text && (units_time(c->hiercc.limit_text, &c->limit_ns) || !c->limit_ns ||
				     c->limit_ns > CONFIG_LIMIT_MAX_NS)) {
		bad(path, "hiercc: limit '%s' is not a time of at most 10s: write for example 100ms",
		    c->hiercc.limit_text);
		return -EINVAL;
	}
	if (c->hiercc.period_text &&
	    (units_time(c->hiercc.period_text, &c->period_ns) || c->period_ns < CONFIG_PERIOD_MIN_NS ||
	     c->period_ns > CONFIG_PERIOD_MAX_NS)) {
		bad(path, "hiercc: period '%s' is not a time from 20us to 50ms: write for example 100us",
		    c->hiercc.period_text);
		return -EINVAL;
	}
	if (c->hiercc.port_speed_text && speed_parse(c->hiercc.port_speed_text, &c->port_bps)) {
		bad(path, "hiercc: port_speed '%s' is not a speed from 100 kbit/s to 1 Tbit/s: write for example 25Gbit",
		    c->hiercc.port_speed_text);
		return -EINVAL;
	}
	if (!c->hiercc.voqs)
		c->hiercc.voqs = CONFIG_VOQS;
	if (c->hiercc.voqs > CONFIG_VOQS_MAX) {
		bad(path, "hiercc: voqs %u is more than %u: write at most that", c->hiercc.voqs, CONFIG_VOQS_MAX);
		return -EINVAL;
	}
	return 0;
}

/* Who waits for less than credit takes to go round never gets any. */
#define CONFIG_LIMIT_ROUNDS_MIN 4

static int config_check_rounds(const char *path, const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->peers_count; k++) {
		const struct config_peer *p = &c->peers[k];

		if (!config_peer_hiercc(c, p))
			continue;
		if (config_round_ns(c, p) >= HIERCC_NS_MAX) {
			bad(path, "peers: %s: base_rtt '%s' is too long for hiercc: with the period of %llu us it has to be below 67ms; write hiercc: false",
			    p->prefix_text, p->base_rtt_text, config_period_ns(c) / 1000);
			return -EINVAL;
		}
		if (c->limit_ns && c->limit_ns < CONFIG_LIMIT_ROUNDS_MIN * config_round_ns(c, p)) {
			bad(path, "hiercc: limit '%s' is less than four rounds of credit of %s, each its base_rtt and a period of %llu us: write %llu us or more, or leave it out", c->hiercc.limit_text, p->prefix_text, config_period_ns(c) / 1000,
			    CONFIG_LIMIT_ROUNDS_MIN * config_round_ns(c, p) / 1000 + 1);
			return -EINVAL;
		}
	}
	return 0;
}

/* The longest wait for credit. */
static __u64 config_limit_ns(const struct config *c, const struct config_peer *p)
{
	__u64 round = config_round_ns(c, p), limit = CONFIG_LIMIT_ROUNDS * round;

	if (c->limit_ns)
		return c->limit_ns;
	if (limit > CONFIG_LIMIT_NS)
		limit = CONFIG_LIMIT_NS;
	return limit > CONFIG_LIMIT_ROUNDS_MIN * round ? limit : CONFIG_LIMIT_ROUNDS_MIN * round;
}

/* A switch as a ToR: its interfaces with voqs, and what they need. */
static int config_check_tor(const char *path, const struct config *c)
{
	const struct config_interface *tor = NULL;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].voqs)
			tor = &c->interfaces[k];
	if (!tor)
		return 0;
	if (!config_hiercc(c)) {
		bad(path, "interfaces: %s: voqs needs peers by whose base_rtt they are made: write 'hiercc: {enabled: true}' and the prefixes of all racks under peers, with their base_rtt",
		    tor->name);
		return -EINVAL;
	}
	for (k = 0; k < c->peers_count; k++) {
		if (config_peer_hiercc(c, &c->peers[k]) == VOQS_TOR) {
			bad(path, "peers: %s: hiercc: tor is for the hosts behind this switch: write true here",
			    c->peers[k].prefix_text);
			return -EINVAL;
		}
	}
	if (!c->tor) {
		bad(path, "interfaces: %s: voqs needs the number of this rack: write 'hiercc: {enabled: true, id: 1}' with one that no other rack has",
		    tor->name);
		return -EINVAL;
	}
	return 0;
}

static int config_is_tor(const struct config *c)
{
	unsigned int k;

	for (k = 0; k < c->interfaces_count && !c->interfaces[k].voqs; k++)
		;
	return k < c->interfaces_count;
}

unsigned int config_pfc_count(const struct config *c, enum config_pfc least)
{
	unsigned int k, n = 0;

	for (k = 0; k < c->interfaces_count; k++)
		n += c->interfaces[k].pfc >= least;
	return n;
}

__u64 config_headroom(const struct config *c, __u64 bps, __u32 mtu)
{
	return c->headroom_bytes ?: pfc_headroom(bps, 2 * c->delay_ns, c->interval_ns, mtu);
}

/* A time of the section, if it is there. */
static int pfc_time(const char *path, const char *key, const char *text, __u64 least, __u64 most, __u64 *ns)
{
	if (!text || (!units_time(text, ns) && *ns >= least && *ns <= most))
		return 0;
	bad(path, "pfc: %s '%s' is not a time from %llu us to %llu ms: write for example %s", key, text,
	    least / 1000, most / 1000000, most >= NSEC_PER_SEC ? "200ms" : "100us");
	return -EINVAL;
}

static int pfc_bytes(const char *path, const char *key, const char *text, __u64 *bytes)
{
	if (!text || (!units_bytes(text, bytes) && *bytes && *bytes <= CONFIG_PFC_BUFFER_MAX))
		return 0;
	bad(path, "pfc: %s '%s' is not a number of bytes up to 1GB: write for example 500KB", key, text);
	return -EINVAL;
}

/* The buffer has to have room for more than what is still to come after XOFF. */
static int config_check_buffer(const char *path, const struct config *c)
{
	unsigned int k, priorities = __builtin_popcount(c->lossless);
	__u64 headroom = 0;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].pfc >= CONFIG_PFC_PAUSE)
			headroom += priorities * config_headroom(c, c->interfaces[k].speed_bps, CONFIG_PFC_MTU);
	if (headroom >= c->buffer_bytes) {
		bad(path, "pfc: buffer '%s' is no more than the headroom of its ports, %llu bytes, for what comes in by them after XOFF: write more, fewer priorities (lossless), or a shorter delay",
		    c->pfc.buffer_text, headroom);
		return -EINVAL;
	}
	if (c->k_max_bytes >= c->buffer_bytes - headroom || c->xoff_bytes >= c->buffer_bytes - headroom) {
		bad(path, "pfc: %s '%s' is not less than what the headroom leaves of the buffer, %llu bytes: it would never be reached; write less", c->xoff_bytes >= c->buffer_bytes - headroom ? "xoff" : "k_max",
		    c->xoff_bytes >= c->buffer_bytes - headroom ? c->pfc.xoff_text : c->pfc.k_max_text,
		    c->buffer_bytes - headroom);
		return -EINVAL;
	}
	return 0;
}

static int config_check_pfc(const char *path, struct config *c)
{
	unsigned int k;
	int err;

	if (config_pfc_count(c, CONFIG_PFC_OBEY) >= PFC_SLOTS) {
		bad(path, "interfaces: more than %u have pfc: leave it out at some", PFC_SLOTS - 1);
		return -EINVAL;
	}
	for (k = 0; k < c->pfc.lossless_count; k++) {
		if (c->pfc.lossless[k] >= PFC_PRIORITIES || c->lossless >> c->pfc.lossless[k] & 1) {
			bad(path, "pfc: lossless: priority %u %s", c->pfc.lossless[k],
			    c->pfc.lossless[k] >= PFC_PRIORITIES ? "does not exist: write numbers from 0 to 7" :
								   "is named twice: leave one");
			return -EINVAL;
		}
		c->lossless |= 1 << c->pfc.lossless[k];
	}
	if (!c->lossless)
		c->lossless = 1 << CONFIG_PFC_LOSSLESS;
	c->delay_ns = CONFIG_PFC_DELAY_NS;
	c->interval_ns = CONFIG_PFC_INTERVAL_NS;
	err = pfc_time(path, "delay", c->pfc.delay_text, 0, CONFIG_PFC_DELAY_MAX_NS, &c->delay_ns) ?:
	      pfc_time(path, "interval", c->pfc.interval_text, CONFIG_PFC_INTERVAL_MIN_NS,
		       CONFIG_PFC_INTERVAL_MAX_NS, &c->interval_ns) ?:
	      pfc_time(path, "t_thresh", c->pfc.t_thresh_text, 1000, CONFIG_PFC_THRESH_MAX_NS, &c->t_thresh_ns) ?:
	      pfc_time(path, "fixed", c->pfc.fixed_text, 1000, CONFIG_PFC_THRESH_MAX_NS, &c->fixed_ns) ?:
	      pfc_time(path, "watchdog", c->pfc.watchdog_text, CONFIG_PFC_WATCHDOG_MIN_NS,
		       CONFIG_PFC_WATCHDOG_MAX_NS, &c->watchdog_ns) ?:
	      pfc_bytes(path, "buffer", c->pfc.buffer_text, &c->buffer_bytes) ?:
	      pfc_bytes(path, "headroom", c->pfc.headroom_text, &c->headroom_bytes) ?:
	      pfc_bytes(path, "xoff", c->pfc.xoff_text, &c->xoff_bytes) ?:
	      pfc_bytes(path, "k_max", c->pfc.k_max_text, &c->k_max_bytes);
	if (err || !config_pfc_count(c, CONFIG_PFC_PAUSE))
		return err;
	if (!c->buffer_bytes) {
		bad(path, "pfc: buffer is missing: write what the egress queues of the ports with pfc hold together before they drop, for example the sum of their limits: 'pfc: {buffer: 500KB}'");
		return -EINVAL;
	}
	return config_check_buffer(path, c);
}

int config_is_uplink(const struct config *c, const char *name)
{
	return c->node.uplink && !strcmp(c->node.uplink, name);
}

static int config_check_node(const char *path, struct config *c)
{
	unsigned int i, k;

	for (i = 0; i < c->interfaces_count && !config_is_uplink(c, c->interfaces[i].name); i++)
		;
	if (i == c->interfaces_count || c->interfaces[i].role != PORT_F_HOST) {
		bad(path, "node: uplink '%s' is not one of the interfaces with role host: write the one that leads to the network",
		    c->node.uplink);
		return -EINVAL;
	}
	if (!c->node.id || c->node.id > WIRE_PATH_MASK) {
		bad(path, "node: id %u: write one from 1 to %u, different from that of other nodes and switches",
		    c->node.id, WIRE_PATH_MASK);
		return -EINVAL;
	}
	for (i = 0; i < c->node.pod_cidrs_count; i++) {
		if (prefix_parse(c->node.pod_cidrs[i], &c->pod_cidrs[i])) {
			bad(path, "node: pod_cidrs: '%s' is not a prefix: write for example 10.244.1.0/24 (host bits 0)",
			    c->node.pod_cidrs[i]);
			return -EINVAL;
		}
		for (k = 0; k < i; k++) {
			if (!memcmp(&c->pod_cidrs[k], &c->pod_cidrs[i], sizeof(c->pod_cidrs[i]))) {
				bad(path, "node: pod_cidrs: %s is named twice: leave one", c->node.pod_cidrs[i]);
				return -EINVAL;
			}
		}
	}
	return 0;
}

/* One line of 32 hex digits, without its newline: the bytes of the key in their order. */
static int key_parse(const char *line, struct siphash_key *key)
{
	__u8 bytes[16];
	unsigned int i;

	if (strlen(line) != 2 * sizeof(bytes) || strspn(line, "0123456789abcdefABCDEF") != 2 * sizeof(bytes))
		return -EINVAL;
	for (i = 0; i < sizeof(bytes); i++)
		sscanf(line + 2 * i, "%2hhx", &bytes[i]);
	memcpy(key, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/*
 * Whether nobody but root and this user can put another file in the place of this one: each directory above it is
 * theirs, and is written by nobody else, unless it is sticky, as /tmp is. path is without symbolic links.
 */
static int key_path_check(const char *path, const char *name, const char *file)
{
	char dir[PATH_MAX], *slash;
	struct stat st;

	snprintf(dir, sizeof(dir), "%s", file);
	while ((slash = strrchr(dir, '/'))) {
		slash[slash == dir] = 0; /* the root itself comes last */
		if (stat(dir, &st)) {
			bad(path, "auth: %s: its directory %s: %s: write the path of a file in a directory that can be looked at",
			    name, dir, strerror(errno));
			return -EPERM;
		}
		if (st.st_uid && st.st_uid != geteuid()) {
			bad(path, "auth: %s: its directory %s is of user %u, who can put another key there: write the path of a file below directories of root",
			    name, dir, st.st_uid);
			return -EPERM;
		}
		if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX)) {
			bad(path, "auth: %s: others may write to its directory %s, and so put another key there: chmod go-w %s, or write the path of a file elsewhere",
			    name, dir, dir);
			return -EPERM;
		}
		if (slash == dir)
			break;
	}
	return 0;
}

/* The links that lead to a file count as well as the file: a secret of Kubernetes has two of them. */
static int key_paths_check(const char *path, const char *name)
{
	char *file = realpath(name, NULL);
	int err = file ? 0 : -errno;

	if (err)
		bad(path, "auth: %s: %s: write the path of a file that can be read", name, strerror(-err));
	err = err ?: key_path_check(path, name, name) ?: key_path_check(path, name, file);
	free(file);
	return err;
}

/* The keys of an open file; says what is wrong with it. */
static int keys_read(const char *path, const char *name, FILE *f, struct auth_keys *keys)
{
	static const struct siphash_key zero;
	char line[64];
	struct stat st;

	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode)) {
		bad(path, "auth: %s is not a file: write the path of one with a line of 32 hex digits", name);
		return -EINVAL;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		bad(path, "auth: %s may be read by others: chmod 600 %s, and make a new key if it has been in use",
		    name, name);
		return -EPERM;
	}
	if (st.st_uid && st.st_uid != geteuid()) {
		bad(path, "auth: %s is of user %u, who knows the key and can change it: chown root %s, and make a new key if it has been in use",
		    name, st.st_uid, name);
		return -EPERM;
	}
	if (key_paths_check(path, name))
		return -EPERM;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (keys->n == 2 || key_parse(line, &keys->key[keys->n])) {
			explicit_bzero(line, sizeof(line));
			bad(path, "auth: %s: line %u is not a key, or one too many: write one line of 32 hex digits, or two while keys are exchanged",
			    name, keys->n + 1);
			return -EINVAL;
		}
		if (!memcmp(&keys->key[keys->n], &zero, sizeof(zero))) {
			bad(path, "auth: %s: line %u is all zeros, which everybody guesses: write 32 hex digits at random, as docs/configuration.md makes them",
			    name, keys->n + 1);
			return -EINVAL;
		}
		keys->n++;
	}
	explicit_bzero(line, sizeof(line));
	if (!keys->n) {
		bad(path, "auth: %s is empty: write one line of 32 hex digits", name);
		return -EINVAL;
	}
	return 0;
}

static int config_check_auth(const char *path, struct config *c)
{
	FILE *f;
	int fd, err;

	if (!c->auth) {
		bad(path, "auth is missing: write 'auth: /etc/sluice/key', a file with the key of all hosts, or 'auth: none', with which whoever can send to this host can tell it how fast to send");
		return -EINVAL;
	}
	if (!strcmp(c->auth, "none"))
		return 0;
	if (c->auth[0] != '/') {
		bad(path, "auth '%s' is neither none nor a path that begins with /: write for example /etc/sluice/key", c->auth);
		return -EINVAL;
	}
	fd = open(c->auth, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		err = -errno;
		bad(path, "auth: %s: %s: write the path of a file that can be read, with a line of 32 hex digits", c->auth, strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	setvbuf(f, NULL, _IONBF, 0); /* no copy of the keys that would outlive this */
	err = keys_read(path, c->auth, f, &c->keys);
	fclose(f);
	return err;
}

/* N: 0 for auto. */
static int initial_flows_parse(const char *text, unsigned int *flows)
{
	char *end;
	unsigned long n;

	if (!strcmp(text, "auto")) {
		*flows = 0;
		return 0;
	}
	n = strtoul(text, &end, 10);
	if (text[strspn(text, "0123456789")] || *end || !n || n > CONFIG_N_MAX)
		return -EINVAL;
	*flows = n;
	return 0;
}

static char *config_default(char *have, const char *value)
{
	return have ? have : strdup(value);
}

static int config_check_metrics(const char *path, struct config_metrics *m)
{
	m->listen_text = config_default(m->listen_text, CONFIG_METRICS_LISTEN);
	if (!m->listen_text)
		return -ENOMEM;
	if (listen_parse(m->listen_text, &m->listen, &m->listen_len)) {
		bad(path, "metrics: listen '%s' is neither an address with a port nor a path: write for example " CONFIG_METRICS_LISTEN ", '[::1]:9463' or /run/sluice/metrics.sock",
		    m->listen_text);
		return -EINVAL;
	}
	if (m->flows > CONFIG_METRICS_FLOWS_MAX) {
		bad(path, "metrics: flows %u is more than %u: each is a series of its own in Prometheus: write for example 10",
		    m->flows, CONFIG_METRICS_FLOWS_MAX);
		return -EINVAL;
	}
	return 0;
}

/* The keys that stand alone: pins, mode, port, sizes and times. */
static int config_check_general(const char *path, struct config *c)
{
	unsigned int i;

	c->pin_dir = config_default(c->pin_dir, SLUICE_PIN_DIR);
	c->mode_text = config_default(c->mode_text, "enforce");
	if (!c->pin_dir || !c->mode_text)
		return -ENOMEM;
	if (strncmp(c->pin_dir, "/sys/fs/bpf/", 12) || !c->pin_dir[12] || strstr(c->pin_dir, "..")) {
		bad(path, "pin_dir '%s' is not below /sys/fs/bpf: write for example %s", c->pin_dir,
		    SLUICE_PIN_DIR);
		return -EINVAL;
	}
	for (i = 0; i < 3 && strcmp(c->mode_text, mode_name(i)); i++)
		;
	if (i == 3) {
		bad(path, "mode '%s' is unknown: write observe, dry-run or enforce", c->mode_text);
		return -EINVAL;
	}
	c->mode = i;
	if (!c->port)
		c->port = WIRE_PORT_DEFAULT;
	if (c->port > 0xffff) {
		bad(path, "port %u is not a UDP port: write 1 to 65535", c->port);
		return -EINVAL;
	}
	if (!c->max_flows)
		c->max_flows = CONFIG_MAX_FLOWS;
	if (c->max_flows > CONFIG_FLOWS_MAX) {
		bad(path, "max_flows %u is more than %u: write at most that", c->max_flows, CONFIG_FLOWS_MAX);
		return -EINVAL;
	}
	c->flow_timeout_ns = CONFIG_FLOW_TIMEOUT_NS;
	if (c->flow_timeout_text && (units_time(c->flow_timeout_text, &c->flow_timeout_ns) ||
				     c->flow_timeout_ns < NSEC_PER_SEC)) {
		bad(path, "flow_timeout '%s' is not a time of 1s or more: write for example 60s", c->flow_timeout_text);
		return -EINVAL;
	}
	if (c->pacing.horizon_text && (units_time(c->pacing.horizon_text, &c->horizon_ns) ||
				       c->horizon_ns > NSEC_PER_SEC)) {
		bad(path, "pacing: horizon '%s' is not a time of at most 1s: write for example 10ms",
		    c->pacing.horizon_text);
		return -EINVAL;
	}
	if (c->swift.target_text && (units_time(c->swift.target_text, &c->target_ns) ||
				     !c->target_ns || c->target_ns > CONFIG_TARGET_MAX_NS)) {
		bad(path, "swift: target '%s' is not a time of at most 250ms: write for example 18us",
		    c->swift.target_text);
		return -EINVAL;
	}
	return 0;
}

static int config_check_hpcc(const char *path, struct config *c)
{
	char *end = "";

	/* libcyaml's own floats end where the number does: 0.95% would be 0.95. */
	c->eta = c->hpcc.eta_text ? strtod(c->hpcc.eta_text, &end) : 0;
	if (!c->eta)
		c->eta = 0.95;
	if (*end || !(c->eta >= 0.5 && c->eta <= 1)) {
		bad(path, "hpcc: eta '%s' is not a number from 0.5 to 1: write for example 0.95", c->hpcc.eta_text);
		return -EINVAL;
	}
	if (!c->hpcc.max_stage)
		c->hpcc.max_stage = 5;
	if (c->hpcc.max_stage > CONFIG_STAGE_MAX) {
		bad(path, "hpcc: max_stage %u is more than %u: write for example 5",
		    c->hpcc.max_stage, CONFIG_STAGE_MAX);
		return -EINVAL;
	}
	if (c->hpcc.flows_text && initial_flows_parse(c->hpcc.flows_text, &c->flows)) {
		bad(path, "hpcc: flows '%s' is neither auto nor a number from 1 to %u: write for example 16",
		    c->hpcc.flows_text, CONFIG_N_MAX);
		return -EINVAL;
	}
	if (c->hpcc.w_ai_text && (units_bytes(c->hpcc.w_ai_text, &c->w_ai_bytes) || !c->w_ai_bytes ||
				  c->w_ai_bytes > HPCC_W_MAX_BYTES)) {
		bad(path, "hpcc: w_ai '%s' is not a number of bytes: write for example 80B", c->hpcc.w_ai_text);
		return -EINVAL;
	}
	if (c->hpcc.variant_text && word_parse(variant_words, c->hpcc.variant_text, &c->variant)) {
		bad(path, "hpcc: variant '%s' is unknown: write plain, high-ai, probabilistic or vai-sf", c->hpcc.variant_text);
		return -EINVAL;
	}
	if (c->hpcc.feedback_text && word_parse(feedback_words, c->hpcc.feedback_text, &c->feedback)) {
		bad(path, "hpcc: feedback '%s' is unknown: write hops, ratio or window", c->hpcc.feedback_text);
		return -EINVAL;
	}
	return 0;
}

static int config_check_tcp(const char *path, struct config *c)
{
	if (c->tcp.make_default && !c->tcp.name) {
		c->tcp.name = strdup("sluice");
		if (!c->tcp.name)
			return -ENOMEM;
	}
	/* The kernel's rule for the names of BPF objects. */
	if (c->tcp.name && c->tcp.name[strspn(c->tcp.name, CONFIG_CC_CHARS)]) {
		bad(path, "tcp: name '%s': only letters, digits, '_' and '.' are allowed: write for example sluice",
		    c->tcp.name);
		return -EINVAL;
	}
	return 0;
}

/* Each interface and each peer, and what they want of each other. */
static int config_check_lists(const char *path, struct config *c)
{
	unsigned int i, hosts = 0, sending = 0;
	int err;

	for (i = 0; i < c->interfaces_count; i++) {
		err = config_check_interface(path, c, i);
		if (err)
			return err;
		hosts += c->interfaces[i].role == PORT_F_HOST;
		sending += c->interfaces[i].role == PORT_F_HOST && c->interfaces[i].pfc == CONFIG_PFC_OFF;
	}
	for (i = 0; i < c->peers_count; i++) {
		err = config_check_peer(path, c, i);
		if (err)
			return err;
	}
	err = config_check_rounds(path, c) ?: config_check_pfc(path, c);
	if (err)
		return err;
	/* One that obeys pauses may do nothing else. */
	if (sending && !c->peers_count) {
		bad(path, "a host interface needs peers: name the prefixes to which telemetry may be sent, or write 'pfc: obey' if it does no more than that");
		return -EINVAL;
	}
	err = config_check_tor(path, c);
	if (err)
		return err;
	return (hosts && c->peers_count) || config_is_tor(c) ? config_check_auth(path, c) : 0;
}

static int config_check(const char *path, struct config *c)
{
	int err = config_check_general(path, c) ?: config_check_hpcc(path, c) ?: config_check_hiercc(path, c) ?:
		  config_check_lists(path, c);

	if (!err && c->node.uplink)
		err = config_check_node(path, c);
	if (!err && c->metrics)
		err = config_check_metrics(path, c->metrics);
	return err ?: config_check_tcp(path, c);
}

int config_load(const char *path, struct config **config)
{
	cyaml_config_t cy = config_cyaml(path);
	struct config *c = NULL;
	struct stat st;
	cyaml_err_t e;
	int err = 0;

	if (stat(path, &st) || access(path, R_OK))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	if (err) {
		msg("%s: cannot read the configuration: %s: give another file with --config", path,
		    err == -EINVAL ? "not a file" : strerror(-err));
		return err;
	}
	err = config_lint(path, &config_schema);
	if (err)
		return err;
	e = cyaml_load_file(path, &cy, &config_schema, (cyaml_data_t **)&c, NULL);
	if (e != CYAML_OK) {
		msg("%s: %s: nothing was changed; the keys are described in docs/configuration.md", path,
		    cyaml_strerror(e));
		return -EINVAL;
	}
	if (!c) {
		msg("%s: the file is empty: see docs/configuration.md", path);
		return -EINVAL;
	}
	err = config_check(path, c);
	if (err) {
		config_free(c);
		return err;
	}
	*config = c;
	return 0;
}

void config_free(struct config *c)
{
	cyaml_config_t cy = config_cyaml("");

	if (c)
		explicit_bzero(&c->keys, sizeof(c->keys));
	if (c)
		cyaml_free(&cy, &config_schema, c, 0);
}

int config_interface_rename(struct config *c, struct config_interface *i, const char *name)
{
	char *is = strdup(name), *uplink = config_is_uplink(c, i->name) ? strdup(name) : NULL;

	if (!is || (config_is_uplink(c, i->name) && !uplink)) {
		free(is);
		free(uplink);
		return -ENOMEM;
	}
	if (uplink) {
		free(c->node.uplink);
		c->node.uplink = uplink;
	}
	free(i->name);
	i->name = is;
	return 0;
}

enum sluice_encoding config_peer_encoding(const struct config *c, const struct config_peer *p)
{
	return p->encoding ? (enum sluice_encoding)*p->encoding : c->hpcc.encoding;
}

void config_classes_value(const struct config_interface *i, __u64 speed_bps, struct port_classes *v)
{
	unsigned int n, k;

	v->n = i->classes_count;
	for (n = 0; n < i->classes_count; n++)
		if (!i->classes[n].dscp)
			memset(v->of_dscp, n, sizeof(v->of_dscp)); /* else the first */
	for (n = 0; n < i->classes_count; n++) {
		for (k = 0; k < i->classes[n].dscp_count; k++)
			v->of_dscp[i->classes[n].dscp[k]] = n;
		/* The rest counts for a port below 1 Mbit/s. A class reports at least 1 bit/s: nothing divides by 0. */
		v->share[n].bps = speed_bps / PPM * i->classes[n].share_ppm +
				  speed_bps % PPM * i->classes[n].share_ppm / PPM;
		if (!v->share[n].bps)
			v->share[n].bps = 1;
		v->share[n].speed = telem_speed_fit(v->share[n].bps);
	}
}

struct peer config_peer_value(const struct config *c, const struct config_peer *p)
{
	struct peer v = {
		.t_ns = p->base_rtt_ns,
		.eta = c->eta * Q24_ONE,
		.w_ai = q12_from_bytes(c->w_ai_bytes),
		.flows = c->flows ?: CONFIG_FLOWS,
		.flows_fixed = c->flows || c->w_ai_bytes,
		.feedback = p->feedback,
		.max_stage = c->hpcc.max_stage,
		.variant = p->variant,
		.fallback = !c->swift.fallback || *c->swift.fallback,
		.target_ns = c->target_ns,
		.encoding = config_peer_encoding(c, p),
		.telemetry = p->telemetry ? *p->telemetry : (int)c->hpcc.telemetry,
		.hpcc_off = !config_peer_hpcc(c, p),
		.hiercc = config_peer_hiercc(c, p),
		.prefixlen = p->key.prefixlen,
		.voq_bps = p->port_bps,
		.voq_c0 = c->c0_bytes,
		.voq_limit_ns = config_limit_ns(c, p),
		.voq_period_ns = config_period_ns(c) * 5 / 4,
	};

	return v;
}

__u64 config_count_ns(const struct config *c)
{
	__u64 longest = 0;
	unsigned int i;

	for (i = 0; i < c->peers_count; i++)
		if (c->peers[i].base_rtt_ns > longest)
			longest = c->peers[i].base_rtt_ns;
	return RX_COUNT_RTTS * longest;
}

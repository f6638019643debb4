// SPDX-License-Identifier: GPL-2.0-only
/* The keys of an interface, of a class of it, and of a peer. */
#include "lib/config.h"
#include "lib/config/keys.h"
#include "sluice/wire/wire.h"

#define USEC 1000ULL

/* clang-format off: a row reads as a row */

static const struct config_key class_keys[] = {
	{ "dscp", &config_bits, FIELD(struct config_class, dscp), .max = 63, .most = 64,
	  .range = "a list of numbers from 0 to 63", .refusal = "is more than 63", .example = "8",
	  .advice = "the six bits of the DSCP, without those of ECN (a TOS byte divided by 4)",
	  .otherwise = "all that no other class names", .reload = "at once",
	  .meaning = "the packets of the class. A DSCP that none has belongs to the class without dscp, or to "
		     "the first if each has one" },
	{ "share", &config_share, FIELD(struct config_class, share_ppm), .required = true,
	  .range = "a share of the port of more than 0% and at most 100%", .note = "together at most 100%",
	  .example = "30%", .reload = "at once",
	  .meaning = "what the class is sure of when all others have something to send: its weight in DWRR, "
		     "its rate in htb" },
	{ "strict", &config_word, FIELD(struct config_class, strict), .words = flag_words, .preset = "false",
	  .note = "with queue: sluice", .reload = "at once",
	  .meaning = "true: its packets leave before those of all classes that are not strict; of several such "
		     "classes the first leaves first" },
	{}
};

static const struct config_table class_table = { class_keys, sizeof(struct config_class) };

static const struct config_key interface_keys[] = {
	{ "name", &config_string, FIELD(struct config_interface, name), .required = true, .most = IFNAMSIZ - 1,
	  .range = "1 to 15 characters", .example = "eth0", .reload = "at once",
	  .note = "a name, or a pattern as in a shell",
	  .meaning = "Ethernet device. Must exist at the first start; later it may come and go. A pattern: all "
		     "Ethernet devices that it matches, also those that appear later" },
	{ "role", &config_word, FIELD(struct config_interface, role), .required = true, .words = role_words,
	  .refusal = "is unknown", .reload = "at once",
	  .meaning = "host: source and sink of telemetry. switch: stamps what leaves by this port" },
	{ "speed", &config_speed, FIELD(struct config_interface, speed_bps), .min = CONFIG_SPEED_MIN_BPS,
	  .max = CONFIG_SPEED_MAX_BPS, .range = "a speed from 100 kbit/s to 1 Tbit/s", .example = "25Gbit",
	  .otherwise = "the rate of a tbf or htb at its root, or what the driver says if that is less",
	  .reload = "at once",
	  .meaning = "the rate at which the port really sends. Write it for virtual links without such a shaper, whose "
		     "drivers say 10 Gbit/s or nothing, and if the shaper is below mq or elsewhere" },
	{ "id", &config_number, FIELD(struct config_interface, id), .max = WIRE_PATH_MASK,
	  .range = "a number from 1 to 4095", .note = "up to 4095 and unused on a host",
	  .refusal = "is none: a switch port needs an id that no other switch has", .example = "1",
	  .advice = "one from 1 to 4095", .otherwise = "required on a switch", .reload = "at once",
	  .meaning = "goes into pathID. Different for each switch; ports of one switch may share it" },
	{ "xdp", &config_word, FIELD(struct config_interface, xdp), .words = xdp_words, .note = "a host's only",
	  .preset = "auto", .reload = "at once", .meaning = "where telemetry is stripped: XDP" },
	{ "attach", &config_word, FIELD(struct config_interface, attach), .words = attach_words, .preset = "auto",
	  .reload = "at once to tcx; to clsact with the next start",
	  .meaning = "what holds the programs. auto: tcx where the kernel has it (Linux 6.6), in front of other "
		     "programs; else filters of a qdisc clsact. clsact: always those" },
	{ "queue", &config_word, FIELD(struct config_interface, queue), .words = queue_words, .preset = "auto",
	  .reload = "at once; what waits in the qdisc is lost",
	  .meaning = "sluice: the daemon installs its own qdisc, and puts the previous one back. fq, and for now auto: "
		     "the qdisc is left alone, and fq is advised where it is missing" },
	{ "rate", &config_speed, FIELD(struct config_interface, rate_bps), .min = CONFIG_SPEED_MIN_BPS,
	  .max = CONFIG_SPEED_MAX_BPS, .range = "a speed from 100 kbit/s to 1 Tbit/s", .note = "with queue: sluice",
	  .example = "100Mbit", .otherwise = "as fast as the interface takes packets",
	  .reload = "at once; where there was none before, what waits in the qdisc is lost",
	  .meaning = "the qdisc sends no faster, as tbf. It is also the speed, unless that is written" },
	{ "limit", &config_bytes, FIELD(struct config_interface, limit_bytes), .min = 1514, .max = 1000000000,
	  .range = "a number of bytes from 1514 to 1GB", .note = "with rate, or with classes and queue: sluice",
	  .example = "500KB", .otherwise = "1MB", .reload = "at once",
	  .meaning = "what may wait in the qdisc, or in each of its classes" },
	{ "ecn", &config_bytes, FIELD(struct config_interface, ecn_bytes), .min = 1514, .max = 1000000000,
	  .range = "a number of bytes from 1514 to 1GB", .note = "a switch's only; less than limit", .example = "65KB",
	  .otherwise = "no packet is marked", .reload = "at once",
	  .meaning = "K of DCTCP: packets that are not Sluice's and are ECN capable get CE when the queue in front "
		     "of them is longer" },
	{ "pfc", &config_word, FIELD(struct config_interface, pfc), .words = pfc_words,
	  .note = "a switch's only: pfc and ppfc", .preset = "off", .reload = "at once",
	  .meaning = "pauses: those of the neighbour are obeyed; it is paused by thresholds; and by "
		     "prediction. Needs fq to obey, or a NIC that does PFC, which is told to" },
	{ "voqs", &config_word, FIELD(struct config_interface, voqs), .words = voqs_words, .note = "a switch's only",
	  .refusal = "is unknown", .advice = "up for a port to other racks, down for one to a host of this rack",
	  .otherwise = "none", .reload = "at once",
	  .meaning = "a switch as ToR: up leads to other racks and needs fq, down to a host. Needs peers with "
		     "hiercc, hiercc: id, and auth" },
	{ "classes", &config_entries, FIELD_POINTER(struct config_interface, classes), .most = CLASSES_MAX,
	  .table = &class_table, .count = FIELD(struct config_interface, classes_count), .range = "a list of 1 to 8",
	  .note = "a switch's only", .otherwise = "none: the port has one queue", .reload = "at once",
	  .meaning = "a port with several queues" },
	{}
};

static const struct config_key peer_keys[] = {
	{ "prefix", &config_prefix, FIELD(struct config_peer, key), .required = true, .most = 64, .range = "a prefix",
	  .note = "IPv4 or IPv6 with host bits 0, or an address", .example = "10.0.0.0/8",
	  .advice = "for example 10.0.0.0/8 (host bits 0)", .reload = "at once",
	  .meaning = "see routes before choosing it" },
	{ "base_rtt", &config_rtt, FIELD(struct config_peer, base_rtt_ns), .required = true, .min = USEC,
	  .max = NSEC_PER_SEC, .range = "auto, or a time between 1us and 1s",
	  .refusal = "is not a time between 1us and 1s, nor auto", .example = "12us", .reload = "at once",
	  .meaning = "T: the RTT to that prefix with empty queues, of a full packet and its delayed ACK: "
		     "about the RTT of a small ping plus four times what a full packet takes at the slowest "
		     "link. auto: as it is measured" },
	{ "variant", &config_word, FIELD(struct config_peer, variant), .words = variant_words,
	  .inherits = FIELD(struct config, variant), .refusal = "is unknown", .otherwise = "what hpcc: variant says",
	  .reload = "at once", .meaning = "the same, of flows to that prefix" },
	{ "feedback", &config_word, FIELD(struct config_peer, feedback), .words = feedback_words,
	  .inherits = FIELD(struct config, feedback), .refusal = "is unknown", .otherwise = "what hpcc: feedback says",
	  .reload = "at once", .meaning = "the same, of what arrives from that prefix" },
	{ "encoding", &config_word, FIELD(struct config_peer, encoding), .words = encoding_words,
	  .inherits = FIELD(struct config, hpcc.encoding), .otherwise = "what hpcc: encoding says", .reload = "at once",
	  .meaning = "the same, of packets to that prefix" },
	{ "telemetry", &config_word, FIELD(struct config_peer, telemetry), .words = telemetry_words,
	  .inherits = FIELD(struct config, hpcc.telemetry), .otherwise = "what hpcc: telemetry says",
	  .reload = "at once; routes too", .meaning = "the same, of packets to that prefix" },
	{ "hpcc", &config_word, FIELD(struct config_peer, hpcc), .words = flag_words,
	  .inherits = FIELD(struct config, hpcc.enabled), .otherwise = "what hpcc: enabled says", .reload = "at once",
	  .meaning = "whether Algorithm 1 governs what is sent there" },
	{ "hiercc", &config_word, FIELD(struct config_peer, hiercc), .words = hiercc_words,
	  .inherits = FIELD(struct config, hiercc.enabled), .otherwise = "what hiercc: enabled says",
	  .reload = "at once; routes too",
	  .meaning = "whether what is sent there goes by VOQs; tor: by those of the switch that this host is "
		     "behind. One of both has to be true; base_rtt below 67ms" },
	{ "port_speed", &config_speed, FIELD(struct config_peer, port_bps), .min = CONFIG_SPEED_MIN_BPS,
	  .max = CONFIG_SPEED_MAX_BPS, .inherits = FIELD(struct config, port_bps),
	  .range = "a speed from 100 kbit/s to 1 Tbit/s", .example = "25Gbit",
	  .otherwise = "what hiercc: port_speed says", .reload = "at once", .meaning = "the same, of that prefix" },
	{}
};

/* clang-format on */

const struct config_table config_interface_table = { interface_keys, sizeof(struct config_interface) };
const struct config_table config_peer_table = { peer_keys, sizeof(struct config_peer) };

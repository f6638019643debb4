// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cases. Each names the counter that its packets must end in: a program that exits early is fast, and
 * its time would mean nothing.
 */
#include "cases.h"

#include <string.h>

/* Packets of A: full, full with IPv6, with room for INT-MD, an ACK, and a datagram. BACK: the same from B. */
#define FULL .ip = { .payload = 1316, .options = 12 }
#define FULL6 .ip = { .v6 = 1, .payload = 1276, .options = 12 }
#define FULL_INT .ip = { .payload = 1200, .options = 12 }
#define AN_ACK .ip = { .options = 12 }
#define STRANGER .ip = { .to = HOST_STRANGER, .payload = 1316, .options = 12 }
#define DATAGRAM .ip = { .udp = 1, .payload = 1316 }
#define BACK .ip = { .reply = 1, .payload = 1316, .options = 12 }
#define BACK6 .ip = { .v6 = 1, .reply = 1, .payload = 1276, .options = 12 }
#define BACK_ACK .ip = { .reply = 1, .options = 12 }

/* Two hops of 100 Gbit/s. */
#define HOPS                             \
	{                                \
		12ULL << 60, 12ULL << 60 \
	}
#define TOLD .room = 5, .nhop = 2, .hop = HOPS
#define ECHO .echo = 1, .echo_hops = 2, .echo_hop = HOPS

static const struct wire_spec bare = {};
static const struct wire_spec room = { .room = 5 };
static const struct wire_spec told = { TOLD };
static const struct wire_spec told_voq = { TOLD,	   .voq = 1,	   .voq_tor = VOQ_TOR,
					   .voq_total = 1, .voq_flows = 1, .voq_prefixlen = 128 };
static const struct wire_spec told_echo = { TOLD, ECHO };
static const struct wire_spec told_auth = { TOLD, .key = &world_key };
static const struct wire_spec told_echo_auth = { TOLD, ECHO, .key = &world_key };
static const struct wire_spec echo = { ECHO };
static const struct wire_spec window = { .echo = 1, .window = 1, .echo_hops = 1, .echo_hop = { 100000ULL << 32 } };

static const struct int_spec int_asks = { .left = 3 };
static const struct int_spec int_told = { .left = 1,
					  .hops = 2,
					  .hop = { { 1, 0, 1000, 1, 100000000 }, { 2, 0, 1000, 1, 100000000 } } };

#define AT_SWITCH .device = DEVICE_SWITCH

const struct bench_case bench_cases[] = {
	{ "empty", "a program that returns at once", "empty", STAT_MAX, FULL },
	{ "edt_only", "a program that only paces (edt.bpf.c)", "edt_only", STAT_MAX, FULL },

	{ "egress_beside", "full packet, v4: companions, none due", "egress", STAT_TX_BESIDE, FULL,
	  .scene = { .beside = 1 } },
	{ "egress_beside_edt", "the same, and a departure time", "egress", STAT_PACED, FULL,
	  .scene = { .beside = 1, .edt = 1 } },
	{ "egress_beside_pod", "the same, and receive windows are cut", "egress", STAT_PACED, FULL,
	  .scene = { .beside = 1, .edt = 1, .rwnd = 1 } },
	{ "egress_beside_udp_edt", "full datagram, v4, and a departure time", "egress", STAT_TX_BESIDE, DATAGRAM,
	  .scene = { .beside = 1, .edt = 1 } },
	{ "egress_data", "full packet, v4: telemetry in", "egress", STAT_TX_DATA, FULL },
	{ "egress_data_edt", "the same, and a departure time", "egress", STAT_PACED, FULL, .scene = { .edt = 1 } },
	{ "egress_data_voq", "full packet, v4, by a VOQ", "egress", STAT_TX_DATA, FULL, .scene = { .voq = 1 } },
	{ "egress_data_voq_edt", "the same, and a departure time", "egress", STAT_PACED, FULL,
	  .scene = { .voq = 1, .edt = 1 } },
	{ "egress_data_v6", "full packet, v6", "egress", STAT_TX_DATA, FULL6 },
	{ "egress_data_v6_edt", "the same, and a departure time", "egress", STAT_PACED, FULL6, .scene = { .edt = 1 } },
	{ "egress_data_traced", "full packet, v4, and a record of it", "egress", STAT_TX_DATA, FULL,
	  .scene = { .traced = 1 } },
	{ "egress_data_echo", "full packet, v4, with an echo of two hops", "egress", STAT_TX_DATA, FULL,
	  .scene = { .echoes = 1 } },
	{ "egress_data_echo_edt", "the same, and a departure time", "egress", STAT_PACED, FULL,
	  .scene = { .echoes = 1, .edt = 1 } },
	{ "egress_data_auth", "full packet, v4, with a tag", "egress", STAT_TX_DATA, FULL, .scene = { .auth = 1 } },
	{ "egress_data_echo_auth", "full packet, v4, with an echo of two hops and a tag", "egress", STAT_TX_DATA, FULL,
	  .scene = { .echoes = 1, .auth = 1 } },
	{ "egress_ack_echo", "ACK with an echo of two hops", "egress", STAT_TX_DATA, AN_ACK, .scene = { .echoes = 1 } },
	{ "egress_ack_plain", "ACK with nothing to say", "egress", STAT_TX_PLAIN_ACK, AN_ACK },
	{ "egress_no_peer", "full packet to somebody else", "egress", STAT_TX_NO_PEER, STRANGER },
	{ "egress_udp", "full datagram, v4: telemetry in", "egress", STAT_TX_DATA, DATAGRAM },
	{ "egress_stamp", "full packet, v4, with a node's own hop", "egress", STAT_TX_DATA, FULL,
	  .scene = { .stamp = 1, AT_SWITCH } },
	{ "egress_int", "full packet, v4: INT-MD in", "egress", STAT_TX_DATA, FULL_INT,
	  .scene = { .encoding = ENCODING_INT_MD } },
	{ "egress_int_stamp", "the same, with a node's own hop", "egress", STAT_TX_DATA, FULL_INT,
	  .scene = { .encoding = ENCODING_INT_MD, .stamp = 1, AT_SWITCH } },
	{ "egress_other", "neither TCP nor UDP", "egress", STAT_TX_OTHER, .arp = 1 },

	{ "hop", "stamp, queue read from a tbf", "hop", STAT_HOP_STAMPED, FULL, &room, .inside = 1,
	  .scene = { AT_SWITCH } },
	{ "hop_map", "stamp, queue from the ports map", "hop_map", STAT_HOP_STAMPED, FULL, &room, .inside = 1,
	  .scene = { AT_SWITCH } },
	{ "hop_int", "stamp of INT-MD, queue read from a tbf", "hop", STAT_HOP_STAMPED, FULL, &bare, &int_asks,
	  .scene = { AT_SWITCH } },
	{ "hop_map_int", "stamp of INT-MD, queue from the ports map", "hop_map", STAT_HOP_STAMPED, FULL, &bare,
	  &int_asks, .scene = { AT_SWITCH } },
	{ "hop_companion", "a companion stamped, queue read from a tbf", "hop", STAT_HOP_STAMPED, FULL, .companion = 1,
	  .inside = 1, .scene = { AT_SWITCH } },
	{ "hop_other", "a packet without telemetry", "hop_map", STAT_HOP_OTHER, FULL, .inside = 1,
	  .scene = { AT_SWITCH } },
	{ "hop_obeys", "the same, by a port that only obeys pauses", "hop_map", STAT_HOP_OTHER, FULL, .inside = 1,
	  .scene = { .pauses = 3, AT_SWITCH } },
	{ "hop_pauses", "the same, by a port that pauses; its queue is short", "hop_map", STAT_HOP_OTHER, FULL,
	  .inside = 1, .scene = { .pauses = 1, AT_SWITCH } },
	{ "hop_pauses_long", "the same; its queue is long", "hop_map", STAT_HOP_OTHER, FULL, .inside = 1,
	  .scene = { .pauses = 2, AT_SWITCH } },
	{ "pod_hop", "full packet to a pod, queue read from a tbf", "pod_hop", STAT_POD_SAMPLED, BACK, .inside = 1,
	  .scene = { AT_SWITCH } },

	{ "ingress_data", "full packet, v4: stripped, telemetry kept", "ingress", STAT_RX_DATA, BACK, &told },
	{ "ingress_data_voq", "full packet, v4, of a VOQ that is watched", "ingress", STAT_RX_DATA, BACK, &told_voq },
	{ "ingress_data_noted", "the same, and S goes on", "ingress", STAT_RX_DATA, BACK, &told_voq,
	  .moves = MOVES_VOQ },
	{ "ingress_data_granted", "the same, and its port grants", "ingress", STAT_RX_DATA, BACK, &told_voq,
	  .moves = MOVES_VOQ, .scene = { .leased = 1 } },
	{ "ingress_data_v6", "full packet, v6", "ingress", STAT_RX_DATA, BACK6, &told },
	{ "ingress_data_feedback", "full packet with feedback of two hops", "ingress", STAT_FB_FAST, BACK, &told_echo,
	  .moves = MOVES_ECHO },
	{ "ingress_data_window", "full packet, v4: W computed of two hops", "ingress", STAT_RX_DATA, BACK, &told,
	  .moves = MOVES_TELEM, .scene = { .feedback = RX_WINDOW } },
	{ "ingress_data_auth", "full packet, v4, with a tag", "ingress", STAT_RX_DATA, BACK, &told_auth,
	  .scene = { .auth = 1 } },
	{ "ingress_data_feedback_auth", "full packet with feedback of two hops and a tag", "ingress", STAT_FB_FAST,
	  BACK, &told_echo_auth, .moves = MOVES_ECHO, .scene = { .auth = 1 } },
	{ "ingress_ack_feedback", "ACK with feedback of two hops", "ingress", STAT_FB_FAST, BACK_ACK, &echo,
	  .moves = MOVES_ECHO },
	{ "ingress_ack_window", "ACK with W", "ingress", STAT_FB_WINDOW, BACK_ACK, &window },
	{ "ingress_ack_traced", "ACK with feedback of two hops, and a record of it", "ingress", STAT_FB_FAST, BACK_ACK,
	  &echo, .moves = MOVES_ECHO, .scene = { .traced = 1 } },
	{ "ingress_int", "full packet, v4: INT-MD of two hops stripped and kept", "ingress", STAT_RX_DATA, BACK, &bare,
	  &int_told },
	{ "ingress_other", "full packet that is not ours", "ingress", STAT_RX_OTHER, BACK },
	{ "ingress_beside", "full packet beside companions, to a socket of ours or one that only receives", "ingress",
	  STAT_RX_OTHER, BACK, .scene = { .beside = 1, .rwnd = 1, .own = 1 } },
	{ "ingress_beside_pod", "the same, and its window is cut", "ingress", STAT_RX_OTHER, BACK,
	  .scene = { .beside = 1, .rwnd = 1 } },

	{ "empty_inside", "a program that returns at once", "empty", STAT_MAX, FULL, .inside = 1 },
	{ "own_beside", "full packet of a socket with our congestion control: companions, none due", "egress",
	  STAT_TX_BESIDE, FULL, .inside = 1, .scene = { .beside = 1, .own = 1, .rwnd = 1 } },
	{ "own_beside_edt", "the same where departure times are obeyed", "egress", STAT_TX_BESIDE, FULL, .inside = 1,
	  .scene = { .beside = 1, .own = 1, .rwnd = 1, .edt = 1 } },

	{ "own_ack", "ACK of a socket of ours beside companions", "egress", STAT_TX_PLAIN_ACK, AN_ACK, .inside = 1,
	  .scene = { .beside = 1, .own = 1, .rwnd = 1 } },

	{ "empty_xdp", "a program of XDP that returns at once", "empty_xdp", STAT_MAX, FULL, .xdp = 1 },
	{ "xdp_data", "full packet, v4: stripped at XDP", "ingress_xdp", STAT_RX_XDP, BACK, &told, .xdp = 1 },
	{ "xdp_data_voq", "full packet, v4, of a VOQ that is watched", "ingress_xdp", STAT_RX_XDP, BACK, &told_voq,
	  .xdp = 1 },
	{ "xdp_data_v6", "full packet, v6", "ingress_xdp", STAT_RX_XDP, BACK6, &told, .xdp = 1 },
	{ "xdp_data_feedback", "full packet with feedback of two hops", "ingress_xdp", STAT_FB_FAST, BACK, &told_echo,
	  .moves = MOVES_ECHO, .xdp = 1 },
	{ "xdp_int", "full packet, v4: INT-MD of two hops stripped and kept", "ingress_xdp", STAT_RX_XDP, BACK, &bare,
	  &int_told, .xdp = 1 },
	{ "xdp_other", "full packet that is not ours", "ingress_xdp", STAT_MAX, BACK, .xdp = 1 },
};

const unsigned int bench_cases_count = sizeof(bench_cases) / sizeof(bench_cases[0]);

const struct bench_case *bench_case_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < bench_cases_count; i++)
		if (!strcmp(bench_cases[i].name, name))
			return &bench_cases[i];
	return NULL;
}

const struct bench_case *bench_case_empty(const struct bench_case *c)
{
	return bench_case_find(c->xdp ? "empty_xdp" : c->inside ? "empty_inside" : "empty");
}

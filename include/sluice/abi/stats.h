/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_STATS_H
#define SLUICE_STATS_H
/*
 * The one list of counters. It generates the enum that the BPF programs count with, the names that `sluicectl stats`
 * prints (text and JSON), and their explanations. Free running, per CPU. X(symbol, name, kind, help). Every packet
 * that a program sees ends in exactly one counter of the kind VERDICT; a counter of the kind ALSO grows on top of
 * that.
 */
#define SLUICE_STATS(X)                                                                                                \
	/* egress of a host */                                                                                         \
	X(TX_DATA, "tx_data", VERDICT, "packets sent with a header of ours: with payload, or an echo")                 \
	X(TX_PLAIN_ACK, "tx_plain_ack", VERDICT, "packets without payload and with nothing to echo")                   \
	X(TX_HANDSHAKE, "tx_handshake", VERDICT, "SYN and RST packets, always sent as they are")                       \
	X(TX_OWN, "tx_own", VERDICT, "Sluice's own messages, never instrumented")                                      \
	X(TX_OTHER, "tx_other", VERDICT, "packets that are neither TCP nor UDP over IPv4 or IPv6 to one host")         \
	X(TX_UDP_GSO, "tx_udp_gso", VERDICT, "GSO packets of UDP: paced, without telemetry of their own")              \
	X(TX_VLAN_INBAND, "tx_vlan_inband", VERDICT, "packets with a VLAN tag inside the frame data")                  \
	X(TX_FRAGMENT, "tx_fragment", VERDICT, "IP fragments")                                                         \
	X(TX_IP_OPTIONS, "tx_ip_options", VERDICT, "packets with IPv4 options or IPv6 extension headers")              \
	X(TX_BESIDE, "tx_beside", VERDICT, "packets sent as they were made; companions have their telemetry")          \
	X(TX_NO_PEER, "tx_no_peer", VERDICT, "packets to addresses outside the configured peers")                      \
	X(TX_PEER_UNKNOWN, "tx_peer_unknown", VERDICT, "packets to peers not known to strip telemetry")                \
	X(TX_SILENT, "tx_silent", VERDICT, "packets of flows whose feedback stopped, though their peer still answers") \
	X(TX_FLOW_FULL, "tx_flow_full", VERDICT, "packets of flows for which the flow map had no room")                \
	X(TX_MTU, "tx_mtu", VERDICT, "packets too large for the MTU with telemetry: lower the route MTU")              \
	X(TX_TOO_LONG, "tx_too_long", VERDICT, "GSO packets that telemetry would take past 64 KB")                     \
	X(TX_ENCAP_FAILED, "tx_encap_failed", VERDICT, "packets to which the kernel would not add a header")           \
	X(TX_BYPASS, "tx_bypass", VERDICT, "packets passed because bypass is on")                                      \
	X(TX_HORIZON, "tx_horizon", VERDICT, "packets dropped: their flow's clock is beyond the horizon")              \
	X(TX_BEYOND, "tx_beyond", VERDICT, "packets dropped: beyond the receive window that was granted")              \
	X(TX_SPOOFED, "tx_spoofed", VERDICT, "packets dropped: their source address is another pod's")                 \
	X(TX_NO_PORT, "tx_no_port", VERDICT, "packets on an interface that has no entry in the ports map")             \
	X(FLOW_MADE, "flow_made", ALSO, "flows that got an entry in the flow map, here or at ingress")                 \
	X(PROBE_SENT, "probe_sent", ALSO, "questions whether a peer strips, and how full its path is")                 \
	X(COMPANION_SENT, "companion_sent", ALSO, "companions, which carry telemetry beside the data")                 \
	X(PROBE_RESENT, "probe_resent", ALSO, "of these two, made of a GSO packet: sent again when they were short")   \
	X(PEER_SILENT, "peer_silent", ALSO, "peers that stopped answering; sent plain from then on")                   \
	X(TX_BARE, "tx_bare", ALSO, "packets with payload and our header that went without telemetry: others have it") \
	X(PACED, "paced", ALSO, "packets given a departure time in the future")                                        \
	X(CLOCK_LOST, "clock_lost", ALSO, "departure clock contended; the packet left unpaced")                        \
	X(HORIZON, "horizon", ALSO, "departure clock too far ahead; the packet left at the horizon")                   \
	X(HORIZON_MARK, "horizon_mark", ALSO, "packets marked CE in the place of being dropped")                       \
	X(UNHELD, "unheld", ALSO, "packets without a window that left at once: the port has no fq")                    \
	X(ECHO_TORN, "echo_torn", ALSO, "echo changed while it was read; sent with the next packet")                   \
	X(TX_WINDOW, "tx_window", ALSO, "feedback sent that was W, which this host computed")                          \
	X(VOQ_WAITS, "voq_waits", ALSO, "packets given a departure by when their VOQ's credit is expected")            \
	X(VOQ_ALONE, "voq_alone", ALSO, "packets that left without credit, for it had stopped")                        \
	X(VOQ_FULL, "voq_full", ALSO, "packets that went by no VOQ: there was no room for one")                        \
	X(VOQ_MERGED, "voq_merged", ALSO,                                                                              \
	  "packets that went by the VOQ of their whole prefix: there was no room for another")                         \
	X(VOQ_ASKED, "voq_asked", ALSO, "packets that ask the switch of this rack for R")                              \
	X(TX_NO_QUEUE, "tx_no_queue", ALSO, "packets without the uplink's own hop: its queue cannot be read")          \
	X(PROBE_FAILED, "probe_failed", ALSO,                                                                          \
	  "questions that could not be made of a packet, or that the queue dropped: the packet went on without")       \
	X(PROBE_LIMITED, "probe_limited", ALSO, "questions not asked: too many addresses that were never heard")       \
	X(FLOW_MADE_TX, "flow_made_tx", ALSO, "of flow_made, by a packet of ours, but for SYN-ACKs")                   \
	X(FLOW_MADE_SYNACK, "flow_made_synack", ALSO, "of flow_made, by a SYN-ACK of ours: somebody connects to us")   \
	/* egress of a switch port */                                                                                  \
	X(HOP_STAMPED, "hop_stamped", VERDICT, "packets stamped by a switch port")                                     \
	X(HOP_OTHER, "hop_other", VERDICT, "packets of a switch port that carry no telemetry")                         \
	X(HOP_FULL, "hop_full", VERDICT, "packets that had no room for one more hop")                                  \
	X(HOP_MTU, "hop_mtu", VERDICT, "INT-MD packets that the MTU had no room to make longer by one more hop")       \
	X(HOP_BAD, "hop_bad", VERDICT, "packets with a malformed telemetry header, forwarded as they are")             \
	X(HOP_NO_QUEUE, "hop_no_queue", VERDICT, "packets not stamped: the queue cannot be read")                      \
	X(HOP_MARKED, "hop_marked", ALSO,                                                                              \
	  "of hop_other, packets marked CE: the queue was longer than ecn of their port")                              \
	X(PFC_HELD, "pfc_held", ALSO, "packets that left the stack in a pause, and wait for its end")                  \
	X(PFC_UNHELD, "pfc_unheld", ALSO, "packets that left in a pause: the port has no fq, or they are not IP")      \
	X(PFC_TOLD, "pfc_told", ALSO, "PFC frames made of packets as they came, to the neighbours that sent them")     \
	X(PFC_UNTOLD, "pfc_untold", ALSO, "PFC frames that could not be made of a packet, or did not reach the qdisc") \
	X(HOP_CREDIT, "hop_credit", VERDICT, "packets not stamped: credit keeps the queue of that port short")         \
	X(TOR_VOQ, "tor_voq", ALSO, "packets of hosts behind this switch that went by its VOQs")                       \
	X(TOR_ASKED, "tor_asked", ALSO, "packets of hosts behind this switch that ask for R")                          \
	X(TOR_LOST, "tor_lost", ALSO, "what hosts were not told: the daemon does not keep up, or is away")             \
	/* egress of a pod's veth */                                                                                   \
	X(POD_SAMPLED, "pod_sampled", VERDICT, "packets to pods, before which the queue of the pod's veth was read")   \
	X(POD_OTHER, "pod_other", VERDICT, "packets to pods, on a veth whose queue is not read")                       \
	/* ingress of a host */                                                                                        \
	X(RX_DATA, "rx_data", VERDICT, "packets stripped and handed on")                                               \
	X(RX_OTHER, "rx_other", VERDICT, "packets that are not Sluice's")                                              \
	X(RX_PROBE, "rx_probe", VERDICT, "questions answered")                                                         \
	X(RX_COMPANION, "rx_companion", ALSO, "of rx_probe and rx_probe_reply, companions")                            \
	X(RX_PROBE_REPLY, "rx_probe_reply", VERDICT, "answers consumed")                                               \
	X(RX_FEEDBACK, "rx_feedback", VERDICT, "messages of feedback for several flows")                               \
	X(RX_CREDIT, "rx_credit", VERDICT, "messages of credit")                                                       \
	X(RX_RATE, "rx_rate", VERDICT, "messages of rates from the switch of this rack")                               \
	X(PFC_RX, "pfc_rx", VERDICT, "PFC frames taken: pauses and their ends, for priorities that are lossless")      \
	X(PFC_STORM, "pfc_storm", ALSO, "frames that were not obeyed: they paused a priority for too long")            \
	X(PFC_LOSSY, "pfc_lossy", ALSO, "PFC frames that name a priority that is not lossless, which sends on")        \
	X(PFC_UNWANTED, "pfc_unwanted", ALSO, "PFC frames ignored: this port does not obey pauses")                    \
	X(PFC_BAD_LENGTH, "pfc_bad_length", ALSO, "PFC frames ignored: neither 60 nor 64 bytes")                       \
	X(PFC_BAD_GROUP, "pfc_bad_group", ALSO, "PFC frames ignored: not to 01:80:c2:00:00:01")                        \
	X(PFC_LINK_PAUSE, "pfc_link_pause", ALSO, "frames ignored: PAUSE of 802.3x, of the whole link")                \
	X(PFC_BAD_OPCODE, "pfc_bad_opcode", ALSO, "MAC control frames ignored: no PFC")                                \
	X(PFC_BAD_VECTOR, "pfc_bad_vector", ALSO, "PFC frames ignored: reserved bits are set")                         \
	X(RX_TRUNCATED, "rx_truncated", VERDICT, "packets shorter than their headers say")                             \
	X(RX_NOT_HPCC, "rx_not_hpcc", VERDICT, "packets to our UDP port with another kind of shim")                    \
	X(RX_BAD_VERSION, "rx_bad_version", VERDICT, "packets of a version that we do not speak")                      \
	X(RX_BAD_MSG, "rx_bad_msg", VERDICT, "packets of an unknown message type")                                     \
	X(RX_BAD_HOPS, "rx_bad_hops", VERDICT, "packets with more than 5 hops")                                        \
	X(RX_BAD_LENGTH, "rx_bad_length", VERDICT, "packets whose shim length is not that of the content")             \
	X(RX_FOREIGN, "rx_foreign", VERDICT, "packets from addresses outside the configured peers")                    \
	X(RX_NO_AUTH, "rx_no_auth", VERDICT, "packets without the tag that this host demands")                         \
	X(RX_BAD_AUTH, "rx_bad_auth", VERDICT, "packets whose tag is wrong, or for which this host has no key")        \
	X(RX_MISMATCH, "rx_mismatch", VERDICT,                                                                         \
	  "packets whose inner packet is not what the outer one says, or a SYN or RST")                                \
	X(RX_STRIP_FAILED, "rx_strip_failed", VERDICT, "packets that the kernel would not shorten")                    \
	X(RX_FLOW_FULL, "rx_flow_full", ALSO, "telemetry not echoed: the flow map had no room")                        \
	X(RX_BAD_TELEM, "rx_bad_telem", ALSO, "telemetry ignored: more hops than it has room for")                     \
	X(RX_BAD_VOQ, "rx_bad_voq", ALSO, "VOQ blocks ignored: of no prefix that there is")                            \
	X(RX_VOQ_EMPTY, "rx_voq_empty", ALSO, "VOQ blocks that no switch has filled in")                               \
	X(RX_INT_VERSION, "rx_int_version", ALSO, "telemetry ignored: INT-MD of another version than 2")               \
	X(RX_INT_LENGTH, "rx_int_length", ALSO, "telemetry ignored: INT-MD whose lengths do not add up")               \
	X(RX_INT_HOPS, "rx_int_hops", ALSO, "telemetry ignored: INT-MD of more than 5 hops")                           \
	X(RX_INT_FIELDS, "rx_int_fields", ALSO,                                                                        \
	  "telemetry ignored: INT-MD of another domain, or without what HPCC needs")                                   \
	X(RX_INT_VALUES, "rx_int_values", ALSO,                                                                        \
	  "telemetry ignored: a hop's INT-MD lacks a value, or has a speed of 0")                                      \
	X(RX_INT_FULL, "rx_int_full", ALSO, "telemetry that lacks hops: INT-MD with no remaining hop count")           \
	X(RX_INT_MTU, "rx_int_mtu", ALSO, "telemetry that lacks hops: INT-MD that an MTU had no room for")             \
	X(RX_INT_COPY, "rx_int_copy", VERDICT, "copies (INT-MD's bit D) dropped after their telemetry was read")       \
	X(RX_REPLAYED, "rx_replayed", ALSO, "telemetry or feedback ignored: of an old sequence, or used before")       \
	X(RX_FUTURE, "rx_future", ALSO, "messages not learned from: more than a day ahead of the clock of this host")  \
	X(RX_POD_HOP, "rx_pod_hop", ALSO, "telemetry to which the hop to the pod was added")                           \
	X(RX_POD_FULL, "rx_pod_full", ALSO, "telemetry that had no room for the hop to the pod")                       \
	X(RX_REPORT_FULL, "rx_report_full", ALSO, "hops echoed as they came: no room to compute W")                    \
	X(RX_WINDOW_CUT, "rx_window_cut", ALSO, "receive windows cut down to W")                                       \
	X(RX_WINDOW_REFUSED, "rx_window_refused", ALSO,                                                                \
	  "receive windows not believed: their ACK is not for what is unacknowledged")                                 \
	X(FLOW_DIGEST, "flow_digest", ALSO,                                                                            \
	  "connections with TCP-MD5 or TCP-AO: their receive windows are left alone")                                  \
	X(RX_CE, "rx_ce", ALSO, "congestion marks moved from the outer to the inner header")                           \
	X(RX_XDP, "rx_xdp", ALSO, "packets stripped, answered or consumed by XDP, before the stack")                   \
	X(FB_PATH_KEPT, "fb_path_kept", ALSO,                                                                          \
	  "feedback of another path than the last, compared with the record of its own")                               \
	X(FB_FIRST, "fb_first", ALSO, "feedback recorded only (first, path changed, idle)")                            \
	X(FB_FAST, "fb_fast", ALSO, "feedback that changed W")                                                         \
	X(FB_FULL, "fb_full", ALSO, "feedback that changed W and committed Wc")                                        \
	X(FB_CUT_DELAY, "fb_cut_delay", ALSO, "round trips after which W went down: a delay that no hop reports")      \
	X(FB_CUT_LOSS, "fb_cut_loss", ALSO, "windows after which W went down: a loss that no hop explains")            \
	X(FB_CUT_TIMEOUT, "fb_cut_timeout", ALSO, "retransmission timeouts, after which W was one packet")             \
	X(FB_SKIPPED, "fb_skipped", ALSO, "feedback ignored (reordered, no hop and no delay)")                         \
	X(FB_WINDOW, "fb_window", ALSO, "feedback that was W, which its receiver computed")                            \
	X(FB_BAD_FORM, "fb_bad_form", ALSO, "feedback ignored: it says to be of two forms, or has not one value")      \
	X(FB_ABSURD_WINDOW, "fb_absurd_window", ALSO, "W below the smallest frame or above all windows; clamped")      \
	X(FB_ABSURD_FLOWS, "fb_absurd_flows", ALSO, "N that no port can have, when W_AI was set by it; clamped")       \
	X(FB_DELAY, "fb_delay", ALSO, "delays that decided alone, of flows whose path stamps nothing")                 \
	X(FB_REPORTED, "fb_reported", ALSO, "feedback in messages for several flows")                                  \
	X(FB_HANDED, "fb_handed", ALSO, "feedback left to the daemon: nothing goes back to that flow")                 \
	X(FB_RING_FULL, "fb_ring_full", ALSO,                                                                          \
	  "feedback for the daemon that was lost: it does not keep up, or is away")                                    \
	X(CREDIT_TAKEN, "credit_taken", ALSO, "totals of credit that got a VOQ further")                               \
	X(CREDIT_OLD, "credit_old", ALSO, "totals of credit that said nothing new")                                    \
	X(CREDIT_AHEAD, "credit_ahead", ALSO, "totals of credit refused: more than was ever sent")                     \
	X(CREDIT_NO_VOQ, "credit_no_voq", ALSO, "credit for a VOQ that we do not know")                                \
	X(RATE_TAKEN, "rate_taken", ALSO, "rates that the switch of this rack told")                                   \
	X(RATE_NO_VOQ, "rate_no_voq", ALSO, "rates for a destination that was not asked for")                          \
	X(ARRIVAL_NEWS, "arrival_news", ALSO, "packets of VOQs of which the daemon was told")                          \
	X(ARRIVAL_LOST, "arrival_lost", ALSO,                                                                          \
	  "packets of VOQs of which it could not be told: the daemon does not keep up, or is away")                    \
	X(ARRIVAL_ASK, "arrival_ask", ALSO, "times the daemon was asked to tell of credit that packets had granted")   \
	X(ARRIVAL_AWAY, "arrival_away", ALSO, "packets of VOQs that found no room in the ring of their port")          \
	X(TX_RIDE, "tx_ride", ALSO, "totals of credit that went back with an echo, or with an answer")                 \
	X(RX_RIDE, "rx_ride", ALSO, "totals of credit that came like that")                                            \
	X(FB_NO_FLOW, "fb_no_flow", ALSO, "feedback for a flow that we do not know")                                   \
	X(FB_CONTENDED, "fb_contended", ALSO, "feedback dropped: another CPU was at this flow")                        \
	X(TRACE_LOST, "trace_lost", ALSO, "decisions that sluicectl trace has not got: it does not keep up")           \
	X(FLOW_MADE_RX, "flow_made_rx", ALSO, "of flow_made, by data that came with a header of ours")                 \
	X(FLOW_MADE_PROBE, "flow_made_probe", ALSO, "of flow_made, by a question with the right tag, or a companion")  \
	X(RX_PROBE_OLD, "rx_probe_old", VERDICT,                                                                       \
	  "questions dropped: answered before, or older than the last of their flow")                                  \
	X(PROBE_HELD, "probe_held", ALSO,                                                                              \
	  "of rx_probe_old, answered: its host was heard with sequences newer by more than a second")                  \
	X(SEQ_MOVED, "seq_moved", ALSO, "sequences of this host moved forward: a peer holds newer ones of it")         \
	X(SEQ_HELD, "seq_held", ALSO,                                                                                  \
	  "answers of a peer that holds a sequence more than a day ahead of this host's clock")                        \
	X(RX_PROBE_LIMITED, "rx_probe_limited", VERDICT,                                                               \
	  "questions dropped: too many from that host, or from hosts never heard")

enum sluice_stat {
#define SLUICE_STAT_ENUM(symbol, name, kind, help) STAT_##symbol,
	SLUICE_STATS(SLUICE_STAT_ENUM)
#undef SLUICE_STAT_ENUM
		STAT_MAX,
};

enum sluice_stat_kind {
	STAT_KIND_VERDICT,
	STAT_KIND_ALSO,
};

/* The explanation as printed: STAT_TEXT(kind, help) in an X of the list. */
#define STAT_TEXT(kind, help) STAT_TEXT_##kind help
#define STAT_TEXT_VERDICT ""
#define STAT_TEXT_ALSO "also: "

#endif

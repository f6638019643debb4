/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_METRICS_LIST_H
#define SLUICE_METRICS_LIST_H
#include <stdio.h>

/* clang-format off */
/* All metrics other than the counters of stats.h, in output order: X(symbol, name, type, help). */
#define METRICS(X)                                                                                 \
	X(INFO, "sluice_info", "gauge", "Always 1; the labels say what runs.")                     \
	X(BYPASS, "sluice_bypass", "gauge", "1 while every packet is passed untouched.")           \
	X(FLOWS, "sluice_flows", "gauge", "Flows in the flow map, by state as in sluicectl flows.") \
	X(FLOWS_LIMIT, "sluice_flows_limit", "gauge", "Flows for which the flow map has room.")    \
	X(QUEUE, "sluice_flow_queue_delay_seconds", "histogram",                                   \
	  "Longest queue on the path of each active flow with feedback, sampled once a second.")   \
	X(AGE, "sluice_flow_feedback_age_seconds", "histogram",                                    \
	  "Age of the last feedback of each active flow that has had any, sampled once a second.") \
	X(PACING, "sluice_flow_pacing_delay_seconds", "histogram",                                 \
	  "How far the departure clock of each active flow is ahead, sampled once a second.")      \
	X(CREDIT, "sluice_voq_credit_delay_seconds", "histogram",                                  \
	  "How long a full packet to each active VOQ would wait for its credit, sampled once a second.") \
	X(LEAD, "sluice_pfc_prediction_lead_seconds", "histogram",                                 \
	  "How long the buffer would have lasted, by the prediction, at each pause by prediction.") \
	X(PORT_SPEED, "sluice_port_speed_bytes_per_second", "gauge", "Speed of a managed interface.") \
	X(PORT_MTU, "sluice_port_mtu_bytes", "gauge", "MTU of a managed interface.")               \
	X(PORT_EDT, "sluice_port_departure_times", "gauge",                                        \
	  "1 if every leaf of the root qdisc is fq, so that packets wait for their departure times.") \
	X(PORT_UNREADABLE, "sluice_port_queue_unreadable", "gauge",                                \
	  "1 if the length of the queue cannot be read, so that nothing is stamped there.")        \
	X(PORT_FLOWS, "sluice_port_flows", "gauge", "Flows that arrive by an interface, as its host counts them (N).") \
	X(CLASS_BACKLOG, "sluice_port_class_backlog_bytes", "gauge", "Queue of a class of a switch port.") \
	X(CLASS_SOJOURN, "sluice_port_class_sojourn_seconds", "gauge",                             \
	  "How long the packet that left a class last had been in it.")                            \
	X(CLASS_TX, "sluice_port_class_tx_bytes_total", "counter", "Wire bytes that left a class.") \
	X(NIC_REQUESTS, "sluice_port_nic_pfc_requests_total", "counter", "PFC frames that the NIC of an interface sent by itself.") \
	X(NIC_INDICATIONS, "sluice_port_nic_pfc_indications_total", "counter",                     \
	  "PFC frames that the NIC of an interface received and obeyed by itself.")                \
	X(QUEUE_PACKETS, "sluice_port_queue_packets_total", "counter",                             \
	  "Packets that came to the qdiscs sluice of a port, by what became of them (docs/queue.md).") \
	X(PODS, "sluice_pods", "gauge", "Pods whose own queue is read.")                           \
	X(POD_SPEED, "sluice_pod_speed_bytes_per_second", "gauge", "Rate of the queue in front of one of the busiest pods.") \
	X(POD_TX, "sluice_pod_tx_bytes_total", "counter", "Wire bytes that left this queue to the pod, as of the last packet to it.") \
	X(POD_BACKLOG, "sluice_pod_backlog_bytes", "gauge", "Bytes in this queue, as the senders are told.") \
	X(POD_FLOWS, "sluice_pod_flows", "gauge", "Active flows of the pod.")                      \
	X(POD_HELD, "sluice_pod_held_flows", "gauge", "Its active flows with feedback, by what holds them, as in sluicectl top.") \
	X(PEER_FLOWS, "sluice_peer_flows", "gauge", "Active flows to a prefix of the configuration.") \
	X(PEER_HELD, "sluice_peer_held_flows", "gauge", "Its active flows with feedback, by what holds them, as in sluicectl top.") \
	X(PEER_RATE, "sluice_peer_rate_bytes_per_second", "gauge", "Sum of R of its active flows with feedback.") \
	X(PEER_WINDOW, "sluice_peer_window_bytes", "gauge", "Sum of W of its active flows with feedback.") \
	X(PEER_U, "sluice_peer_utilisation_ratio", "gauge", "Largest U of its active flows with feedback.") \
	X(PEER_QUEUE, "sluice_peer_queue_delay_seconds", "gauge", "Longest queue of its active flows with feedback.") \
	X(PEER_AGE, "sluice_peer_feedback_age_seconds", "gauge", "Largest age of feedback of its active flows.") \
	X(PEER_RTT, "sluice_peer_base_rtt_seconds", "gauge", "T in force: base_rtt of the configuration, or as measured where that is auto.") \
	X(PEER_MEASURED, "sluice_peer_measured_rtt_seconds", "gauge", "T as it was measured, whatever is in force; 0: not yet.") \
	X(PEER_CHANGES, "sluice_peer_measured_rtt_changes_total", "counter", "How often that became longer or shorter.") \
	X(TOP_HELD, "sluice_top_flow_held", "gauge",                                                \
	  "1 for one of the busiest flows with feedback; by says what holds it, as in sluicectl top.")                       \
	X(TOP_TX, "sluice_top_flow_tx_bytes_total", "counter", "Wire bytes sent of one of the busiest flows.") \
	X(TOP_RATE, "sluice_top_flow_rate_bytes_per_second", "gauge", "R of one of the busiest flows.") \
	X(TOP_WINDOW, "sluice_top_flow_window_bytes", "gauge", "W of one of the busiest flows.")   \
	X(TOP_QUEUE, "sluice_top_flow_queue_delay_seconds", "gauge", "Longest queue on its path.") \
	X(CPU, "process_cpu_seconds_total", "counter", "CPU time of sluiced; packets are not in it.") \
	X(MEMORY, "process_resident_memory_bytes", "gauge", "Memory of sluiced; maps are not in it.") \
	X(START, "process_start_time_seconds", "gauge", "When sluiced began, in seconds since 1970.")

enum metric {
#define METRIC_ENUM(symbol, name, type, help) METRIC_##symbol,
	METRICS(METRIC_ENUM)
#undef METRIC_ENUM
	METRIC_MAX,
};

/* Prints HELP and TYPE of a metric. Returns its name. */
const char *metric_begin(FILE *f, enum metric n);
/* Prints a metric that has one value. */
void metric_value(FILE *f, enum metric n, double v);
/* Prints HELP and TYPE of a counter of stats.h. */
void counter_begin(FILE *f, unsigned int stat);

#endif

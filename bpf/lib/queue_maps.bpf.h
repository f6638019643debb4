/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QUEUE_MAPS_BPF_H
#define SLUICE_QUEUE_MAPS_BPF_H
/*
 * The maps that the qdisc `sluice` and the programs of all daemons of the machine have in common. Whoever registers the
 * qdisc pins them (user/attach/prog/queue_shared.c).
 */
#include "lib/base.bpf.h"
#include "sluice/pause/qdisc.h"
#include "sluice/queue/port.h"

/*
 * The pauses of interfaces that have the qdisc.
 * writer: the qdisc makes and deletes an entry, ingress writes it (pfc.bpf.h); reader: the qdisc
 * life:   that of the interface's qdiscs; full: packets are delayed by egress, as with fq
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, QUEUE_PORTS_MAX);
	__type(key, struct queue_port);
	__type(value, struct queue_pauses);
} queue_pauses SEC(".maps");

/*
 * Rate, limit and classes of interfaces that have any.
 * writer: the daemon of the interface, before it installs the qdisc; the qdisc deletes it. reader: the qdisc, sluicectl
 * life:   that of the interface's qdiscs; full: the daemon refuses the interface
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, QUEUE_PORTS_MAX);
	__type(key, struct queue_port);
	__type(value, struct queue_setup);
} queue_ports SEC(".maps");

/*
 * The classes of ports whose qdisc has them.
 * writer: the qdisc; reader: the same, hop, the daemon, sluicectl
 * life:   that of the interface's qdiscs; full: the qdisc is not made
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, QUEUE_PORTS_MAX);
	__type(key, struct queue_class_key);
	__type(value, struct class_seen);
} queue_classes SEC(".maps");

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_H
#define WORLD_H
/* The world that the programs of a benchmark find: their maps, two devices in a network namespace, hosts, and the scene of a case. */
#include <linux/types.h>

#include "sluice/abi/abi.h" /* first: the skeletons use its structs */
#include "sluice/wire/siphash.h"

#include "driver.h"

struct bpf_program;

/* Hosts 0 to n - 1 are peers with their own addresses, which end in these three bytes. */
#define HOST_ADDRESS(n) (0x020001 + (n))
#define HOSTS_MAX 131072

#define VOQ_TOR 0x0a010002 /* arrivals of one VOQ from there are watched */

enum device { DEVICE_HOST, DEVICE_SWITCH /* with a queue that can be read */ };

extern const struct siphash_key world_key;

/* Ends the program if something is missing. flows: how many there is to be room for. */
void world_open(unsigned int flows);
void world_close(void);

/* NULL: there is none, or this kernel cannot load it. */
const struct bpf_program *world_program(const char *name);
__u32 world_ifindex(enum device device);
__u64 world_counter(enum sluice_stat stat);
__u64 world_ns(void);

/* Hosts from 0 to n - 1 have been heard. */
void world_hosts(unsigned int n);

struct settings {
	int edt;    /* departure times are obeyed, and a flow's is ahead */
	int voq;    /* packets use VOQs, which have credit */
	int auth;   /* messages are authenticated */
	int traced; /* each decision is recorded */
	int stamp;  /* the port is a node's uplink */
	int echoes; /* one waits in each flow */
	int beside; /* telemetry is beside the data, and none is due */
	int own;    /* the sender's congestion control is ours */
	int rwnd;   /* receive windows are cut */
	int leased; /* ports grant credit with each packet */
	int pauses; /* a port with pauses: packets decide, 1: their queue is short, 2: long; 3: they do not */
	enum rx_feedback feedback;
	enum sluice_encoding encoding;
	enum device device;
};

/* fresh: also where the last scene had the same settings. */
void world_scene(const struct settings *s, int fresh);

/* Clears away what was traced. */
void world_drain(void);

/* Nothing that was used before is in a cache. */
void world_caches_empty(void);

struct burst {
	const struct bpf_program *program;
	int xdp;
	int inside; /* see driver_inside() */
	int pauses; /* the packet came in by the other device */
	const __u8 *frame;
	unsigned int bytes;
	enum device device;
	const struct flow_key *echo; /* an echo waits in this flow for each packet, or NULL */
};

/* The heads of its packets; whoever runs a burst writes them first. */
struct head *world_heads(void);
/* Runs BURST packets; returns nanoseconds of one. */
double world_burst(const struct burst *b);

void address_parse(struct sluice_addr *a, const char *text);
void world_die(const char *what) __attribute__((noreturn));

#endif

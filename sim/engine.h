/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_ENGINE_H
#define SLUICE_SIM_ENGINE_H
/*
 * Time. An event is a kind and a number (of a port, a flow, a packet), due at a nanosecond; events of the same nanosecond
 * come in the order in which they were added. The same scenario and seed give the same run, byte for byte.
 *
 * The near future, 65 us, is a wheel with a slot for each nanosecond, and bitmaps tell which slots are in use: adding
 * and taking cost the same however many events there are. Later events wait in a heap.
 *
 * An event cannot be cancelled. Its handler checks whether it is still wanted.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
#define NEVER_NS UINT64_MAX
#define NONE UINT32_MAX /* no packet, port, event */

enum event_kind {
	EVENT_WIRE,    /* port: the first packet on its wire arrives */
	EVENT_FREE,    /* port: the last bit of the current packet has left */
	EVENT_HOST,    /* host: a flow may send now */
	EVENT_FLOW,    /* flow: begins */
	EVENT_TIMER,   /* flow: its retransmission timer */
	EVENT_SCHEME,  /* flow: a timer of its congestion control */
	EVENT_ACK,     /* flow: its receiver stops waiting for another packet */
	EVENT_LOAD,    /* workload: its next flow begins */
	EVENT_KICK,    /* port: looks for something to send */
	EVENT_PAUSE,   /* frame: arrives, and pauses a port */
	EVENT_SWITCH,  /* switch: a round of its pauses */
	EVENT_VOQ,     /* packet: leaves its VOQ */
	EVENT_GRANT,   /* leaf: a round of credit */
	EVENT_CREDIT,  /* CREDIT message: arrives */
	EVENT_RATE,    /* flow: hears the rate of its first hop */
	EVENT_MEASURE, /* all: samples are due */
	EVENT_STOP,
	EVENT_KINDS,
};

struct engine {
	uint64_t now_ns;
	uint64_t events; /* events handled */
	volatile sig_atomic_t stopped;
};
extern struct engine engine;

/* A handler for each kind, called with the event's number. */
typedef void (*event_handler)(uint32_t number);

void engine_begin(uint64_t seed);
/* ns: not before now. */
void event_at(uint64_t ns, enum event_kind kind, uint32_t number);
/* Runs until no event is left, or EVENT_STOP. */
void engine_run(const event_handler handlers[EVENT_KINDS]);
void engine_end(void);

/*
 * --- numbers drawn from the seed ---
 *
 * Flows have their own generator: the set of flows does not depend on their packets, so a seed makes the same workload
 * under each scheme.
 */

double random_uniform(void); /* for flows: [0, 1) */
double random_exponential(double mean);
double random_part(void); /* for everything else: [0, 1) */
uint32_t random_u32(void);

/* --- memory --- */

/* As realloc(), for count entries of that size; without memory the simulation ends, with a message. */
void *grow(void *old, size_t count, size_t size);
/* Adds one entry to a list of *count, which doubles when it is full. Returns the list; the new entry is zero. */
void *list_add(void *list, uint32_t *count, size_t size);

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* The event queue: see engine.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"

#define WHEEL_BITS 16
#define WHEEL_SLOTS (1U << WHEEL_BITS)
#define WORDS (WHEEL_SLOTS / 64) /* words of the lowest bitmap; each word has a bit in the next one */

#define HEAP_WAYS 4

struct event {
	uint64_t ns;
	uint32_t kind, number;
	uint32_t next; /* next in its slot, or in the free list */
};

struct slot {
	uint32_t first, last;
};

/* An event beyond the reach of the wheel. Order breaks ties. */
struct later {
	uint64_t ns, order;
	uint32_t event;
};

struct engine engine;
static struct event *events;
static uint32_t events_count, events_room, events_free = NONE, wheel_count;
static struct slot *wheel;
static uint64_t bits[WORDS], bits_words[WORDS / 64], bits_top;
static struct later *heap;
static uint32_t heap_count, heap_room;
static uint64_t heap_order, random_flows, random_rest;

/* --- memory --- */

void *grow(void *old, size_t count, size_t size)
{
	void *p = reallocarray(old, count, size);

	if (p || !count)
		return p;
	fprintf(stderr,
		"sluice-sim: no memory for %zu entries of %zu bytes: less load or a shorter run.time needs less\n",
		count, size);
	exit(1);
}

void *list_add(void *list, uint32_t *count, size_t size)
{
	uint32_t n = *count;

	/* The capacity is the next power of two. */
	if (!(n & (n - 1)))
		list = grow(list, n ? 2 * (size_t)n : 1, size);
	memset((char *)list + n * size, 0, size);
	*count = n + 1;
	return list;
}

/* --- random numbers: xorshift64*, from splitmix64 of the seed --- */

static void random_begin(uint64_t seed)
{
	seed += 0x9e3779b97f4a7c15;
	seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
	seed = (seed ^ seed >> 27) * 0x94d049bb133111eb;
	random_flows = (seed ^ seed >> 31) ?: 1;
	random_rest = ~random_flows ?: 1;
}

static uint64_t random_u64(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

uint32_t random_u32(void)
{
	return random_u64(&random_rest) >> 32;
}

double random_part(void)
{
	return (random_u64(&random_rest) >> 11) * 0x1p-53;
}

double random_uniform(void)
{
	return (random_u64(&random_flows) >> 11) * 0x1p-53;
}

double random_exponential(double mean)
{
	return -mean * log1p(-random_uniform());
}

/* --- the wheel --- */

static void wheel_put(uint32_t i)
{
	uint32_t at = events[i].ns & (WHEEL_SLOTS - 1);
	struct slot *s = &wheel[at];

	events[i].next = NONE;
	if (s->first == NONE) {
		s->first = i;
		bits[at / 64] |= 1ULL << at % 64;
		bits_words[at / 4096] |= 1ULL << at / 64 % 64;
		bits_top |= 1ULL << at / 4096;
	} else {
		events[s->last].next = i;
	}
	s->last = i;
	wheel_count++;
}

/* The first slot in use from `at` on, within one word; NONE: there is none. */
static uint32_t bits_from(uint64_t word, uint32_t at)
{
	word &= ~0ULL << at;
	return word ? (uint32_t)__builtin_ctzll(word) : NONE;
}

/* The first slot in use from `at` to the end of the wheel. */
static uint32_t wheel_from(uint32_t at)
{
	uint32_t low = bits_from(bits[at / 64], at % 64), mid, top;

	if (low != NONE)
		return at / 64 * 64 + low;
	mid = at / 64 % 64 == 63 ? NONE : bits_from(bits_words[at / 4096], at / 64 % 64 + 1);
	if (mid != NONE) {
		mid += at / 4096 * 64;
		return mid * 64 + __builtin_ctzll(bits[mid]);
	}
	top = at / 4096 == 15 ? NONE : bits_from(bits_top, at / 4096 + 1);
	if (top == NONE)
		return NONE;
	mid = top * 64 + __builtin_ctzll(bits_words[top]);
	return mid * 64 + __builtin_ctzll(bits[mid]);
}

/* Takes the first event of the wheel, which must not be empty. */
static uint32_t wheel_take(void)
{
	uint32_t at = wheel_from(engine.now_ns & (WHEEL_SLOTS - 1)), i;
	struct slot *s;

	if (at == NONE)
		at = wheel_from(0);
	s = &wheel[at];
	i = s->first;
	s->first = events[i].next;
	if (s->first == NONE) {
		bits[at / 64] &= ~(1ULL << at % 64);
		if (!bits[at / 64])
			bits_words[at / 4096] &= ~(1ULL << at / 64 % 64);
		if (!bits_words[at / 4096])
			bits_top &= ~(1ULL << at / 4096);
	}
	wheel_count--;
	return i;
}

/* --- the heap --- */

static int later_before(const struct later *a, const struct later *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->order < b->order);
}

static void heap_put(uint32_t event)
{
	struct later l = { events[event].ns, heap_order++, event };
	uint32_t i = heap_count++;

	if (i == heap_room) {
		heap_room = 2 * heap_room + 256;
		heap = grow(heap, heap_room, sizeof(*heap));
	}
	for (; i && later_before(&l, &heap[(i - 1) / HEAP_WAYS]); i = (i - 1) / HEAP_WAYS)
		heap[i] = heap[(i - 1) / HEAP_WAYS];
	heap[i] = l;
}

static uint32_t heap_take(void)
{
	uint32_t event = heap[0].event, i = 0, k, child;
	struct later last = heap[--heap_count];

	for (;;) {
		child = HEAP_WAYS * i + 1;
		if (child >= heap_count)
			break;
		for (k = child + 1; k < child + HEAP_WAYS && k < heap_count; k++)
			if (later_before(&heap[k], &heap[child]))
				child = k;
		if (!later_before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return event;
}

/* Moves events to the wheel as it reaches them, before new ones are added after them. */
static void heap_near(void)
{
	while (heap_count && heap[0].ns - engine.now_ns < WHEEL_SLOTS)
		wheel_put(heap_take());
}

/* --- events --- */

void event_at(uint64_t ns, enum event_kind kind, uint32_t number)
{
	uint32_t i = events_free;

	if (ns == NEVER_NS)
		return;
	if (i != NONE) {
		events_free = events[i].next;
	} else {
		i = events_count++;
		if (i == events_room) {
			events_room = 2 * events_room + 1024;
			events = grow(events, events_room, sizeof(*events));
		}
	}
	if (ns < engine.now_ns)
		ns = engine.now_ns;
	events[i].ns = ns;
	events[i].kind = kind;
	events[i].number = number;
	if (ns - engine.now_ns < WHEEL_SLOTS)
		wheel_put(i);
	else
		heap_put(i);
}

/* The next event; NONE: there are no more. */
static uint32_t event_next(void)
{
	/* The wheel is empty: time advances to the first event of the heap. */
	if (!wheel_count && heap_count) {
		engine.now_ns = heap[0].ns;
		heap_near();
	}
	return wheel_count ? wheel_take() : NONE;
}

void engine_begin(uint64_t seed)
{
	uint32_t i;

	random_begin(seed);
	engine = (struct engine){};
	wheel = grow(NULL, WHEEL_SLOTS, sizeof(*wheel));
	for (i = 0; i < WHEEL_SLOTS; i++)
		wheel[i].first = wheel[i].last = NONE;
}

void engine_run(const event_handler handlers[EVENT_KINDS])
{
	uint32_t i, kind, number;

	while (!engine.stopped && (i = event_next()) != NONE) {
		engine.now_ns = events[i].ns;
		heap_near();
		engine.events++;
		kind = events[i].kind;
		number = events[i].number;
		events[i].next = events_free;
		events_free = i;
		if (kind == EVENT_STOP)
			break;
		handlers[kind](number);
	}
}

void engine_end(void)
{
	free(events);
	free(wheel);
	free(heap);
}

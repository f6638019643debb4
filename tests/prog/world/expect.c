// SPDX-License-Identifier: GPL-2.0-only
/* Expectations: the counters, the frame, and the complaint if they differ. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"
#include "flows.h"
#include "load.h"
#include "run.h"

static __u64 counted[STAT_MAX];
char fixture_text[256];

static const char *const stat_names[] = {
#define STAT_NAME(symbol, name, kind, help) name,
	SLUICE_STATS(STAT_NAME)
#undef STAT_NAME
};

/* Does the counter end a packet's way, or is it counted in addition? */
static const enum sluice_stat_kind stat_kinds[] = {
#define STAT_KIND(symbol, name, kind, help) STAT_KIND_##kind,
	SLUICE_STATS(STAT_KIND)
#undef STAT_KIND
};

static int stat_is_also(int stat)
{
	return stat_kinds[stat] == STAT_KIND_ALSO;
}

void fixture(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(fixture_text, sizeof(fixture_text) - 3, fmt, ap);
	va_end(ap);
	if (n > 0)
		strcat(fixture_text, ": ");
}

const char *world_fixture(void)
{
	return fixture_text;
}

static __u64 stat_read(__u32 which)
{
	static int cpus;
	__u64 sum = 0;
	int i;

	cpus = cpus ?: libbpf_num_possible_cpus();
	{
		__u64 v[cpus];

		if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.stats), &which, v))
			return 0;
		for (i = 0; i < cpus; i++)
			sum += v[i];
	}
	return sum;
}

/* Each flow that is made is counted by what made it; which that was is for the tests that name it. */
static int stat_is_cause(int which)
{
	return which == STAT_FLOW_MADE_TX || which == STAT_FLOW_MADE_SYNACK || which == STAT_FLOW_MADE_RX ||
	       which == STAT_FLOW_MADE_PROBE;
}

static const char *counted_diff(const int *stats, int frames_known)
{
	static char text[512];
	unsigned int ends = 0, ran = frames, caused = 0;
	int want[STAT_MAX] = {}, i, wrong = 0;
	char *out = text;

	for (; *stats >= 0; stats++)
		want[*stats]++;
	if (sink == INGRESS_XDP)
		want[STAT_RX_XDP] = want[STAT_RX_DATA] + want[STAT_RX_PROBE] + want[STAT_RX_PROBE_OLD] +
				    want[STAT_RX_PROBE_LIMITED] + want[STAT_RX_PROBE_REPLY] + want[STAT_RX_FEEDBACK] +
				    want[STAT_RX_CREDIT] + want[STAT_RX_RATE] + want[STAT_RX_INT_COPY];
	want[STAT_FLOW_MADE] = flows_count() - flows_known;
	flows_known += want[STAT_FLOW_MADE];
	out += sprintf(out, "counters:");
	for (i = 0; i < STAT_MAX; i++) {
		__u64 now = stat_read(i), moved = now - counted[i];

		counted[i] = now;
		if (!stat_is_also(i))
			ends += moved;
		if (stat_is_cause(i)) {
			caused += moved;
			if (!want[i])
				continue;
		}
		if (moved == (__u64)want[i])
			continue;
		wrong = 1;
		if (out < text + sizeof(text) - 64)
			out += sprintf(out, " %s +%llu, not +%d;", stat_names[i], moved, want[i]);
	}
	frames = 0;
	if (caused != (unsigned int)want[STAT_FLOW_MADE]) {
		wrong = 1;
		if (out < text + sizeof(text) - 64)
			out += sprintf(out, " %u flows have a cause, not %d;", caused, want[STAT_FLOW_MADE]);
	}
	if (!wrong && (ends == ran || !frames_known))
		return NULL;
	if (!wrong)
		sprintf(out, " %u packets ended in %u counters", ran, ends);
	return text;
}

const char *world_counted(const int *stats)
{
	return counted_diff(stats, 1);
}

const char *world_counted_attached(const int *stats)
{
	return counted_diff(stats, 0);
}

const char *world_ended(void)
{
	static char text[64];
	__u64 ends = 0;
	unsigned int i, ran = frames;

	for (i = 0; i < STAT_MAX; i++) {
		__u64 now = stat_read(i);

		if (!stat_is_also(i))
			ends += now - counted[i];
		counted[i] = now;
	}
	frames = 0;
	flows_known = flows_count();
	if (ends == ran)
		return NULL;
	snprintf(text, sizeof(text), "%u packets ended in %llu counters", ran, ends);
	return text;
}

const char *world_diff(const struct frame *want, const struct frame *got)
{
	return frame_diff(want, got);
}

const char *world_damaged(enum program p, const struct frame *good, unsigned int from)
{
	const char *why = NULL;
	struct frame in;

	for (; from < good->len && !why; from++) {
		in = *good;
		in.b[from] ^= 0x10;
		run(p, &in);
		why = world_ended();
	}
	return why;
}

const char *world_untouched(enum program p, const struct frame *f, enum sluice_stat stat, struct run_spec s)
{
	struct result r = world_run(p, f, s);
	const char *why = frame_diff(f, &r.out);
	static char text[64];

	if (why)
		return why;
	if (r.verdict != VERDICT_PASS) {
		snprintf(text, sizeof(text), "verdict %d, not %d", r.verdict, VERDICT_PASS);
		return text;
	}
	return world_counted((const int[]){ stat, -1 });
}

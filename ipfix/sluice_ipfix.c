// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluice-ipfix: exports flows, their paths and ports by IPFIX. It looks at the pinned maps every SAMPLE, keeps
 * high-water marks (marks.c), and every INTERVAL makes records of them (encoder.c) for the collector (sink.c).
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ipfix/encoder.h"
#include "ipfix/marks.h"
#include "ipfix/sink.h"
#include "lib/arguments.h"
#include "lib/pins.h"

#define LAST_WORDS_NS NSEC_PER_SEC /* at the end, for what still waits for the collector */
#define LOST_SAY_S 60
#define FOREIGN_NS (10 * NSEC_PER_SEC) /* then maps of another version are no daemon's that just starts */
#define LOOK_PAUSE 20 /* between two looks at many flows, in lengths of a look: so they take a twentieth of a CPU */

struct exporter {
	const char *pin_dir;
	double interval_s, sample_s;
	__u32 domain, pen;
	struct sink sink;
	struct encoder *encoder;
	struct marks marks;
	struct control ctl;    /* at the last look */
	__u64 netns_cookie;    /* of our network namespace */
	unsigned int sessions; /* of the sink, as the encoder knows it */
	int pins_err;	       /* why the last look failed, as it was said */
	__u64 foreign_ns;      /* since when the maps are another version's; 0: they are not */
	struct msg_limit lost_limit, beyond_limit;
	unsigned long long lost_said, beyond_said;
};

static volatile sig_atomic_t ending, reopening;

static void signal_note(int signal)
{
	if (signal == SIGHUP)
		reopening = 1;
	else
		ending = 1;
}

/* --- a look --- */

static int look_flow(const struct flow_key *key, const struct flow *flow, void *ctx)
{
	return marks_flow(ctx, key, flow);
}

/* The queues of another network namespace cannot be read from here. */
static int look_port(__u32 ifindex, const struct port *port, void *ctx)
{
	struct exporter *x = ctx;
	struct link_load load;

	if (port->flags & PORT_F_LEFT || !(port->flags & (PORT_F_HOST | PORT_F_SWITCH)) ||
	    port->netns_cookie != x->netns_cookie || link_load_get(ifindex, &load))
		return 0;
	return marks_port(&x->marks, ifindex, port, &load);
}

static int maps_read(struct exporter *x)
{
	struct pins pins;
	int err = pins_open(x->pin_dir, &pins);

	if (err)
		return err;
	x->ctl = *pins.ctl;
	marks_look(&x->marks, now_ns());
	err = pins_each_flow(&pins, look_flow, &x->marks);
	err = err ?: pins_each_port(&pins, look_port, x);
	pins_close(&pins);
	return err;
}

/* Maps that a daemon is still making look like another version's for a moment. */
static int exporter_look(struct exporter *x)
{
	int err = maps_read(x);

	if (err)
		marks_look_failed(&x->marks);
	if (err != -EPROTO)
		x->foreign_ns = 0;
	else if (!x->foreign_ns)
		x->foreign_ns = now_ns();
	if (err == -EPROTO && now_ns() < x->foreign_ns + FOREIGN_NS)
		return 0;
	if (err && err != x->pins_err)
		pins_refused(x->pin_dir, err);
	else if (!err && x->pins_err)
		msg_info("%s: reading the maps again", x->pin_dir);
	x->pins_err = err;
	return err;
}

/* --- an export --- */

struct export
{
	struct exporter *x;
	__u64 real_ns;
};

static void export_flow(const struct flow_mark *f, void *ctx)
{
	const struct export *e = ctx;

	if (e->x->sink.state == SINK_OPEN)
		encoder_flow(e->x->encoder, f, &e->x->marks, &e->x->ctl, e->real_ns);
	else
		e->x->sink.lost++;
}

static void export_port(const struct port_mark *p, void *ctx)
{
	const struct export *e = ctx;

	if (e->x->sink.state == SINK_OPEN)
		encoder_port(e->x->encoder, p, &e->x->marks, e->real_ns);
	else
		e->x->sink.lost++;
}

static void export_message(void *ctx, const void *message, size_t bytes, unsigned int records)
{
	sink_send(ctx, message, bytes, records);
}

static __u64 real_ahead_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec - now_ns();
}

static void exporter_complain(struct exporter *x)
{
	if (x->sink.lost != x->lost_said)
		msg_limited(&x->lost_limit, LOST_SAY_S, "%s: %llu records lost since the start", x->sink.name,
			    x->sink.lost);
	if (x->marks.beyond != x->beyond_said)
		msg_limited(&x->beyond_limit, LOST_SAY_S, "more than %d flows: the others are not exported", MARKS_MAX);
	x->lost_said = x->sink.lost;
	x->beyond_said = x->marks.beyond;
}

/* By UDP templates go with every export: a collector that comes later needs them, and one may be lost. */
static void exporter_export(struct exporter *x)
{
	struct export e = { .x = x, .real_ns = real_ahead_ns() };

	if (sink_ready(&x->sink) && (x->sessions != x->sink.sessions || x->sink.kind == SINK_UDP)) {
		if (x->sessions != x->sink.sessions)
			encoder_begin(x->encoder, sink_message_max(&x->sink));
		x->sessions = x->sink.sessions;
		encoder_templates(x->encoder);
	}
	/* After a failed look there is no time to export at: the next good one has what is left. */
	if (x->marks.now_ns) {
		marks_each_flow(&x->marks, export_flow, &e);
		marks_each_port(&x->marks, export_port, &e);
	}
	if (x->sink.state == SINK_OPEN)
		encoder_flush(x->encoder);
	exporter_complain(x);
}

/* --- arguments --- */

enum option_name {
	OPTION_PINS = 256,
	OPTION_INTERVAL,
	OPTION_SAMPLE,
	OPTION_DOMAIN,
	OPTION_PEN,
	OPTION_HELP,
	OPTION_VERSION
};

static const struct option options[] = {
	{ "pin-dir", required_argument, NULL, OPTION_PINS },  { "interval", required_argument, NULL, OPTION_INTERVAL },
	{ "sample", required_argument, NULL, OPTION_SAMPLE }, { "domain", required_argument, NULL, OPTION_DOMAIN },
	{ "pen", required_argument, NULL, OPTION_PEN },	      { "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },     {},
};

static void ipfix_usage(FILE *to)
{
	fputs("usage: sluice-ipfix [OPTION]... COLLECTOR\n"
	      "\n"
	      "Exports the flows of this machine, their paths, and the queues of its ports by IPFIX, until SIGTERM or Ctrl-C.\n"
	      "COLLECTOR is udp:ADDRESS:PORT, tcp:ADDRESS:PORT or file:/PATH; SIGHUP opens it anew.\n"
	      "\n"
	      "  --interval SECONDS  between two exports (10)\n"
	      "  --sample SECONDS    between two looks at the maps, which the high-water marks are taken from (0.1)\n"
	      "  --domain N          observation domain (1)\n"
	      "  --pen N             private enterprise number of Sluice's elements (32473, for documentation)\n"
	      "  --pin-dir DIR       where sluiced pins its maps (" SLUICE_PIN_DIR ")\n"
	      "  --help, --version\n",
	      to);
}

static int option_take(struct exporter *x, int option)
{
	switch (option) {
	case OPTION_PINS:
		x->pin_dir = optarg;
		return 0;
	case OPTION_INTERVAL:
		return seconds_parse("--interval", optarg, 3600, &x->interval_s);
	case OPTION_SAMPLE:
		return seconds_parse("--sample", optarg, 3600, &x->sample_s);
	case OPTION_DOMAIN:
		return number_parse("--domain", optarg, ~0U, &x->domain);
	case OPTION_PEN:
		return number_parse("--pen", optarg, ~0U, &x->pen);
	default:
		return -EINVAL; /* getopt_long() has said it */
	}
}

static int arguments_check(const struct exporter *x, int left)
{
	if (left != 1)
		msg("one collector is needed: write for example sluice-ipfix udp:192.0.2.7:4739; see sluice-ipfix --help");
	else if (x->sample_s > x->interval_s)
		msg("--sample is longer than --interval: write a shorter one");
	else if (x->pen == ENCODER_PEN_REVERSE)
		msg("--pen %d is that of reverse elements (RFC 5103): write the number that IANA gave your organisation",
		    x->pen);
	else
		return 0;
	return -EINVAL;
}

/* EXIT_DONE, or -1: go on; else an exit code. */
static int arguments_take(struct exporter *x, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPTION_HELP) {
			ipfix_usage(stdout);
			return EXIT_DONE;
		}
		if (option == OPTION_VERSION) {
			puts("sluice-ipfix " SLUICE_VERSION);
			return EXIT_DONE;
		}
		if (option_take(x, option))
			return EXIT_USAGE;
	}
	return arguments_check(x, argc - optind) || sink_parse(&x->sink, argv[optind]) ? EXIT_USAGE : -1;
}

/* --- the program --- */

/* The mask to wait with: signals come only then. */
static sigset_t signals_take(void)
{
	struct sigaction action = { .sa_handler = signal_note };
	sigset_t ours, before;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_BLOCK, &ours, &before);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	return before;
}

/* Maps of another version ask for another program: a service starts it. */
static int exporter_run(struct exporter *x, const sigset_t *mask)
{
	const __u64 sample = x->sample_s * NSEC_PER_SEC, interval = x->interval_s * NSEC_PER_SEC;
	__u64 now = now_ns(), look_ns = now + sample, export_ns = now + interval, took;

	while (!ending) {
		sink_ready(&x->sink);
		sink_wait(&x->sink, look_ns < export_ns ? look_ns : export_ns, mask);
		now = now_ns();
		if (reopening)
			sink_reopen(&x->sink);
		reopening = 0;
		if (now >= look_ns) {
			if (exporter_look(x) == -EPROTO)
				return EXIT_FAILED;
			took = LOOK_PAUSE * (now_ns() - now);
			look_ns = now + (took > sample ? took : sample);
		}
		if (now >= export_ns) {
			exporter_export(x);
			export_ns = now + interval;
		}
	}
	return EXIT_DONE;
}

/* The last records, and what still waits, for a second. */
static void exporter_end(struct exporter *x, const sigset_t *mask)
{
	__u64 until = now_ns() + LAST_WORDS_NS;

	exporter_look(x);
	exporter_export(x);
	while (x->sink.first && now_ns() < until)
		sink_wait(&x->sink, until, mask);
	sink_close(&x->sink);
	msg_info("%llu records in %llu messages sent to %s, %llu lost", x->sink.records, x->sink.messages, x->sink.name,
		 x->sink.lost);
}

int main(int argc, char **argv)
{
	struct exporter *x = calloc(1, sizeof(*x));
	struct link_info lo;
	sigset_t mask;
	int code;

	msg_init("sluice-ipfix");
	if (!x) {
		msg("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	x->pin_dir = SLUICE_PIN_DIR;
	x->interval_s = 10;
	x->sample_s = 0.1;
	x->domain = 1;
	x->pen = ENCODER_PEN;
	code = arguments_take(x, argc, argv);
	if (code < 0) {
		mask = signals_take();
		x->netns_cookie = link_get("lo", &lo) ? 0 : lo.netns_cookie;
		x->encoder = encoder_new(x->domain, x->pen, export_message, &x->sink);
		code = exporter_look(x) || (!sink_ready(&x->sink) && x->sink.kind == SINK_FILE) ? EXIT_FAILED :
												  EXIT_DONE;
		if (code == EXIT_DONE)
			code = exporter_run(x, &mask);
		if (code == EXIT_DONE)
			exporter_end(x, &mask);
		sink_close(&x->sink);
		encoder_free(x->encoder);
		marks_free(&x->marks);
	}
	free(x);
	return code;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <getopt.h>
#include <stdio.h>
#include "daemon/metrics.h"
#include "daemon/options.h"
#include "lib/config.h"
#include "lib/pins.h"

static const char usage_text[] =
	"usage: sluiced [OPTION]...\n"
	"Attaches Sluice to the interfaces of its configuration and keeps it there.\n"
	"\n"
	"  -c, --config FILE    configuration (" CONFIG_PATH ")\n"
	"      --check          check the configuration and end\n"
	"      --detach         take everything off that an earlier sluiced left, and end\n"
	"      --list-keys      keys of the configuration, their values, defaults and meanings, and end\n"
	"      --list-metrics   names, types and meanings of all metrics, and end\n"
	"      --pin-dir DIR    with --detach: the pin directory (" SLUICE_PIN_DIR ")\n"
	"  -v, --verbose        also print libbpf's messages\n"
	"  -h, --help           this text\n"
	"  -V, --version        the version\n"
	"\n"
	"With 'metrics: {}' in the configuration Prometheus is served at http://127.0.0.1:9463/metrics.\n"
	"SIGHUP reads the configuration again; SIGTERM and SIGINT detach and end. After a crash\n"
	"traffic goes on as it was, and the next sluiced adopts flows and maps.\n"
	"Exit codes: 0 done, 1 failed, 2 usage, 3 not supported here, 4 failed and undone.\n";

int options_parse(int argc, char **argv, struct options *o)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, 'C' },
		{ "detach", no_argument, NULL, 'D' },
		{ "pin-dir", required_argument, NULL, 'p' },
		{ "list-keys", no_argument, NULL, 'K' },
		{ "list-metrics", no_argument, NULL, 'M' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "c:vhV", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			o->config_path = optarg;
			break;
		case 'C':
			o->check = 1;
			break;
		case 'D':
			o->detach = 1;
			break;
		case 'K':
			config_keys_list(stdout);
			return EXIT_DONE;
		case 'M':
			metrics_list(stdout);
			return EXIT_DONE;
		case 'p':
			o->pin_dir = optarg;
			break;
		case 'v':
			msg_verbose(1);
			break;
		case 'h':
			fputs(usage_text, stdout);
			return EXIT_DONE;
		case 'V':
			puts("sluiced " SLUICE_VERSION);
			return EXIT_DONE;
		default:
			fputs(usage_text, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		msg("'%s' is not an option: see sluiced --help", argv[optind]);
		return EXIT_USAGE;
	}
	if (o->detach ? o->config_path != NULL : o->pin_dir != NULL) {
		msg("%s", o->detach ? "--detach reads no configuration, which may have changed: say --pin-dir instead" :
				      "--pin-dir is for --detach: say pin_dir in the configuration");
		return EXIT_USAGE;
	}
	o->config_path = o->config_path ?: CONFIG_PATH;
	return -1;
}

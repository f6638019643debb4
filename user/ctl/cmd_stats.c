// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl stats: the counters. As text those that are not 0, each with its explanation. */
#include <stdio.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"

int cmd_stats(int argc, char **argv)
{
	int all = argc == 2 && !strcmp(argv[1], "--all"), err, i;
	__u64 stats[STAT_MAX];
	char left[64];
	struct pins p;

	if (argc > 1 && !all) {
		msg("stats takes only --all (also the counters that are 0)");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	err = pins_stats(&p, stats);
	pins_close(&p);
	if (err) {
		msg("reading the counters: %s", strerror(-err));
		return EXIT_FAILED;
	}
	out_object(NULL);
	for (i = 0; i < STAT_MAX; i++) {
		out_u64(stat_names[i], stats[i]);
		if (out_json || (!stats[i] && !all))
			continue;
		snprintf(left, sizeof(left), "%-18s %14llu  ", stat_names[i], stats[i]);
		line_print(left, stat_help[i]);
	}
	return out_done();
}

// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl bypass: passes every packet untouched, or resumes normal work. */
#include <stdio.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/show.h"

int cmd_bypass(int argc, char **argv)
{
	struct pins p;
	int was, now, err;

	if (argc != 2 || (strcmp(argv[1], "on") && strcmp(argv[1], "off"))) {
		msg("usage: sluicectl bypass on|off");
		return EXIT_USAGE;
	}
	err = show_open(&p);
	if (err)
		return err;
	was = !!p.ctl->bypass;
	now = !strcmp(argv[1], "on");
	if (was && !now)
		p.ctl->doubt_ns = now_ns();
	p.ctl->bypass = now;
	pins_close(&p);
	if (!out_json)
		printf("bypass: %s -> %s\n", was ? "on" : "off", argv[1]);
	out_object(NULL);
	out_bool("bypass", now);
	out_bool("was", was);
	return out_done();
}

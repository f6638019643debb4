// SPDX-License-Identifier: GPL-2.0-only
/* The name that a mistyped one is closest to. */
#include <criterion/criterion.h>
#include <string.h>
#include "lib/names.h"

static const char *nearest_of(const char *name)
{
	static const char *const names[] = {
		"probe", "status", "stats", "flows", "top", "set", "receive_window", NULL
	};
	const char *const *candidate;
	struct nearest n;

	nearest_begin(&n, name);
	for (candidate = names; *candidate; candidate++)
		nearest_offer(&n, *candidate);
	return n.best ?: "";
}

Test(names, nearest_is_the_name_with_the_fewest_edits)
{
	static const struct {
		const char *name, *best;
	} cases[] = {
		{ "flwos", "flows" },		       /* two neighbours swapped: one edit */
		{ "flow", "flows" },		       /* a letter less */
		{ "statsu", "status" },		       /* swapped; stats is as near, and comes later */
		{ "statss", "status" },		       /* the first of two that are one edit away */
		{ "reciev_window", "receive_window" }, /* two edits */
		{ "sett", "set" },
		{ "recv_wnd", "" }, /* too many */
		{ "xyzzy", "" },
		{ "to", "" }, /* too short for a mistake */
		{ "", "" },
		{ "receive_window_receive_window", "" }, /* too long */
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(nearest_of(cases[i].name), cases[i].best, "'%s' is taken for '%s'", cases[i].name,
				 nearest_of(cases[i].name));
}

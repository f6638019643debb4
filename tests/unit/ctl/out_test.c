// SPDX-License-Identifier: GPL-2.0-only
/* Values that are named once: the same calls as JSON and as a table. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl/out.h"

TestSuite(out, .timeout = 60);

/* In another order than the values have. */
static const struct table_column columns[] = {
	{ "RATE", 9, 1, "rate_bps" },
	{ "NAME", -6, 0, "name" },
	{ "ON", -3, 2, "on" },
	{ "us", 4, 3, "age_ns" },
};

static FILE *printed;

static void print_begin(void)
{
	printed = tmpfile();
	cr_assert_not_null(printed);
	fflush(stdout);
	cr_assert_geq(dup2(fileno(printed), STDOUT_FILENO), 0);
}

static const char *print_end(void)
{
	static char text[4096];
	size_t n;

	fflush(stdout);
	rewind(printed);
	n = fread(text, 1, sizeof(text) - 1, printed);
	text[n] = 0;
	return text;
}

static void row_put(const char *name, __u64 rate)
{
	out_row();
	out_string("name", name);
	out_u64("only_json", 1);
	out_ns("age_ns", 12345678);
	if (rate)
		out_rate("rate_bps", rate);
	out_bool("on", 4);
	out_row_end();
}

Test(out, table__a_column_shows_the_value_with_its_key)
{
	print_begin();
	out_array(NULL);
	out_table(columns, 4);
	row_put("a", 1500000000);
	row_put("b", 0);
	out_done();
	cr_expect_str_eq(print_end(), "     RATE NAME   ON  us\n"
				      " 1500.000 a      on  12345\n"
				      "        - b      on  12345\n");
}

Test(out, table__a_cell_replaces_what_the_line_has_there)
{
	print_begin();
	out_table(columns, 4);
	out_row();
	out_string("name", "a");
	out_cell("name", "%s, %d", "b", 2);
	out_cell("no such column", "x");
	out_row_end();
	cr_expect_str_eq(print_end(), "     RATE NAME   ON  us\n        - b, 2   -   -\n");
}

Test(out, json__has_all_values_in_their_order_and_no_cells)
{
	out_json = 1;
	out_array(NULL);
	out_table(columns, 4);
	row_put("a", 1500000000);
	out_cell("name", "x");
	cr_expect_str_eq(out_line(),
			 "[{\"name\":\"a\",\"only_json\":1,\"age_ns\":12345678,\"rate_bps\":1500000000,\"on\":true}]");
	out_drop();
}

Test(out, json__objects_and_lists_are_in_what_is_open)
{
	out_json = 1;
	out_object(NULL);
	out_object("one");
	out_s64("below", -1);
	out_end();
	out_array("list");
	out_string(NULL, "a/b");
	out_object(NULL);
	out_decimal("share", 0.5, 3);
	out_end();
	out_end();
	out_double("half", 0.5);
	cr_expect_str_eq(out_line(), "{\"one\":{\"below\":-1},\"list\":[\"a/b\",{\"share\":0.500}],\"half\":0.5}");
	out_drop();
}

Test(out, json__begins_anew_after_it_was_dropped)
{
	out_json = 1;
	out_object(NULL);
	out_object("left open");
	out_drop();
	out_array(NULL);
	out_u64(NULL, 7);
	cr_expect_str_eq(out_line(), "[7]");
	out_drop();
}

// SPDX-License-Identifier: GPL-2.0-only
/* Values of options. */
#include <errno.h>
#include "lib/arguments.h"
#include "lib/util.h"

int number_parse(const char *option, const char *text, unsigned int most, unsigned int *value)
{
	__u64 n;

	if (digits_parse(text, &n) || !n || n > most) {
		msg("%s '%s' is not a number from 1 to %u", option, text, most);
		return -EINVAL;
	}
	*value = n;
	return 0;
}

int seconds_parse(const char *option, const char *text, unsigned int most, double *value)
{
	const char *end;

	if (!decimal_parse(text, value, &end) && !*end && *value >= 0.1 && *value <= most)
		return 0;
	msg("%s '%s' is not a number of seconds from 0.1 to %u: write for example 2", option, text, most);
	return -EINVAL;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Values of options. */
#include <errno.h>
#include <stdlib.h>
#include "lib/arguments.h"
#include "lib/util.h"

int number_parse(const char *option, const char *text, unsigned int most, unsigned int *value)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !n || n > most) {
		msg("%s '%s' is not a number from 1 to %u", option, text, most);
		return -EINVAL;
	}
	*value = n;
	return 0;
}

int seconds_parse(const char *option, const char *text, unsigned int most, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end != text && !*end && *value >= 0.1 && *value <= most)
		return 0;
	msg("%s '%s' is not a number of seconds from 0.1 to %u: write for example 2", option, text, most);
	return -EINVAL;
}

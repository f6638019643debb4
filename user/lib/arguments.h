/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ARGUMENTS_H
#define SLUICE_ARGUMENTS_H

/* Option values, with error messages: a number from 1 to most, seconds from 0.1 to most. 0 or -EINVAL. */
int number_parse(const char *option, const char *text, unsigned int most, unsigned int *value);
int seconds_parse(const char *option, const char *text, unsigned int most, double *value);

#endif

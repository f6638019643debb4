// SPDX-License-Identifier: GPL-2.0-only
/* Leaks are failures; those of the test framework (Criterion 2.4.1: 48 bytes) are not ours. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libcriterion\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

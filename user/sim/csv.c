// SPDX-License-Identifier: GPL-2.0-only
/* See csv.h. */
#include <string.h>
#include "sim/csv.h"

void csv_put(FILE *to, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, to);
		return;
	}
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

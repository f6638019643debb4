// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>

#include "vai_case.h"

double dampener(const struct vai_state *v)
{
	return (double)v->dampener_q8 / VAI_DAMPENER_ONE;
}

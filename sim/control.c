// SPDX-License-Identifier: GPL-2.0-only
/* See control.h. */
#include "sim/control.h"

const struct scheme *scheme;
struct scheme_rules scheme_rules;

uint64_t control_line_bps(void)
{
	return hpcc_rate_bps(scheme_rules.hpcc.w_init, scheme_rules.hpcc.t_ns);
}

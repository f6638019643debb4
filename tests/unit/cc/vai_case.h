/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VAI_CASE_H
#define VAI_CASE_H
/* Shared by the tests of include/sluice/cc/vai.h. */
#include "sluice/cc/hpcc.h"
#include "model.h"
#include "trace.h"

double dampener(const struct vai_state *v);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_TRACE_JSON_H
#define SLUICE_TRACE_JSON_H
#include "sluice/abi/trace.h"

/* The line, which out_drop() frees. epoch_ns: from the clock of the record to 1970. */
const char *trace_json(const struct trace *r, unsigned int frame, __s64 epoch_ns, const char *interface);

#endif

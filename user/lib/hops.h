/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HOPS_H
#define SLUICE_HOPS_H
/* The hops of a flow's path between two looks at it. */
#include "sluice/abi/flow.h"

/*
 * Bytes that hop i sent between two reports of it, and the time between. 0 if unknown: another path, no newer report,
 * or a pause long enough for its counter to wrap.
 */
__u64 hop_sent(const struct flow *old, const struct flow *now, unsigned int i, __u64 *ns);

#endif

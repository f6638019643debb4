/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H
/*
 * What the BPF programs and the host see alike: keys and values of the pinned maps. SLUICE_ABI goes
 * up with every change of a layout here. A daemon carries entries of another number over by the names of members
 * (user/attach/adopt.c): what changes its meaning, or its unit, gets another name, and numbers of an enum stay what they are.
 */
#include "sluice/abi/addr.h"
#include "sluice/abi/class.h"
#include "sluice/abi/control.h"
#include "sluice/abi/flow.h"
#include "sluice/abi/pause.h"
#include "sluice/abi/peer.h"
#include "sluice/abi/port.h"
#include "sluice/abi/stats.h"
#include "sluice/abi/trace.h"
#include "sluice/abi/voq.h"

#define SLUICE_ABI 19

#endif

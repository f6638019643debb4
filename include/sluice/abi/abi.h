/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ABI_H
#define SLUICE_ABI_H
/*
 * The types that the BPF programs and the host share: keys and values of the pinned maps. SLUICE_ABI goes up with every
 * layout change here. A daemon carries entries over from another ABI number by member name (user/attach/pins/adopt.c): a
 * member whose meaning or unit changes gets another name, and enum numbers stay what they are.
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

#define SLUICE_ABI 27

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_HELD_BPF_H
#define SLUICE_HELD_BPF_H
/* Pauses as a flow sees them: any program may ask, whatever its context is. */
#include "lib/base.bpf.h"
#include "lib/maps.bpf.h"
#include "sluice/abi/abi.h"
#include "sluice/once.h"
#include "sluice/pause/pfc.h"
#include "sluice/types.h"

static inline struct pfc_port *pfc_port_get(__u32 ifindex)
{
	return bpf_map_lookup_elem(&pfc_ports, &ifindex);
}

/* Whether a pause of its port held packets of the flow within the last within_ns. */
VERIFIED_ONCE int pfc_held(const struct flow *f, __u64 within_ns)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 class, ifindex;
	struct pfc_port *p;

	if (!f)
		return 0;
	class = (f->tx.flags & FLOW_F_PAUSE) >> FLOW_F_PAUSE_SHIFT;
	ifindex = f->path.ifindex;
	p = pfc_port_get(ifindex);
	return p && class && pfc_ended(&p->obey[(class - 1) % PFC_PRIORITIES], &p->params, now_ns) + within_ns > now_ns;
}

#endif

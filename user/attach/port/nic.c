// SPDX-License-Identifier: GPL-2.0-only
/*
 * PFC of a NIC.
 *
 *  1. A NIC that does PFC consumes the frames, and stops its queues by itself: departure times do not hold packets a
 *     second time. It is configured for the lossless priorities, in addition to its previous ones.
 *  2. Its previous setting is stored in pfc_ports before the change: the next daemon and --detach find it there. A
 *     later change by somebody else stands.
 *  3. If DCBX runs below the driver, that knows better what the neighbour agreed to: then the NIC is only queried.
 *  4. A driver may refuse, or do nothing and report success: the result is read back.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "attach/port/nic.h"
#include "lib/dcb.h"
#include "lib/net.h"

#define PFC_F_NIC_ALL (PFC_F_NIC | PFC_F_NIC_LLD | PFC_F_NIC_SET)

/* Its enabled priorities, without those that we added. */
static __u8 nic_own(const struct dcb *d, const struct pfc_port *v)
{
	return v->flags & PFC_F_NIC_SET && d->pfc.pfc_en == v->nic_set ? v->nic_was : d->pfc.pfc_en;
}

/* Checks that the NIC can do this; -EINVAL with a message if not. */
static int nic_room(const char *name, const struct dcb *d, __u8 lossless, __u8 own)
{
	char wanted[DCB_PRIORITIES_STRLEN], have[DCB_PRIORITIES_STRLEN];

	if (dcb_judge(d, lossless | own) != DCB_TOO_MANY)
		return 0;
	msg("%s: its NIC does PFC for %u priorities at a time: 'pfc: lossless' is %s, and it has PFC enabled for %s: write fewer, or run 'dcb pfc set dev %s prio-pfc all:off' first",
	    name, d->pfc.pfc_cap, dcb_priorities_format(lossless, wanted), dcb_priorities_format(own, have), name);
	return -EINVAL;
}

int nic_check(const struct pins *pins, const struct config *c)
{
	struct pfc_port v;
	struct link_info link;
	unsigned int k;
	struct dcb d;
	int err = 0;

	for (k = 0; k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		if (!i->pfc || link_get(i->name, &link) || link_dcb_get(i->name, &d))
			continue;
		if (bpf_map_lookup_elem(pins->pfc_ports, &link.ifindex, &v))
			v.flags = 0;
		err = nic_room(i->name, &d, c->lossless, nic_own(&d, &v)) ?: err;
	}
	return err;
}

static void nic_leaves(const char *name, enum dcb_verdict verdict, const struct dcb *d)
{
	char have[DCB_PRIORITIES_STRLEN];

	dcb_priorities_format(d->pfc.pfc_en, have);
	if (verdict == DCB_LLD)
		msg("%s: its NIC does PFC, and its firmware or an LLDP agent of its own runs DCBX: priorities %s, which stays as it is; 'dcb dcbx set dev %s host ieee' gives it to the host, where the driver can",
		    name, have, name);
	else
		msg("%s: its NIC does PFC, in the CEE version of DCBX: priorities %s, which stays as it is; 'dcb dcbx set dev %s host ieee' and SIGHUP let Sluice set it",
		    name, have, name);
}

int nic_plan(const char *name, struct pfc_port *v, int acts)
{
	enum dcb_verdict verdict;
	__u32 known = v->flags;
	struct dcb d;
	__u8 own;
	int err = link_dcb_get(name, &d);

	if (err && err != -EOPNOTSUPP)
		msg("%s: asking its NIC for PFC: %s", name, strerror(-err));
	own = nic_own(&d, v);
	verdict = dcb_judge(&d, v->lossless | own);
	if (verdict == DCB_NONE && !(known & PFC_F_NIC))
		return 0;
	v->flags &= ~PFC_F_OBEY;
	memset(v->obey, 0, sizeof(v->obey)); /* pfc_forget() */
	if (verdict == DCB_NONE)
		return 0; /* it reports nothing now, in a reset for example: the known state stays */
	err = nic_room(name, &d, v->lossless, own);
	if (err)
		return err;
	v->flags = (v->flags & ~PFC_F_NIC_ALL) | PFC_F_NIC;
	v->nic_was = v->nic_set = own;
	if (verdict != DCB_SETTABLE) {
		v->flags |= PFC_F_NIC_LLD;
		if (!(known & PFC_F_NIC_LLD))
			nic_leaves(name, verdict, &d);
	} else if (acts) {
		v->flags |= PFC_F_NIC_SET;
		v->nic_set = own | v->lossless;
	}
	return 0;
}

/* Enables these priorities and no others; *was: those before. 0, also if it reports nothing now, or -errno. */
static int nic_write(const char *name, __u8 enabled, __u8 *was)
{
	struct dcb d;
	int err = link_dcb_get(name, &d);

	*was = d.pfc.pfc_en;
	if (err || !d.has_pfc || *was == enabled)
		return err;
	d.pfc.pfc_en = enabled;
	err = link_pfc_set(name, &d.pfc) ?: link_dcb_get(name, &d);
	return err ?: d.pfc.pfc_en == enabled ? 0 : -EOPNOTSUPP;
}

static void nic_say(const char *name, __u8 old, __u8 new, const char *why)
{
	char from[DCB_PRIORITIES_STRLEN], to[DCB_PRIORITIES_STRLEN];

	if (old != new)
		msg_info("%s: PFC of its NIC: priorities %s -> %s, %s", name, dcb_priorities_format(old, from),
			 dcb_priorities_format(new, to), why);
}

int nic_tell(const char *name, const struct pfc_port *v)
{
	char text[DCB_PRIORITIES_STRLEN];
	__u8 was;
	int err;

	if (!(v->flags & PFC_F_NIC) || v->flags & PFC_F_NIC_LLD)
		return 0;
	err = nic_write(name, v->nic_set, &was);
	if (err) {
		msg("%s: PFC of its NIC for priorities %s: %s: 'dcb pfc show dev %s' has what it does; without 'pfc' for this interface it stays so",
		    name, dcb_priorities_format(v->nic_set, text), strerror(-err), name);
		return err;
	}
	nic_say(name, was, v->nic_set,
		v->flags & PFC_F_NIC_SET ? "which are to be lossless: the NIC obeys pauses, and Sluice leaves them to it" :
					   "as before: Sluice does not enforce");
	return 0;
}

int nic_restore(const char *name, const struct pfc_port *v)
{
	char text[DCB_PRIORITIES_STRLEN];
	struct dcb d;
	__u8 was;
	int err;

	if (!(v->flags & PFC_F_NIC_SET))
		return 0;
	err = link_dcb_get(name, &d);
	/* Only if it still has our setting: an administrator's later choice stands. */
	if (!err && d.has_pfc && d.pfc.pfc_en != v->nic_set)
		return 0;
	err = err ?: d.has_pfc ? nic_write(name, v->nic_was, &was) : -EOPNOTSUPP;
	if (err)
		msg("%s: PFC of its NIC for priorities %s, as before: %s: 'dcb pfc show dev %s' has what it does; the next SIGHUP or 'sluiced --detach' tries again",
		    name, dcb_priorities_format(v->nic_was, text), strerror(-err), name);
	else
		nic_say(name, was, v->nic_was, "as before");
	return err;
}

static void nic_count(const char *name, const struct dcb *d, struct pfc_nic *n, int *silent)
{
	unsigned int prio;
	__u64 any = 0;

	n->capability = d->pfc.pfc_cap;
	n->enabled = d->pfc.pfc_en;
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		any |= d->pfc.requests[prio] | d->pfc.indications[prio];
	if (!any && !*silent && !link_pfc_counters(name, n->requests, n->indications))
		return;
	*silent |= !any;
	memcpy(n->requests, d->pfc.requests, sizeof(n->requests));
	memcpy(n->indications, d->pfc.indications, sizeof(n->indications));
}

int nic_follow(const char *name, struct pfc_port *v, int acts, struct pfc_nic *n, int *silent,
	       struct msg_limit *limit)
{
	char wanted[DCB_PRIORITIES_STRLEN], have[DCB_PRIORITIES_STRLEN];
	struct dcb d;

	if (!(v->flags & PFC_F_NIC) || link_dcb_get(name, &d) || !d.has_pfc)
		return 0;
	nic_count(name, &d, n, silent);
	if (v->flags & PFC_F_NIC_LLD)
		return 0;
	if (acts != !!(v->flags & PFC_F_NIC_SET) && dcb_judge(&d, v->lossless | nic_own(&d, v)) == DCB_SETTABLE)
		return !nic_plan(name, v, acts);
	if (acts && v->lossless & ~d.pfc.pfc_en)
		msg_limited(
			limit, 60,
			"%s: PFC of its NIC is enabled for priorities %s by now, and %s are to be lossless: somebody changed it, and it stays until SIGHUP, or until the interface changes",
			name, dcb_priorities_format(d.pfc.pfc_en, have), dcb_priorities_format(v->lossless, wanted));
	return 0;
}

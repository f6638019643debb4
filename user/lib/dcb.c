// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include "lib/dcb.h"

/* --- messages --- */

static void dcb_put(struct nlmsghdr *nlh, __u16 type, __u8 command, const char *name)
{
	struct dcbmsg *m;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->cmd = command;
	mnl_attr_put_strz(nlh, DCB_ATTR_IFNAME, name);
}

void dcb_get_put(struct nlmsghdr *nlh, const char *name)
{
	dcb_put(nlh, RTM_GETDCB, DCB_CMD_IEEE_GET, name);
}

void dcb_set_put(struct nlmsghdr *nlh, const char *name, const struct ieee_pfc *pfc)
{
	struct nlattr *ieee;

	dcb_put(nlh, RTM_SETDCB, DCB_CMD_IEEE_SET, name);
	nlh->nlmsg_flags |= NLM_F_ACK;
	ieee = mnl_attr_nest_start(nlh, DCB_ATTR_IEEE);
	mnl_attr_put(nlh, DCB_ATTR_IEEE_PFC, sizeof(*pfc), pfc);
	mnl_attr_nest_end(nlh, ieee);
}

static void ieee_take(const struct nlattr *ieee, struct dcb *d)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, ieee) {
		if (mnl_attr_get_type(a) != DCB_ATTR_IEEE_PFC || mnl_attr_get_payload_len(a) < sizeof(d->pfc))
			continue;
		memcpy(&d->pfc, mnl_attr_get_payload(a), sizeof(d->pfc));
		d->has_pfc = 1;
	}
}

void dcb_get_take(const struct nlmsghdr *nlh, struct dcb *d)
{
	const struct nlattr *a;

	memset(d, 0, sizeof(*d));
	mnl_attr_for_each(a, nlh, sizeof(struct dcbmsg)) {
		if (mnl_attr_get_type(a) == DCB_ATTR_IEEE)
			ieee_take(a, d);
		if (mnl_attr_get_type(a) == DCB_ATTR_DCBX && mnl_attr_get_payload_len(a) >= 1) {
			d->dcbx = mnl_attr_get_u8(a);
			d->has_dcbx = 1;
		}
	}
}

int dcb_set_take(const struct nlmsghdr *nlh)
{
	const struct nlattr *a;
	int err = -EPROTO;

	mnl_attr_for_each(a, nlh, sizeof(struct dcbmsg)) {
		/* A negative number that was cut down to a byte. */
		if (mnl_attr_get_type(a) == DCB_ATTR_IEEE && mnl_attr_get_payload_len(a) >= 1)
			err = mnl_attr_get_u8(a) - (mnl_attr_get_u8(a) > 127 ? 256 : 0);
	}
	return err > 0 ? -EPROTO : err;
}

/* --- conclusions --- */

enum dcb_verdict dcb_judge(const struct dcb *d, __u8 enabled)
{
	if (!d->has_pfc || !d->pfc.pfc_cap)
		return DCB_NONE;
	/* A driver that does not report DCBX leaves it to the host. */
	if (d->has_dcbx && (d->dcbx & DCB_CAP_DCBX_LLD_MANAGED || !(d->dcbx & DCB_CAP_DCBX_HOST)))
		return DCB_LLD;
	if (d->has_dcbx && !(d->dcbx & DCB_CAP_DCBX_VER_IEEE))
		return DCB_CEE;
	return __builtin_popcount(enabled) > d->pfc.pfc_cap ? DCB_TOO_MANY : DCB_SETTABLE;
}

const char *dcb_priorities_format(__u8 priorities, char *buf)
{
	unsigned int prio;
	int n = 0;

	strcpy(buf, "none");
	for (prio = 0; prio < PFC_PRIORITIES; prio++)
		if (priorities >> prio & 1)
			n += sprintf(buf + n, n ? ",%u" : "%u", prio);
	return buf;
}

int dcb_counter(const char *name, unsigned int *priority, int *sent)
{
	char way[2];
	int end;

	/* Counter names of mlx4_en. */
	if (sscanf(name, "%1[rt]x_pause_prio_%u%n", way, priority, &end) != 2 || name[end] || *priority >= PFC_PRIORITIES)
		return 0;
	*sent = *way == 't';
	return 1;
}

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DCB_H
#define SLUICE_DCB_H
/*
 * PFC of a NIC that does it itself: the messages of dcb netlink (RTM_GETDCB and RTM_SETDCB, linux/dcbnl.h), and the
 * conclusions from them. Those take no socket and no map: net/ethtool.c asks, attach/port/nic.c acts.
 */
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include "lib/util.h"

struct dcb {
	struct ieee_pfc pfc;
	int has_pfc;  /* the driver reports PFC at all */
	int has_dcbx; /* the driver reports who runs DCBX */
	__u8 dcbx;    /* DCB_CAP_DCBX_* */
};

/* nlh: as of mnl_nlmsg_put_header(), with DCB_MSG_BYTES of room. A get has one answer; a set has one and an ACK. */
#define DCB_MSG_BYTES 512
void dcb_get_put(struct nlmsghdr *nlh, const char *name);
void dcb_set_put(struct nlmsghdr *nlh, const char *name, const struct ieee_pfc *pfc);

/* Parse the answers. */
void dcb_get_take(const struct nlmsghdr *nlh, struct dcb *d);
/* 0, or -errno of the driver: the kernel acknowledges a refused request, and puts the error into the answer. */
int dcb_set_take(const struct nlmsghdr *nlh);

enum dcb_verdict {
	DCB_NONE,     /* the NIC does no PFC */
	DCB_SETTABLE, /* it does PFC, and its priorities can be set */
	DCB_LLD,      /* its firmware, or an agent below the driver, runs DCBX and reports that */
	DCB_CEE,      /* the host runs DCBX, but in its version before IEEE 802.1Qaz, in which PFC cannot be set here */
	DCB_TOO_MANY, /* it can do PFC for fewer priorities at a time */
};
/* enabled: bit n: priority n is to have PFC. */
enum dcb_verdict dcb_judge(const struct dcb *d, __u8 enabled);

/* "3,5"; "none". buf of DCB_PRIORITIES_STRLEN. */
#define DCB_PRIORITIES_STRLEN 24
const char *dcb_priorities_format(__u8 priorities, char *buf);

/*
 * Whether a counter of ethtool -S counts the PFC frames of one priority, by the names in drivers that leave those of
 * struct ieee_pfc at 0. *sent: frames sent, not received.
 */
int dcb_counter(const char *name, unsigned int *priority, int *sent);

/*
 * PFC of a NIC, from the kernel (net/ethtool.c). -EOPNOTSUPP: not supported by driver or kernel; else 0, or -errno, including a refusal by the
 * driver.
 */
int link_dcb_get(const char *name, struct dcb *d);
int link_pfc_set(const char *name, const struct ieee_pfc *pfc);
/* Its PFC frames by priority from ethtool -S; -EOPNOTSUPP: no known counter of them. */
int link_pfc_counters(const char *name, __u64 *sent, __u64 *received);

#endif

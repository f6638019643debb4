// SPDX-License-Identifier: GPL-2.0-only
/* PFC of NICs: settings by dcb netlink (dcb.c), counters by ethtool. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/dcb.h"
#include "lib/net/netlink.h"

static int dcb_get_cb(const struct nlmsghdr *nlh, void *data)
{
	dcb_get_take(nlh, data);
	return MNL_CB_OK;
}

int link_dcb_get(const char *name, struct dcb *d)
{
	char buf[DCB_MSG_BYTES] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	memset(d, 0, sizeof(*d));
	dcb_get_put(nlh, name);
	return nl_talk(nlh, dcb_get_cb, d);
}

static int dcb_set_cb(const struct nlmsghdr *nlh, void *data)
{
	*(int *)data = dcb_set_take(nlh);
	return MNL_CB_OK;
}

int link_pfc_set(const char *name, const struct ieee_pfc *pfc)
{
	char buf[DCB_MSG_BYTES] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int err, driver_err = 0;

	dcb_set_put(nlh, name, pfc);
	err = nl_talk(nlh, dcb_set_cb, &driver_err);
	return err ?: driver_err;
}

/* The number of counters that ethtool -S has. */
static __u32 ethtool_count(int fd, struct ifreq ifr)
{
	union {
		struct ethtool_sset_info i;
		__u8 with_count[sizeof(struct ethtool_sset_info) + sizeof(__u32)];
	} e = { .i = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS } };

	ifr.ifr_data = (void *)&e;
	return ioctl(fd, SIOCETHTOOL, &ifr) ? 0 : e.i.data[0];
}

/* Adds up, because several counters may have one name. Returns how many of the names are known. */
static unsigned int counters_take(const struct ethtool_gstrings *names, const struct ethtool_stats *stats, __u64 *sent,
				  __u64 *received)
{
	unsigned int i, priority, known = 0;
	char name[ETH_GSTRING_LEN + 1];
	int is_sent;

	for (i = 0; i < names->len; i++) {
		snprintf(name, sizeof(name), "%.*s", ETH_GSTRING_LEN, (const char *)names->data + i * ETH_GSTRING_LEN);
		if (!dcb_counter(name, &priority, &is_sent))
			continue;
		known++;
		(is_sent ? sent : received)[priority] += stats->data[i];
	}
	return known;
}

int link_pfc_counters(const char *name, __u64 *sent, __u64 *received)
{
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *stats = NULL;
	struct ifreq ifr = {};
	int fd, err = -EOPNOTSUPP;
	__u32 count;

	memset(sent, 0, PFC_PRIORITIES * sizeof(*sent));
	memset(received, 0, PFC_PRIORITIES * sizeof(*received));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	count = ethtool_count(fd, ifr);
	if (!count)
		goto close_fd;
	/* The kernel writes its current number of counters: room for more, in case a queue was added. */
	names = calloc(1, sizeof(*names) + 2UL * count * ETH_GSTRING_LEN);
	stats = calloc(1, sizeof(*stats) + 2UL * count * sizeof(stats->data[0]));
	if (!names || !stats) {
		err = -ENOMEM;
		goto close_fd;
	}
	*names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count };
	ifr.ifr_data = (void *)names;
	if (ioctl(fd, SIOCETHTOOL, &ifr))
		goto close_fd;
	*stats = (struct ethtool_stats){ .cmd = ETHTOOL_GSTATS, .n_stats = count };
	ifr.ifr_data = (void *)stats;
	if (ioctl(fd, SIOCETHTOOL, &ifr) || names->len != count || stats->n_stats != count)
		goto close_fd;
	err = counters_take(names, stats, sent, received) ? 0 : -EOPNOTSUPP;
close_fd:
	free(names);
	free(stats);
	close(fd);
	return err;
}

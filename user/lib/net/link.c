// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: by ioctl, which, unlike sysfs, always covers our own network namespace, and by rtnetlink for data that ioctl
 * lacks.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/net.h"
#include "lib/util.h"
#include "lib/net/netlink.h"

static __u64 link_speed(int fd, struct ifreq ifr)
{
	union {
		struct ethtool_link_settings s;
		__u8 with_masks[sizeof(struct ethtool_link_settings) + 3 * 127 * sizeof(__u32)];
	} e = { .s.cmd = ETHTOOL_GLINKSETTINGS };

	/* Two calls: the first returns, as a negative number, how many words of masks there are. */
	ifr.ifr_data = (void *)&e;
	if (ioctl(fd, SIOCETHTOOL, &ifr) || e.s.link_mode_masks_nwords >= 0)
		return 0;
	e.s.link_mode_masks_nwords = -e.s.link_mode_masks_nwords;
	e.s.cmd = ETHTOOL_GLINKSETTINGS;
	if (ioctl(fd, SIOCETHTOOL, &ifr) || e.s.speed == (__u32)SPEED_UNKNOWN)
		return 0;
	return e.s.speed * 1000000ULL;
}

int link_get(const char *name, struct link_info *info)
{
	struct ifreq ifr = {};
	int fd, err = 0;
	socklen_t len;

	memset(info, 0, sizeof(*info));
	strncpy(info->name, name, IFNAMSIZ - 1);
	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFINDEX, &ifr)) {
		err = -errno;
		goto close_fd;
	}
	info->ifindex = ifr.ifr_ifindex;
	if (ioctl(fd, SIOCGIFMTU, &ifr)) {
		err = -errno;
		goto close_fd;
	}
	info->mtu = ifr.ifr_mtu;
	if (ioctl(fd, SIOCGIFHWADDR, &ifr)) {
		err = -errno;
		goto close_fd;
	}
	info->type = ifr.ifr_hwaddr.sa_family;
	memcpy(info->mac, ifr.ifr_hwaddr.sa_data, sizeof(info->mac));
	if (ioctl(fd, SIOCGIFFLAGS, &ifr)) {
		err = -errno;
		goto close_fd;
	}
	info->up = (ifr.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	info->speed_bps = link_speed(fd, ifr);
	len = sizeof(info->netns_cookie);
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &info->netns_cookie, &len))
		err = -errno;
close_fd:
	close(fd);
	return err;
}

int link_address(const char *name, struct sluice_addr *addr)
{
	struct ifaddrs *list, *i;
	int found = 0;

	if (getifaddrs(&list))
		return -errno;
	for (i = list; i && found < 2; i = i->ifa_next) {
		if (strcmp(i->ifa_name, name) || !i->ifa_addr)
			continue;
		if (i->ifa_addr->sa_family == AF_INET) {
			*addr = (struct sluice_addr){ .b = { [10] = 0xff, [11] = 0xff } };
			memcpy(&addr->b[12], &((struct sockaddr_in *)i->ifa_addr)->sin_addr, 4);
			found = 2;
		} else if (i->ifa_addr->sa_family == AF_INET6) {
			const struct in6_addr *a = &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;

			if (found || IN6_IS_ADDR_LINKLOCAL(a))
				continue;
			memcpy(addr, a, sizeof(*addr));
			found = 1;
		}
	}
	freeifaddrs(list);
	return found ? 0 : -EADDRNOTAVAIL;
}

int links_each(void (*fn)(__u32 ifindex, void *ctx), void *ctx)
{
	struct if_nameindex *list = if_nameindex(), *i;

	if (!list)
		return -errno;
	for (i = list; i && i->if_index; i++)
		fn(i->if_index, ctx);
	if_freenameindex(list);
	return 0;
}

/* A request for one link, or for all (ifindex 0), without counters, two thirds of the answer. */
static struct nlmsghdr *link_ask(char *buf, __u32 ifindex)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | (ifindex ? 0 : NLM_F_DUMP);
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_family = AF_UNSPEC;
	m->ifi_index = ifindex;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return nlh;
}

struct behind_ctx {
	void (*fn)(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx);
	void *ctx;
};

static int behind_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(nlh);
	const struct behind_ctx *b = data;
	const struct nlattr *attr, *netnsid = NULL;
	__u32 master = 0;

	mnl_attr_for_each (attr, nlh, sizeof(*m)) {
		if (mnl_attr_get_type(attr) == IFLA_LINK_NETNSID)
			netnsid = attr;
		if (mnl_attr_get_type(attr) == IFLA_MASTER)
			master = attr_u32(attr);
	}
	if (netnsid)
		b->fn(m->ifi_index, (__s32)attr_u32(netnsid), master, b->ctx);
	return MNL_CB_OK;
}

int links_behind(void (*fn)(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx), void *ctx)
{
	struct behind_ctx b = { fn, ctx };
	char buf[256];

	return nl_talk(link_ask(buf, 0), behind_link, &b);
}

static void kin_info(struct link_kin *kin, const struct nlattr *info)
{
	const struct nlattr *i, *data = NULL, *d;

	mnl_attr_for_each_nested (i, info) {
		if (mnl_attr_get_type(i) == IFLA_INFO_KIND)
			strncpy(kin->kind, attr_str(i), sizeof(kin->kind) - 1);
		if (mnl_attr_get_type(i) == IFLA_INFO_DATA)
			data = i;
	}
	if (!data)
		return;
	mnl_attr_for_each_nested (d, data) {
		if (!strcmp(kin->kind, "vrf") && mnl_attr_get_type(d) == IFLA_VRF_TABLE)
			kin->table = attr_u32(d);
		if (!strcmp(kin->kind, "vxlan") && mnl_attr_get_type(d) == IFLA_VXLAN_LINK)
			kin->lower = attr_u32(d);
	}
}

static int kin_link(const struct nlmsghdr *nlh, void *data)
{
	struct link_kin *kin = data;
	const struct nlattr *attr;
	int elsewhere = 0;

	mnl_attr_for_each (attr, nlh, sizeof(struct ifinfomsg)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_LINK:
			kin->lower = attr_u32(attr);
			break;
		case IFLA_LINK_NETNSID:
			elsewhere = 1;
			break;
		case IFLA_MASTER:
			kin->master = attr_u32(attr);
			break;
		case IFLA_LINKINFO:
			kin_info(kin, attr);
			break;
		}
	}
	/* The other end of a veth is not below it. */
	if (elsewhere || !strcmp(kin->kind, "veth"))
		kin->lower = 0;
	return MNL_CB_OK;
}

int link_kin_get(__u32 ifindex, struct link_kin *kin)
{
	char buf[256];

	memset(kin, 0, sizeof(*kin));
	return nl_talk(link_ask(buf, ifindex), kin_link, kin);
}

__u32 link_table(__u32 ifindex)
{
	struct link_kin kin = {}, master = {};
	int err = ifindex ? link_kin_get(ifindex, &kin) : 0;

	if (!err && kin.master)
		err = link_kin_get(kin.master, &master);
	if (err && err != -ENODEV)
		msg("interface %u: looking for its VRF: %s: its routes are taken as those of the main table", ifindex,
		    strerror(-err));
	return !err && master.table ? master.table : RT_TABLE_MAIN;
}

struct ports_ctx {
	__u32 master;
	void (*fn)(__u32 ifindex, void *ctx);
	void *ctx;
};

static int port_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(nlh);
	const struct ports_ctx *p = data;
	const struct nlattr *attr;

	mnl_attr_for_each (attr, nlh, sizeof(*m))
		if (mnl_attr_get_type(attr) == IFLA_MASTER && attr_u32(attr) == p->master)
			p->fn(m->ifi_index, p->ctx);
	return MNL_CB_OK;
}

int link_ports_each(__u32 master, void (*fn)(__u32 ifindex, void *ctx), void *ctx)
{
	struct ports_ctx p = { master, fn, ctx };
	char buf[256];
	struct nlmsghdr *nlh = link_ask(buf, 0);

	mnl_attr_put_u32(nlh, IFLA_MASTER, master); /* the kernel leaves out the others */
	return nl_talk(nlh, port_link, &p);
}

struct over_ctx {
	__u32 ifindex;
	int found;
};

static int over_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(nlh);
	struct over_ctx *c = data;
	struct sluice_addr addr;
	const struct nlattr *attr;
	const char *name = "";
	__u32 below = m->ifi_index;

	mnl_attr_for_each (attr, nlh, sizeof(*m)) {
		if (mnl_attr_get_type(attr) == IFLA_IFNAME)
			name = attr_str(attr);
		if (mnl_attr_get_type(attr) == IFLA_LINK && (__u32)m->ifi_index != c->ifindex)
			below = attr_u32(attr);
	}
	c->found |= below == c->ifindex && !link_address(name, &addr);
	return MNL_CB_OK;
}

int link_has_address(__u32 ifindex)
{
	struct over_ctx c = { .ifindex = ifindex };
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;
	int err;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_family = AF_UNSPEC;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	err = nl_talk(nlh, over_link, &c);
	return err ?: c.found;
}

struct stack_ctx {
	__u32 ifindex;
	struct link_stack *s;
};

static int stack_link(const struct nlmsghdr *nlh, void *data)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(nlh);
	const struct stack_ctx *c = data;
	const struct nlattr *attr, *info;
	__u32 below = 0;
	int vlan = 0;

	mnl_attr_for_each (attr, nlh, sizeof(*m)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_LINK:
			below = attr_u32(attr);
			break;
		case IFLA_LINKINFO:
			mnl_attr_for_each_nested (info, attr) {
				if (mnl_attr_get_type(info) == IFLA_INFO_KIND)
					vlan = !strcmp(attr_str(info), "vlan");
			}
			break;
		case IFLA_PARENT_DEV_NAME:
			c->s->device |= (__u32)m->ifi_index == c->ifindex;
			break;
		}
	}
	c->s->vlans |= vlan && below == c->ifindex;
	return MNL_CB_OK;
}

int link_stack_get(__u32 ifindex, struct link_stack *s)
{
	struct stack_ctx c = { ifindex, s };
	char buf[256];

	memset(s, 0, sizeof(*s));
	return nl_talk(link_ask(buf, 0), stack_link, &c);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links by ioctl (which, unlike sysfs, always speaks of the network namespace that we are in), and
 * qdiscs, filters and routes by rtnetlink over libmnl.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "lib/dcb.h"
#include "lib/net.h"

static __u64 link_speed(int fd, struct ifreq *ifr)
{
	union {
		struct ethtool_link_settings s;
		__u8 with_masks[sizeof(struct ethtool_link_settings) + 3 * 127 * sizeof(__u32)];
	} e = { .s.cmd = ETHTOOL_GLINKSETTINGS };

	/* Two calls: the first one says, as a negative number, how many words of masks there are. */
	ifr->ifr_data = (void *)&e;
	if (ioctl(fd, SIOCETHTOOL, ifr) || e.s.link_mode_masks_nwords >= 0)
		return 0;
	e.s.link_mode_masks_nwords = -e.s.link_mode_masks_nwords;
	e.s.cmd = ETHTOOL_GLINKSETTINGS;
	if (ioctl(fd, SIOCETHTOOL, ifr) || e.s.speed == (__u32)SPEED_UNKNOWN)
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
	info->speed_bps = link_speed(fd, &ifr);
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

/* The fixed part of messages of this type, which every callback below reads without a look. */
static size_t nl_head_bytes(__u16 type)
{
	switch (type) {
	case RTM_NEWLINK:
	case RTM_GETLINK:
		return sizeof(struct ifinfomsg);
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
	case RTM_GETROUTE:
		return sizeof(struct rtmsg);
	case RTM_GETDCB:
	case RTM_SETDCB:
		return sizeof(struct dcbmsg);
	default:
		return sizeof(struct tcmsg);
	}
}

#define ERRNO_MAX 4095 /* as the kernel has it */

struct talk {
	mnl_cb_t cb;
	void *data;
	size_t head_bytes;
};

/* A message that is shorter than it has to be says nothing. */
static int talk_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct talk *t = data;

	if (!t->cb || mnl_nlmsg_get_payload_len(nlh) < t->head_bytes)
		return MNL_CB_OK;
	return t->cb(nlh, t->data);
}

/* A number of an attribute; 0 where it has less. */
static __u32 attr_u32(const struct nlattr *a)
{
	return mnl_attr_get_payload_len(a) >= sizeof(__u32) ? mnl_attr_get_u32(a) : 0;
}

/* Its text; "" where it has no end. */
static const char *attr_str(const struct nlattr *a)
{
	const char *text = mnl_attr_get_payload(a);

	return memchr(text, 0, mnl_attr_get_payload_len(a)) ? text : "";
}

/* Sends a request and hands every answer to cb; 0, or -errno as the kernel gave it. */
static int nl_talk(struct nlmsghdr *nlh, mnl_cb_t cb, void *data)
{
	char buf[32768];
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	unsigned int seq = (unsigned int)time(NULL) ^ (unsigned int)rand(), port;
	struct talk talk = { cb, data, nl_head_bytes(nlh->nlmsg_type) };
	int n, err = 0;

	if (!nl)
		return -errno;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = -errno;
		goto close_nl;
	}
	port = mnl_socket_get_portid(nl);
	nlh->nlmsg_seq = seq;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0) {
		err = -errno;
		goto close_nl;
	}
	for (;;) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0) {
			err = -errno;
			break;
		}
		n = mnl_cb_run(buf, n, seq, port, talk_cb, &talk);
		if (n < 0) /* as the message has it, which may be no error at all */
			err = errno > 0 && errno <= ERRNO_MAX ? -errno : -EPROTO;
		if (n <= 0)
			break;
		if (!(nlh->nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK)))
			break; /* a plain get has one answer */
	}
close_nl:
	mnl_socket_close(nl);
	return err;
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

	mnl_attr_for_each(attr, nlh, sizeof(*m)) {
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
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_family = AF_UNSPEC;
	mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS); /* two thirds of the answer */
	return nl_talk(nlh, behind_link, &b);
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

	mnl_attr_for_each(attr, nlh, sizeof(*m)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_LINK:
			below = attr_u32(attr);
			break;
		case IFLA_LINKINFO:
			mnl_attr_for_each_nested(info, attr) {
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
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;

	memset(s, 0, sizeof(*s));
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_family = AF_UNSPEC;
	return nl_talk(nlh, stack_link, &c);
}

struct qdisc_list {
	__u32 ifindex;
	unsigned int n;
	struct {
		__u32 handle, parent;
		char kind[16];
	} q[1024];
};

static int qdisc_cb(const struct nlmsghdr *nlh, void *data)
{
	struct qdisc_list *l = data;
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a;

	if (nlh->nlmsg_type != RTM_NEWQDISC || (__u32)tc->tcm_ifindex != l->ifindex ||
	    l->n == sizeof(l->q) / sizeof(l->q[0]))
		return MNL_CB_OK;
	l->q[l->n].handle = tc->tcm_handle;
	l->q[l->n].parent = tc->tcm_parent;
	mnl_attr_for_each(a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			strncpy(l->q[l->n].kind, attr_str(a), sizeof(l->q[0].kind) - 1);
	}
	l->n++;
	return MNL_CB_OK;
}

/* The kernel gives those of all interfaces, whatever is asked for. */
static int qdisc_dump(mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct tcmsg *tc;

	nlh->nlmsg_type = RTM_GETQDISC;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
	tc->tcm_family = AF_UNSPEC;
	return nl_talk(nlh, cb, data);
}

int qdisc_get(__u32 ifindex, struct qdisc_info *info)
{
	struct qdisc_list *l = calloc(1, sizeof(*l));
	unsigned int i, k;
	int err;

	memset(info, 0, sizeof(*info));
	if (!l)
		return -ENOMEM;
	l->ifindex = ifindex;
	err = qdisc_dump(qdisc_cb, l);
	for (i = 0; !err && i < l->n; i++) {
		if (l->q[i].parent == TC_H_CLSACT || l->q[i].parent == TC_H_INGRESS) {
			info->ingress = !strcmp(l->q[i].kind, "ingress");
			continue;
		}
		if (l->q[i].parent == TC_H_ROOT)
			memcpy(info->root, l->q[i].kind, sizeof(info->root));
		for (k = 0; k < l->n; k++)
			if (l->q[i].handle && l->q[k].parent != TC_H_ROOT &&
			    TC_H_MAJ(l->q[k].parent) == TC_H_MAJ(l->q[i].handle))
				break;
		if (k < l->n)
			continue;
		info->leaves++;
		info->fq += !strcmp(l->q[i].kind, "fq");
		info->unreadable += !strcmp(l->q[i].kind, "noqueue") || !strcmp(l->q[i].kind, "pfifo_fast");
	}
	free(l);
	return err;
}

struct qdiscs_ctx {
	void (*fn)(__u32 ifindex, __u32 parent, const char *kind, __u64 tbf_bps, void *ctx);
	void *ctx;
};

static __u64 tbf_rate(const struct nlattr *options)
{
	const struct nlattr *a;
	__u64 bytes = 0;

	mnl_attr_for_each_nested(a, options) {
		/* The second comes later, where the first is too narrow. */
		if (mnl_attr_get_type(a) == TCA_TBF_PARMS && mnl_attr_get_payload_len(a) >= sizeof(struct tc_tbf_qopt))
			bytes = ((const struct tc_tbf_qopt *)mnl_attr_get_payload(a))->rate.rate;
		if (mnl_attr_get_type(a) == TCA_TBF_RATE64 && mnl_attr_get_payload_len(a) >= sizeof(__u64))
			bytes = mnl_attr_get_u64(a);
	}
	return bytes * 8;
}

static int qdiscs_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *a, *options = NULL;
	const struct qdiscs_ctx *q = data;
	const char *kind = "";

	if (nlh->nlmsg_type != RTM_NEWQDISC)
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(a) == TCA_KIND)
			kind = attr_str(a);
		if (mnl_attr_get_type(a) == TCA_OPTIONS)
			options = a;
	}
	q->fn(tc->tcm_ifindex, tc->tcm_parent, kind,
	      options && !strcmp(kind, "tbf") ? tbf_rate(options) : 0, q->ctx);
	return MNL_CB_OK;
}

int qdiscs_each(void (*fn)(__u32 ifindex, __u32 parent, const char *kind, __u64 tbf_bps, void *ctx),
		void *ctx)
{
	struct qdiscs_ctx q = { fn, ctx };

	return qdisc_dump(qdiscs_cb, &q);
}

static int filter_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);

	/* A bpf filter shows up twice: the chain entry has no handle. */
	if (nlh->nlmsg_type == RTM_NEWTFILTER && tc->tcm_handle)
		++*(int *)data;
	return MNL_CB_OK;
}

int filters_count(__u32 ifindex)
{
	static const __u32 hooks[] = { TC_H_MIN_INGRESS, TC_H_MIN_EGRESS };
	int count = 0, err;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		char buf[MNL_NLMSG_HDRLEN + 64] = {};
		struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
		struct tcmsg *tc;

		nlh->nlmsg_type = RTM_GETTFILTER;
		nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		tc = mnl_nlmsg_put_extra_header(nlh, sizeof(*tc));
		tc->tcm_family = AF_UNSPEC;
		tc->tcm_ifindex = ifindex;
		tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, hooks[i]);
		err = nl_talk(nlh, filter_cb, &count);
		if (err)
			return err;
	}
	return count;
}

static const __u8 *prefix_bytes(const struct peer_key *p, int *family, int *len, int *bits)
{
	int v4 = addr_is_v4(&p->addr) && p->prefixlen >= 96;

	*family = v4 ? AF_INET : AF_INET6;
	*len = v4 ? 4 : 16;
	*bits = p->prefixlen - (v4 ? 96 : 0);
	return v4 ? &p->addr.b[12] : p->addr.b;
}

struct covering {
	const struct peer_key *prefix;
	struct route best, ours;
	int best_len; /* -1: none yet */
};

/* Address bytes of an attribute, as a mapped address for IPv4; :: where it has fewer. */
static struct sluice_addr attr_addr(const struct nlattr *a, int family)
{
	struct sluice_addr addr = {};

	if (mnl_attr_get_payload_len(a) < (family == AF_INET ? 4 : 16))
		return addr;
	if (family == AF_INET) {
		addr.b[10] = addr.b[11] = 0xff;
		memcpy(&addr.b[12], mnl_attr_get_payload(a), 4);
	} else {
		memcpy(&addr, mnl_attr_get_payload(a), 16);
	}
	return addr;
}

/* What a route says, in its own attributes; a route that a copy of ours could not stand for has no interface. */
struct route_msg {
	struct route route;
	struct sluice_addr dst;
	__u32 table;
	int unclear;
};

static void route_metrics_parse(struct route *r, const struct nlattr *metrics)
{
	const struct nlattr *m;

	mnl_attr_for_each_nested(m, metrics) {
		if (mnl_attr_get_type(m) == RTAX_MTU) {
			r->mtu = attr_u32(m);
		} else if (r->metrics_len + MNL_ALIGN(m->nla_len) <= (int)sizeof(r->metrics)) {
			memcpy(r->metrics + r->metrics_len, m, m->nla_len);
			r->metrics_len += MNL_ALIGN(m->nla_len);
		}
	}
}

static void route_parse(const struct nlmsghdr *nlh, int family, struct route_msg *out)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct route *r = &out->route;
	const struct nlattr *a;

	*out = (struct route_msg){ .table = rt->rtm_table };
	r->protocol = rt->rtm_protocol;
	r->scope = rt->rtm_scope;
	r->onlink = !!(rt->rtm_flags & RTNH_F_ONLINK);
	mnl_attr_for_each(a, nlh, sizeof(*rt)) {
		switch (mnl_attr_get_type(a)) {
		case RTA_TABLE:
			out->table = attr_u32(a);
			break;
		case RTA_DST:
			out->dst = attr_addr(a, family);
			break;
		case RTA_OIF:
			r->ifindex = attr_u32(a);
			break;
		case RTA_PRIORITY:
			r->metric = attr_u32(a);
			break;
		case RTA_GATEWAY:
			r->has_gateway = 1;
			r->gateway = attr_addr(a, family);
			break;
		case RTA_PREFSRC:
			r->has_source = 1;
			r->source = attr_addr(a, family);
			break;
		case RTA_VIA: /* a gateway of the other family */
		case RTA_ENCAP:
			out->unclear = 1;
			break;
		case RTA_METRICS:
			route_metrics_parse(r, a);
			break;
		}
	}
	/* A route for one TOS, or from one prefix, covers a part of the packets: ours would take them from it. */
	if (rt->rtm_tos || rt->rtm_src_len) {
		out->unclear = 1;
		r->metric = 0;
	}
	/* Several next hops have no single interface; neither has unreachable (IPv6 says lo), nor what we cannot copy. */
	if (rt->rtm_type != RTN_UNICAST || out->unclear)
		r->ifindex = 0;
}

/* True if the first dst_len bits of dst are those of bytes, which are the last len of an address. */
static int route_covers(const struct sluice_addr *dst, int dst_len, const __u8 *bytes, int len)
{
	int i;

	for (i = 0; i < dst_len; i++)
		if ((dst->b[16 - len + i / 8] ^ bytes[i / 8]) & (0x80 >> i % 8))
			return 0;
	return 1;
}

static int covering_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct covering *c = data;
	struct route_msg m;
	struct route *r = &m.route;
	int family, len, bits;
	const __u8 *bytes = prefix_bytes(c->prefix, &family, &len, &bits);

	/* A cloned one is what path MTU discovery or a redirect found out about one address. */
	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_family != family || rt->rtm_dst_len > bits ||
	    rt->rtm_flags & RTM_F_CLONED)
		return MNL_CB_OK;
	route_parse(nlh, family, &m);
	if (m.table != RT_TABLE_MAIN || !route_covers(&m.dst, rt->rtm_dst_len, bytes, len))
		return MNL_CB_OK;
	r->exact = rt->rtm_dst_len == bits;
	/* Our own routes say nothing about where packets go. One that got a second next hop is no longer ours alone. */
	if (r->protocol == ROUTE_PROTO && (r->ifindex || !r->exact)) {
		if (r->exact)
			c->ours = *r;
		return MNL_CB_OK;
	}
	if (rt->rtm_dst_len < c->best_len ||
	    (rt->rtm_dst_len == c->best_len && r->metric >= c->best.metric && !(rt->rtm_tos || rt->rtm_src_len)))
		return MNL_CB_OK;
	c->best = *r;
	c->best_len = rt->rtm_dst_len;
	return MNL_CB_OK;
}

/* Every route of a family, of all tables. */
static int routes_dump(int family, mnl_cb_t cb, void *data)
{
	char buf[MNL_NLMSG_HDRLEN + 64] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtmsg *rt;

	nlh->nlmsg_type = RTM_GETROUTE;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = family;
	return nl_talk(nlh, cb, data);
}

int route_covering(const struct peer_key *prefix, struct route *r, struct route *ours)
{
	struct covering c = { .prefix = prefix, .best_len = -1 };
	int family, len, bits, err;

	prefix_bytes(prefix, &family, &len, &bits);
	err = routes_dump(family, covering_cb, &c);
	*r = c.best;
	if (ours)
		*ours = c.ours;
	return err ?: r->ifindex ? 0 : -ENETUNREACH;
}

struct meeting {
	const struct peer_key *prefixes;
	unsigned int count;
	void (*fn)(__u32 ifindex, void *ctx);
	void *ctx;
};

static int prefixes_meet(const struct peer_key *a, const struct peer_key *b)
{
	__u32 bits = a->prefixlen < b->prefixlen ? a->prefixlen : b->prefixlen, i;

	if (addr_is_v4(&a->addr) != addr_is_v4(&b->addr))
		return 0;
	for (i = 0; i < bits; i++)
		if ((a->addr.b[i / 8] ^ b->addr.b[i / 8]) & (0x80 >> i % 8))
			return 0;
	return 1;
}

static int meeting_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	const struct meeting *m = data;
	__u32 ifindex = 0, table = rt->rtm_table;
	struct peer_key key = {};
	const struct nlattr *a;
	unsigned int i;

	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_type != RTN_UNICAST || !rt->rtm_dst_len)
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(*rt)) {
		if (mnl_attr_get_type(a) == RTA_TABLE)
			table = attr_u32(a);
		if (mnl_attr_get_type(a) == RTA_OIF)
			ifindex = attr_u32(a);
		if (mnl_attr_get_type(a) == RTA_DST)
			key.addr = attr_addr(a, rt->rtm_family);
	}
	if (table != RT_TABLE_MAIN || !ifindex)
		return MNL_CB_OK;
	key.prefixlen = rt->rtm_dst_len + (rt->rtm_family == AF_INET ? 96 : 0);
	for (i = 0; i < m->count && !prefixes_meet(&key, &m->prefixes[i]); i++)
		;
	if (i < m->count)
		m->fn(ifindex, m->ctx);
	return MNL_CB_OK;
}

int routes_meeting(const struct peer_key *prefixes, unsigned int count,
		   void (*fn)(__u32 ifindex, void *ctx), void *ctx)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct meeting m = { prefixes, count, fn, ctx };
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 && !err; i++)
		err = routes_dump(families[i], meeting_cb, &m);
	return err;
}

static struct nlmsghdr *route_msg(char *buf, const struct peer_key *prefix, int type, int flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int family, len, bits;
	const __u8 *bytes = prefix_bytes(prefix, &family, &len, &bits);
	struct rtmsg *rt;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	rt = mnl_nlmsg_put_extra_header(nlh, sizeof(*rt));
	rt->rtm_family = family;
	rt->rtm_dst_len = bits;
	rt->rtm_table = RT_TABLE_MAIN;
	rt->rtm_protocol = ROUTE_PROTO;
	rt->rtm_type = RTN_UNICAST;
	mnl_attr_put(nlh, RTA_DST, len, bytes);
	return nlh;
}

int route_is_alike(const struct route *a, const struct route *b)
{
	return a->ifindex == b->ifindex && a->mtu == b->mtu && a->scope == b->scope && a->onlink == b->onlink &&
	       a->has_gateway == b->has_gateway && !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway)) &&
	       a->has_source == b->has_source && !memcmp(&a->source, &b->source, sizeof(a->source)) &&
	       a->metrics_len == b->metrics_len && !memcmp(a->metrics, b->metrics, a->metrics_len);
}

static void attr_addr_put(struct nlmsghdr *nlh, int type, int family, const struct sluice_addr *addr)
{
	if (family == AF_INET)
		mnl_attr_put(nlh, type, 4, &addr->b[12]);
	else
		mnl_attr_put(nlh, type, 16, addr);
}

int route_add(const struct peer_key *prefix, const struct route *r, int replace)
{
	char buf[MNL_NLMSG_HDRLEN + 512] = {};
	struct nlmsghdr *nlh = route_msg(buf, prefix, RTM_NEWROUTE,
					 NLM_F_CREATE | (replace ? NLM_F_REPLACE : NLM_F_EXCL));
	struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct nlattr *metrics;
	const struct nlattr *attr;

	rt->rtm_scope = r->scope;
	if (r->onlink)
		rt->rtm_flags |= RTNH_F_ONLINK;
	if (r->has_gateway)
		attr_addr_put(nlh, RTA_GATEWAY, rt->rtm_family, &r->gateway);
	if (r->has_source)
		attr_addr_put(nlh, RTA_PREFSRC, rt->rtm_family, &r->source);
	mnl_attr_put_u32(nlh, RTA_OIF, r->ifindex);
	metrics = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_MTU, r->mtu);
	mnl_attr_for_each_payload((const void *)r->metrics, r->metrics_len)
		mnl_attr_put(nlh, mnl_attr_get_type(attr), mnl_attr_get_payload_len(attr), mnl_attr_get_payload(attr));
	mnl_attr_nest_end(nlh, metrics);
	return nl_talk(nlh, NULL, NULL);
}

int route_remove(const struct peer_key *prefix, __u32 ifindex)
{
	char buf[MNL_NLMSG_HDRLEN + 256] = {};
	struct nlmsghdr *nlh = route_msg(buf, prefix, RTM_DELROUTE, 0);
	struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	int err;

	rt->rtm_scope = RT_SCOPE_NOWHERE;
	mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
	err = nl_talk(nlh, NULL, NULL);
	return err == -ESRCH ? 0 : err;
}

const char *route_hop_format(const struct route *r, char *buf)
{
	char text[PREFIX_STRLEN], name[IFNAMSIZ] = "";
	int n = 0;

	if_indextoname(r->ifindex, name);
	if (r->has_gateway)
		n += sprintf(buf, "via %s ", addr_format(&r->gateway, text));
	n += sprintf(buf + n, "dev %s", name);
	if (r->onlink)
		n += sprintf(buf + n, " onlink");
	if (r->has_source)
		sprintf(buf + n, " src %s", addr_format(&r->source, text));
	return buf;
}

const char *route_format(const struct peer_key *prefix, const struct route *r, char *buf)
{
	char text[PREFIX_STRLEN], hop[ROUTE_STRLEN];
	int n;

	n = sprintf(buf, "%s %s", prefix_format(prefix, text), route_hop_format(r, hop));
	/* What 'change' is not told is lost, and a route of another metric is another route. */
	if (r->protocol == RTPROT_KERNEL)
		n += sprintf(buf + n, " proto kernel");
	else if (r->protocol != RTPROT_BOOT)
		n += sprintf(buf + n, " proto %u", r->protocol);
	if (r->metric)
		n += sprintf(buf + n, " metric %u", r->metric);
	sprintf(buf + n, " mtu %u", r->mtu);
	return buf;
}

struct our_routes {
	__u32 ifindex;
	unsigned int n;
	struct peer_key prefix[1024];
};

static int our_routes_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct rtmsg *rt = mnl_nlmsg_get_payload(nlh);
	struct our_routes *o = data;
	struct peer_key key = {};
	const struct nlattr *a;
	__u32 ifindex = 0, table = rt->rtm_table;

	if (nlh->nlmsg_type != RTM_NEWROUTE || rt->rtm_protocol != ROUTE_PROTO || rt->rtm_flags & RTM_F_CLONED ||
	    rt->rtm_dst_len > (rt->rtm_family == AF_INET ? 32 : 128) ||
	    o->n == sizeof(o->prefix) / sizeof(o->prefix[0]))
		return MNL_CB_OK;
	mnl_attr_for_each(a, nlh, sizeof(*rt)) {
		if (mnl_attr_get_type(a) == RTA_OIF)
			ifindex = attr_u32(a);
		if (mnl_attr_get_type(a) == RTA_DST)
			key.addr = attr_addr(a, rt->rtm_family);
		if (mnl_attr_get_type(a) == RTA_TABLE)
			table = attr_u32(a);
	}
	if (ifindex != o->ifindex || table != RT_TABLE_MAIN)
		return MNL_CB_OK;
	key.prefixlen = rt->rtm_dst_len + (rt->rtm_family == AF_INET ? 96 : 0);
	o->prefix[o->n++] = key;
	return MNL_CB_OK;
}

int route_remove_ours(__u32 ifindex, int (*keep)(const struct peer_key *prefix, const void *ctx),
		      const void *ctx)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct our_routes *o = calloc(1, sizeof(*o));
	int err = 0, removed = 0;
	unsigned int i;

	if (!o)
		return -ENOMEM;
	o->ifindex = ifindex;
	for (i = 0; i < 2 && !err; i++)
		err = routes_dump(families[i], our_routes_cb, o);
	for (i = 0; i < o->n && !err; i++) {
		if (keep && keep(&o->prefix[i], ctx))
			continue;
		err = route_remove(&o->prefix[i], ifindex);
		removed += !err;
	}
	free(o);
	return err ?: removed;
}

/* --- PFC of NICs --- */

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

/* How many counters ethtool -S has. */
static __u32 ethtool_count(int fd, struct ifreq *ifr)
{
	union {
		struct ethtool_sset_info i;
		__u8 with_count[sizeof(struct ethtool_sset_info) + sizeof(__u32)];
	} e = { .i = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS } };

	ifr->ifr_data = (void *)&e;
	return ioctl(fd, SIOCETHTOOL, ifr) ? 0 : e.i.data[0];
}

/* Adds up, for there may be several of a name. Returns how many of the names were known. */
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
	count = ethtool_count(fd, &ifr);
	if (!count)
		goto close_fd;
	/* The kernel writes as many as there are by then: room for more, should a queue have come. */
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

int net_watch_open(void)
{
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_TC | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int net_change(__u16 type)
{
	switch (type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		/* One that goes down takes its IPv4 routes along, of which the kernel says nothing. */
		return NET_CHANGED_LINK | NET_CHANGED_ROUTE;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		return NET_CHANGED_ROUTE;
	default:
		return NET_CHANGED_QDISC;
	}
}

int net_watch_read(int fd)
{
	const struct nlmsghdr *nlh;
	char buf[16384];
	int changed = 0, left;
	ssize_t n;

	/* What changed is read anew from the kernel, so an overrun (ENOBUFS) is one more change. */
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
		if (n < 0)
			changed = NET_CHANGED_LINK | NET_CHANGED_ROUTE | NET_CHANGED_QDISC;
		left = n;
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			changed |= net_change(nlh->nlmsg_type);
	}
	return changed;
}

/* A struct of the kernel's, which may be longer or shorter than ours: what it lacks is 0. */
static void attr_struct(const struct nlattr *attr, void *to, size_t size)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memset(to, 0, size);
	memcpy(to, mnl_attr_get_payload(attr), len < size ? len : size);
}

static int load_link(const struct nlmsghdr *nlh, void *data)
{
	struct link_load *l = data;
	const struct nlattr *attr;
	struct rtnl_link_stats64 s;

	mnl_attr_for_each(attr, nlh, sizeof(struct ifinfomsg)) {
		if (mnl_attr_get_type(attr) != IFLA_STATS64)
			continue;
		attr_struct(attr, &s, sizeof(s));
		l->tx_bytes = s.tx_bytes;
		l->rx_bytes = s.rx_bytes;
	}
	return MNL_CB_OK;
}

static int load_qdisc(const struct nlmsghdr *nlh, void *data)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *nested;
	struct gnet_stats_queue q;
	struct link_load *l = data;

	if (tc->tcm_ifindex != (int)l->ifindex || tc->tcm_parent != TC_H_ROOT)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(*tc)) {
		if (mnl_attr_get_type(attr) != TCA_STATS2)
			continue;
		mnl_attr_for_each_nested(nested, attr) {
			if (mnl_attr_get_type(nested) != TCA_STATS_QUEUE)
				continue;
			attr_struct(nested, &q, sizeof(q));
			l->backlog_bytes = q.backlog;
			l->drops = q.drops;
		}
	}
	return MNL_CB_OK;
}

int link_load_get(__u32 ifindex, struct link_load *l)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *m;
	int err;

	memset(l, 0, sizeof(*l));
	l->ifindex = ifindex;
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifi_index = ifindex;
	err = nl_talk(nlh, load_link, l);
	return err ?: qdisc_dump(load_qdisc, l);
}

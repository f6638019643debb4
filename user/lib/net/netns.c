// SPDX-License-Identifier: GPL-2.0-only
/* Other network namespaces, by the number that this one has for each: no process has to enter them. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include "lib/netns.h"
#include "lib/net/netlink.h"
#include "lib/net/route.h"

static int netns_found(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;

	mnl_attr_for_each (attr, nlh, sizeof(struct rtgenmsg))
		if (mnl_attr_get_type(attr) == NETNSA_NSID)
			*(__s32 *)data = (__s32)attr_u32(attr);
	return MNL_CB_OK;
}

int netns_id(int fd, __s32 *id)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct rtgenmsg *m;
	int err;

	*id = NETNSA_NSID_NOT_ASSIGNED;
	nlh->nlmsg_type = RTM_GETNSID;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->rtgen_family = AF_UNSPEC;
	mnl_attr_put_u32(nlh, NETNSA_FD, fd);
	err = nl_talk(nlh, netns_found, id);
	return err ?: *id < 0 ? -ENOENT : 0;
}

struct address_ctx {
	__s32 id;
	void (*fn)(const struct sluice_addr *addr, void *ctx);
	void *ctx;
};

/* Not that of a peer, and no link-local one, which many namespaces have. */
static int address_found(const struct nlmsghdr *nlh, void *data)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *address = NULL, *local = NULL;
	const struct address_ctx *a = data;
	struct sluice_addr found;
	__s32 id = NETNSA_NSID_NOT_ASSIGNED;

	mnl_attr_for_each (attr, nlh, sizeof(*m)) {
		switch (mnl_attr_get_type(attr)) {
		case IFA_ADDRESS:
			address = attr;
			break;
		case IFA_LOCAL:
			local = attr;
			break;
		case IFA_TARGET_NETNSID:
			id = (__s32)attr_u32(attr);
			break;
		}
	}
	local = local ?: address;
	/* A kernel that did not understand the request answers with addresses of this namespace. */
	if (!local || id != a->id || m->ifa_scope >= RT_SCOPE_LINK)
		return MNL_CB_OK;
	found = attr_addr(local, m->ifa_family);
	a->fn(&found, a->ctx);
	return MNL_CB_OK;
}

static int addresses_dump(int family, struct address_ctx *a)
{
	char buf[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifaddrmsg *m;

	nlh->nlmsg_type = RTM_GETADDR;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	m->ifa_family = family;
	mnl_attr_put_u32(nlh, IFA_TARGET_NETNSID, a->id);
	return nl_talk_strict(nlh, address_found, a);
}

int netns_addresses(__s32 id, void (*fn)(const struct sluice_addr *addr, void *ctx), void *ctx)
{
	struct address_ctx a = { id, fn, ctx };
	int err = addresses_dump(AF_INET, &a), v6_err = addresses_dump(AF_INET6, &a);

	return err ?: v6_err;
}

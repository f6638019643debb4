// SPDX-License-Identifier: GPL-2.0-only
/*
 * A NIC that does PFC, to be preloaded into a program that asks for one: RTM_GETDCB and RTM_SETDCB of one interface are
 * answered here, as net/dcb/dcbnl.c does with a driver; all else goes to the kernel.
 *
 * usage: DCBNIC=FILE LD_PRELOAD=build/dcbnic.so PROGRAM...
 *	FILE has one line: NAME CAPABILITY ENABLED DCBX REFUSAL REQUESTS INDICATIONS
 *	ENABLED and DCBX in two hexadecimal digits; the driver changes the former
 *	REFUSAL: 0, 1: of what is set, by -EINVAL, 2: it is said to be done, and is not, or 3: of all, by -EBUSY
 *	REQUESTS, INDICATIONS: of priority 3
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct nic {
	char name[16];
	unsigned int capability, enabled, dcbx, refusal;
	unsigned long long requests, indications;
	int enabled_at; /* in the file */
};

/* The message that the next recvmsg() gives: an answer, and after that of RTM_SETDCB the ACK. */
static struct {
	int fd;
	unsigned int count, next;
	char message[2][512];
} queue = { .fd = -1 };

static int nic_read(struct nic *n)
{
	const char *path = getenv("DCBNIC");
	FILE *f = path ? fopen(path, "re") : NULL;
	int fields;

	if (!f)
		return 0;
	fields = fscanf(f, "%15s %u %n%x %x %u %llu %llu", n->name, &n->capability, &n->enabled_at, &n->enabled, &n->dcbx,
			&n->refusal, &n->requests, &n->indications);
	fclose(f);
	return fields == 7;
}

static int nic_write(const struct nic *n, unsigned int enabled)
{
	int fd = open(getenv("DCBNIC"), O_WRONLY | O_CLOEXEC);
	char text[3];

	if (n->refusal)
		return n->refusal == 1 ? -EINVAL : 0;
	snprintf(text, sizeof(text), "%02x", enabled & 0xff);
	if (pwrite(fd, text, 2, n->enabled_at) != 2)
		abort();
	close(fd);
	return 0;
}

static struct nlmsghdr *answer_begin(int fd, const struct nlmsghdr *asked, __u16 type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(queue.message[queue.count++]);
	struct sockaddr_nl self = {};
	socklen_t len = sizeof(self);

	getsockname(fd, (struct sockaddr *)&self, &len);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = type == NLMSG_ERROR ? NLM_F_CAPPED : asked->nlmsg_flags & ~NLM_F_REQUEST;
	nlh->nlmsg_seq = asked->nlmsg_seq;
	nlh->nlmsg_pid = self.nl_pid;
	return nlh;
}

static void answer_error(int fd, const struct nlmsghdr *asked, int error)
{
	struct nlmsghdr *nlh = answer_begin(fd, asked, NLMSG_ERROR);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = error;
	e->msg = *asked;
}

static void answer_get(int fd, const struct nlmsghdr *asked, const struct nic *n)
{
	struct ieee_pfc pfc = { .pfc_cap = n->capability, .pfc_en = n->enabled, .requests[3] = n->requests,
				.indications[3] = n->indications };
	struct nlmsghdr *nlh = answer_begin(fd, asked, RTM_GETDCB);
	struct dcbmsg *m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));
	struct nlattr *ieee;

	m->cmd = DCB_CMD_IEEE_GET;
	mnl_attr_put_strz(nlh, DCB_ATTR_IFNAME, n->name);
	ieee = mnl_attr_nest_start(nlh, DCB_ATTR_IEEE);
	mnl_attr_put(nlh, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc);
	mnl_attr_put(nlh, DCB_ATTR_IEEE_APP_TABLE, 0, NULL);
	mnl_attr_nest_end(nlh, ieee);
	mnl_attr_put_u8(nlh, DCB_ATTR_DCBX, n->dcbx);
}

static void answer_set(int fd, const struct nlmsghdr *asked, const struct nic *n, const struct ieee_pfc *pfc)
{
	struct nlmsghdr *nlh = answer_begin(fd, asked, RTM_SETDCB);
	struct dcbmsg *m = mnl_nlmsg_put_extra_header(nlh, sizeof(*m));

	m->cmd = DCB_CMD_IEEE_SET;
	mnl_attr_put_u8(nlh, DCB_ATTR_IEEE, nic_write(n, pfc->pfc_en));
	answer_error(fd, asked, 0);
}

static const struct nlattr *attr_find(const struct nlattr *in, const struct nlmsghdr *nlh, int type)
{
	const struct nlattr *a, *found = NULL;

	if (in)
		mnl_attr_for_each_nested(a, in) found = mnl_attr_get_type(a) == type ? a : found;
	else
		mnl_attr_for_each(a, nlh, sizeof(struct dcbmsg)) found = mnl_attr_get_type(a) == type ? a : found;
	return found;
}

/* Whether it was for the NIC. */
static int nic_asked(int fd, const void *buf, size_t len)
{
	const struct nlmsghdr *nlh = buf;
	const struct nlattr *name, *ieee;
	struct nic n;

	if (len < sizeof(*nlh) + sizeof(struct dcbmsg) || nlh->nlmsg_len != len ||
	    (nlh->nlmsg_type != RTM_GETDCB && nlh->nlmsg_type != RTM_SETDCB) || !nic_read(&n))
		return 0;
	name = attr_find(NULL, nlh, DCB_ATTR_IFNAME);
	if (!name || strcmp(mnl_attr_get_str(name), n.name))
		return 0;
	memset(&queue, 0, sizeof(queue));
	queue.fd = fd;
	if (n.refusal == 3) {
		answer_error(fd, nlh, -EBUSY);
		return 1;
	}
	if (nlh->nlmsg_type == RTM_GETDCB) {
		answer_get(fd, nlh, &n);
		return 1;
	}
	ieee = attr_find(NULL, nlh, DCB_ATTR_IEEE);
	ieee = ieee ? attr_find(ieee, nlh, DCB_ATTR_IEEE_PFC) : NULL;
	if (!ieee || mnl_attr_get_payload_len(ieee) != sizeof(struct ieee_pfc))
		abort();
	answer_set(fd, nlh, &n, mnl_attr_get_payload(ieee));
	return 1;
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_len)
{
	ssize_t (*next)(int, const void *, size_t, int, __CONST_SOCKADDR_ARG, socklen_t) = dlsym(RTLD_NEXT, "sendto");

	return nic_asked(fd, buf, len) ? (ssize_t)len : next(fd, buf, len, flags, to, to_len);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t (*next)(int, struct msghdr *, int) = dlsym(RTLD_NEXT, "recvmsg");
	const struct nlmsghdr *nlh;

	if (fd != queue.fd || queue.next == queue.count)
		return next(fd, m, flags);
	nlh = (const struct nlmsghdr *)queue.message[queue.next++];
	memcpy(m->msg_iov[0].iov_base, nlh, nlh->nlmsg_len);
	memset(m->msg_name, 0, m->msg_namelen);
	m->msg_flags = 0;
	return nlh->nlmsg_len;
}

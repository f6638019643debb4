// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers of the kernel by netlink: links, qdiscs, filters, routes and PFC of NICs. A socket that is none gives the
 * input as the answer, message by message or as it is, and what lies behind its end must not be read. libmnl is not
 * compiled with sanitizers, so its getters check here that the attribute has what is taken from it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/dcb.h"
#include "lib/net.h"
#include "lib/route.h"
#include "lib/netns.h"
#include "lib/qdisc.h"
#include "attach/port/nic.h"
#include "netlink_socket.h"
#include "said.h"

/* The socket; there is one at a time. */
static struct fuzz in;
static struct {
	struct nlmsghdr asked;
	char *buf;
	size_t size;
} nl;

uint8_t __wrap_mnl_attr_get_u8(const struct nlattr *a);
uint32_t __wrap_mnl_attr_get_u32(const struct nlattr *a);
uint64_t __wrap_mnl_attr_get_u64(const struct nlattr *a);
const char *__wrap_mnl_attr_get_str(const struct nlattr *a);
uint32_t __real_mnl_attr_get_u32(const struct nlattr *a);
uint64_t __real_mnl_attr_get_u64(const struct nlattr *a);
ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags);

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *s, const void *req, size_t bytes)
{
	(void)s;
	FUZZ_ASSERT(bytes >= sizeof(nl.asked));
	memcpy(&nl.asked, req, sizeof(nl.asked));
	FUZZ_ASSERT(nl.asked.nlmsg_len == bytes);
	return bytes;
}

/* A message with a header that fits, so that what is mutated is what is read. */
static size_t message_put(char *buf, size_t room)
{
	__u8 shape = fuzz_u8(&in);
	size_t n;
	const uint8_t *at = fuzz_rest(&in, fuzz_u16(&in) % 1024, &n);
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	__u16 type = nl.asked.nlmsg_type;

	if (room < sizeof(*nlh) + MNL_ALIGN(n))
		return 0;
	/* RTM_GET* asks, RTM_NEW* answers: two below. */
	type = (shape & 7) == 7 ? NLMSG_ERROR :
	       (shape & 7) == 6 ? NLMSG_DONE :
	       (shape & 7) == 5 ? fuzz_u8(&in) :
				  type - 2;
	*nlh = (struct nlmsghdr){
		.nlmsg_len = sizeof(*nlh) + n, .nlmsg_type = type, .nlmsg_seq = nl.asked.nlmsg_seq, .nlmsg_pid = PORT
	};
	if (nl.asked.nlmsg_flags & NLM_F_DUMP)
		nlh->nlmsg_flags = (shape & 8 ? 0 : NLM_F_MULTI) | (shape & 16 ? NLM_F_DUMP_INTR : 0);
	memset(buf + sizeof(*nlh), 0, MNL_ALIGN(n));
	memcpy(buf + sizeof(*nlh), at, n);
	return sizeof(*nlh) + MNL_ALIGN(n);
}

/* libmnl treats a length as signed, and takes 2^31 for a message that fits. No kernel sends that. */
static void lengths_mask(char *buf, size_t bytes)
{
	size_t at = 0;

	while (at + sizeof(struct nlmsghdr) <= bytes) {
		struct nlmsghdr *nlh = (struct nlmsghdr *)(buf + at);

		nlh->nlmsg_len &= 0x7fffffff;
		if (nlh->nlmsg_len < sizeof(*nlh))
			break;
		at += MNL_ALIGN((size_t)nlh->nlmsg_len);
	}
}

static ssize_t answer(void *buf, size_t size)
{
	size_t n, used = 0;
	__u8 messages;
	const uint8_t *at;

	ASAN_UNPOISON_MEMORY_REGION(buf, size);
	nl.buf = buf;
	nl.size = size;
	if (!in.left) {
		errno = EIO;
		return -1;
	}
	messages = fuzz_u8(&in) % 16;
	if (!messages) { /* as it is */
		at = fuzz_rest(&in, fuzz_u16(&in) % size, &n);
		memcpy(buf, at, n);
		used = n;
		lengths_mask(buf, used);
	}
	while (messages-- && (n = message_put((char *)buf + used, size - used)))
		used += n;
	used = used ?: 1; /* a socket gives no empty message */
	ASAN_POISON_MEMORY_REGION((char *)buf + (used + 7) / 8 * 8, size - (used + 7) / 8 * 8);
	return used;
}

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *s, void *buf, size_t size)
{
	(void)s;
	return answer(buf, size);
}

/* The memory of the buffer is used again. */
static void answer_end(void)
{
	if (nl.buf)
		ASAN_UNPOISON_MEMORY_REGION(nl.buf, nl.size);
	nl.buf = NULL;
}

int __wrap_mnl_socket_close(struct mnl_socket *s)
{
	(void)s;
	answer_end();
	return 0;
}

ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags)
{
	ssize_t n = answer(buf, size);

	(void)fd;
	(void)flags;
	if (n < 0)
		answer_end();
	return n;
}

uint8_t __wrap_mnl_attr_get_u8(const struct nlattr *a)
{
	FUZZ_ASSERT(mnl_attr_get_payload_len(a) >= 1);
	return *(const uint8_t *)mnl_attr_get_payload(a);
}

uint32_t __wrap_mnl_attr_get_u32(const struct nlattr *a)
{
	FUZZ_ASSERT(mnl_attr_get_payload_len(a) >= 4);
	return __real_mnl_attr_get_u32(a);
}

uint64_t __wrap_mnl_attr_get_u64(const struct nlattr *a)
{
	FUZZ_ASSERT(mnl_attr_get_payload_len(a) >= 8);
	return __real_mnl_attr_get_u64(a);
}

const char *__wrap_mnl_attr_get_str(const struct nlattr *a)
{
	const char *text = mnl_attr_get_payload(a);

	FUZZ_ASSERT(memchr(text, 0, mnl_attr_get_payload_len(a)));
	return text;
}

/* --- requests --- */

static volatile __u64 sink; /* the answer is read to its end */

static void pod(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx)
{
	(void)ctx;
	sink = ifindex + netnsid + master;
}

static void qdiscs(void)
{
	struct qdisc_found *list;
	int n = qdiscs_read(0, &list), i;

	FUZZ_ASSERT(!!list == (n > 0));
	for (i = 0; i < n; i++)
		sink = list[i].ifindex + list[i].parent + strlen(list[i].q.kind) + list[i].tbf_bps +
		       list[i].htb_default + list[i].q.options_len;
	free(list);
}

static void htb(void)
{
	enum htb_verdict verdict;
	__u64 bps;

	if (htb_default_get(2, 1 << 16, 0x10, &verdict, &bps))
		FUZZ_ASSERT(verdict == HTB_NONE);
	FUZZ_ASSERT(verdict < HTB_VERDICTS && !bps == (verdict != HTB_SHAPED) && bps <= 1000000000000ULL);
}

static void address(const struct sluice_addr *addr, void *ctx)
{
	(void)ctx;
	sink = addr->b[15];
}

static void route_met(__u32 ifindex, void *ctx)
{
	(void)ctx;
	FUZZ_ASSERT(ifindex);
}

static void our_route(const struct peer_key *prefix, const struct route *r, void *ctx)
{
	char text[ROUTE_STRLEN];

	(void)ctx;
	FUZZ_ASSERT(r->protocol == ROUTE_PROTO && r->ifindex);
	route_format(prefix, r, text);
	FUZZ_ASSERT(strlen(text) < sizeof(text));
}

static void covering(const struct peer_key *prefix, int only_ours)
{
	struct routes *rs = routes_new();
	const struct route_found *f;
	char text[ROUTE_STRLEN];
	struct route copy;
	__u32 table;

	FUZZ_ASSERT(rs && !routes_want(rs, prefix, RT_TABLE_MAIN) && !routes_want(rs, prefix, 1001));
	if (!routes_read(rs, only_ours)) {
		for (table = RT_TABLE_MAIN; table; table = table == RT_TABLE_MAIN ? 1001 : 0) {
			f = routes_find(rs, prefix, table);
			FUZZ_ASSERT(f);
			if (!f->best)
				continue;
			FUZZ_ASSERT(f->best->ifindex && f->best->metrics_len <= sizeof(f->best->metrics));
			route_format(prefix, f->best, text);
			FUZZ_ASSERT(strlen(text) < sizeof(text));
			copy = *f->best;
			FUZZ_ASSERT(route_is_alike(f->best, &copy));
			/* An accepted value goes back as it came. */
			route_add(prefix, f->best, 1);
		}
		routes_each_ours(rs, our_route, NULL);
	}
	routes_free(rs);
}

static int is_even(__u32 ifindex, const void *ctx)
{
	(void)ctx;
	return !(ifindex & 1);
}

static void stacked(void)
{
	struct link_below below;
	struct qdisc_info info;

	link_below_find(2, is_even, NULL, &below);
	FUZZ_ASSERT((below.has == LINK_HAS_NOT) == !below.which && (below.has == LINK_HAS_PARTLY) == !!below.missing);
	if (!qdisc_get(2, &info))
		sink = link_lacks_times(2, &info) + link_table(2);
}

static void nic(__u8 lossless)
{
	struct pfc_port v = { .flags = PFC_F_OBEY, .lossless = lossless }, was;
	struct msg_limit limit = {};
	struct pfc_nic n = {};
	int silent = 1, acts = lossless & 1;

	was = v;
	if (nic_plan("eth0", &v, acts)) {
		FUZZ_ASSERT(said_bytes);
		return;
	}
	FUZZ_ASSERT(v.lossless == was.lossless && (v.flags & PFC_F_NIC || v.flags == was.flags));
	FUZZ_ASSERT(!(v.flags & PFC_F_NIC_SET) || (acts && !(v.nic_set & v.nic_was ^ v.nic_was)));
	said_bytes = 0;
	if (nic_tell("eth0", &v))
		FUZZ_ASSERT(said_bytes);
	nic_follow("eth0", &v, acts, &n, &silent, &limit);
	said_bytes = 0;
	if (nic_restore("eth0", &v))
		FUZZ_ASSERT(said_bytes);
}

static void tree_check(struct qdisc_tree *t)
{
	FUZZ_ASSERT(memchr(t->root.kind, 0, sizeof(t->root.kind)) && memchr(t->child.kind, 0, sizeof(t->child.kind)));
	FUZZ_ASSERT(t->root.options_len <= QDISC_OPTIONS_MAX && t->child.options_len <= QDISC_OPTIONS_MAX);
	FUZZ_ASSERT(t->root.handle || !t->children);
	free(t);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	said_begin();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer_key prefix[2] = { { 104, { { [10] = 0xff, [11] = 0xff, [12] = 10 } } }, { 16, { { 0xfd } } } };
	struct qdisc_tree *tree;
	struct link_stack stack;
	struct link_load load;
	struct qdisc_info info;
	struct dcb d;
	int op, n;
	__s32 id;

	in = (struct fuzz){ data, size };
	said_bytes = 0;
	while ((op = fuzz_op(&in, 12)) >= 0) {
		switch (op) {
		case 0:
			links_behind(pod, NULL);
			netns_id(0, &id);
			netns_addresses(1, address, NULL);
			break;
		case 1:
			qdisc_get(2, &info);
			FUZZ_ASSERT(memchr(info.root, 0, sizeof(info.root)) && info.fq <= info.leaves);
			if (!qdisc_tree_get(2, &tree))
				tree_check(tree);
			break;
		case 2:
			qdiscs();
			htb();
			break;
		case 3:
			n = filters_count(2);
			FUZZ_ASSERT(n <= 100000);
			break;
		case 4:
		case 5:
			covering(&prefix[op - 4], 0);
			break;
		case 6:
			routes_meeting(prefix, 2, route_met, NULL);
			break;
		case 7:
			route_remove_ours(2);
			covering(&prefix[0], 1);
			break;
		case 8:
			link_stack_get(2, &stack);
			stacked();
			break;
		case 9:
			link_load_get(2, &load);
			FUZZ_ASSERT(load.ifindex == 2);
			break;
		case 10:
			n = net_watch_read(-1);
			FUZZ_ASSERT(!(n & ~(NET_CHANGED_LINK | NET_CHANGED_ROUTE | NET_CHANGED_QDISC)));
			break;
		case 11:
			if (!link_dcb_get("eth0", &d))
				dcb_judge(&d, 8);
			nic(fuzz_u8(&in));
			break;
		}
	}
	return 0;
}

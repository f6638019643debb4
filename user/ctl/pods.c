// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pods of this machine by name.
 *
 *  1. The sandboxes of container runtimes have names and network namespaces. The kernel says the number of each
 *     namespace, which a veth of ours has too (IFLA_LINK_NETNSID), and the addresses in it.
 *  2. A flow's packets enter this machine by the veth of their pod, or by a bridge that several pods share. So the veth
 *     decides, and the local address where there is none. An address that two pods have names neither.
 *
 * Everything is read when a command runs, so nothing has to be kept up to date.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ctl/out.h"
#include "ctl/pods.h"
#include "lib/net.h"
#include "lib/netns.h"

#define PODS_AGE_NS (5 * NSEC_PER_SEC) /* they are not read again before */
#define PODS_SHARE 20		       /* and reading takes no more than this part of the time */

const char *show_bundles_dir;

const char *const *pods_dirs(void)
{
	static const char *given[2];

	given[0] = show_bundles_dir;
	return show_bundles_dir ? given : sandbox_dirs;
}

/* --- reading --- */

/* Makes room for one more entry; NULL: there is no memory. */
static void *more(void *list, unsigned int n, unsigned int *room, size_t size)
{
	if (n < *room)
		return list;
	list = realloc(list, (*room ? 2 * *room : 64) * size);
	if (list)
		*room = *room ? 2 * *room : 64;
	return list;
}

static void pod_add(const struct sandbox *s, void *ctx)
{
	struct pods *p = ctx;
	int fd = open(s->netns, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), err;
	struct pod *list;
	__s32 id;

	err = fd < 0 ? -errno : netns_id(fd, &id);
	if (fd >= 0)
		close(fd);
	if (err) {
		/* -ENOENT of the second is a namespace without a number: no link of ours leads there. */
		if (fd >= 0 && err == -ENOENT)
			p->apart++;
		else
			p->gone++;
		return;
	}
	list = more(p->pod, p->n, &p->room, sizeof(*list));
	if (!list)
		return;
	p->pod = list;
	list += p->n++;
	list->netnsid = id;
	memcpy(list->name, s->name, sizeof(list->name));
	memcpy(list->namespace, s->namespace, sizeof(list->namespace));
}

static void pod_veth_add(__u32 ifindex, __s32 netnsid, __u32 master, void *ctx)
{
	struct pods *p = ctx;
	struct pod_veth *list = more(p->veth, p->veths, &p->veths_room, sizeof(*list));

	(void)master;
	if (!list)
		return;
	p->veth = list;
	list[p->veths++] = (struct pod_veth){ .ifindex = ifindex, .netnsid = netnsid };
}

struct addresses_ctx {
	struct pods *p;
	const struct pod *pod;
};

static void pod_address_add(const struct sluice_addr *addr, void *ctx)
{
	struct addresses_ctx *a = ctx;
	struct pods *p = a->p;
	struct pod_address *list = more(p->address, p->addresses, &p->addresses_room, sizeof(*list));

	if (!list)
		return;
	p->address = list;
	list[p->addresses++] = (struct pod_address){ *addr, a->pod };
}

static int by_netns(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;
	int order = x->netnsid < y->netnsid ? -1 : x->netnsid > y->netnsid;

	return order ?: strcmp(x->namespace, y->namespace) ?: strcmp(x->name, y->name);
}

static int by_netns_alone(const void *key, const void *b)
{
	__s32 x = *(const __s32 *)key, y = ((const struct pod *)b)->netnsid;

	return x < y ? -1 : x > y;
}

static int by_ifindex(const void *a, const void *b)
{
	__u32 x = ((const struct pod_veth *)a)->ifindex, y = ((const struct pod_veth *)b)->ifindex;

	return x < y ? -1 : x > y;
}

static int by_address(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sluice_addr));
}

static int port_here(__u32 ifindex, const struct port *port, void *ctx)
{
	__u64 *own = ctx;

	(void)ifindex;
	own[1]++;
	return port->netns_cookie == own[0];
}

/* Whether the interfaces of the pins are in another network namespace: numbers of interfaces mean others there. */
static int pods_elsewhere(const struct pins *pins)
{
	__u64 own[2] = {};
	struct link_info lo;

	if (!pins || link_get("lo", &lo))
		return 0;
	own[0] = lo.netns_cookie;
	return !pins_each_port(pins, port_here, own) && own[1];
}

/*
 * Removes the pods to which no link leads, and notes the links of the others. If the list of links may lack some, every
 * pod stays.
 */
static void pods_link(struct pods *p)
{
	unsigned int i, n = 0;
	char *linked = calloc(p->n ?: 1, 1);
	const struct pod *pod;

	for (i = 0; linked && i < p->veths; i++) {
		pod = p->n ? bsearch(&p->veth[i].netnsid, p->pod, p->n, sizeof(*pod), by_netns_alone) : NULL;
		if (pod)
			linked[pod - p->pod] = 1;
	}
	for (i = 0; linked && i < p->n; i++) {
		if (linked[i] || p->links_err)
			p->pod[n++] = p->pod[i];
		else
			p->apart++;
	}
	p->n = n;
	free(linked);
	for (i = 0; i < p->veths && n; i++)
		p->veth[i].pod = bsearch(&p->veth[i].netnsid, p->pod, n, sizeof(*pod), by_netns_alone);
}

/* The error that calls for something other than another try is kept. */
static void pod_addresses_read(struct pods *p, const struct pod *pod)
{
	struct addresses_ctx a = { p, pod };
	int err = netns_addresses(pod->netnsid, pod_address_add, &a);

	if (!err)
		return;
	p->unreached++;
	if (!p->unreached_err || p->unreached_err == -EINTR)
		p->unreached_err = err;
}

static void pods_read_now(struct pods *p)
{
	unsigned int i;

	sandboxes_each(pods_dirs(), pod_add, p, &p->seen);
	if (!p->n)
		return;
	qsort(p->pod, p->n, sizeof(*p->pod), by_netns);
	p->links_err = links_behind(pod_veth_add, p);
	if (p->veths)
		qsort(p->veth, p->veths, sizeof(*p->veth), by_ifindex);
	pods_link(p);
	for (i = 0; i < p->n; i++)
		pod_addresses_read(p, &p->pod[i]);
	if (p->addresses)
		qsort(p->address, p->addresses, sizeof(*p->address), by_address);
}

void pods_read(struct pods *p, const struct pins *pins)
{
	__u64 from = now_ns(), to;

	if (from < p->next_ns)
		return;
	pods_free(p);
	p->elsewhere = pods_elsewhere(pins);
	if (!p->elsewhere)
		pods_read_now(p);
	to = now_ns();
	p->next_ns = to + (PODS_AGE_NS > PODS_SHARE * (to - from) ? PODS_AGE_NS : PODS_SHARE * (to - from));
	msg_debug("pods: %u by name; in the network namespace of the node: %u; without a link to it: %u; gone: %u; "
		  "other containers: %u; malformed: %u; too large: %u; unreadable: %u; beyond the limit: %u; "
		  "without their addresses: %u; links: %s",
		  p->n, p->seen.host, p->apart, p->gone, p->seen.other, p->seen.malformed, p->seen.large,
		  p->seen.unreadable, p->seen.beyond, p->unreached, strerror(-p->links_err));
}

void pods_free(struct pods *p)
{
	free(p->pod);
	free(p->veth);
	free(p->address);
	memset(p, 0, sizeof(*p));
}

/* --- finding --- */

static const struct pod_veth *veth_find(const struct pods *p, __u32 ifindex)
{
	struct pod_veth key = { .ifindex = ifindex };

	return p->veths ? bsearch(&key, p->veth, p->veths, sizeof(key), by_ifindex) : NULL;
}

const struct pod *pods_find_link(const struct pods *p, __u32 ifindex)
{
	const struct pod_veth *v = veth_find(p, ifindex);

	return v ? v->pod : NULL;
}

static const struct pod *pods_find_address(const struct pods *p, const struct sluice_addr *addr)
{
	const struct pod_address *end = p->address + p->addresses, *at, *a;

	at = p->addresses ? bsearch(addr, p->address, p->addresses, sizeof(*at), by_address) : NULL;
	if (!at)
		return NULL;
	while (at > p->address && !by_address(at - 1, addr))
		at--;
	for (a = at; a < end && !by_address(a, addr); a++)
		if (a->pod != at->pod)
			return NULL;
	return at->pod;
}

const struct pod *pods_find_flow(const struct pods *p, const struct flow_key *k, const struct flow *f)
{
	const struct pod_veth *v = f->tx.source ? veth_find(p, f->tx.source) : NULL;

	return v ? v->pod : pods_find_address(p, &k->local);
}

/* --- printing --- */

const char *pod_format(const struct pod *pod, char *buf)
{
	snprintf(buf, POD_STRLEN, "%s/%s", pod->namespace, pod->name);
	return buf;
}

void pod_json(const struct pod *pod)
{
	if (!pod)
		return;
	out_string("pod", pod->name);
	out_string("namespace", pod->namespace);
}

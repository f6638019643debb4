// SPDX-License-Identifier: GPL-2.0-only
/*
 * From configuration to attached programs, and back.
 *
 *  1. The pin directory is the state that survives the daemon: maps, the struct_ops map, and (before
 *     Linux 6.2, with ports that stamp) the tracepoint links. What cannot be derived from the kernel is in the control and
 *     ports maps: who made the clsact qdisc, what the default congestion control was.
 *  2. Filters are attached under one fixed handle and priority, so attaching replaces what an earlier
 *     daemon left, without a gap, and detaching removes nothing but ours.
 *  3. The struct_ops map of an earlier daemon is kept under its name: it reads the same pinned maps. Of another version
 *     (adopt.c) it is replaced.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if_arp.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "dataplane_int.h"
#include "net.h"
#include "nic.h"
#include "sluice/intmd.h"
#include "sluice/wire.h"
#include "sluice.skel.h"

#define DP_LINGER_NS (300 * 1000 * 1000) /* three times the silence after which peers go plain */
#define DP_BPFFS_MAGIC 0xcafe4a11
#define DP_CLOSED_NS (5 * NSEC_PER_SEC)
#define DP_CROWDED_NS (1000 * 1000 * 1000ULL)

/* --- filters --- */

int filter_set(__u32 ifindex, enum bpf_tc_attach_point where, int prog_fd)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY,
			    .prog_fd = prog_fd, .flags = BPF_TC_F_REPLACE);

	return bpf_tc_attach(&hook, &opts);
}

int filter_remove(__u32 ifindex, enum bpf_tc_attach_point where)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = where);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = DP_TC_HANDLE, .priority = DP_TC_PRIORITY);

	return bpf_tc_detach(&hook, &opts);
}

int clsact_make(__u32 ifindex, int *made)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
			    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int err = bpf_tc_hook_create(&hook);

	*made = !err;
	return err == -EEXIST ? 0 : err;
}

static void clsact_remove(__u32 ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
			    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);

	/* Somebody may have hung filters of their own into the qdisc that we made. */
	if (filters_count(ifindex) == 0)
		bpf_tc_hook_destroy(&hook);
}

/* --- routes: room for telemetry --- */

#define ROUTE_V6_MIN 1280 /* RFC 8200, section 5 */

static int peer_is_v4(const struct config_peer *p)
{
	return addr_is_v4(&p->key.addr) && p->key.prefixlen >= 96;
}

static unsigned int route_room(const struct config *c, const struct config_peer *p)
{
	unsigned int outer = peer_is_v4(p) ? 20 : 40;

	return (config_peer_encoding(c, p) == ENCODING_INT_MD ? INTMD_OVERHEAD_BYTES(outer) :
								WIRE_OVERHEAD_BYTES(outer)) +
	       (config_peer_hiercc(c, p) ? WIRE_VOQ_BYTES : 0) + (c->keys.n ? WIRE_AUTH_BYTES : 0);
}

/* IPv6 wants 1280 bytes of every path; at an MTU of 1500 that leaves room for INT-MD of two or three hops. */
static unsigned int route_fits(const struct config *c, const struct config_peer *p, unsigned int mtu)
{
	unsigned int fits = mtu - route_room(c, p);

	return !peer_is_v4(p) && fits < ROUTE_V6_MIN && mtu > ROUTE_V6_MIN ? ROUTE_V6_MIN : fits;
}

/* Does the route have another MTU than telemetry wants? Then r has that, and have what it had. */
static int route_shrinks(const struct config *c, const struct config_peer *p, const struct link_info *link,
			 struct route *r, unsigned int *have)
{
	unsigned int fits = route_fits(c, p, link->mtu);

	*have = r->mtu ?: link->mtu;
	/* Ours may also be too small: the interface's MTU was raised. */
	if (*have == fits || (*have < fits && r->protocol != ROUTE_PROTO))
		return 0;
	r->mtu = fits;
	return 1;
}

static const char *route_has_no_room(const struct config *c, const struct config_peer *p, const struct link_info *link,
				     unsigned int have, char *buf)
{
	char text[PREFIX_STRLEN];

	snprintf(buf, ROUTE_STRLEN, "the route to %s has MTU %u; telemetry needs %u bytes of %u",
		 prefix_format(&p->key, text), have, route_room(c, p), link->mtu);
	return buf;
}

int dataplane_route_refused(const struct config *c, const struct config_peer *p, const struct link_info *link,
			    struct route *r, char *why)
{
	unsigned int have;

	if (!r->exact || r->protocol == ROUTE_PROTO || !route_shrinks(c, p, link, r, &have))
		return 0;
	route_has_no_room(c, p, link, have, why);
	return 1;
}

/* Gives the prefix a route whose MTU leaves room, if it leaves by this interface. */
static int route_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c,
			 const struct config_peer *p)
{
	char text[PREFIX_STRLEN], why[ROUTE_STRLEN], change[ROUTE_STRLEN];
	unsigned int have;
	struct route r;
	int err = route_covering(&p->key, &r);

	prefix_format(&p->key, text);
	if (err == -ENETUNREACH) {
		msg_limited(&dp->route_limit, 60,
			    "%s: no single route covers %s: none is added; where routes within it have an MTU above %u, large packets go without telemetry (tx_mtu)",
		    link->name, text, route_fits(c, p, link->mtu));
		return 0;
	}
	if (err) {
		msg("%s: reading the routes: %s", link->name, strerror(-err));
		return err;
	}
	if (r.ifindex != link->ifindex)
		return 0; /* not by this interface: nothing to prepare */
	if (!route_shrinks(c, p, link, &r, &have))
		return 0;
	err = r.exact && r.protocol != ROUTE_PROTO ? -EEXIST : route_add(&p->key, &r);
	if (err == -EEXIST) {
		msg_limited(&dp->route_limit, 60, "%s: %s: run 'ip route change %s'", link->name,
			    route_has_no_room(c, p, link, have, why), route_format(&p->key, &r, change));
		return -EMSGSIZE;
	}
	if (err) {
		msg_limited(&dp->route_limit, 60, "%s: adding a route to %s with MTU %u: %s", link->name,
			    text, r.mtu, strerror(-err));
		return err;
	}
	msg_info("%s: route to %s: MTU %u -> %u, to leave room for telemetry", link->name, text, have, r.mtu);
	return 0;
}

static int routes_prepare(struct dataplane *dp, const struct link_info *link,
			  const struct config *c)
{
	unsigned int k;
	int err;

	for (k = 0; k < c->peers_count; k++) {
		err = route_prepare(dp, link, c, &c->peers[k]);
		if (err)
			return err;
	}
	return 0;
}

static int route_is_wanted(const struct peer_key *prefix, const void *ctx)
{
	const struct config *c = ctx;
	unsigned int k;

	for (k = 0; k < c->peers_count; k++)
		if (!memcmp(prefix, &c->peers[k].key, sizeof(*prefix)))
			return 1;
	return 0;
}

/* --- ports --- */

/* The classes of a port are no more than n. */
static void classes_forget(struct dataplane *dp, __u32 ifindex, __u32 n)
{
	struct class_key key = { .ifindex = ifindex, .class = n };

	if (!n)
		bpf_map_delete_elem(dp->pins.classes, &ifindex);
	for (; key.class < CLASSES_MAX; key.class ++)
		bpf_map_delete_elem(dp->pins.class_queues, &key);
}

/* Tells the data plane of the classes of a port; a queue that is known keeps its state. */
static int classes_apply(struct dataplane *dp, const struct config_interface *i, __u32 ifindex,
			 const struct port *port)
{
	static const struct class_queue empty;
	struct port_classes v = { .netns_cookie = port->netns_cookie };
	struct class_key key = { .ifindex = ifindex };

	classes_forget(dp, ifindex, i->classes_count);
	if (!i->classes_count)
		return 0;
	config_classes_value(i, port->speed_bps, &v);
	for (; key.class < v.n; key.class ++) {
		if (bpf_map_update_elem(dp->pins.class_queues, &key, &empty, BPF_NOEXIST) && errno != EEXIST)
			return -errno;
	}
	return bpf_map_update_elem(dp->pins.classes, &ifindex, &v, BPF_ANY) ? -errno : 0;
}

void port_remove(struct dataplane *dp, __u32 ifindex, const struct port *port)
{
	int pauses = ppfc_port_forget(&dp->pins, ifindex);

	filter_remove(ifindex, BPF_TC_EGRESS);
	if (port->flags & PORT_F_HOST) {
		xdp_remove(ifindex, map_id(dp->pins.stats));
		filter_remove(ifindex, BPF_TC_INGRESS);
		route_remove_ours(ifindex, NULL, NULL);
	}
	if (port->flags & PORT_F_VOQ_UP || (port->flags & PORT_F_SWITCH && pauses))
		filter_remove(ifindex, BPF_TC_INGRESS);
	if (port->flags & PORT_F_OUR_CLSACT)
		clsact_remove(ifindex);
	bpf_map_delete_elem(dp->pins.ports, &ifindex);
	classes_forget(dp, ifindex, 0);
}

/* Fills in a port from configuration and kernel; -errno with a message when it cannot be used. */
static int port_describe(const struct config *c, const struct config_interface *i,
			 const struct link_info *link, struct port *port)
{
	struct qdisc_info q;
	int err = qdisc_get(link->ifindex, &q);

	if (err) {
		msg("%s: reading the qdiscs: %s", i->name, strerror(-err));
		return err;
	}
	if (link->type != ARPHRD_ETHER) {
		msg("%s: is not an Ethernet device: name one that is", i->name);
		return -EOPNOTSUPP;
	}
	if (q.ingress) {
		msg("%s: has a qdisc 'ingress' where clsact has to be, which can do the same: 'tc qdisc del dev %s ingress', 'tc qdisc add dev %s clsact', and add its filters again",
		    i->name, i->name, i->name);
		return -EBUSY;
	}
	port->speed_bps = i->speed_bps ? i->speed_bps : link->speed_bps;
	if (!port->speed_bps) {
		msg("%s: the driver does not know the speed: write 'speed: 25Gbit' for this interface",
		    i->name);
		return -EINVAL;
	}
	port->speed = telem_speed_fit(port->speed_bps);
	port->mtu = link->mtu;
	port->switch_id = i->id;
	port->flags = i->role | i->voqs;
	port->count_ns = config_count_ns(c);
	if (config_is_uplink(c, i->name)) {
		port->flags |= PORT_F_STAMP;
		port->switch_id = c->node.id;
	}
	memcpy(port->name, link->name, sizeof(port->name));
	port->netns_cookie = link->netns_cookie;
	if (q.leaves && q.fq == q.leaves)
		port->flags |= PORT_F_EDT;
	if (i->classes_count)
		port->flags |= PORT_F_CLASSES;
	/* Below mq each queue has classes, and a backlog, of its own. */
	if (q.unreadable || ((i->classes_count || (i->role == PORT_F_SWITCH && i->pfc)) &&
			     (!strcmp(q.root, "mq") || !strcmp(q.root, "mqprio"))))
		port->flags |= PORT_F_NO_QUEUE;
	return 0;
}

/* by_nic: its NIC obeys pauses. */
static void port_advise(const struct config_interface *i, const struct port *port, int by_nic)
{
	struct link_info link;
	struct qdisc_info q;

	if (link_get(i->name, &link) || qdisc_get(link.ifindex, &q))
		return;
	if (port->flags & PORT_F_CLASSES && port->flags & PORT_F_NO_QUEUE) {
		msg("%s: classes need one root qdisc with a queue for each, and it is %s: packets pass without its stamp; to mend: see 'A port with several queues' in docs/configuration.md",
		    i->name, q.root[0] ? q.root : "none as long as it is down");
		return;
	}
	if (i->role == PORT_F_HOST && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): departure times are not honoured there, TCP sockets pace themselves; to mend: tc qdisc replace dev %s root fq",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
	if (i->pfc && i->role == PORT_F_SWITCH && port->flags & PORT_F_NO_QUEUE) {
		msg("%s: pfc needs one root qdisc whose length can be read, and it is %s: what waits there is not counted, and its neighbour is not paused; to mend: tc qdisc replace dev %s root fq (or tbf, htb)",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
		return;
	}
	if (i->pfc && !by_nic && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): pauses of its neighbour are counted and hold nothing (pfc_unheld); to mend: tc qdisc replace dev %s root fq, or with fq below tbf or htb",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
	if (port->flags & PORT_F_VOQ_UP && !(port->flags & PORT_F_EDT))
		msg("%s: not every leaf of its qdiscs is fq (root: %s): VOQs are filled in there and hold nothing; to mend: tc qdisc replace dev %s root fq",
		    i->name, q.root[0] ? q.root : "none as long as it is down", i->name);
	if (port->flags & (PORT_F_SWITCH | PORT_F_STAMP) && port->flags & PORT_F_NO_QUEUE)
		msg("%s: the queue of %s cannot be read: packets pass without its stamp; to mend: tc qdisc replace dev %s root fq (or tbf, htb)",
		    i->name, q.root, i->name);
}

/* What takes in what comes by a switch port; NULL: nothing has to. */
static struct bpf_program *switch_ingress(struct dataplane *dp, const struct config_interface *i)
{
	return i->voqs == PORT_F_VOQ_UP ? dp->of[SET_VOQS]->progs.tor :
	       i->pfc			? dp->of[SET_PFC]->progs.pfc :
					  NULL;
}

static int port_add(struct dataplane *dp, const struct config *c, const struct config_interface *i)
{
	struct port port = {}, old = {};
	struct pfc_port pauses;
	struct bpf_program *in;
	struct sluice_bpf *s;
	struct link_info link;
	int err, made = 0, had, had_pauses;

	err = link_get(i->name, &link);
	if (err) {
		msg("%s: no such interface: %s", i->name, strerror(-err));
		return err;
	}
	err = port_describe(c, i, &link, &port);
	if (err)
		return err;
	dp->known[i - c->interfaces].ifindex = link.ifindex;
	snprintf(dp->known[i - c->interfaces].name, IFNAMSIZ, "%s", i->name);
	had = !bpf_map_lookup_elem(dp->pins.ports, &link.ifindex, &old);
	if (had && (old.flags & (PORT_F_HOST | PORT_F_SWITCH | PORT_F_POD)) != i->role) {
		port_remove(dp, link.ifindex, &old);
		had = 0;
	}
	if (i->role == PORT_F_HOST) {
		/* Once attached, what finds no room is passed plainly, and the rest has to go on. */
		err = routes_prepare(dp, &link, c);
		if (err && !had)
			goto remove;
		if (had)
			route_remove_ours(link.ifindex, route_is_wanted, c);
	}
	err = clsact_make(link.ifindex, &made);
	if (err) {
		msg("%s: adding the clsact qdisc: %s", i->name, strerror(-err));
		goto remove;
	}
	if (made || (had && old.flags & PORT_F_OUR_CLSACT))
		port.flags |= PORT_F_OUR_CLSACT;
	port.backlog_bytes = old.backlog_bytes;
	port.tx_bytes = old.tx_bytes;
	port.unseen_bytes = old.unseen_bytes;
	port.count = old.count;
	err = classes_apply(dp, i, link.ifindex, &port);
	if (err) {
		msg("%s: the maps of classes: %s", i->name, strerror(-err));
		goto remove;
	}
	if (bpf_map_update_elem(dp->pins.ports, &link.ifindex, &port, BPF_ANY)) {
		err = -errno;
		msg("%s: the ports map: %s", i->name, strerror(-err));
		goto remove;
	}
	had_pauses = !bpf_map_lookup_elem(dp->pins.pfc_ports, &link.ifindex, &pauses);
	err = ppfc_port_set(&dp->pins, c, i, &link, &port);
	if (err)
		goto remove;
	/* Ingress first: once egress asks peers whether they strip, so must we. */
	if (i->role == PORT_F_HOST) {
		s = dp->of[SET_HOST];
		err = filter_set(link.ifindex, BPF_TC_INGRESS, bpf_program__fd(s->progs.ingress));
		if (!err)
			err = filter_set(link.ifindex, BPF_TC_EGRESS, bpf_program__fd(s->progs.egress));
	} else {
		s = dp->of[SET_SWITCH];
		in = switch_ingress(dp, i);
		if (in)
			err = filter_set(link.ifindex, BPF_TC_INGRESS, bpf_program__fd(in));
		else if (old.flags & PORT_F_VOQ_UP || had_pauses)
			filter_remove(link.ifindex, BPF_TC_INGRESS);
		if (!err)
			err = filter_set(link.ifindex, BPF_TC_EGRESS,
					 bpf_program__fd(s->rodata->qdisc_kfuncs ? s->progs.hop : s->progs.hop_map));
	}
	if (err) {
		msg("%s: attaching the filter: %s", i->name, strerror(-err));
		goto remove;
	}
	if (i->role == PORT_F_HOST) {
		port.flags |= xdp_apply(dp, c, i, &link, !had);
		bpf_map_update_elem(dp->pins.ports, &link.ifindex, &port, BPF_EXIST);
	}
	if (!had)
		port_advise(i, &port, ppfc_port_by_nic(&dp->pins, link.ifindex));
	return 0;
remove:
	if (!had) {
		if (made)
			port.flags |= PORT_F_OUR_CLSACT;
		port_remove(dp, link.ifindex, &port);
	}
	return err;
}

/* --- control map --- */

static void epoch_next(struct dataplane *dp, const struct config *c)
{
	struct control *ctl = dp->pins.ctl;

	ctl->mode = c->mode;
	ctl->rwnd = !c->tcp.receive_window || *c->tcp.receive_window;
	ctl->horizon_ns = c->horizon_ns;
	ctl->horizon_mark = c->pacing.mark;
	ctl->epoch++;
	ctl->pid = getpid();
	ctl->heartbeat_ns = now_ns();
}

static __u64 realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/*
 * The configuration's keys, in the slot that is not in use. A new daemon has slots of its own: it takes
 * the number that is in use, for the programs of the one before read that, too.
 */
static int keys_apply(struct dataplane *dp, const struct config *c)
{
	struct control *ctl = dp->pins.ctl;
	__u64 now = now_ns(), real = realtime_ns();
	__u32 slot = 0;

	if (real > now && real - now > ctl->seq_base_ns)
		ctl->seq_base_ns = real - now;
	if (!c->keys.n) {
		ctl->auth = 0;
		return 0;
	}
	if (ctl->auth)
		slot = (ctl->auth - 1) ^ !!dp->running;
	if (bpf_map_update_elem(bpf_map__fd(dp->skel->maps.keys), &slot, &c->keys, BPF_ANY)) {
		msg("the map of the keys: %s", strerror(errno));
		return -errno;
	}
	__atomic_store_n(&ctl->auth, slot + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Makes the peers map say what the configuration says. */
static int peers_apply(struct dataplane *dp, const struct config *c)
{
	struct peer_key key, next;
	unsigned int k;
	int more;

	for (k = 0; k < c->peers_count; k++) {
		struct peer v = config_peer_value(c, &c->peers[k]);

		if (bpf_map_update_elem(dp->pins.peers, &c->peers[k].key, &v, BPF_ANY)) {
			msg("peers: %s: %s", c->peers[k].prefix_text, strerror(errno));
			return -errno;
		}
	}
	more = !bpf_map_get_next_key(dp->pins.peers, NULL, &next);
	while (more) {
		key = next;
		more = !bpf_map_get_next_key(dp->pins.peers, &key, &next);
		for (k = 0; k < c->peers_count; k++)
			if (!memcmp(&key, &c->peers[k].key, sizeof(key)))
				break;
		if (k == c->peers_count)
			bpf_map_delete_elem(dp->pins.peers, &key);
	}
	return 0;
}

/* --- load --- */

static char libbpf_reason[512];

/*
 * libbpf talks a lot; it is heard one level lower. Of what it says the first complaint of the
 * verifier is kept, the line in front of its summary, to be the reason when a load fails.
 */
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text, *line, *rest, *before = "";

	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		msg_debug("%s", line);
		if (!strncmp(line, "processed ", 10) && !libbpf_reason[0])
			snprintf(libbpf_reason, sizeof(libbpf_reason), "%.511s", before);
		before = line;
	}
	free(text);
	return 0;
}

static int pin_dir_lock(struct dataplane *dp, const char *dir)
{
	struct statfs fs;
	int err;

	if (strlen(dir) >= sizeof(dp->pin_dir))
		return -ENAMETOOLONG;
	strcpy(dp->pin_dir, dir);
	if (statfs("/sys/fs/bpf", &fs) || (__u32)fs.f_type != DP_BPFFS_MAGIC) {
		msg("/sys/fs/bpf is not a BPF file system: mount -t bpf bpf /sys/fs/bpf");
		return -ENOENT;
	}
	if (mkdir(dir, 0700) && errno != EEXIST) {
		err = -errno;
		msg("%s: %s", dir, strerror(-err));
		return err;
	}
	dp->lock_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dp->lock_fd < 0)
		return -errno;
	if (flock(dp->lock_fd, LOCK_EX | LOCK_NB)) {
		msg("%s: another sluiced works there: stop it, or give this one another pin_dir", dir);
		return -EBUSY;
	}
	return 0;
}

static int kernel_btf_has(const char *name, __u32 kind)
{
	struct btf *btf;
	int id;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return -ENOENT;
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return -errno;
	id = btf__find_by_name_kind(btf, name, kind);
	btf__free(btf);
	return id > 0;
}

int kernel_has_kfunc(void)
{
	return kernel_btf_has("bpf_cast_to_kern_ctx", BTF_KIND_FUNC);
}

int kernel_has_tcp_ops(void)
{
	return kernel_btf_has("bpf_struct_ops_tcp_congestion_ops", BTF_KIND_STRUCT);
}

#define SET_BIT(set) (1U << (set))
#define SETS_ALL (SET_BIT(SET_N) - 1)

/* The sets that a configuration wants. */
static unsigned int sets_wanted(const struct config *c)
{
	unsigned int sets = c->node.uplink ? SET_BIT(SET_PODS) | SET_BIT(SET_BACKLOG) : 0;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		if (i->role == PORT_F_HOST)
			sets |= SET_BIT(SET_HOST);
		else
			sets |= SET_BIT(SET_SWITCH) | SET_BIT(SET_BACKLOG);
		if (i->voqs == PORT_F_VOQ_UP)
			sets |= SET_BIT(SET_VOQS);
		if (i->classes_count)
			sets |= SET_BIT(SET_CLASSES);
		if (i->pfc && i->role == PORT_F_SWITCH)
			sets |= SET_BIT(SET_PFC);
	}
	return sets;
}

/* Leaves out the programs that this kernel or this run does not want. */
static int programs_choose(struct sluice_bpf *s, unsigned int sets, int want_cc)
{
	int kfunc = kernel_has_kfunc();
	const struct {
		struct bpf_program *prog;
		unsigned int sets;
		int wanted;
	} all[] = {
		{ s->progs.egress, SET_BIT(SET_HOST), 1 },
		{ s->progs.ingress, SET_BIT(SET_HOST), 1 },
		{ s->progs.hop, SET_BIT(SET_SWITCH), kfunc },
		{ s->progs.hop_map, SET_BIT(SET_SWITCH), !kfunc },
		{ s->progs.tor, SET_BIT(SET_VOQS), 1 },
		{ s->progs.pod_hop, SET_BIT(SET_PODS), 1 },
		{ s->progs.backlog_enqueue, SET_BIT(SET_BACKLOG), !kfunc },
		{ s->progs.backlog_dequeue, SET_BIT(SET_BACKLOG), !kfunc },
		{ s->progs.class_enqueue, SET_BIT(SET_CLASSES), 1 },
		{ s->progs.class_dequeue, SET_BIT(SET_CLASSES), 1 },
		{ s->progs.pfc, SET_BIT(SET_PFC), 1 },
		{ s->progs.pfc_enqueue, SET_BIT(SET_PFC), 1 },
		{ s->progs.pfc_dequeue, SET_BIT(SET_PFC), 1 },
		{ s->progs.cc_init, ~0, want_cc },
		{ s->progs.cc_control, ~0, want_cc },
		{ s->progs.cc_ssthresh, ~0, want_cc },
		{ s->progs.cc_undo_cwnd, ~0, want_cc },
		{ s->progs.cc_move, ~0, want_cc },
	};
	unsigned int i;

	if (kfunc < 0) {
		msg("this kernel has no BTF (/sys/kernel/btf/vmlinux): Sluice needs one with CONFIG_DEBUG_INFO_BTF=y, as Debian's and Ubuntu's have it");
		return -EOPNOTSUPP;
	}
	s->rodata->qdisc_kfuncs = kfunc;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		bpf_program__set_autoload(all[i].prog, all[i].wanted && all[i].sets & sets);
	return want_cc ? 0 : bpf_map__set_autocreate(s->maps.tcp_cc, false);
}

/* A map that is in use keeps its size; fd < 0: it is not. */
static __u32 map_room(int fd, __u32 wanted, const char *key)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len))
		return wanted;
	if (info.max_entries != wanted)
		msg("%s stays %u: its map is in use; stop sluiced or detach to change it", key,
		    info.max_entries);
	return info.max_entries;
}

/* Also where half of a start left it. */
static __u32 pinned_room(const char *dir, const char *name, __u32 wanted, const char *key)
{
	char path[512];
	__u32 room;
	int fd;

	pin_path(path, sizeof(path), dir, name);
	fd = bpf_obj_get(path);
	room = map_room(fd, wanted, key);
	if (fd >= 0)
		close(fd);
	return room;
}

/* What to load for this configuration, and where the maps come from. */
static int object_prepare(struct dataplane *dp, const struct config *c)
{
	struct sluice_bpf *s = dp->skel;
	const struct control *was;
	char path[512];
	struct bpf_map *map;
	__u32 room;
	int err;

	bpf_object__for_each_map(map, s->obj) {
		const char *name = bpf_map__name(map);

#define DP_IS_PIN(pin) || !strcmp(name, #pin)
		if (!(0 PINS(DP_IS_PIN)))
			continue;
#undef DP_IS_PIN
		snprintf(path, sizeof(path), "%s/%s%s", dp->pin_dir, dp->adopt ? "next/" : "", name);
		err = bpf_map__set_pin_path(map, path);
		if (err)
			return err;
	}
	room = pinned_room(dp->pin_dir, "flows", c->max_flows, "max_flows");
	err = bpf_map__set_max_entries(s->maps.flows, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.rx_states, room);
	room = pinned_room(dp->pin_dir, "voqs", c->hiercc.voqs, "hiercc: voqs");
	if (!err)
		err = bpf_map__set_max_entries(s->maps.voqs, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.arrival_slots, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.arrivals, room);
	if (!err)
		err = bpf_map__set_max_entries(s->maps.credits, room);
	if (!err && dp->adopt)
		err = adopt_plan(dp);
	if (err)
		return err;
	was = dp->fresh ? NULL : dp->adopt ? adopt_control(dp) : dp->pins.ctl;
	err = programs_choose(s, sets_wanted(c), c->tcp.name && (!was || !cc_is_kept(was, c)));
	if (err)
		return err;
	s->rodata->wire_port = c->port;
	if (!was || !was->cc_name[0] || !c->tcp.name)
		return bpf_program__set_autoload(s->progs.cc_move, false);
	memcpy((char *)s->rodata->cc_from, was->cc_name, sizeof(was->cc_name));
	strncpy((char *)s->rodata->cc_to, c->tcp.name, sizeof(s->rodata->cc_to) - 1);
	return 0;
}

int dataplane_try(void)
{
	struct sluice_bpf *s;
	int err;

	libbpf_set_print(libbpf_print);
	s = sluice_bpf__open();
	if (!s)
		return -errno;
	err = programs_choose(s, SETS_ALL, kernel_has_tcp_ops() > 0);
	if (!err)
		err = sluice_bpf__load(s);
	sluice_bpf__destroy(s);
	return err ?: xdp_try();
}

/* Attaches two programs to the tracepoints of qdiscs, or takes them off; *have: this run attached them. */
static int tracepoints_set(struct dataplane *dp, struct bpf_program *const *progs, int *have, int want)
{
	char path[512];
	unsigned int i;
	int err;

	if (want && *have)
		return 0;
	for (i = 0; i < 2; i++) {
		struct bpf_link *link;

		pin_path(path, sizeof(path), dp->pin_dir, bpf_program__name(progs[i]));
		if (!want) {
			unlink(path); /* nothing else holds the link */
			continue;
		}
		if (bpf_program__fd(progs[i]) < 0)
			continue;
		link = bpf_program__attach(progs[i]);
		if (!link) {
			err = -errno;
			msg("attaching %s: %s", bpf_program__name(progs[i]), strerror(-err));
			return err;
		}
		unlink(path); /* an earlier daemon's */
		err = bpf_link__pin(link, path);
		bpf_link__destroy(link);
		if (err) {
			msg("pinning %s: %s", path, strerror(-err));
			return err;
		}
	}
	*have = want;
	return 0;
}

/*
 * Attached while there is a port that stamps, or one with classes or pauses, as they run for the packets of every
 * interface in every network namespace. In the star lab those of ten host daemons took a quarter of the CPU.
 */
static int tracepoints_apply(struct dataplane *dp, unsigned int sets, int want)
{
	struct sluice_bpf *b = dp->of[SET_BACKLOG] ?: dp->skel, *c = dp->of[SET_CLASSES] ?: dp->skel;
	struct sluice_bpf *p = dp->of[SET_PFC] ?: dp->skel;
	struct bpf_program *backlog[] = { b->progs.backlog_enqueue, b->progs.backlog_dequeue };
	struct bpf_program *class[] = { c->progs.class_enqueue, c->progs.class_dequeue };
	struct bpf_program *pfc[] = { p->progs.pfc_enqueue, p->progs.pfc_dequeue };
	int err = 0;

	if (!(sets & SET_BIT(SET_BACKLOG)) == !want)
		err = tracepoints_set(dp, backlog, &dp->tracepoints, want);
	if (!err && !(sets & SET_BIT(SET_CLASSES)) == !want)
		err = tracepoints_set(dp, class, &dp->class_tracepoints, want);
	if (!err && !(sets & SET_BIT(SET_PFC)) == !want)
		err = tracepoints_set(dp, pfc, &dp->pfc_tracepoints, want);
	return err;
}

struct loading {
	struct sluice_bpf *s;
	int err;
};

/* The verifier takes a second of a CPU or more, which may be the only one: the traffic goes first. */
static void *load_behind_others(void *arg)
{
	struct loading *l = arg;

	setpriority(PRIO_PROCESS, gettid(), 10);
	l->err = sluice_bpf__load(l->s);
	return NULL;
}

/* Loads what is open, and notes which sets are in it. A thread of its own: who may lower its priority may not raise it. */
static int sets_load(struct dataplane *dp, struct sluice_bpf *s, unsigned int sets)
{
	struct loading l = { .s = s };
	pthread_t thread;
	unsigned int i;
	int err = -pthread_create(&thread, NULL, load_behind_others, &l);

	if (!err) {
		pthread_join(thread, NULL);
		err = l.err;
	}
	if (err) {
		msg("loading the BPF programs: %s%s%s", strerror(-err), libbpf_reason[0] ? ": " : "", libbpf_reason);
		msg("'sluicectl probe' says what this kernel lacks; --verbose shows the verifier's words");
		return err;
	}
	for (i = 0; i < SET_N; i++)
		if (sets & SET_BIT(i))
			dp->of[i] = s;
	return 0;
}

int maps_share(struct bpf_object *to, const struct bpf_object *from)
{
	struct bpf_map *map, *other;
	int err;

	bpf_object__for_each_map(map, to) {
		other = bpf_object__find_map_by_name(from, bpf_map__name(map));
		if (!other || bpf_map__is_internal(map) || bpf_map__fd(other) < 0)
			continue;
		err = bpf_map__reuse_fd(map, bpf_map__fd(other));
		if (err)
			return err;
	}
	return 0;
}

int dataplane_prepare(struct dataplane *dp, const struct config *c)
{
	unsigned int sets = sets_wanted(c), i;
	struct sluice_bpf *s;
	int err = nic_check(&dp->pins, c);

	if (err)
		return err;
	for (i = 0; i < SET_N; i++)
		if (dp->of[i])
			sets &= ~SET_BIT(i);
	if (!sets)
		return 0;
	s = sluice_bpf__open();
	if (!s)
		return -errno;
	s->rodata->wire_port = dp->skel->rodata->wire_port;
	err = programs_choose(s, sets, 0);
	if (!err)
		err = maps_share(s->obj, dp->skel->obj);
	if (!err)
		err = sets_load(dp, s, sets);
	if (err) {
		sluice_bpf__destroy(s);
		return err;
	}
	for (i = 0; dp->more[i]; i++)
		; /* each has a set of its own: there is room */
	dp->more[i] = s;
	return 0;
}

static int object_load(struct dataplane *dp, const struct config *c)
{
	int err;

	dp->skel = calloc(1, sizeof(*dp->skel));
	if (!dp->skel)
		return -ENOMEM;
	err = sluice_bpf__create_skeleton(dp->skel);
	if (!err && c->tcp.name)
		err = cc_name_set(dp, c->tcp.name);
	if (!err)
		err = bpf_object__open_skeleton(dp->skel->skeleton, NULL);
	if (!err)
		err = object_prepare(dp, c);
	return err ?: sets_load(dp, dp->skel, sets_wanted(c));
}

/* --- interfaces --- */

/* The name that an interface had; NULL: it was none of the configuration. */
static const char *port_known(const struct dataplane *dp, __u32 ifindex)
{
	unsigned int k;

	for (k = 0; k < CONFIG_INTERFACES; k++)
		if (dp->known[k].ifindex == ifindex)
			return dp->known[k].name;
	return NULL;
}

struct drop_ctx {
	struct dataplane *dp;
	const struct config *c; /* NULL: drop all */
};

static int port_drop(__u32 ifindex, const struct port *port, void *ctx)
{
	struct drop_ctx *d = ctx;
	const char *known = port_known(d->dp, ifindex);
	char name[IFNAMSIZ] = "";
	unsigned int k;

	if (port->flags & PORT_F_POD && d->c && d->c->node.uplink)
		return 0; /* pods_follow() */
	if (!if_indextoname(ifindex, name)) {
		msg_info("%s%sinterface %u went away: forgotten", known ?: "", known ? ": " : "", ifindex);
		xdp_forget(ifindex, map_id(d->dp->pins.stats));
		bpf_map_delete_elem(d->dp->pins.ports, &ifindex);
		classes_forget(d->dp, ifindex, 0);
		ppfc_port_forget(&d->dp->pins, ifindex);
		return 0;
	}
	for (k = 0; d->c && k < d->c->interfaces_count; k++)
		if (!strcmp(name, d->c->interfaces[k].name))
			return 0;
	port_remove(d->dp, ifindex, port);
	return 0;
}

/* An interface that is not there is an error only where nothing is attached yet (must_exist). */
static int interfaces_apply(struct dataplane *dp, const struct config *c, int must_exist)
{
	struct drop_ctx d = { dp, c };
	unsigned int sets = sets_wanted(c), k;
	int err;

	/* Before the first port stamps, and until the last one is gone. */
	err = tracepoints_apply(dp, sets, 1);
	if (err)
		return err;
	for (k = 0; k < c->interfaces_count; k++) {
		err = port_add(dp, c, &c->interfaces[k]);
		if (err == -ENODEV && !must_exist)
			msg("%s: attached as soon as it is there", c->interfaces[k].name);
		else if (err)
			return err;
	}
	err = pins_each_port(&dp->pins, port_drop, &d);
	return err ?: tracepoints_apply(dp, sets, 0);
}

/* Is there anything about an interface for which it would be refused? Said, before anything is changed. */
static int interfaces_check(const struct config *c)
{
	struct link_info link;
	unsigned int k;
	int err = 0;

	for (k = 0; !err && k < c->interfaces_count; k++) {
		struct port port = {};

		if (!link_get(c->interfaces[k].name, &link))
			err = port_describe(c, &c->interfaces[k], &link, &port);
	}
	return err;
}

static int exit_code(int err, int undone)
{
	if (!err)
		return EXIT_DONE;
	if (err == -EOPNOTSUPP)
		return EXIT_UNSUPPORTED;
	return undone ? EXIT_ROLLED_BACK : EXIT_FAILED;
}

int dataplane_open(const struct config *c, struct dataplane **out)
{
	struct dataplane *dp = calloc(1, sizeof(*dp));
	int err;

	if (!dp)
		return EXIT_FAILED;
	dp->lock_fd = -1;
	libbpf_set_print(libbpf_print);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	xdp_init();
	err = pin_dir_lock(dp, c->pin_dir);
	if (err)
		goto close;
	err = adopt_recover(c->pin_dir);
	if (err)
		goto close;
	err = pins_open(c->pin_dir, &dp->pins);
	if (err == -EPROTO) {
		err = adopt_open(dp);
		if (err)
			goto close;
	}
	dp->fresh = err != 0;
	if (!dp->fresh && !dp->adopt)
		msg_info("adopting the maps in %s", c->pin_dir);
	err = object_load(dp, c);
	if (err)
		goto undo;
	/* The abi is written before anyone may look. */
	if (dp->fresh) {
		struct control ctl = { .abi = SLUICE_ABI, .mode = c->mode };
		__u32 zero = 0;

		bpf_map_update_elem(bpf_map__fd(dp->skel->maps.control), &zero, &ctl, BPF_ANY);
		err = pins_open(c->pin_dir, &dp->pins);
	}
	if (dp->adopt)
		err = adopt_fill(dp);
	else if (!err)
		err = adopt_layout_pin(dp, c->pin_dir);
	if (err) {
		msg("%s: opening the maps: %s", c->pin_dir, strerror(-err));
		goto undo;
	}
	err = messages_open(&dp->messages);
	if (!err)
		err = reports_open(bpf_map__fd(dp->skel->maps.reports), dp->messages, &dp->reports);
	if (!err)
		err = credits_open(&dp->pins, bpf_map__fd(dp->skel->maps.news), dp->messages, &dp->credits);
	if (!err)
		err = tor_open(bpf_map__fd(dp->skel->maps.asks), dp->messages, &dp->tor);
	if (!err)
		err = ppfc_open(&dp->pins, bpf_map__fd(dp->skel->maps.pfc_alarms), &dp->ppfc);
	if (err)
		msg("the rings of reports, news, asks and alarms: %s", strerror(-err));
	if (!err)
		err = keys_apply(dp, c);
	if (!err)
		err = peers_apply(dp, c);
	if (!err && dp->adopt)
		err = interfaces_check(c) ?: adopt_commit(dp);
	/* Another version's goes on until the programs are replaced, as it waits for RCU. */
	if (!err && !dp->adopt)
		err = cc_register(dp, c);
	if (!err)
		err = interfaces_apply(dp, c, dp->fresh);
	if (!err && dp->adopt)
		err = cc_register(dp, c);
	if (!err)
		err = cc_default_apply(dp, c);
	if (err)
		goto undo;
	pods_follow(dp, c);
	credits_apply(dp->credits, c);
	epoch_next(dp, c);
	adopt_finish(dp);
	adopt_close(dp);
	ppfc_apply(dp->ppfc, c);
	dp->running = 1;
	*out = dp;
	return EXIT_DONE;
undo:
	if (dp->fresh) {
		dataplane_detach(dp);
		msg("nothing is left attached");
		return exit_code(err, 1);
	}
	if (adopt_is_committed(dp))
		msg("the maps are this version's now; what was not replaced goes on by itself: start this version again, or the other");
	else
		msg("what the earlier daemon attached stays as it was");
close:
	dataplane_close(dp);
	return exit_code(err, 0);
}

int dataplane_reload(struct dataplane *dp, const struct config *c)
{
	int err = keys_apply(dp, c);

	if (!err)
		err = peers_apply(dp, c);
	map_room(dp->pins.flows, c->max_flows, "max_flows");
	map_room(dp->pins.voqs, c->hiercc.voqs, "hiercc: voqs");
	if (!err)
		err = interfaces_apply(dp, c, 0);
	if (!err)
		err = cc_default_apply(dp, c);
	pods_forget(dp);
	pods_follow(dp, c);
	credits_apply(dp->credits, c);
	epoch_next(dp, c);
	ppfc_apply(dp->ppfc, c);
	return err;
}

void dataplane_routes_changed(struct dataplane *dp)
{
	dp->routes_changed = 1;
}

void dataplane_qdiscs_changed(struct dataplane *dp)
{
	dp->qdiscs_changed = 1;
}

/* Routes that came after the interface, or without which it came back, are given room. */
static void routes_follow(struct dataplane *dp, const struct config *c)
{
	struct link_info link;
	unsigned int k;

	for (k = 0; k < c->interfaces_count; k++)
		if (c->interfaces[k].role == PORT_F_HOST && !link_get(c->interfaces[k].name, &link))
			routes_prepare(dp, &link, c);
}

void dataplane_follow(struct dataplane *dp, const struct config *c)
{
	struct drop_ctx d = { dp, c };
	struct link_info link;
	struct port port, now;
	unsigned int k;
	int changed = 0;

	dp->pods_changed = 1;
	pins_each_port(&dp->pins, port_drop, &d);
	for (k = 0; k < c->interfaces_count; k++) {
		const struct config_interface *i = &c->interfaces[k];

		ppfc_run(dp->ppfc); /* whose rounds do not wait for all of them */
		if (link_get(i->name, &link))
			continue;
		if (bpf_map_lookup_elem(dp->pins.ports, &link.ifindex, &port)) {
			msg_info("%s: is there again: attaching", i->name);
			port_add(dp, c, i);
			changed = 1;
			continue;
		}
		now = port;
		if (port_describe(c, i, &link, &now))
			continue;
		now.flags |= port.flags & (PORT_F_OUR_CLSACT | PORT_F_XDP | PORT_F_XDP_GENERIC | PORT_F_XDP_TX);
		if (now.flags == port.flags && now.mtu == port.mtu && now.speed_bps == port.speed_bps &&
		    ppfc_port_follows(&dp->pins, link.ifindex, link.up))
			continue;
		if ((now.flags ^ port.flags) & PORT_F_EDT)
			msg_info("%s: departure times: %s (the qdisc changed)", i->name,
				 now.flags & PORT_F_EDT ? "off -> on" : "on -> off");
		if (now.mtu != port.mtu)
			msg_info("%s: MTU: %u -> %u", i->name, port.mtu, now.mtu);
		if (now.speed_bps != port.speed_bps)
			msg_info("%s: speed: %.0f -> %.0f Mbit/s, by the driver: first windows and R go by it", i->name,
				 port.speed_bps / 1e6, now.speed_bps / 1e6);
		if ((now.flags ^ port.flags) & PORT_F_NO_QUEUE && now.flags & (PORT_F_SWITCH | PORT_F_STAMP))
			msg_info("%s: queue: %s (the qdisc changed)", i->name, now.flags & PORT_F_NO_QUEUE ?
				 "read -> cannot be read: packets pass without its stamp" : "could not be read -> read");
		port_add(dp, c, i);
		changed = 1;
	}
	if (changed) {
		epoch_next(dp, c);
		ppfc_apply(dp->ppfc, c);
	}
}

/* --- time --- */

struct age_ctx {
	struct dataplane *dp;
	__u64 now_ns, timeout_ns;
	__u32 flows; /* seen */
};

static int flow_age(const struct flow_key *key, const struct flow *f, void *ctx)
{
	struct age_ctx *a = ctx;
	__u64 last = f->last_tx_ns > f->last_rx_ns ? f->last_tx_ns : f->last_rx_ns;
	__u64 limit = f->flags & FLOW_F_CLOSED ? DP_CLOSED_NS : a->timeout_ns;

	/* All of a large map takes longer than a period of credit. */
	if (a->flows++ % 64 == 0) {
		credits_run(a->dp->credits);
		ppfc_run(a->dp->ppfc);
	}
	if (a->dp->watcher)
		a->dp->watcher->flow(a->dp->watcher->ctx, key, f, a->now_ns);
	if (a->dp->crowded && f->feedbacks < 2) /* at most the answer to one probe */
		limit = DP_CROWDED_NS;
	if (a->now_ns > last + limit) {
		bpf_map_delete_elem(a->dp->pins.flows, key);
		if (f->rx_kept)
			bpf_map_delete_elem(bpf_map__fd(a->dp->skel->maps.rx_states), key);
	}
	return 0;
}

/*
 * All of the flow map, unless it was empty and nothing has been put in since: a walk through one of a million entries
 * takes 2 ms, empty or not. Who puts an entry in counts it afterwards, so what a walk did not see is counted by the next.
 */
static void flows_age(struct dataplane *dp, struct age_ctx *a)
{
	__u32 room = bpf_map__max_entries(dp->skel->maps.flows);
	__u64 made = 0;
	int err = pins_stat(&dp->pins, STAT_FLOW_MADE, &made);

	if (!err && dp->empty && made == dp->made)
		return;
	if (!err)
		err = pins_each_flow(&dp->pins, flow_age, a);
	if (err)
		msg_limited(&dp->limit, 60, "looking for idle flows: %s", strerror(-err));
	dp->empty = !err && !a->flows;
	dp->made = made;
	/* One-packet flows (a scan, a flood, a resolver) shall not keep others out. */
	dp->crowded = a->flows > room - room / 8;
	if (dp->crowded)
		msg_limited(&dp->crowded_limit, 60, "the flow map is nearly full (%u of %u): flows of a packet or two are forgotten after 1 s; a larger max_flows makes room",
			    a->flows, room);
}

void dataplane_tick(struct dataplane *dp, const struct config *c)
{
	struct age_ctx a = { .dp = dp, .now_ns = now_ns(), .timeout_ns = c->flow_timeout_ns };

	dp->pins.ctl->heartbeat_ns = a.now_ns;
	/* Who traced was killed. */
	if (dp->pins.ctl->trace_on && a.now_ns > dp->pins.ctl->trace_until_ns)
		dp->pins.ctl->trace_on = 0;
	if (dp->qdiscs_changed) {
		dp->qdiscs_changed = 0;
		dataplane_follow(dp, c);
	}
	if (dp->routes_changed) {
		dp->routes_changed = 0;
		routes_follow(dp, c);
		dp->pods_changed |= !!c->node.uplink;
	}
	if (dp->pods_changed) {
		dp->pods_changed = 0;
		pods_follow(dp, c);
	}
	credits_tick(dp->credits);
	tor_tick(dp->tor);
	ppfc_tick(dp->ppfc);
	flows_age(dp, &a);
}

void dataplane_watch(struct dataplane *dp, const struct watcher *w)
{
	dp->watcher = w;
	credits_watch(dp->credits, w);
	ppfc_watch(dp->ppfc, w);
}

const struct pins *dataplane_pins(const struct dataplane *dp)
{
	return &dp->pins;
}

int dataplane_reports_fd(const struct dataplane *dp)
{
	return reports_fd(dp->reports);
}

void dataplane_reports(struct dataplane *dp, const struct config *c)
{
	reports_read(dp->reports, c, dp->pins.ctl->seq_base_ns);
}

int dataplane_credits_fd(const struct dataplane *dp)
{
	return credits_fd(dp->credits);
}

void dataplane_credits(struct dataplane *dp)
{
	credits_run(dp->credits);
}

int dataplane_tor_fd(const struct dataplane *dp)
{
	return tor_fd(dp->tor);
}

void dataplane_tor(struct dataplane *dp, const struct config *c)
{
	tor_run(dp->tor, c, dp->pins.ctl->seq_base_ns);
}

int dataplane_ppfc_fd(const struct dataplane *dp)
{
	return ppfc_fd(dp->ppfc);
}

void dataplane_ppfc(struct dataplane *dp)
{
	ppfc_run(dp->ppfc);
}

/* --- end --- */

void dataplane_close(struct dataplane *dp)
{
	unsigned int k;

	if (!dp)
		return;
	ppfc_close(dp->ppfc);
	credits_close(dp->credits);
	tor_close(dp->tor);
	reports_close(dp->reports);
	messages_close(dp->messages);
	pins_close(&dp->pins);
	adopt_close(dp);
	pods_forget(dp);
	for (k = 0; k < SET_N && dp->more[k]; k++)
		sluice_bpf__destroy(dp->more[k]);
	if (dp->skel && dp->skel->skeleton)
		sluice_bpf__destroy(dp->skel);
	else
		free(dp->skel);
	free(dp->elf);
	if (dp->lock_fd >= 0)
		close(dp->lock_fd);
	free(dp);
}

int dataplane_detach(struct dataplane *dp)
{
	const struct timespec linger = { 0, DP_LINGER_NS };
	struct drop_ctx d = { dp, NULL };
	struct control *ctl = dp->pins.ctl;

	ppfc_close(dp->ppfc); /* lets go, which bypass would not */
	dp->ppfc = NULL;
	if (ctl) {
		if (!ctl->bypass) {
			ctl->bypass = 1;
			if (!dp->fresh || ctl->epoch)
				nanosleep(&linger, NULL);
		}
		cc_restore_default(ctl);
		pins_each_port(&dp->pins, port_drop, &d);
	}
	cc_unregister(dp->pin_dir);
	adopt_pins_remove(dp->pin_dir);
	dataplane_close(dp);
	return EXIT_DONE;
}

/*
 * What can be told without the layout of the maps. Egress goes first and ingress strips on, as with
 * bypass; clsact and the default congestion control stay, for who made them is not known.
 */
static int dataplane_detach_other(struct dataplane *dp, struct leftover *l)
{
	const struct timespec linger = { 0, DP_LINGER_NS };

	links_each(leftover_egress_remove, l);
	nanosleep(&linger, NULL);
	links_each(leftover_xdp_remove, l);
	xdp_forget(0, l->stats_id);
	links_each(leftover_ingress_remove, l);
	cc_unregister(dp->pin_dir);
	adopt_pins_remove(dp->pin_dir);
	msg("%s: was of another version: filters of %d interfaces, routes, congestion control and pins are removed; clsact qdiscs, the default congestion control and PFC of NICs stay: see 'tc qdisc show clsact', 'sysctl net.ipv4.tcp_congestion_control' and 'dcb pfc show dev ...'",
	    dp->pin_dir, l->interfaces);
	dataplane_close(dp);
	return EXIT_DONE;
}

int dataplane_detach_dir(const char *pin_dir)
{
	struct dataplane *dp;
	struct leftover l;
	int err;

	if (access(pin_dir, F_OK)) {
		msg("%s: nothing is pinned there", pin_dir);
		return EXIT_DONE;
	}
	dp = calloc(1, sizeof(*dp));
	if (!dp)
		return EXIT_FAILED;
	dp->lock_fd = -1;
	libbpf_set_print(libbpf_print);
	xdp_init();
	err = pin_dir_lock(dp, pin_dir);
	if (err)
		goto close;
	err = adopt_recover(pin_dir);
	if (err)
		goto close;
	leftover_find(pin_dir, &l);
	if (!l.interfaces && leftover_anywhere(&l)) {
		msg("%s: its interfaces are in another network namespace: run this there (nsenter --net=/run/netns/NAME, or --net --target PID); nothing was changed",
		    pin_dir);
		goto close;
	}
	err = pins_open(pin_dir, &dp->pins);
	if (err == -EPROTO)
		return dataplane_detach_other(dp, &l);
	/* -ENOENT: half of a start: only pins to remove */
	if (!err || err == -ENOENT)
		return dataplane_detach(dp);
	msg("%s: %s", pin_dir, strerror(-err));
close:
	dataplane_close(dp);
	return EXIT_FAILED;
}

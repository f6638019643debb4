// SPDX-License-Identifier: GPL-2.0-only
/* The configuration of the credit scheduler: peers, the number of this rack, on, off and reload. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include "daemon/credits_int.h"
#include "lib/maps.h"
#include "lib/net.h"

#define CREDITS_LIFE_PERIODS 4

void id_follow(struct credits *c)
{
	struct control *ctl = c->pins->ctl;
	const char *name = c->config->node.uplink;
	struct sluice_addr addr;
	__be32 tor = c->config->tor;
	char text[INET_ADDRSTRLEN];
	unsigned int k;

	for (k = 0; !name && k < c->config->interfaces_count; k++)
		if (c->config->interfaces[k].role == PORT_F_HOST)
			name = c->config->interfaces[k].name;
	if (!tor && ctl->tor)
		return; /* a changed address does not make it another rack */
	if (!tor && name && !link_address(name, &addr)) {
		memcpy(&tor, &addr.b[12], sizeof(tor));
		if (!addr_is_v4(&addr))
			for (k = 0; k < 12; k += 4)
				tor = tor * 31 + *(__be32 *)&addr.b[k];
	}
	if (!tor) {
		msg_limited(
			&c->id_limit, 60,
			"%s has no address yet, by which this rack would be known: HierCC waits for one; or write 'hiercc: {id: ...}'",
			name);
		return;
	}
	if (tor != ctl->tor)
		msg_info("HierCC: this rack is %s", inet_ntop(AF_INET, &tor, text, sizeof(text)));
	ctl->tor = tor;
}

static struct port port_fastest(const struct credits *c)
{
	struct port port, fastest = {};
	__u32 ifindex, next;
	int more = map_next(c->pins->ports, "ports", NULL, &next);

	while (more > 0) {
		ifindex = next;
		if (map_find(c->pins->ports, "ports", &ifindex, &port) > 0 &&
		    port.flags & (PORT_F_HOST | PORT_F_VOQ_UP | PORT_F_VOQ_DOWN) && port.speed_bps > fastest.speed_bps)
			fastest = port;
		more = map_next(c->pins->ports, "ports", &ifindex, &next);
	}
	return fastest;
}

/*
 * A VOQ from this peer may be due three times its sender's C0. The sender derives C0 from its own port, which is
 * assumed to be like ours unless configured.
 */
static void peer_params(const struct peer *v, const struct port *fastest, struct credit_peer *p)
{
	__u64 rate = (v->voq_bps ?: fastest->speed_bps) / 8;

	hiercc_params_arrival(&p->params, rate, v->t_ns, hiercc_gap_ns(rate, fastest->mtu + WIRE_ETH_BYTES),
			      v->voq_period_ns);
	if (v->voq_c0)
		hiercc_params_c0(&p->params, v->voq_c0);
	hiercc_params_tune(&p->params, &v->voq);
	p->rtt_ns = v->t_ns;
}

/*
 * Makes the VOQ of a peer's whole prefix, for use when there is no room for one per host. Egress fills it in with its
 * first packet.
 */
static void voq_make_merged(struct credits *c, const struct peer_key *prefix)
{
	static const struct voq empty;
	struct voq_key key = { .addr = prefix->addr, .prefixlen = prefix->prefixlen };

	if (key.prefixlen && bpf_map_update_elem(c->pins->voqs, &key, &empty, BPF_NOEXIST) && errno != EEXIST)
		msg_limited(&c->full_limit, 60,
			    "no room for the VOQ of a prefix (%s): a larger hiercc: voqs, after a restart, makes room",
			    strerror(errno));
}

/* Other racks may continue to send, which does not matter then: the ring stays full. */
static void credits_off(struct credits *c, int was)
{
	if (c->awake)
		credits_sleep(c);
	if (was) {
		slots_forget(c);
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, ring_buffer__epoll_fd(c->ring), NULL);
	}
	c->pins->ctl->tor = 0;
	c->pins->ctl->credit_ns = 0;
}

/* Makes the parameters of each peer, and the lifetime of credit. 0, or -ENOMEM. */
static int credit_peers_make(struct credits *c)
{
	const struct config *config = c->config;
	struct port fastest = port_fastest(c);
	__u64 limit = CREDITS_LIFE_PERIODS * NSEC_PER_SEC;
	unsigned int k;

	free(c->peers);
	c->peers = calloc(config->peers_count, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	for (k = 0; k < config->peers_count; k++) {
		struct peer v = config_peer_value(config, &config->peers[k]);

		peer_params(&v, &fastest, &c->peers[k]);
		if (v.hiercc != VOQS_HERE)
			continue;
		voq_make_merged(c, &config->peers[k].key);
		if (v.voq_limit_ns < limit)
			limit = v.voq_limit_ns;
	}
	c->pins->ctl->credit_life_ns = limit / 4 > CREDITS_LIFE_PERIODS * config_period_ns(config) ?
					       limit / 4 :
					       CREDITS_LIFE_PERIODS * config_period_ns(config);
	return 0;
}

/* The ring has old news, which are dropped silently. */
static void credits_on(struct credits *c)
{
	c->enabled = 0;
	ring_buffer__consume(c->ring);
	c->enabled = 1;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(c->ring),
		      &(struct epoll_event){ .events = EPOLLIN }) &&
	    errno != EEXIST)
		msg("HierCC: waiting for news of VOQs: %s: no credit is sent until a restart", strerror(errno));
}

/* Assigns slots to the peers of the new configuration; slots without a peer are freed. */
static void credits_reload(struct credits *c)
{
	unsigned int k, i;

	for (i = 0; i < c->room; i++) {
		if (c->slots[i].state == SLOT_FREE)
			continue;
		c->slots[i].peer = peer_find(c, &c->arrivals[i].from);
		if (c->slots[i].peer != CREDITS_NONE)
			ring_params(c, i);
	}
	for (i = 0; i < c->room; i++) {
		if (c->slots[i].state == SLOT_FREE || c->slots[i].peer != CREDITS_NONE)
			continue;
		if (c->slots[i].state == SLOT_ACTIVE)
			slot_deactivate(c, i);
		slot_free(c, i);
	}
	for (k = 0; k < c->ports_count; k++) {
		credit_port_read(c, &c->ports[k]);
		port_rate(c, k);
	}
	if (c->awake)
		credits_wake(c); /* with its new period */
}

void credits_apply(struct credits *c, const struct config *config)
{
	int was = c->enabled;

	c->config = config;
	c->enabled = config_hiercc(config);
	if (!c->enabled) {
		credits_off(c, was);
		return;
	}
	if (credit_peers_make(c)) {
		msg("HierCC: %s: it is off until the next SIGHUP", strerror(ENOMEM));
		c->enabled = 0;
		credits_off(c, was); /* slots have peers of the previous configuration */
		return;
	}
	if (config->tor || !was)
		id_follow(c);
	if (was)
		credits_reload(c);
	else
		credits_on(c);
}

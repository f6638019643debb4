// SPDX-License-Identifier: GPL-2.0-only
/* Peers, and what is known of hosts. */
#include <arpa/inet.h>
#include <string.h>

#include "expect.h"
#include "load.h"
#include "maps.h"

struct peer peer_usual(void)
{
	struct peer p = {
		.t_ns = WORLD_T_NS,
		.eta = Q24_ONE * 95 / 100,
		.flows = 100,
		.max_stage = 5,
	};

	return p;
}

void peer_set(const char *address, __u32 prefixlen, const struct peer *peer)
{
	struct peer_key k = { .prefixlen = prefixlen };

	if (inet_pton(AF_INET6, address, k.addr.b) != 1) {
		cr_assert(inet_pton(AF_INET, address, k.addr.b + 12) == 1, "%s?", address);
		k.addr.b[10] = k.addr.b[11] = 0xff;
	}
	map_set(skel->maps.peers, &k, peer);
	wings_use(peer->hiercc ? WING_RACKS : 0);
}

void peers_leave(int leave)
{
	struct peer peer = peer_usual();

	peer.leaving = leave;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

void encoding_set(enum sluice_encoding encoding)
{
	struct peer peer = peer_usual();

	peer.encoding = encoding;
	peer_set("10.1.0.0", 96 + 16, &peer);
	peer_set("fd00:1::", 32, &peer);
	control_next_epoch();
}

struct sluice_addr addr_of(int v6, enum who who)
{
	struct frame f = tcp(.v6 = v6, .from = who);
	struct sluice_addr a = {};

	if (v6) {
		memcpy(a.b, f.b + 14 + 8, 16);
	} else {
		a.b[10] = a.b[11] = 0xff;
		memcpy(a.b + 12, f.b + 14 + 12, 4);
	}
	return a;
}

struct host_key host_of(int v6, enum who who)
{
	struct sluice_addr a = addr_of(v6, who);
	struct host_key k = {};

	memcpy(k.b, &a, sizeof(a));
	return k;
}

int host_exists(int v6, enum who who)
{
	struct host_key a = host_of(v6, who);
	struct host h;

	return map_get(skel->maps.hosts, &a, &h);
}

struct host host_get(int v6, enum who who)
{
	struct host_key a = host_of(v6, who);
	struct host h;

	cr_assert(map_get(skel->maps.hosts, &a, &h), "%sthe host is not known", fixture_text);
	return h;
}

void host_set(int v6, enum who who, const struct host *h)
{
	struct host_key a = host_of(v6, who);

	map_set(skel->maps.hosts, &a, h);
}

void hosts_strip(void)
{
	struct host h = { .heard_ns = clock_ns(), .capable = 1 };

	host_set(0, HOST_A, &h);
	host_set(0, HOST_B, &h);
	host_set(1, HOST_A, &h);
	host_set(1, HOST_B, &h);
}

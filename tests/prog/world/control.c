// SPDX-License-Identifier: GPL-2.0-only
/* The control map and the keys. */
#include <arpa/inet.h>
#include <string.h>

#include "control.h"
#include "load.h"
#include "maps.h"

static struct control control_read(void)
{
	struct control c = {};
	__u32 zero = 0;

	map_get(skel->maps.control, &zero, &c);
	return c;
}

static void control_write(const struct control *c)
{
	__u32 zero = 0;

	map_set(skel->maps.control, &zero, c);
}

void control_set(enum sluice_mode mode, int bypass)
{
	struct control c = control_read();

	c.abi = SLUICE_ABI;
	c.mode = mode;
	c.bypass = bypass;
	control_write(&c);
}

void rwnd_set(int on)
{
	struct control c = control_read();

	c.rwnd = on;
	control_write(&c);
}

void horizon_set(__u64 ns, int mark)
{
	struct control c = control_read();

	c.horizon_ns = ns;
	c.horizon_mark = mark;
	control_write(&c);
}

void keys_set(const struct siphash_key *key, unsigned int n)
{
	struct auth_keys keys = { .n = n };
	struct control c = control_read();
	__u32 zero = 0;

	memcpy(keys.key, key, n * sizeof(*key));
	map_set(skel->maps.auth_keys, &zero, &keys);
	c.auth = n > 0;
	control_write(&c);
}

void seq_base_set(__u64 ns)
{
	struct control c = control_read();

	c.seq_base_ns = c.real_base_ns = ns;
	control_write(&c);
}

__u64 seq_base_get(void)
{
	return control_read().seq_base_ns;
}

void tor_set(__u32 tor)
{
	struct control c = control_read();

	c.tor = htonl(tor);
	wings_use(tor ? WING_RACKS : 0);
	control_write(&c);
}

void doubt_set(__u64 ns)
{
	struct control c = control_read();

	c.doubt_ns = ns;
	control_write(&c);
}

__u32 control_next_epoch(void)
{
	struct control c = control_read();

	c.epoch++;
	control_write(&c);
	return c.epoch;
}

void trace_set(const struct control *wish)
{
	struct control c = control_read();

	c.trace_on = wish->trace_on;
	c.trace_every = wish->trace_every;
	c.trace_port = wish->trace_port;
	c.trace_addr = wish->trace_addr;
	c.trace_mask = wish->trace_mask;
	c.trace_until_ns = wish->trace_until_ns;
	control_write(&c);
}

void credit_alive(__u64 credit_ns, __u64 life_ns)
{
	struct control c = control_read();

	c.credit_ns = credit_ns;
	c.credit_life_ns = life_ns;
	control_write(&c);
}

void pauses_count(__u32 n)
{
	struct control c = control_read();

	c.pfc = n;
	wings_use(n ? WING_PAUSES : 0);
	control_write(&c);
}

void domains_set(__u32 ports)
{
	struct control c = control_read();

	c.domains = ports;
	control_write(&c);
}

void ports_leaving_set(int leave)
{
	struct control c = control_read();

	c.ports_leaving = leave;
	control_write(&c);
}

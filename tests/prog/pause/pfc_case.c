// SPDX-License-Identifier: GPL-2.0-only
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "pfc_case.h"

void pfc_make(void)
{
	world_make_with(.wings = WING_PAUSES);
	hosts_strip();
}

struct frame frame_pfc(__u16 vector, unsigned int prio, __u16 quanta)
{
	static const __u8 head[] = { 0x01, 0x80, 0xc2, 0, 0, 0x01, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01 };
	struct frame f = { .len = 60 };

	memcpy(f.b, head, sizeof(head));
	f.b[16] = vector >> 8;
	f.b[17] = vector;
	f.b[18 + 2 * prio] = quanta >> 8;
	f.b[19 + 2 * prio] = quanta;
	return f;
}

struct pfc_port pauses_usual(void)
{
	struct pfc_port p = { .flags = PFC_F_OBEY, .slot = SLOT, .lossless = 1 << LOSSLESS };

	pfc_obey_init(&p.params, WORLD_BPS);
	p.params.storm_ns = 5000 * MS; /* longer than any pause here */
	return p;
}

void port_obeys(enum sluice_mode mode)
{
	struct pfc_port pauses = pauses_usual();
	struct port port = port_usual();

	control_set(mode, 0);
	port.flags |= PORT_F_EDT;
	port_change(WORLD_IFINDEX, &port);
	pauses_set(WORLD_IFINDEX, &pauses);
	pauses_count(1);
}

__u64 pause_for(__u64 ns)
{
	struct pfc_port p = pauses_get(WORLD_IFINDEX);
	__u64 now = clock_ns();

	p.obey[LOSSLESS] =
		(struct pfc_obey){ .until_ns = now + ns, .since_ns = now, .heard_ns = now, .state = PFC_PAUSED };
	pauses_set(WORLD_IFINDEX, &p);
	return now + ns;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sender of invented identity: SYNs to h1 (lib/net.sh) from addresses and ports that it makes up, out of a device, past
 * its queue.
 *
 * usage: flood DEVICE PORT COUNT
 *	sends COUNT SYNs to PORT of 10.1.0.2, 12,000 a second, each from another address of 10.64.0.0/10
 * Exit status: 0, or 1 with the reason.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet.h"
#include "tool.h"

#define PER_MS 12

int main(int argc, char **argv)
{
	static const __u8 to_mac[6] = { 2, 0, 0x0a, 0, 1, 2 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	struct frame f = tcp(.flags = SYN, .options = 8);
	unsigned int count, i;
	int fd, one = 1;

	if (argc != 4) {
		fputs("usage: flood DEVICE PORT COUNT\n", stderr);
		return 1;
	}
	to.sll_ifindex = if_nametoindex(argv[1]);
	if (!to.sll_ifindex)
		die(argv[1]);
	count = strtoul(argv[3], NULL, 0);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		die("a packet socket");
	memcpy(f.b, to_mac, sizeof(to_mac));
	put32(f.b + 30, 10 << 24 | 1 << 16 | 2);
	put16(f.b + 36, strtoul(argv[2], NULL, 0));
	memcpy(f.b + 54, (const __u8[]){ 1, 3, 3, 7, 1, 1, 1, 0 }, 8); /* a window scale of 7 */
	for (i = 0; i < count; i++) {
		put32(f.b + 26, 10 << 24 | 1 << 22 | (i & 0x3fffff));
		put16(f.b + 34, 1024 + i % 60000);
		frame_fix(&f);
		if (sendto(fd, f.b, f.len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sending");
		if (i % PER_MS == PER_MS - 1)
			usleep(1000);
	}
	return 0;
}

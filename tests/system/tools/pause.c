// SPDX-License-Identifier: GPL-2.0-only
/*
 * A neighbour that pauses: PFC frames out of a device, past its queue.
 *
 * usage: pause DEVICE VECTOR QUANTA COUNT INTERVAL_US
 *	VECTOR: the class enable vector; QUANTA: of every class. One frame each INTERVAL_US, COUNT of them
 * Exit status: 0, or 1 with the reason.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

int main(int argc, char **argv)
{
	unsigned char frame[60] = { 0x01, 0x80, 0xc2, 0, 0, 0x01, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	unsigned long vector, quanta, count, interval;
	int fd, one = 1, i;

	if (argc != 6) {
		fputs("usage: pause DEVICE VECTOR QUANTA COUNT INTERVAL_US\n", stderr);
		return 1;
	}
	vector = strtoul(argv[2], NULL, 0);
	quanta = strtoul(argv[3], NULL, 0);
	count = strtoul(argv[4], NULL, 0);
	interval = strtoul(argv[5], NULL, 0);
	frame[16] = vector >> 8;
	frame[17] = vector;
	for (i = 0; i < 8; i++) {
		frame[18 + 2 * i] = quanta >> 8;
		frame[19 + 2 * i] = quanta;
	}
	to.sll_ifindex = if_nametoindex(argv[1]);
	if (!to.sll_ifindex)
		die(argv[1]);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		die("a packet socket");
	while (count--) {
		if (sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sending");
		if (count)
			usleep(interval);
	}
	return 0;
}

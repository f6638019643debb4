/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PCAPNG_H
#define SLUICE_PCAPNG_H
/* A capture for Wireshark (pcapng), written packet by packet: the file is complete at any time. */
#include <linux/types.h>
#include <stdio.h>

struct pcapng {
	FILE *to;
	char (*name)[16]; /* names of the interfaces seen so far */
	unsigned int n;
	__u32 snap_bytes;
};

struct pcapng_packet {
	const char *interface;
	__u64 time_ns; /* since 1970 */
	const void *data;
	__u32 kept_bytes, bytes; /* captured length, and original length */
	int outbound;
	const char *comment;
};

/* A new file, readable for its owner only. All return 0 or -errno. */
int pcapng_open(struct pcapng *w, const char *path, __u32 snap_bytes);
int pcapng_write(struct pcapng *w, const struct pcapng_packet *p);
int pcapng_flush(struct pcapng *w);
int pcapng_close(struct pcapng *w);

#endif

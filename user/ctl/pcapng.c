// SPDX-License-Identifier: GPL-2.0-only
/*
 * pcapng (draft-ietf-opsawg-pcapng): a Section Header, an Interface Description in front of the first packet of each
 * interface, an Enhanced Packet Block for each packet. The byte order is this machine's, which the format allows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ctl/pcapng.h"
#include "lib/util.h"

#define PCAPNG_SECTION 0x0a0d0d0a
#define PCAPNG_INTERFACE 1
#define PCAPNG_PACKET 6
#define PCAPNG_BYTE_ORDER 0x1a2b3c4d
#define PCAPNG_ETHERNET 1

#define OPT_END 0
#define OPT_COMMENT 1
#define OPT_SECTION_APPLICATION 4
#define OPT_INTERFACE_NAME 2
#define OPT_INTERFACE_RESOLUTION 9
#define OPT_PACKET_FLAGS 2

#define PCAPNG_NANOSECONDS 9 /* 10^-9 s */
#define PCAPNG_INBOUND 1
#define PCAPNG_OUTBOUND 2

static __u32 padded(__u32 bytes)
{
	return (bytes + 3) & ~3U;
}

static __u32 option_bytes(__u32 bytes)
{
	return 4 + padded(bytes);
}

static void put(struct pcapng *w, const void *from, __u32 bytes)
{
	static const char zero[3];

	fwrite(from, 1, bytes, w->to);
	fwrite(zero, 1, padded(bytes) - bytes, w->to);
}

static void put32(struct pcapng *w, __u32 v)
{
	put(w, &v, sizeof(v));
}

static void put_option(struct pcapng *w, __u16 code, const void *value, __u16 bytes)
{
	__u16 head[2] = { code, bytes };

	put(w, head, sizeof(head));
	put(w, value, bytes);
}

/* Whether everything written reached the file, or its buffer. */
static int put_result(struct pcapng *w)
{
	return ferror(w->to) ? -(errno ?: EIO) : 0;
}

int pcapng_open(struct pcapng *w, const char *path, __u32 snap_bytes)
{
	static const char application[] = "sluicectl " SLUICE_VERSION;
	__u32 bytes = 28 + option_bytes(strlen(application)) + 4;
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	int err;

	memset(w, 0, sizeof(*w));
	if (fd < 0)
		return -errno;
	w->to = fdopen(fd, "w");
	if (!w->to) {
		err = -errno;
		close(fd);
		return err;
	}
	w->snap_bytes = snap_bytes;
	put32(w, PCAPNG_SECTION);
	put32(w, bytes);
	put32(w, PCAPNG_BYTE_ORDER);
	put32(w, 1);   /* version 1.0 */
	put32(w, ~0U); /* the section's length is not given */
	put32(w, ~0U);
	put_option(w, OPT_SECTION_APPLICATION, application, strlen(application));
	put_option(w, OPT_END, "", 0);
	put32(w, bytes);
	return pcapng_flush(w);
}

/* The number of an interface in the file; -errno. */
static int interface_get(struct pcapng *w, const char *name)
{
	const __u8 resolution = PCAPNG_NANOSECONDS;
	__u32 bytes = 20 + option_bytes(strlen(name)) + option_bytes(1) + 4;
	unsigned int i;
	void *more;

	for (i = 0; i < w->n; i++)
		if (!strcmp(w->name[i], name))
			return i;
	more = realloc(w->name, (w->n + 1) * sizeof(*w->name));
	if (!more)
		return -ENOMEM;
	w->name = more;
	snprintf(w->name[w->n], sizeof(*w->name), "%s", name);
	put32(w, PCAPNG_INTERFACE);
	put32(w, bytes);
	put32(w, PCAPNG_ETHERNET);
	put32(w, w->snap_bytes);
	put_option(w, OPT_INTERFACE_NAME, name, strlen(name));
	put_option(w, OPT_INTERFACE_RESOLUTION, &resolution, sizeof(resolution));
	put_option(w, OPT_END, "", 0);
	put32(w, bytes);
	return w->n++;
}

int pcapng_write(struct pcapng *w, const struct pcapng_packet *p)
{
	__u32 flags = p->outbound ? PCAPNG_OUTBOUND : PCAPNG_INBOUND, comment = strlen(p->comment);
	__u32 bytes = 32 + padded(p->kept_bytes) + option_bytes(sizeof(flags)) + option_bytes(comment) + 4;
	int interface = interface_get(w, p->interface);

	if (interface < 0)
		return interface;
	put32(w, PCAPNG_PACKET);
	put32(w, bytes);
	put32(w, interface);
	put32(w, p->time_ns >> 32);
	put32(w, p->time_ns);
	put32(w, p->kept_bytes);
	put32(w, p->bytes);
	put(w, p->data, p->kept_bytes);
	put_option(w, OPT_PACKET_FLAGS, &flags, sizeof(flags));
	put_option(w, OPT_COMMENT, p->comment, comment);
	put_option(w, OPT_END, "", 0);
	put32(w, bytes);
	return put_result(w);
}

int pcapng_flush(struct pcapng *w)
{
	return fflush(w->to) ? -errno : put_result(w);
}

int pcapng_close(struct pcapng *w)
{
	int err = 0;

	if (w->to && fclose(w->to))
		err = -errno;
	free(w->name);
	memset(w, 0, sizeof(*w));
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Companions as frames. */
#include <string.h>

#include "packet.h"

unsigned int companion_at(const struct frame *f)
{
	return 14 + (frame_is_v6(f) ? 40 : 20);
}

struct frame companion_of(const struct frame *data, __u8 message, __u32 seq)
{
	static const __u8 mark[] = { 0, 4, 0, 0, 'S', 'L', 'C', '2', 0, 0, 0, 0, 0, 0, 0, 0, 0x98, 13, 0, 59 };
	struct frame f = *data;
	__u8 *l4 = f.b + companion_at(data), proto = data->b[frame_is_v6(data) ? 20 : 23];

	f.len = companion_at(data) + COMPANION_BYTES;
	if (frame_is_v6(data)) {
		put16(f.b + 14 + 4, COMPANION_BYTES);
		f.b[14 + 7] = 64;
	} else {
		put16(f.b + 14 + 2, 20 + COMPANION_BYTES);
		put16(f.b + 14 + 4, 0);
		f.b[14 + 8] = 64;
	}
	if (proto != 6 && proto != 17) {
		put16(l4, COMPANION_NO_PORT);
		put16(l4 + 2, COMPANION_NO_PORT);
	}
	memset(l4 + 4, 0, COMPANION_BYTES - 4);
	memcpy(l4 + 4, mark, sizeof(mark));
	l4[COMPANION_MESSAGE] = 0x40 | message;
	l4[COMPANION_MESSAGE + 1] = 5;
	put32(l4 + COMPANION_MESSAGE + 4, seq);
	return f;
}

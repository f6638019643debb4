// SPDX-License-Identifier: GPL-2.0-only
/* Entries by prefix, for address look-ups: one search among those of each length. */
#include <stdlib.h>
#include <string.h>
#include "lib/prefixes.h"

int prefixes_order(const void *a, const void *b)
{
	const struct peer_key *x = a, *y = b;

	if (x->prefixlen != y->prefixlen)
		return x->prefixlen < y->prefixlen ? 1 : -1;
	return memcmp(&x->addr, &y->addr, sizeof(x->addr));
}

static const struct peer_key *key_at(const void *entries, size_t size, size_t i)
{
	return (const void *)((const char *)entries + i * size);
}

void *prefixes_find(void *entries, size_t n, size_t size, const struct sluice_addr *addr)
{
	struct peer_key want;
	size_t i = 0, end;
	unsigned int bit;
	void *found;

	while (i < n) {
		want.prefixlen = key_at(entries, size, i)->prefixlen;
		for (end = i; end < n && key_at(entries, size, end)->prefixlen == want.prefixlen; end++)
			;
		want.addr = *addr;
		for (bit = want.prefixlen; bit < 128; bit++)
			want.addr.b[bit / 8] &= ~(0x80 >> bit % 8);
		found = bsearch(&want, key_at(entries, size, i), end - i, size, prefixes_order);
		if (found)
			return found;
		i = end;
	}
	return NULL;
}

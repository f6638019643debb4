/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PREFIXES_H
#define SLUICE_PREFIXES_H
#include <stddef.h>
#include "sluice/abi/peer.h"

/* The order, for qsort(), of entries that begin with a struct peer_key: the longest prefix first. */
int prefixes_order(const void *a, const void *b);
/* The longest prefix with the address among n entries of that size in this order, or NULL. */
void *prefixes_find(void *entries, size_t n, size_t size, const struct sluice_addr *addr);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_BETWEEN_H
#define SLUICE_ATTACH_BETWEEN_H
/* Called during long operations, between one interface and the next. */
struct between {
	void (*fn)(void *ctx);
	void *ctx;
};

#endif

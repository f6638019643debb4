/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_EXPECT_H
#define WORLD_EXPECT_H
/* The text of fixture(), followed by a colon. */
extern char fixture_text[256];

#endif

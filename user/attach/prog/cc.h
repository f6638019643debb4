/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_CC_H
#define SLUICE_ATTACH_CC_H
#include "lib/config.h"

struct control;
struct prog_room;

/* Whether an earlier daemon's congestion control has the currently wanted name ("": none), and reads these maps. */
int cc_is_kept(const struct control *was, const struct config *c);
/* Replaces the placeholder in a copy of the object by the congestion control's name. */
int cc_name_set(struct prog_room *prog, const char *name);
int cc_register(struct prog_room *prog, const struct config *c);
/* 0, also if there is none, or -errno with a message: it stays registered and pinned, and another call retries. */
int cc_unregister(const char *pin_dir);
/* The default follows the mode: it only gains anything if windows are enforced. */
int cc_default_apply(struct prog_room *prog, const struct config *c);
/* Somebody has set another: puts ours back, once; if they set it again, theirs stays. */
void cc_default_watch(struct prog_room *prog, const struct config *c);
/* why: for the journal. -errno: it stays as it is, with a message, and another call retries. */
int cc_restore_default(struct control *ctl, const char *why);

#endif

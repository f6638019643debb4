/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PIN_DIR_H
#define SLUICE_ATTACH_PIN_DIR_H
struct pins_room;

/* Makes the pin directory if it is missing, and takes its lock. 0, or -errno with a message. */
int pin_dir_lock(struct pins_room *room, const char *dir);
/* Keeps open what is pinned, to pin it again if somebody removes it. */
void pins_keep(struct pins_room *room);
void pins_release(struct pins_room *room);
/* Pins again those that somebody removed since pins_keep(). */
void pins_watch(struct pins_room *room);

#endif

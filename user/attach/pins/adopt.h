/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_ADOPT_H
#define SLUICE_ATTACH_ADOPT_H
/* Maps of another version. */

struct bpf_object;
struct control;
struct pins;
struct pins_room;
struct sluice_bpf;

/* Reads the layout of the other version; -EPROTO: it cannot be read, with a message. Makes room->adopt. */
int adopt_open(struct pins_room *room);
/* Between opening and loading the object: decides which maps are shared. */
int adopt_plan(struct pins_room *room, struct bpf_object *obj);
/* The other version's control. */
const struct control *adopt_control(const struct pins_room *room);
/* The object is loaded: control is filled, and pins are opened. */
int adopt_fill(struct pins_room *room, struct sluice_bpf *s, struct pins *pins);
/* Fills the maps and replaces the other version's. On an error before the replacement nothing has changed. */
int adopt_commit(struct pins_room *room, struct control *ctl);
int adopt_is_committed(const struct pins_room *room);
/* The programs are replaced. Also completes an earlier run that did not get this far. */
void adopt_finish(struct pins_room *room);
void adopt_close(struct pins_room *room);

#endif

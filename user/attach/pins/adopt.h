/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_ADOPT_H
#define SLUICE_ATTACH_ADOPT_H
/* Maps of another version. */

struct control;
struct dataplane;

/* Reads the layout of the other version; -EPROTO: it cannot be read, with a message. Makes dp->pin.adopt. */
int adopt_open(struct dataplane *dp);
/* Between opening and loading the object: decides which maps are shared. */
int adopt_plan(struct dataplane *dp);
/* The other version's control. */
const struct control *adopt_control(const struct dataplane *dp);
/* The object is loaded: control is filled, and dp->pins are opened. */
int adopt_fill(struct dataplane *dp);
/* Fills the maps and replaces the other version's. On an error before the replacement nothing has changed. */
int adopt_commit(struct dataplane *dp);
int adopt_is_committed(const struct dataplane *dp);
/* The programs are replaced. Also completes an earlier run that did not get this far. */
void adopt_finish(struct dataplane *dp);
void adopt_close(struct dataplane *dp);

#endif

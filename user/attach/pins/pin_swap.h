/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PIN_SWAP_H
#define SLUICE_ATTACH_PIN_SWAP_H
/* Pins of another version. */

struct bpf_object;
struct btf;

#define ADOPT_DIR 300  /* below the pin directory, which has less than 256 */
#define ADOPT_PATH 600 /* with a file name */

/* The maps of PINS come first. */
extern const char *const pin_names[];

/* Opens a pin; the fd, or -1 with errno. */
int pin_get(const char *dir, const char *name);
/* Removes a directory below pin_dir, with the pins in it. */
void dir_remove(const char *pin_dir, const char *name);
/*
 * The pins in `new` replace the others. control comes last: it identifies the version. A daemon that was killed after
 * that has left a `new` without it.
 */
int pins_swap(const char *pin_dir);
/* XDP programs are identified by their counters: call this while those are pinned. Until they are back tc strips telemetry. */
void old_xdp_remove(const char *pin_dir);
/*
 * The programs of the congestion control live as long as the sockets that use it, and read W in maps that are no longer
 * written: they fall back to Reno, and if flows are carried entry by entry (own_cc) receive windows are cut down to W.
 */
void old_retire(const char *pin_dir);

/* Completes an adoption that was killed. With the lock held; before all else. */
int adopt_recover(const char *pin_dir);
/* Pins the layout of this version's maps, unless it is pinned. */
int adopt_layout_pin(const struct bpf_object *obj, const char *dir);
/* The layout pinned there. NULL: there is none, or it cannot be read; errno has the reason. The caller frees it. */
struct btf *adopt_layout_read(const char *dir);
/* Removes all pins of a directory, whichever version made them. */
void adopt_pins_remove(const char *dir);

#endif

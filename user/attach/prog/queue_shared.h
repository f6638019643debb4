/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_QUEUE_SHARED_H
#define SLUICE_ATTACH_QUEUE_SHARED_H
struct bpf_object;
struct sluice_bpf;

/* Makes the programs use the maps of a registered qdisc, if there is one: pauses, setups, classes. 0, or -errno. */
int queue_maps_share(struct sluice_bpf *s, const char *pin_dir);
/* Makes the object of the qdisc use those of the programs, before it is loaded. 0, or -errno. */
int queue_maps_take(struct bpf_object *queue, struct sluice_bpf *s);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_QDISC_ROOM_H
#define SLUICE_ATTACH_QDISC_ROOM_H
/* What qdisc/ knows between two calls. */
struct sluice_bpf;

struct qdisc_room {
	const char *pin_dir;
	struct sluice_bpf *skel; /* whose programs share maps with the qdisc; set before anything is installed */
	char why[256];		 /* why there is no qdisc `sluice`; "": there is */
	int is_new;		 /* this run registered it */
};

#endif

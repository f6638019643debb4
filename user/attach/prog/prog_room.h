/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_PROG_ROOM_H
#define SLUICE_ATTACH_PROG_ROOM_H
/* What prog/ knows between two calls. */
#include "lib/pins.h"

struct sluice_bpf;

/* Programs that are loaded together. Only the sets that the configuration wants are loaded: verification is slow. */
enum program_set {
	SET_HOST,    /* egress and ingress */
	SET_SWITCH,  /* hop */
	SET_VOQS,    /* tor */
	SET_PODS,    /* pod_hop */
	SET_BACKLOG, /* tracepoints, where stamps need them */
	SET_CLASSES, /* tracepoints of ports with classes */
	SET_PFC,     /* tracepoints of switch ports with pauses, and the program that hears them */
	SET_N
};
#define SET_BIT(set) (1U << (set))

/* Each loads a set that was not there, or one of host, switch and VOQs with one of the two wings that it lacked. */
#define RELOADS_MAX (SET_N + 3 * 2)

struct prog_room {
	const char *pin_dir;
	struct pins *pins;		      /* open as soon as the programs are loaded */
	int fresh;			      /* this run made the pins */
	int lost;			      /* some of the pins are missing, and are made anew */
	int adopting;			      /* the maps are of another version: `next` gets these */
	int running;			      /* the attached programs are this run's */
	struct sluice_bpf *skel;	      /* the maps, and the programs wanted at the start */
	struct sluice_bpf *more[RELOADS_MAX]; /* programs wanted by reloads, over the same maps; NULL at the end */
	struct sluice_bpf *of[SET_N];	      /* the object in which a set is loaded last; NULL: none */
	unsigned char *elf;		      /* the object with the configured congestion control's name */
	int tracepoints;		      /* this run attached the tracepoints of backlog */
	int class_tracepoints;		      /* this run attached the tracepoints of classes */
	int pfc_tracepoints;		      /* this run attached the tracepoints of pauses */
	__u64 cc_back_ns;		      /* when the default congestion control was put back; 0: never */
	char cc_others[16];		      /* one that somebody insists on; "" */
	__u64 seq_base_ns;		      /* as it was at the last look: ingress moves it, too */
	__u64 clock_said_ns;		      /* when the clock was last reported as off */
};

#endif

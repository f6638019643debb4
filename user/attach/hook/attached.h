/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_ATTACH_ATTACHED_H
#define SLUICE_ATTACH_ATTACHED_H
/* What the kernel has at an interface now: whether our programs are there, and what packets meet before them. */
#include <bpf/libbpf.h>
#include "lib/pins.h"

struct attached {
	int known;	     /* 0: the interface is not in this network namespace, and nothing else is filled in */
	int tcx, clsact;     /* what holds our programs */
	int egress, ingress; /* it is at this hook */
	int xdp;	     /* the sink is at XDP */
	char missing[32];    /* hooks at which the port's role needs one that is not there, as "egress, ingress"; "" */
};

/* Whether the role of a port has a program at ingress, too: stripping, VOQs, pauses. */
int port_has_ingress(const struct pins *p, __u32 ifindex, const struct port *port);
/* The port is one of the map. */
void attached_see(const struct pins *p, const char *pin_dir, __u32 ifindex, const struct port *port,
		  struct attached *a);

/* A program or filter of somebody else that packets meet before ours. */
struct before {
	enum bpf_tc_attach_point where;
	__u32 priority; /* of a filter; 0: it is at tcx */
	__u32 prog_id;	/* 0: it is a filter of another kind than bpf */
	char name[64];	/* of the program, or the kind of the filter; "": only CAP_SYS_ADMIN may read it */
};

/* As they are, or, if ours are not there yet, as they would be. tcx: ours are there, else at clsact; ingress: also at ingress. */
void before_each(const char *pin_dir, __u32 ifindex, int tcx, int ingress,
		 void (*fn)(const struct before *b, void *ctx), void *ctx);
/* "ingress: the filter cil_from_netdev (id 12, preference 1) is in front of Sluice's: ...", and what to do. */
#define BEFORE_STRLEN 256
const char *before_format(const struct before *b, char *buf);
const char *before_advice(const struct before *b);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_QDISC_H
#define SLUICE_QDISC_H
/* Qdiscs: all of an interface, its root with those below mq; read, replaced, deleted. */
#include <linux/types.h>

#define QDISC_OPTIONS_MAX 256

/* A qdisc as the kernel describes it, which is also how it is made. kind "": there is none that anybody chose. */
struct qdisc {
	__u32 handle; /* 0: the kernel made it by itself */
	char kind[16];
	__u16 options_len;
	__u16 options_cut; /* the options are longer than QDISC_OPTIONS_MAX */
	__u8 options[QDISC_OPTIONS_MAX] __attribute__((aligned(4)));
};

/* A qdisc and where it is. */
struct qdisc_found {
	__u32 ifindex;
	__u32 parent; /* TC_H_ROOT, TC_H_INGRESS ... */
	struct qdisc q;
	__u64 tbf_bps;	      /* rate of a tbf; otherwise 0 */
	__u32 htb_default;    /* minor number of an htb's default class; 0: none, or another kind */
	__u32 packets, bytes; /* that wait in it */
	__u32 drops;
};
/* Those of an interface, or of all (ifindex 0), as the kernel lists them. Their number, or -errno; the caller frees *list. */
int qdiscs_read(__u32 ifindex, struct qdisc_found **list);

/*
 * The kernel lists the qdiscs of all interfaces, whatever it is asked for, so who looks at each of many interfaces would
 * take time that grows with their square. From hold to release one list serves all reads, until qdiscs_changed() says that
 * it is out of date: by who changes a qdisc, as qdisc_set() and qdisc_root_delete() do. A change by others is seen
 * after the release. Holds may be nested.
 */
void qdiscs_hold(void);
void qdiscs_release(void);
void qdiscs_changed(void);

struct qdisc_tree {
	struct qdisc root;
	struct qdisc child;    /* the first below the root */
	unsigned int children; /* number of qdiscs directly below the root; not of one that the kernel made */
	unsigned int deeper;   /* number of qdiscs below those */
	int differ;	       /* the children are not of one kind with the same options */
	struct {
		__u32 parent; /* its class */
		char kind[16];
		int chosen; /* not made by the kernel by itself */
	} at[];		    /* each child */
};

/* All return 0 or -errno; the caller frees *tree. */
int qdisc_tree_get(__u32 ifindex, struct qdisc_tree **tree);
/* Puts a qdisc of this kind at parent (TC_H_ROOT or a class), whatever is there. handle 0: the kernel chooses. */
int qdisc_set(__u32 ifindex, __u32 parent, __u32 handle, const struct qdisc *q);
/* Deletes the root qdisc: the kernel puts its default in its place. 0 also if there is none. */
int qdisc_root_delete(__u32 ifindex);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FLOW_LIST_H
#define SLUICE_FLOW_LIST_H
/* All flows at one moment, for commands that look at them more than once. */
#include "lib/pins.h"

struct flow_row {
	struct flow_key key;
	struct flow flow;
	/* By the lists before, where there are some (flow_list_order): */
	__u64 sent_bps;	 /* since the last; 0 where the flow was not in it */
	const char *why; /* what holds it, and since when; another reason has to be there at two looks in a row */
	__u64 why_since_ns;
	const char *why_next; /* the other reason, seen once; NULL: none */
	__u64 why_next_ns;
	int why_from_start; /* it was so at the first look */
};

struct flow_list {
	struct flow_row *row;
	unsigned int n, room;
	__u64 now_ns;
	struct control ctl;
};

/* Fills an empty list. 0, or -errno, and then it is empty. */
int flow_list_read(struct flow_list *l, const struct pins *p);
void flow_list_free(struct flow_list *l);

/* By key, which flow_list_row() wants; sets what an earlier list, ordered too, is wanted for (NULL: this is the first). */
void flow_list_order(struct flow_list *l, const struct flow_list *before);
const struct flow_row *flow_list_row(const struct flow_list *l, const struct flow_key *k);

/*
 * What hop i sent between two reports of it, in bytes, and how long that was. 0 where that cannot be told: another
 * path, no newer report, or a pause so long that its counter may have wrapped.
 */
__u64 hop_sent(const struct flow *old, const struct flow *now, unsigned int i, __u64 *ns);

#endif

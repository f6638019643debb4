// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "flow_list.h"

static int flow_list_add(const struct flow_key *key, const struct flow *f, void *ctx)
{
	struct flow_list *l = ctx;
	struct flow_row *row;

	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 256;
		row = realloc(l->row, l->room * sizeof(*row));
		if (!row)
			return -ENOMEM;
		l->row = row;
	}
	l->row[l->n++] = (struct flow_row){ .key = *key, .flow = *f };
	return 0;
}

int flow_list_read(struct flow_list *l, const struct pins *p)
{
	int err;

	memset(l, 0, sizeof(*l));
	l->ctl = *p->ctl;
	err = pins_each_flow(p, flow_list_add, l);
	l->now_ns = now_ns();
	if (err)
		flow_list_free(l);
	return err;
}

void flow_list_free(struct flow_list *l)
{
	free(l->row);
	memset(l, 0, sizeof(*l));
}

static int row_compare(const void *a, const void *b)
{
	return memcmp(&((const struct flow_row *)a)->key, &((const struct flow_row *)b)->key, sizeof(struct flow_key));
}

const struct flow_row *flow_list_row(const struct flow_list *l, const struct flow_key *k)
{
	struct flow_row wanted = { .key = *k };

	return l->n ? bsearch(&wanted, l->row, l->n, sizeof(wanted), row_compare) : NULL;
}

void flow_list_order(struct flow_list *l, const struct flow_list *before)
{
	const struct flow_row *was;
	unsigned int i;
	__u64 ns;

	if (l->n)
		qsort(l->row, l->n, sizeof(*l->row), row_compare);
	for (i = 0; before && i < l->n; i++) {
		was = flow_list_row(before, &l->row[i].key);
		ns = l->now_ns - before->now_ns;
		/* An entry that was forgotten and made again counts from 0. */
		if (was && ns && was->flow.tx_bytes <= l->row[i].flow.tx_bytes)
			l->row[i].sent_bps = (l->row[i].flow.tx_bytes - was->flow.tx_bytes) * 8e9 / ns;
	}
}

__u64 hop_sent(const struct flow *old, const struct flow *now, unsigned int i, __u64 *ns)
{
	const struct hpcc_hop *from = &old->cc.last[i], *to = &now->cc.last[i];
	__s64 dt;

	*ns = 0;
	if (i >= now->cc.hops || i >= HPCC_MAX_HOPS || old->cc.hops != now->cc.hops ||
	    old->cc.path_id != now->cc.path_id || from->bps != to->bps || !to->bps)
		return 0;
	dt = hpcc_elapsed(from->ts_ns, to->ts_ns, (__s64)(now->fb_rx_ns - old->fb_rx_ns));
	if (dt <= 0 || dt > (__s64)((NSEC_PER_SEC * 8 << HPCC_TX_BITS) / to->bps))
		return 0;
	*ns = dt;
	return (to->tx_bytes - from->tx_bytes) & HPCC_TX_MASK;
}

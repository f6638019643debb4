// SPDX-License-Identifier: GPL-2.0-only
/* sluicectl why: the qdiscs `sluice` of the flow's interface, as far as their map tells. It does not name the flows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/out.h"
#include "ctl/show.h"
#include "ctl/why.h"

static __u64 queue_dropped(const struct queue_seen *q)
{
	__u64 n = 0;
	int i;

	for (i = QUEUE_TAKEN + 1; i < QUEUE_VERDICTS; i++)
		n += q->packets[i];
	return n;
}

void why_queues(struct why *w)
{
	__u64 dropped = queue_dropped(&w->queue);
	unsigned int had = w->queues;
	struct queue_seen *list = NULL;

	if (queues_list(show_pin_dir, w->netns_cookie, w->flow.path.ifindex, &list, &w->queues))
		w->queues = 0;
	queues_sum(list, w->queues, w->now_ns, &w->queue);
	free(list);
	if (had && queue_dropped(&w->queue) > dropped) /* a qdisc that was replaced meanwhile begins at 0 */
		w->queue_drops = queue_dropped(&w->queue) - dropped;
}

void queue_sentence(struct why *w)
{
	__u64 held_ns = queue_held_ns(&w->queue, w->now_ns);
	unsigned int flows = w->queue.held_flows + w->queue.paused_flows;
	char held[32], took[32], paused[48] = "";
	size_t n;
	int i;

	if (!w->queues)
		return;
	if (w->queue.paused_flows)
		snprintf(paused, sizeof(paused), ", %u of them for a pause", w->queue.paused_flows);
	snprintf(w->queue_line, sizeof(w->queue_line), "The qdisc sluice of %s holds %u flow%s%s%s%s.", w->port, flows,
		 PLURAL(flows), paused, held_ns ? ", the first for another " : "",
		 held_ns ? time_text(held_ns, held) : "");
	n = strlen(w->queue_line);
	if (w->queue_drops)
		n += snprintf(w->queue_line + n, sizeof(w->queue_line) - n,
			      " It dropped %llu packets of its flows in these %s; since it is there:", w->queue_drops,
			      time_text(w->took_ns, took));
	for (i = QUEUE_TAKEN + 1; w->queue_drops && i < QUEUE_VERDICTS; i++)
		if (w->queue.packets[i])
			n += snprintf(w->queue_line + n, sizeof(w->queue_line) - n, " %llu %s,", w->queue.packets[i],
				      queue_verdict_help[i]);
	if (w->queue_drops)
		w->queue_line[n - 1] = '.';
}

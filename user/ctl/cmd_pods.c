// SPDX-License-Identifier: GPL-2.0-only
/*
 * sluicectl pods: the pods of this network namespace by name, with their links and addresses. It needs neither pins nor
 * a daemon. The completion of --pod and --namespace takes the first two columns.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/commands.h"
#include "ctl/out.h"
#include "ctl/pods.h"
#include "ctl/show.h"

/* clang-format off */
static const struct table_column pod_columns[] = {
	{ "POD",       -40, 0, "pod" },
	{ "NAMESPACE", -20, 1, "namespace" },
	{ "INTERFACE", -16, 2, "interface" },
	{ "ADDRESS",   -24, 3, "address" },
};
#define POD_TABLE (sizeof(pod_columns) / sizeof(pod_columns[0]))

static const struct skipped {
	const char *key, *text;
	size_t at;
	int complains; /* also where other pods have names */
} skipped[] = {
	{ "host_network", "in the network namespace of the node", offsetof(struct pods, seen.host), 0 },
	{ "apart",        "without a link to this network namespace", offsetof(struct pods, apart), 0 },
	{ "gone",         "with a network namespace that cannot be opened", offsetof(struct pods, gone), 1 },
	{ "malformed",    "with a malformed config.json", offsetof(struct pods, seen.malformed), 1 },
	{ "too_large",    "with a config.json of more than 1 MiB", offsetof(struct pods, seen.large), 1 },
	{ "unreadable",   "that cannot be read", offsetof(struct pods, seen.unreadable), 1 },
	{ "beyond_limit", "beyond the limit of 10,000 pods", offsetof(struct pods, seen.beyond), 1 },
};
/* clang-format on */

#define SKIPPED (sizeof(skipped) / sizeof(skipped[0]))

static unsigned int skipped_of(const struct pods *p, const struct skipped *s)
{
	return *(const unsigned int *)((const char *)p + s->at);
}

static int by_name(const void *a, const void *b)
{
	const struct pod *x = a, *y = b;

	return strcmp(x->namespace, y->namespace) ?: strcmp(x->name, y->name);
}

/* Its links and addresses: all of them as JSON, and the first of each in the table. */
static void pod_row(const struct pods *p, const struct pod *pod)
{
	char name[IFNAMSIZ], addr[PREFIX_STRLEN];
	unsigned int i, n;

	out_row();
	out_string("pod", pod->name);
	out_string("namespace", pod->namespace);
	out_array("interfaces");
	for (i = 0; i < p->veths; i++) {
		if (p->veth[i].netnsid != pod->netnsid || !if_indextoname(p->veth[i].ifindex, name))
			continue;
		if (out_json)
			out_string(NULL, name);
		else
			out_cell("interface", "%s", name);
	}
	out_end();
	out_array("addresses");
	for (i = 0, n = 0; i < p->addresses; i++) {
		if (p->address[i].pod->netnsid != pod->netnsid)
			continue;
		addr_format(&p->address[i].addr, addr);
		if (out_json)
			out_string(NULL, addr);
		else if (!n++ || addr_is_v4(&p->address[i].addr))
			out_cell("address", "%s", addr);
	}
	out_end();
	out_row_end();
}

static int pods_put(const struct pods *p)
{
	struct pod *sorted = calloc(p->n ?: 1, sizeof(*sorted));
	unsigned int i;

	if (!sorted)
		return -1;
	if (p->n) {
		memcpy(sorted, p->pod, p->n * sizeof(*sorted));
		qsort(sorted, p->n, sizeof(*sorted), by_name);
		out_table(pod_columns, POD_TABLE);
	}
	for (i = 0; i < p->n; i++)
		pod_row(p, &sorted[i]);
	free(sorted);
	return 0;
}

static int pods_json(const struct pods *p)
{
	const char *const *dir;
	unsigned int i;

	out_object(NULL);
	out_array("pods");
	pods_put(p);
	out_end();
	out_array("directories");
	for (dir = pods_dirs(); *dir; dir++)
		out_string(NULL, *dir);
	out_end();
	out_object("skipped");
	for (i = 0; i < SKIPPED; i++)
		out_u64(skipped[i].key, skipped_of(p, &skipped[i]));
	out_end();
	out_u64("without_addresses", p->unreached);
	return out_done();
}

static void links_say(const struct pods *p)
{
	if (p->links_err == -EINTR)
		msg("interfaces of pods may be missing: links changed while they were read: run it again");
	else if (p->links_err)
		msg("interfaces of pods may be missing: reading the links: %s", strerror(-p->links_err));
}

static void unreached_say(const struct pods *p)
{
	if (!p->unreached)
		return;
	msg("the addresses of %u pod%s cannot be read: %s", p->unreached, PLURAL(p->unreached),
	    p->unreached_err == -EPERM || p->unreached_err == -EACCES ? "that needs CAP_NET_ADMIN" :
	    p->unreached_err == -EINTR				      ? "they changed meanwhile: run it again" :
									strerror(-p->unreached_err));
}

int cmd_pods(int argc, char **argv)
{
	struct pods pods = {};
	unsigned int i, n;

	(void)argv;
	if (arguments_refused(argc, "pods"))
		return EXIT_USAGE;
	pods_read(&pods, NULL);
	links_say(&pods);
	if (out_json) {
		pods_json(&pods);
	} else {
		pods_put(&pods);
		if (!pods.n && !pods_skipped(&pods))
			pods_none_say("pods", &pods);
		for (i = 0; i < SKIPPED; i++) {
			n = skipped_of(&pods, &skipped[i]);
			if (n && (skipped[i].complains || !pods.n))
				msg("skipped: %u %s", n, skipped[i].text);
		}
		unreached_say(&pods);
	}
	pods_free(&pods);
	return EXIT_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The options --pod and --namespace of commands that show flows. Names match exactly. */
#include <errno.h>
#include <string.h>
#include "ctl/pods.h"
#include "ctl/show.h"
#include "lib/names.h"

int pod_wish_take(struct pod_wish *w, int option, const char *value)
{
	if (option == POD_OPTION)
		w->name = value;
	else if (option == NAMESPACE_OPTION)
		w->namespace = value;
	else
		return 0;
	return 1;
}

int pod_wish_given(const struct pod_wish *w)
{
	return w->name || w->namespace;
}

int pod_wish_meets(const struct pod_wish *w, const struct pod *pod)
{
	if (!pod)
		return !pod_wish_given(w);
	return (!w->name || !strcmp(w->name, pod->name)) && (!w->namespace || !strcmp(w->namespace, pod->namespace));
}

unsigned int pods_skipped(const struct pods *p)
{
	return p->seen.malformed + p->seen.large + p->seen.unreadable + p->seen.beyond + p->gone + p->apart;
}

void pods_none_say(const char *option, const struct pods *p)
{
	const char *const *dirs = pods_dirs();
	unsigned int skipped = pods_skipped(p);

	if (p->elsewhere)
		msg("%s: the interfaces of %s are in another network namespace: run sluicectl there", option,
		    show_pin_dir);
	else if (!p->seen.directories && show_bundles_dir)
		msg("%s: %s is not there: --bundles names the directory of a runtime's bundles", option,
		    show_bundles_dir);
	else if (!p->seen.directories)
		msg("%s: no pod is known here: neither containerd (%s) nor k3s nor CRI-O (%s) has containers; name another directory with --bundles, or mount it, in a container",
		    option, dirs[0], dirs[2]);
	else if (skipped)
		msg("%s: no pod is known here, and %u descriptions were skipped: 'sluicectl pods' says why", option,
		    skipped);
	else
		msg("%s: no pod with a network namespace of its own is here", option);
}

int pod_wish_check(const struct pod_wish *w, const struct pods *p)
{
	const char *wanted = w->name ?: w->namespace, *option = w->name ? "--pod" : "--namespace", *has;
	const struct pod *other = NULL;
	struct nearest n;
	unsigned int i;

	if (!pod_wish_given(w))
		return 0;
	if (!p->n) {
		pods_none_say(option, p);
		return -ENOENT;
	}
	nearest_begin(&n, wanted);
	for (i = 0; i < p->n; i++) {
		if (pod_wish_meets(w, &p->pod[i]))
			return 0;
		has = w->name ? p->pod[i].name : p->pod[i].namespace;
		nearest_offer(&n, has);
		if (!strcmp(has, wanted))
			other = &p->pod[i];
	}
	if (other)
		msg("--namespace '%s' has no pod '%s', but '%s' has: 'sluicectl pods' lists all", w->namespace, wanted,
		    other->namespace);
	else if (n.best)
		msg("%s '%s' is not here: did you mean %s? 'sluicectl pods' lists all", option, wanted, n.best);
	else
		msg("%s '%s' is not here: 'sluicectl pods' lists all", option, wanted);
	return -ENOENT;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoint programs of qdiscs, which are attached once for all ports. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "attach/prog/prog_room.h"
#include "attach/prog/sets.h"
#include "attach/prog/tracepoints.h"
#include "lib/bpffs.h"
#include "sluice.skel.h"

/* Attaches two programs to the tracepoints of qdiscs, or detaches them; *have: this run attached them. */
static int tracepoints_set(struct prog_room *prog, struct bpf_program *const *progs, int *have, int want)
{
	char path[512];
	unsigned int i;
	int err;

	if (want && *have)
		return 0;
	for (i = 0; i < 2; i++) {
		struct bpf_link *link;

		pin_path(path, sizeof(path), prog->pin_dir, bpf_program__name(progs[i]));
		if (!want) { /* nothing else holds the link */
			if (unlink(path) && errno != ENOENT) {
				err = -errno;
				msg("%s: removing the pin: %s: the program stays attached until the next SIGHUP", path,
				    strerror(-err));
				return err;
			}
			continue;
		}
		if (bpf_program__fd(progs[i]) < 0)
			continue;
		link = bpf_program__attach(progs[i]);
		if (!link) {
			err = -errno;
			msg("attaching %s: %s", bpf_program__name(progs[i]), strerror(-err));
			return err;
		}
		unlink(path); /* an earlier daemon's; if it stays, pinning fails with a message */
		err = bpf_link__pin(link, path);
		bpf_link__destroy(link);
		if (err) {
			msg("pinning %s: %s", path, strerror(-err));
			return err;
		}
	}
	*have = want;
	return 0;
}

/*
 * Attached only while there is a port that stamps, or one with classes or pauses, because they run for the packets of
 * every interface in every network namespace. In the star lab those of ten host daemons took a quarter of the CPU.
 */
int tracepoints_apply(struct prog_room *prog, const struct config *c, int want)
{
	struct sluice_bpf *b = prog->of[SET_BACKLOG] ?: prog->skel;
	struct sluice_bpf *q = prog->of[SET_CLASSES] ?: prog->skel;
	struct sluice_bpf *p = prog->of[SET_PFC] ?: prog->skel;
	struct bpf_program *backlog[] = { b->progs.backlog_enqueue, b->progs.backlog_dequeue };
	struct bpf_program *class[] = { q->progs.class_enqueue, q->progs.class_dequeue };
	struct bpf_program *pfc[] = { p->progs.pfc_enqueue, p->progs.pfc_dequeue };
	unsigned int sets = sets_wanted(c);
	int err = 0;

	if (!(sets & SET_BIT(SET_BACKLOG)) == !want)
		err = tracepoints_set(prog, backlog, &prog->tracepoints, want);
	if (!err && !(sets & SET_BIT(SET_CLASSES)) == !want)
		err = tracepoints_set(prog, class, &prog->class_tracepoints, want);
	if (!err && !(sets & SET_BIT(SET_PFC)) == !want)
		err = tracepoints_set(prog, pfc, &prog->pfc_tracepoints, want);
	return err;
}

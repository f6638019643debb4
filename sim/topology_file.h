/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_TOPOLOGY_FILE_H
#define SLUICE_SIM_TOPOLOGY_FILE_H
/* A topology as uet-htsim, the Ultra Ethernet simulator, describes it (.topo): two tiers of switches, or three. */
#include "sim/scenario.h"

/* Fills s->topology, except for its file, as a leaf-spine or a fat-tree. Returns 0, or -1 with a message. */
int topology_file_read(const char *path, struct scenario *s);

#endif

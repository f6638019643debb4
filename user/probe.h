/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PROBE_H
#define SLUICE_PROBE_H

int cmd_probe(int argc, char **argv);

#endif

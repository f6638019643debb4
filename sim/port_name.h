/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SIM_PORT_NAME_H
#define SLUICE_SIM_PORT_NAME_H
/*
 * Names of ports for people: "leaf-3:host-50" is the port of leaf 3 that leads to host 50. A leaf has hosts, a spine
 * has leaves below it, and switches further up are cores. Each kind is numbered from 0, across pods.
 */
#include <stdint.h>

struct port_name {
	char text[48];
};

void port_names_begin(void);
struct port_name port_name(uint32_t port);
void port_names_end(void);

#endif

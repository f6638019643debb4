/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_STATUS_H
#define SLUICE_STATUS_H
/* State for the page of health, and its two forms. */
#include "attach/hook/attached.h"
#include "ctl/health.h"

struct status {
	struct control ctl;
	unsigned int flows;
	struct daemon_seen daemon;
	enum file_state config, key;
	struct hosts_seen hosts;
	unsigned int headed; /* lines of the list that is being printed */
};

/* Whether packets that leave by the port get its stamp. */
static inline int port_stamps(const struct port *port)
{
	return !!(port->flags & (PORT_F_SWITCH | PORT_F_STAMP | PORT_F_POD));
}

/* Where the port strips telemetry. */
static inline const char *port_sink(const struct port *port, const struct attached *a)
{
	if (!(port->flags & PORT_F_XDP) || (a->known && !a->xdp))
		return "tc";
	return port->flags & PORT_F_XDP_GENERIC ? "generic XDP" : "native XDP";
}

int status_json(struct pins *p, const struct status *s);

#endif

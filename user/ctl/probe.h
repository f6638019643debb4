/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_PROBE_H
#define SLUICE_PROBE_H

#include "attach/qdisc/advice.h"
#include "lib/util.h"

enum probe_result {
	PROBE_OK,
	PROBE_LESS,    /* works, but something is missing */
	PROBE_MISSING, /* Sluice cannot work */
};

struct probe_report {
	enum probe_result worst;
	int found; /* the interfaces were found, not named: one that is gone by now is not reported */
};

/* mend: a command that fixes it, or NULL. */
void probe_report_add(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
		      const char *mend);
/* The same if no command fixes it: advice in words. */
void probe_report_advise(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
			 const char *advice);
/* The same with the advice that is right here. */
void probe_report_get(struct probe_report *r, const char *check, enum probe_result result, const char *detail,
		      enum advice_on on, const char *device);
void probe_kernel(struct probe_report *r);
/* Limited to the roles (PORT_F_HOST, PORT_F_SWITCH); speed_bps: as configured, 0: the driver's. */
#define PROBE_ANY_ROLE (PORT_F_HOST | PORT_F_SWITCH)
void probe_interface(struct probe_report *r, const char *name, __u32 roles, __u64 speed_bps);

int cmd_probe(int argc, char **argv);

#endif

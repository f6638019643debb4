/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_CHECK_H
#define SLUICE_CONFIG_CHECK_H
#include "lib/config.h"
#include "lib/config/tables.h"

/* All of these report every mistake and return -EINVAL, or 0. */

/* Checks the values against each other. */
int config_check(struct tables *in, struct config *c);
/* Reads the keys of authentication. */
int config_check_auth(struct tables *in, struct config *c);

/* Sets the T of a prefix whose base_rtt is auto until it is measured. */
void config_rtt_begin(struct config_peer *p);

/* A switch as a ToR: whether one of its interfaces has voqs. */
int config_is_tor(const struct config *c);

/* How long a round of credit with this peer takes, and how long a packet waits for credit at most. */
__u64 config_round_ns(const struct config *c, const struct config_peer *p);
__u64 config_limit_ns(const struct config *c, const struct config_peer *p);
#define CONFIG_LIMIT_ROUNDS_MIN 4 /* a wait shorter than a round of credit would never get any */
#define CONFIG_PERIOD_MAX_NS (50 * 1000 * 1000ULL)

#endif

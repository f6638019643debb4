/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_VARIANT_H
#define SLUICE_VARIANT_H
#include "sluice/cc/rx.h"
#include "lib/util.h"

/* The names of enum hpcc_variant: in the configuration, the output and the options of replay. */
#define VARIANT_WORDS "plain, high-ai, probabilistic or vai-sf"

const char *variant_name(__u32 variant);
/* Returns 0, or -EINVAL without a change. */
int variant_parse(const char *name, enum hpcc_variant *variant);

/* Likewise those of enum rx_feedback. */
#define FEEDBACK_WORDS "hops, ratio or window"

const char *feedback_name(__u32 feedback);
int feedback_parse(const char *name, enum rx_feedback *feedback);

/* Those of enum hpcc_kind. */
const char *kind_name(enum hpcc_kind kind);

#endif

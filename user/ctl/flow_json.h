/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_FLOW_JSON_H
#define SLUICE_FLOW_JSON_H
#include "ctl/flow_list.h"

/* A flow as an element of the open list (out.h). watched: with its current sending rate. */
void flow_json(const struct flow_row *row, const struct flow_list *l, int watched);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPLAY_CSV_H
#define SLUICE_REPLAY_CSV_H
#ifdef __bpf__
#error "a header of the host"
#endif
/* Recorded feedback as a text file of comma separated values. The first line says which column is what. */
#include <stdio.h>
#include "sluice/cc/hpcc.h"

#define REPLAY_ME "sluicectl replay: "
#define REPLAY_BPS_MAX 10000000000000ULL /* 10 Tbit/s; the core takes less than 2^44 */

/* The content of a column: COL_ACK_SEQ.., or COL_HOP + HOP_COLS * hop + HOP_BPS.. */
enum column { COL_ACK_SEQ, COL_SND_NXT, COL_PATH_ID, COL_HOPS, COL_RANDOM, COL_FLOWS, COL_GAP, COL_HOP };
enum hop_column { HOP_BPS, HOP_TS, HOP_TX, HOP_QLEN, HOP_COLS };

#define COLS (COL_HOP + HOP_COLS * HPCC_MAX_HOPS)
#define CSV_COLUMNS_MAX 1024 /* of a file, with those that are not read */

/* One row as it stands in the file, before anything is cut to the width of the wire. */
struct csv_row {
	__u64 value[COLS];
};

struct csv {
	const char *name; /* of the file, for messages */
	FILE *in;
	char *line; /* of CSV_LINE_BYTES */
	unsigned long line_nr;
	int wants_random;		/* a column random has to be there */
	int column_of[CSV_COLUMNS_MAX]; /* field of a line -> column, or none */
	int fields;
	int hops;		/* that the header has columns for */
	int has_flows, has_gap; /* columns flows and gap_ns */
};

#define CSV_LINE_BYTES 65536 /* of a text file of numbers; longer means that it is something else */

/* All return 0 or -errno, and say what is wrong. */
int csv_header(struct csv *c);
/* 1, or 0 at the end of the file. */
int csv_row(struct csv *c, struct csv_row *row);

#endif

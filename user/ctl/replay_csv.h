/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_REPLAY_CSV_H
#define SLUICE_REPLAY_CSV_H
#ifdef __bpf__
#error "a header of the host"
#endif
/* Recorded feedback as a CSV text file. The first line names the columns. */
#include <stdio.h>
#include "sluice/cc/hpcc.h"

#define REPLAY_ME "sluicectl replay: "
#define REPLAY_BPS_MAX 10000000000000ULL /* 10 Tbit/s; the core takes less than 2^44 */

/* The content of a column: COL_ACK_SEQ.., or COL_HOP + HOP_COLS * hop + HOP_BPS.. */
enum column { COL_ACK_SEQ, COL_SND_NXT, COL_PATH_ID, COL_HOPS, COL_FLOWS, COL_GAP, COL_HOP };
enum hop_column { HOP_BPS, HOP_TS, HOP_TX, HOP_QLEN, HOP_COLS };

#define COLS (COL_HOP + HOP_COLS * HPCC_MAX_HOPS)
#define CSV_COLUMNS_MAX 1024 /* columns of a file, including those that are not read */

/* One row as in the file, before anything is truncated to the width of the wire. */
struct csv_row {
	__u64 value[COLS];
};

struct csv {
	const char *name; /* name of the file, for messages */
	FILE *in;
	char *line; /* CSV_LINE_BYTES long */
	unsigned long line_nr;
	int column_of[CSV_COLUMNS_MAX]; /* field of a line -> column, or none */
	int fields;
	int hops;		/* number of hops with columns in the header */
	int has_flows, has_gap; /* columns flows and gap_ns */
};

#define CSV_LINE_BYTES 65536 /* for a text file of numbers; a longer line means that it is something else */

/* All return 0 or -errno, with a message. */
int csv_header(struct csv *c);
/* 1, or 0 at the end of the file. */
int csv_row(struct csv *c, struct csv_row *row);

#endif

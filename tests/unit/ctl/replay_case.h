/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REPLAY_CASE_H
#define REPLAY_CASE_H
/*
 * Shared by the tests of sluicectl replay: the command as it is called, with arguments, files and exit code. Each call runs in
 * a process of its own with its standard streams in files.
 */
#include <stdio.h>

#include "model.h"
#include "ctl/replay.h"
#include "trace.h"

#define ONE_HOP "ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes"
#define HEADER ONE_HOP "\n"
#define OUTPUT "row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps\n"

struct result {
	int code;
	char *out, *err;
};

FILE *text_file(const char *text, size_t size);
/* sluicectl replay args, a NULL after the last; out_fd: where its output goes, or -1 for a file. */
struct result replay_to(int out_fd, FILE *in, const char *const *args);
/* With csv on standard input. */
struct result replay_args(const char *csv, const char *const *args);

#define REPLAY(csv, ...) replay_args(csv, (const char *const[]){ __VA_ARGS__, NULL })

void result_free(struct result *r);
int lines(const char *text);

/*
 * By hand, with the defaults. Row 2: half a BDP of bytes and a quarter queued over T: U = 0.75,
 * below eta, W = 52000 + 80, clamped. Row 3: 1.0 and a queue of 0.9 for T: W = 52000 * 0.95 / 1.9
 * + 80 = 26080, but row 2 committed up to 60000 and this is 50000: fast. Row 4: the same clock.
 * Row 5: 60001, full. Row 6: another path.
 */
#define GOLDEN_ROWS                                         \
	"1000,1000,7,1,100000000000,1000,0,13000\n"         \
	"2000,60000,7,1,100000000000,5160,26000,13000\n"    \
	"50000,90000,7,1,100000000000,9320,78000,46800\n"   \
	"50000,90000,7,1,100000000000,9320,78000,46800\n"   \
	"60001,90000,7,1,100000000000,13480,130000,46800\n" \
	"60002,90000,8,1,100000000000,13600,130000,46800\n"

#endif

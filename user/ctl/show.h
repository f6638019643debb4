/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_SHOW_H
#define SLUICE_SHOW_H
#include <json-c/json.h>
#include "ctl/flow_list.h"
#include "ctl/terminal.h"

/* What every command of sluicectl is given besides its own arguments. */
struct show_options {
	const char *pin_dir;
	int json;
};
extern struct show_options show_options;

/* The pinned maps; EXIT_DONE, or says why not and returns another code. */
int show_open(struct pins *p);
int show_json(struct json_object *o);
void add_u64(struct json_object *o, const char *key, __u64 v);
void add_string(struct json_object *o, const char *key, const char *v);
void add_bool(struct json_object *o, const char *key, int v);

/* What is said of a flow; all of it by its entry alone. */
#define FLOW_STRLEN (2 * PREFIX_STRLEN + 32)
const char *flow_format(const struct flow_key *k, char *buf); /* "LOCAL:PORT -> REMOTE:PORT" */
const char *row_why(const struct flow_row *r, const struct flow_list *l); /* flow_why(), by what was seen before too */
const char *flow_control(const struct flow *f);
/* Its line in the table, or the heading where row is NULL; watched: with what it sends now. */
void flow_line(const struct flow_row *row, const struct flow_list *l, int watched, char *buf, size_t size);
/* The same line in as many columns as a screen has. */
void flow_fit(const struct flow_row *row, const struct flow_list *l, int watched, int width, char *buf, size_t size);
void flow_json(struct json_object *list, const struct flow_row *row, const struct flow_list *l, int watched);

/* Of options, each with its message: a number from 1 to most, seconds from 0.1 to most, the value of --peer. 0 or -EINVAL. */
int number_parse(const char *option, const char *text, unsigned int most, unsigned int *value);
int seconds_parse(const char *option, const char *text, unsigned int most, double *value);
int peer_parse(const char *text, struct peer_key *peer);

int cmd_status(int argc, char **argv);
int cmd_flows(int argc, char **argv);
int cmd_voqs(int argc, char **argv);
int cmd_credits(int argc, char **argv);
int cmd_ports(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_bypass(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_int(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_support(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);

#endif

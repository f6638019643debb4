// SPDX-License-Identifier: GPL-2.0-only
/* The lines of ports in sluicectl top, from pins and a kernel that a case makes up. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl/top.h"
#include "lib/netlink_case.h"

TestSuite(top, .timeout = 60);

#define PORTS 200

static struct port pinned[PORTS];
static unsigned int pinned_n;
static int pinned_err;

/* Port n has the ifindex 1000 - n: the map has no order. */
int pins_each_port(const struct pins *p, int (*fn)(__u32 ifindex, const struct port *port, void *ctx), void *ctx)
{
	unsigned int i;
	int err = pinned_err;

	(void)p;
	for (i = 0; i < pinned_n && !err; i++)
		err = fn(1000 - i, &pinned[i], ctx);
	return err;
}

/* The pod of port 0 alone has a name. */
const struct pod *pods_find_link(const struct pods *p, __u32 ifindex)
{
	return ifindex == 1000 ? (const void *)p : NULL;
}

const char *pod_format(const struct pod *pod, char *buf)
{
	(void)pod;
	return strcpy(buf, "shop/web-0");
}

/* An interface that has sent tx_bytes, with backlog bytes in its queue. The kernel's statistics are longer. */
static void link_is(__u32 ifindex, __u64 tx_bytes, __u32 backlog)
{
	struct rtnl_link_stats64 s = { .tx_bytes = tx_bytes, .rx_bytes = tx_bytes / 2 };
	struct gnet_stats_queue q = { .qlen = 1, .backlog = backlog };
	struct nlmsghdr *nlh = nl_has_link(ifindex, "", 0, 0, 0);
	struct nlattr *stats;

	mnl_attr_put(nlh, IFLA_STATS64, offsetof(struct rtnl_link_stats64, rx_errors), &s);
	nlh = nl_has_qdisc(ifindex, "tbf");
	stats = mnl_attr_nest_start(nlh, TCA_STATS2);
	mnl_attr_put(nlh, TCA_STATS_QUEUE, sizeof(q), &q);
	mnl_attr_nest_end(nlh, stats);
}

static void ports_are(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		pinned[i] = (struct port){ .speed_bps = 1000000000, .flags = PORT_F_SWITCH };
		snprintf(pinned[i].name, sizeof(pinned[i].name), "swp%u", i + 1);
	}
	pinned_n = n;
}

/* --- bars and histories --- */

static void history_is(struct spark *s, const __u32 *value, unsigned int n)
{
	memset(s, 0, sizeof(*s));
	while (n--)
		spark_add(s, *value++);
}

Test(top, spark__has_the_largest_of_each_column_and_blanks_before_its_start)
{
	const __u32 value[] = { 0, 0, 1, 0, 50, 0, 100, 3, 500, 0 };
	char buf[SPARK_STRLEN];
	struct spark s;

	history_is(&s, value, 10);
	spark_format(&s, 60, 100, false, buf);
	cr_expect_str_eq(buf + 50, "__._=_#.#_");
	cr_expect_eq(spark_max(&s), 500);
	spark_format(&s, 30, 100, false, buf);
	cr_expect_str_eq(buf, "                         _.=##");
	spark_format(&s, 30, 100, true, buf);
	cr_expect_str_eq(buf, "                         ▁▂▅██");
	memset(&s, 0, sizeof(s));
	spark_format(&s, 12, 100, true, buf);
	cr_expect_str_eq(buf, "            ");
}

Test(top, spark__forgets_what_is_older_than_a_minute)
{
	struct spark s = {};
	unsigned int i;

	spark_add(&s, 7);
	for (i = 0; i < 59; i++)
		spark_add(&s, 1);
	cr_expect_eq(spark_max(&s), 7);
	spark_add(&s, 2);
	cr_expect_eq(spark_max(&s), 2);
	cr_expect_eq(s.n, 60);
}

Test(top, bar__is_full_at_its_end_and_not_beyond)
{
	char buf[SPARK_STRLEN];

	bar_format(0, 100, 8, true, buf);
	cr_expect_str_eq(buf, "        ");
	bar_format(50, 100, 8, false, buf);
	cr_expect_str_eq(buf, "####....");
	bar_format(55, 100, 8, true, buf);
	cr_expect_str_eq(buf, "████▍   ");
	bar_format(4000000000, 100, 8, true, buf);
	cr_expect_str_eq(buf, "████████");
	bar_format(1, 0, 8, false, buf);
	cr_expect_str_eq(buf, "........");
}

Test(top, scale__is_the_next_round_number)
{
	cr_expect_eq(spark_scale(0), 1);
	cr_expect_eq(spark_scale(100), 100);
	cr_expect_eq(spark_scale(101), 200);
	cr_expect_eq(spark_scale(201), 500);
	cr_expect_eq(spark_scale(501), 1000);
}

Test(top, cut__counts_characters)
{
	cr_expect_eq(columns_cut("abc", 2), 2);
	cr_expect_eq(columns_cut("abc", 3), 3);
	cr_expect_eq(columns_cut("a▁▂c", 2), 4);
	cr_expect_eq(columns_cut("a▁▂c", 9), 8);
	cr_expect_eq(columns_cut("abc", 0), 0);
}

/* --- reading --- */

Test(top, read__has_rates_and_queues_from_the_second_look_on, .fini = nl_forget)
{
	struct top_ports all = {};

	ports_are(1);
	link_is(1000, 1000000, 125000);
	cr_assert_eq(top_ports_read(&all, NULL), 0);
	cr_expect(all.n == 1 && all.port->here);
	cr_expect_eq(all.port->queue_us, 1000);
	cr_expect_eq(all.port->tx_bps, 0);
	cr_expect_eq(all.port->loads.n, 0);
	nl_forget();
	link_is(1000, 3000000, 250000);
	all.now_ns = now_ns() - NSEC_PER_SEC / 10;
	cr_assert_eq(top_ports_read(&all, NULL), 0);
	cr_expect(all.port->tx_bps > 30000000 && all.port->tx_bps <= 160000000, "%llu", all.port->tx_bps);
	cr_expect_eq(all.port->rx_bps, all.port->tx_bps / 2);
	cr_expect_eq(all.port->load_percent, all.port->tx_bps / 10000000);
	cr_expect_eq(all.port->queues.n, 1);
	cr_expect_eq(spark_max(&all.port->queues), 2000);
	cr_expect_eq(top_ports_queue_us(&all), 2000);
	top_ports_free(&all);
}

Test(top, read__begins_a_history_anew_when_a_counter_goes_back, .fini = nl_forget)
{
	struct top_ports all = {};

	ports_are(1);
	link_is(1000, 1000000, 0);
	top_ports_read(&all, NULL);
	top_ports_read(&all, NULL);
	cr_expect_eq(all.port->loads.n, 1);
	nl_forget();
	link_is(1000, 10, 0);
	top_ports_read(&all, NULL);
	cr_expect_eq(all.port->loads.n, 0);
	cr_expect_eq(all.port->tx_bps, 0);
	top_ports_free(&all);
}

Test(top, read__has_200_ports_in_order_and_lists_the_qdiscs_once, .fini = nl_forget)
{
	const struct top_port **list;
	struct top_ports all = {};
	unsigned int i;

	ports_are(PORTS);
	for (i = 0; i < PORTS; i++)
		if (i != 7)
			link_is(1000 - i, 1000, 0);
	pinned[8].flags |= PORT_F_LEFT;
	top_ports_read(&all, NULL);
	cr_expect_eq(nl_asked[RTM_GETQDISC].dumps, 1);
	cr_assert_eq(all.n, PORTS - 1);
	for (i = 1; i < all.n; i++)
		cr_expect_lt(all.port[i - 1].ifindex, all.port[i].ifindex);
	for (i = 0; i < all.n; i++)
		cr_expect_eq(all.port[i].here, all.port[i].ifindex != 993);
	cr_expect_eq(top_ports_busiest(&all, 1000, &list), PORTS - 1);
	free(list);
	/* The busiest ones, by ifindex again; a queue decides where loads are equal. */
	spark_add(&all.port[150].loads, 90);
	spark_add(&all.port[3].loads, 10);
	spark_add(&all.port[3].queues, 5);
	spark_add(&all.port[2].loads, 10);
	cr_assert_eq(top_ports_busiest(&all, 2, &list), 2);
	cr_expect_eq(list[0], &all.port[3]);
	cr_expect_eq(list[1], &all.port[150]);
	free(list);
	cr_expect_eq(top_ports_busiest(&all, 0, &list), 0);
	free(list);
	top_ports_free(&all);
}

Test(top, read__returns_the_error_of_the_pins)
{
	struct top_ports all = {};

	pinned_err = -EACCES;
	cr_expect_eq(top_ports_read(&all, NULL), -EACCES);
	top_ports_free(&all);
}

/* --- the line --- */

static unsigned int columns_of(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static struct top_port port_of_a_minute(void)
{
	struct top_port p = {
		.ifindex = 1000,
		.port = { .name = "swp12", .speed_bps = 10000000000 },
		.load = { .backlog_bytes = 262500 },
		.tx_bps = 5000000000,
		.rx_bps = 21300000,
		.load_percent = 50,
		.queue_us = 210,
		.here = true,
	};
	unsigned int i;

	for (i = 1; i <= 60; i++) {
		spark_add(&p.loads, i * 5 / 3);
		spark_add(&p.queues, i > 50 ? 210 : 0);
	}
	return p;
}

static const char *line_at(int columns, bool utf8, const struct top_port *p)
{
	struct port_look look = { .columns = columns, .utf8 = utf8, .queue_us = 500 };
	static struct port_line line;

	port_line(p, &look, &line);
	return line.text;
}

Test(top, line__at_80_columns)
{
	struct top_port p = port_of_a_minute();

	cr_expect_str_eq(line_at(80, false, NULL),
			 "PORT          TX Mb/s LOAD          0-100% 1min  QUEUE us 0-500us 1min  RX Mb/s");
	cr_expect_str_eq(line_at(80, true, &p),
			 "swp12          5000.0  50% ████     ▂▃▃▄▄▅▆▆▇▇██      210 ▁▁▁▁▁▁▁▁▁▁▄▄     21.3");
	cr_expect_str_eq(line_at(80, false, &p),
			 "swp12          5000.0  50% ####.... .::--=++**##      210 __________--     21.3");
}

Test(top, line__at_120_columns)
{
	struct top_port p = port_of_a_minute();

	cr_expect_str_eq(
		line_at(120, false, NULL),
		"PORT             TX Mb/s LOAD          0-100% 1min                    QUEUE us 0-500us 1min                    RX Mb/s");
	cr_expect_str_eq(
		line_at(120, true, &p),
		"swp12             5000.0  50% ████     ▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▅▆▆▆▆▇▇▇▇█████      210 ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▄▄▄▄▄     21.3");
}

Test(top, line__without_a_width_has_no_history)
{
	struct top_port p = port_of_a_minute();

	cr_expect_str_eq(line_at(0, true, NULL), "PORT               TX Mb/s  LOAD  QUEUE us   RX Mb/s  QUEUE BYTES");
	cr_expect_str_eq(line_at(0, true, &p), "swp12               5000.0   50%       210      21.3       262500");
}

Test(top, line__fits_all_screens_and_has_its_colours_inside)
{
	struct top_port p = port_of_a_minute();
	struct pods *pods = (void *)&p;
	struct port_look look = { .queue_us = 500 };
	struct port_line titles, ascii, line;
	unsigned int i;

	strcpy(p.port.name, "a-name-of-15-ch");
	for (look.columns = 31; look.columns < 400; look.columns++) {
		look.pods = look.columns % 2 ? pods : NULL;
		look.utf8 = false;
		port_line(NULL, &look, &titles);
		port_line(&p, &look, &ascii);
		look.utf8 = true;
		port_line(&p, &look, &line);
		cr_expect_leq(columns_of(line.text), (unsigned int)look.columns);
		cr_expect_leq(columns_of(titles.text), (unsigned int)look.columns);
		cr_expect_eq(columns_of(ascii.text), columns_of(line.text), "in %d columns", look.columns);
		cr_expect(strstr(line.text, "15-ch"), "in %d columns: %s", look.columns, line.text);
		cr_expect_eq(!!strstr(line.text, "shop/web-0"), look.pods && look.columns >= 110);
		for (i = 0; i < line.spans; i++)
			cr_expect_leq(line.span[i].at + line.span[i].columns, (int)columns_of(line.text));
	}
	look.columns = 20;
	port_line(&p, &look, &line);
	cr_expect_eq(columns_of(line.text), 31); /* the screen cuts it */
}

Test(top, line__of_a_port_elsewhere_says_so)
{
	struct top_port p = port_of_a_minute();

	p.here = false;
	cr_expect_str_eq(line_at(80, true, &p), "swp12    in another network namespace");
}

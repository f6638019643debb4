// SPDX-License-Identifier: GPL-2.0-only
/*
 * PFC of NICs: messages byte by byte as they went to and came from net/dcb/dcbnl.c of Linux 6.1 (little endian), with a
 * driver whose priority 3 had sent 7 PFC frames and received 11; and what follows from them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include "lib/dcb.h"

#define DCB_HOST_IEEE (DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE)
#define SEQ 0x11223344

/* The part of struct ieee_pfc after pfc_cap, pfc_en, mbc and delay. */
#define PAD4 0, 0, 0, 0
#define PAD8 PAD4, PAD4
#define NONE3 PAD8, PAD8, PAD8
#define NONE4 NONE3, PAD8
#define COUNTED(sent, received) NONE3, sent, 0, 0, 0, PAD4, NONE4, NONE3, received, 0, 0, 0, PAD4, NONE4

static const __u8 get_request[] = {
	0x20, 0,    0,	  0, 0x4e, 0,	0x01, 0,   0x44, 0x33, 0x22, 0x11, PAD4, /* struct nlmsghdr */
	0,    0x15, 0,	  0,							 /* struct dcbmsg: DCB_CMD_IEEE_GET */
	0x09, 0,    0x01, 0, 'd',  'c', 'b',  '0', PAD4,			 /* DCB_ATTR_IFNAME */
};

static const __u8 get_answer[] = {
	0xbc, 0, 0,    0,    0x4e, 0,	 0,    0,   0x44, 0x33, 0x22, 0x11, 0x73,	    0, 0,    0, 0,
	0x15, 0, 0,    0x09, 0,	   0x01, 0,    'd', 'c',  'b',	'0',  PAD4, 0x94,	    0, 0x0d, 0, /* DCB_ATTR_IEEE */
	0x8c, 0, 0x02, 0,    0x08, 0,	 0x01, 0,   0x2c, 0x01, 0,    0,    COUNTED(7, 11), /* DCB_ATTR_IEEE_PFC */
	0x04, 0, 0x03, 0,			  /* DCB_ATTR_IEEE_APP_TABLE, empty */
	0x05, 0, 0x0e, 0,    0x09, 0,	 0,    0, /* DCB_ATTR_DCBX */
};

static const __u8
	set_request[] = {
		0xb0, 0,    0,	  0, 0x4f, 0,	 0x05, 0,   0x44, 0x33, 0x22, 0x11, PAD4,
		0,    0x14, 0,	  0, /* DCB_CMD_IEEE_SET */
		0x09, 0,    0x01, 0, 'd',  'c',	 'b',  '0', PAD4, 0x90, 0,    0x0d, 0x80,
		0x8c, 0,    0x02, 0, 0,	   0x08, 0x01, 0,   0x2c, 0x01, 0,    0,    COUNTED(0, 0),
	};

static const __u8 set_answer[] = {
	0x1c, 0, 0, 0,	  0x4f, 0, 0x05, 0, 0x44, 0x33, 0x22, 0x11, 0x73, 0,
	0,    0, 0, 0x14, 0,	0, 0x05, 0, 0x0d, 0,	0,    0,    0,	  0,
};

/* In memory that is no longer than the message, which the sanitizer watches. */
static struct nlmsghdr *message(const __u8 *bytes, size_t length)
{
	struct nlmsghdr *nlh = malloc(length);

	memcpy(nlh, bytes, length);
	nlh->nlmsg_len = length;
	return nlh;
}

static struct dcb taken(const __u8 *bytes, size_t length)
{
	struct nlmsghdr *nlh = message(bytes, length);
	struct dcb d;

	memset(&d, 0xff, sizeof(d));
	dcb_get_take(nlh, &d);
	free(nlh);
	return d;
}

static int set_taken(__u8 error)
{
	struct nlmsghdr *nlh = message(set_answer, sizeof(set_answer));
	int err;

	((__u8 *)nlh)[24] = error;
	err = dcb_set_take(nlh);
	free(nlh);
	return err;
}

/* ---- Messages ---- */

Test(dcb, get__as_the_kernel_reads_it)
{
	char buf[DCB_MSG_BYTES] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	dcb_get_put(nlh, "dcb0");
	nlh->nlmsg_seq = SEQ;
	cr_assert_eq(nlh->nlmsg_len, sizeof(get_request));
	cr_expect_arr_eq(buf, get_request, sizeof(get_request));
}

Test(dcb, get__answer)
{
	struct dcb d = taken(get_answer, sizeof(get_answer));

	cr_expect(d.has_pfc);
	cr_expect_eq(d.pfc.pfc_cap, 8);
	cr_expect_eq(d.pfc.pfc_en, 0);
	cr_expect_eq(d.pfc.mbc, 1);
	cr_expect_eq(d.pfc.delay, 300);
	cr_expect_eq(d.pfc.requests[3], 7);
	cr_expect_eq(d.pfc.indications[3], 11);
	cr_expect_eq(d.pfc.requests[2] + d.pfc.requests[4] + d.pfc.indications[2] + d.pfc.indications[4], 0);
	cr_expect(d.has_dcbx);
	cr_expect_eq(d.dcbx, DCB_HOST_IEEE);
}

/* A driver of classes of traffic, or of DSCP, has dcbnl operations, and none for PFC. */
Test(dcb, get__answer_without_pfc)
{
	static const __u8 answer[] = {
		0x24, 0,    0, 0,    0x4e, 0,	0,   0,	  0x44, 0x33, 0x22, 0x11, 0x73, 0, 0,	 0, 0,	  0x15, 0,
		0,    0x09, 0, 0x01, 0,	   'd', 'c', 'b', '0',	PAD4, 0x08, 0,	  0x0d, 0, 0x04, 0, 0x03, 0,
	};
	struct dcb d = taken(answer, sizeof(answer));

	cr_expect(!d.has_pfc);
	cr_expect(!d.has_dcbx);
	cr_expect_eq(dcb_judge(&d, 8), DCB_NONE);
}

/* Wherever it ends: an incomplete attribute counts as absent. */
Test(dcb, get__answer_cut_off)
{
	size_t length;

	for (length = 20; length < sizeof(get_answer); length += 4) {
		struct dcb d = taken(get_answer, length);

		cr_expect_eq(d.has_pfc, length >= 32 + 148, "at %zu", length);
		cr_expect(!d.has_dcbx, "at %zu", length);
	}
}

Test(dcb, get__struct_shorter_than_ours)
{
	__u8 answer[sizeof(get_answer)];
	struct dcb d;

	memcpy(answer, get_answer, sizeof(answer));
	answer[36] = 0x88;
	d = taken(answer, sizeof(answer));
	cr_expect(!d.has_pfc);
}

Test(dcb, set__as_the_kernel_reads_it)
{
	const struct ieee_pfc pfc = { .pfc_en = 8, .mbc = 1, .delay = 300 };
	char buf[DCB_MSG_BYTES] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	dcb_set_put(nlh, "dcb0", &pfc);
	nlh->nlmsg_seq = SEQ;
	cr_assert_eq(nlh->nlmsg_len, sizeof(set_request));
	cr_expect_arr_eq(buf, set_request, sizeof(set_request));
}

Test(dcb, set__longest_name_has_room)
{
	static const struct ieee_pfc pfc;
	char buf[DCB_MSG_BYTES] = {};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	dcb_set_put(nlh, "fifteen-letters", &pfc);
	cr_expect_leq(nlh->nlmsg_len, sizeof(buf));
}

/* The ACK that follows is one of success, whatever the driver said. */
Test(dcb, set__answer)
{
	struct nlmsghdr *nlh = message(set_answer, 20);

	cr_expect_eq(set_taken(0), 0);
	cr_expect_eq(set_taken(0xea), -EINVAL);
	cr_expect_eq(set_taken(0xa1), -EOPNOTSUPP);
	cr_expect_eq(set_taken(1), -EPROTO); /* from no kernel */
	cr_expect_eq(dcb_set_take(nlh), -EPROTO);
	free(nlh);
}

/* ---- What follows ---- */

static struct dcb nic(unsigned int capability, int dcbx)
{
	return (struct dcb){ .pfc = { .pfc_cap = capability }, .has_pfc = 1, .has_dcbx = dcbx >= 0, .dcbx = dcbx };
}

Test(dcb, judge__who_says_for_which_priorities)
{
	static const struct {
		const char *what;
		int capability, dcbx; /* -1: the driver does not say */
		enum dcb_verdict verdict;
	} cases[] = {
		{ "the host", 8, DCB_HOST_IEEE, DCB_SETTABLE },
		{ "the host, of either version", 8, DCB_HOST_IEEE | DCB_CAP_DCBX_VER_CEE, DCB_SETTABLE },
		{ "nobody, and it is fixed", 8, DCB_HOST_IEEE | DCB_CAP_DCBX_STATIC, DCB_SETTABLE },
		{ "it does not say", 8, -1, DCB_SETTABLE },
		{ "firmware", 8, DCB_CAP_DCBX_VER_IEEE, DCB_LLD },
		{ "an agent below the driver", 8, DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE, DCB_LLD },
		{ "both are said", 8, DCB_HOST_IEEE | DCB_CAP_DCBX_LLD_MANAGED, DCB_LLD },
		{ "nothing runs", 8, 0, DCB_LLD },
		{ "the host, by CEE", 8, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE, DCB_CEE },
		{ "it has no PFC", 0, DCB_HOST_IEEE, DCB_NONE },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcb d = nic(cases[i].capability, cases[i].dcbx);

		cr_expect_eq(dcb_judge(&d, 8), cases[i].verdict, "%s", cases[i].what);
	}
}

Test(dcb, judge__no_more_priorities_than_it_can)
{
	struct dcb two = nic(2, DCB_HOST_IEEE), lld = nic(2, 0);

	cr_expect_eq(dcb_judge(&two, 0), DCB_SETTABLE);
	cr_expect_eq(dcb_judge(&two, 0x81), DCB_SETTABLE);
	cr_expect_eq(dcb_judge(&two, 0x83), DCB_TOO_MANY);
	cr_expect_eq(dcb_judge(&two, 0xff), DCB_TOO_MANY);
	cr_expect_eq(dcb_judge(&lld, 0xff), DCB_LLD);
}

Test(dcb, priorities__as_text)
{
	char buf[DCB_PRIORITIES_STRLEN];

	cr_expect_str_eq(dcb_priorities_format(0, buf), "none");
	cr_expect_str_eq(dcb_priorities_format(1 << 3, buf), "3");
	cr_expect_str_eq(dcb_priorities_format(0x81, buf), "0,7");
	cr_expect_str_eq(dcb_priorities_format(0xff, buf), "0,1,2,3,4,5,6,7");
}

Test(dcb, counter__by_name)
{
	static const char *const others[] = {
		"rx_pause_duration_prio_3", "rx_pause_prio_8",	"rx_pause_prio_3x", "xx_pause_prio_3",
		"rx_pause_prio_",	    "rx_pause_prio_-1", "rx_packets",	    ""
	};
	unsigned int priority, i;
	int sent;

	cr_assert(dcb_counter("rx_pause_prio_3", &priority, &sent));
	cr_expect_eq(priority, 3);
	cr_expect(!sent);
	cr_assert(dcb_counter("tx_pause_prio_0", &priority, &sent));
	cr_expect_eq(priority, 0);
	cr_expect(sent);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect(!dcb_counter(others[i], &priority, &sent), "%s", others[i]);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The checks on a message's header, before anything else of the packet is believed. */
#include <criterion/criterion.h>
#include "sluice/wire/wire.h"

struct head {
	struct wire_shim shim;
	struct wire_hdr hdr;
};

static struct head head_make(unsigned int msg, unsigned int max_hops, int echo_hops)
{
	struct head h = {
		.shim = { .type_npt = WIRE_SHIM_TYPE_NPT, .ip_proto = 4 },
		.hdr = { .version_msg = WIRE_VERSION << 4 | msg, .max_hops = max_hops },
	};

	if (echo_hops >= 0) {
		h.hdr.flags = WIRE_F_ECHO;
		h.hdr.echo_hops = echo_hops;
	}
	h.shim.length_words = (wire_length(&h.hdr) - sizeof(h.shim)) / 4;
	return h;
}

Test(wire_length, every_shape_of_data)
{
	int hops, echo;

	for (hops = 0; hops <= HPCC_MAX_HOPS; hops++) {
		for (echo = -1; echo <= HPCC_MAX_HOPS; echo++) {
			struct head h = head_make(WIRE_DATA, hops, echo);
			unsigned int want = 12 + (hops ? 4 + 8 * hops : 0) + (echo < 0 ? 0 : 12 + 8 * echo);

			cr_expect_eq(wire_length(&h.hdr), want);
			cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_OK);
		}
	}
}

Test(wire_length, authentication)
{
	int hops, echo;

	for (hops = 0; hops <= HPCC_MAX_HOPS; hops++) {
		for (echo = -1; echo <= HPCC_MAX_HOPS; echo++) {
			struct head h = head_make(WIRE_DATA, hops, echo);
			unsigned int without = wire_length(&h.hdr);

			h.hdr.flags |= 2;
			cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_BAD_LENGTH);
			h.shim.length_words += 4;
			cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_OK);
			cr_expect_eq(wire_length(&h.hdr), without + 16);
			cr_expect_eq(4 * wire_auth_words(&h.hdr), (unsigned int)(56 + (echo < 0 ? 0 : 12 + 8 * echo)));
		}
	}
}

/* 12 bytes between telemetry and echo, which the tag does not cover. */
Test(wire_length, voq)
{
	int hops, echo;

	for (hops = 0; hops <= HPCC_MAX_HOPS; hops++) {
		for (echo = -1; echo <= HPCC_MAX_HOPS; echo++) {
			struct head h = head_make(WIRE_DATA, hops, echo);
			unsigned int without = wire_length(&h.hdr), at = wire_echo_offset(&h.hdr),
				     words = wire_auth_words(&h.hdr);

			cr_expect_eq(at, (unsigned int)(12 + (hops ? 4 + 8 * hops : 0)));
			h.hdr.flags |= 16;
			cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_BAD_LENGTH);
			h.shim.length_words += 3;
			cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_OK);
			cr_expect_eq(wire_length(&h.hdr), without + 12);
			cr_expect_eq(wire_echo_offset(&h.hdr), at + 12);
			cr_expect_eq(wire_auth_words(&h.hdr), words);
		}
	}
}

Test(wire_length, largest_overhead)
{
	struct head h = head_make(WIRE_DATA, HPCC_MAX_HOPS, HPCC_MAX_HOPS);

	cr_expect_eq(20 + 8 + wire_length(&h.hdr), 136);
	cr_expect_eq(WIRE_OVERHEAD_BYTES(20), 136);
	cr_expect_eq(WIRE_OVERHEAD_BYTES(40), 156);
}

Test(wire_check, any_wrong_length)
{
	struct head h = head_make(WIRE_DATA, HPCC_MAX_HOPS, 2);
	unsigned int right = h.shim.length_words, words;

	for (words = 0; words < 256; words++) {
		h.shim.length_words = words;
		cr_expect_eq(wire_check(&h.shim, &h.hdr), words == right ? WIRE_OK : WIRE_BAD_LENGTH);
	}
}

Test(wire_check, any_first_byte_of_the_shim)
{
	struct head h = head_make(WIRE_DATA, HPCC_MAX_HOPS, -1);
	unsigned int v;

	for (v = 0; v < 256; v++) {
		h.shim.type_npt = v;
		cr_expect_eq(wire_check(&h.shim, &h.hdr), v == WIRE_SHIM_TYPE_NPT ? WIRE_OK : WIRE_NOT_HPCC);
	}
}

Test(wire_check, any_version_and_message)
{
	struct head h = head_make(WIRE_DATA, 0, -1);
	unsigned int v;

	for (v = 0; v < 256; v++) {
		enum wire_check want = WIRE_OK;

		if (v >> 4 != 4)
			want = WIRE_BAD_VERSION;
		else if ((v & 0xf) < 1 || (v & 0xf) > 6)
			want = WIRE_BAD_MSG;
		else if ((v & 0xf) >= 4)
			want = WIRE_BAD_HOPS; /* without an entry */
		h.hdr.version_msg = v;
		cr_expect_eq(wire_check(&h.shim, &h.hdr), want);
	}
}

Test(wire_check, more_hops_than_there_is_room_for)
{
	unsigned int v;

	for (v = HPCC_MAX_HOPS + 1; v < 256; v++) {
		struct head h = head_make(WIRE_DATA, HPCC_MAX_HOPS, 0);

		h.hdr.max_hops = v;
		cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_BAD_HOPS);
		h.hdr.max_hops = 0;
		h.hdr.echo_hops = v;
		cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_BAD_HOPS);
	}
}

static void batch_is_as_long_as_its_entries(unsigned int msg)
{
	struct head h = head_make(msg, 1, -1);
	unsigned int n, auth;

	for (n = 0; n < 256; n++) {
		for (auth = 0; auth < 2; auth++) {
			unsigned int bytes = 12 + 24 * n + 16 * auth;

			h.hdr.max_hops = n;
			h.hdr.flags = auth ? WIRE_F_AUTH : 0;
			h.shim.length_words = (bytes - 4) / 4;
			cr_expect_eq(wire_check(&h.shim, &h.hdr), n && n <= 32 ? WIRE_OK : WIRE_BAD_HOPS);
			if (!n || n > 32)
				continue;
			cr_expect_eq(wire_length(&h.hdr), bytes);
			h.shim.length_words--;
			cr_expect_eq(wire_check(&h.shim, &h.hdr), WIRE_BAD_LENGTH);
		}
	}
}

Test(wire_check, feedback_is_as_long_as_its_reports)
{
	batch_is_as_long_as_its_entries(WIRE_FEEDBACK);
}

Test(wire_check, credit_is_as_long_as_its_credits)
{
	batch_is_as_long_as_its_entries(WIRE_CREDIT);
}

Test(wire_check, rate_is_as_long_as_its_rates)
{
	batch_is_as_long_as_its_entries(WIRE_RATE);
}

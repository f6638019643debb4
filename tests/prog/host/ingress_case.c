// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "ingress_case.h"

const struct ip_spec *ingress_forward(int v6)
{
	return v6 ? &a_to_b_v6 : &a_to_b;
}

void ingress_flow_runs(int v6, __u64 tx_bytes)
{
	flow_runs_of((struct ip_spec){ .v6 = v6, .payload = 100 }, tx_bytes);
}

__u64 ingress_hop_of(unsigned int code, __u64 ts_ns, __u64 tx_bytes, __u64 qlen_bytes)
{
	return (__u64)code << 60 | (ts_ns & 0xffffff) << 36 | (tx_bytes / 128 & 0xfffff) << 16 | qlen_bytes / 80;
}

struct frame reply_of(struct ip_spec s, struct wire_spec w)
{
	unsigned int len = 14 + (s.v6 ? 40 : 20) + 20;
	struct frame inner = frame_of(s), probe;

	if (inner.len > len)
		inner = frame_cut(inner, len);
	w.msg = 2;
	w.room = 5;
	probe = frame_wrap(&inner, w);
	return frame_turned(probe);
}

static struct hpcc_ack ack_of(const struct feedback *fb, const struct flow *f)
{
	struct hpcc_ack ack = {
		.snd_nxt = f->tx.bytes,
		.gap_ns = f->rx.fb_rx_ns ? fb->gap_ns : HPCC_GAP_UNKNOWN,
		.path_id = fb->path,
		.hops = fb->hops,
	};
	unsigned int i;

	/* the newest position with these 32 bits that is not after the last one sent */
	ack.seq = (f->tx.bytes & ~0xffffffffULL) | fb->seq;
	if (ack.seq > f->tx.bytes)
		ack.seq -= 1ULL << 32;
	for (i = 0; i < 5; i++)
		ack.hop[i] = telem_unpack(i < fb->hops ? fb->hop[i] : 0);
	return ack;
}

enum hpcc_kind expect_feedback(const struct feedback *fb, unsigned int payload, enum sluice_mode mode)
{
	static const enum sluice_stat stat[] = {
		[HPCC_FIRST] = STAT_FB_FIRST,
		[HPCC_FAST] = STAT_FB_FAST,
		[HPCC_FULL] = STAT_FB_FULL,
		[HPCC_SKIPPED] = STAT_FB_SKIPPED,
	};
	struct ip_spec back = { .udp = fb->udp, .reply = 1, .payload = payload },
		       spec = { .udp = fb->udp, .payload = 100 };
	struct frame inner = frame_of(back), in;
	struct flow f = flow_get(spec), now;
	struct hpcc_state want = f.cc;
	struct hpcc_ack ack = ack_of(fb, &f);
	__u64 before, after, age = fb->probe ? 0 : 100 * 1024;
	enum hpcc_kind kind;
	struct result r;

	if (fb->probe)
		in = reply(spec, .nhop = fb->hops, .path = fb->path, .seq = fb->seq,
			   .hop = { fb->hop[0], fb->hop[1], fb->hop[2], fb->hop[3], fb->hop[4] });
	else
		in = wrap(&inner, .room = payload ? 5 : 0, .echo = 1, .echo_hops = fb->hops, .echo_path = fb->path,
			  .echo_seq = fb->seq, .echo_age = 100,
			  .echo_hop = { fb->hop[0], fb->hop[1], fb->hop[2], fb->hop[3], fb->hop[4] });
	if (mode == MODE_OBSERVE) {
		kind = hpcc_observe(&want, &f.params, &ack);
		if (kind != HPCC_SKIPPED)
			hpcc_record(&want, &ack);
	} else {
		kind = hpcc_new_ack(&want, &f.params, &ack);
	}
	if (f.rx.fb_rx_ns) {
		f.rx.fb_rx_ns = clock_ns() - age - fb->gap_ns;
		flow_set(spec, &f);
	}
	before = clock_ns();
	r = run(sink, &in);
	after = clock_ns();
	if (fb->probe) {
		expect_verdict(r, VERDICT_DROP);
		expect_counted(STAT_RX_PROBE_REPLY, stat[kind]);
	} else {
		expect_frame(&r.out, &inner);
		expect_counted(STAT_RX_DATA, stat[kind]);
	}
	now = flow_get(spec);
	expect_eq(now.cc.w, want.w);
	expect_eq(now.cc.wc, want.wc);
	expect_eq(now.cc.u, want.u);
	expect_eq(now.cc.u_frac, want.u_frac);
	expect_eq(now.cc.rate_bps, want.rate_bps);
	expect_eq(now.cc.inc_stage, want.inc_stage);
	expect_eq(now.cc.last_update_seq, want.last_update_seq);
	cr_assert(!memcmp(&now.cc, &want, sizeof(want)), "%sthe record of the hops", world_fixture());
	expect_eq(now.rx.lock, 0);
	if (kind == HPCC_SKIPPED) {
		expect_eq(now.rx.feedbacks, f.rx.feedbacks);
		expect_eq(now.rx.fb_rx_ns, f.rx.fb_rx_ns);
		expect_eq(now.rx.fb_ns, f.rx.fb_ns);
	} else {
		expect_eq(now.rx.feedbacks, f.rx.feedbacks + 1);
		expect_eq(now.rx.fb_probe, fb->probe);
		expect_between(now.rx.fb_rx_ns, before - age, after - age);
		expect_between(now.rx.fb_ns, before, after);
	}
	return kind;
}

void hop_advance(struct feedback *fb, unsigned int n, __u64 dt_ns, unsigned int permille, __u64 qlen_bytes)
{
	__u64 ts = (fb->hop[n] >> 36 & 0xffffff) + dt_ns;
	__u64 tx = (fb->hop[n] >> 16 & 0xfffff) * 128 + dt_ns * 25 / 2 * permille / 1000;

	fb->hop[n] = ingress_hop_of(12, ts, tx, qlen_bytes);
}

void host_asked(int v6)
{
	struct host h = { .asked_ns = clock_ns() - 60000 * MS, .unanswered_ns = 6 };

	host_set(v6, HOST_B, &h);
}

struct ip_spec three[] = {
	{ .payload = 100 },
	{ .udp = 1, .payload = 100 },
	{ .udp = 1, .payload = 100, .sport = 7 },
};

struct memory remember(int v6)
{
	struct memory m = {};
	int i;

	for (i = 0; i < 3; i++) {
		three[i].v6 = v6;
		if (flow_exists(three[i]))
			m.flow[i] = flow_get(three[i]);
	}
	m.host = host_get(v6, HOST_B);
	return m;
}

void three_flows(int v6)
{
	struct flow f;
	int i;

	for (i = 0; i < 3; i++) {
		three[i].v6 = v6;
		flow_runs_of(three[i], 1000);
		f = flow_get(three[i]);
		f.beside.unanswered = 0; /* so that an answer changes nothing by itself */
		flow_set(three[i], &f);
	}
	host_asked(v6);
}

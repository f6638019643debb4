/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORLD_H
#define WORLD_H
/*
 * One machine in a network namespace of its own, with the data plane loaded and no daemon: the tests
 * fill in the maps, run single programs on single frames (BPF_PROG_TEST_RUN), and look at what came
 * out, at the verdict, and at the counters. Criterion runs every test in a process of its own, so
 * there is one world to a test and nothing of it outlives the test.
 *
 * Both ends of a flow live in the same maps: their keys differ.
 */
#include <criterion/criterion.h>
#include <linux/bpf.h>

#include "packet.h"
#include "sluice/abi/abi.h"
#include "sluice/pause/qdisc.h"
#include "sluice/queue/port.h"
#include "sluice/queue/note.h"

#define VERDICT_PASS (-1) /* TC_ACT_UNSPEC: the next filter runs */
#define VERDICT_DROP 2
#define VERDICT_REDIRECT 7

#define WORLD_IFINDEX 1
#define WORLD_MTU 9000
#define WORLD_BPS 100000000000ULL
#define WORLD_T_NS 1000000 /* base RTT */

enum program { EGRESS, INGRESS, HOP, HOP_MAP, POD_HOP, INGRESS_XDP, TOR_INGRESS, PFC_INGRESS };
#define PROGRAMS (PFC_INGRESS + 1)

/*
 * Where the host takes telemetry off: INGRESS at tc, or INGRESS_XDP at XDP with tc behind it, which
 * then gets what XDP passes as it is. The verdicts of XDP are told in those of tc.
 */
extern enum program sink;
/* A test of the suite, and the same of the suite with _xdp behind its name, at the other sink. */
#define SinkTest(suite, name)             \
	static void suite##_##name(void); \
	Test(suite, name)                 \
	{                                 \
		sink = INGRESS;           \
		suite##_##name();         \
	}                                 \
	Test(suite##_xdp, name)           \
	{                                 \
		sink = INGRESS_XDP;       \
		suite##_##name();         \
	}                                 \
	static void suite##_##name(void)

/* The options of a world; zero means the default. */
struct world_spec {
	unsigned int flows;  /* for how many there is room in the maps of flows */
	__u16 wire_port;     /* the UDP port of Sluice's messages */
	int frags;	     /* XDP takes packets in fragments */
	int no_kfuncs;	     /* as on a kernel whose programs cannot look at qdiscs */
	int tracepoints;     /* their programs are loaded, for world_trace() */
	int counters_mapped; /* for world_counters() */
	__u8 wings;	     /* that the programs have although nothing in the maps uses them */
};

/* A control map with mode dry-run, loopback as a port of the host, and both peer prefixes. */
void world_make(void);
void world_make_spec(struct world_spec s);
#define world_make_with(...) world_make_spec((struct world_spec){ __VA_ARGS__ })
/*
 * The counters, which one CPU counts in, at an address: the fuzzer compares all of them with each packet. Functions that
 * look at counters do not work in such a world.
 */
const void *world_counters(void);
/* Attaches the tracepoint programs. A test that waits for them does not sleep: usleep() and closing a packet socket do. */
void world_trace(void);
void world_drop(void);

/* Skips the test, with the reason, where the program is not loaded on this kernel. */
void world_needs(enum program p);

/* --- running a program --- */

int world_program(enum program p); /* its fd; negative where this kernel cannot load it */

struct run_spec {
	__u32 ifindex;	       /* WORLD_IFINDEX */
	__u32 ingress_ifindex; /* where it came in, if it is forwarded */
	__u32 gso_size, gso_segs, wire_len, mark;
	__u32 note; /* the last word that a packet has for programs, left over from somebody else */
	int clone; /* of EGRESS: it is the copy of which a PROBE is made, or 1 and the enum probe_kind of a companion, 5 with a VOQ */
	int marked; /* of INGRESS_XDP: it comes with the mark of what XDP has counted */
	__u64 tstamp;
	__u32 repeat; /* of one packet, which has a socket; 0: 1 */
	__u32 linear; /* of INGRESS_XDP: bytes that lie in one piece; 0: all */
};

struct result {
	int verdict;
	struct frame out;
	struct __sk_buff ctx;
	int counted; /* XDP has marked it so */
};

struct result world_run(enum program p, const struct frame *f, struct run_spec s);
/* The note for the qdisc `sluice`. */
struct queue_note note_of(const struct result *r);
#define run(program, frame, ...) world_run(program, frame, (struct run_spec){ __VA_ARGS__ })

/* --- what must have happened; the macros name the line of the test --- */

#define MS 1000000ULL /* in ns */

/* A sentence in front of every later complaint, for tests that run through many cases. */
void fixture(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define FOR_V4_AND_V6(v6) for (int v6 = 0; v6 < 2 && (fixture("IPv%d", v6 ? 6 : 4), 1); v6++)

/*
 * Since the last time exactly these counters moved, each by the number of times it is named. At the
 * sink INGRESS_XDP so did rx_xdp, with each that XDP counts; and flow_made, with each entry of the flow map that is new;
 * flow_made_tx and its like count only where they are named.
 */
#define expect_counted(...) expect_that(world_counted((const int[]){ __VA_ARGS__, -1 }))
/* The same of programs that are attached: how many packets they saw is not known. */
#define expect_counted_attached(...) expect_that(world_counted_attached((const int[]){ __VA_ARGS__, -1 }))
/* The frames are the same, byte for byte. */
#define expect_frame(got, want) expect_that(world_diff(want, got))
/* The program lets the frame pass as it is, and only this counter moved. */
#define expect_untouched(program, frame, stat, ...) \
	expect_that(world_untouched(program, frame, stat, (struct run_spec){ __VA_ARGS__ }))
#define expect_verdict(result, want) \
	cr_assert((result).verdict == (want), "%sverdict %d, not %d", world_fixture(), (result).verdict, want)
#define expect_eq(got, want)                                                                                          \
	do {                                                                                                          \
		__u64 got_ = got, want_ = want;                                                                       \
		cr_assert(got_ == want_, "%s%s is %llu (%#llx), not %llu (%#llx)", world_fixture(), #got, got_, got_, \
			  want_, want_);                                                                              \
	} while (0)
#define expect_between(got, low, high)                                                                            \
	do {                                                                                                      \
		__u64 got_ = got, low_ = low, high_ = high;                                                       \
		cr_assert(got_ >= low_ && got_ <= high_, "%s%s is %llu, not %llu to %llu", world_fixture(), #got, \
			  got_, low_, high_);                                                                     \
	} while (0)
#define expect_that(complaint)                                   \
	do {                                                     \
		const char *why_ = complaint;                    \
		cr_assert(!why_, "%s%s", world_fixture(), why_); \
	} while (0)

const char *world_fixture(void);
const char *world_counted(const int *stats);
const char *world_counted_attached(const int *stats);
/* Every frame ended in exactly one counter, whichever. */
const char *world_ended(void);
const char *world_diff(const struct frame *want, const struct frame *got);
/* Runs the frame with each byte from the one at `from` on changed, one at a time: each ended as above. */
const char *world_damaged(enum program p, const struct frame *good, unsigned int from);
const char *world_untouched(enum program p, const struct frame *f, enum sluice_stat stat, struct run_spec s);

/* --- the maps --- */

int world_map(const char *name); /* its fd */

/*
 * The clock of the programs. It stands, except for a microsecond with each run, and passes as the test says, so that a
 * busy machine ages nothing; clock_release() lets CLOCK_MONOTONIC run, which attached programs and sockets need.
 */
__u64 clock_ns(void);
void clock_pass(__u64 ns);
void clock_release(void);

void control_set(enum sluice_mode mode, int bypass);
/* Whether the windows of foreign stacks are cut. No. */
void rwnd_set(int on);
/* The pod behind this veth, by its network namespace. */
void pod_set(__u32 ifindex, __s32 netnsid);
/* As many ports are in other domains than 0. */
void domains_set(__u32 ports);
/* How long UDP waits (0: the default), and whether what would wait longer is marked. 10 ms, no. */
void horizon_set(__u64 ns, int mark);
/* Messages are authenticated with n keys; 0: they are not. */
void keys_set(const struct siphash_key *key, unsigned int n);
/* How far the clock of sequences is ahead. */
void seq_base_set(__u64 ns);
__u64 seq_base_get(void);
/* Hosts that were not heard since are to be asked anew. */
void doubt_set(__u64 ns);
__u32 control_next_epoch(void);
void port_set(__u32 ifindex, const struct port *port);
/* As the daemon does it: flows take it up with the epoch. */
void port_change(__u32 ifindex, const struct port *port);
void port_remove(__u32 ifindex);
struct port port_get(__u32 ifindex);
struct port port_usual(void);
/* The classes of a port, and the queue of each. */
void classes_set(__u32 ifindex, const struct port_classes *classes);
void class_queue_set(__u32 ifindex, __u32 class, const struct class_queue *queue);
struct class_queue class_queue_get(__u32 ifindex, __u32 class);
/* The same class where the qdisc `sluice` has it, of a port whose netns_cookie is 0. */
void class_seen_set(__u32 ifindex, __u32 class, const struct class_seen *seen);
/* A port with pauses; n: how many obey them. */
void pauses_set(__u32 ifindex, const struct pfc_port *pauses);
struct pfc_port pauses_get(__u32 ifindex);
/* The pauses that the qdisc of an interface of the network namespace 0 obeys. */
void queue_pauses_set(__u32 ifindex, const struct queue_pauses *p);
struct queue_pauses queue_pauses_get(__u32 ifindex);
void pauses_count(__u32 n);
struct pfc_slot pauses_slot(__u32 slot);
void pauses_slot_set(__u32 slot, const struct pfc_slot *s);
/* How often a queue has woken the daemon since the last time. */
unsigned int alarms_taken(void);
void peer_set(const char *address, __u32 prefixlen, const struct peer *peer); /* "10.1.0.0" or v6 */
struct peer peer_usual(void);
/* As the daemon does it with what its configuration has no more, with the epoch, and with what it has again. */
void peers_leave(int leave);
void port_leaves(__u32 ifindex, int leave);
/* Flows to all peers ask for telemetry in this encoding from now on. */
void encoding_set(enum sluice_encoding encoding);

/* This machine as a rack; 0: packets use no VOQs. */
void tor_set(__u32 tor);
/* The VOQ to the first prefixlen bits of a host's address. */
struct voq_key voq_key_of(int v6, enum who who, __u32 prefixlen);
int voq_exists(struct voq_key k);
struct voq voq_get(struct voq_key k);
void voq_set(struct voq_key k, const struct voq *v);
/* Makes VOQs to unused addresses until there is no more room, and removes one of them again. */
void voqs_fill(void);
void voqs_make_room(void);

/* The address of the IP packet's source, as the maps have it. */
struct sluice_addr addr_of(int v6, enum who who);

/*
 * A message of n entries of 24 bytes from B to A, of `bytes` from the shim to the end of the tag: signs
 * it, and the packet that it comes in.
 */
void batch_sign(__u8 *at, unsigned int bytes, unsigned int n, int v6, const struct siphash_key *key, __u64 seq);
struct frame frame_of_batch(int v6, const __u8 *at, unsigned int bytes);

/* The flow of frames like f, as its sender has it. */
struct flow_key flow_key_of(struct ip_spec s);
int flow_exists(struct ip_spec s);
struct flow flow_get(struct ip_spec s);
void flow_set(struct ip_spec s, const struct flow *f);
unsigned int flows_count(void);
/* The report that the receiver of the reverse of such a flow has computed. Returns whether there is one. */
int report_get(struct ip_spec s, struct rx_flow *r);
void report_set(struct ip_spec s, const struct rx_flow *r);
/* The reports of ingress to the daemon since the last call, up to most. */
unsigned int reports_taken(struct report *out, unsigned int most);
/* A tracer is there: trace_on and all that follows it in control, except the pid. */
void trace_set(const struct control *wish);
/* The records since the last call, up to most. */
unsigned int traces_taken(struct trace *out, unsigned int most);
/* The daemon deals out credit: it did so at credit_ns, and that holds for life_ns. */
void credit_alive(__u64 credit_ns, __u64 life_ns);
/* The slot of a VOQ that arrives, and what is in it. */
void arrival_slot_set(const struct arrival_key *key, __u32 slot);
void arrival_set(__u32 slot, const struct arrival *a);
struct arrival arrival_get(__u32 slot);
void credit_set(__u32 slot, const struct credit *c);
struct credit credit_get(__u32 slot);
void ring_set(__u32 port, const struct credit_ring *r);
struct credit_ring ring_get(__u32 port);
/* The notes of ingress to the daemon on VOQs since the last call, up to most. */
unsigned int news_taken(struct arrival_news *out, unsigned int most);
unsigned int asks_to_tell(struct arrival_ask *out, unsigned int most);
/* The notes of hop, or of a switch's ingress, to its daemon. */
unsigned int asks_taken(struct tor_news *out, unsigned int most);
/* As a key of the maps of hosts, in domain 0. */
struct host_key host_of(int v6, enum who who);
int host_exists(int v6, enum who who);
struct host host_get(int v6, enum who who);
void host_set(int v6, enum who who, const struct host *h);
/* A and B, both versions, are known to strip. */
void hosts_strip(void);

/* The flow of such packets from A, as its first one leaves it, with wire bytes sent so far. */
void flow_runs_of(struct ip_spec s, __u64 tx_bytes);

/* --- a link, for what needs a device of its own --- */

#define LINK_NEAR "near"
#define LINK_FAR "far"

/* A shell command, which must succeed. */
void sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A veth pair without any address; the near end is a host port. Returns its ifindex. */
__u32 link_make(const char *near_options);
/* tc's figures of the root qdisc of a device, or of all below mq. Needs jq. */
void qdisc_stats(const char *device, __u64 *tx_bytes, __u64 *backlog_bytes);
/* Sends a frame from, and catches the next one that arrives at, an end of the link. */
int packet_socket(const char *device);
void packet_send(int fd, const struct frame *f);
/* Sends n UDP frames, each of this length, without sleeping. */
#define FRAME_BYTES 1000
void send_frames(const char *device, unsigned int n, __u8 tos, int v6);
/* 0: nothing arrived in wait_ms. */
int packet_catch(int fd, struct frame *f, int wait_ms);
/* Attaches a program to tc of a device, after the existing ones; INGRESS_XDP to generic XDP. */
void link_attach(enum program p, const char *device, int ingress);

#endif

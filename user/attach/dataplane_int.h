/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DATAPLANE_INT_H
#define SLUICE_DATAPLANE_INT_H
/* Shared by the files of the data plane. What each of them gives to the others is under its name. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <time.h>
#include "attach/dataplane.h"
#include "lib/net.h"
#include "lib/route.h"
#include "sluice.skel.h"

/* A link whose other end is in another network namespace. */
struct pod_link {
	__u32 ifindex, master;
	__s32 netnsid;
	int routed;  /* a pod CIDR is routed to it */
	int ingress; /* it has a qdisc `ingress`, which takes the place of clsact: programs are attached by tcx */
	__u64 bps;   /* rate of its tbf or htb; 0: none */
	__u32 htb, htb_default; /* handle of its htb (0: none), and minor number of the default class */
	enum htb_verdict verdict;
	int told; /* why its htb gets no stamp was said */
};

struct pods_list {
	struct pod_link *link; /* sorted by ifindex */
	unsigned int n, room;
};

/* Programs that are loaded together. Only the sets that the configuration wants are loaded: verification is slow. */
enum program_set {
	SET_HOST,    /* egress and ingress */
	SET_SWITCH,  /* hop */
	SET_VOQS,    /* tor */
	SET_PODS,    /* pod_hop */
	SET_BACKLOG, /* tracepoints, where stamps need them */
	SET_CLASSES, /* tracepoints of ports with classes */
	SET_PFC,     /* tracepoints of switch ports with pauses, and the program that hears them */
	SET_N
};

/* Each loads a set that was not there, or one of host, switch and VOQs with one of the two wings that it lacked. */
#define RELOADS_MAX (SET_N + 3 * 2)

struct dataplane {
	char pin_dir[256];
	int lock_fd;
	struct sluice_bpf *skel;	      /* the maps, and the programs wanted at the start */
	struct sluice_bpf *more[RELOADS_MAX]; /* programs wanted by reloads, over the same maps; NULL at the end */
	struct sluice_bpf *of[SET_N];	      /* the object in which a set is loaded last; NULL: none */
	unsigned char *elf;		      /* the object with the configured congestion control's name */
	struct pins pins;
	int fresh;	     /* this run made the pins */
	int lost;	     /* some of the pins are missing, and are made anew */
	struct adopt *adopt; /* the maps are of another version, and are being converted; else NULL */
	int routes_changed, pods_changed;
	struct routes *routes; /* as read for the event that is being handled; NULL: not yet */
	struct pods_list pods; /* as of the last look */
	unsigned int pods_stamped;
	int tracepoints;       /* this run attached the tracepoints of backlog */
	int class_tracepoints; /* this run attached the tracepoints of classes */
	int pfc_tracepoints;   /* this run attached the tracepoints of pauses */
	char queue_why[256];   /* why there is no qdisc `sluice`; "": there is */
	int queue_is_new;      /* this run registered it */
	int running;	       /* the attached programs are this run's */
	int linger_fd;	       /* a timer: when leaving peers and ports are removed */
	struct {
		__u32 ifindex;
		char name[IFNAMSIZ];
		__u32 before;	    /* sum of the programs in front of ours that were last reported; 0: none */
	} known[CONFIG_INTERFACES]; /* names of the configured interfaces when they were attached */
	struct {
		__u64 since_ns, last_ns, next_ns;
		unsigned int times;
	} put_back; /* watch.c: how often in a minute something was put back, and when that goes on */
	unsigned int ticks;
	__u64 cc_back_ns;   /* when the default congestion control was put back; 0: never */
	char cc_others[16]; /* one that somebody insists on; "" */
#define KEPT_PINS 64
	struct {
		char name[32];
		int fd;
	} kept[KEPT_PINS]; /* what is pinned, links at tcx left aside */
	unsigned int kept_n;
	struct msg_limit limit, route_limit, pod_limit, pin_limit, htb_limit[HTB_VERDICTS];
	__u64 seq_base_ns;   /* as it was at the last look: ingress moves it, too */
	__u64 clock_said_ns; /* when the clock was last reported as off */
};

static inline void pin_path(char *path, size_t size, const char *dir, const char *name)
{
	snprintf(path, size, "%s/%s", dir, name);
}

/* --- pin_dir.c --- */

struct dataplane *dataplane_new(void);
/* Leaves everything attached (the next daemon adopts it). */
void dataplane_close(struct dataplane *dp);
/* Makes the pin directory if it is missing, and takes its lock. 0, or -errno with a message. */
int pin_dir_lock(struct dataplane *dp, const char *dir);
/* Pins again those that somebody removed since dataplane_keep(). */
void pins_watch(struct dataplane *dp);

/* --- control.c --- */

/* The configuration is in force, and the programs read it anew. */
void epoch_next(struct dataplane *dp, const struct config *c);
/* Moves the base of sequences (seq.h). A clock that is off is reported at once on request, else once an hour. */
void seq_base_follow(struct dataplane *dp, const struct config *c, int asked);
/*
 * Stores the configuration's keys in the unused slot. A new daemon has its own slots: it uses the current number,
 * because the programs of the previous one read that, too.
 */
int keys_apply(struct dataplane *dp, const struct config *c);

/* --- peers.c --- */

#define DP_LINGER_SILENCES 3		    /* number of silences after which peers go plain */
#define DP_SILENT_NS (100 * 1000 * 1000ULL) /* a silence is this long, or base RTTs as below: egress_peer() */
#define DP_SILENT_RTTS 4

struct leaving {
	__u64 longest_ns; /* base RTT */
	unsigned int peers;
};

/*
 * Makes the peers map match the configuration, and marks peers that it no longer has as leaving. c gets the measured T
 * of its prefixes.
 */
int peers_apply(struct dataplane *dp, struct config *c);
/* How long the other side may take to notice that we are silent. Its base RTT is assumed to equal ours. */
__u64 linger_ns(const struct dataplane *dp, struct leaving *l);
/* Starts the time of leaving peers and ports: the programs know of them, by the epoch. */
void linger_begin(struct dataplane *dp);
struct timespec timespec_of(__u64 ns);

/* --- kernel.c --- */

/* NULL: errno says why. Valid until kernel_btf_free(). */
const struct btf *kernel_btf(void);
void kernel_btf_free(void);
/* 1, 0, or -errno if there is no BTF. kind: BTF_KIND_*. */
int kernel_btf_has(const char *name, __u32 kind);

/* --- programs.c --- */

/* libbpf logs one level lower; the reason of a failed load is kept. */
void libbpf_init(void);
/* Opens dp->skel, over the maps of the pin directory, or of `next` there while dp->adopt. */
int programs_open(struct dataplane *dp, const struct config *c);
/* Loads the sets that the configuration wants. was: control as the earlier daemon left it; NULL: there was none. */
int programs_load(struct dataplane *dp, const struct config *c, const struct control *was);
/* Loads the sets that it wants beyond those that are loaded. */
int programs_add(struct dataplane *dp, const struct config *c);
/* The sets that a configuration wants. */
#define SET_BIT(set) (1U << (set))
unsigned int sets_wanted(const struct config *c);
/* Makes the maps of one object those of another, matched by name. grow: small ones of a host are made anew. */
int maps_share(struct bpf_object *to, const struct bpf_object *from, int grow);

/* Whether the configuration has use for the maps of a host. */
int host_maps_are_used(const struct config *c);
/* For how many entries a map has room. 0: it is not known, with a message. */
__u32 map_entries(int fd, const char *name);
/* A map in use keeps the room that it has, with a message; has 0: it gets the room that is wanted. */
__u32 room_kept(__u32 has, __u32 wanted, const char *key);

/* --- tracepoints.c --- */

/* Attaches the tracepoints that the configuration wants (want), or removes the others. */
int tracepoints_apply(struct dataplane *dp, const struct config *c, int want);

/* --- routes.c --- */

/* Whether a start or reload is refused because of a route to a peer: all of them, with messages. */
int routes_check(struct dataplane *dp, const struct config *c);
/* Prepares the route of every peer, even if one fails. Returns the first error. */
int routes_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c);
/* Gives room to routes that came after their interface, or after it came back. */
void routes_follow(struct dataplane *dp, const struct config *c);
/* Removes those of our routes by the interface that no peer of the configuration needs. */
void routes_clean(struct dataplane *dp, const struct link_info *link, const struct config *c);
/* An event is handled: the next one reads the routes anew. */
void routes_forget(struct dataplane *dp);
/* Removes all routes of ours that leave by the interface. */
int routes_remove(__u32 ifindex);

/* --- port_describe.c --- */

/*
 * Fills in a port from configuration and kernel; -errno with a message when it cannot be used. A driver reports no
 * speed while there is no link: the port keeps its speed.
 */
int port_describe(const struct config *c, const struct config_interface *i, const struct link_info *link,
		  struct port *port);
/* Reports why the qdiscs of a port are unsuitable. by_nic: its NIC obeys pauses. */
void port_advise(const struct config_interface *i, const struct port *port, int by_nic);

/* --- port.c --- */

/* Attaches an interface, or what is new about it. 0, or -errno with a message; one that was attached stays so. */
int port_add(struct dataplane *dp, const struct config *c, const struct config_interface *i);
/* On an error something stays attached, with a message, and the port is still known. */
int port_remove(struct dataplane *dp, __u32 ifindex, const struct port *port);
/*
 * As port_remove(), in the middle of traffic. Adding or removing a clsact loses packets that are being sent: Linux
 * deactivates the device meanwhile (qdisc_graft(): of 60 times one or two packets each, at veth). So ours stays, empty,
 * until the daemon ends, or for the next attachment.
 */
int port_vacate(struct dataplane *dp, __u32 ifindex, const struct port *port);
/* Changes its entry; -errno with a message that ends in the consequence. */
int port_update(struct dataplane *dp, __u32 ifindex, const struct port *port, const char *effect);
/* Removes the classes n and above of a port. */
void classes_forget(struct dataplane *dp, __u32 ifindex, __u32 n);

/* --- domain.c --- */

/* The routing domain of an interface, and its VRF (0: none). 0, or -errno: both are 0. */
int domain_get(__u32 ifindex, __u16 *domain, __u32 *vrf);
/* Notes the VRFs of all ports, and whether there are several domains. */
void domains_apply(struct dataplane *dp);

/* --- ports_drop.c --- */

/*
 * Detaches and forgets the ports that the configuration lacks (NULL: all), and those that went away. A host's port
 * begins to leave: ports_leave() completes that.
 */
int ports_drop(struct dataplane *dp, const struct config *c);
/* A port that cannot be detached stays, continues to strip, and is retried with the next reload. */
void ports_leave(struct dataplane *dp);

/* --- ports.c --- */

/* Whether interfaces would be refused: reports all of them, before anything is changed. */
int ports_check(const struct dataplane *dp, const struct config *c);
/*
 * A missing interface is an error only if nothing is attached yet (must_exist). A start ends at the first error; a
 * reload serves the other interfaces, and returns the last.
 */
int ports_apply(struct dataplane *dp, const struct config *c, int must_exist);
/* Handles interfaces that went, came back, or changed name, qdisc, MTU or speed. 1: something was attached anew. */
int ports_follow(struct dataplane *dp, const struct config *c, const struct between *between);
/*
 * Gives the interfaces of the configuration their current names. anew: it has just been read, and a name in it means
 * the interface that has it now; else an attached interface keeps its place.
 */
void ports_name(struct dataplane *dp, struct config *c, int anew);

/* --- pin_swap.c: pins of another version --- */

#define ADOPT_DIR 300  /* below the pin directory, which has less than 256 */
#define ADOPT_PATH 600 /* with a file name */

/* The maps of PINS come first. */
extern const char *const pin_names[];

/* Opens a pin; the fd, or -1 with errno. */
int pin_get(const char *dir, const char *name);
/* Removes a directory below pin_dir, with the pins in it. */
void dir_remove(const char *pin_dir, const char *name);
/*
 * The pins in `new` replace the others. control comes last: it identifies the version. A daemon that was killed after
 * that has left a `new` without it.
 */
int pins_swap(const char *pin_dir);
/* XDP programs are identified by their counters: call this while those are pinned. tc strips telemetry meanwhile. */
void old_xdp_remove(const char *pin_dir);
/*
 * The programs of the congestion control live as long as the sockets that use it, and read W in maps that are no longer
 * written: they fall back to Reno, and if flows are carried entry by entry (own_cc) receive windows are cut down to W.
 */
void old_retire(const char *pin_dir);

/* Completes an adoption that was killed. With the lock held; before all else. */
int adopt_recover(const char *pin_dir);
/* Pins the layout of this version's maps, unless it is pinned. */
int adopt_layout_pin(struct dataplane *dp, const char *dir);
/* The layout pinned there. NULL: there is none, or it cannot be read; errno has the reason. The caller frees it. */
struct btf *adopt_layout_read(const char *dir);
/* Removes all pins of a directory, whichever version made them. */
void adopt_pins_remove(const char *dir);

/* --- adopt.c: maps of another version --- */

/* Reads the layout of the other version; -EPROTO: it cannot be read, with a message. Makes dp->adopt. */
int adopt_open(struct dataplane *dp);
/* Between opening and loading the object: decides which maps are shared. */
int adopt_plan(struct dataplane *dp);
/* The other version's control. */
const struct control *adopt_control(const struct dataplane *dp);
/* The object is loaded: control is filled, and dp->pins are opened. */
int adopt_fill(struct dataplane *dp);
/* Fills the maps and replaces the other version's. On an error before the replacement nothing has changed. */
int adopt_commit(struct dataplane *dp);
int adopt_is_committed(const struct dataplane *dp);
/* The programs are replaced. Also completes an earlier run that did not get this far. */
void adopt_finish(struct dataplane *dp);
void adopt_close(struct dataplane *dp);

/* --- cc.c --- */

/* Whether an earlier daemon's congestion control has the currently wanted name ("": none), and reads these maps. */
int cc_is_kept(const struct control *was, const struct config *c);
/* Replaces the placeholder in a copy of the object by the congestion control's name. */
int cc_name_set(struct dataplane *dp, const char *name);
int cc_register(struct dataplane *dp, const struct config *c);
/* 0, also if there is none, or -errno with a message: it stays registered and pinned, and another call retries. */
int cc_unregister(const char *pin_dir);
/* The default follows the mode: it only gains anything if windows are enforced. */
int cc_default_apply(struct dataplane *dp, const struct config *c);
/* Somebody has set another: puts ours back, once; if they set it again, theirs stays. */
void cc_default_watch(struct dataplane *dp, const struct config *c);
/* why: for the journal. -errno: it stays as it is, with a message, and another call retries. */
int cc_restore_default(struct control *ctl, const char *why);

/* --- pods.c --- */

/* Follows the pods of this network namespace. Wants to be called again while pods_changed. */
void pods_follow(struct dataplane *dp, const struct config *c);
/* Forgets the state of pods_follow(): it puts all its programs in place again. */
void pods_forget(struct dataplane *dp);

/* --- watch.c --- */

/* Whether programs of a port are gone, and are to be put back now: says so. */
int port_is_touched(struct dataplane *dp, __u32 ifindex, const struct port *port);
/* Whether programs of a pod's veth are gone: then pods_follow() puts all of them in place. */
void pods_watch(struct dataplane *dp);
/* Reports the programs of others that run before those of a port, which is number k of the configuration, once. */
void port_before_watch(struct dataplane *dp, unsigned int k, const struct port *port);

/* --- xdp.c --- */

/* libxdp logs one level lower, like libbpf. */
void xdp_init(void);
/*
 * Puts the sink of a host's interface where the configuration wants it. Returns PORT_F_XDP*, or 0 if it is at tc alone,
 * which is never an error; prints the reason if loud.
 */
__u32 xdp_apply(struct dataplane *dp, const struct config *c, const struct config_interface *i,
		const struct link_info *link, int loud);
int xdp_is_there(__u32 ifindex, __u32 stats_id);
/* Detaches programs that use these counters, and nothing else. */
void xdp_remove(__u32 ifindex, __u32 stats_id);
/* Removes the pins of libxdp for an interface that is gone; 0: for any. */
void xdp_forget(__u32 ifindex, __u32 stats_id);

/* --- queue.c: the qdisc `sluice` --- */

/* Registers and pins it if possible; otherwise fills queue_why, and prints that if it can be fixed. */
void queue_register(struct dataplane *dp);
/* Removes the name and the pins, if there are any. Qdiscs that are in place continue. */
void queue_unregister(const char *pin_dir);

/* --- queue_shared.c --- */

/* Makes the programs use the maps of a registered qdisc, if there is one: pauses, setups, classes. 0, or -errno. */
int queue_maps_share(struct sluice_bpf *s, const char *pin_dir);
/* Makes the object of the qdisc use those of the programs, before it is loaded. 0, or -errno. */
int queue_maps_take(struct bpf_object *queue, struct sluice_bpf *s);

/* --- queue_apply.c: interfaces with `queue: sluice` --- */

/* Whether one of them would be refused; reports it, before anything is changed. */
int queues_check(const struct dataplane *dp, const struct config *c);
/*
 * Installs it where the configuration wants it, and puts the previous qdisc back where we have installed it and the
 * configuration (NULL: none) does not want it. The first error, with a message.
 */
int queues_apply(struct dataplane *dp, const struct config *c);
/* Serves interfaces and transmit queues that came, and reports what somebody else replaced. */
void queues_follow(struct dataplane *dp, const struct config *c);

/* --- restore.c --- */

/*
 * Restores missing pins in dir, as far as running programs hold the maps, and reports restored and lost ones. c: its
 * interfaces count if all pins are missing; NULL: all. 0, or -errno with a message if that cannot be determined.
 */
int pins_restore(const char *dir, const struct config *c);
/* The same for the congestion control that control names. */
void cc_pin_restore(const char *dir, const struct control *ctl);

/* --- leftover.c --- */

/*
 * The pin directory that has this map under this name, among all in this bpffs mount down to the third level. 0: none.
 */
int map_owner_find(const char *name, __u32 map, char *dir, size_t size);

/* A filter at our place, or a link at tcx, whose program is ours by name. */
struct left_filter {
	__u32 ifindex, stats_id;
	__u32 tcx_prog; /* at tcx: the program; 0: it is a filter */
	enum bpf_tc_attach_point where;
	char program[16], owner[256]; /* where its counters are pinned; "": nowhere */
	__u64 heartbeat_ns;	      /* when the daemon whose maps it holds was last alive */
};

/* Fills in program, stats_id and heartbeat_ns, from the maps that the program holds; -ENOENT: it is not ours. */
int left_filter_describe(struct left_filter *f, __u32 prog_id);
/* Whether this struct_ops map is registered under the name, or, if that is NULL, under any. */
int struct_ops_is_used(int fd, const char *name);
/* Whether it is a congestion control of ours that is registered, and not only kept by sockets. name: or NULL for any. */
int struct_ops_is_ours(__u32 id, const char *name);
__u32 struct_ops_by_name(const char *name); /* 0: none */
/* The same for a struct_ops map of any name. */
__u32 struct_ops_find(const char *map, const char *name);

struct leftover {
	const char *pin_dir;
	__u32 stats_id;
	__u32 old_id;	/* of older counters, whose programs a killed adoption has not replaced; 0: none */
	int interfaces; /* of this network namespace */
};

void leftover_find(const char *pin_dir, struct leftover *l);
/* Whether there is any, in any network namespace. */
int leftover_anywhere(const struct leftover *l);
/* For links_each(). */
void leftover_egress_remove(__u32 ifindex, void *ctx);
void leftover_xdp_remove(__u32 ifindex, void *ctx);
void leftover_ingress_remove(__u32 ifindex, void *ctx);

#endif

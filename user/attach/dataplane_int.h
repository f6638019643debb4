/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_DATAPLANE_INT_H
#define SLUICE_DATAPLANE_INT_H
/*
 * Shared by the files of the data plane: dataplane.c, pin_dir.c, control.c, programs.c, tracepoints.c, peers.c,
 * routes.c, port_describe.c, port.c, ports_drop.c, ports.c, pin_swap.c, adopt.c, adopt_plan.c, cc.c, pods.c,
 * leftover.c, detach.c, xdp.c, queue.c.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <time.h>
#include "attach/dataplane.h"
#include "lib/net.h"
#include "sluice.skel.h"

/* A link whose other end is in another network namespace. */
struct pod_link {
	__u32 ifindex, master;
	__s32 netnsid;
	int routed;  /* a pod CIDR lies there */
	int ingress; /* it has a qdisc `ingress`, where clsact would have to be */
	__u64 bps;   /* of its tbf; 0: none */
};

struct pods_list {
	struct pod_link *link; /* by ifindex */
	unsigned int n, room;
};

/* Programs that come together. Those are loaded that the configuration wants: the verifier takes its time. */
enum program_set {
	SET_HOST,    /* egress and ingress */
	SET_SWITCH,  /* hop */
	SET_VOQS,    /* tor */
	SET_PODS,    /* pod_hop */
	SET_BACKLOG, /* tracepoints, where stamps need them */
	SET_CLASSES, /* tracepoints of ports with classes */
	SET_PFC,     /* tracepoints of switch ports with pauses, and what takes those in */
	SET_N
};

struct dataplane {
	char pin_dir[256];
	int lock_fd;
	struct sluice_bpf *skel;	/* the maps, and the programs that were wanted first */
	struct sluice_bpf *more[SET_N]; /* those that a reload wanted, over the same maps; NULL at the end */
	struct sluice_bpf *of[SET_N];	/* in which of these a set is loaded; NULL: in none */
	unsigned char *elf;		/* the object with the configured congestion control's name */
	struct pins pins;
	int fresh;	     /* this run made the pins */
	int lost;	     /* some of the pins are missing, and are made anew */
	struct adopt *adopt; /* the maps are of another version, and become this one's; else NULL */
	int routes_changed, pods_changed;
	struct pods_list pods; /* as they were last looked at */
	unsigned int pods_stamped;
	int tracepoints;       /* this run attached those of backlog, */
	int class_tracepoints; /*   those of classes, */
	int pfc_tracepoints;   /*   and those of pauses */
	int running;	       /* what is attached is this run's */
	int linger_fd;	       /* a timer: when what leaves is to be gone */
	struct {
		__u32 ifindex;
		char name[IFNAMSIZ];
	} known[CONFIG_INTERFACES]; /* what those of the configuration were called when they were attached */
	struct msg_limit limit, route_limit, pod_limit, htb_limit;
	__u64 clock_said_ns; /* that the clock is off */
};

static inline void pin_path(char *path, size_t size, const char *dir, const char *name)
{
	snprintf(path, size, "%s/%s", dir, name);
}

/* --- pin_dir.c --- */

struct dataplane *dataplane_new(void);
/* Leaves everything attached (the next daemon adopts it). */
void dataplane_close(struct dataplane *dp);
/* Makes the pin directory where it is missing, and takes its lock. 0, or -errno with a message. */
int pin_dir_lock(struct dataplane *dp, const char *dir);

/* --- control.c --- */

/* The configuration is in force, and the programs look at it anew. */
void epoch_next(struct dataplane *dp, const struct config *c);
/*
 * Moves the base of sequences (seq.h). A clock that is off is reported at once where somebody has asked,
 * else once an hour.
 */
void seq_base_follow(struct dataplane *dp, const struct config *c, int asked);
/*
 * The configuration's keys, in the slot that is not in use. A new daemon has slots of its own: it takes
 * the number that is in use, for the programs of the one before read that, too.
 */
int keys_apply(struct dataplane *dp, const struct config *c);

/* --- peers.c --- */

#define DP_LINGER_SILENCES 3		    /* those after which peers go plain, */
#define DP_SILENT_NS (100 * 1000 * 1000ULL) /* of this, or of as many base RTTs as follow: egress_peer() */
#define DP_SILENT_RTTS 4

struct leaving {
	__u64 longest_ns; /* base RTT */
	unsigned int peers;
};

/*
 * Makes the peers map say what the configuration says, and of those that it has no more that they leave. c is told what
 * was measured of its prefixes.
 */
int peers_apply(struct dataplane *dp, struct config *c);
/* How long the other side may take to notice that we are silent. Its base RTT is taken to be like ours. */
__u64 linger_ns(const struct dataplane *dp, struct leaving *l);
/* Peers and ports that leave have their time from now on: the programs know of it, by the epoch. */
void linger_begin(struct dataplane *dp);
struct timespec timespec_of(__u64 ns);

/* --- programs.c --- */

/* From the kernel's BTF: 1, 0, or -errno where there is no BTF. kind: BTF_KIND_*. */
int kernel_btf_has(const char *name, __u32 kind);
/* libbpf talks one level lower; why a load failed is kept. */
void libbpf_init(void);
/* Opens dp->skel, whose maps are then those of the pin directory, or of `next` there while dp->adopt. */
int programs_open(struct dataplane *dp, const struct config *c);
/* Loads the sets that the configuration wants. was: control as the earlier daemon left it; NULL: there was none. */
int programs_load(struct dataplane *dp, const struct config *c, const struct control *was);
/* Loads the sets that it wants beyond those that are loaded. */
int programs_add(struct dataplane *dp, const struct config *c);
/* The sets that a configuration wants. */
#define SET_BIT(set) (1U << (set))
unsigned int sets_wanted(const struct config *c);
/* Makes the maps of one object those of another, where the names are the same. */
int maps_share(struct bpf_object *to, const struct bpf_object *from);
/* A map that is in use keeps its size, and it is said; fd < 0: it is not. */
__u32 map_room(int fd, __u32 wanted, const char *key);

/* --- tracepoints.c --- */

/* As far as the configuration agrees: attaches them (want), or takes them off. */
int tracepoints_apply(struct dataplane *dp, const struct config *c, int want);

/* --- routes.c --- */

/* Prepares the route of every peer, even if one fails. Returns the first error. */
int routes_prepare(struct dataplane *dp, const struct link_info *link, const struct config *c);
/* Routes that came after the interface, or without which it came back, are given room. */
void routes_follow(struct dataplane *dp, const struct config *c);
/* For route_remove_ours(): the prefix is that of a peer of ctx, a configuration. */
int route_is_wanted(const struct peer_key *prefix, const void *ctx);
/* Removes all routes of ours that leave by the interface. */
int routes_remove(__u32 ifindex);

/* --- port_describe.c --- */

/*
 * Fills in a port from configuration and kernel; -errno with a message when it cannot be used. A driver tells no speed
 * while there is no link: the port keeps the one that it has.
 */
int port_describe(const struct config *c, const struct config_interface *i, const struct link_info *link,
		  struct port *port);
/* Says in which way the qdiscs of a port do not suit. by_nic: its NIC obeys pauses. */
void port_advise(const struct config_interface *i, const struct port *port, int by_nic);

/* --- port.c --- */

/* Attaches an interface, or what is new of it. 0, or -errno with a message; one that was attached stays so. */
int port_add(struct dataplane *dp, const struct config *c, const struct config_interface *i);
/* On an error something stays, which was said, and the port is still known. */
int port_remove(struct dataplane *dp, __u32 ifindex, const struct port *port);
/*
 * As port_remove(), in the middle of traffic. A clsact that comes or goes takes what is being sent along: Linux
 * deactivates the device meanwhile (qdisc_graft(): of 60 times one or two packets each, at veth). That is why ours
 * stays, empty, until the daemon ends, or for the next time.
 */
int port_vacate(struct dataplane *dp, __u32 ifindex, const struct port *port);
/* Changes its entry; -errno with a message that ends in what follows from it. */
int port_update(struct dataplane *dp, __u32 ifindex, const struct port *port, const char *effect);
/* Removes the classes n and above of a port. */
void classes_forget(struct dataplane *dp, __u32 ifindex, __u32 n);

/* --- ports_drop.c --- */

/*
 * Takes off and forgets the ports that the configuration has not (NULL: all), and those that went away. A host's begins
 * to leave: ports_leave() is the end of it.
 */
int ports_drop(struct dataplane *dp, const struct config *c);
/* A port that cannot be taken off stays, strips on, and is tried again with the next reload. */
void ports_leave(struct dataplane *dp);

/* --- ports.c --- */

/* Is there anything about an interface for which it would be refused? Said, before anything is changed. */
int ports_check(const struct dataplane *dp, const struct config *c);
/*
 * An interface that is not there is an error only where nothing is attached yet (must_exist). A start ends at the first
 * error; a reload serves the other interfaces, and returns the last.
 */
int ports_apply(struct dataplane *dp, const struct config *c, int must_exist);
/* Interfaces that went, came back, or have another name, qdisc, MTU or speed. 1: something was attached anew. */
int ports_follow(struct dataplane *dp, const struct config *c, const struct between *between);
/*
 * The interfaces of the configuration have the names by which they are called now. anew: it has just been read, and a
 * name in it is that of the interface which has it; else an interface that is attached keeps its place.
 */
void ports_name(struct dataplane *dp, struct config *c, int anew);

/* --- pin_swap.c: pins of another version --- */

/* Ends what an adoption that was killed began. With the lock; before all else. */
int adopt_recover(const char *pin_dir);
/* Says how this version's maps are laid out, where that is not said yet. */
int adopt_layout_pin(struct dataplane *dp, const char *dir);
/* The layout that is pinned there. NULL: there is none, or it cannot be read; errno says why. The caller frees it. */
struct btf *adopt_layout_read(const char *dir);
/* All pins of a directory, whatever version made them. */
void adopt_pins_remove(const char *dir);

/* --- adopt.c, adopt_plan.c: maps of another version --- */

/* Reads the layout of the other version; -EPROTO: it cannot be read, which was said. Makes dp->adopt. */
int adopt_open(struct dataplane *dp);
/* Between opening and loading the object: which maps are shared. */
int adopt_plan(struct dataplane *dp);
/* The other version's control. */
const struct control *adopt_control(const struct dataplane *dp);
/* The object is loaded: control is filled, and dp->pins are opened. */
int adopt_fill(struct dataplane *dp);
/* Fills the maps and puts them in the place of the other version's. On an error before that nothing has changed. */
int adopt_commit(struct dataplane *dp);
int adopt_is_committed(const struct dataplane *dp);
/* The programs are replaced. Also where an earlier run did not come so far. */
void adopt_finish(struct dataplane *dp);
void adopt_close(struct dataplane *dp);

/* --- cc.c --- */

/* Does an earlier daemon's congestion control have the name that is wanted now ("": none), and read these maps? */
int cc_is_kept(const struct control *was, const struct config *c);
/* Replaces the mark in a copy of the object by the congestion control's name. */
int cc_name_set(struct dataplane *dp, const char *name);
int cc_register(struct dataplane *dp, const struct config *c);
/* 0, also if there is none, or -errno with a message: it stays registered and pinned, and another call tries again. */
int cc_unregister(const char *pin_dir);
/* The default follows the mode: only where windows are enforced does it gain anything. */
int cc_default_apply(struct dataplane *dp, const struct config *c);
/* why: for who reads the journal. -errno: it stays as it is, which was said, and another call tries again. */
int cc_restore_default(struct control *ctl, const char *why);

/* --- pods.c --- */

/* The pods of this network namespace, as they are now. Wants to be called again while pods_changed. */
void pods_follow(struct dataplane *dp, const struct config *c);
/* Forgets what pods_follow() knows: it puts everything of its own in place again. */
void pods_forget(struct dataplane *dp);

/* --- xdp.c --- */

/* libxdp talks one level lower, like libbpf. */
void xdp_init(void);
/*
 * Puts the sink of a host's interface where the configuration wants it. Returns PORT_F_XDP*, or 0
 * where it is at tc alone, which is never an error; says why if loud.
 */
__u32 xdp_apply(struct dataplane *dp, const struct config *c, const struct config_interface *i,
		const struct link_info *link, int loud);
/* Takes off what uses these counters, and nothing else. */
void xdp_remove(__u32 ifindex, __u32 stats_id);
/* Removes the pins of libxdp for an interface that is gone; 0: for any. */
void xdp_forget(__u32 ifindex, __u32 stats_id);

/* --- queue.c: the qdisc `sluice` --- */

/* Registers and pins it where that is possible; else says why not, if there is something to be done about it. */
void queue_register(const char *pin_dir);
/* Takes the name and the pins away, if there are any. Qdiscs that are in place go on. */
void queue_unregister(const char *pin_dir);

/* --- restore.c --- */

/*
 * Pins again what is missing in dir, as far as the programs that run hold it, and says so, or says what is lost. c:
 * whose interfaces count where all pins are missing; NULL: all. 0, or -errno where that cannot be known, which was
 * said.
 */
int pins_restore(const char *dir, const struct config *c);
/* The same for the congestion control that control names. */
void cc_pin_restore(const char *dir, const struct control *ctl);

/* --- leftover.c --- */

/*
 * The pin directory that has this map under this name, of all that this mount of bpffs shows down to the third
 * level. 0: none has.
 */
int map_owner_find(const char *name, __u32 map, char *dir, size_t size);

/* A filter at our place whose program is ours by name. */
struct left_filter {
	__u32 ifindex, stats_id;
	enum bpf_tc_attach_point where;
	char program[16], owner[256]; /* where its counters are pinned; "": nowhere */
	__u64 heartbeat_ns;	      /* when the daemon whose maps it holds was last alive */
};

/* program, stats_id and heartbeat_ns, by the maps that the program holds; -ENOENT: it is not ours. */
int left_filter_describe(struct left_filter *f, __u32 prog_id);
/* Is this struct_ops map registered under the name, or, if that is NULL, under any? */
int struct_ops_is_used(int fd, const char *name);
/* Is it a congestion control of ours that is registered, and not only kept by sockets? name: or NULL for any. */
int struct_ops_is_ours(__u32 id, const char *name);
__u32 struct_ops_by_name(const char *name); /* 0: none */
/* The same of a struct_ops map of any name. */
__u32 struct_ops_find(const char *map, const char *name);

struct leftover {
	__u32 stats_id;
	__u32 old_id; /* of counters before those, whose programs an adoption that was killed has not replaced; 0: none */
	int interfaces; /* of this network namespace */
};

void leftover_find(const char *pin_dir, struct leftover *l);
/* In whatever network namespace. */
int leftover_anywhere(const struct leftover *l);
/* For links_each(). */
void leftover_egress_remove(__u32 ifindex, void *ctx);
void leftover_xdp_remove(__u32 ifindex, void *ctx);
void leftover_ingress_remove(__u32 ifindex, void *ctx);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include "lib/names.h"
#include "lib/util.h"
#include "sluice/queue/port.h"

#define CONFIG_PATH "/etc/sluice/sluice.yaml" /* default, overridden by --config */
#define CONFIG_INTERFACES 1024		      /* maximum number */
#define CONFIG_CLASS_PORTS 64		      /* of them, those with classes: room in the maps */
#define CONFIG_PFC_PORTS (PFC_SLOTS - 1)      /* and those with pfc */
#define CONFIG_POD_CIDRS 16
#define METRICS_PODS_MAX 500
#define CONFIG_PREFIX_MAX 64 /* maximum length, characters */

/* Where a host's sink runs. */
enum config_xdp {
	CONFIG_XDP_AUTO, /* native XDP if the NIC supports it, else tc */
	CONFIG_XDP_NATIVE,
	CONFIG_XDP_GENERIC,
	CONFIG_XDP_OFF,
};

/* What holds the programs of an interface. */
enum config_attach {
	CONFIG_ATTACH_AUTO, /* tcx where the kernel has it, else clsact */
	CONFIG_ATTACH_CLSACT,
};

/* How an interface treats pauses; each mode includes the ones above it. */
enum config_pfc {
	CONFIG_PFC_OFF,
	CONFIG_PFC_OBEY,    /* obeys its neighbour's pauses */
	CONFIG_PFC_PAUSE,   /* pauses its neighbour by thresholds */
	CONFIG_PFC_PREDICT, /* pauses its neighbour by prediction */
};

/* Who looks after the qdisc of an interface. */
enum config_queue {
	CONFIG_QUEUE_AUTO,   /* as with fq */
	CONFIG_QUEUE_SLUICE, /* the daemon installs its own, and puts the previous one back */
	CONFIG_QUEUE_FQ,     /* the administrator */
};

#define CONFIG_LIMIT_BYTES 1000000

/* A class of a switch port with several queues. */
struct config_class {
	__u64 dscp;	 /* bit n: DSCP n; 0: every DSCP that no other class has */
	__u32 share_ppm; /* share of the port's speed */
	bool strict;	 /* leaves before the classes that share; with queue: sluice */
};

/* A managed interface. */
struct config_interface {
	char *name;	 /* the kernel's, where the file has another name of the device (altname) */
	__u32 role;	 /* PORT_F_HOST or PORT_F_SWITCH */
	__u64 speed_bps; /* 0: ask the driver */
	unsigned int id; /* switch id, 12 bits */
	enum config_xdp xdp;
	enum config_attach attach;
	enum config_pfc pfc;
	enum config_queue queue;
	__u64 rate_bps;		      /* with queue: sluice: at which it sends; 0: as fast as the interface does */
	__u64 limit_bytes;	      /* what may wait then, in each class; 0: CONFIG_LIMIT_BYTES */
	__u64 ecn_bytes;	      /* a switch's: queue beyond which packets of others are marked; 0: none are */
	__u32 voqs;		      /* of a switch as a ToR: PORT_F_VOQ_UP or PORT_F_VOQ_DOWN; 0: neither */
	struct config_class *classes; /* NULL: the port has one queue */
	unsigned int classes_count;
	char configured[IFNAMSIZ]; /* name as in the file, kept when the interface is renamed */
	const char *pattern;	   /* the name in the file is this pattern; NULL: it is none */
	bool gone;		   /* by pattern, and the device went away: its place may be taken */
};

#define CONFIG_TELEMETRY_AUTO TELEMETRY_MODES /* by the encoding; no peer has it once the file is loaded */

/* A prefix. Values that its entry lacks come from the whole configuration. */
struct config_peer {
	char prefix[CONFIG_PREFIX_MAX + 1]; /* as written in the file */
	struct peer_key key;
	__u64 base_rtt_ns; /* T in force; with rtt_auto the measured T, or the default until then */
	bool rtt_auto;	   /* set when the file is loaded: T is measured */
	__u64 measured_ns; /* T as measured, not from the file; 0: not yet */
	unsigned int rtt_changes;
	enum hpcc_variant variant;
	enum rx_feedback feedback;
	enum sluice_encoding encoding; /* how packets there carry telemetry */
	enum telemetry_mode telemetry;
	bool hpcc;		/* Algorithm 1 governs packets to it */
	enum voqs_where hiercc; /* HierCC governs packets to it, with these VOQs */
	__u64 port_bps;		/* speed of its hosts' ports; 0: that of the port that leads there */
};

/* Where Prometheus metrics are served. */
struct config_listen {
	char text[108]; /* as written in the file */
	struct sockaddr_storage at;
	socklen_t len;
};

/* Times are in ns, speeds in bit/s, sizes in bytes. Keys and defaults are in user/lib/config/keys.c. */
struct config {
	char *pin_dir;
	enum sluice_mode mode;
	unsigned int port; /* UDP port of telemetry */
	unsigned int max_flows;
	char *auth;	       /* "none", or the path of a key file; NULL: no interface has the host role */
	struct auth_keys keys; /* n = 0: none */
	__u64 flow_timeout_ns;
	struct {
		char *name; /* of the congestion control; NULL: none is registered */
		bool make_default;
		bool receive_window;
	} tcp;
	struct {
		bool enabled;
		unsigned int max_stage;
		enum hpcc_stages stages;
		bool delay; /* what no port reports bounds W */
		enum sluice_encoding encoding;
		enum telemetry_mode telemetry;
	} hpcc;
	double eta;
	unsigned int flows; /* 0: as counted by receivers */
	__u64 w_ai_bytes;   /* 0: derived from flows */
	enum hpcc_variant variant;
	enum rx_feedback feedback;
	enum vai_preset vai_preset;
	struct vai_tuning vai; /* of HPCC_VAI_SF: only what the keys say; config_peer_value() adds the preset */
	struct {
		bool enabled;
		unsigned int voqs;
	} hiercc;
	__be32 tor;	   /* 0: the address of the first interface with the host role */
	double credit_eta; /* share of a port dealt out as credit */
	__u64 c0_bytes;	   /* 0: derived from the peer's port and base_rtt */
	struct hiercc_tuning voq;
	__u64 limit_ns;	 /* 0: derived from base_rtt */
	__u64 period_ns; /* 0: a quarter of the shortest base_rtt */
	__u64 port_bps;	 /* of the ports of all hosts; 0: see config_peer */
	struct {
		bool mark; /* mark ECN capable packets instead of dropping them */
	} pacing;
	__u64 horizon_ns; /* 0: the default (departure.bpf.h) */
	struct {
		enum pfc_trust trust;
		__u64 seed;
		bool seeded; /* false: the seed is a random one */
	} pfc;
	__u8 lossless;	      /* bit n: priority n */
	__u64 buffer_bytes;   /* for pauses; 0: no neighbour is paused */
	__u64 headroom_bytes; /* 0, as with the next three: see ppfc_apply() */
	__u64 xoff_bytes;
	__u64 k_max_bytes;
	q24_t ppfc_r; /* R of Algorithm 2 */
	__u64 t_thresh_ns;
	__u64 fixed_ns; /* 0: Algorithm 3 */
	__u64 delay_ns;
	__u64 interval_ns;
	__u64 watchdog_ns; /* 0: pfc_obey_init() */
	struct {
		char *uplink; /* NULL: not a node of pods */
		unsigned int id;
		unsigned int pod_cidrs_count;
	} node;
	struct peer_key pod_cidrs[CONFIG_POD_CIDRS]; /* node.pod_cidrs_count entries */
	struct {
		bool wanted;
		struct config_listen listen;
		unsigned int flows; /* number of the busiest flows listed individually */
		unsigned int pods;  /* the same of pods with a queue */
		char *bundles;	    /* directory of a container runtime; NULL: the known ones */
	} metrics;
	struct config_interface *entries; /* interfaces as in the file: names and patterns */
	unsigned int entries_count;
	struct config_interface *interfaces; /* of this machine, by name or pattern; room for CONFIG_INTERFACES */
	unsigned int interfaces_count;
	const struct config_interface *crowded; /* the last entry by pattern that found no room for a device */
	struct config_peer *peers;
	unsigned int peers_count;
};

/*
 * Reads and checks the whole file. On an error, prints the mistake and what to write instead, and returns -EINVAL (or
 * the error of opening the file) with *config untouched.
 */
int config_load(const char *path, struct config **config);
void config_free(struct config *config);

/* Prints all keys, one a line: key, values, default, effect of SIGHUP, meaning; separated by tabs. */
void config_keys_list(FILE *to);

/* The name that the kernel uses for the device with this name or altname; the same if there is none. Returns buf. */
const char *config_device_name(const char *configured, char buf[IFNAMSIZ]);

/* One of its interfaces was renamed. */
int config_interface_rename(struct config *c, struct config_interface *i, const char *name);

/*
 * Adds the devices that have appeared and match a pattern. Others keep their places. 0, or -errno; -ENOSPC: there is no
 * room for one that c->crowded matches, which is returned once.
 */
int config_follow(struct config *c);
/* The number of interfaces by the pattern of this entry. */
unsigned int config_matches(const struct config *c, const struct config_interface *entry);
/* Prints each pattern with the interfaces that it matches, one a line. */
void config_patterns_list(const struct config *c, FILE *to);

/* The parameters of a peer's prefix in the form of the data plane. */
struct peer config_peer_value(const struct config *c, const struct config_peer *p);

/* The longest T that other keys allow for a prefix whose base_rtt is auto. */
__u64 config_rtt_max_ns(const struct config *c, const struct config_peer *p);

/* Length of an epoch in which receivers count active flows. */
__u64 config_count_ns(const struct config *c);

/* Whether any peer uses VOQs of this machine. If so it also deals out credit. */
int config_hiercc(const struct config *c);
/* Time between two rounds of credit. */
__u64 config_period_ns(const struct config *c);

/* The bytes of the buffer reserved for one priority of a port of bps bit/s. */
__u64 config_headroom(const struct config *c, __u64 bps, __u32 mtu);

/* Whether this is the interface that leads from a node of pods to the network. */
int config_is_uplink(const struct config *c, const char *name);

/* The classes of an interface of speed_bps in the form of the data plane. */
void config_classes_value(const struct config_interface *i, __u64 speed_bps, struct port_classes *v);
/* Whether its qdisc `sluice` has a rate or classes, and what the qdisc is told then. */
int config_has_setup(const struct config_interface *i);
void config_setup_value(const struct config_interface *i, struct queue_setup *v);

#endif

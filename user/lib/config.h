/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include "lib/names.h"
#include "lib/util.h"

#define CONFIG_PATH "/etc/sluice/sluice.yaml" /* unless --config names another */
#define CONFIG_INTERFACES 64		      /* at most */
#define CONFIG_POD_CIDRS 16
#define CONFIG_PREFIX_MAX 64 /* characters */

/* Where a host's sink is. */
enum config_xdp {
	CONFIG_XDP_AUTO, /* at native XDP on a NIC that has it, else at tc */
	CONFIG_XDP_NATIVE,
	CONFIG_XDP_GENERIC,
	CONFIG_XDP_OFF,
};

/* What an interface does with pauses; each with what is above it. */
enum config_pfc {
	CONFIG_PFC_OFF,
	CONFIG_PFC_OBEY,    /* its neighbour's */
	CONFIG_PFC_PAUSE,   /* its neighbour, by thresholds */
	CONFIG_PFC_PREDICT, /* its neighbour, by prediction */
};

/* A class of a switch port with several queues. */
struct config_class {
	__u64 dscp;	 /* bit n: DSCP n; 0: all that no other class has */
	__u32 share_ppm; /* of the speed of the port */
};

/* A managed interface. */
struct config_interface {
	char *name;
	__u32 role;	 /* PORT_F_HOST or PORT_F_SWITCH */
	__u64 speed_bps; /* 0: ask the driver */
	unsigned int id; /* switch id, 12 bits */
	enum config_xdp xdp;
	enum config_pfc pfc;
	__u32 voqs;		      /* of a switch as a ToR: PORT_F_VOQ_UP or PORT_F_VOQ_DOWN; 0: neither */
	struct config_class *classes; /* NULL: the port has one queue */
	unsigned int classes_count;
	char configured[IFNAMSIZ]; /* name as in the file, which it keeps while the interface is called otherwise */
};

#define CONFIG_TELEMETRY_AUTO TELEMETRY_MODES /* by the encoding; of no peer once the file is loaded */

/* A prefix. What its entry does not say is what the whole configuration says. */
struct config_peer {
	char prefix[CONFIG_PREFIX_MAX + 1]; /* as written in the file */
	struct peer_key key;
	__u64 base_rtt_ns; /* in force; with rtt_auto what was measured, or what times go by until then */
	bool rtt_auto;	   /* once the file is loaded: T is measured */
	__u64 measured_ns; /* T as it was measured, not of the file; 0: not yet */
	unsigned int rtt_changes;
	enum hpcc_variant variant;
	enum rx_feedback feedback;
	enum sluice_encoding encoding; /* how packets there carry telemetry */
	enum telemetry_mode telemetry;
	bool hpcc;		/* Algorithm 1 governs what is sent there */
	enum voqs_where hiercc; /* HierCC governs what is sent there, by these VOQs */
	__u64 port_bps;		/* of the ports of its hosts; 0: as fast as the port that leads there */
};

/* Where Prometheus is served. */
struct config_listen {
	char text[108]; /* as written in the file */
	struct sockaddr_storage at;
	socklen_t len;
};

/* Times are in ns, speeds in bit/s, sizes in bytes. Keys and defaults are in user/lib/config/keys.c. */
struct config {
	char *pin_dir;
	enum sluice_mode mode;
	unsigned int port; /* UDP, of telemetry */
	unsigned int max_flows;
	char *auth;	       /* "none", or the path of a key file; NULL: no interface is a host's */
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
		enum sluice_encoding encoding;
		enum telemetry_mode telemetry;
	} hpcc;
	double eta;
	unsigned int flows; /* 0: as counted by receivers */
	__u64 w_ai_bytes;   /* 0: derived from flows */
	enum hpcc_variant variant;
	enum rx_feedback feedback;
	struct vai_tuning vai; /* of HPCC_VAI_SF */
	struct {
		bool enabled;
		unsigned int voqs;
	} hiercc;
	__be32 tor;	   /* 0: by the address of the first interface of a host */
	double credit_eta; /* of a port, dealt out as credit */
	__u64 c0_bytes;	   /* 0: derived from the peer's port and base_rtt */
	struct hiercc_tuning voq;
	__u64 limit_ns; /* 0: derived from base_rtt */
	__u64 period_ns;   /* 0: a quarter of the shortest base_rtt */
	__u64 port_bps;	   /* of the ports of all hosts; 0: see config_peer */
	struct {
		bool fallback;
	} swift;
	__u64 target_ns; /* 0: derived from base_rtt */
	struct {
		bool mark; /* what is ECN capable, in the place of dropping it */
	} pacing;
	__u64 horizon_ns; /* 0: one base RTT */
	struct {
		enum pfc_trust trust;
		__u64 seed;
		bool seeded; /* false: the seed is a random one */
	} pfc;
	__u8 lossless;	      /* bit n: priority n */
	__u64 buffer_bytes;   /* of pauses; 0: nobody is paused */
	__u64 headroom_bytes; /* 0, as the three that follow: see ppfc_apply() */
	__u64 xoff_bytes;
	__u64 k_max_bytes;
	q24_t ppfc_r; /* R of Algorithm 2 */
	__u64 t_thresh_ns;
	__u64 fixed_ns; /* 0: Algorithm 3 */
	__u64 delay_ns;
	__u64 interval_ns;
	__u64 watchdog_ns; /* 0: pfc_obey_init() */
	struct {
		char *uplink; /* NULL: this is no node of pods */
		unsigned int id;
		unsigned int pod_cidrs_count;
	} node;
	struct peer_key pod_cidrs[CONFIG_POD_CIDRS]; /* node.pod_cidrs_count of them */
	struct {
		bool wanted;
		struct config_listen listen;
		unsigned int flows; /* number of the busiest flows that are told one by one */
	} metrics;
	struct config_interface *interfaces;
	unsigned int interfaces_count;
	struct config_peer *peers;
	unsigned int peers_count;
};

/*
 * Reads and checks the whole file. On an error, says what is wrong and what to write instead, and
 * returns -EINVAL (or the error of opening the file) with *config untouched.
 */
int config_load(const char *path, struct config **config);
void config_free(struct config *config);

/* Prints all keys, a line for each: key, values, default, what SIGHUP does with it, meaning; tabs in between. */
void config_keys_list(FILE *to);

/* An interface of it is called otherwise now. */
int config_interface_rename(struct config *c, struct config_interface *i, const char *name);

/* The parameters of a peer's prefix as the data plane wants them. */
struct peer config_peer_value(const struct config *c, const struct config_peer *p);

/* The longest T that other keys leave a prefix whose base_rtt is auto. */
__u64 config_rtt_max_ns(const struct config *c, const struct config_peer *p);

/* How long receivers look for flows that are active. */
__u64 config_count_ns(const struct config *c);

/* Any peer, by VOQs of this machine? Then it deals out credit, too. */
int config_hiercc(const struct config *c);
/* Between two rounds of credit. */
__u64 config_period_ns(const struct config *c);

/* The bytes of the buffer that are kept for one priority of a port of bps bit/s. */
__u64 config_headroom(const struct config *c, __u64 bps, __u32 mtu);

/* Is this the interface that leads from a node of pods to the network? */
int config_is_uplink(const struct config *c, const char *name);

/* The classes of an interface of speed_bps, as the data plane wants them. */
void config_classes_value(const struct config_interface *i, __u64 speed_bps, struct port_classes *v);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H
#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "lib/names.h"
#include "lib/util.h"

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
	CONFIG_PFC_PREDICT, /* likewise, by prediction */
};

/* A class of a switch port with several queues. */
struct config_class {
	unsigned int *dscp; /* NULL: those that no other class has */
	unsigned int dscp_count;
	char *share_text;

	__u32 share_ppm; /* of the speed of the port */
};

/* A managed interface. The strings are as written in the file; the other fields are checked. */
struct config_interface {
	char *name;
	char *role_text;
	char *speed_text;
	unsigned int id; /* switch id, 12 bits */
	enum config_xdp xdp;
	enum config_pfc pfc;
	char *voqs_text; /* of a switch, as a ToR: "up" or "down"; NULL: neither */
	struct config_class *classes; /* NULL: the port has one queue */
	unsigned int classes_count;

	char configured[IFNAMSIZ]; /* name as in the file, which it keeps while the interface is called otherwise */
	__u32 role;	 /* PORT_F_HOST or PORT_F_SWITCH */
	__u32 voqs;	 /* PORT_F_VOQ_UP or PORT_F_VOQ_DOWN; 0: neither */
	__u64 speed_bps; /* 0: ask the driver */
};

struct config_peer {
	char *prefix_text;
	char *base_rtt_text;
	char *variant_text; /* NULL: the default for all */
	char *feedback_text; /* likewise */
	int *encoding; /* likewise: enum sluice_encoding */
	int *telemetry;	    /* enum telemetry_mode; NULL: the default for all */
	int *hpcc, *hiercc; /* likewise: whether they govern what is sent there; hiercc: enum voqs_where */
	char *port_speed_text; /* likewise: of the ports of its hosts */

	struct peer_key key;
	__u64 base_rtt_ns;
	enum hpcc_variant variant;
	enum rx_feedback feedback;
	__u64 port_bps; /* 0: as fast as the port that leads there */
};

#define CONFIG_PATH "/etc/sluice/sluice.yaml" /* where nobody says another */
#define CONFIG_INTERFACES 64 /* at most */
#define CONFIG_POD_CIDRS 16

struct config_metrics {
	char *listen_text;
	unsigned int flows; /* so many of the busiest are told one by one */

	struct sockaddr_storage listen;
	socklen_t listen_len;
};

struct config {
	char *pin_dir;
	char *mode_text;
	unsigned int port;
	unsigned int max_flows;
	char *flow_timeout_text;
	char *auth; /* "none", or the path of a key file; NULL: no interface is a host's */
	struct {
		char *name; /* of the congestion control; NULL: none is registered */
		bool make_default;
		int *receive_window; /* NULL: on */
	} tcp;
	struct {
		int *enabled; /* NULL: on */
		char *eta_text;
		unsigned int max_stage;
		char *flows_text; /* NULL: auto */
		char *w_ai_text;
		char *variant_text; /* NULL: plain */
		char *feedback_text; /* NULL: hops */
		enum sluice_encoding encoding; /* of telemetry */
		enum telemetry_mode telemetry; /* of peers that name none */
	} hpcc;
	struct {
		bool enabled; /* for peers that do not say it themselves, as port_speed */
		char *id_text;
		char *eta_text;
		char *c0_text;
		char *limit_text;
		char *period_text;
		char *port_speed_text;
		unsigned int voqs;
	} hiercc;
	struct {
		char *target_text;
		int *fallback; /* NULL: on */
	} swift;
	struct {
		char *horizon_text;
		bool mark; /* what is ECN capable, in the place of dropping it */
	} pacing;
	struct {
		unsigned int *lossless; /* NULL: priority 3 */
		unsigned int lossless_count;
		enum pfc_trust trust;
		char *buffer_text, *headroom_text, *xoff_text, *k_max_text;
		char *delay_text, *interval_text, *t_thresh_text, *fixed_text, *watchdog_text;
		__u64 *seed; /* NULL: a random one */
	} pfc;
	struct {
		char *uplink; /* NULL: this is no node of pods */
		unsigned int id;
		char **pod_cidrs;
		unsigned int pod_cidrs_count;
	} node;
	struct config_metrics *metrics; /* NULL: none */
	struct config_interface *interfaces;
	unsigned int interfaces_count;
	struct config_peer *peers;
	unsigned int peers_count;

	enum sluice_mode mode;
	__u64 flow_timeout_ns;
	__u64 horizon_ns;
	double eta;
	__u64 target_ns;  /* 0: derived from base_rtt */
	unsigned int flows; /* 0: as counted by receivers */
	__u64 w_ai_bytes; /* 0: derived from flows */
	enum hpcc_variant variant; /* of peers that name none */
	enum rx_feedback feedback; /* likewise */
	__be32 tor;	   /* 0: by the address of the first interface of a host */
	double credit_eta; /* of a port, dealt out as credit */
	__u64 c0_bytes;	   /* 0: derived from the peer's port and base_rtt */
	__u64 limit_ns;	   /* likewise */
	__u64 period_ns;   /* 0: a quarter of the shortest base_rtt */
	__u64 port_bps;	   /* of the ports of all hosts; 0: see config_peer */
	__u8 lossless;	   /* bit n: priority n */
	__u64 buffer_bytes; /* of pauses; 0: nobody is paused */
	__u64 headroom_bytes; /* 0, as the three that follow: see ppfc_apply() */
	__u64 xoff_bytes;
	__u64 k_max_bytes;
	__u64 t_thresh_ns;
	__u64 fixed_ns; /* 0: Algorithm 3 */
	__u64 delay_ns;
	__u64 interval_ns;
	__u64 watchdog_ns; /* 0: pfc_obey_init() */
	struct auth_keys keys; /* n = 0: none */
	struct peer_key pod_cidrs[CONFIG_POD_CIDRS]; /* node.pod_cidrs_count of them */
};

/*
 * Reads and checks the whole file. On an error, says what is wrong and what to write instead, and
 * returns -EINVAL (or the error of opening the file) with *config untouched.
 */
int config_load(const char *path, struct config **config);
void config_free(struct config *config);

/* An interface of it is called otherwise now. */
int config_interface_rename(struct config *c, struct config_interface *i, const char *name);

/* The parameters of a peer's prefix as the data plane wants them. */
struct peer config_peer_value(const struct config *c, const struct config_peer *p);

/* How long receivers look for flows that are active. */
__u64 config_count_ns(const struct config *c);

/* How telemetry is asked for on the way to this peer. */
enum sluice_encoding config_peer_encoding(const struct config *c, const struct config_peer *p);

/* What is sent to this peer: do Algorithm 1 and HierCC (and where) govern it? */
int config_peer_hpcc(const struct config *c, const struct config_peer *p);
enum voqs_where config_peer_hiercc(const struct config *c, const struct config_peer *p);
/* Any peer, by VOQs of this machine? Then it deals out credit, too. */
int config_hiercc(const struct config *c);
/* Between two rounds of credit. */
__u64 config_period_ns(const struct config *c);

/* How many interfaces do at least this with pauses. */
unsigned int config_pfc_count(const struct config *c, enum config_pfc least);
/* Of the buffer, what is kept for a port of so many bit/s and one of its priorities. */
__u64 config_headroom(const struct config *c, __u64 bps, __u32 mtu);

/* Is this the interface that leads from a node of pods to the network? */
int config_is_uplink(const struct config *c, const char *name);

/* The classes of an interface with so many bits per second, as the data plane wants them. */
void config_classes_value(const struct config_interface *i, __u64 speed_bps, struct port_classes *v);

#endif

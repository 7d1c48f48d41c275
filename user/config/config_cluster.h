/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part `cluster:` of the configuration, see sluice.yaml(5). `nodes` is the same on all nodes;
 * `node` and `fabric` are of this node. Both daemons read it, by sl_settings_load.
 */
#ifndef SL_CONFIG_CLUSTER_H
#define SL_CONFIG_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/express.h"
#include "bpf/abi/reserved.h"
#include "queues/fq.h"
#include "user/config/cc_settings.h"
#include "user/text/rate.h"
#include "user/config/sysport.h"
#include "user/lib/xdp_mode.h"
#include "user/text/yaml.h"

#define SL_CONFIG_DEFAULT_KEY	      "/etc/sluice/cluster.key"
#define SL_KEY_ALSO		      ".also" /* after key_file: a key that is taken, too */
#define SL_CONFIG_DEFAULT_RELAY	      "/run/sluice/bridge.sock"
#define SL_CONFIG_DEFAULT_LIVENESS_MS 50
#define SL_RESERVE_MAX		      95 /* percent of a port's rate */

enum sl_transport {
	SL_TRANSPORT_ROCE_XDP,
	SL_TRANSPORT_VERBS_UD,
	SL_TRANSPORT_VERBS_RC,
};

/* How sluice-bridge sends on a port. */
enum sl_transmit {
	SL_TRANSMIT_AF_XDP,
	SL_TRANSMIT_INJECT,
};

/* How the classes of a port share it. */
enum sl_scheduler {
	SL_SCHEDULER_MIXED,  /* the highest class goes first, the others share by weight */
	SL_SCHEDULER_DRR,    /* all share by weight */
	SL_SCHEDULER_STRICT, /* a higher class goes first, whatever waits below */
};

#define SL_FLOW_FRAME_MAX_BYTES	  4096	     /* the bridge's chunks hold no larger frame */
#define SL_FLOW_SPEED_DEFAULT_BPS 1250000000 /* 10 Gb/s */
#define SL_FLOW_QUANTUM_BYTES	  1522	     /* Ethernet's largest frame, with two VLAN tags */

/* One egress queue, as written. */
struct sl_queue_settings {
	uint32_t class;
	uint32_t weight;       /* 0: not given */
	uint32_t frames;       /* 0: not given */
	uint32_t policy_plus1; /* enum fq_policy and 1; 0: not given, the class has one queue */
	uint32_t flows;	       /* 0: not given */
	char *parameters;      /* words NAME=VALUE of the policy, or NULL */
	struct fq_config flow_queues; /* the three above, as read; ops NULL: none */
	uint32_t line;
};

/* When frames take the express way to other nodes (bpf/abi/express.h). */
enum sl_express {
	SL_EXPRESS_UNSAID, /* of a port, until it is checked: as the cluster's */
	SL_EXPRESS_NEVER,
	SL_EXPRESS_AUTO,   /* while nothing waits */
	SL_EXPRESS_ALWAYS, /* the same, and say so if they cannot */
};

/* An address of a port, with the length of its prefix. */
struct sl_port_address {
	uint8_t family, len; /* AF_INET or AF_INET6; 1..32 or 1..128 */
	uint8_t addr[16];    /* network order */
};
#define SL_PORT_ADDRESSES_MAX 16

struct sl_cluster_port {
	uint32_t number; /* 1..255 */
	char *name;	 /* of the netdev on its node */
	enum sl_xdp_mode mode;
	bool optional;
	enum sl_hidden_tags hidden_tags;
	char *rate_text;     /* or NULL */
	struct sl_rate rate; /* to which the port is shaped; per_s 0: it is not */
	/*
	 * after a pause the port may send at once what its rate carries in this time; 0: 16 frames
	 */
	uint32_t burst_us;
	enum sl_scheduler scheduler;
	struct sl_yaml_list queues; /* of struct sl_queue_settings: those that were written */
	struct sl_queue_settings queue[SL_CLASSES]; /* all, with defaults */
	enum cc_algorithm controller;		    /* 0: price where there is a rate, else fixed */
	char *parameters;	       /* words of user/config/cc_settings.h, or NULL */
	struct sl_cc_settings control; /* the two above, as read */
	enum sl_transmit transmit;
	enum sl_express express; /* of frames for this port */
	char *addresses;	 /* as written: sl_port_addresses_parse reads them; or NULL */
	/* Not written: of the netdev, for sluice-bridge, which asks the kernel. 0: not known. */
	uint32_t receive_queues;
	uint64_t link_Bps;
	uint32_t line;
};

/* DSCPs that make a class. */
struct sl_class_settings {
	uint32_t class;
	char *dscp; /* as written: sl_dscp_parse reads it */
	uint32_t line;
};

struct sl_cluster_node {
	uint32_t id; /* 1..255 */
	/* on the fabric, as text: sl_addr_parse reads it; NULL: there is no fabric */
	char *address;
	bool drain;		   /* its traffic shall go other ways, before it is taken away */
	struct sl_yaml_list ports; /* of struct sl_cluster_port */
	uint32_t line;
};

enum sl_poll {
	SL_POLL_ADAPTIVE, /* sleep when idle */
	SL_POLL_BUSY,	  /* never sleep */
};

/* Settings of sluice-bridge alone. */
#define SL_WORKERS_MAX 16

struct sl_bridge_settings {
	uint32_t workers; /* threads that carry frames, 1..SL_WORKERS_MAX */
	char *cores_text; /* the CPU of each, as in "2,3"; NULL: wherever the kernel puts them */
	uint32_t cores[SL_WORKERS_MAX]; /* valid where cores_text is not NULL */
	uint32_t realtime;		/* priority of SCHED_RR, 1..99; 0: as other processes */
	enum sl_poll poll;
	uint32_t packing;	/* most frames in one message, 1..255 */
	uint32_t pack_delay_us; /* how long a message may wait for more frames; 0: never */
	uint32_t voq_frames;	/* the limit of a virtual output queue, at first */
	uint32_t queue_frames;	/* limit of each egress queue, rounded up to a power of two */
	uint32_t memory_mib;	/* packet memory; 0: by the number of ports */
	uint32_t delay_sample;	/* the delay of 1 frame of so many is measured; 0: of none */
	char *control;		/* path of its control socket */
};
#define SL_CLOCK_ERROR_MAX_US 60000
/* AF31, which switches and adapters take for RoCE by custom. */
#define SL_CONFIG_DEFAULT_FABRIC_DSCP	 26
#define SL_CONFIG_DEFAULT_BRIDGE_CONTROL "/run/sluice/sluice-bridge.sock"

struct sl_cluster_settings {
	/* this node's id; 0: the node is alone and has no queues, and no field below has a meaning
	 */
	uint32_t node;
	char *key_file;
	uint32_t liveness_ms; /* a peer that is silent for so long is down */
	/* the nodes' CLOCK_TAI agree within this, 1..SL_CLOCK_ERROR_MAX_US; 0: perhaps not */
	uint32_t clock_error_us;
	char *socket;		/* the relay's, which sluice-bridge offers (user/ipc/relay.h) */
	char *device;		/* netdev of the fabric; NULL: a router alone, without a fabric */
	char *fabric_rate_text; /* or NULL */
	/* in bytes, what this node can send into the fabric; per_s 0: what its netdev says */
	struct sl_rate fabric_rate;
	enum sl_transport transport;
	enum sl_express express;
	enum sl_express_check express_check; /* of the express messages that this node sends */
	uint32_t fabric_dscp; /* 0..63: of the packets that the bridge sends into the fabric */
	/* 0..7: of RDMA devices; with VLAN tags, their priority */
	uint32_t service_level;
	struct sl_bridge_settings bridge;
	uint32_t reserve; /* percent of a port's rate that flows may reserve; 0: none may */
	struct sl_yaml_list classes; /* of struct sl_class_settings */
	uint8_t class_of[SL_DSCPS];  /* the class of each DSCP */
	struct sl_yaml_list nodes;   /* of struct sl_cluster_node */
	struct sl_sysport_table table;
	uint32_t line; /* 0: there is no `cluster:`, or, of a router alone, no `bridge:` */
};

/*
 * A router without a cluster whose ports have queues is a cluster of one node, without a fabric:
 * then this is the id of that node.
 */
#define SL_NODE_ALONE 1

/* Fill in the defaults. 0 or -ENOMEM. */
int sl_cluster_settings_init(struct sl_cluster_settings *cluster);

const struct sl_cluster_node *sl_cluster_node(const struct sl_cluster_settings *cluster,
					      uint32_t i);
const struct sl_cluster_node *sl_cluster_find_node(const struct sl_cluster_settings *cluster,
						   uint32_t id); /* or NULL */
const struct sl_cluster_port *sl_cluster_port(const struct sl_cluster_node *node, uint32_t i);

/*
 * Does everything that leaves by this port go through its egress queues, also what comes in by
 * another port of its node? So it is where a port has a rate, queues of its own or a controller.
 */
bool sl_cluster_port_is_queued(const struct sl_cluster_port *port);

/* Bytes a second that flows may reserve of a port; 0: none. */
uint64_t sl_cluster_reservable_Bps(const struct sl_cluster_settings *cluster,
				   const struct sl_cluster_port *port);

/* Is this node one of several, or prepared to be? Else there is no fabric, and no bridge but ours.
 */
static inline bool sl_cluster_has_fabric(const struct sl_cluster_settings *c)
{
	return c->device;
}

/* May XDP of this node carry frames past the bridge, for some port at least? */
bool sl_cluster_has_express(const struct sl_cluster_settings *c);

/* The words of sluice.yaml(5) for the values of these enums, and the word for one value. */
extern const struct sl_yaml_choice sl_mode_choices[], sl_tags_choices[], sl_transport_choices[],
	sl_transmit_choices[], sl_scheduler_choices[], sl_poll_choices[], sl_express_choices[],
	sl_express_check_choices[];
const char *sl_transport_name(enum sl_transport transport);
const char *sl_scheduler_name(enum sl_scheduler scheduler);
const char *sl_poll_name(enum sl_poll poll);

/* The level of a class. A higher level goes first; classes of one level share by weight. */
uint32_t sl_scheduler_level(enum sl_scheduler scheduler, uint32_t class);

/*
 * Read "46" or "0-7,46": numbers and ranges below SL_DSCPS. 0 with their bits in *mask, or -EINVAL.
 */
int sl_dscp_parse(const char *text, uint64_t *mask);
/* An address of one host: not all zero, multicast, loopback or link-local, which needs a zone. */
bool sl_valid_host_address(const char *text);
/*
 * Read "10.1.1.1/24 2001:db8::1/64": addresses of hosts, each with the length of its prefix. NULL
 * has none. 0 with their number in *n, or -EINVAL.
 */
int sl_port_addresses_parse(const char *text, struct sl_port_address out[SL_PORT_ADDRESSES_MAX],
			    uint32_t *n);
/* Are they addresses of one and the same prefix? */
bool sl_port_address_same_prefix(const struct sl_port_address *a, const struct sl_port_address *b);
/* Read "2,3": CPUs, one for each worker. Returns how many; 0: text is no such list. */
uint32_t sl_cores_parse(const char *text, uint32_t cores[SL_WORKERS_MAX]);

#endif

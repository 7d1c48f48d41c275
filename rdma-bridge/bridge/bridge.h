/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node's bridge: the state that the files of this folder share. assembly/assembly.h opens and
 * closes it, housekeeping.h runs it.
 *
 * A bridge has one lane or several (`workers` in the configuration), each with a thread, chunks,
 * transport, queue pair, peers and rates of its own. The lanes of number i of all nodes together
 * are a fabric by themselves; it carries the frames and messages for the system ports of number
 * i + 1, i + 1 + workers, ... So a VOQ, an egress queue and a flow belong to one lane, and running
 * lanes share nothing but what edge.h and roce_xdp.h hand back. The first lane's thread also does
 * everything that is not forwarding, and halts the others while it changes what they use.
 */
#ifndef RB_BRIDGE_H
#define RB_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/express/own_way.h"
#include "rdma-bridge/join/exchange.h"
#include "rdma-bridge/port/maps.h"
#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/worker/worker.h"
#include "user/config/config.h"

#define RB_BRIDGE_TRANSPORT_RING 2048
#define RB_BRIDGE_RECEIVE_TARGET 2048 /* chunks that a lane keeps posted to its transport */
#define RB_BRIDGE_BURST_FRAMES	 16   /* of a VOQ or port that is shaped by frames, at least */

struct rb_edge;
struct rb_express;
struct rb_injector;
struct rb_join;
struct rb_kernel_egress;
struct rb_lane_threads;
struct rb_relay;
struct rb_takers;
struct rb_tap;

/* An edge port of this node. */
struct rb_bridge_port {
	const struct sl_cluster_port *settings; /* borrowed, or `kept` */
	struct sl_cluster_port *kept; /* owned, with its name: of a port that leaves; else NULL */
	bool leaves;		      /* it is no more in the configuration, and is being closed */
	uint16_t system_port;
	struct rb_edge *opening;     /* owned: it will be `edge`; NULL: none is being opened */
	struct rb_edge *edge;	     /* owned; NULL: not open */
	bool withdrawn;		     /* it is being closed */
	uint32_t ifindex;	     /* of the netdev it was opened on */
	int err;		     /* why it is not open; logged when it changes */
	struct rb_own_way way;	     /* past the bridge */
	bool takes;		     /* its driver takes frames that XDP redirects to it */
	bool keeps_order;	     /* of those and of ours */
	bool said;		     /* it was logged that it does not take them */
	uint32_t busy;		     /* tries in a row that found the netdev busy */
	uint64_t retry_ns, pause_ns; /* the next try to open it, and the pause after that */
};

/* A port that frames wait for in VOQs: of another node, or of this one. */
struct rb_bridge_remote {
	uint16_t system_port; /* 0: the place is free */
	bool own;	      /* of this node */
	bool express;	      /* its frames may go past the bridge */
	uint32_t first_voq;   /* class 0, among the VOQs of its node's ingress in its lane */
	uint32_t voq_id; /* class 0, in the maps; SL_VOQS_MAX: sluiced does not know the port */
	/* the settings of its VOQs while they have none in the maps */
	struct sl_voq open[SL_CLASSES];
	struct rb_tap *tap; /* owned, but of `kernel` if that is there; NULL: not open */
	bool up;	    /* as its owner announced */
	/* Owned: an own port's, opened with the port for the first time; NULL: not open. */
	struct rb_kernel_egress *kernel;
	int kernel_err; /* why not; logged when it changes */
};

/* What a peer said and proved when it introduced itself last. */
struct rb_bridge_meeting {
	bool valid;
	uint8_t key_name[RB_KEY_NAME_BYTES]; /* of the key that it proved */
	uint8_t table_hash[RB_TABLE_HASH_BYTES];
	uint8_t version; /* of the protocol, that both have agreed on */
};

/* The rounds of a lane since its last sleep. */
enum rb_awake {
	RB_AWAKE_IDLE,	  /* nothing */
	RB_AWAKE_WORKED,  /* rounds with work */
	RB_AWAKE_POLLING, /* and then rounds without any, in the hope of more */
	RB_AWAKE_FOUND,	  /* and then more work */
};

/* Where the frames of a VOQ go. */
struct rb_bridge_place {
	struct rb_ingress *ingress; /* borrowed from a worker; NULL: no such VOQ */
	uint32_t local;		    /* the VOQ's number there */
	uint32_t lane;
};

/* A worker, and all that it has of its own. */
struct rb_lane {
	struct rb_bridge *bridge; /* borrowed */
	uint32_t index;
	struct rb_chunks *chunks;	/* owned */
	struct rb_transport *transport; /* owned */
	struct rb_worker *worker;	/* owned */
	struct rb_express *express;	/* owned; NULL: XDP sends and takes nothing by itself */
	bool under_way;			/* frames that it sent are not gone yet */
	struct rb_injector *injector;	/* owned; of the ports that inject, NULL while none does */
	int injector_err;		/* why it cannot be opened; it is not tried again */
	int all_fd;			/* epoll: everything that may end its sleep */
	int wake_fd;			/* eventfd, edge-triggered in all_fd: never read */
	uint64_t tick_ns;		/* when it is due */
	uint64_t round_ns;		/* when the last round began; 0: it slept since */
	uint64_t longest_ns;		/* between two rounds without a sleep */
	uint64_t awake_ns;		/* since when it has not slept */
	enum rb_awake awake;
	uint32_t skips;	     /* times that it will sleep without polling first */
	uint32_t skips_next; /* as many, after polling in vain the next time */
};

struct rb_bridge {
	struct sl_settings *settings; /* borrowed */
	struct rb_keys keys;
	uint8_t table_hash[RB_TABLE_HASH_BYTES]; /* of the system ports that we know of */
	char *cc_overrides_path;		 /* owned: see cc_overrides.h */
	uint32_t epoch;

	/* fabric */
	struct rb_netdev fabric; /* as it was when it was opened */
	int fabric_err;		 /* of the last look at it */
	bool lost;		 /* the fabric's device is gone, or is another one */
	bool fabric_takes;	 /* its netdev takes frames of XDP, in order with ours */
	bool fabric_keeps_order, fabric_said; /* as those of a port */

	/* lane, lane_threads */
	uint8_t *area; /* owned: memory of all chunks */
	uint64_t area_bytes;
	struct rb_lane *lanes; /* owned, n_lanes of them */
	uint32_t n_lanes;
	struct rb_lane_threads *threads;  /* owned */
	struct rb_rates_urgency *urgency; /* owned: of each lane's rates, n_lanes of them */

	/* voq_maps */
	struct rb_maps maps;
	int maps_err;  /* why they are not open; 0: they are */
	bool maps_old; /* sluiced has made others; these end when all ports are closed */
	struct rb_bridge_place *places; /* owned: SL_VOQS_MAX, by VOQ id */

	/* ports, remote_ports */
	uint32_t n_ports;
	struct rb_bridge_port *ports; /* owned */
	/* owned: SL_SYSTEM_PORTS_MAX, of which n_remotes are or were in use */
	struct rb_bridge_remote *remotes;
	uint32_t n_remotes;

	struct rb_takers *takers; /* owned; NULL: nothing was asked yet */

	/* peering */
	struct rb_join *join;	/* owned; NULL: there is no fabric */
	struct rb_relay *relay; /* owned */
	uint8_t told[256];	/* states of peers, enum rb_peer_state, as sluiced was told last */
	struct rb_bridge_meeting met[256]; /* by node */

	/* housekeeping */
	bool ready;		    /* to join: the ports have been opened, or cannot be */
	int sockets_fd;		    /* epoll, in the first lane's all_fd: polled once a tick */
	uint64_t tick_ns, retry_ns; /* when each is due */
	bool worked;		    /* in the last round, the first lane had work */
	bool clock_said[256];	    /* by node: the log says that its clock disagrees with ours */
};

#endif

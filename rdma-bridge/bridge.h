/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node's bridge, put together from the configuration: packet memory, the fabric's transport, the
 * loop, edge ports, remote ports, the exchange with the other nodes, and the socket for sluiced.
 * The loop is worker.h; this is what changes seldom.
 *
 * A bridge has one worker or several (`workers`), each a thread with chunks, transport, queue pair,
 * peers and control of its own: a lane. Lane i of all nodes together is a fabric by itself; it
 * carries the frames for, and the control of, the system ports of number i + 1, i + 1 + workers,
 * ... So a VOQ, an egress queue and a flow belong to one lane, and lanes share nothing while they
 * run but what edge.h and roce_xdp.h hand back. The first lane's thread does all the rest, and
 * halts the others while it changes what they use.
 *
 * It meets nobody before sluiced has made the maps and the ports have been opened: who is up takes
 * frames, and would drop them.
 *
 * What vanishes comes back by itself: an edge port whose netdev is gone is tried every
 * RB_BRIDGE_RETRY_NS, and so are the maps when sluiced has made others. Without its fabric's
 * netdev, or RDMA device, a bridge is nothing: its owner closes it, and opens another when the
 * fabric is there again.
 */
#ifndef RB_BRIDGE_H
#define RB_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/port/edge.h"
#include "rdma-bridge/rate/kept.h"
#include "rdma-bridge/port/maps.h"
#include "rdma-bridge/join/meet.h"
#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/port/tap.h"
#include "rdma-bridge/worker.h"
#include "user/config/config.h"

#define RB_BRIDGE_TICK_NS   1000000ULL	 /* hellos, sockets */
#define RB_BRIDGE_SETTLE_NS 100000000ULL /* what the kernel dropped */
#define RB_BRIDGE_NAP_NS    100000ULL	 /* what comes in at an edge port may wait so long then */
#define RB_BRIDGE_RETRY_NS  100000000ULL /* looking for what is gone, or new */
#define RB_BRIDGE_BUSY_MAX  20		 /* tries of a busy netdev before it is said */
#define RB_BRIDGE_LOOK_NS   200000ULL	 /* how long a worker looks out for work between sleeps */
#define RB_BRIDGE_LOOK_SKIP 255		 /* or so many times not at all, when that is in vain */

/* An edge port of this node. */
struct rb_bridge_port {
	const struct sl_cluster_port *settings; /* borrowed */
	uint16_t system_port;
	struct rb_edge *edge; /* owned; NULL: not open */
	uint32_t ifindex;     /* of the netdev it was opened on */
	int err;	      /* why it is not open; logged when it changes */
	uint32_t busy;	      /* tries that found the netdev busy, in a row */
};

/* A port of another node. */
struct rb_bridge_remote {
	uint16_t system_port;
	uint32_t first_voq; /* of the peer's ingress in its lane: class 0 */
	struct rb_tap *tap; /* owned; NULL: not open */
	bool up;	    /* as its owner announced */
};

/* What a lane has done since it slept. */
enum rb_awake {
	RB_AWAKE_IDLE,
	RB_AWAKE_WORKED,
	RB_AWAKE_LOOKING, /* out for more, in vain until now */
	RB_AWAKE_FOUND,	  /* more */
};

/* A worker, and what is its own. */
struct rb_lane {
	struct rb_bridge *bridge; /* borrowed */
	uint32_t index;
	struct rb_chunks *chunks; /* owned, as all that follows */
	struct rb_transport *transport;
	struct rb_worker *worker;
	struct rb_injector *injector; /* of the ports that use it, NULL while none does */
	int injector_err;	      /* why it cannot be opened; it is not tried again */
	int all_fd;		      /* epoll: everything that may end its sleep */
	int wake_fd;		      /* eventfd, in all_fd by its edges: never read */
	uint64_t tick_ns, settle_ns;  /* when each is due */
	uint64_t round_ns;	      /* when the last round began; 0: it slept since */
	uint64_t longest_ns;	      /* between two rounds without a sleep */
	uint64_t awake_ns;	      /* since when it has not slept */
	enum rb_awake awake;
	uint32_t skips;	     /* times that it does not look out for work */
	uint32_t skips_next; /* as many, after the next time that is in vain */
};

struct rb_bridge {
	struct sl_settings *settings; /* borrowed */
	struct rb_key key;
	char *kept_path; /* owned: see kept.h */
	uint32_t epoch;
	struct rb_netdev fabric; /* as it was when it was opened */
	bool lost;		 /* and is no more */
	uint8_t *area;		 /* owned */
	uint64_t area_bytes;
	struct rb_lane *lanes; /* owned, n_lanes of them */
	uint32_t n_lanes;
	struct rb_maps maps;
	int maps_err; /* why they are not open; 0: they are */
	struct rb_meet *meet;
	uint32_t n_ports, n_remotes, n_voqs;
	struct rb_bridge_port *ports;	  /* owned */
	struct rb_bridge_remote *remotes; /* owned */
	struct sl_voq *open_voqs; /* owned, n_voqs: what they go by while there are no maps */
	bool ready;		  /* to meet others: its ports have been opened, or cannot be */
	uint32_t *voqs;		  /* owned: VOQ ids that lead to other nodes, n_voqs of them */
	uint8_t *voq_lanes;	  /* owned: the lane of each */
	uint8_t told[256]; /* states of peers, enum rb_peer_state, that sluiced has been told */
	int control_fd;	   /* epoll, in the first lane's all_fd: what is looked at once a tick */
	int relay_fd,
		/* for sluiced: the socket it connects to; the one that is served, or -1 */
		client_fd;
	uint64_t tick_ns, retry_ns; /* when each is due */
	uint64_t relay_dropped;	    /* RECEIVED messages that the client had no room for */
	struct rb_threads *threads; /* owned: of all lanes but the first, and what halts them */
};

/* Failures have been logged. 0 or -errno. */
int rb_bridge_open(struct sl_settings *settings, struct rb_bridge **out);
void rb_bridge_close(struct rb_bridge *bridge); /* NULL is fine */

/*
 * One round of the first lane's loop, and what is due beside it; then, if `poll` allows it and
 * nothing was to be done, sleep until something happens, or the next thing is due. While frames
 * wait for their time alone, their rings always have something to read: then the fabric alone wakes
 * the lane, which naps until the first of them may leave, RB_BRIDGE_NAP_NS at most.
 */
uint64_t rb_bridge_round(struct rb_bridge *bridge); /* when it began, CLOCK_MONOTONIC in ns */

/*
 * Between these the other lanes stand still, and all that is theirs may be read and changed. Calls
 * may be nested. For the first lane's thread.
 */
void rb_bridge_halt(struct rb_bridge *bridge);
void rb_bridge_release(struct rb_bridge *bridge);

/*
 * The fabric's netdev or RDMA device is gone, or another than the one that was opened: close this
 * bridge. Logged.
 */
bool rb_bridge_is_lost(const struct rb_bridge *bridge);
/*
 * Can a bridge be opened: is the fabric's netdev up, the node's address on this host, and on an
 * RDMA device if one is wanted?
 */
bool rb_bridge_has_fabric(const struct sl_settings *settings);

/* Give a port of ours another controller, or other parameters; as rb_control_set_port. */
int rb_bridge_control(struct rb_bridge *bridge, uint8_t number,
		      const struct sl_cc_settings *control, uint64_t now_ns, const char **why);

/* Let a readable descriptor end the sleep; what it wants is the caller's to see to. */
void rb_bridge_watch(struct rb_bridge *bridge, int fd);

/* The lane of a system port, ours or another node's. */
struct rb_lane *rb_bridge_lane(const struct rb_bridge *bridge, uint16_t system_port);
/* End the sleep of that lane, if it is not the first. */
void rb_bridge_wake(const struct rb_bridge *bridge, uint16_t system_port);
/* Of a peer in all lanes together: the worst. */
enum rb_peer_state rb_bridge_peer_state(const struct rb_bridge *bridge, uint8_t node);

/* --- For the files of the bridge itself --- */

/* relay.c: sluiced's socket and the remote ports. */
int rb_relay_open(struct rb_bridge *bridge);
void rb_relay_close(struct rb_bridge *bridge);
void rb_relay_poll(struct rb_bridge *bridge, uint64_t now_ns);
void rb_relay_peer(struct rb_bridge *bridge, uint8_t node);
void rb_relay_received(struct rb_bridge *bridge, uint8_t node, const uint8_t *part,
		       uint32_t part_bytes);

#endif

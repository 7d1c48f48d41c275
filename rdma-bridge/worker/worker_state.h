/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker: the state that sending, receiving and the loop share. */
#ifndef RB_WORKER_STATE_H
#define RB_WORKER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/queue/ingress.h"
#include "rdma-bridge/rate/rates.h"
#include "rdma-bridge/transport/transport.h"
#include "rdma-bridge/wire/peer.h"
#include "rdma-bridge/wire/transit.h"

#define RB_LENT_MAX	  256 /* messages whose frames a transport may hold at once */
#define RB_PACKED_CLASSES 8   /* 1, 2..3, 4..7, ... 128..255 frames */

struct rb_worker_config {
	uint8_t node;
	uint32_t epoch; /* not 0 */
	uint8_t stream;
	uint64_t dead_after_ns;
	uint64_t hello_interval_ns;
	uint64_t pack_delay_ns;	    /* 0: a message never waits for more frames */
	uint32_t degree;	    /* most frames in one message, 1..RB_RECORDS_MAX */
	uint32_t receive_target;    /* chunks kept posted; 0: a default */
	uint32_t clock_error_ns;    /* of the nodes' clocks, as in struct rb_transit */
	uint64_t (*clock_ns)(void); /* of the time that a round gets; NULL: it stands meanwhile */
	struct rb_transport *transport; /* borrowed; closed by its owner after the worker */
	/* of the rates: struct rb_rates_config says what they mean */
	uint64_t fabric_Bps;
	struct rb_rates_urgency *urgency; /* borrowed */
	uint32_t worker, n_workers;
};

/* The state of a peer changed. Called from rb_worker_tick and rb_worker_connect. */
typedef void (*rb_peer_event_fn)(void *context, uint8_t node, enum rb_peer_state state);
/* A peer's daemon announced something; the bytes are borrowed during the call. */
typedef void (*rb_announce_fn)(void *context, uint8_t node, const uint8_t *bytes, uint32_t n_bytes);

struct rb_worker_peer {
	uint8_t node;
	struct rb_path *path;	    /* owned by the transport; NULL: not introduced */
	struct rb_endpoint remote;  /* valid while path is */
	struct rb_ingress *ingress; /* owned; NULL: no system ports */
	uint32_t sequence;	    /* of the next message to it */
	uint64_t hello_ns;	    /* when the next hello is due */
	struct rb_transit transit;  /* of its messages */
	uint64_t sent[RB_MSG_TYPE_COUNT], sent_bytes[RB_MSG_TYPE_COUNT]; /* messages by type */
	uint64_t send_refused; /* tries that found no room */
	uint64_t since_ns;     /* when its state changed last; 0: not since the first tick */
};

struct rb_worker {
	struct rb_worker_config config;
	struct rb_transport *transport;
	struct rb_chunks *chunks; /* the transport's */
	struct rb_receiver self;
	struct rb_peers peers;
	/*
	 * Owned: destinations by node id; that of this node has no path, and exists if ports of its
	 * own have VOQs
	 */
	struct rb_worker_peer *peer[256];
	uint8_t nodes[256]; /* ids of the other nodes, in order of rb_worker_add_peer */
	uint32_t n_nodes;
	/*
	 * By node: where the sequence numbers of a peer that has been removed go on. It may come
	 * again before it has taken us for dead, and would find lower numbers stale.
	 */
	uint32_t next_sequence[256];
	struct rb_id_set linked;	  /* nodes to which there is, or was, a path */
	struct rb_ingress_todo todo;	  /* by node: which ingress sides to serve */
	uint32_t turn;			  /* which node is served first, if it waits */
	struct rb_egress_port *port[256]; /* owned, by port number */
	uint8_t ports[256];		  /* the numbers in use */
	uint32_t n_ports;
	struct rb_id_set todo_ports; /* their numbers: those that are not idle */
	struct rb_id_set
		from_others; /* those for which other nodes sent frames; readers clear it */
	struct sl_counter counters[RB_COUNT_COUNT];
	uint64_t verdicts[RB_VERDICT_COUNT]; /* received messages, by the verdict on them */
	uint64_t packed[RB_PACKED_CLASSES];  /* data messages sent, by log2 of their frames */
	uint64_t rounds, idle_rounds;
	uint64_t now_ns;	/* of the current round */
	uint64_t first_tick_ns; /* 0: no tick yet */
	bool held;		/* the round left frames waiting for their time alone */
	uint64_t ready_ns;	/* if held: when the first may leave; UINT64_MAX: all are stopped */
	struct rb_rates *rates; /* owned */
	struct rb_frame_pool pool; /* owned: the frames in the lists of VOQs */
	void *event_context;
	rb_peer_event_fn on_peer;   /* may be NULL */
	rb_announce_fn on_announce; /* may be NULL */
	/* Messages lent to the transport: slot is the cookie. */
	struct {
		uint32_t n;
		uint64_t offsets[RB_RECORDS_MAX + 1];
	} * lent; /* owned, RB_LENT_MAX */
	uint32_t free_lent[RB_LENT_MAX], n_free_lent;
};

static inline enum rb_peer_state rb_worker_peer_state(const struct rb_worker *w, uint8_t node)
{
	return w->peers.peer[node].state;
}

/* Note that frames wait until then, and for nothing but time. */
static inline void rb_worker_hold(struct rb_worker *w, uint64_t until_ns)
{
	w->held = true;
	if (until_ns < w->ready_ns)
		w->ready_ns = until_ns;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet loop of one thread of a bridge. A round receives and judges messages, puts their
 * frames into egress queues, sends from those out of the edge ports, packs frames of the VOQs into
 * messages, and sends hellos.
 *
 * It knows rings, transports and ports only by their tables of operations, and no clock: time is an
 * argument. Its owner puts in peers, ports and transport (bridge/assembly.c; tests put in memory).
 */
#ifndef RB_WORKER_H
#define RB_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/rate/rates.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/ingress.h"
#include "rdma-bridge/wire/peer.h"
#include "rdma-bridge/transport/transport.h"

#define RB_WORKER_BATCH	   8   /* completions taken at once */
#define RB_RECEIVE_FRAMES  256 /* a round takes no further batch after so many frames, */
#define RB_RECEIVE_BATCHES 64  /* or after so many batches */
#define RB_EGRESS_BUDGET   512 /* frames sent per port in one round: more than a round receives */
#define RB_LENT_MAX	   256 /* messages whose frames a transport may hold at once */
#define RB_PACKED_CLASSES  8   /* 1, 2..3, 4..7, ... 128..255 frames */
#define RB_RECEIVE_TARGET  512 /* chunks kept posted to the transport, unless configured */

struct rb_worker_config {
	uint8_t node;
	uint32_t epoch; /* not 0 */
	uint8_t stream;
	uint64_t dead_after_ns;
	uint64_t hello_interval_ns;
	uint64_t pack_delay_ns;		/* 0: a message never waits for more frames */
	uint32_t degree;		/* most frames in one message, 1..RB_RECORDS_MAX */
	uint32_t receive_target;	/* chunks kept posted; 0: RB_RECEIVE_TARGET */
	struct rb_transport *transport; /* borrowed; closed by its owner after the worker */
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
	uint64_t sent[RB_MSG_TYPE_COUNT], sent_bytes[RB_MSG_TYPE_COUNT]; /* messages by type */
	uint64_t send_refused; /* tries that found no room */
	uint64_t since_ns;     /* when its state changed last; 0: no tick yet */
};

struct rb_worker {
	struct rb_worker_config config;
	struct rb_transport *transport;
	struct rb_chunks *chunks; /* the transport's */
	struct rb_receiver self;
	struct rb_peers peers;
	struct rb_worker_peer *peer[256]; /* owned, by node id */
	uint8_t nodes[256];		  /* the ids in use, in order of rb_worker_add_peer */
	uint32_t n_nodes;
	uint32_t turn;			  /* which peer is served first */
	struct rb_egress_port *port[256]; /* owned, by port number */
	uint8_t ports[256];		  /* the numbers in use */
	uint32_t n_ports;
	struct sl_counter counters[RB_COUNT_COUNT];
	uint64_t verdicts[RB_VERDICT_COUNT]; /* received messages, by the verdict on them */
	uint64_t packed[RB_PACKED_CLASSES];  /* data messages sent, by log2 of their frames */
	uint64_t rounds, idle_rounds;
	uint64_t now_ns;	/* of the current round */
	bool held;		/* the round left frames waiting for their time alone */
	uint64_t ready_ns;	/* if held: when the first may leave; UINT64_MAX: all are stopped */
	struct rb_rates *rates; /* owned */
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

/* -EINVAL for a value out of range, -ENOMEM. */
int rb_worker_create(const struct rb_worker_config *config, struct rb_worker **out);
/* Drop what waits. Whoever closes the transport reclaims its chunks. NULL is fine. */
void rb_worker_destroy(struct rb_worker *worker);

/*
 * A peer with n_voqs virtual output queues (set up through peer->ingress). -EINVAL, -EEXIST,
 * -ENOMEM.
 */
int rb_worker_add_peer(struct rb_worker *worker, uint8_t node, uint32_t n_voqs,
		       uint32_t frame_max_bytes);
/* A port of ours; it takes no frame until it has a tx. -EINVAL: not ours, -EEXIST, -ENOMEM. */
int rb_worker_add_port(struct rb_worker *worker, const struct rb_egress_config *config,
		       uint64_t now_ns);

/*
 * A peer has introduced this life of it: from now on we exchange messages with it. The same life at
 * the same endpoint again changes nothing. -ENOENT, or what the transport says.
 */
int rb_worker_connect(struct rb_worker *worker, uint8_t node, uint32_t epoch,
		      const struct rb_endpoint *remote, uint64_t now_ns);

/*
 * One round. True if frames came or went, or something waits for room. Frames that wait for their
 * time show in ready_ns; messages without frames are no reason to expect more, and do not count.
 */
bool rb_worker_round(struct rb_worker *worker, uint64_t now_ns);
/* Send hellos, judge liveness. Call it every millisecond or so. */
void rb_worker_tick(struct rb_worker *worker, uint64_t now_ns);
/*
 * Send an announcement of our daemon, 1 byte or more. 0, -ENOENT, -ENOTCONN (not introduced),
 * -EMSGSIZE, -EAGAIN.
 */
int rb_worker_announce(struct rb_worker *worker, uint8_t node, const uint8_t *bytes,
		       uint32_t n_bytes, uint64_t now_ns);

enum rb_peer_state rb_worker_peer_state(const struct rb_worker *worker, uint8_t node);

#endif

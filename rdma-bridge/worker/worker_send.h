/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's way out: messages to peers, with frames of VOQs or with records. */
#ifndef RB_WORKER_SEND_H
#define RB_WORKER_SEND_H

#include "rdma-bridge/worker/worker_state.h"

/*
 * Pack frames of a peer's VOQs into messages and send them; drop the frames of a peer that is not
 * up. True if there was work, or something waits for room.
 */
bool rb_worker_serve_peer(struct rb_worker *worker, struct rb_worker_peer *peer, uint64_t now_ns);

/*
 * Move frames from the VOQs of this node's own ports into the egress queues of these. Returns as
 * rb_worker_serve_peer.
 */
bool rb_worker_serve_own(struct rb_worker *worker, struct rb_worker_peer *self, uint64_t now_ns);

/*
 * Send a peer a message of `count` records, body_bytes together, at once; `context` is the worker.
 * What is for this node itself is used at once, if it has VOQs to its own ports. 0; -EMSGSIZE: a
 * chunk does not hold it; -EAGAIN: no room, or no path to the peer; -EINVAL: impossible records for
 * this node itself; or what else the transport says. After an error the message is lost.
 */
int rb_worker_send_records(void *context, uint8_t node, enum rb_msg_type type, uint32_t count,
			   const uint8_t *body, uint32_t body_bytes, uint64_t now_ns);
/*
 * Send an announcement of our daemon, 1 byte or more. 0, -ENOENT, -ENOTCONN (not introduced),
 * -EMSGSIZE, -EAGAIN.
 */
int rb_worker_announce(struct rb_worker *worker, uint8_t node, const uint8_t *bytes,
		       uint32_t n_bytes, uint64_t now_ns);

/* The transport has sent the message of this cookie: free its chunks. */
void rb_worker_sent(struct rb_worker *worker, uint64_t cookie);

#endif

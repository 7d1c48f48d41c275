/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet loop of one thread of a bridge. A round receives and judges messages, puts their
 * frames into egress queues, sends from those out of the edge ports, packs frames of the VOQs into
 * messages, and sends hellos.
 *
 * It knows rings, transports and ports only by their tables of operations, and its clock by what
 * its owner passes: time is an argument. Its owner puts in peers, ports and transport
 * (assembly/assembly.c; tests put in memory).
 */
#ifndef RB_WORKER_H
#define RB_WORKER_H

#include "rdma-bridge/worker/worker_send.h"
#include "rdma-bridge/worker/worker_state.h"

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
/*
 * The peer goes: no message goes there or is taken from there any more. Its frames that wait are
 * dropped as peer-down. The inputs of its VOQs have been removed. No effect if there is none.
 */
void rb_worker_remove_peer(struct rb_worker *worker, uint8_t node);
/*
 * Other values of these fields of the configuration (worker_state.h), for messages that begin from
 * now on, and for controllers. The thread of the worker halts, or is the caller's.
 */
void rb_worker_set_packing(struct rb_worker *worker, uint32_t degree, uint64_t pack_delay_ns);
void rb_worker_set_fabric(struct rb_worker *worker, uint64_t fabric_Bps);
/*
 * n_voqs virtual output queues of ports of this node, for what enters by one of its ports and
 * leaves by another: w->peer[node]->ingress, as for a peer. -EINVAL, -EEXIST, -ENOMEM.
 */
int rb_worker_add_self(struct rb_worker *worker, uint32_t n_voqs, uint32_t frame_max_bytes);
/* A port of ours; it takes no frame until it has a tx. -EINVAL: not ours, -EEXIST, -ENOMEM. */
int rb_worker_add_port(struct rb_worker *worker, const struct rb_egress_config *config,
		       uint64_t now_ns);
/*
 * Take a port of ours that rb_egress_open has made: a further one, or what the port of its number
 * becomes (rb_egress_become, which says what is returned). Its controller is set anew after it.
 */
uint32_t rb_worker_take_port(struct rb_worker *worker, struct rb_egress_port *port,
			     uint64_t now_ns);
/* A port of ours goes, and the frames that wait for it; those that still come are dropped. */
void rb_worker_remove_port(struct rb_worker *worker, uint8_t number);

/*
 * A peer has introduced this life of it: from now on we exchange messages with it. The same life at
 * the same endpoint again changes nothing. -ENOENT, or what the transport says.
 */
int rb_worker_connect(struct rb_worker *worker, uint8_t node, uint32_t epoch,
		      const struct rb_endpoint *remote, uint64_t now_ns);

/*
 * One round. True if frames came or went, or something waits for room. Frames that wait for their
 * time show in ready_ns; messages without frames do not count, because they announce no further
 * work.
 */
bool rb_worker_round(struct rb_worker *worker, uint64_t now_ns);
/* Send hellos, judge liveness. Call it every millisecond or so. */
void rb_worker_tick(struct rb_worker *worker, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workers under test: those of three nodes on a network in memory, with rings that make frames and
 * ports that remember them. The test makes up the time. Every frame carries its sender, its VOQ and
 * a number, and the port that gets it compares every byte.
 */
#ifndef TEST_WORKER_RIG_H
#define TEST_WORKER_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/transport/mem.h"
#include "rdma-bridge/worker/worker.h"

#define RIG_NODES	3
#define RIG_PORTS	2			 /* of each node, numbers 1 and 2 */
#define RIG_VOQS	(RIG_PORTS * SL_CLASSES) /* to each other node: by port, then class */
#define RIG_CHUNKS	4096
#define RIG_CHUNK_BYTES 4096
#define RIG_US		1000ULL
#define RIG_MS		1000000ULL
#define RIG_STEP_NS	(10 * RIG_US) /* between two rounds of rig_run_for */
#define RIG_DEAD_NS	(50 * RIG_MS)
#define RIG_RECEIVES	256 /* chunks that a worker keeps posted */

struct rig_node;
struct worker_rig;

/* A ring of one VOQ; it makes the frames when the worker reads it. */
struct rig_ring {
	struct rb_input input;
	struct rig_node *node;
	uint16_t system_port;
	uint8_t class;
	uint32_t to_make;   /* frames that wait in it */
	uint32_t len_bytes; /* of each; 0: varies */
	uint32_t made;
	uint32_t reads; /* times that the worker looked into it */
};

struct rig_port {
	struct rb_tx tx;
	struct rig_node *node;
	uint8_t number;
	uint32_t room; /* frames it takes between two reaps */
	uint64_t held[4096];
	uint32_t n_held;
	uint32_t calls;	   /* of flush and reap */
	bool closed, down; /* down: its device sends nothing and gives nothing back */
	uint32_t received;
	uint32_t next[256][SL_CLASSES]; /* number expected next from each node and class */
	uint32_t out_of_order, skipped;
};

struct rig_node {
	struct worker_rig *rig;
	uint8_t id;
	bool dead; /* its loop does not run */
	uint8_t *area;
	struct rb_chunks *chunks;
	struct rb_transport *transport;
	struct rb_worker *worker;
	struct sl_voq voq[RIG_NODES + 1][RIG_VOQS]; /* by the node that they lead to */
	struct sl_backlog backlog[RIG_NODES + 1][RIG_VOQS];
	struct rig_ring ring[RIG_NODES + 1][RIG_VOQS];
	struct rig_port port[RIG_PORTS + 1]; /* by number */
	uint32_t epoch, qkey;
	uint32_t ups, downs;
};

struct rig_setting {
	uint32_t degree;
	uint32_t message_max_bytes;
	uint32_t limit_frames; /* of each egress queue */
	uint64_t pack_delay_ns;
	uint64_t port_rate; /* frames a second */
	bool own;	    /* nodes have VOQs to their own ports */
	struct rb_mem_config network;
};
/* Full packing, no delay, no rates, a network without fault. */
extern const struct rig_setting rig_plain;

/* Zero bytes before rig_begin. */
struct worker_rig {
	struct rig_setting setting;
	struct rb_mem_network *network;
	struct rig_node node[RIG_NODES + 1]; /* by id */
	uint64_t now_ns;
};

/*
 * Three nodes that know each other and are up. Queues of class 3 have a higher level. Asserts what
 * it needs.
 */
void rig_begin(struct worker_rig *rig, const struct rig_setting *setting);
/* No chunk is missing then, and none was handed over by a stranger. */
void rig_end(struct worker_rig *rig);
/* A peer of a node that runs, with its VOQs, or this node itself; or it goes, whatever waits. */
void rig_add_peer(struct rig_node *node, uint8_t other);
void rig_remove_peer(struct rig_node *node, uint8_t other);

/* A new life of a node, with its worker, ports and VOQs; and the end of one. */
void rig_start(struct rig_node *node, uint32_t epoch);
void rig_stop(struct rig_node *node);
struct rb_endpoint rig_endpoint(const struct rig_node *node);
void rig_introduce(struct rig_node *to, const struct rig_node *whom);

/* Let time pass for all nodes: one round each RIG_STEP_NS. */
void rig_run_for(struct worker_rig *rig, uint64_t ns);
/* More frames wait in a ring; len_bytes 0: of all lengths from 60 to 1514. */
void rig_offer(struct worker_rig *rig, int from, int to, uint32_t voq, uint32_t frames,
	       uint32_t len_bytes);

uint64_t rig_count_of(const struct worker_rig *rig, int node, enum rb_frame_counter which);
uint64_t rig_sum_of(const struct worker_rig *rig, enum rb_frame_counter which);
/* When nothing waits: a counter accounts for every frame that a node took in. */
void rig_check_conservation(const struct worker_rig *rig);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker of chains with a clock that the test moves, and packets in memory. */
#ifndef CHAIN_RIG_H
#define CHAIN_RIG_H

#include "elements/graph/chain_worker.h"
#include "elements/graph/graph_text.h"

#define CHAIN_RIG_CHUNKS      256u
#define CHAIN_RIG_CHUNK_BYTES 2048u
#define CHAIN_RIG_HEADROOM    128u

struct chain_rig {
	struct el_worker worker;
	struct el_pool pool;
	struct el_packet packets[CHAIN_RIG_CHUNKS];
	uint8_t area[CHAIN_RIG_CHUNKS * CHAIN_RIG_CHUNK_BYTES];
	struct el_chains chains;
	uint64_t now_ns;
	uint32_t element_ns; /* that each element takes */
	uint64_t sent;
	void (*on_sent)(struct chain_rig *rig, struct el_graph *graph, struct el_packet *packet);
};

/* Parse the chains and open a flow of weight 1 for each, from EL_FLOWS_GLOBAL on; fails the test.
 */
struct chain_rig *chain_rig_create(const char *text);
/* The same with classes beside the built-in ones, up to NULL. */
struct chain_rig *chain_rig_create_with(const char *text, const struct el_class *const *more);
void chain_rig_destroy(struct chain_rig *rig);

/* A packet of so many bytes, of zeros. NULL: no chunk is free. */
struct el_packet *chain_rig_packet(struct chain_rig *rig, uint32_t len_bytes);
/* An IPv4 UDP packet, with a byte as its whole payload. */
struct el_packet *chain_rig_udp(struct chain_rig *rig, uint8_t payload);
/* Enter it; where the chain refuses it, the chunk is free again. */
bool chain_rig_enter(struct chain_rig *rig, uint32_t chain, struct el_packet *packet);
/* Until no flow has anything to do. */
void chain_rig_idle(struct chain_rig *rig);
/* entered + copied = left + dropped + waiting, which chain.h promises; at_hand: 0 or 1 more. */
bool chain_rig_conserves(const struct el_graph *graph, uint32_t at_hand);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way out of an own port that is shaped, past the bridge (struct sl_own_port of bpf/abi/voq.h).
 * The bridge says when frames may take it, keeps them in order with its own, and spends from the
 * same token bucket.
 *
 * A port has one bucket, so either frames of this node go past the bridge or those of other nodes
 * do, where the fabric has such a way (express_paths.h). While the others come, it is theirs.
 *
 * Not thread-safe: belongs to the lane of the port.
 */
#ifndef RB_OWN_WAY_H
#define RB_OWN_WAY_H

#include "bpf/abi/voq.h"
#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/ingress.h"

struct rb_own_way {
	struct sl_backlog *backlog; /* of the port's classes, borrowed; NULL: there is no way */
	uint32_t voq_id;	    /* of class 0, as its user last saw it */
	uint64_t passed_frames;	    /* of its classes, as rb_own_way_is_used saw them */
	uint64_t entered_frames;    /* likewise, but those that wait and waited */
	uint64_t others_ns;	    /* when frames of other nodes came last */
};

#define RB_OWN_WAY_OTHERS_NS 100000000ULL /* other nodes have the bucket for so long */

/*
 * Once a tick, of the VOQs of the port: have frames gone past since the last call? Of ports whose
 * VOQs XDP does not know, no.
 */
bool rb_own_way_is_used(struct rb_own_way *way, const struct sl_backlog *backlog);
/*
 * After it: shall frames of this node have the way, and not those of other nodes? others: frames of
 * those came since the last call.
 */
bool rb_own_way_is_wanted(struct rb_own_way *way, const struct sl_backlog *backlog, bool others,
			  uint64_t now_ns);

/*
 * The VOQs of the port are these SL_CLASSES now, or none that XDP knows (NULL). The bucket moves
 * along, so the maps of those before must still be there.
 */
void rb_own_way_point(struct rb_own_way *way, struct rb_egress_port *port,
		      struct sl_backlog *backlog);
/* Once a tick: frames may leave at once until then, at the port's rate; 0: they may not. */
void rb_own_way_open(struct rb_own_way *way, const struct rb_egress_port *port, uint64_t until_ns);
/* Before the worker's round. */
void rb_own_way_begin(struct rb_own_way *way);
/* After it, of a port that has a way. True if frames that it sent are not gone yet. */
bool rb_own_way_end(struct rb_own_way *way, const struct rb_egress_port *port,
		    const struct rb_ingress *in);
/* What users are told of frames of a class. */
enum rb_express_state rb_own_way_state(const struct rb_own_way *way,
				       const struct rb_egress_port *port, const struct rb_voq *voq,
				       bool takes, uint64_t now_ns);

#endif

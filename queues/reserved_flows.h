/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flows of a port that have a queue of their own: the reserved queues of its shape, which no
 * hash leads to. A table from flow to queue; the caller keeps it beside the port.
 */
#ifndef QUEUES_RESERVED_FLOWS_H
#define QUEUES_RESERVED_FLOWS_H

#include <stdint.h>

#include "queues/flow.h"
#include "queues/fq.h"

#define FQ_RESERVED_MAX	  256u
#define FQ_RESERVED_SLOTS 512u /* a power of two, so that half of them are free */

struct fq_reserved_flow {
	struct fq_flow flow; /* its key counts; key_bytes 0: the queue is free */
	uint64_t hash;
	/* Since it has the queue: frames that came, and of those that were discarded. */
	uint64_t arrived_frames, arrived_bytes, discarded_frames;
};

/* All zeros: no flow has a queue. */
struct fq_reserved {
	uint32_t n;
	struct fq_reserved_flow queue[FQ_RESERVED_MAX]; /* by queue */
	uint16_t slot[FQ_RESERVED_SLOTS]; /* by hash, linear probing: queue plus 1; 0: free */
};

/* The queue of a flow; FQ_NONE: it has none of its own. */
uint32_t fq_reserved_find(const struct fq_reserved *reserved, const struct fq_flow *flow,
			  uint64_t hash);

/*
 * Give a flow a queue of the port with this weight, or its queue this weight. The queue is one that
 * is empty, if there is one. 0; -ENOSPC: all reserved queues are in use; -EINVAL: no such weight.
 */
int fq_reserved_put(struct fq_reserved *reserved, struct fq_port *port, const struct fq_flow *flow,
		    uint64_t hash, uint32_t weight);

/* The flow's frames go by their hash again. 0; -ENOENT: it has no queue. */
int fq_reserved_remove(struct fq_reserved *reserved, const struct fq_flow *flow, uint64_t hash);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes of this network namespace's kernel, changed many to a system call: requests are queued and
 * sent together, and only the last of them is acknowledged. Table main; what is set is `proto
 * static`. Not thread-safe.
 */
#ifndef LAB_ROUTE_BATCH_H
#define LAB_ROUTE_BATCH_H

#include <stdint.h>

#include "user/text/prefix.h"

struct route_batch;

/* A way out: a gateway of the route's family, on link whether or not another route says so. */
struct route_via {
	uint32_t ifindex;
	uint8_t gateway[16];
};

/* 0 or -errno. */
int route_batch_open(struct route_batch **out);
void route_batch_close(struct route_batch *b); /* NULL is fine; what is queued is dropped */

/* Queue "add or replace" or "delete". A full queue is sent. 0 or -errno of sending. */
int route_batch_set(struct route_batch *b, const struct sl_prefix *prefix,
		    const struct route_via *via);
int route_batch_delete(struct route_batch *b, const struct sl_prefix *prefix);
/* Send what is queued. 0 or the first error that the kernel answered since the last flush. */
int route_batch_flush(struct route_batch *b);

/*
 * The gateway of a packet to addr, as the kernel would choose it after all that is queued. 0;
 * -ENETUNREACH: no route; -EPROTO: one without a gateway; -errno.
 */
int route_batch_lookup(struct route_batch *b, uint8_t family, const uint8_t *addr,
		       uint8_t gateway[16]);

#endif

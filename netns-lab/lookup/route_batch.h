/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Change many routes of this network namespace's kernel in one system call: requests are queued and
 * sent together, and the kernel acknowledges the last one only. Table main; new routes are `proto
 * static`. Not thread-safe.
 */
#ifndef LAB_ROUTE_BATCH_H
#define LAB_ROUTE_BATCH_H

#include <stdint.h>

#include "user/text/prefix.h"

struct route_batch;

/* A next hop: a gateway of the route's family, which counts as on link whatever other routes say.
 */
struct route_via {
	uint32_t ifindex;
	uint8_t gateway[16];
};

/* 0 or -errno. */
int route_batch_open(struct route_batch **out);
void route_batch_close(struct route_batch *b); /* NULL is fine; drops queued requests */

/* Queue "add or replace" or "delete". A full queue is sent. 0 or -errno of sending. */
int route_batch_set(struct route_batch *b, const struct sl_prefix *prefix,
		    const struct route_via *via);
int route_batch_delete(struct route_batch *b, const struct sl_prefix *prefix);
/* Send what is queued. 0 or the first error that the kernel answered since the last flush. */
int route_batch_flush(struct route_batch *b);

/*
 * The gateway that the kernel would choose for a packet to addr, after all queued requests. 0;
 * -ENETUNREACH: no route; -EPROTO: one without a gateway; -errno.
 */
int route_batch_lookup(struct route_batch *b, uint8_t family, const uint8_t *addr,
		       uint8_t gateway[16]);

#endif

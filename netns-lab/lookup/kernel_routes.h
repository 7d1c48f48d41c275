/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's own forwarding table in a network namespace that only this process has, as the
 * oracle of our tables. It ends with the process: nothing needs to be cleaned up.
 */
#ifndef LAB_KERNEL_ROUTES_H
#define LAB_KERNEL_ROUTES_H

#include <stdint.h>

#include "user/text/prefix.h"

struct kernel_routes;

/*
 * Leave the present network namespace for a new one with forwarding on and one link, and open it.
 * The gateways of routes are 10.254.0.1 .. 10.254.0.254 and fe80::1 .. fe80::fe, so 10.254.0.0/16
 * and fe80::/10 have routes of their own. 0 or -errno.
 */
int kernel_routes_open(struct kernel_routes **out);
void kernel_routes_close(struct kernel_routes *k); /* NULL is fine */

/*
 * Queue "add or replace" (nexthop 0..253) or "delete". A full queue is sent. 0 or -errno of
 * sending.
 */
int kernel_routes_set(struct kernel_routes *k, const struct sl_prefix *prefix, uint32_t nexthop);
int kernel_routes_delete(struct kernel_routes *k, const struct sl_prefix *prefix);
/* Send what is queued. 0 or the first error that the kernel answered since the last flush. */
int kernel_routes_flush(struct kernel_routes *k);

/*
 * The route of a packet to addr: 0 and the number of the next hop, or -ENETUNREACH: no route.
 */
int kernel_routes_get(struct kernel_routes *k, uint8_t family, const uint8_t *addr,
		      uint32_t *nexthop);

#endif

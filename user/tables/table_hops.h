/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hops to which the kernel's tables send the packets of rules with `table`. XDP names each in
 * the map sl_table_hop when it first meets it; the mirror then makes a next hop of it, and has the
 * kernel resolve its neighbour, as it does for the hops of routes.
 *
 * One thread owns it. It belongs to one generation of the fast path.
 */
#ifndef SL_TABLE_HOPS_H
#define SL_TABLE_HOPS_H

#include "user/mirror/mirror.h"

struct sl_table_hops;

/* map_fd: sl_table_hop; borrowed, as m is, until destroy. 0 or -ENOMEM. */
int sl_table_hops_create(int map_fd, struct sl_mirror *m, struct sl_table_hops **out);
/* Leaves the hops to the mirror, which ends at the same time. NULL is fine. */
void sl_table_hops_destroy(struct sl_table_hops *hops);

/* Once a second: make the next hops that are asked for, and end those unused for a minute. */
void sl_table_hops_tick(struct sl_table_hops *hops, uint64_t now_ns);

#endif

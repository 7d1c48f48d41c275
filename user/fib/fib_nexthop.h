/* SPDX-License-Identifier: BSD-2-Clause */
/* Next hops, for the other files of the forwarding table; fib.h has the calls for everybody. */
#ifndef SL_FIB_NEXTHOP_H
#define SL_FIB_NEXTHOP_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/forwarding.h"

struct sl_fib;

/* True if the id was handed out, and may thus be given to a prefix or a group. */
bool sl_fib_nexthop_known(const struct sl_fib *fib, uint32_t id);
/*
 * Make the next hop one of `kind`, by one store, and retire the adjacency or group that it had.
 * ref is what struct sl_nexthop says for that kind.
 */
void sl_fib_nexthop_publish(struct sl_fib *fib, uint32_t id, enum sl_nexthop_kind kind,
			    uint32_t ref);

#endif

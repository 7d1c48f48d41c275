/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The forwarding tables as user space writes them: prefixes, next hops, adjacencies and ECMP
 * groups, kept in the maps that XDP reads (bpf/abi/forwarding.h draws how they hang together). This
 * is the only writer of those maps. It knows nothing of the kernel's routing: user/mirror decides
 * what goes in.
 *
 * Not thread-safe: one thread owns a sl_fib.
 */
#ifndef SL_FIB_H
#define SL_FIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/reasons.h"
#include "user/text/prefix.h"

struct sl_fib;

/*
 * Where the tables live. Map memory is borrowed from the caller until sl_fib_destroy; in
 * unit tests it is plain zeroed memory, in the daemon it is mmapped from the maps.
 */
struct sl_fib_tables {
	enum sl_engine engine; /* LPM or FAST */
	struct sl_nexthop *nexthop;
	uint32_t n_nexthop; /* elements, as in n_adj and n_group */
	struct sl_adj *adj;
	uint32_t n_adj;
	struct sl_group *group;
	uint32_t n_group;
	/* FAST only: roots have SL_ROOT_BLOCKS blocks, runs as many pages as n_runs says */
	struct sl_block *root4, *root6;
	struct sl_page *runs4, *runs6;
	uint32_t n_runs4, n_runs6;
	/* LPM only: map file descriptors */
	int fib4_fd;
	int fib6_fd;
	uint32_t n_fib4; /* max_entries */
	uint32_t n_fib6;
};

struct sl_fib_stats {
	uint64_t prefixes4, prefixes6; /* installed, overflowed ones included */
	uint64_t overflow4, overflow6; /* of those, how many did not fit: their addresses punt */
	uint64_t inserts, replaces, deletes;
	uint32_t nexthops, adjs, groups; /* in use */
	uint32_t pages4, pages6;	 /* of runs, in use */
	size_t table_bytes;		 /* memory of the maps */
	size_t process_bytes;		 /* memory of this object in the process */
};

/* Next hops that always exist. */
#define SL_NEXTHOP_NONE	    0 /* no route */
#define SL_NEXTHOP_OVERFLOW 1 /* punts as OVERFLOW: a route that did not fit */

/*
 * Pages of runs that the engine fast is given for so many routes. IPv4 routes of up to 24 bits then
 * fit, wherever they lie, with room for what waits for its readers; for IPv6, and longer ones,
 * where they lie as the Internet's do. More go in for as long as there is room.
 */
uint32_t sl_fib_pages_for(uint8_t family, uint32_t routes);

/*
 * Take over zeroed tables, which XDP must not read yet. 0, -ENOMEM, or -EINVAL for a size the
 * engine cannot work with.
 */
int sl_fib_create(const struct sl_fib_tables *tables, struct sl_fib **out);
/* XDP may read the tables from now on. Until then, memory is used again at once. */
void sl_fib_go_live(struct sl_fib *fib);
void sl_fib_destroy(struct sl_fib *fib); /* NULL is fine; the tables keep their last content */

/*
 * Insert the prefixes that did not fit and now do. A deleted prefix makes room SL_GRACE_NS later,
 * so call this about once a second. It costs nothing while nothing overflows.
 */
void sl_fib_tick(struct sl_fib *fib);
/*
 * For tests: a clock in place of CLOCK_MONOTONIC, which must not go backwards; and a function in
 * place of membarrier, which returns 0 when every run of an XDP program that had begun has ended,
 * or -errno if it cannot wait, so that only time frees memory.
 */
void sl_fib_set_clock(struct sl_fib *fib, uint64_t (*now_ns)(void), int (*wait_readers)(void));

/* --- Next hops --- */

/*
 * Any number of routes may name an id; setting it changes all of them at once, by
 * one store. A new next hop punts as NEIGHBOUR. All return 0 or -ENOSPC (map full: the next hop
 * then punts as OVERFLOW, and the call may be repeated), -EINVAL for an unknown id.
 */
int sl_fib_nexthop_create(struct sl_fib *fib, uint32_t *id);
int sl_fib_nexthop_set_adj(struct sl_fib *fib, uint32_t id, const struct sl_adj *adj);
int sl_fib_nexthop_set_punt(struct sl_fib *fib, uint32_t id, enum sl_punt reason);
int sl_fib_nexthop_set_drop(struct sl_fib *fib, uint32_t id, enum sl_drop reason);
/*
 * Before this call, take the id out of every route and group. XDP then reads it as no route, and it
 * is handed out again after SL_GRACE_NS.
 */
void sl_fib_nexthop_destroy(struct sl_fib *fib, uint32_t id);
/* True if XDP sent a packet by this next hop since the last call; clears the mark. */
bool sl_fib_nexthop_used(struct sl_fib *fib, uint32_t id);

struct sl_member {
	uint32_t nexthop_id; /* not itself a group */
	uint32_t weight;     /* 1..65536, relative */
};
/*
 * Make `id` a group of n members (1..SL_GROUP_BUCKETS), or change the group it is. Buckets move
 * only as far as the change asks: removing a member moves only its own, adding one takes its share
 * from the others. A next hop named twice counts with the sum. -EINVAL also for a group as member
 * or a weight out of range.
 */
int sl_fib_nexthop_set_group(struct sl_fib *fib, uint32_t id, const struct sl_member *members,
			     uint32_t n);

/* --- Prefixes --- */

/*
 * Insert or replace. 0 also when the tables are full: the fib then remembers the
 * prefix, punts its addresses as OVERFLOW (so that none goes a wrong way), counts it in overflow*,
 * and inserts it when there is room. -EINVAL: bad prefix or unknown next hop; -ENOMEM.
 */
int sl_fib_insert(struct sl_fib *fib, const struct sl_prefix *prefix, uint32_t nexthop_id);
int sl_fib_delete(struct sl_fib *fib, const struct sl_prefix *prefix); /* 0 or -ENOENT */

/*
 * Look addr up in the tables, as XDP does. Returns the next-hop id, SL_NEXTHOP_NONE or
 * SL_NEXTHOP_OVERFLOW.
 */
uint32_t sl_fib_lookup(const struct sl_fib *fib, uint8_t family, const uint8_t *addr);
/*
 * The longest prefix that covers addr, and its next hop, whether or not it fits the tables. 0 or
 * -ENOENT.
 */
int sl_fib_match(const struct sl_fib *fib, uint8_t family, const uint8_t *addr,
		 struct sl_prefix *prefix, uint32_t *nexthop_id);

void sl_fib_stats(const struct sl_fib *fib, struct sl_fib_stats *out);

#endif

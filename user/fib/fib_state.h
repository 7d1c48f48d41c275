/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that the files of the forwarding table share; no other file includes it. fib_prefix.c
 * keeps the list of prefixes and decides; an engine (fib_fast.c, fib_lpm.c) writes what XDP reads.
 */
#ifndef SL_FIB_STATE_H
#define SL_FIB_STATE_H

#include "user/fib/fib.h"
#include "user/fib/fib_overflow.h"
#include "user/fib/fib_pool.h"
#include "user/fib/fib_store.h"

/* One address family. */
struct sl_fib_family {
	struct sl_store store;	     /* every prefix, in the tables or not */
	struct sl_overflow overflow; /* those that are not */
	void *engine_state;	     /* owned by the engine */
};

/*
 * How an engine writes prefixes into its maps. While `overflow` holds a prefix, no address whose
 * longest prefix it is may take a route: the engine sends those addresses, and as few others as its
 * tables allow, to SL_NEXTHOP_OVERFLOW.
 */
struct sl_fib_engine {
	/* 0, -ENOMEM, or -EINVAL for a size that does not work */
	int (*open)(struct sl_fib *fib, struct sl_fib_family *family);
	void (*close)(struct sl_fib_family *family);
	/* Add (is_new) or replace. -ENOSPC: no room; what was there before is untouched. */
	int (*insert)(struct sl_fib *fib, struct sl_fib_family *family,
		      const struct sl_prefix *prefix, uint32_t nexthop_id, bool is_new);
	/*
	 * Take a prefix out of the tables: its addresses go to its cover, the longest prefix above
	 * it.
	 */
	void (*remove)(struct sl_fib *fib, struct sl_fib_family *family,
		       const struct sl_prefix *prefix);
	/* The prefix went into `overflow`. */
	void (*overflow)(struct sl_fib *fib, struct sl_fib_family *family,
			 const struct sl_prefix *prefix);
	/* The prefix was deleted from `overflow` and the store. */
	void (*forget)(struct sl_fib *fib, struct sl_fib_family *family,
		       const struct sl_prefix *prefix);
	/* Free what has waited long enough; move what fits now from `overflow` into the tables. */
	void (*heal)(struct sl_fib *fib, struct sl_fib_family *family);
	uint32_t (*lookup)(const struct sl_fib *fib, const struct sl_fib_family *family,
			   const uint8_t *addr);
	/* Memory of the maps, memory of engine_state, pages of runs in use. */
	void (*usage)(const struct sl_fib_family *family, size_t *table_bytes,
		      size_t *process_bytes, uint32_t *pages);
};

extern const struct sl_fib_engine sl_fib_engine_fast;
extern const struct sl_fib_engine sl_fib_engine_lpm;

struct sl_fib {
	struct sl_fib_tables tables;
	const struct sl_fib_engine *engine;
	struct sl_fib_family ip4, ip6;
	struct sl_pool nexthops, adjs, groups;
	uint64_t (*now_ns)(void);
	int (*wait_readers)(void);
	bool is_live; /* XDP may read */
	uint64_t inserts, replaces, deletes;
};

static inline bool sl_fib_is_ip4(const struct sl_fib *fib, const struct sl_fib_family *family)
{
	return family == &fib->ip4;
}

/*
 * XDP reads table slots and next hops at any time. So write each by one store, after everything
 * that it leads to.
 */
static inline void sl_publish(uint32_t *slot, uint32_t value)
{
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
}

#endif

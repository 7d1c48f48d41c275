/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Next hops and adjacencies. An adjacency that XDP can reach is never written again (but for its
 * `used` mark): a change fills a free one, and one store of the next hop makes everybody use it.
 */
#include "user/fib/fib_nexthop.h"
#include "user/fib/fib_state.h"

#include <errno.h>
#include <string.h>

/* struct sl_nexthop as the one word in which it is written */
typedef uint64_t __attribute__((may_alias)) nexthop_word;

bool sl_fib_nexthop_known(const struct sl_fib *fib, uint32_t id)
{
	return id > SL_NEXTHOP_OVERFLOW && id < fib->tables.n_nexthop &&
	       fib->tables.nexthop[id].kind != SL_NH_NONE;
}

void sl_fib_nexthop_publish(struct sl_fib *fib, uint32_t id, enum sl_nexthop_kind kind,
			    uint32_t ref)
{
	struct sl_nexthop old = fib->tables.nexthop[id];
	struct sl_nexthop new = { .kind = kind, .ref = ref };
	uint64_t word;

	memcpy(&word, &new, sizeof(word));
	__atomic_store_n((nexthop_word *)&fib->tables.nexthop[id], word, __ATOMIC_RELEASE);
	if (old.kind == SL_NH_FORWARD)
		sl_pool_retire(&fib->adjs, fib->now_ns(), old.ref);
	else if (old.kind == SL_NH_GROUP)
		sl_pool_retire(&fib->groups, fib->now_ns(), old.ref);
}

int sl_fib_nexthop_create(struct sl_fib *fib, uint32_t *id)
{
	int rc = sl_pool_take(&fib->nexthops, fib->now_ns(), id);

	if (rc)
		return rc;
	sl_fib_nexthop_publish(fib, *id, SL_NH_PUNT, SL_PUNT_NEIGHBOUR);
	return 0;
}

/* Do both rewrite a frame alike? Their marks of use do not count. */
static bool adj_equal(const struct sl_adj *a, const struct sl_adj *b)
{
	return memcmp(a, b, offsetof(struct sl_adj, used)) == 0;
}

int sl_fib_nexthop_set_adj(struct sl_fib *fib, uint32_t id, const struct sl_adj *adj)
{
	struct sl_adj new = *adj;
	uint32_t ref;
	int rc;

	if (!sl_fib_nexthop_known(fib, id))
		return -EINVAL;
	new.used = 0;
	if (fib->tables.nexthop[id].kind == SL_NH_FORWARD) {
		struct sl_adj *old = &fib->tables.adj[fib->tables.nexthop[id].ref];

		if (adj_equal(old, &new))
			return 0;
		new.used = __atomic_load_n(&old->used, __ATOMIC_RELAXED);
	}
	rc = sl_pool_take(&fib->adjs, fib->now_ns(), &ref);
	if (rc) {
		sl_fib_nexthop_publish(fib, id, SL_NH_PUNT, SL_PUNT_OVERFLOW);
		return rc;
	}
	fib->tables.adj[ref] = new;
	sl_fib_nexthop_publish(fib, id, SL_NH_FORWARD, ref);
	return 0;
}

int sl_fib_nexthop_set_punt(struct sl_fib *fib, uint32_t id, enum sl_punt reason)
{
	if (!sl_fib_nexthop_known(fib, id) || (uint32_t)reason >= SL_PUNT_COUNT)
		return -EINVAL;
	sl_fib_nexthop_publish(fib, id, SL_NH_PUNT, reason);
	return 0;
}

int sl_fib_nexthop_set_drop(struct sl_fib *fib, uint32_t id, enum sl_drop reason)
{
	if (!sl_fib_nexthop_known(fib, id) || (uint32_t)reason >= SL_DROP_COUNT)
		return -EINVAL;
	sl_fib_nexthop_publish(fib, id, SL_NH_DROP, reason);
	return 0;
}

void sl_fib_nexthop_destroy(struct sl_fib *fib, uint32_t id)
{
	if (!sl_fib_nexthop_known(fib, id))
		return;
	sl_fib_nexthop_publish(fib, id, SL_NH_NONE, 0);
	sl_pool_retire(&fib->nexthops, fib->now_ns(), id);
}

bool sl_fib_nexthop_used(struct sl_fib *fib, uint32_t id)
{
	uint32_t *used;

	if (!sl_fib_nexthop_known(fib, id) || fib->tables.nexthop[id].kind != SL_NH_FORWARD)
		return false;
	used = &fib->tables.adj[fib->tables.nexthop[id].ref].used;
	/*
	 * XDP writes the word only while it is 0, so a busy adjacency costs it no shared cache
	 * line.
	 */
	return __atomic_load_n(used, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(used, 0, __ATOMIC_RELAXED);
}

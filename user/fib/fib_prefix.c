/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A forwarding table's life, and its prefixes: each goes to the engine, or into `overflow` when the
 * engine has no room.
 */
#include "user/fib/fib_nexthop.h"
#include "user/fib/fib_state.h"
#include "user/lib/clock.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Wait until the XDP programs that run now have ended: in the kernel this is synchronize_rcu, and
 * each run is an RCU reader. Takes some ten milliseconds.
 */
static int wait_readers(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0;
}

void sl_fib_set_clock(struct sl_fib *fib, uint64_t (*now_ns)(void), int (*wait)(void))
{
	fib->now_ns = now_ns;
	fib->wait_readers = wait;
}

static int open_family(struct sl_fib *fib, struct sl_fib_family *family, uint8_t af)
{
	int rc = sl_store_init(&family->store, af);

	return rc ? rc : fib->engine->open(fib, family);
}

static void close_family(struct sl_fib *fib, struct sl_fib_family *family)
{
	fib->engine->close(family);
	sl_overflow_fini(&family->overflow);
	sl_store_fini(&family->store);
}

void sl_fib_destroy(struct sl_fib *fib)
{
	if (!fib)
		return;
	close_family(fib, &fib->ip4);
	close_family(fib, &fib->ip6);
	sl_pool_fini(&fib->nexthops);
	sl_pool_fini(&fib->adjs);
	sl_pool_fini(&fib->groups);
	free(fib);
}

static int open_nexthops(struct sl_fib *fib)
{
	const struct sl_fib_tables *tables = &fib->tables;
	const uint32_t first = SL_NEXTHOP_OVERFLOW + 1;
	int rc;

	if (tables->n_nexthop < first || tables->n_nexthop > SL_WORD_INDEX_MASK)
		return -EINVAL;
	rc = sl_pool_init(&fib->nexthops, first, tables->n_nexthop - first);
	if (!rc)
		rc = sl_pool_init(&fib->adjs, 0, tables->n_adj);
	if (!rc)
		rc = sl_pool_init(&fib->groups, 0, tables->n_group);
	if (!rc)
		sl_fib_nexthop_publish(fib, SL_NEXTHOP_OVERFLOW, SL_NH_PUNT, SL_PUNT_OVERFLOW);
	return rc;
}

int sl_fib_create(const struct sl_fib_tables *tables, struct sl_fib **out)
{
	struct sl_fib *fib;
	int rc;

	if (tables->engine != SL_ENGINE_FAST && tables->engine != SL_ENGINE_LPM)
		return -EINVAL;
	fib = calloc(1, sizeof(*fib));
	if (!fib)
		return -ENOMEM;
	fib->tables = *tables;
	fib->now_ns = sl_now_ns;
	fib->wait_readers = wait_readers;
	fib->engine = tables->engine == SL_ENGINE_FAST ? &sl_fib_engine_fast : &sl_fib_engine_lpm;
	rc = open_nexthops(fib);
	if (!rc)
		rc = open_family(fib, &fib->ip4, AF_INET);
	if (!rc)
		rc = open_family(fib, &fib->ip6, AF_INET6);
	if (rc)
		sl_fib_destroy(fib);
	else
		*out = fib;
	return rc;
}

void sl_fib_go_live(struct sl_fib *fib)
{
	fib->is_live = true;
}

static struct sl_fib_family *family_of(const struct sl_fib *fib, uint8_t family)
{
	return (struct sl_fib_family *)(family == AF_INET ? &fib->ip4 : &fib->ip6);
}

/* The tables have no room: remember the prefix, and leave its addresses to the kernel. */
static int overflow(struct sl_fib *fib, struct sl_fib_family *family,
		    const struct sl_prefix *prefix)
{
	int rc = sl_overflow_add(&family->overflow, prefix);

	if (rc)
		return rc;
	*sl_store_find(&family->store, prefix->addr, prefix->len) |= SL_STORE_OVERFLOW;
	fib->engine->overflow(fib, family, prefix);
	return 0;
}

static int add(struct sl_fib *fib, struct sl_fib_family *family, const struct sl_prefix *prefix,
	       uint32_t nexthop_id)
{
	int rc = sl_store_insert(&family->store, prefix->addr, sl_word(prefix->len, nexthop_id));

	if (rc)
		return rc;
	rc = fib->engine->insert(fib, family, prefix, nexthop_id, true);
	if (rc)
		rc = overflow(fib, family, prefix);
	if (rc)
		sl_store_delete(&family->store,
				sl_store_find(&family->store, prefix->addr, prefix->len));
	else
		fib->inserts++;
	return rc;
}

static int replace(struct sl_fib *fib, struct sl_fib_family *family, const struct sl_prefix *prefix,
		   uint32_t *word, uint32_t nexthop_id)
{
	int rc;

	if (sl_word_id(*word) == nexthop_id)
		return 0;
	*word = (*word & ~SL_WORD_INDEX_MASK) | nexthop_id;
	fib->replaces++;
	if (*word & SL_STORE_OVERFLOW)
		return 0;
	rc = fib->engine->insert(fib, family, prefix, nexthop_id, false);
	if (rc) {
		/* The old next hop must not stay in the tables, so the prefix leaves them. */
		rc = overflow(fib, family, prefix);
		fib->engine->remove(fib, family, prefix);
	}
	/* As after add: the next attempt must not believe that it is there. */
	if (rc)
		sl_store_delete(&family->store,
				sl_store_find(&family->store, prefix->addr, prefix->len));
	return rc;
}

int sl_fib_insert(struct sl_fib *fib, const struct sl_prefix *prefix, uint32_t nexthop_id)
{
	struct sl_fib_family *family = family_of(fib, prefix->family);
	uint32_t *word;

	if (!sl_prefix_valid(prefix) || !sl_fib_nexthop_known(fib, nexthop_id))
		return -EINVAL;
	word = sl_store_find(&family->store, prefix->addr, prefix->len);
	return word ? replace(fib, family, prefix, word, nexthop_id)
		    : add(fib, family, prefix, nexthop_id);
}

int sl_fib_delete(struct sl_fib *fib, const struct sl_prefix *prefix)
{
	struct sl_fib_family *family = family_of(fib, prefix->family);
	uint32_t *word, old;

	if (!sl_prefix_valid(prefix))
		return -ENOENT;
	word = sl_store_find(&family->store, prefix->addr, prefix->len);
	if (!word)
		return -ENOENT;
	old = *word;
	sl_store_delete(&family->store, word);
	if (old & SL_STORE_OVERFLOW) {
		sl_overflow_delete(&family->overflow, prefix);
		fib->engine->forget(fib, family, prefix);
	} else {
		fib->engine->remove(fib, family, prefix);
	}
	fib->deletes++;
	return 0;
}

void sl_fib_tick(struct sl_fib *fib)
{
	fib->engine->heal(fib, &fib->ip4);
	fib->engine->heal(fib, &fib->ip6);
}

uint32_t sl_fib_lookup(const struct sl_fib *fib, uint8_t family, const uint8_t *addr)
{
	return fib->engine->lookup(fib, family_of(fib, family), addr);
}

int sl_fib_match(const struct sl_fib *fib, uint8_t family, const uint8_t *addr,
		 struct sl_prefix *prefix, uint32_t *nexthop_id)
{
	const uint32_t *word =
		sl_store_cover(&family_of(fib, family)->store, addr, sl_addr_bits(family));

	if (!word)
		return -ENOENT;
	*prefix = (struct sl_prefix){ .family = family, .len = (uint8_t)sl_word_len(*word) };
	for (int i = 0; i < sl_addr_bits(family) / 8; i++)
		prefix->addr[i] = addr[i];
	sl_addr_mask(prefix->addr, prefix->len);
	*nexthop_id = sl_word_id(*word);
	return 0;
}

static void add_usage(const struct sl_fib *fib, const struct sl_fib_family *family,
		      struct sl_fib_stats *out, uint32_t *pages)
{
	size_t table_bytes, process_bytes;

	fib->engine->usage(family, &table_bytes, &process_bytes, pages);
	out->table_bytes += table_bytes;
	out->process_bytes += process_bytes + sl_store_bytes(&family->store) +
			      sl_overflow_bytes(&family->overflow);
}

void sl_fib_stats(const struct sl_fib *fib, struct sl_fib_stats *out)
{
	const struct sl_fib_tables *tables = &fib->tables;

	*out = (struct sl_fib_stats){
		.prefixes4 = fib->ip4.store.count,
		.prefixes6 = fib->ip6.store.count,
		.overflow4 = fib->ip4.overflow.count,
		.overflow6 = fib->ip6.overflow.count,
		.inserts = fib->inserts,
		.replaces = fib->replaces,
		.deletes = fib->deletes,
		.nexthops = sl_pool_used(&fib->nexthops),
		.adjs = sl_pool_used(&fib->adjs),
		.groups = sl_pool_used(&fib->groups),
		.table_bytes = tables->n_nexthop * sizeof(struct sl_nexthop) +
			       tables->n_adj * sizeof(struct sl_adj) +
			       tables->n_group * sizeof(struct sl_group),
		.process_bytes = sizeof(*fib) + sl_pool_bytes(&fib->nexthops) +
				 sl_pool_bytes(&fib->adjs) + sl_pool_bytes(&fib->groups),
	};
	add_usage(fib, &fib->ip4, out, &out->pages4);
	add_usage(fib, &fib->ip6, out, &out->pages6);
}

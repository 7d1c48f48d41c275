/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine fast: a multibit trie with leaf pushing in mmapped arrays. The root takes the first 24
 * bits of an IPv4 address (DIR-24-8: Gupta, Lin and McKeown, "Routing Lookups in Hardware at Memory
 * Access Speeds", 1998) or the first 16 of an IPv6 address; each block below takes 8 more. A slot
 * holds either the block that continues, or the next hop of the longest prefix that covers all of
 * the slot's addresses.
 *
 * A leaf remembers the length of its prefix, and a slot lies under one prefix of each length only.
 * So an insert overwrites, in its range, the leaves of prefixes up to its own length, and a delete
 * gives the leaves of exactly its length to the prefix above. A block whose leaves have all become
 * that of one prefix above it goes back into the slot it came from. A slot is one store; a block is
 * filled before a slot leads to it.
 *
 * When no block is left for a prefix that needs one, the leaf where the block would begin punts
 * instead. That leaf has a length of one more than any prefix that ends at its level, so only
 * healing overwrites it.
 *
 * Changed from the paper: lengths in the slots, blocks that come and go, as many levels as the
 * address needs.
 */
#include "user/fib/fib_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define STRIDE_BITS 8
#define LEVELS_MAX  (1 + (128 - 16) / STRIDE_BITS)

/* Wait for readers only if that frees at least one of so many blocks. */
#define WAIT_WORTH_SHARE 16

_Static_assert(SL_BLOCK_SLOTS == 1 << STRIDE_BITS, "a block is one stride");

struct trie {
	uint32_t *root; /* borrowed from sl_fib_tables, as blocks; 2^root_bits slots in a row */
	struct sl_block *blocks;
	unsigned int root_bits;
	uint8_t family;
	size_t table_bytes;
	struct sl_pool pool; /* of block numbers */
};

/*
 * One level on the way down: bits from..to-1 of an address choose one of `slots`; the way goes on
 * at `slot`.
 */
struct level {
	uint32_t *slots;
	unsigned int from, to;
	uint32_t *slot;
};

struct way {
	struct level level[LEVELS_MAX];
	unsigned int last;
};

static uint32_t *block_slots(const struct trie *t, uint32_t block)
{
	return t->blocks[block].slot;
}

/* Bits from..to-1 of addr; both are multiples of 8. */
static uint32_t bits_of(const uint8_t *addr, unsigned int from, unsigned int to)
{
	uint32_t value = 0;

	for (unsigned int i = from / 8; i < to / 8; i++)
		value = value << 8 | addr[i];
	return value;
}

static uint32_t punt_leaf(unsigned int to)
{
	return sl_word(to + 1, SL_NEXTHOP_OVERFLOW);
}

/* Go down from a level towards addr, to the level that has bit len, or to a leaf. */
static void go_down(const struct trie *t, struct way *way, const uint8_t *addr, unsigned int len)
{
	struct level *l = &way->level[way->last];

	for (;;) {
		l->slot = l->slots + bits_of(addr, l->from, l->to);
		if (len <= l->to || !(*l->slot & SL_SLOT_BLOCK))
			return;
		l[1] = (struct level){
			.slots = block_slots(t, *l->slot & SL_SLOT_INDEX_MASK),
			.from = l->to,
			.to = l->to + STRIDE_BITS,
		};
		l++;
		way->last++;
	}
}

static struct level *find_way(const struct trie *t, struct way *way, const uint8_t *addr,
			      unsigned int len)
{
	way->level[0] = (struct level){ .slots = t->root, .to = t->root_bits };
	way->last = 0;
	go_down(t, way, addr, len);
	return &way->level[way->last];
}

/*
 * Write `leaf` to n slots and all slots below them, wherever the present leaf has a length in
 * low..high.
 */
static void paint(const struct trie *t, uint32_t *slots, uint32_t n, unsigned int low,
		  unsigned int high, uint32_t leaf)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = slots[i];

		if (slot & SL_SLOT_BLOCK)
			paint(t, block_slots(t, slot & SL_SLOT_INDEX_MASK), SL_BLOCK_SLOTS, low,
			      high, leaf);
		else if (sl_word_len(slot) - low <= high - low && slot != leaf)
			sl_publish(&slots[i], leaf);
	}
}

static void paint_prefix(const struct trie *t, const struct level *l, unsigned int len,
			 unsigned int low, unsigned int high, uint32_t leaf)
{
	uint32_t n = 1u << (l->to - len);

	/* prefixes have no host bits: slot is the first of the range */
	paint(t, l->slot, n, low, high, leaf);
}

static void fill(uint32_t *slots, uint32_t leaf)
{
	for (uint32_t i = 0; i < SL_BLOCK_SLOTS; i++)
		slots[i] = leaf;
}

/*
 * Are `want` blocks free? Routes that come and go quickly may have emptied the pool while the
 * blocks they returned still wait for their time. Then one wait for the readers frees all of those;
 * for a few blocks it does not pay.
 */
static bool have_blocks(const struct sl_fib *fib, struct trie *t, uint32_t want)
{
	if (sl_pool_available(&t->pool, fib->now_ns(), want))
		return true;
	if (t->pool.waiting < want || t->pool.waiting < t->pool.n / WAIT_WORTH_SHARE ||
	    fib->wait_readers())
		return false;
	sl_pool_unread(&t->pool);
	return true;
}

/*
 * Hang a chain of blocks, as deep as the prefix needs, below a leaf. Nobody can see the chain until
 * the last store; the addresses beside the prefix keep the leaf.
 */
static int grow(const struct sl_fib *fib, struct trie *t, const struct level *l,
		const struct sl_prefix *prefix, uint32_t leaf)
{
	uint64_t now_ns = fib->now_ns();
	unsigned int depth = (prefix->len - l->to + STRIDE_BITS - 1) / STRIDE_BITS;
	unsigned int from = l->to + depth * STRIDE_BITS;
	uint32_t below = leaf;
	uint32_t n = 1u << (from - prefix->len);

	if (!have_blocks(fib, t, depth))
		return -ENOSPC;
	do {
		uint32_t block, *slots, first;

		from -= STRIDE_BITS;
		sl_pool_take(&t->pool, now_ns, &block);
		slots = block_slots(t, block);
		first = bits_of(prefix->addr, from, from + STRIDE_BITS);
		fill(slots, *l->slot);
		for (uint32_t i = 0; i < n; i++)
			slots[first + i] = below;
		below = SL_SLOT_BLOCK | block;
		n = 1;
	} while (from > l->to);
	sl_publish(l->slot, below);
	return 0;
}

/* Insert below the last level of the way, which is on the prefix's own path. */
static int insert_below(const struct sl_fib *fib, struct trie *t, struct way *way,
			const struct sl_prefix *prefix, uint32_t nexthop_id)
{
	uint32_t leaf = sl_word(prefix->len, nexthop_id);
	struct level *l;

	go_down(t, way, prefix->addr, prefix->len);
	l = &way->level[way->last];
	if (prefix->len <= l->to) {
		paint_prefix(t, l, prefix->len, 0, prefix->len, leaf);
		return 0;
	}
	if (*l->slot == punt_leaf(l->to))
		return -ENOSPC;
	return grow(fib, t, l, prefix, leaf);
}

/* A block is not needed if all of its slots are the same leaf, of a prefix that ends above it. */
static bool is_uniform(const struct level *l)
{
	uint32_t first = l->slots[0];

	return !(first & SL_SLOT_BLOCK) && sl_word_len(first) <= l->from &&
	       memcmp(l->slots, l->slots + 1, (SL_BLOCK_SLOTS - 1) * sizeof(*l->slots)) == 0;
}

static void collapse(const struct sl_fib *fib, struct trie *t, struct way *way)
{
	for (; way->last > 0 && is_uniform(&way->level[way->last]); way->last--) {
		uint32_t *above = way->level[way->last - 1].slot;
		uint32_t block = *above & SL_SLOT_INDEX_MASK;

		sl_publish(above, way->level[way->last].slots[0]);
		sl_pool_retire(&t->pool, fib->now_ns(), block);
	}
}

/* The addresses of one slot, as a prefix. */
static struct sl_prefix slot_prefix(const struct trie *t, const struct level *l,
				    const uint8_t *addr)
{
	struct sl_prefix prefix = { .family = t->family, .len = (uint8_t)l->to };

	memcpy(prefix.addr, addr, l->to / 8);
	return prefix;
}

/* The leaf of the longest prefix of at most max_len bits over addr. */
static uint32_t cover(const struct sl_fib_family *family, const uint8_t *addr, int max_len)
{
	const uint32_t *word = sl_store_cover(&family->store, addr, max_len);

	return word ? *word : 0;
}

static int fast_insert(struct sl_fib *fib, struct sl_fib_family *family,
		       const struct sl_prefix *prefix, uint32_t nexthop_id, bool is_new)
{
	struct trie *t = family->engine_state;
	struct way way;

	(void)is_new;
	find_way(t, &way, prefix->addr, 0);
	return insert_below(fib, t, &way, prefix, nexthop_id);
}

static void fast_remove(struct sl_fib *fib, struct sl_fib_family *family,
			const struct sl_prefix *prefix)
{
	struct trie *t = family->engine_state;
	struct way way;
	struct level *l = find_way(t, &way, prefix->addr, prefix->len);

	paint_prefix(t, l, prefix->len, prefix->len, prefix->len,
		     cover(family, prefix->addr, prefix->len - 1));
	collapse(fib, t, &way);
}

static void fast_overflow(struct sl_fib *fib, struct sl_fib_family *family,
			  const struct sl_prefix *prefix)
{
	struct trie *t = family->engine_state;
	struct way way;
	struct level *l = find_way(t, &way, prefix->addr, prefix->len);

	(void)fib;
	sl_publish(l->slot, punt_leaf(l->to));
}

static void fast_forget(struct sl_fib *fib, struct sl_fib_family *family,
			const struct sl_prefix *prefix)
{
	struct trie *t = family->engine_state;
	struct way way;
	struct level *l = find_way(t, &way, prefix->addr, prefix->len);
	struct sl_prefix here = slot_prefix(t, l, prefix->addr);

	if (sl_overflow_any_under(&family->overflow, &here))
		return;
	sl_publish(l->slot, cover(family, here.addr, here.len));
	collapse(fib, t, &way);
}

/*
 * Replace the punting leaf on the way to one overflowed prefix by a block with all prefixes that
 * wait there, published when it is complete. A prefix that needs one more block, when none is free,
 * punts inside that block.
 */
static void heal_one(struct sl_fib *fib, struct sl_fib_family *family, struct trie *t)
{
	struct sl_overflow_item *item = sl_overflow_take(&family->overflow);
	struct sl_overflow here = { 0 }, still = { 0 };
	struct sl_prefix slot;
	struct level *l;
	struct way way;
	uint32_t block;

	l = find_way(t, &way, item->prefix.addr, item->prefix.len);
	slot = slot_prefix(t, l, item->prefix.addr);
	sl_overflow_take_under(&family->overflow, &slot, &here);
	sl_overflow_put(&here, item);

	sl_pool_take(&t->pool, fib->now_ns(), &block);
	fill(block_slots(t, block), cover(family, slot.addr, slot.len));
	while ((item = sl_overflow_take(&here))) {
		const struct sl_prefix *prefix = &item->prefix;
		uint32_t *word = sl_store_find(&family->store, prefix->addr, prefix->len);
		struct way below = { .level[0] = { .slots = block_slots(t, block),
						   .from = slot.len,
						   .to = slot.len + STRIDE_BITS } };

		if (insert_below(fib, t, &below, prefix, sl_word_id(*word))) {
			l = &below.level[below.last];
			sl_publish(l->slot, punt_leaf(l->to));
			sl_overflow_put(&still, item);
		} else {
			*word &= ~SL_STORE_OVERFLOW;
			free(item);
		}
	}
	sl_publish(way.level[way.last].slot, SL_SLOT_BLOCK | block);
	while ((item = sl_overflow_take(&still)))
		sl_overflow_put(&family->overflow, item);
}

static void fast_heal(struct sl_fib *fib, struct sl_fib_family *family)
{
	struct trie *t = family->engine_state;

	while (family->overflow.count && sl_pool_available(&t->pool, fib->now_ns(), 1))
		heal_one(fib, family, t);
}

static uint32_t fast_lookup(const struct sl_fib *fib, const struct sl_fib_family *family,
			    const uint8_t *addr)
{
	const struct trie *t = family->engine_state;
	struct way way;

	(void)fib;
	return sl_word_id(*find_way(t, &way, addr, sl_addr_bits(t->family))->slot);
}

static void fast_usage(const struct sl_fib_family *family, size_t *table_bytes,
		       size_t *process_bytes, uint32_t *blocks)
{
	const struct trie *t = family->engine_state;

	*table_bytes = t->table_bytes;
	*process_bytes = sizeof(*t) + sl_pool_bytes(&t->pool);
	*blocks = sl_pool_used(&t->pool);
}

static void fast_close(struct sl_fib_family *family)
{
	struct trie *t = family->engine_state;

	if (!t)
		return;
	sl_pool_fini(&t->pool);
	free(t);
	family->engine_state = NULL;
}

static int fast_open(struct sl_fib *fib, struct sl_fib_family *family)
{
	const struct sl_fib_tables *tables = &fib->tables;
	bool ip4 = sl_fib_is_ip4(fib, family);
	uint32_t n_blocks = ip4 ? tables->n_tbl8 : tables->n_tbl6;
	uint32_t first = ip4 ? 0 : SL_TBL6_ROOT_BLOCKS;
	struct trie *t;
	int rc;

	if (n_blocks < first || n_blocks > SL_SLOT_INDEX_MASK)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->root = (uint32_t *)(ip4 ? tables->dir24 : tables->tbl6);
	t->blocks = ip4 ? tables->tbl8 : tables->tbl6;
	t->root_bits = ip4 ? 24 : 16;
	t->family = ip4 ? AF_INET : AF_INET6;
	t->table_bytes = ((ip4 ? SL_DIR24_BLOCKS : 0) + (size_t)n_blocks) * sizeof(struct sl_block);
	family->engine_state = t;
	rc = sl_pool_init(&t->pool, first, n_blocks - first);
	if (rc)
		fast_close(family);
	return rc;
}

const struct sl_fib_engine sl_fib_engine_fast = {
	.open = fast_open,
	.close = fast_close,
	.insert = fast_insert,
	.remove = fast_remove,
	.overflow = fast_overflow,
	.forget = fast_forget,
	.heal = fast_heal,
	.lookup = fast_lookup,
	.usage = fast_usage,
};

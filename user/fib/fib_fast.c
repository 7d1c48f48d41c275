/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine fast: a multibit trie with leaf pushing, whose blocks are stored as runs. The root takes
 * the first 16 bits of an address, each record below takes 8 more. A word holds either the record
 * that continues, or the next hop of the longest prefix that covers all addresses of its slots: a
 * leaf. A block as runs is what Degermark, Brodnik, Carlsson and Pink did ("Small Forwarding Tables
 * for Fast Routing Lookups", 1997). Changed from there: 16-8-8 bits and more, bitmap and values in
 * one record, which changes while it is read.
 *
 * A leaf remembers the length of its prefix, and an address lies under one prefix of each length
 * only. So an insert overwrites, in its range, the leaves of prefixes up to its own length, and a
 * delete gives the leaves of exactly its length to the prefix above.
 *
 * In a record a run starts wherever a prefix begins and after it ends, even if the prefix beside it
 * has the same next hop. So only a new prefix may need a new record, and only that may fail: to
 * replace or delete is to store values in place. A change of runs writes the record anew into
 * another piece of memory; one store, in the record above or the root, leads to it, and the old
 * piece waits until nobody can read it. A run that a deleted prefix left stays until its record is
 * written anew. A record whose leaves have all become that of one prefix above it goes back into
 * the word that led to it.
 *
 * When there is no room for a prefix, the runs that it would split punt instead: their leaves keep
 * the length of the prefix they belong to, and have the id SL_NEXTHOP_OVERFLOW.
 */
#include "user/fib/fib_record.h"
#include "user/fib/fib_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ROOT_BITS   16
#define STRIDE_BITS 8
#define LEVELS_MAX  (1 + (128 - ROOT_BITS) / STRIDE_BITS)

/* Wait for readers only if that frees at least one of so many units. */
#define WAIT_WORTH_SHARE 16

/* One delete of so many looks for runs that are not needed any more. */
#define SHRINK_SHARE 8

/* Gather the records in fewer pages if one page of so many gets free; slots of the root at a time.
 */
#define PACK_WORTH_SHARE 3
#define PACK_SLOTS	 4096

/* So many prefixes that do not fit, one after the other, end an attempt to heal. */
#define HEAL_FAILURES_MAX 64

/* Each size of piece may have a page that is nearly empty, and pieces wait. */
#define PAGES_MIN (2 * SL_PIECE_UNITS_MAX)

_Static_assert(SL_RECORD_SLOTS == 1 << STRIDE_BITS, "a record is one stride");
_Static_assert(SL_ROOT_BLOCKS *SL_BLOCK_WORDS == 1 << ROOT_BITS, "the root is 16 bits");

struct trie {
	uint32_t *root; /* borrowed from sl_fib_tables, as blocks; 2^ROOT_BITS words in a row */
	struct sl_records records;
	uint8_t family;
	uint32_t deletes; /* that shrink has seen */
	uint32_t packed;  /* slots of the root that pack has seen; 0: it has nothing to do */
	size_t table_bytes;
};

/*
 * One level on the way down: bits from..to-1 of an address choose a slot of the record (0: the
 * root), which says `word`.
 */
struct level {
	uint32_t record;
	unsigned int from, to;
	uint32_t slot;
	uint32_t word;
};

struct way {
	struct level level[LEVELS_MAX];
	unsigned int last;
};

/* --- The way down --- */

/* Bits from..to-1 of addr; both are multiples of 8. */
static uint32_t bits_of(const uint8_t *addr, unsigned int from, unsigned int to)
{
	uint32_t value = 0;

	for (unsigned int i = from / 8; i < to / 8; i++)
		value = value << 8 | addr[i];
	return value;
}

static uint32_t read_slot(const struct trie *t, uint32_t record, uint32_t slot)
{
	if (!record)
		return t->root[slot];
	return sl_record_word(&t->records, record, sl_record_run_of(&t->records, record, slot));
}

/* Of all slots of its run. */
static void store_slot(struct trie *t, uint32_t record, uint32_t slot, uint32_t word)
{
	if (record)
		sl_record_set(&t->records, record, sl_record_run_of(&t->records, record, slot),
			      word);
	else
		sl_publish(&t->root[slot], word);
}

/* Go down towards addr, to the level that has bit len, or to a leaf. */
static struct level *find_way(const struct trie *t, struct way *way, const uint8_t *addr,
			      unsigned int len)
{
	struct level *l = &way->level[0];

	*l = (struct level){ .to = ROOT_BITS };
	for (way->last = 0;; way->last++, l++) {
		l->slot = bits_of(addr, l->from, l->to);
		l->word = read_slot(t, l->record, l->slot);
		if (len <= l->to || !(l->word & SL_WORD_RECORD))
			return l;
		l[1] = (struct level){ l->word, l->to, l->to + STRIDE_BITS, 0, 0 };
	}
}

static uint32_t n_slots(const struct level *l)
{
	return 1u << (l->to - l->from);
}

/* --- Memory --- */

/*
 * Routes that come and go quickly may have emptied the pool while the pieces they returned still
 * wait for their time. Then one wait for the readers frees all of those; for a few it does not pay.
 */
static int take_piece(const struct sl_fib *fib, struct trie *t, uint32_t units, uint32_t *unit)
{
	struct sl_pieces *pieces = &t->records.pieces;
	uint32_t all = pieces->n_pages * SL_PAGE_UNITS;

	if (!sl_piece_take(pieces, fib->now_ns(), units, unit))
		return 0;
	if (pieces->waiting_units < all / WAIT_WORTH_SHARE || fib->wait_readers())
		return -ENOSPC;
	sl_pieces_unread(pieces);
	return sl_piece_take(pieces, fib->now_ns(), units, unit);
}

static void retire(const struct sl_fib *fib, struct trie *t, uint32_t record)
{
	uint32_t unit = record & SL_WORD_UNIT_MASK;

	if (fib->is_live)
		sl_piece_retire(&t->records.pieces, fib->now_ns(), unit);
	else
		sl_piece_put(&t->records.pieces, unit);
}

/* --- Changing leaves in place --- */

/* Slots side by side of one level, below the bits of addr that come before it. */
struct range {
	uint32_t record;
	unsigned int from, to;
	uint32_t first, last;
	uint8_t addr[16];
};

/* What happens to the leaves of a range. */
struct change {
	const struct sl_fib_family *family;
	/* the new leaf for a run, which may begin before the range and end behind it */
	uint32_t (*leaf)(const struct change *change, const struct range *run, uint32_t leaf);
	bool shallow; /* not in the records below */
	/* for overwrite_leaf, which changes leaves of length low..high; high for punt_leaf */
	unsigned int low, high;
	uint32_t new_leaf;
};

static void set_slot_bits(struct range *range, uint32_t slot)
{
	for (unsigned int i = range->to / 8; i-- > range->from / 8; slot >>= 8)
		range->addr[i] = (uint8_t)slot;
}

/* All slots of the record that a slot of this range leads to. */
static struct range range_below(const struct range *range, uint32_t slot, uint32_t record)
{
	struct range below = *range;

	set_slot_bits(&below, slot);
	below.record = record;
	below.from = range->to;
	below.to = range->to + STRIDE_BITS;
	below.first = 0;
	below.last = SL_RECORD_SLOTS - 1;
	return below;
}

static struct range range_of(const struct level *l, const uint8_t *addr, uint32_t first,
			     uint32_t last)
{
	struct range range = { l->record, l->from, l->to, first, last, { 0 } };

	memcpy(range.addr, addr, l->from / 8);
	return range;
}

/* The slots of this level that the prefix takes; one, if it ends below. */
static struct range range_of_prefix(const struct level *l, const struct sl_prefix *prefix)
{
	uint32_t n = prefix->len < l->to ? 1u << (l->to - prefix->len) : 1;

	return range_of(l, prefix->addr, l->slot, l->slot + n - 1);
}

static void change_leaves(struct trie *t, const struct range *range, const struct change *change)
{
	struct range run = *range;

	for (uint32_t slot = range->first; slot <= range->last; slot = run.last + 1) {
		uint32_t word = read_slot(t, range->record, slot);

		run.first = run.last = slot;
		if (range->record)
			sl_record_bounds(&t->records, range->record, slot, &run.first, &run.last);
		if (!(word & SL_WORD_RECORD)) {
			uint32_t leaf = change->leaf(change, &run, word);

			if (leaf != word)
				store_slot(t, range->record, slot, leaf);
		} else if (!change->shallow) {
			struct range below = range_below(range, slot, word);

			change_leaves(t, &below, change);
		}
	}
}

/* --- Prefixes that are not in the tables --- */

/*
 * Is the longest prefix for an address of this run, which belongs to a prefix of length len, one
 * that is not in the tables?
 */
static bool must_punt(const struct sl_fib_family *family, const struct range *run, unsigned int len)
{
	struct range first = *run, last = *run;
	const uint32_t *cover;

	if (!family->overflow.count)
		return false;
	set_slot_bits(&first, run->first);
	set_slot_bits(&last, run->last);
	memset(last.addr + run->to / 8, 0xff, sizeof(last.addr) - run->to / 8);
	cover = sl_store_cover(&family->store, first.addr, (int)run->to);
	return (cover && sl_word_len(*cover) > len) ||
	       sl_overflow_any_between(&family->overflow, first.addr, len + 1, last.addr);
}

static uint32_t leaf_or_punt(const struct sl_fib_family *family, const struct range *run,
			     uint32_t leaf)
{
	unsigned int len = sl_word_len(leaf);

	return must_punt(family, run, len) ? sl_word(len, SL_NEXTHOP_OVERFLOW) : leaf;
}

/* The leaf of the longest prefix of at most max_len bits over addr that is in the tables. */
static uint32_t cover_in_tables(const struct sl_fib_family *family, const uint8_t *addr,
				int max_len)
{
	const uint32_t *word;

	while ((word = sl_store_cover(&family->store, addr, max_len)) && *word & SL_STORE_OVERFLOW)
		max_len = (int)sl_word_len(*word) - 1;
	return word ? *word : 0;
}

static uint32_t overwrite_leaf(const struct change *change, const struct range *run, uint32_t leaf)
{
	if (sl_word_len(leaf) - change->low > change->high - change->low)
		return leaf;
	return leaf_or_punt(change->family, run, change->new_leaf);
}

static uint32_t punt_leaf(const struct change *change, const struct range *run, uint32_t leaf)
{
	(void)run;
	return sl_word_len(leaf) > change->high ? leaf
						: sl_word(sl_word_len(leaf), SL_NEXTHOP_OVERFLOW);
}

static uint32_t restore_leaf(const struct change *change, const struct range *run, uint32_t leaf)
{
	struct range first = *run;

	if (sl_word_id(leaf) != SL_NEXTHOP_OVERFLOW)
		return leaf;
	set_slot_bits(&first, run->first);
	return leaf_or_punt(change->family, run,
			    cover_in_tables(change->family, first.addr, (int)sl_word_len(leaf)));
}

/*
 * Runs on the way to the prefix, and below it, may punt without need, since something has changed
 * there.
 */
static void restore_leaves(const struct sl_fib_family *family, struct trie *t,
			   const struct sl_prefix *prefix)
{
	const struct change deep = { .family = family, .leaf = restore_leaf };
	const struct change shallow = { .family = family, .leaf = restore_leaf, .shallow = true };
	struct way way;
	struct range range;

	find_way(t, &way, prefix->addr, prefix->len);
	for (unsigned int i = 0; i <= way.last; i++) {
		const struct level *l = &way.level[i];
		uint32_t first = l->record ? 0 : l->slot;

		range = range_of(l, prefix->addr, first, l->record ? SL_RECORD_SLOTS - 1 : l->slot);
		change_leaves(t, &range, &shallow);
	}
	range = range_of_prefix(&way.level[way.last], prefix);
	change_leaves(t, &range, &deep);
}

/* --- Changing runs --- */

/* Slots of one level that a prefix of this length takes, in that level. */
static uint32_t slots_of(const struct level *l, unsigned int len)
{
	return len <= l->from ? n_slots(l) : 1u << (l->to - len);
}

/*
 * Take out the starts that no prefix needs: on both sides is the same leaf, and no prefix of its
 * length begins there.
 */
static void tidy(struct sl_runs *runs, const struct level *l)
{
	uint32_t n = 1;

	for (uint32_t i = 1; i < runs->n; i++) {
		uint32_t word = runs->word[i];

		if (word == runs->word[n - 1] && !(word & SL_WORD_RECORD) &&
		    runs->start[i] & (slots_of(l, sl_word_len(word)) - 1))
			continue;
		runs->start[n] = runs->start[i];
		runs->word[n++] = word;
	}
	runs->n = n;
}

/* Do runs start at the first of these slots, and behind the last? */
static bool has_borders(const struct trie *t, uint32_t record, uint32_t first, uint32_t last)
{
	return !record || (sl_record_starts_at(&t->records, record, first) &&
			   (last == SL_RECORD_SLOTS - 1 ||
			    sl_record_starts_at(&t->records, record, last + 1)));
}

/* Write the runs into a piece, and lead to it instead of the present record of this level. */
static void exchange_record(const struct sl_fib *fib, struct trie *t, struct level *l,
			    const struct sl_runs *runs, uint32_t unit)
{
	const struct level *above = l - 1;
	uint32_t old = l->record;

	l->record = sl_record_write(&t->records, runs, unit);
	store_slot(t, above->record, above->slot, l->record);
	retire(fib, t, old);
}

/* Write a new prefix that ends in the last level of the way. */
static int insert_here(const struct sl_fib *fib, const struct change *change, struct trie *t,
		       struct level *l, const struct sl_prefix *prefix)
{
	struct range range = range_of_prefix(l, prefix);
	struct sl_runs runs;
	uint32_t unit, from, to;

	if (has_borders(t, l->record, range.first, range.last)) {
		change_leaves(t, &range, change);
		return 0;
	}
	sl_record_read(&t->records, l->record, &runs);
	from = sl_runs_split(&runs, range.first);
	to = sl_runs_split(&runs, range.last + 1);
	for (uint32_t i = from; i < to; i++) {
		struct range run = range;

		run.first = runs.start[i];
		run.last = i + 1 < runs.n ? runs.start[i + 1] - 1u : SL_RECORD_SLOTS - 1;
		if (!(runs.word[i] & SL_WORD_RECORD))
			runs.word[i] = change->leaf(change, &run, runs.word[i]);
	}
	tidy(&runs, l);
	if (take_piece(fib, t, sl_record_units(&t->records, &runs), &unit))
		return -ENOSPC;
	exchange_record(fib, t, l, &runs, unit);
	/* The records below have the runs that they need, or none of the prefix's. */
	range.record = l->record;
	change_leaves(t, &range, change);
	return 0;
}

/*
 * Hang a chain of records, as deep as the prefix needs, below a leaf. Nobody can see the chain
 * until the last store; the addresses beside the prefix keep the leaf.
 */
static int grow(const struct sl_fib *fib, const struct change *change, struct trie *t,
		struct level *l, const struct sl_prefix *prefix)
{
	bool in_place = has_borders(t, l->record, l->slot, l->slot) &&
			(!l->record || l->record & SL_WORD_WIDE);
	unsigned int depth = (prefix->len - l->to + STRIDE_BITS - 1) / STRIDE_BITS;
	unsigned int from = l->to + depth * STRIDE_BITS;
	uint32_t n = 1u << (from - prefix->len);
	uint32_t unit[LEVELS_MAX], taken = 0, here = 0;
	const struct level lowest = { .from = from - STRIDE_BITS,
				      .to = from,
				      .slot = bits_of(prefix->addr, from - STRIDE_BITS, from) };
	const struct range range = range_of_prefix(&lowest, prefix);
	uint32_t below = leaf_or_punt(change->family, &range, change->new_leaf);
	struct sl_runs runs, chain;

	if (!in_place) {
		sl_record_read(&t->records, l->record, &runs);
		sl_runs_split(&runs, l->slot);
		sl_runs_split(&runs, l->slot + 1);
		here = sl_runs_split(&runs, l->slot);
		runs.word[here] = SL_WORD_RECORD | SL_WORD_WIDE;
		tidy(&runs, l);
		here = sl_runs_split(&runs, l->slot);
		if (take_piece(fib, t, sl_record_units(&t->records, &runs), &unit[taken++]))
			return -ENOSPC;
	}
	for (unsigned int i = 0; i < depth; i++, taken++) {
		if (!take_piece(fib, t, 1, &unit[taken]))
			continue;
		while (taken--)
			sl_piece_put(&t->records.pieces, unit[taken]);
		return -ENOSPC;
	}
	do {
		uint32_t first;

		from -= STRIDE_BITS;
		first = bits_of(prefix->addr, from, from + STRIDE_BITS);
		sl_runs_fill(&chain, l->word);
		sl_runs_split(&chain, first);
		sl_runs_split(&chain, first + n);
		chain.word[sl_runs_split(&chain, first)] = below;
		below = sl_record_write(&t->records, &chain, unit[--taken]);
		n = 1;
	} while (from > l->to);
	if (in_place) {
		store_slot(t, l->record, l->slot, below);
		return 0;
	}
	runs.word[here] = below;
	exchange_record(fib, t, l, &runs, unit[0]);
	return 0;
}

/* A record is not needed if all of its slots have one leaf, of a prefix that ends above it. */
static bool is_needless(const struct trie *t, const struct level *l)
{
	uint32_t first = sl_record_word(&t->records, l->record, 0);

	return !(first & SL_WORD_RECORD) && sl_word_len(first) <= l->from &&
	       sl_record_uniform(&t->records, l->record);
}

/* Write a record anew if that halves its memory, or saves some while prefixes wait for room. */
static void shrink(const struct sl_fib *fib, const struct sl_fib_family *family, struct trie *t,
		   struct level *l)
{
	struct sl_pieces *pieces = &t->records.pieces;
	uint32_t has = pieces->page[(l->record & SL_WORD_UNIT_MASK) / SL_PAGE_UNITS].units;
	struct sl_runs runs;
	uint32_t needs, unit;

	if (has == 1 || (!family->overflow.count && ++t->deletes % SHRINK_SHARE))
		return;
	sl_record_read(&t->records, l->record, &runs);
	tidy(&runs, l);
	needs = sl_record_units(&t->records, &runs);
	if (needs > has / 2 && (needs == has || !family->overflow.count))
		return;
	if (!sl_piece_take(pieces, fib->now_ns(), needs, &unit))
		exchange_record(fib, t, l, &runs, unit);
}

/* Leaves on this way have gone. */
static void collapse(const struct sl_fib *fib, const struct sl_fib_family *family, struct trie *t,
		     struct way *way)
{
	for (; way->last > 0; way->last--) {
		struct level *l = &way->level[way->last], *above = l - 1;

		if (!is_needless(t, l)) {
			shrink(fib, family, t, l);
			return;
		}
		store_slot(t, above->record, above->slot,
			   sl_record_word(&t->records, l->record, 0));
		retire(fib, t, l->record);
	}
}

/* --- Fewer pages --- */

/*
 * Routes that come to a live table in great number scatter the records: each is written anew while
 * the pieces it leaves behind wait. Then XDP misses its TLB, and there may be room for many small
 * records and none for a large one. So records move from the pages that hold few to those that hold
 * many.
 */

/* Move the record, and those below it, out of pages that are to become empty. */
static void move_out(const struct sl_fib *fib, struct trie *t, uint32_t above, uint32_t slot_or_run,
		     uint32_t record)
{
	struct sl_records *records = &t->records;
	uint32_t unit, copy;

	if (sl_piece_is_closed(&records->pieces, record & SL_WORD_UNIT_MASK) &&
	    !sl_piece_take(&records->pieces, fib->now_ns(), sl_record_size(records, record),
			   &unit)) {
		copy = sl_record_copy(records, record, unit);
		if (above)
			sl_record_set(records, above, slot_or_run, copy);
		else
			sl_publish(&t->root[slot_or_run], copy);
		retire(fib, t, record);
		record = copy;
	}
	if (!(record & SL_WORD_WIDE))
		return;
	for (uint32_t run = 0, n = sl_record_runs(records, record); run < n; run++) {
		uint32_t word = sl_record_word(records, record, run);

		if (word & SL_WORD_RECORD)
			move_out(fib, t, record, run, word);
	}
}

/* Go on with it, or begin if it is worth it: less is, while prefixes wait for room. */
static void pack(const struct sl_fib *fib, const struct sl_fib_family *family, struct trie *t)
{
	struct sl_pieces *pieces = &t->records.pieces;
	bool urgent = family->overflow.count;
	uint32_t least = pieces->used_pages / PACK_WORTH_SHARE + PAGES_MIN;
	uint32_t slots = urgent ? 1u << ROOT_BITS : PACK_SLOTS;

	if (urgent)
		least = pieces->used_pages / WAIT_WORTH_SHARE + 1;
	if (!t->packed && !sl_pieces_close_sparse(pieces, least))
		return;
	for (; slots && t->packed < 1u << ROOT_BITS; slots--, t->packed++)
		if (t->root[t->packed] & SL_WORD_RECORD)
			move_out(fib, t, 0, t->packed, t->root[t->packed]);
	t->packed %= 1u << ROOT_BITS;
}

/* --- The engine --- */

uint32_t sl_fib_pages_for(uint8_t family, uint32_t routes)
{
	const uint64_t apart = routes < 1u << ROOT_BITS ? routes : 1u << ROOT_BITS;
	const uint64_t bytes =
		family == AF_INET ? 128 * apart + 6ULL * routes : 256 * apart + 16ULL * routes;

	return PAGES_MIN + (uint32_t)(bytes / sizeof(struct sl_page));
}

static int insert(const struct sl_fib *fib, const struct sl_fib_family *family,
		  const struct sl_prefix *prefix, uint32_t nexthop_id)
{
	const struct change change = { .family = family,
				       .leaf = overwrite_leaf,
				       .high = prefix->len,
				       .new_leaf = sl_word(prefix->len, nexthop_id) };
	struct trie *t = family->engine_state;
	struct way way;
	struct level *l = find_way(t, &way, prefix->addr, prefix->len);

	if (prefix->len > l->to)
		return grow(fib, &change, t, l, prefix);
	return insert_here(fib, &change, t, l, prefix);
}

static int fast_insert(struct sl_fib *fib, struct sl_fib_family *family,
		       const struct sl_prefix *prefix, uint32_t nexthop_id, bool is_new)
{
	int rc = insert(fib, family, prefix, nexthop_id);

	(void)is_new;
	if (!rc && family->overflow.count)
		restore_leaves(family, family->engine_state, prefix);
	return rc;
}

static void fast_remove(struct sl_fib *fib, struct sl_fib_family *family,
			const struct sl_prefix *prefix)
{
	struct trie *t = family->engine_state;
	struct way way;
	struct level *l = find_way(t, &way, prefix->addr, prefix->len);
	const struct range range = range_of_prefix(l, prefix);
	const struct change change = { .family = family,
				       .leaf = overwrite_leaf,
				       .low = prefix->len,
				       .high = prefix->len,
				       .new_leaf = cover_in_tables(family, prefix->addr,
								   (int)prefix->len - 1) };

	change_leaves(t, &range, &change);
	collapse(fib, family, t, &way);
}

static void fast_overflow(struct sl_fib *fib, struct sl_fib_family *family,
			  const struct sl_prefix *prefix)
{
	struct trie *t = family->engine_state;
	struct way way;
	const struct level *l = find_way(t, &way, prefix->addr, prefix->len);
	const struct range range = range_of_prefix(l, prefix);
	const struct change change = { .family = family, .leaf = punt_leaf, .high = prefix->len };

	(void)fib;
	change_leaves(t, &range, &change);
}

static void fast_forget(struct sl_fib *fib, struct sl_fib_family *family,
			const struct sl_prefix *prefix)
{
	struct trie *t = family->engine_state;
	struct way way;

	restore_leaves(family, t, prefix);
	find_way(t, &way, prefix->addr, prefix->len);
	collapse(fib, family, t, &way);
}

static void fast_heal(struct sl_fib *fib, struct sl_fib_family *family)
{
	struct trie *t = family->engine_state;

	sl_pieces_reap(&t->records.pieces, fib->now_ns());
	pack(fib, family, t);
	for (uint32_t failures = 0; family->overflow.count && failures < HEAL_FAILURES_MAX;) {
		struct sl_overflow_item *item = sl_overflow_take(&family->overflow);
		const struct sl_prefix *prefix = &item->prefix;
		uint32_t *word = sl_store_find(&family->store, prefix->addr, prefix->len);

		*word &= ~SL_STORE_OVERFLOW;
		if (insert(fib, family, prefix, sl_word_id(*word))) {
			*word |= SL_STORE_OVERFLOW;
			sl_overflow_put(&family->overflow, item);
			failures++;
			continue;
		}
		restore_leaves(family, t, prefix);
		free(item);
	}
}

static uint32_t fast_lookup(const struct sl_fib *fib, const struct sl_fib_family *family,
			    const uint8_t *addr)
{
	const struct trie *t = family->engine_state;
	struct way way;

	(void)fib;
	return sl_word_id(find_way(t, &way, addr, sl_addr_bits(t->family))->word);
}

static void fast_usage(const struct sl_fib_family *family, size_t *table_bytes,
		       size_t *process_bytes, uint32_t *pages)
{
	const struct trie *t = family->engine_state;

	*table_bytes = t->table_bytes;
	*process_bytes = sizeof(*t) + sl_pieces_bytes(&t->records.pieces);
	*pages = t->records.pieces.used_pages;
}

static void fast_close(struct sl_fib_family *family)
{
	struct trie *t = family->engine_state;

	if (!t)
		return;
	sl_pieces_fini(&t->records.pieces);
	free(t);
	family->engine_state = NULL;
}

static int fast_open(struct sl_fib *fib, struct sl_fib_family *family)
{
	const struct sl_fib_tables *tables = &fib->tables;
	bool ip4 = sl_fib_is_ip4(fib, family);
	uint32_t n_pages = ip4 ? tables->n_runs4 : tables->n_runs6;
	struct trie *t;
	int rc;

	if (n_pages < 1 || n_pages > SL_WORD_UNIT_MASK / SL_PAGE_UNITS)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->root = (uint32_t *)(ip4 ? tables->root4 : tables->root6);
	t->records.pages = ip4 ? tables->runs4 : tables->runs6;
	t->records.all_wide = tables->n_nexthop > UINT16_MAX + 1;
	t->family = ip4 ? AF_INET : AF_INET6;
	t->table_bytes =
		SL_ROOT_BLOCKS * sizeof(struct sl_block) + (size_t)n_pages * sizeof(struct sl_page);
	family->engine_state = t;
	rc = sl_pieces_init(&t->records.pieces, n_pages);
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

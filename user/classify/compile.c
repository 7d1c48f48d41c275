/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules become bits, fields become classes, classes become rows:
 *
 *   1. order the rules that concern the family by their addresses: rule -> bit
 *   2. each address: sweep over the ends of all prefixes; between two ends the same rules allow all
 *      addresses, and equal sets of rules are one class
 *   3. each small field that a rule asks for: the same over the ends of its ranges
 *   4. join the small fields, one after the other, while the table of all pairs of classes stays
 *      small; else begin a new group
 *   5. lay all of it into the pool
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/classify/compile.h"

/* Fields are joined while the table of all pairs of classes, and what it makes, stay below: */
#define PAIRS_MAX  65536u
#define JOINED_MAX 4096u /* classes; each has a row of up to 512 bytes */

/* --- Sets of rules: distinct rows --- */

struct rows {
	uint64_t *row;	/* owned: n rows of `words` */
	uint32_t *slot; /* owned: hash table of row number + 1; 0: free */
	uint32_t n, room, slots, words;
};

static void rows_free(struct rows *rows)
{
	free(rows->row);
	free(rows->slot);
	memset(rows, 0, sizeof(*rows));
}

static uint64_t *row_at(const struct rows *rows, uint32_t i)
{
	return rows->row + (size_t)i * rows->words;
}

static uint32_t find_slot(const struct rows *rows, const uint64_t *row)
{
	uint64_t hash = 0;
	uint32_t i;

	/* Most words of most rows are 0. */
	for (i = 0; i < rows->words; i++) {
		if (!row[i])
			continue;
		hash = (hash ^ row[i] ^ i) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	for (i = hash & (rows->slots - 1); rows->slot[i]; i = (i + 1) & (rows->slots - 1))
		if (!memcmp(row_at(rows, rows->slot[i] - 1), row, rows->words * sizeof(*row)))
			break;
	return i;
}

static int rows_grow(struct rows *rows)
{
	uint32_t room = rows->room ? rows->room * 2 : 64;
	uint64_t *row = realloc(rows->row, (size_t)room * rows->words * sizeof(*row));
	uint32_t *slot = calloc(room * 2, sizeof(*slot));

	if (row)
		rows->row = row;
	if (!row || !slot) {
		free(slot);
		return -ENOMEM;
	}
	free(rows->slot);
	rows->slot = slot;
	rows->slots = room * 2;
	rows->room = room;
	for (uint32_t i = 0; i < rows->n; i++)
		slot[find_slot(rows, row_at(rows, i))] = i + 1;
	return 0;
}

/* The number of the row, which is added if it is new. 0 or -ENOMEM. */
static int row_number(struct rows *rows, const uint64_t *row, uint32_t *out)
{
	uint32_t slot;

	if (rows->n == rows->room && rows_grow(rows))
		return -ENOMEM;
	slot = find_slot(rows, row);
	if (!rows->slot[slot]) {
		memcpy(row_at(rows, rows->n), row, rows->words * sizeof(*row));
		rows->slot[slot] = ++rows->n;
	}
	*out = rows->slot[slot] - 1;
	return 0;
}

/* --- The pool --- */

struct pool {
	uint8_t *bytes; /* owned; begins with struct sl_classifier */
	size_t n, room;
	bool no_memory;
};

static const size_t header_bytes = sizeof(struct sl_classifier);

/*
 * Take so many zeroed bytes from the pool, aligned to 64 bits. Returns their place in units of
 * `unit` bytes; in pool->no_memory that there is none.
 */
static uint32_t pool_take(struct pool *pool, size_t bytes, size_t unit)
{
	size_t at = pool->n, need = at + (bytes + 7) / 8 * 8;

	if (need > pool->room) {
		size_t room = need + need / 2 + 4096;
		uint8_t *larger = realloc(pool->bytes, room);

		if (!larger) {
			pool->no_memory = true;
			return 0;
		}
		memset(larger + pool->room, 0, room - pool->room);
		pool->bytes = larger;
		pool->room = room;
	}
	pool->n = need;
	return (uint32_t)((at - header_bytes) / unit);
}

static uint32_t pool_put(struct pool *pool, const void *data, size_t bytes, size_t unit)
{
	size_t at = pool->n;
	uint32_t place = pool_take(pool, bytes, unit);

	if (!pool->no_memory && bytes)
		memcpy(pool->bytes + at, data, bytes);
	return place;
}

static struct sl_classifier *header(struct pool *pool)
{
	return (struct sl_classifier *)(void *)pool->bytes;
}

/* --- The work --- */

struct compiler {
	uint8_t family;
	const struct sl_rule *rules;
	uint32_t n;	    /* rules of the family */
	uint32_t auxiliary; /* of those, auxiliary ones */
	uint32_t bits;	    /* of a row that stand for a rule, or are free behind auxiliary ones */
	uint32_t *of_bit;   /* owned: bit -> place in the list; NO_RULE */
	uint32_t words;
	uint64_t *active; /* owned: rules that allow the value that a sweep has reached */
	struct rows address[SL_SIDES];
	struct pool pool;
};

typedef unsigned __int128 position;

static position prefix_start(const struct sl_prefix *prefix)
{
	__u64 word[2];

	sl_flow_address(prefix->family, prefix->addr, word);
	return (position)word[0] << 64 | word[1];
}

/* The first position behind the prefix; 0: it reaches to the end. */
static position prefix_end(const struct sl_prefix *prefix)
{
	return prefix->len ? prefix_start(prefix) + ((position)1 << (128 - prefix->len)) : 0;
}

/* --- 1. Order --- */

struct place {
	uint32_t rule;
	unsigned int kind; /* the side by which it is ordered, or neither */
	position first, second;
};

#define AUXILIARY 0 /* the first kind */
#define NO_RULE	  UINT32_MAX

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->second != y->second)
		return x->second < y->second ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Auxiliary rules have the first word to themselves. Then those with a long destination,
 * those with a long source, and the rest: a packet meets few of the first two, and the rest stand
 * together. Within a word, in the order of the list.
 */
static int order_rules(struct compiler *c)
{
	const unsigned int specific = c->family == AF_INET ? 8 : 20;
	struct place *places = calloc(c->n + 1, sizeof(*places));
	uint32_t n = 0;

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; n < c->n; i++) {
		const struct sl_prefix *src = &c->rules[i].prefix[SL_SIDE_SOURCE];
		const struct sl_prefix *dst = &c->rules[i].prefix[SL_SIDE_DESTINATION];
		bool by_source = dst->len < specific && src->len >= specific;

		if (!sl_rule_has_family(&c->rules[i], c->family))
			continue;
		places[n++] = (struct place){
			.rule = i,
			.kind = sl_rule_is_auxiliary(&c->rules[i]) ? AUXILIARY
				: dst->len >= specific		   ? 1
				: by_source			   ? 2
								   : 3,
			.first = prefix_start(by_source ? src : dst),
			.second = prefix_start(by_source ? dst : src),
		};
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (uint32_t bit = 0; bit < c->bits; bit++)
		c->of_bit[bit] = NO_RULE;
	for (uint32_t i = 0; i < n; i++)
		c->of_bit[i < c->auxiliary ? i : c->bits - n + i] = places[i].rule;
	/* NO_RULE, which is the highest number, stays behind */
	for (uint32_t i = 0; i < c->bits; i += 64)
		qsort(c->of_bit + i, c->bits - i < 64 ? c->bits - i : 64, sizeof(*c->of_bit),
		      compare_numbers);
	free(places);
	return 0;
}

/* NULL: the bit is free. */
static const struct sl_rule *rule_of(const struct compiler *c, uint32_t bit)
{
	return c->of_bit[bit] == NO_RULE ? NULL : &c->rules[c->of_bit[bit]];
}

/* --- Sweeps: the rules that allow a value, from one end of a range to the next --- */

struct edge {
	position at;
	uint32_t bit;
	bool begins;
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void activate(struct compiler *c, uint32_t bit, bool on)
{
	if (on)
		c->active[bit / 64] |= 1ULL << bit % 64;
	else
		c->active[bit / 64] &= ~(1ULL << bit % 64);
}

/* From this position on, up to the next bound, addresses or values are of this class. */
struct bound {
	position at;
	uint32_t class;
};

/*
 * Sweep over n edges, which it sorts; `active` holds the rules that allow position 0 before any
 * edge. bounds has room for n + 1. Returns their number, at least 1, or -ENOMEM.
 */
static int sweep(struct compiler *c, struct edge *edges, uint32_t n, struct rows *rows,
		 struct bound *bounds)
{
	uint32_t i = 0, n_bounds = 0, class;
	position at = 0;

	qsort(edges, n, sizeof(*edges), compare_edges);
	for (;; at = edges[i].at) {
		/* the ranges of a rule lie apart: at a position it begins or ends, not both */
		for (; i < n && edges[i].at == at; i++)
			activate(c, edges[i].bit, edges[i].begins);
		if (row_number(rows, c->active, &class))
			return -ENOMEM;
		if (!n_bounds || bounds[n_bounds - 1].class != class)
			bounds[n_bounds++] = (struct bound){ at, class };
		if (i == n)
			return (int)n_bounds;
	}
}

/* --- 2. Addresses --- */

static uint32_t log2_up(uint32_t n)
{
	uint32_t log2 = 0;

	while (1u << log2 < n)
		log2++;
	return log2;
}

/* A sorted list of bounds with what belongs to each, as one table of the image. */
struct table {
	uint64_t *bound; /* owned */
	uint32_t *value; /* owned */
	uint32_t n, room;
};

static int table_add(struct table *t, uint64_t bound, uint32_t value)
{
	if (t->n == t->room) {
		uint32_t room = t->room ? t->room * 2 : 256;
		uint64_t *bounds = realloc(t->bound, room * sizeof(*bounds));
		uint32_t *values;

		if (!bounds)
			return -ENOMEM;
		t->bound = bounds;
		values = realloc(t->value, room * sizeof(*values));
		if (!values)
			return -ENOMEM;
		t->value = values;
		t->room = room;
	}
	t->bound[t->n] = bound;
	t->value[t->n++] = value;
	return 0;
}

static void table_free(struct table *t)
{
	free(t->bound);
	free(t->value);
}

/* Fill the list that begins at `from` up to a power of two. Returns its entry, or 0: no memory. */
static uint32_t table_close_list(struct table *t, uint32_t from)
{
	uint32_t log2 = log2_up(t->n - from), last = t->value[t->n - 1];

	while (t->n - from < 1u << log2)
		if (table_add(t, UINT64_MAX, last))
			return 0;
	return SL_CLASS_LIST | log2 << SL_CLASS_LIST_SHIFT | from;
}

/*
 * The bounds of the first word, each with a class or, where bounds differ in the second word alone,
 * a list in `low`. 0 or -ENOMEM.
 */
static int split_words(const struct bound *bounds, uint32_t n, struct table *high,
		       struct table *low)
{
	int err = 0;

	for (uint32_t i = 0, end; i < n && !err; i = end) {
		uint64_t word = (uint64_t)(bounds[i].at >> 64);
		uint32_t from = low->n;

		for (end = i + 1; end < n && (uint64_t)(bounds[end].at >> 64) == word;)
			end++;
		if (end == i + 1 && !(uint64_t)bounds[i].at) {
			err = table_add(high, word, bounds[i].class);
			continue;
		}
		/* position 0 has a bound, so this one, in the middle of a word, has one before it
		 */
		if ((uint64_t)bounds[i].at)
			err = table_add(low, 0, bounds[i - 1].class);
		for (uint32_t j = i; j < end && !err; j++)
			err = table_add(low, (uint64_t)bounds[j].at, bounds[j].class);
		if (!err) {
			uint32_t entry = table_close_list(low, from);

			err = entry ? table_add(high, word, entry) : -ENOMEM;
		}
		if (!err && word != UINT64_MAX &&
		    (end == n || (uint64_t)(bounds[end].at >> 64) != word + 1))
			err = table_add(high, word + 1, bounds[end - 1].class);
	}
	return err;
}

/*
 * The root: for each value of the first bits the one entry of its bounds, or a list of them in
 * `lists`. 0 or -ENOMEM.
 */
static int make_root(const struct table *high, unsigned int bits, uint32_t *root,
		     struct table *lists)
{
	uint32_t next = 0, current = 0;

	for (uint32_t i = 0; i < 1u << bits; i++) {
		uint64_t start = (uint64_t)i << (64 - bits), last = start | UINT64_MAX >> bits;
		uint32_t from = lists->n;

		if (next < high->n && high->bound[next] == start)
			current = high->value[next++];
		root[i] = current;
		/* a list of the second word needs one of the first to stand in */
		if ((next == high->n || high->bound[next] > last) && !(current & SL_CLASS_LIST))
			continue;
		if (table_add(lists, start, current))
			return -ENOMEM;
		for (; next < high->n && high->bound[next] <= last; next++) {
			current = high->value[next];
			if (table_add(lists, high->bound[next], current))
				return -ENOMEM;
		}
		root[i] = table_close_list(lists, from);
		if (!root[i])
			return -ENOMEM;
	}
	return 0;
}

static int put_address(struct compiler *c, enum sl_side side, const struct bound *bounds,
		       uint32_t n)
{
	struct table high = { 0 }, low = { 0 }, lists = { 0 };
	struct sl_class_address address = { 0 };
	uint32_t *root = NULL;
	unsigned int bits;
	int err = split_words(bounds, n, &high, &low);

	/* eight entries a bound: most lists have one or two bounds */
	bits = log2_up(high.n) + 3 > 16 ? 16 : log2_up(high.n) + 3;
	if (!err) {
		root = calloc(1u << bits, sizeof(*root));
		err = root ? make_root(&high, bits, root, &lists) : -ENOMEM;
	}
	if (!err) {
		struct pool *pool = &c->pool;

		address.root = pool_put(pool, root, sizeof(*root) << bits, sizeof(*root));
		address.root_shift = 64 - bits;
		address.bounds = pool_put(pool, lists.bound, lists.n * sizeof(uint64_t), 8);
		address.entries = pool_put(pool, lists.value, lists.n * sizeof(uint32_t), 4);
		address.low_bounds = pool_put(pool, low.bound, low.n * sizeof(uint64_t), 8);
		address.low_classes = pool_put(pool, low.value, low.n * sizeof(uint32_t), 4);
		address.row = side == SL_SIDE_SOURCE ? 0 : c->address[SL_SIDE_SOURCE].n;
		header(pool)->address[side] = address;
	}
	free(root);
	table_free(&high);
	table_free(&low);
	table_free(&lists);
	return err;
}

static int compile_address(struct compiler *c, enum sl_side side)
{
	struct edge *edges = calloc(2 * c->bits + 1, sizeof(*edges));
	struct bound *bounds = calloc(2 * c->bits + 2, sizeof(*bounds));
	uint32_t n = 0;
	int n_bounds, err = -ENOMEM;

	if (!edges || !bounds)
		goto out;
	memset(c->active, 0, c->words * sizeof(*c->active));
	for (uint32_t bit = 0; bit < c->bits; bit++) {
		const struct sl_rule *rule = rule_of(c, bit);
		const struct sl_prefix *prefix;

		if (!rule)
			continue;
		prefix = &rule->prefix[side];
		edges[n++] = (struct edge){ prefix_start(prefix), bit, true };
		if (prefix_end(prefix))
			edges[n++] = (struct edge){ prefix_end(prefix), bit, false };
	}
	n_bounds = sweep(c, edges, n, &c->address[side], bounds);
	err = n_bounds < 0 ? n_bounds : put_address(c, side, bounds, (uint32_t)n_bounds);
out:
	free(edges);
	free(bounds);
	return err;
}

/* The rows of both addresses, without the words that are 0. */
static int put_address_rows(struct compiler *c)
{
	uint32_t n = c->address[SL_SIDE_SOURCE].n + c->address[SL_SIDE_DESTINATION].n;
	struct sl_class_address_row *index = calloc(n, sizeof(*index));
	uint32_t at = 0;

	if (!index)
		return -ENOMEM;
	for (unsigned int side = 0; side < SL_SIDES; side++) {
		for (uint32_t i = 0; i < c->address[side].n; i++, at++) {
			const uint64_t *row = row_at(&c->address[side], i);
			uint64_t packed[SL_RULE_WORDS_MAX];
			uint32_t used = 0;

			for (uint32_t w = 0; w < c->words; w++) {
				if (!row[w])
					continue;
				index[at].sum |= 1ULL << w;
				packed[used++] = row[w];
			}
			index[at].first = pool_put(&c->pool, packed, used * sizeof(*packed), 8);
		}
	}
	at = pool_put(&c->pool, index, n * sizeof(*index), 8);
	header(&c->pool)->address_rows = at;
	free(index);
	return 0;
}

/* --- 3. Small fields --- */

/* Fill of[], which has a place for each value of the field and for its absence. 0 or -ENOMEM. */
static int classes_of_ranges(struct compiler *c, enum sl_field field, struct rows *rows,
			     uint16_t *of)
{
	const uint32_t n_values = sl_field_values(field) + 1;
	struct edge *edges = calloc(2 * SL_RANGES_MAX * c->bits + 1, sizeof(*edges));
	struct bound *bounds = calloc(2 * SL_RANGES_MAX * c->bits + 2, sizeof(*bounds));
	uint32_t n = 0, value = 0;
	int n_bounds = -ENOMEM;

	if (!edges || !bounds)
		goto out;
	memset(c->active, 0, c->words * sizeof(*c->active));
	for (uint32_t bit = 0; bit < c->bits; bit++) {
		const struct sl_rule *rule = rule_of(c, bit);
		const struct sl_ranges *ranges;

		if (!rule)
			continue;
		ranges = &rule->field[field];
		if (!ranges->n)
			activate(c, bit, true);
		for (uint32_t i = 0; i < ranges->n; i++) {
			edges[n++] = (struct edge){ ranges->range[i].low, bit, true };
			edges[n++] = (struct edge){ ranges->range[i].high + 1, bit, false };
		}
	}
	n_bounds = sweep(c, edges, n, rows, bounds);
	for (int i = 0; i < n_bounds; i++)
		/* a field of more classes than 16 bits can number makes an image that is too large
		 */
		for (; value < n_values && (i + 1 == n_bounds || value < bounds[i + 1].at); value++)
			of[value] = (uint16_t)bounds[i].class;
out:
	free(edges);
	free(bounds);
	return n_bounds < 0 ? n_bounds : 0;
}

static int classes_of_flags(struct compiler *c, struct rows *rows, uint16_t *of)
{
	for (uint32_t value = 0; value <= SL_FIELD_TCP_FLAGS_ABSENT; value++) {
		uint32_t class;

		for (uint32_t bit = 0; bit < c->bits; bit++)
			activate(c, bit,
				 rule_of(c, bit) && sl_rule_allows(rule_of(c, bit),
								   SL_FIELD_TCP_FLAGS, value));
		if (row_number(rows, c->active, &class))
			return -ENOMEM;
		of[value] = (uint16_t) class;
	}
	return 0;
}

/* The table value -> class in blocks, of which equal ones are one. 0 or -ENOMEM. */
static int put_blocks(struct compiler *c, enum sl_field field, const uint16_t *of)
{
	const uint32_t n_values = sl_field_values(field) + 1;
	const uint32_t n = (n_values + SL_CLASS_BLOCK - 1) / SL_CLASS_BLOCK;
	struct rows blocks = { .words = SL_CLASS_BLOCK * sizeof(*of) / sizeof(uint64_t) };
	uint16_t *top = calloc(n, sizeof(*top));
	int err = top ? 0 : -ENOMEM;
	uint32_t at;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t block[SL_CLASS_BLOCK * sizeof(*of) / sizeof(uint64_t)] = { 0 };
		uint32_t left = n_values - i * SL_CLASS_BLOCK, number;

		memcpy(block, of + (size_t)i * SL_CLASS_BLOCK,
		       (left < SL_CLASS_BLOCK ? left : SL_CLASS_BLOCK) * sizeof(*of));
		err = row_number(&blocks, block, &number);
		if (!err)
			top[i] = (uint16_t)number;
	}
	if (!err) {
		at = pool_put(&c->pool, top, n * sizeof(*top), sizeof(*top));
		header(&c->pool)->field[field].top = at;
		at = pool_put(&c->pool, blocks.row, (size_t)blocks.n * SL_CLASS_BLOCK * sizeof(*of),
			      sizeof(*of));
		header(&c->pool)->field[field].values = at;
	}
	rows_free(&blocks);
	free(top);
	return err;
}

static int put_values(struct compiler *c, enum sl_field field, const uint16_t *of)
{
	const uint32_t n_values = sl_field_values(field);
	uint32_t at;

	if (n_values > SL_CLASS_BLOCK)
		return put_blocks(c, field, of);
	at = pool_put(&c->pool, of, (n_values + 1) * sizeof(*of), sizeof(*of));
	header(&c->pool)->field[field].values = at;
	return 0;
}

static bool is_asked(const struct compiler *c, enum sl_field field)
{
	for (uint32_t bit = 0; bit < c->bits; bit++) {
		const struct sl_rule *rule = rule_of(c, bit);

		if (rule && (field == SL_FIELD_TCP_FLAGS ? rule->flags_mask != 0
							 : rule->field[field].n != 0))
			return true;
	}
	return false;
}

static int compile_field(struct compiler *c, enum sl_field field, struct rows *rows)
{
	uint16_t *of = calloc(sl_field_values(field) + 1, sizeof(*of));
	int err = -ENOMEM;

	*rows = (struct rows){ .words = c->words };
	if (of)
		err = field == SL_FIELD_TCP_FLAGS ? classes_of_flags(c, rows, of)
						  : classes_of_ranges(c, field, rows, of);
	if (!err)
		err = put_values(c, field, of);
	free(of);
	return err;
}

/* --- 4. Groups --- */

/*
 * All pairs of classes of a and b as rows of *joined, and the table of the pairs. 0; -ENOMEM;
 * -E2BIG: the groups have too many classes to be one.
 */
static int join(struct compiler *c, const struct rows *a, const struct rows *b, struct rows *joined,
		uint32_t *product)
{
	uint64_t both[SL_RULE_WORDS_MAX];
	uint16_t *table;
	int err = 0;

	*joined = (struct rows){ .words = c->words };
	if ((uint64_t)a->n * b->n > PAIRS_MAX)
		return -E2BIG;
	table = calloc((size_t)a->n * b->n, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n && !err; i++) {
		for (uint32_t j = 0; j < b->n && !err; j++) {
			const uint64_t *x = row_at(a, i), *y = row_at(b, j);
			uint32_t class = 0;

			for (uint32_t w = 0; w < c->words; w++)
				both[w] = x[w] & y[w];
			err = row_number(joined, both, &class);
			if (joined->n > JOINED_MAX)
				err = -E2BIG;
			table[i * b->n + j] = (uint16_t) class;
		}
	}
	if (!err)
		*product = pool_put(&c->pool, table, (size_t)a->n * b->n * sizeof(*table),
				    sizeof(*table));
	free(table);
	return err;
}

/* All rows of all groups, one after the other, and their sums. */
struct group_rows {
	uint64_t *row; /* owned */
	uint32_t n, groups;
};

static int add_group(struct compiler *c, struct group_rows *all, const struct rows *rows,
		     uint32_t members)
{
	struct sl_classifier *image = header(&c->pool);
	uint64_t *row;

	for (unsigned int field = 0; field < SL_FIELD_COUNT; field++) {
		if (!(members & 1u << field))
			continue;
		image->field[field].group = all->groups;
		image->field[field].row = all->n;
	}
	row = realloc(all->row, (size_t)(all->n + rows->n) * c->words * sizeof(*row));
	if (!row)
		return -ENOMEM;
	all->row = row;
	memcpy(row + (size_t)all->n * c->words, rows->row,
	       (size_t)rows->n * c->words * sizeof(*row));
	all->n += rows->n;
	all->groups++;
	return 0;
}

static int put_group_rows(struct compiler *c, const struct group_rows *all)
{
	uint64_t *sums = calloc(all->n + 1, sizeof(*sums));
	uint32_t at_sums, at_rows;

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < all->n; i++)
		for (uint32_t w = 0; w < c->words; w++)
			if (all->row[(size_t)i * c->words + w])
				sums[i] |= 1ULL << w;
	at_sums = pool_put(&c->pool, sums, all->n * sizeof(*sums), 8);
	at_rows = pool_put(&c->pool, all->row, (size_t)all->n * c->words * sizeof(*all->row), 8);
	header(&c->pool)->sums = at_sums;
	header(&c->pool)->rows = at_rows;
	header(&c->pool)->n_groups = all->groups;
	free(sums);
	return 0;
}

static int compile_fields(struct compiler *c)
{
	struct rows group = { 0 }, rows = { 0 }, joined = { 0 };
	struct group_rows all = { 0 };
	uint32_t members = 0, product = 0;
	int err = 0;

	for (enum sl_field field = 0; field < SL_FIELD_COUNT && !err; field++) {
		if (!is_asked(c, field))
			continue;
		err = compile_field(c, field, &rows);
		if (err)
			break;
		header(&c->pool)->asked |= 1u << field;
		header(&c->pool)->field[field].classes = rows.n;
		if (members)
			err = join(c, &group, &rows, &joined, &product);
		if (members && !err) {
			header(&c->pool)->joined |= 1u << field;
			header(&c->pool)->field[field].product = product;
			rows_free(&rows);
			rows = joined;
		} else if (err == -E2BIG) {
			rows_free(&joined);
			err = add_group(c, &all, &group, members);
			members = 0;
		} else if (err) {
			break;
		}
		joined = (struct rows){ 0 };
		rows_free(&group);
		group = rows;
		rows = (struct rows){ 0 };
		members |= 1u << field;
	}
	if (!err && members)
		err = add_group(c, &all, &group, members);
	if (!err)
		err = put_group_rows(c, &all);
	rows_free(&group);
	rows_free(&rows);
	rows_free(&joined);
	free(all.row);
	return err;
}

/* --- 5. All of it --- */

static int put_rules(struct compiler *c)
{
	struct sl_class_rule *rules = calloc(c->bits + 1, sizeof(*rules));
	uint32_t at;

	if (!rules)
		return -ENOMEM;
	for (uint32_t bit = 0; bit < c->bits; bit++)
		if (rule_of(c, bit))
			rules[bit] = (struct sl_class_rule){
				.order = c->of_bit[bit],
				.number = rule_of(c, bit)->number,
				.action = rule_of(c, bit)->action,
				.sample = rule_of(c, bit)->sample,
			};
	at = pool_put(&c->pool, rules, c->bits * sizeof(*rules), sizeof(uint32_t));
	header(&c->pool)->rules = at;
	free(rules);
	return 0;
}

int sl_compile(const struct sl_rule *rules, uint32_t n, uint8_t family, uint32_t default_action,
	       uint32_t default_number, struct sl_image *out)
{
	struct compiler c = { .family = family, .rules = rules };
	int err;

	*out = (struct sl_image){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		bool counts = sl_rule_has_family(&rules[i], family);

		c.n += counts;
		c.auxiliary += counts && sl_rule_is_auxiliary(&rules[i]);
	}
	c.bits = c.auxiliary ? SL_AUXILIARY_MAX + c.n - c.auxiliary : c.n;
	if (c.bits > SL_RULES_MAX || c.auxiliary > SL_AUXILIARY_MAX)
		return -E2BIG;
	c.words = (c.bits + 63) / 64;
	c.words = c.words ? c.words : 1;
	c.of_bit = calloc(c.bits + 1, sizeof(*c.of_bit));
	c.active = calloc(c.words, sizeof(*c.active));
	pool_take(&c.pool, header_bytes, 1);
	err = c.of_bit && c.active && !c.pool.no_memory ? order_rules(&c) : -ENOMEM;
	for (unsigned int side = 0; side < SL_SIDES && !err; side++) {
		c.address[side].words = c.words;
		err = compile_address(&c, side);
	}
	if (!err)
		err = put_address_rows(&c);
	if (!err)
		err = compile_fields(&c);
	if (!err)
		err = put_rules(&c);
	if (!err && c.pool.no_memory)
		err = -ENOMEM;
	if (!err) {
		header(&c.pool)->words = c.words;
		header(&c.pool)->default_action = default_action;
		header(&c.pool)->default_number = default_number;
		header(&c.pool)->auxiliary = c.auxiliary;
		out->n_bytes = c.pool.n;
		if (c.pool.n > sizeof(struct sl_classifier_large))
			err = -ENOSPC;
	}
	if (!err)
		out->bytes = c.pool.bytes;
	else
		free(c.pool.bytes);
	for (unsigned int side = 0; side < SL_SIDES; side++)
		rows_free(&c.address[side]);
	free(c.of_bit);
	free(c.active);
	return err;
}

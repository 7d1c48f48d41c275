/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine fast against a plain binary trie: random inserts, replacements and deletions of
 * prefixes that nest, at the speed of routes that flap, with lookups compared after each thousand.
 *
 *   test_fib_changes [CHANGES]     of each kind of table: 12,000, or 1,000,000 before a release
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/fib/fib.h"

#define CHANGES	     12000
#define COMPARE_EACH 1000
#define COMPARED     4000  /* addresses */
#define CANDIDATES   30000 /* prefixes that come and go */
#define PAGES	     8000
#define CHANGE_NS    5000 /* 200,000 changes a second */

static uint32_t n_changes = CHANGES;
static uint64_t random_state, clock_ns;

static uint32_t random_u32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

static uint32_t random_below(uint32_t n)
{
	return (uint32_t)((uint64_t)random_u32() * n >> 32);
}

static uint64_t test_clock(void)
{
	return clock_ns;
}

static int test_wait(void)
{
	return 0;
}

/* --- The plain trie: a bit of the address, a node --- */

struct node {
	struct node *child[2]; /* owned */
	uint32_t nexthop_id;   /* 0: no prefix ends here */
};

static unsigned int bit(const uint8_t *addr, unsigned int i)
{
	return addr[i / 8] >> (7 - i % 8) & 1;
}

static struct node *new_node(void)
{
	struct node *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	return node;
}

static void trie_set(struct node *node, const struct sl_prefix *prefix, uint32_t nexthop_id)
{
	for (unsigned int i = 0; i < prefix->len; i++) {
		struct node **child = &node->child[bit(prefix->addr, i)];

		if (!*child)
			*child = new_node();
		node = *child;
	}
	node->nexthop_id = nexthop_id;
}

static uint32_t trie_lookup(const struct node *node, const uint8_t *addr)
{
	uint32_t best = SL_NEXTHOP_NONE;

	for (unsigned int i = 0; node; i++) {
		if (node->nexthop_id)
			best = node->nexthop_id;
		node = i < 128 ? node->child[bit(addr, i)] : NULL;
	}
	return best;
}

static void trie_free(struct node *node)
{
	if (!node)
		return;
	trie_free(node->child[0]);
	trie_free(node->child[1]);
	free(node);
}

/* --- Table and trie --- */

struct candidate {
	struct sl_prefix prefix;
	uint32_t nexthop_id; /* 0: not in the table */
};

struct world {
	struct sl_fib_tables tables;
	struct sl_fib *fib;
	struct node *trie;
	uint32_t *nexthop_id;
	uint32_t n_nexthops;
	struct candidate candidate[CANDIDATES];
};

static uint8_t bits_of(uint8_t family)
{
	return family == AF_INET ? 32 : 128;
}

/* Most are as the Internet's, some as short or as long as it goes. */
static uint8_t random_len(uint8_t family)
{
	uint8_t bits = bits_of(family);

	if (!random_below(6))
		return (uint8_t)random_below(bits + 1u);
	return (uint8_t)(family == AF_INET ? 16 + random_below(10) : 28 + random_below(24));
}

/* Few different first bytes, and half of them below one that is there: so they nest and collide. */
static struct sl_prefix random_prefix(const struct world *w, uint8_t family, uint32_t n)
{
	struct sl_prefix p = { .family = family, .len = random_len(family) };

	for (unsigned int i = 0; i < bits_of(family) / 8u; i++)
		p.addr[i] = (uint8_t)random_u32();
	p.addr[0] = (uint8_t)(32 + random_below(4));
	p.addr[1] = (uint8_t)random_below(64);
	if (n && random_below(2)) {
		const struct sl_prefix *above = &w->candidate[random_below(n)].prefix;

		for (unsigned int i = 0; i < above->len; i++)
			if (bit(p.addr, i) != bit(above->addr, i))
				p.addr[i / 8] ^= (uint8_t)(0x80 >> i % 8);
	}
	sl_addr_mask(p.addr, p.len);
	return p;
}

static bool is_new(const struct world *w, const struct sl_prefix *p)
{
	/* Each candidate is in the trie once, so that it can say which are taken. */
	const struct node *node = w->trie;

	for (unsigned int i = 0; node && i < p->len; i++)
		node = node->child[bit(p->addr, i)];
	return !node || !node->nexthop_id;
}

static void choose_candidates(struct world *w, uint8_t family)
{
	for (uint32_t n = 0; n < CANDIDATES;) {
		struct sl_prefix p = random_prefix(w, family, n);

		if (!is_new(w, &p))
			continue;
		trie_set(w->trie, &p, 1);
		w->candidate[n++].prefix = p;
	}
	for (uint32_t n = 0; n < CANDIDATES; n++)
		trie_set(w->trie, &w->candidate[n].prefix, 0);
}

static struct world *world_create(uint8_t family, uint32_t n_nexthops)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sl_fib_tables *t;

	assert_non_null(w);
	random_state = 88172645463325252ULL + family + n_nexthops;
	clock_ns = 1;
	t = &w->tables;
	*t = (struct sl_fib_tables){
		.engine = SL_ENGINE_FAST,
		.n_nexthop = n_nexthops + 2,
		.n_adj = 4,
		.n_group = 2,
		.n_runs4 = PAGES,
		.n_runs6 = PAGES,
		.fib4_fd = -1,
		.fib6_fd = -1,
	};
	t->nexthop = calloc(t->n_nexthop, sizeof(*t->nexthop));
	t->adj = calloc(t->n_adj, sizeof(*t->adj));
	t->group = calloc(t->n_group, sizeof(*t->group));
	t->root4 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root4));
	t->root6 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root6));
	t->runs4 = calloc(PAGES, sizeof(*t->runs4));
	t->runs6 = calloc(PAGES, sizeof(*t->runs6));
	assert_int_equal(sl_fib_create(t, &w->fib), 0);
	sl_fib_set_clock(w->fib, test_clock, test_wait);
	sl_fib_go_live(w->fib);
	w->n_nexthops = n_nexthops;
	w->nexthop_id = calloc(n_nexthops, sizeof(*w->nexthop_id));
	for (uint32_t i = 0; i < n_nexthops; i++)
		assert_int_equal(sl_fib_nexthop_create(w->fib, &w->nexthop_id[i]), 0);
	w->trie = new_node();
	choose_candidates(w, family);
	return w;
}

static void world_destroy(struct world *w)
{
	struct sl_fib_tables *t = &w->tables;

	sl_fib_destroy(w->fib);
	trie_free(w->trie);
	free(t->nexthop);
	free(t->adj);
	free(t->group);
	free(t->root4);
	free(t->root6);
	free(t->runs4);
	free(t->runs6);
	free(w->nexthop_id);
	free(w);
}

/* Out of three: one in, or replaced; one replaced, or in; one out. */
static void change(struct world *w)
{
	struct candidate *c = &w->candidate[random_below(CANDIDATES)];
	uint32_t id = w->nexthop_id[random_below(w->n_nexthops)];

	if (!c->nexthop_id || random_below(3)) {
		assert_int_equal(sl_fib_insert(w->fib, &c->prefix, id), 0);
		c->nexthop_id = id;
	} else {
		assert_int_equal(sl_fib_delete(w->fib, &c->prefix), 0);
		c->nexthop_id = 0;
	}
	trie_set(w->trie, &c->prefix, c->nexthop_id);
	clock_ns += CHANGE_NS;
}

/* At the edges of prefixes, on both sides, and anywhere in them. */
static void compare(const struct world *w)
{
	for (uint32_t i = 0; i < COMPARED; i++) {
		const struct sl_prefix *p = &w->candidate[random_below(CANDIDATES)].prefix;
		const int bytes = bits_of(p->family) / 8;
		const uint32_t where = random_below(5);
		uint8_t addr[16];

		memcpy(addr, p->addr, sizeof(addr));
		for (unsigned int b = p->len; b < bits_of(p->family); b++)
			if (where == 1 || where == 3 || (where == 4 && random_below(2)))
				addr[b / 8] |= (uint8_t)(0x80 >> b % 8);
		if (where == 2)
			for (int b = bytes - 1; b >= 0 && addr[b]-- == 0; b--)
				;
		if (where == 3)
			for (int b = bytes - 1; b >= 0 && ++addr[b] == 0; b--)
				;
		assert_int_equal(sl_fib_lookup(w->fib, p->family, addr),
				 trie_lookup(w->trie, addr));
	}
}

static void run(uint8_t family, uint32_t n_nexthops)
{
	struct world *w = world_create(family, n_nexthops);
	struct sl_fib_stats stats;
	uint64_t tick_ns = 0;

	for (uint32_t i = 0; i < n_changes; i++) {
		change(w);
		if (clock_ns - tick_ns > 1000000000) {
			tick_ns = clock_ns;
			sl_fib_tick(w->fib);
		}
		if (i % COMPARE_EACH == COMPARE_EACH - 1)
			compare(w);
	}
	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.overflow4 + stats.overflow6, 0);
	for (uint32_t i = 0; i < CANDIDATES; i++) {
		struct candidate *c = &w->candidate[i];

		if (c->nexthop_id)
			assert_int_equal(sl_fib_delete(w->fib, &c->prefix), 0);
	}
	clock_ns += SL_GRACE_NS;
	sl_fib_tick(w->fib);
	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.pages4 + stats.pages6, 0);
	world_destroy(w);
}

/* --- Tests --- */

static void changes_of_ipv4_answer_as_a_plain_trie(void **state)
{
	(void)state;
	run(AF_INET, 200);
}

static void changes_of_ipv6_answer_as_a_plain_trie(void **state)
{
	(void)state;
	run(AF_INET6, 200);
}

/* Ids of more than 16 bits: every record is wide. */
static void changes_with_70000_next_hops_answer_as_a_plain_trie(void **state)
{
	(void)state;
	run(AF_INET, 70000);
	run(AF_INET6, 70000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_of_ipv4_answer_as_a_plain_trie),
		cmocka_unit_test(changes_of_ipv6_answer_as_a_plain_trie),
		cmocka_unit_test(changes_with_70000_next_hops_answer_as_a_plain_trie),
	};

	if (argc > 1)
		n_changes = (uint32_t)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests_name("fib_changes", tests, NULL, NULL);
}

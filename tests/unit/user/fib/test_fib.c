/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both engines, compared with a list of prefixes that is searched from end to end: thousands of
 * random inserts, replacements and deletions of prefixes that nest, in tables that are large enough
 * and in tables that are much too small.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/fib/fib.h"

#define NEXTHOPS     64 /* that the tests route to */
#define PREFIXES_MAX 400
#define PLENTY_ROOM  6000

/* --- Deterministic randomness and a clock that moves when told --- */

static uint64_t random_state;
static uint64_t clock_ns;

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

static int wait_result, waits; /* of test_wait */

static int test_wait(void)
{
	waits++;
	return wait_result;
}

static uint64_t test_clock(void)
{
	return clock_ns;
}

/* --- The world under test and the model --- */

struct route {
	struct sl_prefix prefix;
	uint32_t nexthop_id;
};

struct world {
	struct sl_fib_tables tables;
	struct sl_fib *fib;
	uint32_t nexthop_id[NEXTHOPS];
	struct route model[PREFIXES_MAX];
	uint32_t n_model;
};

static int lpm_map(uint32_t key_bytes, uint32_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int fd = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, "test_lpm", key_bytes, 4, n, &opts);

	assert_true(fd >= 0);
	return fd;
}

/* room: pages of runs for the fast engine, entries of each map for lpm */
static struct world *world_create(enum sl_engine engine, uint32_t room)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sl_fib_tables *t = &w->tables;

	random_state = 88172645463325252ULL + room;
	clock_ns = 1;
	*t = (struct sl_fib_tables){
		.engine = engine,
		.n_nexthop = NEXTHOPS + 2,
		.n_adj = 4,
		.n_group = 2,
		.fib4_fd = -1,
		.fib6_fd = -1,
	};
	t->nexthop = calloc(t->n_nexthop, sizeof(*t->nexthop));
	t->adj = calloc(t->n_adj, sizeof(*t->adj));
	t->group = calloc(t->n_group, sizeof(*t->group));
	if (engine == SL_ENGINE_FAST) {
		t->n_runs4 = t->n_runs6 = room;
		t->root4 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root4));
		t->root6 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root6));
		t->runs4 = calloc(room, sizeof(*t->runs4));
		t->runs6 = calloc(room, sizeof(*t->runs6));
	} else {
		t->n_fib4 = t->n_fib6 = room + 1;
		t->fib4_fd = lpm_map(sizeof(struct sl_key4), t->n_fib4);
		t->fib6_fd = lpm_map(sizeof(struct sl_key6), t->n_fib6);
	}
	assert_int_equal(sl_fib_create(t, &w->fib), 0);
	sl_fib_set_clock(w->fib, test_clock, test_wait);
	sl_fib_go_live(w->fib);
	wait_result = -ENOSYS;
	waits = 0;
	for (int i = 0; i < NEXTHOPS; i++)
		assert_int_equal(sl_fib_nexthop_create(w->fib, &w->nexthop_id[i]), 0);
	return w;
}

static void world_destroy(struct world *w)
{
	struct sl_fib_tables *t = &w->tables;

	sl_fib_destroy(w->fib);
	free(t->nexthop);
	free(t->adj);
	free(t->group);
	free(t->root4);
	free(t->root6);
	free(t->runs4);
	free(t->runs6);
	if (t->fib4_fd >= 0)
		close(t->fib4_fd);
	if (t->fib6_fd >= 0)
		close(t->fib6_fd);
	free(w);
}

static int bit(const uint8_t *addr, unsigned int i)
{
	return addr[i / 8] >> (7 - i % 8) & 1;
}

static int covers(const struct sl_prefix *p, const uint8_t *addr)
{
	unsigned int i = p->len & ~7u;

	if (memcmp(p->addr, addr, i / 8))
		return 0;
	for (; i < p->len; i++)
		if (bit(p->addr, i) != bit(addr, i))
			return 0;
	return 1;
}

static const struct route *model_lookup(const struct world *w, uint8_t family, const uint8_t *addr)
{
	const struct route *best = NULL;

	for (uint32_t i = 0; i < w->n_model; i++) {
		const struct route *r = &w->model[i];

		if (r->prefix.family == family && covers(&r->prefix, addr) &&
		    (!best || r->prefix.len > best->prefix.len))
			best = r;
	}
	return best;
}

static struct route *model_find(struct world *w, const struct sl_prefix *prefix)
{
	for (uint32_t i = 0; i < w->n_model; i++)
		if (memcmp(&w->model[i].prefix, prefix, sizeof(*prefix)) == 0)
			return &w->model[i];
	return NULL;
}

/* --- Random prefixes: few different bits, so that they nest and collide --- */

static void random_addr(uint8_t family, uint8_t addr[16])
{
	static const uint8_t bytes[] = { 0x00, 0x20, 0x20, 0x7f, 0x80, 0xff };

	memset(addr, 0, 16);
	for (int i = 0; i < (family == AF_INET ? 4 : 16); i++)
		addr[i] = bytes[random_below(sizeof(bytes))];
	addr[random_below(family == AF_INET ? 4 : 16)] ^= (uint8_t)(1 << random_below(8));
}

static struct sl_prefix random_prefix(const struct world *w)
{
	struct sl_prefix p = { .family = random_below(2) ? AF_INET : AF_INET6 };
	uint8_t bits = p.family == AF_INET ? 32 : 128;

	random_addr(p.family, p.addr);
	p.len = (uint8_t)random_below(bits + 1u);
	if (p.len < 8 && random_below(8)) /* fewer of these: they rewrite millions of slots */
		p.len += 8;
	/* Often below, above or equal to an existing prefix. */
	if (w->n_model && random_below(4)) {
		const struct route *r = &w->model[random_below(w->n_model)];

		if (r->prefix.family == p.family) {
			unsigned int keep = r->prefix.len;

			for (unsigned int i = 0; i < keep; i++)
				if (bit(p.addr, i) != bit(r->prefix.addr, i))
					p.addr[i / 8] ^= (uint8_t)(0x80 >> i % 8);
			if (random_below(2))
				p.len = (uint8_t)(keep + random_below(bits - keep + 1u) /
								 (1 + random_below(8)));
			else
				p.len = r->prefix.len;
		}
	}
	sl_addr_mask(p.addr, p.len);
	return p;
}

/* --- Comparing --- */

struct tally {
	uint64_t equal, punted;
};

/*
 * The table answers with the model's next hop, or with a punt where prefixes are missing from the
 * tables, never with another next hop.
 */
static void check_addr(const struct world *w, uint8_t family, const uint8_t *addr,
		       struct tally *tally)
{
	const struct route *want = model_lookup(w, family, addr);
	uint32_t got = sl_fib_lookup(w->fib, family, addr);
	struct sl_fib_stats stats;

	if (got == (want ? want->nexthop_id : SL_NEXTHOP_NONE)) {
		tally->equal++;
		return;
	}
	sl_fib_stats(w->fib, &stats);
	assert_true((family == AF_INET ? stats.overflow4 : stats.overflow6) > 0);
	assert_true(got == SL_NEXTHOP_NONE || got == SL_NEXTHOP_OVERFLOW);
	tally->punted++;
}

/*
 * Compare at the first and last address of a prefix, at those just outside, and at some inside and
 * anywhere.
 */
static void check_around(const struct world *w, const struct sl_prefix *p, struct tally *tally)
{
	int bytes = p->family == AF_INET ? 4 : 16;
	uint8_t addr[16], first[16], last[16];

	memcpy(first, p->addr, 16);
	memcpy(last, p->addr, 16);
	for (int i = p->len; i < bytes * 8; i++)
		last[i / 8] |= (uint8_t)(0x80 >> i % 8);
	check_addr(w, p->family, first, tally);
	check_addr(w, p->family, last, tally);
	memcpy(addr, first, 16);
	for (int i = bytes - 1; i >= 0 && addr[i]-- == 0; i--)
		;
	check_addr(w, p->family, addr, tally);
	memcpy(addr, last, 16);
	for (int i = bytes - 1; i >= 0 && ++addr[i] == 0; i--)
		;
	check_addr(w, p->family, addr, tally);
	for (int n = 0; n < 6; n++) {
		random_addr(p->family, addr);
		if (n < 4)
			for (int i = 0; i < p->len; i++)
				if (bit(addr, (unsigned int)i) != bit(p->addr, (unsigned int)i))
					addr[i / 8] ^= (uint8_t)(0x80 >> i % 8);
		check_addr(w, p->family, addr, tally);
	}
}

static void check_match(const struct world *w, const struct sl_prefix *p)
{
	const struct route *want = model_lookup(w, p->family, p->addr);
	struct sl_prefix got;
	uint32_t nexthop_id;
	int rc = sl_fib_match(w->fib, p->family, p->addr, &got, &nexthop_id);

	assert_int_equal(rc, want ? 0 : -ENOENT);
	if (want) {
		assert_memory_equal(&got, &want->prefix, sizeof(got));
		assert_int_equal(nexthop_id, want->nexthop_id);
	}
}

static void check_counts(const struct world *w)
{
	struct sl_fib_stats stats;

	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.prefixes4 + stats.prefixes6, w->n_model);
	assert_int_equal(stats.inserts - stats.deletes, w->n_model);
}

/* --- Steps --- */

static void do_insert(struct world *w, const struct sl_prefix *p)
{
	uint32_t id = w->nexthop_id[random_below(NEXTHOPS)];
	struct route *r = model_find(w, p);

	assert_int_equal(sl_fib_insert(w->fib, p, id), 0);
	if (!r) {
		r = &w->model[w->n_model++];
		r->prefix = *p;
	}
	r->nexthop_id = id;
}

static void do_delete(struct world *w, const struct sl_prefix *p)
{
	struct route *r = model_find(w, p);

	assert_int_equal(sl_fib_delete(w->fib, p), r ? 0 : -ENOENT);
	if (r)
		*r = w->model[--w->n_model];
}

/* Random operations that keep the number of prefixes near a level, which rises and falls. */
static void churn(struct world *w, int ops, struct tally *tally)
{
	for (int i = 0; i < ops; i++) {
		struct sl_prefix p = random_prefix(w);
		uint32_t level = i / 300 % 2 ? 20 : PREFIXES_MAX;

		if (w->n_model < level && random_below(8)) {
			do_insert(w, &p);
		} else if (w->n_model) {
			p = w->model[random_below(w->n_model)].prefix;
			do_delete(w, &p);
		}
		check_around(w, &p, tally);
		check_match(w, &p);
		if (random_below(16) == 0) {
			clock_ns += SL_GRACE_NS / 3;
			sl_fib_tick(w->fib);
			check_around(w, &p, tally);
		}
		check_counts(w);
	}
}

static void delete_all(struct world *w)
{
	while (w->n_model) {
		struct sl_prefix p = w->model[random_below(w->n_model)].prefix;

		do_delete(w, &p);
	}
}

static void check_empty(const struct world *w)
{
	struct sl_fib_stats stats;
	uint32_t not_empty = 0;

	clock_ns += SL_GRACE_NS;
	sl_fib_tick(w->fib);
	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.pages4 + stats.pages6, 0);
	assert_int_equal(stats.prefixes4 + stats.prefixes6, 0);
	assert_int_equal(stats.overflow4 + stats.overflow6, 0);

	if (w->tables.engine != SL_ENGINE_FAST) {
		uint8_t key[20];

		assert_int_equal(bpf_map_get_next_key(w->tables.fib4_fd, NULL, key), -ENOENT);
		assert_int_equal(bpf_map_get_next_key(w->tables.fib6_fd, NULL, key), -ENOENT);
		return;
	}
	for (uint32_t i = 0; i < SL_ROOT_BLOCKS * SL_BLOCK_WORDS; i++)
		not_empty |= w->tables.root4[i / SL_BLOCK_WORDS].word[i % SL_BLOCK_WORDS] |
			     w->tables.root6[i / SL_BLOCK_WORDS].word[i % SL_BLOCK_WORDS];
	assert_int_equal(not_empty, 0);
}

/* --- Tests --- */

static enum sl_engine engine_of(void **state)
{
	return *(enum sl_engine *)*state;
}

static void random_changes_answer_as_a_linear_scan(void **state)
{
	struct world *w = world_create(engine_of(state), PLENTY_ROOM);
	struct tally tally = { 0 };

	churn(w, 6000, &tally);
	assert_int_equal(tally.punted, 0);
	delete_all(w);
	check_empty(w);
	world_destroy(w);
}

static void full_tables_punt_and_never_answer_another_next_hop(void **state)
{
	static const uint32_t rooms[] = { 1, 2, 3, 4, 5 };

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct world *w = world_create(engine_of(state), rooms[i]);
		struct tally tally = { 0 };

		churn(w, 3000, &tally);
		assert_true(tally.punted > 0);
		assert_true(tally.equal > 0);
		delete_all(w);
		check_empty(w);
		world_destroy(w);
	}
}

static void overflow_heals_when_room_appears(void **state)
{
	struct world *w =
		world_create(engine_of(state), engine_of(state) == SL_ENGINE_FAST ? 8 : 150);
	struct tally tally = { 0 };
	struct sl_fib_stats stats;

	while (w->n_model < 300) {
		struct sl_prefix p = random_prefix(w);

		do_insert(w, &p);
	}
	sl_fib_stats(w->fib, &stats);
	assert_true(stats.overflow4 + stats.overflow6 > 0);
	while (stats.overflow4 + stats.overflow6 && w->n_model) {
		struct sl_prefix p = w->model[random_below(w->n_model)].prefix;

		do_delete(w, &p);
		clock_ns += SL_GRACE_NS;
		sl_fib_tick(w->fib);
		sl_fib_stats(w->fib, &stats);
		check_around(w, &p, &tally);
	}
	assert_true(w->n_model > 0);
	tally = (struct tally){ 0 };
	for (uint32_t i = 0; i < w->n_model; i++)
		check_around(w, &w->model[i].prefix, &tally);
	assert_int_equal(tally.punted, 0);
	delete_all(w);
	check_empty(w);
	world_destroy(w);
}

/* One address under prefixes of every length, inserted and deleted in both orders. */
static void prefixes_of_every_length_nest(void **state)
{
	struct world *w = world_create(engine_of(state), PLENTY_ROOM);
	struct tally tally = { 0 };

	for (int order = 0; order < 8; order++) {
		uint8_t family = order & 1 ? AF_INET6 : AF_INET;
		int bits = sl_addr_bits(family);
		struct sl_prefix p;

		for (int step = 0; step < 2 * (bits + 1); step++) {
			bool inserting = step <= bits, upwards = order & (inserting ? 2 : 4);
			int len = step % (bits + 1);

			p = (struct sl_prefix){ .family = family,
						.len = (uint8_t)(upwards ? len : bits - len) };
			memset(p.addr, 0xa5, (size_t)bits / 8);
			sl_addr_mask(p.addr, p.len);
			if (inserting)
				do_insert(w, &p);
			else
				do_delete(w, &p);
			check_around(w, &p, &tally);
		}
		assert_int_equal(w->n_model, 0);
		check_empty(w);
	}
	assert_int_equal(tally.punted, 0);
	world_destroy(w);
}

/*
 * One host route at a time takes 14 records, one in each of a page: they fill it 4 times. Then each
 * needs what those before it returned, and one wait frees that of all four.
 */
static void churn_that_empties_the_pool_waits_for_readers(void **state)
{
	struct world *w = world_create(SL_ENGINE_FAST, 1);
	struct sl_prefix p;

	(void)state;
	wait_result = 0;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(sl_prefix_parse("2001:db8::1/128", &p), 0);
		p.addr[2] = (uint8_t)i;
		assert_int_equal(sl_fib_insert(w->fib, &p, w->nexthop_id[i % NEXTHOPS]), 0);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET6, p.addr),
				 w->nexthop_id[i % NEXTHOPS]);
		assert_int_equal(sl_fib_delete(w->fib, &p), 0);
		assert_int_equal(waits, i / 4);
	}
	world_destroy(w);
}

/* All units but one are in use: waiting for that one, again and again, would gain little. */
static void full_tables_do_not_wait_for_readers(void **state)
{
	struct world *w = world_create(SL_ENGINE_FAST, 1);
	struct sl_prefix p;

	(void)state;
	wait_result = 0;
	assert_int_equal(sl_prefix_parse("192.0.2.0/24", &p), 0);
	for (int i = 0; i < 66; i++) {
		p.addr[1] = (uint8_t)i;
		assert_int_equal(sl_fib_insert(w->fib, &p, w->nexthop_id[0]), 0);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET, p.addr),
				 i < 64 ? w->nexthop_id[0] : SL_NEXTHOP_OVERFLOW);
	}
	assert_int_equal(waits, 0);
	p.addr[1] = 0;
	assert_int_equal(sl_fib_delete(w->fib, &p), 0);
	p.addr[1] = 80;
	assert_int_equal(sl_fib_insert(w->fib, &p, w->nexthop_id[0]), 0);
	assert_int_equal(sl_fib_lookup(w->fib, AF_INET, p.addr), SL_NEXTHOP_OVERFLOW);
	assert_int_equal(waits, 0);
	world_destroy(w);
}

/*
 * A host route makes 14 records. While they wait for their readers nothing else gets them, and the
 * rest of the page has 8 left: not enough for another.
 */
static void records_are_reused_after_the_grace_period_and_not_before(void **state)
{
	struct world *w = world_create(SL_ENGINE_FAST, 1);
	struct sl_prefix a, b, fill;

	(void)state;
	assert_int_equal(sl_prefix_parse("2001:db8::1/128", &a), 0);
	assert_int_equal(sl_prefix_parse("2002:db8::1/128", &b), 0);
	for (int i = 0; i < 42; i++) {
		assert_int_equal(sl_prefix_parse("3000::/24", &fill), 0);
		fill.addr[1] = (uint8_t)i;
		assert_int_equal(sl_fib_insert(w->fib, &fill, w->nexthop_id[2]), 0);
	}
	for (int i = 0; i < 5; i++) {
		assert_int_equal(sl_fib_insert(w->fib, &a, w->nexthop_id[0]), 0);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET6, a.addr), w->nexthop_id[0]);
		assert_int_equal(sl_fib_delete(w->fib, &a), 0);

		clock_ns += SL_GRACE_NS - 1;
		assert_int_equal(sl_fib_insert(w->fib, &b, w->nexthop_id[1]), 0);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET6, b.addr), SL_NEXTHOP_OVERFLOW);
		sl_fib_tick(w->fib);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET6, b.addr), SL_NEXTHOP_OVERFLOW);
		clock_ns += 1;
		sl_fib_tick(w->fib);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET6, b.addr), w->nexthop_id[1]);
		assert_int_equal(sl_fib_delete(w->fib, &b), 0);
		clock_ns += SL_GRACE_NS;
	}
	world_destroy(w);
}

/* Route i of SPREAD, 16 to each /16. */
#define SPREAD (16u * 1024)
static struct sl_prefix spread_prefix(uint32_t i)
{
	return (struct sl_prefix){ .family = AF_INET,
				   .len = 24,
				   .addr = { (uint8_t)(10 + i % 1024 / 256), (uint8_t)i,
					     (uint8_t)(i / 1024 * 16) } };
}

static void routes_that_come_to_a_live_table_are_gathered_in_few_pages(void **state)
{
	static uint32_t order[SPREAD];
	struct world *w = world_create(SL_ENGINE_FAST, PLENTY_ROOM);
	struct sl_fib_stats before, after;
	struct sl_prefix p;

	(void)state;
	for (uint32_t i = 0, j; i < SPREAD; i++) {
		j = random_below(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < SPREAD; i++, clock_ns += SL_GRACE_NS / SPREAD) {
		p = spread_prefix(order[i]);
		assert_int_equal(sl_fib_insert(w->fib, &p, w->nexthop_id[order[i] % 5]), 0);
	}
	sl_fib_stats(w->fib, &before);
	for (int second = 0; second < 20; second++) {
		clock_ns += SL_GRACE_NS;
		sl_fib_tick(w->fib);
		for (uint32_t i = 0; i < SPREAD; i++) {
			p = spread_prefix(i);
			assert_int_equal(sl_fib_lookup(w->fib, AF_INET, p.addr),
					 w->nexthop_id[i % 5]);
		}
	}
	sl_fib_stats(w->fib, &after);
	/* A record of 32 runs takes two units of 64. */
	assert_in_range(after.pages4, 1024 * 2 / SL_PAGE_UNITS, 1024 * 4 / SL_PAGE_UNITS);
	for (uint32_t i = 0; i < SPREAD; i++) {
		p = spread_prefix(i);
		assert_int_equal(sl_fib_delete(w->fib, &p), 0);
	}
	check_empty(w);
	world_destroy(w);
}

/* What sl_fib4_fast does from the root's word on, by the words of bpf/abi/forwarding.h. */
static uint32_t read_on(const struct world *w, uint32_t word, const uint8_t addr[4])
{
	for (int i = 2; i < 4 && word & SL_WORD_RECORD; i++) {
		uint32_t unit = word & SL_WORD_UNIT_MASK, run = 0;
		const struct sl_record *record =
			&w->tables.runs4[unit / SL_PAGE_UNITS].unit[unit % SL_PAGE_UNITS];

		for (uint32_t slot = 0; slot <= addr[i]; slot++)
			run += record->starts[slot / 32] >> slot % 32 & 1;
		run--;
		word = word & SL_WORD_WIDE ? record->value[run]
					   : ((const uint16_t *)record->value)[run];
	}
	return word & SL_WORD_INDEX_MASK;
}

/*
 * Readers that have read the root's word before records move and new routes take memory, and that
 * go on just before the grace period ends.
 */
static void readers_older_than_the_gathering_find_their_next_hops(void **state)
{
	static uint32_t order[SPREAD], word[SPREAD];
	struct world *w = world_create(SL_ENGINE_FAST, PLENTY_ROOM);
	uint32_t moved = 0, stranger = 0;
	struct sl_prefix p;

	(void)state;
	for (uint32_t i = 0, j; i < SPREAD; i++) {
		j = random_below(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < SPREAD; i++, clock_ns += SL_GRACE_NS / SPREAD) {
		p = spread_prefix(order[i]);
		assert_int_equal(sl_fib_insert(w->fib, &p, w->nexthop_id[order[i] % 5]), 0);
	}
	for (int second = 0; second < 20; second++) {
		clock_ns += SL_GRACE_NS;
		for (uint32_t i = 0; i < SPREAD; i++) {
			p = spread_prefix(i);
			word[i] = w->tables.root4[p.addr[0]].word[p.addr[1]];
		}
		sl_fib_tick(w->fib);
		/* Others take what memory is free now, up to the last moment. */
		for (int i = 0; i < 100; i++, stranger++) {
			struct sl_prefix other = { .family = AF_INET,
						   .len = 24,
						   .addr = { 100, (uint8_t)(stranger / 16),
							     (uint8_t)(stranger * 16) } };

			clock_ns += (SL_GRACE_NS - 1) / 100;
			assert_int_equal(sl_fib_insert(w->fib, &other, w->nexthop_id[5]), 0);
		}
		for (uint32_t i = 0; i < SPREAD; i++) {
			p = spread_prefix(i);
			moved += word[i] != w->tables.root4[p.addr[0]].word[p.addr[1]];
			assert_int_equal(read_on(w, word[i], p.addr), w->nexthop_id[i % 5]);
		}
	}
	assert_true(moved > 0);
	world_destroy(w);
}

/* Route i of those that take a record each. */
static struct sl_prefix lone_prefix(uint32_t i)
{
	return (struct sl_prefix){ .family = AF_INET,
				   .len = 25,
				   .addr = { 10, (uint8_t)(i / 200), (uint8_t)(i % 200), 128 } };
}

static void change_lone(struct world *w, uint32_t n, bool insert, uint64_t *tick_ns)
{
	uint64_t step_ns = SL_GRACE_NS / 1000000 * (1 + random_below(3000));

	for (uint32_t i = 0; i < n; i++) {
		struct sl_prefix p = lone_prefix(i);
		int rc = insert ? sl_fib_insert(w->fib, &p, w->nexthop_id[0])
				: sl_fib_delete(w->fib, &p);

		assert_int_equal(rc, 0);
		clock_ns += random_below((uint32_t)step_ns);
		if (clock_ns - *tick_ns < SL_GRACE_NS)
			continue;
		*tick_ns = clock_ns;
		sl_fib_tick(w->fib);
	}
}

/* However small records lie among the pages of a full pool, they leave room for large ones. */
static void routes_that_fit_again_come_back_at_any_speed(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 100; seed++) {
		struct world *w = world_create(SL_ENGINE_FAST, 34);
		uint64_t tick_ns = clock_ns;
		struct sl_fib_stats stats;

		random_state += seed * 7919;
		wait_result = 0;
		change_lone(w, 2400, true, &tick_ns);
		sl_fib_stats(w->fib, &stats);
		assert_true(stats.overflow4 > 0);
		change_lone(w, 1200, false, &tick_ns);
		for (int second = 0; second < 5; second++) {
			clock_ns += SL_GRACE_NS;
			sl_fib_tick(w->fib);
		}
		sl_fib_stats(w->fib, &stats);
		assert_int_equal(stats.overflow4, 0);
		world_destroy(w);
	}
}

static void default_routes_cover_every_address_until_they_are_deleted(void **state)
{
	struct world *w = world_create(engine_of(state), 100);
	struct sl_prefix all4 = { .family = AF_INET }, all6 = { .family = AF_INET6 };
	uint8_t addr[16];

	assert_int_equal(sl_fib_insert(w->fib, &all4, w->nexthop_id[0]), 0);
	assert_int_equal(sl_fib_insert(w->fib, &all6, w->nexthop_id[1]), 0);
	for (int i = 0; i < 1000; i++) {
		random_addr(AF_INET6, addr);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET, addr), w->nexthop_id[0]);
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET6, addr), w->nexthop_id[1]);
	}
	assert_int_equal(sl_fib_delete(w->fib, &all4), 0);
	assert_int_equal(sl_fib_delete(w->fib, &all6), 0);
	check_empty(w);
	world_destroy(w);
}

static void replaced_prefix_takes_no_more_room(void **state)
{
	struct world *w = world_create(engine_of(state), 8);
	struct sl_prefix p;
	struct sl_fib_stats stats;

	assert_int_equal(sl_prefix_parse("192.0.2.0/32", &p), 0);
	for (uint8_t i = 0; i < 8; i++) {
		p.addr[3] = i;
		for (int k = 0; k < 4; k++)
			assert_int_equal(sl_fib_insert(w->fib, &p, w->nexthop_id[k]), 0);
	}
	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.prefixes4, 8);
	assert_int_equal(stats.overflow4, 0);
	for (uint8_t i = 0; i < 8; i++) {
		p.addr[3] = i;
		assert_int_equal(sl_fib_lookup(w->fib, AF_INET, p.addr), w->nexthop_id[3]);
	}
	world_destroy(w);
}

static void bad_arguments_are_refused_and_change_nothing(void **state)
{
	struct world *w = world_create(engine_of(state), 100);
	struct sl_prefix good, bad;
	uint32_t id = w->nexthop_id[0];

	assert_int_equal(sl_prefix_parse("192.0.2.0/24", &good), 0);
	bad = good;
	bad.len = 23;
	assert_int_equal(sl_fib_insert(w->fib, &bad, id), 0);
	bad.len = 22;
	assert_int_equal(sl_fib_insert(w->fib, &bad, id), -EINVAL);
	bad.len = 33;
	assert_int_equal(sl_fib_insert(w->fib, &bad, id), -EINVAL);
	bad = good;
	bad.family = AF_UNIX;
	assert_int_equal(sl_fib_insert(w->fib, &bad, id), -EINVAL);
	assert_int_equal(sl_fib_delete(w->fib, &bad), -ENOENT);
	assert_int_equal(sl_fib_insert(w->fib, &good, SL_NEXTHOP_NONE), -EINVAL);
	assert_int_equal(sl_fib_insert(w->fib, &good, SL_NEXTHOP_OVERFLOW), -EINVAL);
	assert_int_equal(sl_fib_insert(w->fib, &good, w->tables.n_nexthop), -EINVAL);
	sl_fib_nexthop_destroy(w->fib, id);
	assert_int_equal(sl_fib_insert(w->fib, &good, id), -EINVAL);
	assert_int_equal(sl_fib_delete(w->fib, &good), -ENOENT);
	world_destroy(w);
}

/* Linked in place of the function of libc: see tests/build.mk. */
static bool no_memory;
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

/*
 * The kernel refuses to replace an entry (a frozen map does), and there is no memory to remember
 * it: the prefix is gone, and whoever tries again does not hear that it is there.
 */
static void a_prefix_that_could_not_be_replaced_is_put_in_again(void **state)
{
	struct world *w = world_create(engine_of(state), 100);
	struct sl_prefix wide, narrow;
	struct sl_fib_stats stats;

	assert_int_equal(sl_prefix_parse("10.0.0.0/8", &wide), 0);
	assert_int_equal(sl_prefix_parse("10.1.0.0/16", &narrow), 0);
	assert_int_equal(sl_fib_insert(w->fib, &wide, w->nexthop_id[0]), 0);
	assert_int_equal(sl_fib_insert(w->fib, &narrow, w->nexthop_id[1]), 0);
	assert_int_equal(bpf_map_freeze(w->tables.fib4_fd), 0);
	no_memory = true;
	assert_int_equal(sl_fib_insert(w->fib, &narrow, w->nexthop_id[2]), -ENOMEM);
	no_memory = false;
	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.prefixes4, 1);
	assert_int_equal(sl_fib_insert(w->fib, &narrow, w->nexthop_id[2]), 0);
	sl_fib_stats(w->fib, &stats);
	assert_int_equal(stats.prefixes4, 2);
	assert_true(stats.overflow4 >= 1);
	world_destroy(w);
}

static void create_refuses_sizes_that_cannot_work(void **state)
{
	struct world *w = world_create(SL_ENGINE_FAST, 1);
	struct sl_fib_tables t = w->tables;
	struct sl_fib *fib;

	(void)state;
	t.n_runs6 = 0;
	assert_int_equal(sl_fib_create(&t, &fib), -EINVAL);
	t = w->tables;
	t.n_nexthop = 1;
	assert_int_equal(sl_fib_create(&t, &fib), -EINVAL);
	t = w->tables;
	t.engine = SL_ENGINE_KERNEL;
	assert_int_equal(sl_fib_create(&t, &fib), -EINVAL);
	t = w->tables;
	t.engine = SL_ENGINE_LPM;
	assert_int_equal(sl_fib_create(&t, &fib), -EINVAL);
	world_destroy(w);
}

static enum sl_engine fast = SL_ENGINE_FAST, lpm = SL_ENGINE_LPM;

#define FOR_ENGINE(test, engine)                                  \
	{                                                         \
#test " (" #engine ")", test, NULL, NULL, &engine \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_ENGINE(random_changes_answer_as_a_linear_scan, fast),
		FOR_ENGINE(random_changes_answer_as_a_linear_scan, lpm),
		FOR_ENGINE(full_tables_punt_and_never_answer_another_next_hop, fast),
		FOR_ENGINE(full_tables_punt_and_never_answer_another_next_hop, lpm),
		FOR_ENGINE(overflow_heals_when_room_appears, fast),
		FOR_ENGINE(overflow_heals_when_room_appears, lpm),
		FOR_ENGINE(prefixes_of_every_length_nest, fast),
		FOR_ENGINE(prefixes_of_every_length_nest, lpm),
		cmocka_unit_test(churn_that_empties_the_pool_waits_for_readers),
		cmocka_unit_test(full_tables_do_not_wait_for_readers),
		cmocka_unit_test(records_are_reused_after_the_grace_period_and_not_before),
		cmocka_unit_test(routes_that_come_to_a_live_table_are_gathered_in_few_pages),
		cmocka_unit_test(readers_older_than_the_gathering_find_their_next_hops),
		cmocka_unit_test(routes_that_fit_again_come_back_at_any_speed),
		FOR_ENGINE(default_routes_cover_every_address_until_they_are_deleted, fast),
		FOR_ENGINE(default_routes_cover_every_address_until_they_are_deleted, lpm),
		FOR_ENGINE(replaced_prefix_takes_no_more_room, fast),
		FOR_ENGINE(replaced_prefix_takes_no_more_room, lpm),
		FOR_ENGINE(bad_arguments_are_refused_and_change_nothing, fast),
		FOR_ENGINE(bad_arguments_are_refused_and_change_nothing, lpm),
		FOR_ENGINE(a_prefix_that_could_not_be_replaced_is_put_in_again, lpm),
		cmocka_unit_test(create_refuses_sizes_that_cannot_work),
	};
	return cmocka_run_group_tests_name("fib", tests, NULL, NULL);
}

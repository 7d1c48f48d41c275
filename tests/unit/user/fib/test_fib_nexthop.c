/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Next hops, adjacencies and resilient groups: what XDP sees of a change, and when memory is
 * reused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/fib/fib.h"

#define N_NEXTHOP 200
#define N_ADJ	  8
#define N_GROUP	  2

static uint64_t clock_ns;

static int test_wait(void)
{
	return -ENOSYS;
}

static uint64_t test_clock(void)
{
	return clock_ns;
}

struct world {
	struct sl_fib_tables tables;
	struct sl_fib *fib;
};

static struct world world;

static int setup(void **state)
{
	struct sl_fib_tables *t = &world.tables;

	(void)state;
	clock_ns = 1;
	*t = (struct sl_fib_tables){
		.engine = SL_ENGINE_FAST,
		.n_nexthop = N_NEXTHOP,
		.n_adj = N_ADJ,
		.n_group = N_GROUP,
		.n_runs4 = 1,
		.n_runs6 = 1,
	};
	t->nexthop = calloc(t->n_nexthop, sizeof(*t->nexthop));
	t->adj = calloc(t->n_adj, sizeof(*t->adj));
	t->group = calloc(t->n_group, sizeof(*t->group));
	t->root4 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root4));
	t->root6 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root6));
	t->runs4 = calloc(1, sizeof(*t->runs4));
	t->runs6 = calloc(1, sizeof(*t->runs6));
	if (sl_fib_create(t, &world.fib))
		return -1;
	sl_fib_set_clock(world.fib, test_clock, test_wait);
	return 0;
}

static int teardown(void **state)
{
	struct sl_fib_tables *t = &world.tables;

	(void)state;
	sl_fib_destroy(world.fib);
	free(t->nexthop);
	free(t->adj);
	free(t->group);
	free(t->root4);
	free(t->root6);
	free(t->runs4);
	free(t->runs6);
	return 0;
}

static uint32_t new_nexthop(void)
{
	uint32_t id;

	assert_int_equal(sl_fib_nexthop_create(world.fib, &id), 0);
	return id;
}

static void assert_nexthop(uint32_t id, enum sl_nexthop_kind kind, uint32_t ref)
{
	assert_int_equal(world.tables.nexthop[id].kind, kind);
	assert_int_equal(world.tables.nexthop[id].ref, ref);
}

static struct sl_adj some_adj(uint32_t n)
{
	return (struct sl_adj){ .port_ifindex = n,
				.l3_ifindex = n,
				.mtu_bytes = 1500,
				.dst_mac = { 2, 0, 0, 0, 0, (uint8_t)n },
				.src_mac = { 2, 0, 0, 0, 1, (uint8_t)n } };
}

/* --- Next hops and adjacencies --- */

static void ids_0_and_1_are_no_route_and_overflow(void **state)
{
	struct sl_adj adj = some_adj(1);

	(void)state;
	assert_nexthop(SL_NEXTHOP_NONE, SL_NH_NONE, 0);
	assert_nexthop(SL_NEXTHOP_OVERFLOW, SL_NH_PUNT, SL_PUNT_OVERFLOW);
	for (uint32_t id = 0; id < 2; id++) {
		assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), -EINVAL);
		assert_int_equal(sl_fib_nexthop_set_punt(world.fib, id, SL_PUNT_TTL), -EINVAL);
		assert_int_equal(sl_fib_nexthop_set_drop(world.fib, id, SL_DROP_BLACKHOLE),
				 -EINVAL);
		sl_fib_nexthop_destroy(world.fib, id);
	}
	assert_nexthop(SL_NEXTHOP_OVERFLOW, SL_NH_PUNT, SL_PUNT_OVERFLOW);
}

static void new_nexthop_punts_as_neighbour_and_takes_every_kind(void **state)
{
	struct sl_adj adj = some_adj(1);
	uint32_t id = new_nexthop();

	(void)state;
	assert_nexthop(id, SL_NH_PUNT, SL_PUNT_NEIGHBOUR);
	assert_int_equal(sl_fib_nexthop_set_drop(world.fib, id, SL_DROP_BLACKHOLE), 0);
	assert_nexthop(id, SL_NH_DROP, SL_DROP_BLACKHOLE);
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), 0);
	assert_nexthop(id, SL_NH_FORWARD, 0);
	assert_memory_equal(&world.tables.adj[0], &adj, sizeof(adj));
	assert_int_equal(sl_fib_nexthop_set_punt(world.fib, id, SL_PUNT_COUNT), -EINVAL);
	assert_int_equal(sl_fib_nexthop_set_drop(world.fib, id, SL_DROP_COUNT), -EINVAL);
	assert_nexthop(id, SL_NH_FORWARD, 0);
	assert_int_equal(sl_fib_nexthop_set_punt(world.fib, id, SL_PUNT_LOCAL), 0);
	assert_nexthop(id, SL_NH_PUNT, SL_PUNT_LOCAL);
	sl_fib_nexthop_destroy(world.fib, id);
	assert_nexthop(id, SL_NH_NONE, 0);
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), -EINVAL);
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, N_NEXTHOP, &adj), -EINVAL);
}

static void changed_adjacency_is_a_new_one_and_the_old_stays_unchanged(void **state)
{
	struct sl_adj first = some_adj(1), second = some_adj(2);
	uint32_t id = new_nexthop();

	(void)state;
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &first), 0);
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &second), 0);
	assert_nexthop(id, SL_NH_FORWARD, 1);
	assert_memory_equal(&world.tables.adj[0], &first, sizeof(first));
	assert_memory_equal(&world.tables.adj[1], &second, sizeof(second));
	/* the same again costs nothing */
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &second), 0);
	assert_nexthop(id, SL_NH_FORWARD, 1);
}

static void adjacencies_wait_for_the_grace_period(void **state)
{
	uint32_t id = new_nexthop();
	struct sl_fib_stats stats;
	struct sl_adj adj;

	(void)state;
	for (uint32_t i = 0; i < N_ADJ; i++) {
		adj = some_adj(i);
		assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), 0);
		assert_nexthop(id, SL_NH_FORWARD, i);
	}
	adj = some_adj(100);
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), -ENOSPC);
	assert_nexthop(id, SL_NH_PUNT, SL_PUNT_OVERFLOW);
	clock_ns += SL_GRACE_NS - 1;
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), -ENOSPC);
	clock_ns += 1;
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &adj), 0);
	assert_nexthop(id, SL_NH_FORWARD, 0); /* the one that waited longest */
	sl_fib_stats(world.fib, &stats);
	assert_int_equal(stats.adjs, 1);
	assert_int_equal(stats.nexthops, 1);
}

static void nexthop_ids_wait_for_the_grace_period(void **state)
{
	uint32_t first = new_nexthop(), id;

	(void)state;
	while (sl_fib_nexthop_create(world.fib, &id) == 0)
		;
	sl_fib_nexthop_destroy(world.fib, first);
	assert_int_equal(sl_fib_nexthop_create(world.fib, &id), -ENOSPC);
	clock_ns += SL_GRACE_NS - 1;
	assert_int_equal(sl_fib_nexthop_create(world.fib, &id), -ENOSPC);
	clock_ns += 1;
	assert_int_equal(sl_fib_nexthop_create(world.fib, &id), 0);
	assert_int_equal(id, first);
}

static void used_is_read_once_and_survives_a_new_adjacency(void **state)
{
	struct sl_adj first = some_adj(1), second = some_adj(2);
	uint32_t id = new_nexthop();

	(void)state;
	assert_false(sl_fib_nexthop_used(world.fib, id));
	first.used = 1; /* the fib ignores what the caller says here */
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &first), 0);
	assert_false(sl_fib_nexthop_used(world.fib, id));
	world.tables.adj[0].used = 1; /* as XDP does */
	assert_int_equal(sl_fib_nexthop_set_adj(world.fib, id, &second), 0);
	assert_true(sl_fib_nexthop_used(world.fib, id));
	assert_false(sl_fib_nexthop_used(world.fib, id));
	assert_int_equal(world.tables.adj[1].used, 0);
	sl_fib_nexthop_destroy(world.fib, id);
	assert_false(sl_fib_nexthop_used(world.fib, id));
}

/* --- Groups --- */

static const uint32_t *buckets(uint32_t id)
{
	assert_int_equal(world.tables.nexthop[id].kind, SL_NH_GROUP);
	return world.tables.group[world.tables.nexthop[id].ref].bucket;
}

static uint32_t count_of(uint32_t group, uint32_t nexthop)
{
	const uint32_t *bucket = buckets(group);
	uint32_t n = 0;

	for (int i = 0; i < SL_GROUP_BUCKETS; i++)
		n += bucket[i] == nexthop;
	return n;
}

static uint32_t moved(const uint32_t *before, const uint32_t *after)
{
	uint32_t n = 0;

	for (int i = 0; i < SL_GROUP_BUCKETS; i++)
		n += before[i] != after[i];
	return n;
}

static void set_group(uint32_t id, const struct sl_member *members, uint32_t n)
{
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, id, members, n), 0);
}

static void weights_share_buckets_by_largest_remainder(void **state)
{
	static const struct {
		uint32_t n, weight[5], buckets[5];
	} cases[] = {
		{ 1, { 7 }, { 128 } },
		{ 2, { 1, 1 }, { 64, 64 } },
		{ 3, { 1, 1, 1 }, { 43, 43, 42 } },
		{ 2, { 3, 1 }, { 96, 32 } },
		{ 3, { 5, 3, 1 }, { 71, 43, 14 } },		 /* 71.11, 42.67, 14.22 */
		{ 5, { 1, 2, 3, 4, 5 }, { 8, 17, 26, 34, 43 } }, /* 8.53 17.07 25.6 34.13 42.67 */
		{ 2, { 65536, 1 }, { 128, 0 } },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		uint32_t group = new_nexthop();
		struct sl_member m[5];

		for (uint32_t i = 0; i < cases[c].n; i++)
			m[i] = (struct sl_member){ new_nexthop(), cases[c].weight[i] };
		set_group(group, m, cases[c].n);
		for (uint32_t i = 0; i < cases[c].n; i++)
			assert_int_equal(count_of(group, m[i].nexthop_id), cases[c].buckets[i]);
		sl_fib_nexthop_destroy(world.fib, group);
		clock_ns += SL_GRACE_NS;
	}
}

static void removing_a_member_moves_exactly_its_buckets(void **state)
{
	uint32_t group = new_nexthop(), before[SL_GROUP_BUCKETS];
	struct sl_member m[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		m[i] = (struct sl_member){ new_nexthop(), 1 };
	set_group(group, m, 8);
	for (uint32_t n = 8; n > 1; n--) {
		uint32_t gone = m[n / 2].nexthop_id;
		const uint32_t *after = buckets(group);

		memcpy(before, after, sizeof(before));
		m[n / 2] = m[n - 1];
		set_group(group, m, n - 1);
		assert_ptr_equal(buckets(group), after); /* in place */
		for (int i = 0; i < SL_GROUP_BUCKETS; i++) {
			if (before[i] == gone)
				assert_int_not_equal(after[i], gone);
			else
				assert_int_equal(after[i], before[i]);
		}
		for (uint32_t i = 0; i < n - 1; i++) {
			uint32_t share = count_of(group, m[i].nexthop_id);

			assert_in_range(share, SL_GROUP_BUCKETS / (n - 1),
					SL_GROUP_BUCKETS / (n - 1) + 1);
		}
	}
}

static void adding_a_member_moves_only_its_share_evenly(void **state)
{
	uint32_t group = new_nexthop(), before[SL_GROUP_BUCKETS];
	struct sl_member m[9];

	(void)state;
	m[0] = (struct sl_member){ new_nexthop(), 1 };
	set_group(group, m, 1);
	for (uint32_t n = 2; n <= 9; n++) {
		const uint32_t *after = buckets(group);
		uint32_t came;

		memcpy(before, after, sizeof(before));
		m[n - 1] = (struct sl_member){ new_nexthop(), 1 };
		set_group(group, m, n);
		came = count_of(group, m[n - 1].nexthop_id);
		assert_in_range(came, SL_GROUP_BUCKETS / n, SL_GROUP_BUCKETS / n + 1);
		assert_int_equal(moved(before, after), came);
		for (uint32_t i = 0; i < n; i++)
			assert_in_range(count_of(group, m[i].nexthop_id), SL_GROUP_BUCKETS / n,
					SL_GROUP_BUCKETS / n + 1);
	}
}

static void changed_weight_moves_only_the_difference(void **state)
{
	uint32_t group = new_nexthop(), before[SL_GROUP_BUCKETS];
	struct sl_member m[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		m[i] = (struct sl_member){ new_nexthop(), 1 };
	set_group(group, m, 4);
	memcpy(before, buckets(group), sizeof(before));
	m[0].weight = 5; /* 80, 16, 16, 16 instead of 32 each */
	set_group(group, m, 4);
	assert_int_equal(count_of(group, m[0].nexthop_id), 80);
	assert_int_equal(moved(before, buckets(group)), 48);
	for (int i = 0; i < SL_GROUP_BUCKETS; i++)
		if (before[i] == m[0].nexthop_id)
			assert_int_equal(buckets(group)[i], m[0].nexthop_id);
}

static void same_members_in_another_order_move_nothing(void **state)
{
	uint32_t group = new_nexthop(), before[SL_GROUP_BUCKETS];
	struct sl_member m[7], turned[7];

	(void)state;
	for (int i = 0; i < 7; i++)
		m[i] = (struct sl_member){ new_nexthop(), 1 };
	set_group(group, m, 7);
	memcpy(before, buckets(group), sizeof(before));
	for (int i = 0; i < 7; i++)
		turned[i] = m[6 - i];
	set_group(group, turned, 7);
	assert_int_equal(moved(before, buckets(group)), 0);
}

static void next_hop_named_twice_counts_with_the_sum(void **state)
{
	uint32_t group = new_nexthop(), a = new_nexthop(), b = new_nexthop();
	struct sl_member m[3] = { { a, 1 }, { b, 2 }, { a, 1 } };

	(void)state;
	set_group(group, m, 3);
	assert_int_equal(count_of(group, a), 64);
	assert_int_equal(count_of(group, b), 64);
}

static void bad_groups_are_refused_and_change_nothing(void **state)
{
	uint32_t group = new_nexthop(), other = new_nexthop(), a = new_nexthop();
	struct sl_member good = { a, 1 }, many[SL_GROUP_BUCKETS + 1];
	const struct sl_member bad[] = {
		{ SL_NEXTHOP_NONE, 1 },
		{ SL_NEXTHOP_OVERFLOW, 1 },
		{ N_NEXTHOP, 1 },
		{ group, 1 },
		{ a, 0 },
		{ a, 65537 },
	};

	(void)state;
	for (int i = 0; i <= SL_GROUP_BUCKETS; i++)
		many[i] = good;
	set_group(other, &good, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sl_fib_nexthop_set_group(world.fib, group, &bad[i], 1), -EINVAL);
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, group, &good, 0), -EINVAL);
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, group, many, SL_GROUP_BUCKETS + 1),
			 -EINVAL);
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, N_NEXTHOP, &good, 1), -EINVAL);
	good.nexthop_id = other; /* a group in a group */
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, group, &good, 1), -EINVAL);
	assert_nexthop(group, SL_NH_PUNT, SL_PUNT_NEIGHBOUR);
}

static void groups_wait_for_the_grace_period(void **state)
{
	uint32_t g[N_GROUP + 1];
	struct sl_member m = { new_nexthop(), 1 };

	(void)state;
	for (int i = 0; i <= N_GROUP; i++)
		g[i] = new_nexthop();
	for (int i = 0; i < N_GROUP; i++)
		set_group(g[i], &m, 1);
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, g[N_GROUP], &m, 1), -ENOSPC);
	assert_nexthop(g[N_GROUP], SL_NH_PUNT, SL_PUNT_OVERFLOW);
	assert_int_equal(sl_fib_nexthop_set_punt(world.fib, g[0], SL_PUNT_NEIGHBOUR), 0);
	clock_ns += SL_GRACE_NS - 1;
	assert_int_equal(sl_fib_nexthop_set_group(world.fib, g[N_GROUP], &m, 1), -ENOSPC);
	clock_ns += 1;
	set_group(g[N_GROUP], &m, 1);
	assert_nexthop(g[N_GROUP], SL_NH_GROUP, 0);
	assert_int_equal(count_of(g[N_GROUP], m.nexthop_id), SL_GROUP_BUCKETS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_0_and_1_are_no_route_and_overflow),
		TEST(new_nexthop_punts_as_neighbour_and_takes_every_kind),
		TEST(changed_adjacency_is_a_new_one_and_the_old_stays_unchanged),
		TEST(adjacencies_wait_for_the_grace_period),
		TEST(nexthop_ids_wait_for_the_grace_period),
		TEST(used_is_read_once_and_survives_a_new_adjacency),
		TEST(weights_share_buckets_by_largest_remainder),
		TEST(removing_a_member_moves_exactly_its_buckets),
		TEST(adding_a_member_moves_only_its_share_evenly),
		TEST(changed_weight_moves_only_the_difference),
		TEST(same_members_in_another_order_move_nothing),
		TEST(next_hop_named_twice_counts_with_the_sum),
		TEST(bad_groups_are_refused_and_change_nothing),
		TEST(groups_wait_for_the_grace_period),
	};
	return cmocka_run_group_tests_name("fib_nexthop", tests, NULL, NULL);
}

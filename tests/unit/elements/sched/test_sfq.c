/* SPDX-License-Identifier: BSD-2-Clause */
/* Start-time fair queueing: tags worked out by hand, order against a linear search, the bound on
 * shares. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "elements/sched/sfq.h"

#define CLIENTS 64

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

static el_tag at(uint64_t ns, uint32_t weight)
{
	return (el_tag)ns * EL_TAG_PER_NS / weight;
}

static void tags_follow_the_rules(void **state)
{
	struct el_client c[3];
	uint32_t heap[3];
	struct el_sfq q;

	(void)state;
	el_sfq_init(&q, c, heap, 3);
	el_sfq_set_weight(&q, 0, 1);
	el_sfq_set_weight(&q, 1, 2);
	assert_int_equal(el_sfq_pick(&q), EL_NONE);
	assert_true(el_sfq_wake(&q, 0));
	assert_false(el_sfq_wake(&q, 0));
	assert_true(el_sfq_wake(&q, 1));
	assert_int_equal(el_sfq_pick(&q), 0); /* equal tags: the first to become eligible */
	assert_false(el_sfq_wake(&q, 0));
	assert_true(el_sfq_due(&q, 0)); /* equal priority preempts */
	el_sfq_charge(&q, 100, true);
	assert_true(c[0].start == at(100, 1));
	assert_int_equal(el_sfq_pick(&q), 1);
	assert_false(el_sfq_due(&q, 199));
	assert_true(el_sfq_due(&q, 200));
	el_sfq_charge(&q, 300, false); /* client 1 sleeps with F = 150 */
	assert_true(c[1].finish == at(300, 2));
	assert_int_equal(el_sfq_pick(&q), 0);
	assert_true(q.v == at(100, 1));
	assert_true(el_sfq_wake(&q, 1));
	assert_true(c[1].start == at(150, 1)); /* max(v, F) = F: no gain from a short sleep */
	assert_true(el_sfq_wake(&q, 2));
	assert_true(c[2].start == at(100, 1)); /* max(v, F) = v: no credit for the past */
	el_sfq_charge(&q, 10, false);
	assert_int_equal(el_sfq_pick(&q), 2);
	el_sfq_charge(&q, 1, false);
	assert_int_equal(el_sfq_pick(&q), 1);
	el_sfq_charge(&q, 2, false);
	assert_true(q.v == at(151, 1)); /* nobody is left: v is the greatest F */
	assert_true(el_sfq_wake(&q, 0));
	assert_true(c[0].start == at(151, 1));
	assert_true(el_sfq_forget(&q, 0));
	assert_false(el_sfq_forget(&q, 0));
	assert_int_equal(el_sfq_pick(&q), EL_NONE);
}

static void remainders_add_up(void **state)
{
	struct el_client c[1];
	uint32_t heap[1];
	struct el_sfq q;

	(void)state;
	el_sfq_init(&q, c, heap, 1);
	el_sfq_set_weight(&q, 0, 999999937); /* a prime: each charge leaves a remainder */
	el_sfq_wake(&q, 0);
	for (int i = 0; i < 1000000; i++) {
		assert_int_equal(el_sfq_pick(&q), 0);
		el_sfq_charge(&q, 1, true);
	}
	assert_true(c[0].finish == at(1000000, 999999937));
}

static void tags_outlast_64_bits(void **state)
{
	struct el_client c[2];
	uint32_t heap[2];
	uint64_t used[2] = { 0 };
	struct el_sfq q;

	(void)state;
	el_sfq_init(&q, c, heap, 2);
	el_sfq_wake(&q, 0);
	for (int i = 0; i < 64; i++) { /* 64 charges of 2^63 at weight 1 */
		el_sfq_pick(&q);
		el_sfq_charge(&q, EL_CHARGE_MAX + 5, true); /* clamped */
	}
	assert_true(c[0].finish == (el_tag)EL_CHARGE_MAX * EL_TAG_PER_NS * 64);
	el_sfq_pick(&q); /* v is now beyond 64 bits */
	el_sfq_wake(&q, 1);
	el_sfq_charge(&q, 1000, true);
	for (int i = 0; i < 1000; i++) {
		uint32_t id = el_sfq_pick(&q);

		used[id] += 1000;
		el_sfq_charge(&q, 1000, true);
	}
	assert_in_range(used[0], 499000, 501000);
}

/* The client that a linear search finds: least start tag, then the longest eligible. */
static uint32_t search(const struct el_sfq *q, const bool *waits, const uint64_t *since)
{
	uint32_t best = EL_NONE;

	for (uint32_t i = 0; i < q->n_clients; i++)
		if (waits[i] &&
		    (best == EL_NONE || q->clients[i].start < q->clients[best].start ||
		     (q->clients[i].start == q->clients[best].start && since[i] < since[best])))
			best = i;
	return best;
}

/* A random client, also the one in service, wakes or is taken out. */
static void wake_or_forget(struct el_sfq *q, bool *waits, uint64_t *since, uint64_t *time)
{
	uint32_t id = draw(q->n_clients);

	if (draw(2)) {
		bool woken = !waits[id] && q->served != id;

		assert_int_equal(el_sfq_wake(q, id), woken);
		if (woken)
			since[id] = (*time)++;
		waits[id] |= woken;
	} else {
		assert_int_equal(el_sfq_forget(q, id), waits[id]);
		waits[id] = false;
	}
}

static void heap_agrees_with_a_linear_search(void **state)
{
	struct el_client c[CLIENTS];
	uint32_t heap[CLIENTS];
	bool waits[CLIENTS];
	uint64_t since[CLIENTS], time = 0;
	struct el_sfq q;

	(void)state;
	for (uint32_t seed = 1; seed <= 40; seed++) {
		uint32_t n = 1 + seed * 7 % CLIENTS;

		random_state = seed;
		el_sfq_init(&q, c, heap, n);
		for (uint32_t i = 0; i < n; i++) {
			waits[i] = false;
			el_sfq_set_weight(&q, i, 1 + draw(4));
		}
		for (int step = 0; step < 4000; step++) {
			uint32_t expected, next, used_ns;
			bool eligible;

			if (draw(2)) {
				wake_or_forget(&q, waits, since, &time);
				continue;
			}
			expected = search(&q, waits, since);
			assert_int_equal(el_sfq_pick(&q), expected);
			if (expected == EL_NONE)
				continue;
			waits[expected] = false;
			for (uint32_t i = draw(4); i > 0; i--) /* during the service */
				wake_or_forget(&q, waits, since, &time);
			used_ns = 12 * draw(3); /* steps of 12 ns make many equal tags */
			next = search(&q, waits, since);
			assert_int_equal(el_sfq_due(&q, used_ns),
					 next != EL_NONE &&
						 c[next].start <=
							 c[expected].start +
								 at(used_ns, c[expected].weight));
			eligible = draw(3) > 0;
			el_sfq_charge(&q, used_ns, eligible);
			waits[expected] = eligible;
			since[expected] = time++;
		}
	}
}

/*
 * |W_f / w_f - W_g / w_g| <= l_f / w_f + l_g / w_g over every interval in which both are eligible:
 * the difference D(t) is followed from the time when both became eligible, and its range is
 * compared with the bound. D is looked at before and after each service; within one it is monotone.
 */
static void shares_stay_within_the_bound(void **state)
{
	enum { N = 6 };
	struct el_client c[N];
	uint32_t heap[N];
	struct el_sfq q;
	uint64_t pairs_seen = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 60; seed++) {
		double used[N] = { 0 }, longest[N], low[N][N], high[N][N];
		bool eligible[N] = { 0 };
		uint32_t weight[N];

		random_state = seed * 7919;
		el_sfq_init(&q, c, heap, N);
		for (int i = 0; i < N; i++) {
			weight[i] = 1 + draw(seed % 2 ? 20 : 1000000);
			longest[i] = 100 + draw(20000);
			el_sfq_set_weight(&q, i, weight[i]);
		}
		for (int step = 0; step < 20000; step++) {
			uint32_t id = draw(N), ns;

			if (draw(8) == 0 && !eligible[id]) {
				el_sfq_wake(&q, id);
				eligible[id] = true;
				for (int g = 0; g < N; g++) {
					int a = (int)id < g ? (int)id : g,
					    b = (int)id < g ? g : (int)id;

					low[a][b] = high[a][b] =
						used[a] / weight[a] - used[b] / weight[b];
				}
			}
			id = el_sfq_pick(&q);
			if (id == EL_NONE)
				continue;
			ns = draw((uint32_t)longest[id] + 1);
			used[id] += ns;
			for (int a = 0; a < N; a++)
				for (int b = a + 1; b < N; b++) {
					double d = used[a] / weight[a] - used[b] / weight[b];
					double bound =
						longest[a] / weight[a] + longest[b] / weight[b];

					if (!eligible[a] || !eligible[b])
						continue;
					low[a][b] = fmin(low[a][b], d);
					high[a][b] = fmax(high[a][b], d);
					pairs_seen++;
					if (high[a][b] - low[a][b] > bound * (1 + 1e-9))
						fail_msg(
							"seed %u, step %d: clients %d and %d are %g apart, bound %g",
							seed, step, a, b, high[a][b] - low[a][b],
							bound);
				}
			eligible[id] = draw(30) > 0;
			el_sfq_charge(&q, ns, eligible[id]);
		}
	}
	assert_true(pairs_seen > 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags_follow_the_rules),
		cmocka_unit_test(remainders_add_up),
		cmocka_unit_test(tags_outlast_64_bits),
		cmocka_unit_test(heap_agrees_with_a_linear_search),
		cmocka_unit_test(shares_stay_within_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

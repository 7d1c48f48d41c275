/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lookups of XDP, on the Internet's tables: engine fast, engine lpm and the Linux kernel hold
 * the same 732,000 routes over 64 next hops, and must name the same next hop for every address.
 * Then again after 200,000 random changes that make prefixes nest.
 *
 *   test_lookup [N]    with each Nth route, and as many fewer changes and samples, for an emulated
 * machine
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

#include "netns-lab/lookup/kernel_routes.h"
#include "netns-lab/lookup/lookup_rig.h"
#include "netns-lab/lookup/routes.h"

#define CHANGES	       200000
#define KERNEL_SAMPLES 20000

struct world {
	struct lookup_rig *fast, *lpm;
	struct kernel_routes *kernel;
	struct lab_routes ip4, ip6;
	struct sl_prefix *live; /* owned; may hold a prefix twice, or a deleted one */
	uint32_t n_live;
	struct sl_prefix *gone; /* owned; deleted ones */
	uint32_t n_gone;
	uint32_t changes, kernel_samples;
	uint64_t random;
};

static struct world w = { .changes = CHANGES,
			  .kernel_samples = KERNEL_SAMPLES,
			  .random = 20260101 };

/* --- Comparing --- */

static uint32_t n_batch;
static uint32_t expected[LAB_LOOKUPS_MAX]; /* next-hop id, or ANY */
static uint8_t batch_family;
static uint64_t n_compared;

#define ANY UINT32_MAX

static void run(struct lookup_rig *rig)
{
	enum lab_lookup_mode mode = batch_family == AF_INET ? LAB_LOOKUP_TABLE4 : LAB_LOOKUP_TABLE6;

	assert_int_equal(lookup_rig_run(rig, mode, n_batch, 1, NULL), 0);
}

static void compare_batch(void)
{
	run(w.fast);
	run(w.lpm);
	for (uint32_t i = 0; i < n_batch; i++) {
		uint32_t fast = w.fast->lookups[i].answer, lpm = w.lpm->lookups[i].answer;

		if (fast != lpm || (expected[i] != ANY && fast != expected[i])) {
			char text[SL_PREFIX_STRLEN];

			fail_msg("%s: fast says %u, lpm %u, the oracle %u",
				 sl_addr_format(batch_family, w.fast->lookups[i].addr, text), fast,
				 lpm, expected[i]);
		}
	}
	n_compared += n_batch;
	n_batch = 0;
}

static void compare(uint8_t family, const uint8_t *addr, uint32_t want)
{
	if (n_batch && (n_batch == LAB_LOOKUPS_MAX || batch_family != family))
		compare_batch();
	batch_family = family;
	memcpy(w.fast->lookups[n_batch].addr, addr, 16);
	memcpy(w.lpm->lookups[n_batch].addr, addr, 16);
	w.fast->lookups[n_batch].answer = w.lpm->lookups[n_batch].answer = ANY;
	expected[n_batch++] = want;
}

static void compare_prefix(const struct sl_prefix *p, uint32_t want)
{
	uint8_t addr[16];

	compare(p->family, p->addr, want);
	memcpy(addr, p->addr, 16);
	for (int i = p->len; i < sl_addr_bits(p->family); i++)
		addr[i / 8] |= (uint8_t)(0x80 >> i % 8);
	compare(p->family, addr, want);
	lab_routes_address(p, &w.random, addr);
	compare(p->family, addr, want);
}

/* An address under a random prefix of the list or, one in eight, any global unicast address. */
static uint8_t sample_address(const struct sl_prefix *list, uint32_t n, uint8_t addr[16])
{
	static const struct sl_prefix global[] = {
		{ .family = AF_INET, .len = 2, .addr = { 0x80 } }, /* 128.0.0.0/2 */
		{ .family = AF_INET6, .len = 3, .addr = { 0x20 } },
	};
	const struct sl_prefix *p = &list[lab_random_below(&w.random, n)];

	if (lab_random_below(&w.random, 8) == 0)
		p = &global[p->family == AF_INET6];
	lab_routes_address(p, &w.random, addr);
	return p->family;
}

static void compare_with_kernel(const struct sl_prefix *list, uint32_t n)
{
	uint32_t routed = 0;

	for (uint32_t i = 0; i < w.kernel_samples; i++) {
		uint8_t addr[16];
		uint8_t family = sample_address(list, n, addr);
		uint32_t nexthop;
		int rc = kernel_routes_get(w.kernel, family, addr, &nexthop);

		if (rc == 0 && nexthop < LAB_NEXTHOPS)
			compare(family, addr, w.fast->nexthop_id[nexthop]);
		else if (rc == -ENETUNREACH)
			compare(family, addr, SL_NEXTHOP_NONE);
		else
			fail_msg("the kernel answered %d, next hop %u", rc, nexthop);
		routed += rc == 0;
	}
	compare_batch();
	assert_in_range(routed, w.kernel_samples / 2, w.kernel_samples - 1);
}

/* --- Changing all three --- */

static void insert(const struct sl_prefix *p, uint32_t nexthop)
{
	assert_int_equal(lookup_rig_insert(w.fast, p, nexthop), 0);
	assert_int_equal(lookup_rig_insert(w.lpm, p, nexthop), 0);
	assert_int_equal(kernel_routes_set(w.kernel, p, nexthop), 0);
}

static void delete (const struct sl_prefix *p)
{
	int rc = sl_fib_delete(w.fast->fib, p);

	assert_int_equal(sl_fib_delete(w.lpm->fib, p), rc);
	if (rc == 0)
		assert_int_equal(kernel_routes_delete(w.kernel, p), 0);
	else
		assert_int_equal(rc, -ENOENT);
}

static void load(const struct lab_routes *routes)
{
	for (uint32_t i = 0; i < routes->n; i++) {
		const struct sl_prefix *p = &routes->prefix[i];

		insert(p, lab_routes_hash(p, LAB_NEXTHOPS));
		w.live[w.n_live++] = *p;
	}
}

/* Another prefix near p: up to 8 bits longer, as long as can be, or up to 4 bits shorter. */
static struct sl_prefix near(const struct sl_prefix *p)
{
	const uint8_t bits = sl_addr_bits(p->family), shortest = p->family == AF_INET ? 9 : 17;
	uint32_t how = lab_random_below(&w.random, 20);
	struct sl_prefix q = *p;
	uint32_t len = p->len;

	if (how == 0)
		len = bits;
	else if (how < 4)
		len = len > shortest + 4u ? len - 1 - lab_random_below(&w.random, 4) : len;
	else
		len += 1 + lab_random_below(&w.random, 8);
	q.len = (uint8_t)(len < bits ? len : bits);
	lab_routes_address(p, &w.random, q.addr);
	sl_addr_mask(q.addr, q.len);
	return q;
}

static void change_at_random(void)
{
	struct sl_prefix *p = &w.live[lab_random_below(&w.random, w.n_live)];
	uint32_t what = lab_random_below(&w.random, 10);
	uint32_t nexthop = lab_random_below(&w.random, LAB_NEXTHOPS);

	if (what < 5) {
		struct sl_prefix q = near(p);

		insert(&q, nexthop);
		w.live[w.n_live++] = q;
	} else if (what < 7) {
		insert(p, nexthop);
	} else {
		delete (p);
		w.gone[w.n_gone++] = *p;
		*p = w.live[--w.n_live];
	}
}

static void assert_nothing_overflowed(const struct lookup_rig *rig)
{
	struct sl_fib_stats stats;

	sl_fib_stats(rig->fib, &stats);
	assert_int_equal(stats.overflow4 + stats.overflow6, 0);
}

/* --- Tests, in this order --- */

static void internet_prefixes_first_last_random_address_by_both_engines(void **state)
{
	(void)state;
	load(&w.ip4);
	load(&w.ip6);
	assert_int_equal(kernel_routes_flush(w.kernel), 0);
	/* No prefix of the data covers another: the answer is known without a lookup. */
	for (uint32_t i = 0; i < w.n_live; i++) {
		const struct sl_prefix *p = &w.live[i];

		compare_prefix(p, w.fast->nexthop_id[lab_routes_hash(p, LAB_NEXTHOPS)]);
	}
	compare_batch();
	assert_int_equal(n_compared, 3ull * (w.ip4.n + w.ip6.n));
	assert_nothing_overflowed(w.fast);
	assert_nothing_overflowed(w.lpm);
}

static void internet_sampled_addresses_as_the_kernel(void **state)
{
	(void)state;
	compare_with_kernel(w.ip4.prefix, w.ip4.n);
	compare_with_kernel(w.ip6.prefix, w.ip6.n);
}

static void changed_tables_first_last_random_address_by_both_engines(void **state)
{
	(void)state;
	sl_fib_go_live(w.fast->fib);
	for (uint32_t i = 0; i < w.changes; i++)
		change_at_random();
	assert_int_equal(kernel_routes_flush(w.kernel), 0);
	for (uint32_t i = 0; i < w.n_live; i++)
		compare_prefix(&w.live[i], ANY);
	for (uint32_t i = 0; i < w.n_gone; i++)
		compare_prefix(&w.gone[i], ANY);
	compare_batch();
	assert_nothing_overflowed(w.fast);
	assert_nothing_overflowed(w.lpm);
}

static void changed_tables_sampled_addresses_as_the_kernel(void **state)
{
	(void)state;
	compare_with_kernel(w.live, w.n_live);
	/* where most of the changes are */
	compare_with_kernel(w.live + w.n_live - w.changes / 4, w.changes / 4);
}

/* Keep each nth route. */
static void thin_out(struct lab_routes *routes, uint32_t nth)
{
	routes->n /= nth;
	for (uint32_t i = 0; i < routes->n; i++)
		routes->prefix[i] = routes->prefix[i * nth];
}

static uint32_t part = 1;

static int setup(void **state)
{
	int rc = kernel_routes_open(&w.kernel);

	(void)state;
	if (!rc)
		rc = lab_routes_read(LAB_ROUTES_V4, &w.ip4);
	if (!rc)
		rc = lab_routes_read(LAB_ROUTES_V6, &w.ip6);
	if (!rc) {
		thin_out(&w.ip4, part);
		thin_out(&w.ip6, part);
		w.changes /= part;
		w.kernel_samples /= part;
	}
	if (!rc)
		rc = lookup_rig_open(LAB_LOOKUP_OBJECT, SL_ENGINE_FAST, &w.fast);
	if (!rc)
		rc = lookup_rig_open(LAB_LOOKUP_OBJECT, SL_ENGINE_LPM, &w.lpm);
	if (!rc) {
		w.live = calloc(w.ip4.n + w.ip6.n + w.changes, sizeof(*w.live));
		w.gone = calloc(w.changes, sizeof(*w.gone));
		rc = w.live && w.gone ? 0 : -ENOMEM;
	}
	if (rc)
		print_error("cannot set up: %s\n", strerror(-rc));
	return rc;
}

static int teardown(void **state)
{
	(void)state;
	free(w.live);
	free(w.gone);
	lookup_rig_close(w.fast);
	lookup_rig_close(w.lpm);
	lab_routes_free(&w.ip4);
	lab_routes_free(&w.ip6);
	kernel_routes_close(w.kernel);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(internet_prefixes_first_last_random_address_by_both_engines),
		cmocka_unit_test(internet_sampled_addresses_as_the_kernel),
		cmocka_unit_test(changed_tables_first_last_random_address_by_both_engines),
		cmocka_unit_test(changed_tables_sampled_addresses_as_the_kernel),
	};
	if (argc > 1)
		part = (uint32_t)strtoul(argv[1], NULL, 10);
	if (part == 0)
		return 2;
	return cmocka_run_group_tests_name("lookup", tests, setup, teardown);
}

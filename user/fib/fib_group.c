/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resilient ECMP groups, as the kernel's resilient next-hop groups (net/ipv4/nexthop.c) without
 * their timers: 128 buckets, each naming a next hop. A member is due a number of buckets by its
 * weight (largest remainder); only buckets of members that hold more than their due, or that left,
 * change hands.
 */
#include "user/fib/fib_nexthop.h"
#include "user/fib/fib_state.h"

#include <errno.h>
#include <string.h>

#define WEIGHT_MAX 65536
#define NOBODY	   SL_GROUP_BUCKETS

struct share {
	uint32_t nexthop_id;
	uint64_t weight;
	uint32_t held; /* buckets now */
	uint32_t due;  /* buckets by weight */
	uint64_t rest; /* what rounding down took, in 1/total of a bucket */
};

struct plan {
	struct share share[SL_GROUP_BUCKETS];
	uint32_t n;
};

static uint32_t find(const struct plan *plan, uint32_t nexthop_id)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->share[i].nexthop_id == nexthop_id)
			return i;
	return NOBODY;
}

static int collect(const struct sl_fib *fib, const struct sl_member *members, uint32_t n,
		   struct plan *plan)
{
	*plan = (struct plan){ 0 };
	if (n < 1 || n > SL_GROUP_BUCKETS)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = members[i].nexthop_id;
		uint32_t at = find(plan, id);

		if (!sl_fib_nexthop_known(fib, id) || fib->tables.nexthop[id].kind == SL_NH_GROUP ||
		    members[i].weight < 1 || members[i].weight > WEIGHT_MAX)
			return -EINVAL;
		if (at == NOBODY) {
			at = plan->n++;
			plan->share[at].nexthop_id = id;
		}
		plan->share[at].weight += members[i].weight;
	}
	return 0;
}

static void count_held(struct plan *plan, const uint32_t *bucket)
{
	for (uint32_t i = 0; i < plan->n; i++)
		plan->share[i].held = 0;
	for (uint32_t i = 0; i < SL_GROUP_BUCKETS; i++) {
		uint32_t at = find(plan, bucket[i]);

		if (at != NOBODY)
			plan->share[at].held++;
	}
}

/*
 * A bucket left over by rounding goes to the member with the larger rest, then to the one that
 * holds more buckets already.
 */
static bool claims_before(const struct share *a, const struct share *b)
{
	if (a->rest != b->rest)
		return a->rest > b->rest;
	if (a->held != b->held)
		return a->held > b->held;
	return a->nexthop_id < b->nexthop_id;
}

/* Hare's quota: floor of the exact share, then one more each for the largest remainders. */
static void apportion(struct plan *plan)
{
	uint64_t total = 0;
	uint32_t left = SL_GROUP_BUCKETS;

	for (uint32_t i = 0; i < plan->n; i++)
		total += plan->share[i].weight;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct share *s = &plan->share[i];

		s->due = (uint32_t)(s->weight * SL_GROUP_BUCKETS / total);
		s->rest = s->weight * SL_GROUP_BUCKETS % total;
		left -= s->due;
	}
	while (left--) {
		struct share *best = &plan->share[0];

		for (uint32_t i = 1; i < plan->n; i++)
			if (claims_before(&plan->share[i], best))
				best = &plan->share[i];
		best->due++;
		best->rest = 0; /* fewer buckets are left over than there are members: one each */
	}
}

/* The member furthest below its due. While a bucket has no owner, some member is below it. */
static struct share *neediest(struct plan *plan)
{
	struct share *best = &plan->share[0];

	for (uint32_t i = 1; i < plan->n; i++) {
		struct share *s = &plan->share[i];

		if ((int32_t)(s->due - s->held) > (int32_t)(best->due - best->held))
			best = s;
	}
	return best;
}

/* Hand over bucket by bucket: the flows of a bucket that keeps its owner see nothing. */
static void deal(struct plan *plan, uint32_t *bucket)
{
	count_held(plan, bucket);
	apportion(plan);
	for (uint32_t i = 0; i < SL_GROUP_BUCKETS; i++) {
		uint32_t at = find(plan, bucket[i]);
		struct share *to;

		if (at != NOBODY && plan->share[at].held <= plan->share[at].due)
			continue;
		to = neediest(plan);
		if (at != NOBODY)
			plan->share[at].held--;
		to->held++;
		sl_publish(&bucket[i], to->nexthop_id);
	}
}

int sl_fib_nexthop_set_group(struct sl_fib *fib, uint32_t id, const struct sl_member *members,
			     uint32_t n)
{
	struct plan plan;
	uint32_t ref;
	int rc;

	if (!sl_fib_nexthop_known(fib, id))
		return -EINVAL;
	rc = collect(fib, members, n, &plan);
	if (rc)
		return rc;
	if (find(&plan, id) != NOBODY)
		return -EINVAL;
	if (fib->tables.nexthop[id].kind == SL_NH_GROUP) {
		deal(&plan, fib->tables.group[fib->tables.nexthop[id].ref].bucket);
		return 0;
	}
	rc = sl_pool_take(&fib->groups, fib->now_ns(), &ref);
	if (rc) {
		sl_fib_nexthop_publish(fib, id, SL_NH_PUNT, SL_PUNT_OVERFLOW);
		return rc;
	}
	memset(&fib->tables.group[ref], 0, sizeof(fib->tables.group[ref]));
	deal(&plan, fib->tables.group[ref].bucket);
	sl_fib_nexthop_publish(fib, id, SL_NH_GROUP, ref);
	return 0;
}

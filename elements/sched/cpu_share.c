/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "elements/sched/cpu_share.h"

#define COST_MAX_Q16 (UINT64_C(1) << 56) /* of el_cost_add's largest used_ns */

static int plan_check(const struct el_grant *grants, uint32_t n, uint64_t *rates, uint64_t *shares)
{
	*rates = 0;
	*shares = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t value = grants[i].value;

		switch (grants[i].kind) {
		case EL_GRANT_SHARE:
			if (value < 1 || value > EL_SHARE_MAX)
				return -EINVAL;
			*shares += value;
			break;
		case EL_GRANT_RATE:
			if (value < 1 || value > EL_PPB_ALL)
				return -EINVAL;
			*rates += value;
			break;
		default:
			return -EINVAL;
		}
	}
	return 0;
}

int el_share_plan(const struct el_grant *grants, uint32_t n, uint32_t reserve_ppb,
		  uint32_t *weights, uint32_t *free_ppb)
{
	uint64_t rates, shares;

	*free_ppb = 0;
	if (reserve_ppb > EL_PPB_ALL || plan_check(grants, n, &rates, &shares))
		return -EINVAL;
	if (rates > EL_PPB_ALL - reserve_ppb)
		return -ENOSPC;
	*free_ppb = (uint32_t)(EL_PPB_ALL - reserve_ppb - rates);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t weight = grants[i].value;

		if (grants[i].kind == EL_GRANT_SHARE) /* below 2^30 * 2^20 */
			weight = (EL_PPB_ALL - rates) * weight / shares;
		weights[i] = weight ? (uint32_t)weight : 1;
	}
	return 0;
}

void el_cost_add(struct el_cost *c, uint64_t used_ns, uint32_t packets)
{
	uint64_t now_q16;

	if (packets == 0)
		return;
	now_q16 = (used_ns << 16) / packets;
	now_q16 = now_q16 < 1 ? 1 : now_q16 > COST_MAX_Q16 ? COST_MAX_Q16 : now_q16;
	if (c->mean_q16 == 0)
		c->mean_q16 = now_q16;
	else if (now_q16 > c->mean_q16)
		c->mean_q16 += (now_q16 - c->mean_q16) >> EL_COST_GAIN_SHIFT;
	else
		c->mean_q16 -= (c->mean_q16 - now_q16) >> EL_COST_GAIN_SHIFT;
}

void el_cost_weights(const struct el_cost *costs, uint32_t n, uint32_t total, uint32_t *weights)
{
	uint64_t least = 0, most = 1, sum = 0;
	uint32_t shift = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t mean = costs[i].mean_q16;

		if (mean && (least == 0 || mean < least))
			least = mean;
		if (mean > most)
			most = mean;
	}
	if (least == 0)
		least = 1;
	while (most >> shift >= UINT64_C(1) << 32) /* so that the product fits 64 bits */
		shift++;
	for (uint32_t i = 0; i < n; i++)
		sum += (costs[i].mean_q16 ? costs[i].mean_q16 : least) >> shift;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t mean = (costs[i].mean_q16 ? costs[i].mean_q16 : least) >> shift;
		uint64_t weight = mean * total / (sum ? sum : 1);

		weights[i] = weight ? (uint32_t)weight : 1;
	}
}

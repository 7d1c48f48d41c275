/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weights of flows, from what an operator grants them and from what packets cost.
 *
 * A grant is a guaranteed rate, a part of the processor, or a share of what the rates leave. An
 * eligible flow with a rate gets at least that part; what eligible flows leave unused goes to the
 * others in proportion to their weights.
 *
 * Input, processing and output of packets work without loss when each has a share of the processor
 * in proportion to its cost of a packet: `auto` measures the costs and follows them.
 */
#ifndef EL_SCHED_CPU_SHARE_H
#define EL_SCHED_CPU_SHARE_H

#include <stdint.h>

#define EL_PPB_ALL 1000000000u /* the whole processor, 10^-9 */

enum el_grant_kind {
	EL_GRANT_SHARE, /* value: 1..EL_SHARE_MAX, relative to other shares */
	EL_GRANT_RATE	/* value: 1..EL_PPB_ALL, part of the processor in 10^-9 */
};
#define EL_SHARE_MAX 1000000u

struct el_grant {
	uint32_t kind; /* enum el_grant_kind */
	uint32_t value;
};

/*
 * Admit n grants together and compute the weight of each flow, for el_sched_set_weight. The weights
 * add up to at most EL_PPB_ALL, or n more because none is below 1.
 *
 * reserve_ppb  the part that rates may not have: it is left to the shares
 * free_ppb     what rates could still have; 0 on -ENOSPC
 *
 * Returns 0; -EINVAL: a value or reserve_ppb is out of its range; -ENOSPC: the rates add up to more
 * than EL_PPB_ALL - reserve_ppb. On error no weight is written.
 */
int el_share_plan(const struct el_grant *grants, uint32_t n, uint32_t reserve_ppb,
		  uint32_t *weights, uint32_t *free_ppb);

/* Cost of a packet at one stage of its way: a moving mean. */
struct el_cost {
	uint64_t mean_q16; /* ns with 16 fraction bits; 0: nothing measured yet */
};

#define EL_COST_GAIN_SHIFT 3 /* a new sample enters with 1/8 */

/* A stage took used_ns, at most 2^40, for some packets; none: nothing changes. */
void el_cost_add(struct el_cost *c, uint64_t used_ns, uint32_t packets);

/*
 * Divide total, 1..EL_PPB_ALL, among n stages in proportion to their costs; a stage without a cost
 * counts as the cheapest one, and all are equal while none has one. No weight is below 1.
 */
void el_cost_weights(const struct el_cost *costs, uint32_t n, uint32_t total, uint32_t *weights);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixed: the rate is what the operator says.
 *
 * It takes no feedback, and the rate does not decay. The parameter rate_ups is the rate of a VOQ.
 * If it is 0 a VOQ keeps the rate that it has, so a value written from outside into the map sl_voq
 * stands.
 */
#include "cc/arith.h"

enum { FIXED_RATE = CC_COMMON_PARAMS, FIXED_PARAMS };

static const struct cc_param fixed_params[FIXED_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[FIXED_RATE] = { "rate_ups", "units/s", 0, 0, (int64_t)CC_RATE_MAX,
			 "the operator; 0 keeps the rate that is in place" },
};

static int fixed_prepare(struct cc_config *cfg, const char **why)
{
	(void)cfg;
	(void)why;
	return 0;
}

static void fixed_apply(struct cc_ingress *in, const struct cc_config *cfg)
{
	if (cfg->param[FIXED_RATE])
		in->rate_q16 = (uint64_t)cfg->param[FIXED_RATE] << 16;
}

static void fixed_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			       const struct cc_usage *u)
{
	(void)u;
	fixed_apply(in, cfg);
}

const struct cc_ops cc_fixed_ops = {
	.name = "fixed",
	.algorithm = CC_FIXED,
	.n_params = FIXED_PARAMS,
	.params = fixed_params,
	.prepare = fixed_prepare,
	.ingress_init = fixed_apply,
	.ingress_tick = fixed_ingress_tick,
};

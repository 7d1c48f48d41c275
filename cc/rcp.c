/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rcp: an explicit rate, the Rate Control Protocol (Dukkipati, Kobayashi, Zhang-Shen, McKeown:
 * Processor Sharing Flows in the Internet, IWQoS 2005).
 *
 *      egress, every T     R <- R (1 + (T / d) (alpha (gamma C - y) - beta q / d) / (gamma C))
 *      source              x = R w                                        w: weight of the source
 *
 * y is what arrived, q the queue, d the mean round-trip time. The egress does not count sources: R
 * rises while the port has room and falls while it has not, so that it comes to C / N.
 *
 * What is different here
 *   - d is a number of intervals, not measured: all sources hear of an interval at its end;
 *   - the defaults of alpha and beta. The authors' ns-2 runs have 0.1 and 1, which work here, too,
 *     but a source that joins three has its share within 5 % after 84 T, and 9 % of the port is
 *     unused meanwhile; with 0.4 and 0.226 after 18 T. These are from the bound of Katabi, Handley
 *     and Rohrs (XCP, SIGCOMM 2002), alpha < pi / (4 sqrt(2)) and beta = alpha^2 sqrt(2), under
 *     which such a loop is stable at any delay;
 *   - R is between floor and C; with weights it is the rate of weight 1.
 *
 * A source that was idle holds R of before, up to C: sources that start together all send it until
 * the queue has brought it down. This is RCP's own weakness.
 *
 * Record: signal is R / C with 31 fraction bits; share is unused.
 */
#include "cc/arith.h"

enum { RCP_ALPHA = CC_COMMON_PARAMS, RCP_BETA, RCP_GAMMA, RCP_RTT, RCP_PARAMS };

static const struct cc_param rcp_params[RCP_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[RCP_ALPHA] = { "alpha_ppb", "1e-9", 400000000, 1, 4 * CC_ONE_PPB,
			"alpha: XCP's bound; 0.1 in the authors' ns-2 runs" },
	[RCP_BETA] = { "beta_ppb", "1e-9", 226000000, 1, 4 * CC_ONE_PPB,
		       "beta: XCP's bound; 1 in the authors' ns-2 runs" },
	[RCP_GAMMA] = { "gamma_ppb", "1e-9 of capacity", CC_ONE_PPB, 100000000, CC_ONE_PPB,
			"gamma, what RCP fills: the paper's equation has 1" },
	[RCP_RTT] = { "rtt_intervals", "T", 2, 1, 64,
		      "d; ours: one interval until a record is made, one until it shows" },
};

#define RCP_Q28 28 /* fraction bits of the factor of a step */

struct rcp_gains {
	int64_t alpha_q28, beta_q28; /* up to 2^30 */
	uint64_t rtt_ns;	     /* d */
};

struct rcp_egress {
	uint64_t rate_q16;  /* R */
	uint32_t share_q31; /* R / C as it is sent */
	uint32_t reserved;
};

_Static_assert(sizeof(struct rcp_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct rcp_egress) <= CC_EGRESS_BYTES, "egress state");

static int rcp_prepare(struct cc_config *cfg, const char **why)
{
	struct rcp_gains *g = (void *)cfg->gains;

	(void)why;
	g->alpha_q28 = (int64_t)cc_ppb_to_q(cfg->param[RCP_ALPHA], RCP_Q28);
	g->beta_q28 = (int64_t)cc_ppb_to_q(cfg->param[RCP_BETA], RCP_Q28);
	g->rtt_ns = (uint64_t)cfg->port.interval_ns * (uint64_t)cfg->param[RCP_RTT];
	return 0;
}

static void rcp_egress_init(void *priv, const struct cc_config *cfg)
{
	struct rcp_egress *e = priv;

	/* As the sources begin: as if every one were sending. */
	e->rate_q16 = (cfg->port.capacity_ups << 16) / cfg->port.sources;
}

/* What R is to be multiplied by, less 1, with 28 fraction bits: -1 or more. */
static int64_t rcp_step(const struct cc_config *cfg, const struct cc_sample *s, uint64_t capacity)
{
	const struct rcp_gains *g = (const void *)cfg->gains;
	uint64_t elapsed_ns = cc_clamp(s->elapsed_ns, 1, g->rtt_ns);
	int64_t h_q28 = (int64_t)((elapsed_ns << RCP_Q28) / g->rtt_ns); /* T / d */
	int64_t drain = (int64_t)cc_max(cc_units_in(capacity, (uint32_t)elapsed_ns), 1);
	int64_t queue = (int64_t)cc_min(s->backlog_units, CC_UNITS_MAX), arrived = 0;
	cc_i128 load_q28;
	int64_t step_q28;

	for (uint32_t i = 0; i < s->n_sources; i++)
		arrived += s->sources[i].arrived_units;
	/* A sample later than d stands for d: what came in that much of it. */
	if (s->elapsed_ns > elapsed_ns)
		arrived = (int64_t)cc_mul_div((uint64_t)arrived, elapsed_ns, s->elapsed_ns);
	/* 2^30 * 2^40, and the queue over d as units in this interval. */
	load_q28 = (cc_i128)g->alpha_q28 * (drain - arrived) -
		   (cc_i128)g->beta_q28 * (queue * h_q28 >> RCP_Q28);
	if (load_q28 < -(cc_i128)drain * (INT64_C(8) << RCP_Q28)) /* 2^62: R d / T is down by 8 C */
		load_q28 = -(cc_i128)drain * (INT64_C(8) << RCP_Q28);
	step_q28 = (int64_t)load_q28 / drain;
	step_q28 = (int64_t)((cc_i128)step_q28 * h_q28 >> RCP_Q28);
	return step_q28 < -(INT64_C(1) << RCP_Q28) ? -(INT64_C(1) << RCP_Q28) : step_q28;
}

static uint32_t rcp_egress_sample(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s)
{
	struct rcp_egress *e = priv;
	uint64_t all = cc_clamp(s->capacity_ups, 1, CC_RATE_MAX);
	uint64_t capacity = cc_max(cc_ppb(all, cfg->param[RCP_GAMMA]), 1);
	cc_i128 rate_q16;

	if (!s->timer)
		return 0;
	rate_q16 = (cc_i128)e->rate_q16 +
		   ((cc_i128)e->rate_q16 * rcp_step(cfg, s, capacity) >> RCP_Q28);
	e->rate_q16 = cc_clamp(rate_q16 < 0 ? 0 : (uint64_t)rate_q16,
			       cc_clamp(cfg->floor_q16, 1, capacity << 16), capacity << 16);
	e->share_q31 =
		(uint32_t)cc_min(cc_mul_div(e->rate_q16, UINT64_C(1) << 31, all << 16), UINT32_MAX);
	return 0;
}

static bool rcp_egress_feedback(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
				const struct cc_source *source, struct cc_feedback *out)
{
	const struct rcp_egress *e = priv;

	(void)cfg;
	(void)source;
	out->signal = e->share_q31;
	out->addressed = 1;
	return s->timer;
}

static void rcp_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	(void)in;
	(void)cfg;
}

static void rcp_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				 const struct cc_feedback *fb)
{
	cc_u128 rate_q16 = (cc_u128)cc_min(fb->capacity_ups, CC_RATE_MAX) * fb->signal * in->weight;

	(void)cfg;
	rate_q16 >>= 31 - 16;
	in->rate_q16 = rate_q16 < CC_RATE_MAX_Q16 ? (uint64_t)rate_q16 : CC_RATE_MAX_Q16;
}

static void rcp_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			     const struct cc_usage *u)
{
	(void)in;
	(void)cfg;
	(void)u;
}

const struct cc_ops cc_rcp_ops = {
	.name = "rcp",
	.algorithm = CC_RCP,
	.needs_feedback = true,
	.n_params = RCP_PARAMS,
	.params = rcp_params,
	.egress_bytes = sizeof(struct rcp_egress),
	.prepare = rcp_prepare,
	.egress_init = rcp_egress_init,
	.egress_sample = rcp_egress_sample,
	.egress_feedback = rcp_egress_feedback,
	.ingress_init = rcp_ingress_init,
	.ingress_tick = rcp_ingress_tick,
	.ingress_feedback = rcp_ingress_feedback,
};

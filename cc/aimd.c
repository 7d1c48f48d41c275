/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * aimd: additive increase, multiplicative decrease of rates (thesis chapter 7).
 *
 *      I = 1 if q > Q else 0                       at the egress, every T, told to every source
 *      x <- x (1 - M)      if I = 1                at the source
 *      x <- x + W w        if I = 0                w: weight of the source
 *
 * Equations 7.10 and 7.11. Changed from the print, with the reason:
 *   - the sign of M: x + M x, as printed, would raise the rate on congestion (prose, Figure 7.14);
 *   - the indicator: 7.11 prints I = 0 when q > Q (7.10 and Figure 7.15 have it right);
 *   - no increase in a congested interval (Figure 7.14 adds W and then halves);
 *   - the egress also sends I = 0. If silence meant "no congestion", a lossy fabric would speed
 *     sources up; here an interval without a record changes nothing;
 *   - W and Q are shares of the capacity and of what it drains in T, so that they hold at any rate;
 *   - the defaults are ours. The thesis's simulation has W = 50000 of 764500 packets/s, M = 0.5 and
 *     Q = 100 of the 764.5 packets of an interval, which leaves 12 to 30 % of the port unused:
 *     after a cut the sources climb for longer than such a queue lasts. Its prototype used 98 %,
 *     with numbers that the thesis does not state. Steps of C / 200, cuts of 1/64 and Q of half an
 *     interval use 100 to 97.6 % with feedback 0 to 2 T late. The thesis's own are
 *     increase_ppb=65402224 decrease_ppb=500000000 threshold_ppb=130804447.
 *
 * On a decrease x is the current rate: the limit of a backlogged VOQ, else its measured rate. Every
 * source hears the same I, so all swing together: aimd is here as a baseline.
 *
 * Record: signal is I; share is unused.
 */
#include "cc/arith.h"

enum {
	AIMD_INCREASE = CC_COMMON_PARAMS,
	AIMD_DECREASE,
	AIMD_THRESHOLD,
	AIMD_THRESHOLD_UNITS,
	AIMD_PARAMS
};

static const struct cc_param aimd_params[AIMD_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[AIMD_INCREASE] = { "increase_ppb", "1e-9 of capacity per T", 5000000, 1, CC_ONE_PPB,
			    "W: ours, to keep the port in use; thesis 7.6: 50000 of 764500 packets/s" },
	[AIMD_DECREASE] = { "decrease_ppb", "1e-9 of the rate", 15625000, 1, CC_ONE_PPB,
			    "M: ours, 1/64; thesis 7.6: 0.5" },
	[AIMD_THRESHOLD] = { "threshold_ppb", "1e-9 of capacity x T", 500000000, 1,
			     100 * CC_ONE_PPB, "Q: ours; thesis 7.6: 100 of 764.5 packets" },
	[AIMD_THRESHOLD_UNITS] = { "threshold_units", "units", 0, 0, CC_UNITS_MAX,
				   "Q itself; 0: from threshold_ppb, at least 4 frames" },
};

struct aimd_gains {
	uint64_t keep_q16;     /* 1 - M */
	uint64_t increase_q16; /* W for weight 1, units/s with 16 fraction bits */
	uint32_t threshold_units;
};

struct aimd_egress {
	uint32_t congested; /* I of the latest interval, 0 or 1 */
};

struct aimd_ingress {
	uint32_t congested; /* I as last heard */
};

_Static_assert(sizeof(struct aimd_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct aimd_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct aimd_ingress) <= CC_INGRESS_BYTES, "ingress state");

static int aimd_prepare(struct cc_config *cfg, const char **why)
{
	struct aimd_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint64_t drain_units = cc_units_in(port->capacity_ups, port->interval_ns);
	uint64_t threshold = cc_max(cc_ppb(drain_units, cfg->param[AIMD_THRESHOLD]),
				    4 * (uint64_t)cc_frame_units(port));

	(void)why;
	if (cfg->param[AIMD_THRESHOLD_UNITS])
		threshold = (uint64_t)cfg->param[AIMD_THRESHOLD_UNITS];
	g->threshold_units = (uint32_t)cc_min(threshold, CC_UNITS_MAX);
	g->increase_q16 = cc_ppb(port->capacity_ups << 16, cfg->param[AIMD_INCREASE]);
	g->keep_q16 = cc_ppb_to_q(CC_ONE_PPB - cfg->param[AIMD_DECREASE], 16);
	return 0;
}

static uint32_t aimd_egress_sample(void *priv, const struct cc_config *cfg,
				   const struct cc_sample *s)
{
	const struct aimd_gains *g = (const void *)cfg->gains;
	struct aimd_egress *e = priv;

	if (s->timer)
		e->congested = s->backlog_units > g->threshold_units;
	return 0;
}

static bool aimd_egress_feedback(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
				 const struct cc_source *source, struct cc_feedback *out)
{
	const struct aimd_egress *e = priv;

	(void)cfg;
	(void)source;
	out->signal = e->congested;
	out->addressed = (uint8_t)e->congested;
	return s->timer;
}

static void aimd_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	(void)in;
	(void)cfg;
}

static void aimd_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				  const struct cc_feedback *fb)
{
	struct aimd_ingress *a = (void *)in->priv;

	(void)cfg;
	/* Two records in one interval: congestion in either counts. */
	a->congested |= fb->signal & 1;
}

static void aimd_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			      const struct cc_usage *u)
{
	const struct aimd_gains *g = (const void *)cfg->gains;
	struct aimd_ingress *a = (void *)in->priv;

	if (a->congested)
		in->rate_q16 =
			(uint64_t)((cc_u128)cc_current_rate_q16(in->rate_q16, u) * g->keep_q16 >>
				   16);
	else if (in->heard)
		in->rate_q16 += g->increase_q16 * in->weight;
	a->congested = 0;
}

const struct cc_ops cc_aimd_ops = {
	.name = "aimd",
	.algorithm = CC_AIMD,
	.needs_feedback = true,
	.n_params = AIMD_PARAMS,
	.params = aimd_params,
	.egress_bytes = sizeof(struct aimd_egress),
	.ingress_bytes = sizeof(struct aimd_ingress),
	.prepare = aimd_prepare,
	.egress_sample = aimd_egress_sample,
	.egress_feedback = aimd_egress_feedback,
	.ingress_init = aimd_ingress_init,
	.ingress_tick = aimd_ingress_tick,
	.ingress_feedback = aimd_ingress_feedback,
};

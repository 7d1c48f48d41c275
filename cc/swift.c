/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * swift: additive increase, multiplicative decrease against a target delay (Kumar et al.: Swift:
 * Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020).
 *
 *      W: window, x = W / rtt: rate, each round trip (Algorithm 1)
 *        delay < target:                 W <- W + ai (units acknowledged) / W
 *        else, once in a round trip:     W <- W max(1 - beta (delay - target) / delay, 1 - max_mdf)
 *        after a loss:                   W <- W (1 - max_mdf)
 *      target = base + max(0, min(a / sqrt(f) + b, range)),   f = W / (C T)   (flow scaling, 3.5)
 *        a = range / (1 / sqrt(f_min) - 1 / sqrt(f_max)),  b = -a / sqrt(f_max)
 *
 * What is different here
 *   - delay is q / C of the egress queue, so targets are of the queue alone and need no length of
 *     the path; rtt is rtt_intervals T and that delay;
 *   - the fabric has no acknowledgements: what the VOQ has sent stands for them, and a loss is a
 *     drop in the egress queue, which every source hears of;
 *   - windows are measured by what the port drains in T, which stands for the paper's 100 packets:
 *     ai, one packet there, is 1/100 of it;
 *   - base and range of the target are ours. The endpoint delay, the second window of Swift, is not
 *     there.
 *
 * Record: signal is the delay in ns, share is 1 if frames were dropped.
 */
#include <errno.h>

#include "cc/arith.h"

enum {
	SWIFT_BASE = CC_COMMON_PARAMS,
	SWIFT_RANGE,
	SWIFT_FLOW_MIN,
	SWIFT_FLOW_MAX,
	SWIFT_AI,
	SWIFT_BETA,
	SWIFT_MAX_MDF,
	SWIFT_RTT,
	SWIFT_PARAMS
};

static const struct cc_param swift_params[SWIFT_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[SWIFT_BASE] = { "base_ppb", "1e-9 of T", 130804447, 1, 100 * CC_ONE_PPB,
			 "base target delay; ours: as the target of price" },
	[SWIFT_RANGE] = { "range_ppb", "1e-9 of T", 654022235, 0, 100 * CC_ONE_PPB,
			  "range of the flow scaling; ours: five times the base" },
	[SWIFT_FLOW_MIN] = { "flow_min_ppb", "1e-9 of capacity x T", 1000000, 1000, CC_ONE_PPB,
			     "f_min; paper: 0.1 of about 100 packets" },
	[SWIFT_FLOW_MAX] = { "flow_max_ppb", "1e-9 of capacity x T", CC_ONE_PPB, 1000,
			     100 * CC_ONE_PPB, "f_max; paper: 100 packets, about a whole window" },
	[SWIFT_AI] = { "ai_ppb", "1e-9 of capacity x T", 10000000, 1, CC_ONE_PPB,
		       "ai; paper: one packet of about 100" },
	[SWIFT_BETA] = { "beta_ppb", "1e-9", 800000000, 1, CC_ONE_PPB, "beta; paper" },
	[SWIFT_MAX_MDF] = { "max_mdf_ppb", "1e-9 of the window", 500000000, 1, CC_ONE_PPB,
			    "max_mdf; paper" },
	[SWIFT_RTT] = { "rtt_intervals", "T", 2, 1, 64,
			"ours: one interval until a record is made, one until it shows" },
};

struct swift_gains {
	uint64_t rtt_ns; /* without the queue */
	uint64_t base_ns, range_ns;
	uint64_t scale_ns;	    /* a */
	uint64_t min_q16;	    /* 1 / sqrt(f_max), at which the scaling ends */
	uint64_t ai_q16;	    /* ai / T for weight 1, units/s with 16 fraction bits */
	uint32_t beta_q20, mdf_q20; /* 1..2^20 */
};

struct swift_egress {
	uint32_t delay_ns;
	uint32_t dropped; /* 0 or 1 */
};

struct swift_ingress {
	uint32_t delay_ns; /* as last heard */
	uint32_t dropped;  /* heard of since the previous tick */
	uint64_t rtt_ns;   /* by which the window became the rate; 0: no record yet */
	uint64_t since_ns; /* the latest decrease */
};

_Static_assert(sizeof(struct swift_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct swift_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct swift_ingress) <= CC_INGRESS_BYTES, "ingress state");

static uint64_t swift_root(uint64_t v)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= v)
			root |= bit;
	return root;
}

/* 1 / sqrt(v) with 16 fraction bits, of v with 32. */
static uint64_t swift_inverse_root_q16(uint64_t v_q32)
{
	return (UINT64_C(1) << 32) / cc_max(swift_root(v_q32), 1);
}

static int swift_prepare(struct cc_config *cfg, const char **why)
{
	struct swift_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint64_t max_q16;

	if (cfg->param[SWIFT_FLOW_MIN] * 2 > cfg->param[SWIFT_FLOW_MAX]) {
		*why = "flow_max_ppb: less than twice flow_min_ppb";
		return -EINVAL;
	}
	g->rtt_ns = (uint64_t)port->interval_ns * (uint64_t)cfg->param[SWIFT_RTT];
	g->base_ns = cc_max(cc_ppb(port->interval_ns, cfg->param[SWIFT_BASE]), 1);
	g->range_ns = cc_ppb(port->interval_ns, cfg->param[SWIFT_RANGE]);
	max_q16 = swift_inverse_root_q16(cc_ppb_to_q(cfg->param[SWIFT_FLOW_MIN], 32));
	g->min_q16 = swift_inverse_root_q16(cc_ppb_to_q(cfg->param[SWIFT_FLOW_MAX], 32));
	g->scale_ns = (g->range_ns << 16) / (max_q16 - g->min_q16);
	g->ai_q16 = cc_ppb(port->capacity_ups << 16, cfg->param[SWIFT_AI]);
	g->beta_q20 = (uint32_t)cc_ppb_to_q(cfg->param[SWIFT_BETA], 20);
	g->mdf_q20 = (uint32_t)cc_ppb_to_q(cfg->param[SWIFT_MAX_MDF], 20);
	return 0;
}

static uint32_t swift_egress_sample(void *priv, const struct cc_config *cfg,
				    const struct cc_sample *s)
{
	struct swift_egress *e = priv;
	uint64_t capacity = cc_clamp(s->capacity_ups, 1, CC_RATE_MAX);

	(void)cfg;
	if (!s->timer)
		return 0;
	e->delay_ns =
		(uint32_t)cc_min(cc_mul_div(s->backlog_units, 1000000000u, capacity), UINT32_MAX);
	e->dropped = s->dropped_units > 0;
	return 0;
}

static bool swift_egress_feedback(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s, const struct cc_source *source,
				  struct cc_feedback *out)
{
	const struct swift_egress *e = priv;

	(void)cfg;
	(void)source;
	out->signal = e->delay_ns;
	out->share = e->dropped;
	out->addressed = (uint8_t)e->dropped;
	return s->timer;
}

static void swift_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	(void)in;
	(void)cfg;
}

static void swift_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				   const struct cc_feedback *fb)
{
	struct swift_ingress *w = (void *)in->priv;

	(void)cfg;
	w->delay_ns = fb->signal;
	w->dropped |= fb->share & 1;
}

/* The target of a window that is such a share of C T. */
static uint64_t swift_target_ns(const struct swift_gains *g, uint64_t share_q32)
{
	uint64_t root_q16 = swift_inverse_root_q16(share_q32);

	if (root_q16 <= g->min_q16)
		return g->base_ns;
	return g->base_ns + cc_min(g->scale_ns * (root_q16 - g->min_q16) >> 16, g->range_ns);
}

/* f: the window as a share of C T. */
static uint64_t swift_share_q32(const struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct swift_ingress *w = (const void *)in->priv;
	uint64_t rtt_q20 = (w->rtt_ns << 20) / cfg->port.interval_ns;
	uint64_t window_q4 = (uint64_t)((cc_u128)in->rate_q16 * rtt_q20 >> 32);

	/* 24 bits, so that the product fits 64 at 100 Gb/s, too. */
	return cc_min(cc_mul_div(window_q4, 1 << 20, cfg->port.capacity_ups), UINT64_C(1) << 40)
	       << 8;
}

/* Take a share with 20 fraction bits off the rate. */
static void swift_cut(struct cc_ingress *in, uint64_t cut_q20)
{
	struct swift_ingress *w = (void *)in->priv;

	in->rate_q16 -= (uint64_t)((cc_u128)in->rate_q16 * cut_q20 >> 20);
	w->since_ns = 0;
}

/* W + ai acknowledged / W, as rates: ai / rtt of what acknowledged units are of a window. */
static void swift_increase(struct cc_ingress *in, const struct cc_config *cfg,
			   const struct cc_usage *u)
{
	const struct swift_gains *g = (const void *)cfg->gains;
	const struct swift_ingress *w = (const void *)in->priv;
	uint64_t window_q8 = cc_mul_div(in->rate_q16 >> 8, w->rtt_ns, 1000000000u);
	uint64_t acknowledged_q20;

	window_q8 = cc_max(window_q8, (uint64_t)cc_frame_units(&cfg->port) << 8);
	acknowledged_q20 = cc_min(((uint64_t)u->sent_units << 28) / window_q8, UINT64_C(1) << 20);
	in->rate_q16 += (uint64_t)((cc_u128)(g->ai_q16 * in->weight) *
					   (cfg->port.interval_ns * acknowledged_q20 / w->rtt_ns) >>
				   20);
}

static void swift_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			       const struct cc_usage *u)
{
	const struct swift_gains *g = (const void *)cfg->gains;
	struct swift_ingress *w = (void *)in->priv;
	uint64_t rtt_ns = g->rtt_ns + w->delay_ns, target_ns;

	w->since_ns = cc_min(w->since_ns + u->elapsed_ns, UINT64_C(1) << 40);
	if (!in->heard)
		return;
	/* The same window is another rate when the round trip is another. */
	if (w->rtt_ns)
		in->rate_q16 = (uint64_t)cc_min(
			(uint64_t)((cc_u128)in->rate_q16 * ((w->rtt_ns << 20) / rtt_ns) >> 20),
			CC_RATE_MAX_Q16);
	w->rtt_ns = rtt_ns;
	target_ns = swift_target_ns(g, swift_share_q32(in, cfg));
	if (w->dropped) {
		if (w->since_ns >= rtt_ns)
			swift_cut(in, g->mdf_q20);
	} else if (w->delay_ns < target_ns) {
		swift_increase(in, cfg, u);
	} else if (w->since_ns >= rtt_ns && w->delay_ns) {
		swift_cut(in, cc_min((w->delay_ns - target_ns) * g->beta_q20 / w->delay_ns,
				     g->mdf_q20));
	}
	w->dropped = 0;
}

const struct cc_ops cc_swift_ops = {
	.name = "swift",
	.algorithm = CC_SWIFT,
	.needs_feedback = true,
	.n_params = SWIFT_PARAMS,
	.params = swift_params,
	.egress_bytes = sizeof(struct swift_egress),
	.ingress_bytes = sizeof(struct swift_ingress),
	.prepare = swift_prepare,
	.egress_sample = swift_egress_sample,
	.egress_feedback = swift_egress_feedback,
	.ingress_init = swift_ingress_init,
	.ingress_tick = swift_ingress_tick,
	.ingress_feedback = swift_ingress_feedback,
};

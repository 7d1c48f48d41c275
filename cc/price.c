/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * price: each egress queue has a price, each source moves its rate until what it pays equals its
 * weight (thesis chapters 6 and 7: the dual of maximising sum W log x under sum x <= C).
 *
 * With rates y = x / C as shares of the capacity, pi = p C, kappa = K / C and rho = R / C^2
 * (in this dimensionless form no constant depends on the speed of the port):
 *
 *   egress, every T     pi <- max(0, pi + drive / (rho C T))
 *     rate form           drive = arrivals - C T                            (6.7, second line)
 *     queue form          drive = dq + dropped + u (q - q0)                 (7.8, 7.9)
 *   source, every T     y  <- max(0, y + kappa (W - y pi))                  (6.7, first line)
 *
 * At rest y = W / pi, so shares are as weights, sum y = 1 and (queue form) q = q0. The linearised
 * loop of the printed equations is stable for R > C^2 / sum W and K < 2 C / sum W.
 *
 * Changed from the thesis, with the reason:
 *
 *   - Units of the queue form. Figure 7.13 divides packets per interval by an R that was tuned for
 *     packets per second. Here both terms are counts per interval over R T = rho C^2 T / C.
 *   - Sources. With fixed W the gains hold for 2 to 14 sources. Here W = S w / n: S (weight_sum)
 *     is the sum that the gains were chosen for, and n is measured at the egress as
 *         n = sum r / max (r / w)      r: smoothed arrivals of a source, w: its weight,
 *     the number of sources of weight 1 that would make the same arrivals at the highest rate seen.
 *     Sources that offer less than their share count only for what they use, one large source among
 *     many small ones counts as one, and at rest pi = S and kappa pi = 0.39 for any mix. When a
 *     source leaves, n falls and the others' W rises: they need not wait for the price to fall,
 *     which would have to rise again afterwards. The smoothing, a gain of smooth_ppb per T, sets
 *     how long that takes. n is a ratio, so a change that all sources share does not move it: among
 *     backlogged sources the loop of the price is the printed one, whatever the smoothing
 *     (docs/CONTROLLERS.md treats mixes).
 *   - With normalise, pi starts at S and stays above price_floor (S / 2). At that price every
 *     source may send twice what the largest sends, so a lower one gains nothing; and a load that
 *     comes back need not fill the queue first to raise the price.
 *   - u has two values. An empty queue says nothing about how far below C the load is; then only
 *     -u q0 lowers the price. u_below is 10 times u_above (thesis: 0.01 for both).
 *   - The pull u (q - q0) is bounded from above by u_below q0, with normalise: the price rises by
 * it no faster than it can fall. Else a queue of 100 C T, which takes 100 T to drain whatever the
 *     price is, winds the price up by 38 that take 3800 T to unwind. Up to 11 q0 nothing changes.
 *   - dropped units count as growth of the queue, at most half of C T per interval.
 *   - The step of a source is limited, kappa pi <= step_max: a step with kappa pi > 2 diverges, and
 *     a price may be high for a while.
 *   - W = w and no limit, as printed, with normalise = 0 and step_max_ppb = 0.
 *   - Slow ports. With C T below min_frames the price moves only when min_frames could have been
 *     drained; else one packet would be a large part of what is measured.
 *   - "CurrentRate" is the limit while the VOQ is backlogged, else the measured rate (the thesis
 *     does not say): no wind-up of a source below its share. An idle source starts at kappa W C.
 *   - The source steps at its timer with the latest price, whether or not one came in this
 *     interval, so that a lost record delays the loop and does not stop it.
 *
 * Fixed point: pi is Q32.32 at the egress, where steps down to 2^-32 must add up, and Q12.20 in the
 * record, 0..4095; rates have 16 fraction bits; gains 20 or 32. Every product fits in 127 bits.
 *
 * Record: signal is pi in Q12.20; share is n in Q16.16, 1/256..65280.
 */
#include "cc/arith.h"

enum {
	PRICE_KAPPA = CC_COMMON_PARAMS,
	PRICE_RHO,
	PRICE_WEIGHT_SUM,
	PRICE_NORMALISE,
	PRICE_STEP_MAX,
	PRICE_QUEUE_FORM,
	PRICE_U_ABOVE,
	PRICE_U_BELOW,
	PRICE_TARGET,
	PRICE_TARGET_UNITS,
	PRICE_SET_POINT,
	PRICE_MIN_FRAMES,
	PRICE_FLOOR,
	PRICE_SMOOTH,
	PRICE_PARAMS
};

static const struct cc_param price_params[PRICE_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[PRICE_KAPPA] = { "kappa_ppb", "1e-9", 130804447, 1, 16 * CC_ONE_PPB,
			  "K / C: 1e5 / 764500, thesis 6.3" },
	[PRICE_RHO] = { "rho_ppb", "1e-9", 1300000000, 1000000, 64 * CC_ONE_PPB,
			"R / C^2; ours: settles as fast as the thesis's 0.855 and stands a delay of 3 T" },
	[PRICE_WEIGHT_SUM] = { "weight_sum_ppb", "1e-9", 3 * CC_ONE_PPB, CC_ONE_PPB / 100,
			       64 * CC_ONE_PPB, "S: three sources of W = 1, thesis 6.3" },
	[PRICE_NORMALISE] = { "normalise", "0 or 1", 1, 0, 1, "ours: 0 is W = weight, as printed" },
	[PRICE_STEP_MAX] = { "step_max_ppb", "1e-9", 700000000, 0, 2 * CC_ONE_PPB,
			     "ours: bound of kappa pi; 0 is no bound, as printed" },
	[PRICE_QUEUE_FORM] = { "queue_form", "0 or 1", 1, 0, 1,
			       "1: thesis 7.4.3, no need to know C; 0: rate form, 6.2" },
	[PRICE_U_ABOVE] = { "u_above_ppb", "1e-9 per T", 10000000, 0, CC_ONE_PPB,
			    "u with q above q0; thesis 7.6" },
	[PRICE_U_BELOW] = { "u_below_ppb", "1e-9 per T", 100000000, 0, CC_ONE_PPB,
			    "ours: u with q below q0" },
	[PRICE_TARGET] = { "target_ppb", "1e-9 of capacity x T", 130804447, 1, 100 * CC_ONE_PPB,
			   "q0: 100 of 764.5 packets, thesis 7.6" },
	[PRICE_TARGET_UNITS] = { "target_units", "units", 0, 0, CC_UNITS_MAX,
				 "q0 itself; 0: from target_ppb, at least 4 frames" },
	[PRICE_SET_POINT] = { "set_point_ppb", "1e-9 of capacity", CC_ONE_PPB, CC_ONE_PPB / 10,
			      CC_ONE_PPB,
			      "C of the rate form; thesis 6.5 sets it below the true one" },
	[PRICE_MIN_FRAMES] = { "min_frames", "frames", 64, 1, 65535,
			       "ours: least C T, so that a frame is 1.6 % of it" },
	[PRICE_FLOOR] = { "price_floor_ppb", "1e-9 of S", 500000000, 0, CC_ONE_PPB,
			  "ours: least price while normalise is 1" },
	[PRICE_SMOOTH] = { "smooth_ppb", "1e-9 per T", 250000000, 1000000, CC_ONE_PPB,
			   "ours: gain of the smoothed arrivals that n is measured by" },
};

#define PRICE_MAX_Q32	((INT64_C(4096) << 32) - 1)
#define PRICE_N_MIN_Q16 (UINT64_C(1) << 8)

struct price_gains {
	uint64_t kappa_q32;
	uint64_t step_max_q32; /* 0: no bound */
	uint64_t weight_sum_q20;
	uint64_t rho_q20;
	int64_t pi_start_q32, pi_floor_q32;
	uint32_t u_above_q20, u_below_q20;
	uint32_t min_units;  /* least C T of a control interval */
	uint32_t smooth_q16; /* 1..65536 */
};

struct price_egress {
	int64_t pi_q32;	    /* 0..PRICE_MAX_Q32 */
	uint64_t n_q16;	    /* n, PRICE_N_MIN_Q16.. */
	uint64_t due_units; /* C times the time since the price moved last */
	/* since then: growth of the queue, or arrivals less C T */
	int64_t drive_units;
	uint32_t y_q24[CC_SOURCES_MAX]; /* smoothed arrivals of a source by its id, 1.0 is C */
};

struct price_ingress {
	uint32_t pi_q20; /* as last heard */
	uint32_t n_q16;	 /* as last heard; 0: nothing heard yet */
	uint64_t capacity_ups;
};

_Static_assert(sizeof(struct price_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct price_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct price_ingress) <= CC_INGRESS_BYTES, "ingress state");

static int price_prepare(struct cc_config *cfg, const char **why)
{
	struct price_gains *g = (void *)cfg->gains;

	(void)why;
	g->kappa_q32 = cc_ppb_to_q(cfg->param[PRICE_KAPPA], 32);
	g->step_max_q32 = cc_ppb_to_q(cfg->param[PRICE_STEP_MAX], 32);
	g->weight_sum_q20 = cc_ppb_to_q(cfg->param[PRICE_WEIGHT_SUM], 20);
	if (cfg->param[PRICE_NORMALISE]) {
		g->pi_start_q32 = (int64_t)g->weight_sum_q20 << 12;
		g->pi_floor_q32 =
			(int64_t)cc_ppb((uint64_t)g->pi_start_q32, cfg->param[PRICE_FLOOR]);
	}
	g->rho_q20 = cc_ppb_to_q(cfg->param[PRICE_RHO], 20);
	g->u_above_q20 = (uint32_t)cc_ppb_to_q(cfg->param[PRICE_U_ABOVE], 20);
	g->u_below_q20 = (uint32_t)cc_ppb_to_q(cfg->param[PRICE_U_BELOW], 20);
	g->min_units = (uint32_t)cc_min(
		(uint64_t)cfg->param[PRICE_MIN_FRAMES] * cc_frame_units(&cfg->port), CC_UNITS_MAX);
	g->smooth_q16 = (uint32_t)cc_ppb_to_q(cfg->param[PRICE_SMOOTH], 16);
	return 0;
}

static void price_egress_init(void *priv, const struct cc_config *cfg)
{
	const struct price_gains *g = (const void *)cfg->gains;
	struct price_egress *e = priv;

	e->pi_q32 = g->pi_start_q32;
	/* Until arrivals say otherwise: as if every source of the port were sending. */
	e->n_q16 = (uint64_t)cfg->port.sources << 16;
}

/* Smooth the arrivals of each source and measure n. */
static void price_measure(struct price_egress *e, const struct price_gains *g,
			  const struct cc_sample *s, uint32_t drain_units)
{
	uint64_t sum = 0, top = 0, top_weight = 1;
	uint32_t gain_q16 = g->smooth_q16;

	if (drain_units < g->min_units)
		gain_q16 = (uint32_t)cc_max((uint64_t)gain_q16 * drain_units / g->min_units, 1);
	for (uint32_t i = 0; i < s->n_sources; i++) {
		const struct cc_source *source = &s->sources[i];
		uint64_t weight = cc_clamp(source->weight, 1, CC_WEIGHT_MAX);
		uint64_t now_q24 =
			cc_min(((uint64_t)source->arrived_units << 24) / drain_units, UINT32_MAX);
		uint32_t *y_q24;

		if (source->id >= CC_SOURCES_MAX)
			continue;
		y_q24 = &e->y_q24[source->id];
		*y_q24 = (uint32_t)((*y_q24 * (UINT64_C(65536) - gain_q16) + now_q24 * gain_q16) >>
				    16);
		sum += *y_q24;
		if (*y_q24 * top_weight > top * weight) { /* y / weight is the highest so far */
			top = *y_q24;
			top_weight = weight;
		}
	}
	if (top == 0)
		return;
	/* sum <= 2^40, top_weight < 2^8: the product with 2^16 fits 64 bits. */
	e->n_q16 = cc_max(sum * top_weight * 65536 / top, PRICE_N_MIN_Q16);
}

static void price_move(struct price_egress *e, const struct cc_config *cfg,
		       const struct price_gains *g, const struct cc_sample *s)
{
	uint64_t target = cc_max(cc_ppb(e->due_units, cfg->param[PRICE_TARGET]),
				 4 * (uint64_t)cc_frame_units(&cfg->port));
	int64_t drive_q20 = e->drive_units * (1 << 20), error, pull_q20;
	uint64_t step_q32;

	if (cfg->param[PRICE_QUEUE_FORM]) {
		if (cfg->param[PRICE_TARGET_UNITS])
			target = (uint64_t)cfg->param[PRICE_TARGET_UNITS];
		error = (int64_t)cc_min(s->backlog_units, CC_UNITS_MAX) -
			(int64_t)cc_min(target, CC_UNITS_MAX);
		pull_q20 = error * (error > 0 ? g->u_above_q20 : g->u_below_q20);
		if (cfg->param[PRICE_NORMALISE] && pull_q20 > (int64_t)target * g->u_below_q20)
			pull_q20 = (int64_t)target * g->u_below_q20;
		drive_q20 += pull_q20;
	}
	step_q32 = cc_mul_div(drive_q20 < 0 ? -(uint64_t)drive_q20 : (uint64_t)drive_q20,
			      UINT64_C(1) << 32, g->rho_q20 * e->due_units);
	step_q32 = cc_min(step_q32, PRICE_MAX_Q32);
	e->pi_q32 += drive_q20 < 0 ? -(int64_t)step_q32 : (int64_t)step_q32;
	if (e->pi_q32 < g->pi_floor_q32)
		e->pi_q32 = g->pi_floor_q32;
	if (e->pi_q32 > PRICE_MAX_Q32)
		e->pi_q32 = PRICE_MAX_Q32;
	e->due_units = 0;
	e->drive_units = 0;
}

static uint32_t price_egress_sample(void *priv, const struct cc_config *cfg,
				    const struct cc_sample *s)
{
	const struct price_gains *g = (const void *)cfg->gains;
	struct price_egress *e = priv;
	uint64_t capacity = cc_clamp(s->capacity_ups, 1, CC_RATE_MAX);
	uint32_t drain_units = (uint32_t)cc_max(cc_units_in(capacity, s->elapsed_ns), 1);
	int64_t growth = 0;

	price_measure(e, g, s, drain_units);
	if (cfg->param[PRICE_QUEUE_FORM]) {
		growth = (int64_t)s->change_units +
			 (int64_t)cc_min(s->dropped_units, drain_units / 2);
	} else {
		for (uint32_t i = 0; i < s->n_sources; i++)
			growth += s->sources[i].arrived_units;
		growth -= (int64_t)cc_ppb(drain_units, cfg->param[PRICE_SET_POINT]);
	}
	/* At most 2^41 units, so 2^61 in price_move. Only a wrong sample gets there. */
	e->drive_units += growth;
	e->drive_units = e->drive_units > INT64_C(1) << 41 ? INT64_C(1) << 41 : e->drive_units;
	e->drive_units =
		e->drive_units < -(INT64_C(1) << 41) ? -(INT64_C(1) << 41) : e->drive_units;
	e->due_units = cc_min(e->due_units + drain_units, UINT64_C(1) << 33);
	if (s->timer && e->due_units >= g->min_units)
		price_move(e, cfg, g, s);
	return 0;
}

static bool price_egress_feedback(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s, const struct cc_source *source,
				  struct cc_feedback *out)
{
	const struct price_egress *e = priv;

	(void)cfg;
	(void)source;
	out->signal = (uint32_t)(e->pi_q32 >> 12);
	out->share = (uint32_t)cc_clamp(e->n_q16, PRICE_N_MIN_Q16, UINT32_MAX);
	return s->timer;
}

static void price_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	(void)in;
	(void)cfg;
}

static void price_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				   const struct cc_feedback *fb)
{
	struct price_ingress *p = (void *)in->priv;

	(void)cfg;
	p->pi_q20 = fb->signal;
	p->n_q16 = (uint32_t)cc_max(fb->share, PRICE_N_MIN_Q16);
	p->capacity_ups = cc_clamp(fb->capacity_ups, 1, CC_RATE_MAX);
}

static void price_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			       const struct cc_usage *u)
{
	const struct price_gains *g = (const void *)cfg->gains;
	struct price_ingress *p = (void *)in->priv;
	uint64_t x_q16 = cc_current_rate_q16(in->rate_q16, u);
	uint64_t weight_q20 = (uint64_t)in->weight << 20, kappa_q32 = g->kappa_q32;
	cc_i128 pull_q36, x_next;

	if (p->n_q16 == 0)
		return;
	if (cfg->param[PRICE_NORMALISE]) /* 2^26 * 2^8 * 2^16: fits */
		weight_q20 = (g->weight_sum_q20 * in->weight << 16) / p->n_q16;
	if (g->step_max_q32 && p->pi_q20)
		kappa_q32 = cc_min(kappa_q32, (g->step_max_q32 << 20) / p->pi_q20);
	/*
	 * W C - x pi in units/s with 36 fraction bits, below 2^(39+37+16); the step below
	 * 2^(92+37).
	 */
	pull_q36 = ((cc_i128)weight_q20 * p->capacity_ups << 16) - (cc_i128)x_q16 * p->pi_q20;
	x_next = (cc_i128)x_q16 + ((pull_q36 >> 20) * (int64_t)kappa_q32 >> 32);
	in->rate_q16 = x_next < 0			   ? 0
		       : x_next > (cc_i128)CC_RATE_MAX_Q16 ? CC_RATE_MAX_Q16
							   : (uint64_t)x_next;
}

const struct cc_ops cc_price_ops = {
	.name = "price",
	.algorithm = CC_PRICE,
	.needs_feedback = true,
	.n_params = PRICE_PARAMS,
	.params = price_params,
	.egress_bytes = sizeof(struct price_egress),
	.ingress_bytes = sizeof(struct price_ingress),
	.prepare = price_prepare,
	.egress_init = price_egress_init,
	.egress_sample = price_egress_sample,
	.egress_feedback = price_egress_feedback,
	.ingress_init = price_ingress_init,
	.ingress_tick = price_ingress_tick,
	.ingress_feedback = price_ingress_feedback,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * asm: Adaptive Sliding Mode control (Jiang et al., "Scale Congestion Control to Ultra-High Speed
 * Ethernet", sections 3 and 4).
 *
 * The state (q, aggregate rate R) is driven onto the boundary line
 *
 *      sigma = q_off + w q_delta = 0          q_off = q - q0, q_delta = q - q at the last sample
 *
 * and kept there; on the line q_delta = -q_off / w, so q slides to q0 by 1/e every w samples
 * whatever the gains, and R to C. So the egress sends q_off and q_delta apart (8 bits each), also
 * when rates may rise, and the source steps by
 *
 *      r <- r - C (alpha q_off / FSoff + beta q_delta / FSdelta)
 *      (alpha, beta) = (alpha1, beta1) if sigma q_off >= 0 (judged right: regions I to IV)
 *                      (alpha2, beta2) else                (V and VI: the rate is far off)
 *
 * The line attracts from both sides (the paper's 15, per sample of S units) if
 *
 *      w^2 alpha1 S / FSoff - w beta1 S / FSdelta + 1 > 0      cc_config_prepare refuses
 *      w^2 alpha2 S / FSoff - w beta2 S / FSdelta + 1 < 0      anything else
 *
 * Adaptive gains (4.3): gain_large times the gains from the start until |sigma| is first below q0
 * (an empty queue alone is not),
 * then the gains themselves. A second switch to large gains near q0 is left out: it breaks at long
 * delays.
 *
 * Changed from the paper, with the reason (we know its formulas in structure only, and none of its
 * numbers: see docs/CONTROLLERS.md, asm; "lost" below marks those numbers):
 *   - whom a sample goes to. The paper tells the source of the sampled frame. Its law has no term
 *     that compares sources: each step is a share of C, alike for large and small rates, so the
 *     differences between rates walk at random, and a source may walk to 0. With fair = 1, the
 *     default, an increase goes to the active sources in turn, `weight` times in a row, and a
 *     decrease to the source with the largest rate per weight. The steps, and with them the loop
 *     of queue and aggregate rate, are the paper's; each decrease moves the rates towards their
 *     max-min shares, and a source below its share is never decreased. Rates are arrivals in a
 *     window of 16 samples (y <- y + arrivals; y <- y - y / 16 at a sample), less what the source
 *     has been told since to take back. fair = 0 is as printed;
 *   - with fair = 0, two samples in a row never go to the same source (4.5), unless no other has
 *     been heard for 4 sampling times: the rule as written waits for ever when one source is
 *     active. With fair = 1 the source that was told has its step taken off already;
 *   - a source takes increases only from the congestion point that decreased it last (4.5), and
 *     from any if none ever did;
 *   - the timer takes the sample if none came for a sampling time, S / C: else few arrivals make
 * few samples, and sources at the floor stay there;
 *   - a source that heard nothing for stale_intervals begins anew, with large gains and no point.
 *
 * Record: signal is q_off (bits 0..7) and q_delta (bits 8..15), two's complement, full scale 127;
 * addressed is 1 for the source that is to act.
 */
#include <errno.h>

#include "cc/arith.h"

enum {
	ASM_TARGET_FRAMES = CC_COMMON_PARAMS,
	ASM_W,
	ASM_SAMPLE_FRAMES,
	ASM_SCALE_OFF_FRAMES,
	ASM_SCALE_DELTA_FRAMES,
	ASM_ALPHA1,
	ASM_BETA1,
	ASM_ALPHA2,
	ASM_BETA2,
	ASM_GAIN_LARGE,
	ASM_FAIR,
	ASM_PARAMS
};

static const struct cc_param asm_params[ASM_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[ASM_TARGET_FRAMES] = { "target_frames", "frames", 22, 1, 65535,
				"q0: 33 KB, as the Qeq of qcn (the paper's is lost)" },
	[ASM_W] = { "w", "", 24, 1, 256,
		    "w; ours (lost): above 1 / beta2, so that the line is hit" },
	[ASM_SAMPLE_FRAMES] = { "sample_frames", "frames", 100, 1, 65535,
				"S: 1 % sampling; S / C must be at least 1/12 of the round trip" },
	[ASM_SCALE_OFF_FRAMES] = { "scale_off_frames", "frames", 267, 1, 65535,
				   "FSoff; ours (lost): 400 KB, 2.7 S" },
	[ASM_SCALE_DELTA_FRAMES] = { "scale_delta_frames", "frames", 100, 1, 65535,
				     "FSdelta; ours (lost): S" },
	[ASM_ALPHA1] = { "alpha1_ppb", "1e-9 of capacity", 10000000, 0, CC_ONE_PPB, "ours (lost)" },
	[ASM_BETA1] = { "beta1_ppb", "1e-9 of capacity", 70000000, 0, CC_ONE_PPB, "ours (lost)" },
	[ASM_ALPHA2] = { "alpha2_ppb", "1e-9 of capacity", 0, 0, CC_ONE_PPB,
			 "ours (lost); the second condition is easiest at 0" },
	[ASM_BETA2] = { "beta2_ppb", "1e-9 of capacity", 65000000, 0, CC_ONE_PPB, "ours (lost)" },
	[ASM_GAIN_LARGE] = { "gain_large", "", 4, 1, 16,
			     "ours (lost): cuts the losses of a start" },
	[ASM_FAIR] = { "fair", "0 or 1", 1, 0, 1,
		       "ours: decreases to the largest, increases by turns; 0: as printed" },
};

#define ASM_FULL_SCALE 127
#define ASM_WINDOW     16 /* samples that a source's rate is measured over */
#define ASM_NO_POINT   UINT32_MAX

struct asm_gains {
	int64_t target_units, scale_off_units, scale_delta_units;
	uint64_t sample_ns; /* sampling time, S / C */
	int64_t near_units; /* |sigma| below which the line is near: q0 as the record has it */
	uint32_t sample_units;
	/* Gains for 1/127 of full scale, shares of the capacity with 32 fraction bits. */
	int64_t alpha1_q32, beta1_q32, alpha2_q32, beta2_q32;
};

struct asm_egress {
	int64_t credit_units; /* still to arrive before the next sample; 0 or below: due */
	int64_t old_units;    /* backlog at the previous sample */
	uint64_t since_ns;    /* that sample */
	uint32_t random;      /* of the sampling jitter, never 0 */
	int8_t off, delta;    /* of the sample just taken, -127..127 */
	uint16_t chosen;      /* source to tell, or CC_NO_SOURCE: none was due */
	uint16_t last;	      /* source told last, or CC_NO_SOURCE */
	uint16_t turn;	      /* source of the latest increase by turns */
	uint16_t turns_left;  /* increases it still gets in a row */
	uint32_t window_units[CC_SOURCES_MAX]; /* arrivals of a source by its id, in the window */
};

struct asm_ingress {
	uint32_t point;	  /* that decreased last, or ASM_NO_POINT */
	uint32_t sliding; /* |sigma| has been below q0: small gains */
};

_Static_assert(sizeof(struct asm_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct asm_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct asm_ingress) <= CC_INGRESS_BYTES, "ingress state");

/* value / scale in 127 steps, rounded to nearest. */
static int8_t asm_quantise(int64_t value, int64_t scale)
{
	int64_t half = value < 0 ? -scale / 2 : scale / 2;
	int64_t steps = (value * ASM_FULL_SCALE + half) / scale;

	return (int8_t)(steps < -ASM_FULL_SCALE	 ? -ASM_FULL_SCALE
			: steps > ASM_FULL_SCALE ? ASM_FULL_SCALE
						 : steps);
}

/* w^2 alpha S / FSoff - w beta S / FSdelta + 1, times 10^9 FSoff FSdelta: below 2^90. */
static cc_i128 asm_line(const struct cc_config *cfg, int64_t alpha_ppb, int64_t beta_ppb)
{
	int64_t w = cfg->param[ASM_W], s = cfg->param[ASM_SAMPLE_FRAMES];
	int64_t off = cfg->param[ASM_SCALE_OFF_FRAMES], delta = cfg->param[ASM_SCALE_DELTA_FRAMES];

	return (cc_i128)(w * w * alpha_ppb) * (s * delta) - (cc_i128)(w * beta_ppb) * (s * off) +
	       (cc_i128)CC_ONE_PPB * (off * delta);
}

static int asm_prepare(struct cc_config *cfg, const char **why)
{
	struct asm_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint32_t frame = cc_frame_units(port);
	const int64_t *p = cfg->param;

	for (int64_t large = 1;; large = p[ASM_GAIN_LARGE]) {
		if (asm_line(cfg, large * p[ASM_ALPHA1], large * p[ASM_BETA1]) <= 0) {
			*why = "alpha1_ppb, beta1_ppb, w: the boundary line does not attract from "
			       "regions I to IV (w^2 alpha1 S/FSoff - w beta1 S/FSdelta + 1 <= 0)";
			return -EINVAL;
		}
		if (asm_line(cfg, large * p[ASM_ALPHA2], large * p[ASM_BETA2]) >= 0) {
			*why = "alpha2_ppb, beta2_ppb, w: the boundary line does not attract from "
			       "regions V and VI (w^2 alpha2 S/FSoff - w beta2 S/FSdelta + 1 >= 0)";
			return -EINVAL;
		}
		if (large == p[ASM_GAIN_LARGE])
			break;
	}
	g->target_units = p[ASM_TARGET_FRAMES] * frame;
	g->scale_off_units = p[ASM_SCALE_OFF_FRAMES] * frame;
	g->scale_delta_units = p[ASM_SCALE_DELTA_FRAMES] * frame;
	g->sample_units = (uint32_t)cc_min((uint64_t)p[ASM_SAMPLE_FRAMES] * frame, CC_UNITS_MAX);
	g->sample_ns = cc_mul_div(g->sample_units, 1000000000u, port->capacity_ups);
	g->near_units = asm_quantise(g->target_units, g->scale_off_units) * g->scale_off_units;
	g->alpha1_q32 = (int64_t)cc_ppb_to_q(p[ASM_ALPHA1], 32) / ASM_FULL_SCALE;
	g->beta1_q32 = (int64_t)cc_ppb_to_q(p[ASM_BETA1], 32) / ASM_FULL_SCALE;
	g->alpha2_q32 = (int64_t)cc_ppb_to_q(p[ASM_ALPHA2], 32) / ASM_FULL_SCALE;
	g->beta2_q32 = (int64_t)cc_ppb_to_q(p[ASM_BETA2], 32) / ASM_FULL_SCALE;
	return 0;
}

static void asm_egress_init(void *priv, const struct cc_config *cfg)
{
	const struct asm_gains *g = (const void *)cfg->gains;
	struct asm_egress *e = priv;

	e->random = cfg->port.seed + 1u;
	e->credit_units = g->sample_units;
	e->chosen = e->last = e->turn = CC_NO_SOURCE;
}

/* sigma in units, times 127. */
static int64_t asm_sigma(const struct cc_config *cfg, int8_t off, int8_t delta)
{
	const struct asm_gains *g = (const void *)cfg->gains;

	return off * g->scale_off_units + cfg->param[ASM_W] * delta * g->scale_delta_units;
}

/*
 * The decrease of the rate that q_off and q_delta ask for, share of the capacity with 32 fraction
 * bits.
 */
static int64_t asm_decrease_q32(const struct cc_config *cfg, int8_t off, int8_t delta)
{
	const struct asm_gains *g = (const void *)cfg->gains;
	int64_t sigma = asm_sigma(cfg, off, delta);

	if ((sigma >= 0 && off >= 0) || (sigma <= 0 && off <= 0))
		return g->alpha1_q32 * off + g->beta1_q32 * delta;
	return g->alpha2_q32 * off + g->beta2_q32 * delta;
}

/* The next active source after e->turn, or the sampled one if none is. */
static uint16_t asm_next_turn(struct asm_egress *e, const struct cc_sample *s)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < s->n_sources; i++)
		if (s->sources[i].id == e->turn)
			first = i;
	for (uint32_t i = 0; i <= s->n_sources; i++) {
		const struct cc_source *source;

		if (s->n_sources == 0)
			break;
		source = &s->sources[(first + i) % s->n_sources];
		if (source->arrived_units == 0 && source->waiting_units == 0)
			continue;
		if (i == 0 && source->id == e->turn && e->turns_left > 0) {
			e->turns_left--;
			return e->turn;
		}
		if (i == 0 && source->id == e->turn)
			continue;
		e->turn = source->id;
		e->turns_left = (uint16_t)(cc_clamp(source->weight, 1, CC_WEIGHT_MAX) - 1);
		return e->turn;
	}
	return s->last_source;
}

static void asm_add(uint32_t *window_units, uint32_t units)
{
	*window_units = (uint32_t)cc_min((uint64_t)*window_units + units, UINT32_MAX);
}

/* The source with the largest rate per weight. */
static uint16_t asm_largest(const struct asm_egress *e, const struct cc_sample *s)
{
	uint16_t largest = s->last_source;
	uint64_t top = 0, top_weight = 1;

	for (uint32_t i = 0; i < s->n_sources; i++) {
		uint64_t weight = cc_clamp(s->sources[i].weight, 1, CC_WEIGHT_MAX);
		uint16_t id = s->sources[i].id;

		if (id >= CC_SOURCES_MAX || e->window_units[id] * top_weight <= top * weight)
			continue;
		largest = id;
		top = e->window_units[id];
		top_weight = weight;
	}
	return largest;
}

/* Whom the sample goes to with fair = 1, and the windows of the next sample. */
static uint16_t asm_fair_choice(struct asm_egress *e, const struct cc_config *cfg,
				const struct cc_sample *s)
{
	const struct asm_gains *g = (const void *)cfg->gains;
	int64_t decrease_q32 = asm_decrease_q32(cfg, e->off, e->delta);
	uint64_t step_units;
	uint32_t *window;
	uint16_t chosen;

	for (uint32_t i = 0; i < CC_SOURCES_MAX; i++)
		e->window_units[i] -= e->window_units[i] / ASM_WINDOW;
	if (decrease_q32 <= 0)
		return asm_next_turn(e, s);
	chosen = asm_largest(e, s);
	if (chosen >= CC_SOURCES_MAX)
		return chosen;
	/* A share d of C less is d S units less in each sample of the window. */
	step_units = (uint64_t)decrease_q32 * g->sample_units * ASM_WINDOW >> 32;
	window = &e->window_units[chosen];
	*window -= (uint32_t)cc_min(*window, step_units);
	return chosen;
}

static uint32_t asm_egress_sample(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s)
{
	const struct asm_gains *g = (const void *)cfg->gains;
	struct asm_egress *e = priv;
	int64_t backlog = (int64_t)cc_min(s->backlog_units, CC_UNITS_MAX);
	bool starved;

	e->chosen = CC_NO_SOURCE;
	e->since_ns += s->elapsed_ns;
	for (uint32_t i = 0; i < s->n_sources; i++) {
		e->credit_units -= s->sources[i].arrived_units;
		if (s->sources[i].id < CC_SOURCES_MAX)
			asm_add(&e->window_units[s->sources[i].id], s->sources[i].arrived_units);
	}
	starved = s->timer && e->since_ns >= g->sample_ns;
	if (e->credit_units > 0 && !starved)
		return (uint32_t)cc_min((uint64_t)e->credit_units, CC_UNITS_MAX);
	if (s->last_source == CC_NO_SOURCE && !cfg->param[ASM_FAIR])
		return cc_frame_units(&cfg->port);
	if (s->last_source == e->last && e->since_ns < 4 * g->sample_ns && !cfg->param[ASM_FAIR])
		return cc_frame_units(&cfg->port); /* the next frame may be another's */
	e->off = asm_quantise(backlog - g->target_units, g->scale_off_units);
	e->delta = asm_quantise(backlog - e->old_units, g->scale_delta_units);
	e->chosen = cfg->param[ASM_FAIR] ? asm_fair_choice(e, cfg, s) : s->last_source;
	e->last = e->chosen;
	e->old_units = backlog;
	e->since_ns = 0;
	e->credit_units = cc_jitter(&e->random, g->sample_units);
	return (uint32_t)e->credit_units;
}

static bool asm_egress_feedback(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
				const struct cc_source *source, struct cc_feedback *out)
{
	const struct asm_egress *e = priv;

	(void)cfg;
	out->addressed = source->id == e->chosen;
	if (out->addressed)
		out->signal = (uint8_t)e->off | (uint32_t)(uint8_t)e->delta << 8;
	return s->timer || out->addressed;
}

static void asm_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	struct asm_ingress *a = (void *)in->priv;

	(void)cfg;
	a->point = ASM_NO_POINT;
}

static void asm_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				 const struct cc_feedback *fb)
{
	const struct asm_gains *g = (const void *)cfg->gains;
	struct asm_ingress *a = (void *)in->priv;
	int8_t off = (int8_t)(fb->signal & 0xff), delta = (int8_t)(fb->signal >> 8 & 0xff);
	uint64_t capacity = cc_clamp(fb->capacity_ups, 1, CC_RATE_MAX);
	int64_t decrease_q32, sigma;
	uint64_t step_q16;

	if (!fb->addressed)
		return;
	if (in->age_ns > (uint64_t)cfg->param[CC_STALE_INTERVALS] * cfg->port.interval_ns)
		*a = (struct asm_ingress){ .point = ASM_NO_POINT };
	sigma = asm_sigma(cfg, off, delta);
	if ((sigma < 0 ? -sigma : sigma) < g->near_units)
		a->sliding = 1;
	decrease_q32 = asm_decrease_q32(cfg, off, delta);
	if (!a->sliding)
		decrease_q32 *= cfg->param[ASM_GAIN_LARGE];
	/* |decrease| below 2^37: 2 * 16 * 2^32; the step below 2^(37 + 37 - 16). */
	step_q16 = (uint64_t)((cc_u128)capacity *
				      (uint64_t)(decrease_q32 < 0 ? -decrease_q32 : decrease_q32) >>
			      16);
	if (decrease_q32 > 0) {
		in->rate_q16 -= cc_min(step_q16, in->rate_q16);
		a->point = fb->point;
	} else if (a->point == ASM_NO_POINT || a->point == fb->point) {
		in->rate_q16 += step_q16;
	}
}

static void asm_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			     const struct cc_usage *u)
{
	(void)in;
	(void)cfg;
	(void)u;
}

const struct cc_ops cc_asm_ops = {
	.name = "asm",
	.algorithm = CC_ASM,
	.needs_feedback = true,
	.n_params = ASM_PARAMS,
	.params = asm_params,
	.egress_bytes = sizeof(struct asm_egress),
	.ingress_bytes = sizeof(struct asm_ingress),
	.prepare = asm_prepare,
	.egress_init = asm_egress_init,
	.egress_sample = asm_egress_sample,
	.egress_feedback = asm_egress_feedback,
	.ingress_init = asm_ingress_init,
	.ingress_tick = asm_ingress_tick,
	.ingress_feedback = asm_ingress_feedback,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dq: distributed queueing of the extensible router (Kuhns et al., 3.6 and 8.2).
 *
 * With L the rate of an output port, S L that of a source into the fabric, B_ij the backlog of
 * source i for output j and B_j that of output j, every T:
 *
 *      hi_ij = (Bmin + B_ij) / (N Bmin + sum_h B_hj)           (5)  caps what output j can take
 *      lo_ij = lo_min + B_ij / (B_j + sum_h B_hj)              (6)  keeps output j from running dry
 *      wt_ij = lo_ij / sum_h lo_ih                             (4)  source i's share, by urgency
 *      r_ij  = min(S L hi_ij, line wt_ij)                      (3)
 *
 * sum_i hi_ij = 1 and sum_j wt_ij = 1, so the rates into an output never exceed S L, nor those out
 * of a source its line; with S >= 2 no output runs dry while a source holds frames for it. The
 * basic variant (refined = 0) has Bmin = lo_min = 0, equations (1) and (2); there an idle source
 * must wait an interval before its first frame moves.
 *
 * Changed from the paper, with the reason:
 *   - each node broadcast all its backlogs and every node computed its own row. Here a source
 *     reports B_ij to output j alone, and output j returns hi_ij and lo_ij: a record of one size
 *     in place of N numbers, and both ends use the same numbers, so sum_i hi_ij is 1 even when
 *     backlogs change. The loop is one report longer;
 *   - with S > 1 the paper's outputs take more than they drain while all sources hold frames, and
 *     their queues grow without bound. Ours take less as the queue grows, only what the port drains
 *     at queue_ppb of C T, and less beyond, so that the queue also shrinks: hi is scaled by a
 *     straight line through 1 (empty) and 1 / S (there). queue_ppb = 0 is as printed;
 *   - 0 / 0 is 0;
 *   - S L of a source is what its node can send into the fabric, and that of an output speedup
 *     times its capacity: nodes and ports need not be alike;
 *   - a source's backlog counts `weight` times;
 *   - T is the common interval (paper: 500 us), and staleness is the common rule (4 periods).
 *
 * Record: signal is hi_ij, scaled as above, and share lo_ij, both with 31 fraction bits.
 */
#include "cc/arith.h"

enum { DQ_REFINED = CC_COMMON_PARAMS, DQ_SPEEDUP, DQ_MIN_FRAMES, DQ_LO_MIN, DQ_QUEUE, DQ_PARAMS };

static const struct cc_param dq_params[DQ_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[DQ_REFINED] = { "refined", "0 or 1", 1, 0, 1, "1: equations 5 and 6; 0: 1 and 2" },
	[DQ_SPEEDUP] = { "speedup_ppb", "1e-9", 2 * CC_ONE_PPB, CC_ONE_PPB, 64 * CC_ONE_PPB,
			 "S = 2, table 4: least at which no output runs dry" },
	[DQ_MIN_FRAMES] = { "min_frames", "frames", 1, 1, 1000,
			    "Bmin; the value is not stated, 1 fits the curves of 8.3 best" },
	[DQ_LO_MIN] = { "lo_min_ppb", "1e-9, divided by N", 500000000, 0, CC_ONE_PPB,
			"0.5 / N, (6)" },
	[DQ_QUEUE] = { "queue_ppb", "1e-9 of capacity x T", 4 * CC_ONE_PPB, 0, 1000 * CC_ONE_PPB,
		       "ours: queue at which an output takes what it drains, and less beyond; 0: no bound" },
};

#define DQ_ONE_Q31 (UINT64_C(1) << 31)

struct dq_gains {
	uint64_t speedup_q20; /* S, up to 64 */
};

struct dq_egress {
	uint64_t waiting_units; /* sum over sources of B_ij times weight, at the latest sample */
	uint64_t open_q31;	/* share of S L that the output takes now, 0..1 */
};

struct dq_ingress {
	uint32_t hi_q31, lo_q31; /* as last heard */
	uint64_t capacity_ups;	 /* as last heard; 0: nothing heard yet */
};

_Static_assert(sizeof(struct dq_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct dq_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct dq_ingress) <= CC_INGRESS_BYTES, "ingress state");

static int dq_prepare(struct cc_config *cfg, const char **why)
{
	struct dq_gains *g = (void *)cfg->gains;

	(void)why;
	g->speedup_q20 = cc_ppb_to_q(cfg->param[DQ_SPEEDUP], 20);
	return 0;
}

static uint64_t dq_waiting(const struct cc_source *source)
{
	return cc_min(source->waiting_units, CC_UNITS_MAX) *
	       cc_clamp(source->weight, 1, CC_WEIGHT_MAX);
}

/* A straight line from 1 at an empty queue through 1 / S at the bound, to 0. */
static uint64_t dq_open_q31(const struct cc_config *cfg, const struct cc_sample *s)
{
	uint64_t drain = cc_units_in(cc_clamp(s->capacity_ups, 1, CC_RATE_MAX), s->elapsed_ns);
	uint64_t bound = cc_max(cc_ppb(drain, cfg->param[DQ_QUEUE]), 1), least_q31;

	if (cfg->param[DQ_QUEUE] == 0)
		return DQ_ONE_Q31;
	least_q31 = cc_mul_div(DQ_ONE_Q31, CC_ONE_PPB, (uint64_t)cfg->param[DQ_SPEEDUP]);
	return DQ_ONE_Q31 -
	       cc_min(cc_mul_div(DQ_ONE_Q31 - least_q31, s->backlog_units, bound), DQ_ONE_Q31);
}

static uint32_t dq_egress_sample(void *priv, const struct cc_config *cfg, const struct cc_sample *s)
{
	struct dq_egress *e = priv;

	if (!s->timer)
		return 0;
	e->open_q31 = dq_open_q31(cfg, s);
	e->waiting_units = 0;
	for (uint32_t i = 0; i < s->n_sources; i++)
		e->waiting_units += dq_waiting(&s->sources[i]);
	return 0;
}

/* part / whole with 31 fraction bits, 0 / 0 = 0; part <= whole < 2^50. */
static uint64_t dq_ratio_q31(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)cc_min(cc_mul_div(part, DQ_ONE_Q31, whole), DQ_ONE_Q31) : 0;
}

static bool dq_egress_feedback(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
			       const struct cc_source *source, struct cc_feedback *out)
{
	const struct dq_egress *e = priv;
	uint64_t waiting = dq_waiting(source), bmin = 0, lo_min_q31 = 0, hi_q31;

	if (!s->timer)
		return false;
	if (cfg->param[DQ_REFINED]) {
		bmin = (uint64_t)cfg->param[DQ_MIN_FRAMES] * cc_frame_units(&cfg->port);
		lo_min_q31 = cc_ppb(DQ_ONE_Q31, cfg->param[DQ_LO_MIN]) / s->n_sources;
	}
	hi_q31 = dq_ratio_q31(bmin + waiting, s->n_sources * bmin + e->waiting_units);
	out->signal = (uint32_t)(hi_q31 * e->open_q31 >> 31);
	out->share = (uint32_t)cc_min(
		lo_min_q31 + dq_ratio_q31(waiting, s->backlog_units + e->waiting_units),
		UINT32_MAX);
	out->addressed = 1;
	return true;
}

static void dq_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	(void)in;
	(void)cfg;
}

static void dq_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				const struct cc_feedback *fb)
{
	struct dq_ingress *d = (void *)in->priv;

	(void)cfg;
	d->hi_q31 = (uint32_t)cc_min(fb->signal, DQ_ONE_Q31);
	d->lo_q31 = fb->share;
	d->capacity_ups = cc_clamp(fb->capacity_ups, 1, CC_RATE_MAX);
}

static uint32_t dq_ingress_urgency(const struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct dq_ingress *d = (const void *)in->priv;

	(void)cfg;
	return d->lo_q31;
}

static void dq_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			    const struct cc_usage *u)
{
	const struct dq_gains *g = (const void *)cfg->gains;
	const struct dq_ingress *d = (const void *)in->priv;
	uint64_t total = cc_max(u->urgency_total, d->lo_q31), cap_q16, part_q16;
	uint64_t line_ups = u->node_ups ? cc_min(u->node_ups, CC_RATE_MAX) : cfg->port.line_ups;
	uint64_t share_q31 = total ? ((uint64_t)d->lo_q31 << 31) / total : 0;

	if (d->capacity_ups == 0)
		return;
	/* S L: 2^37 times 2^26. */
	cap_q16 = cc_min(d->capacity_ups * g->speedup_q20 >> 4, CC_RATE_MAX_Q16);
	cap_q16 = (uint64_t)((cc_u128)cap_q16 * d->hi_q31 >> 31);
	part_q16 = (uint64_t)((cc_u128)(line_ups << 16) * share_q31 >> 31);
	in->rate_q16 = cc_min(cap_q16, part_q16);
}

const struct cc_ops cc_dq_ops = {
	.name = "dq",
	.algorithm = CC_DQ,
	.needs_feedback = true,
	.needs_reports = true,
	.n_params = DQ_PARAMS,
	.params = dq_params,
	.egress_bytes = sizeof(struct dq_egress),
	.ingress_bytes = sizeof(struct dq_ingress),
	.prepare = dq_prepare,
	.egress_sample = dq_egress_sample,
	.egress_feedback = dq_egress_feedback,
	.ingress_init = dq_ingress_init,
	.ingress_tick = dq_ingress_tick,
	.ingress_feedback = dq_ingress_feedback,
	.ingress_urgency = dq_ingress_urgency,
};

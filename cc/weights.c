/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weights: a congested queue tells one sampled source, which halves its scheduling weight (thesis
 * chapter 5, Figures 5.13 and 5.14).
 *
 *      egress, every T:   if q > Qth: tell the source of the latest arrival
 *      source, every T:   w <- w / 2 if told, else min(w + incr, MAXW)
 *      rate               C * w / MAXW
 *
 * The latest arrival comes from a source with a probability equal to its share of the queue's load:
 * heavy sources are cut more often, and, unlike with a broadcast, not all at once.
 *
 * Changed from the thesis, with the reason:
 *   - its weights divide the rounds of a polling scheduler, so that the rate depends on how fast a
 *     processor polls; here a weight is a share of the capacity, MAXW = 65536;
 *   - q is the smaller of the backlogs at the two ends of the interval: the text asks for the
 *     length over an interval, and a burst inside one is no congestion;
 *   - each queue keeps its own latest arrival (the printed code keeps one for all queues, and may
 *     tell a source that sends nothing to the congested one);
 *   - w grows only in an interval in which the source was not told (prose; the print always adds),
 *     and only if a record says so: silence changes nothing (see cc/aimd.c);
 *   - w >= 1, so that it can grow again;
 *   - the thesis gives no numbers. In an interval, all N sources add N incr and one hit takes half
 *     of about C / N; with incr = increase / N^2 both stay in proportion for any N. N is the number
 *     of active sources, which sent something in the latest 16 intervals or said that frames wait:
 *     with all nodes of the cluster, a few sources that share the port would hardly grow.
 *
 * Record: signal is 1 if q > Qth; share is N; addressed is 1 for the source that is to act.
 */
#include "cc/arith.h"

enum {
	WEIGHTS_THRESHOLD = CC_COMMON_PARAMS,
	WEIGHTS_THRESHOLD_UNITS,
	WEIGHTS_INCREASE,
	WEIGHTS_PARAMS
};

static const struct cc_param weights_params[WEIGHTS_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[WEIGHTS_THRESHOLD] = { "threshold_ppb", "1e-9 of capacity x T", 130804447, 1,
				100 * CC_ONE_PPB, "Qth; ours: as the target of price" },
	[WEIGHTS_THRESHOLD_UNITS] = { "threshold_units", "units", 0, 0, CC_UNITS_MAX,
				      "Qth itself; 0: from threshold_ppb, at least 4 frames" },
	[WEIGHTS_INCREASE] = { "increase_ppb", "1e-9 of MAXW per T, times N^2", 250000000, 1,
			       16 * CC_ONE_PPB, "incr; ours: half of what one hit takes" },
};

#define WEIGHTS_MAX_Q16 (UINT64_C(65536) << 16) /* MAXW with 16 fraction bits */
#define WEIGHTS_MIN_Q16 (UINT64_C(1) << 16)
#define WEIGHTS_REST	16 /* intervals without a frame that end a source's activity */

struct weights_gains {
	uint64_t increase_q16; /* of a weight, for a source of weight 1 alone */
	uint32_t threshold_units;
};

struct weights_egress {
	uint32_t congested;	      /* 0 or 1 */
	uint32_t active;	      /* sources, 1..CC_SOURCES_MAX */
	uint16_t chosen;	      /* source to tell, or CC_NO_SOURCE */
	uint8_t left[CC_SOURCES_MAX]; /* intervals that a source still counts as active, by id */
};

struct weights_ingress {
	uint64_t weight_q16; /* WEIGHTS_MIN_Q16..WEIGHTS_MAX_Q16 */
	uint32_t hit;	     /* this source was told since the previous tick */
	uint32_t active;     /* N as last heard; at first the sources configured */
};

_Static_assert(sizeof(struct weights_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct weights_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct weights_ingress) <= CC_INGRESS_BYTES, "ingress state");

static int weights_prepare(struct cc_config *cfg, const char **why)
{
	struct weights_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint64_t drain_units = cc_units_in(port->capacity_ups, port->interval_ns);
	uint64_t threshold = cc_max(cc_ppb(drain_units, cfg->param[WEIGHTS_THRESHOLD]),
				    4 * (uint64_t)cc_frame_units(port));

	(void)why;
	if (cfg->param[WEIGHTS_THRESHOLD_UNITS])
		threshold = (uint64_t)cfg->param[WEIGHTS_THRESHOLD_UNITS];
	g->threshold_units = (uint32_t)cc_min(threshold, CC_UNITS_MAX);
	g->increase_q16 = cc_ppb(WEIGHTS_MAX_Q16, cfg->param[WEIGHTS_INCREASE]);
	return 0;
}

static uint32_t weights_count_active(struct weights_egress *e, const struct cc_sample *s)
{
	uint32_t active = 0;

	for (uint32_t i = 0; i < s->n_sources; i++) {
		const struct cc_source *source = &s->sources[i];
		uint8_t *left;

		if (source->id >= CC_SOURCES_MAX)
			continue;
		left = &e->left[source->id];
		if (source->arrived_units || source->waiting_units)
			*left = WEIGHTS_REST;
		else if (*left)
			(*left)--;
		active += *left > 0;
	}
	return (uint32_t)cc_clamp(active, 1, CC_SOURCES_MAX);
}

static uint32_t weights_egress_sample(void *priv, const struct cc_config *cfg,
				      const struct cc_sample *s)
{
	const struct weights_gains *g = (const void *)cfg->gains;
	struct weights_egress *e = priv;
	int64_t before = (int64_t)s->backlog_units - s->change_units;

	if (!s->timer)
		return 0;
	e->congested = s->backlog_units > g->threshold_units && before > g->threshold_units;
	e->active = weights_count_active(e, s);
	e->chosen = e->congested ? s->last_source : CC_NO_SOURCE;
	return 0;
}

static bool weights_egress_feedback(void *priv, const struct cc_config *cfg,
				    const struct cc_sample *s, const struct cc_source *source,
				    struct cc_feedback *out)
{
	const struct weights_egress *e = priv;

	(void)cfg;
	out->signal = e->congested;
	out->share = e->active;
	out->addressed = source->id == e->chosen;
	return s->timer;
}

static void weights_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	struct weights_ingress *w = (void *)in->priv;

	w->weight_q16 = cc_clamp(cc_mul_div(in->rate_q16, 65536, cfg->port.capacity_ups),
				 WEIGHTS_MIN_Q16, WEIGHTS_MAX_Q16);
	w->active = cfg->port.sources;
}

static void weights_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				     const struct cc_feedback *fb)
{
	struct weights_ingress *w = (void *)in->priv;

	(void)cfg;
	w->hit |= fb->addressed;
	if (fb->share)
		w->active = (uint32_t)cc_min(fb->share, CC_SOURCES_MAX);
}

static void weights_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
				 const struct cc_usage *u)
{
	const struct weights_gains *g = (const void *)cfg->gains;
	struct weights_ingress *w = (void *)in->priv;

	(void)u;
	if (w->hit)
		w->weight_q16 /= 2;
	else if (in->heard)
		w->weight_q16 += cc_max(g->increase_q16 / (w->active * w->active), 1) * in->weight;
	w->hit = 0;
	w->weight_q16 = cc_clamp(w->weight_q16, WEIGHTS_MIN_Q16, WEIGHTS_MAX_Q16);
	in->rate_q16 = (uint64_t)((cc_u128)cfg->port.capacity_ups * w->weight_q16 >> 16);
}

const struct cc_ops cc_weights_ops = {
	.name = "weights",
	.algorithm = CC_WEIGHTS,
	.needs_feedback = true,
	.n_params = WEIGHTS_PARAMS,
	.params = weights_params,
	.egress_bytes = sizeof(struct weights_egress),
	.ingress_bytes = sizeof(struct weights_ingress),
	.prepare = weights_prepare,
	.egress_sample = weights_egress_sample,
	.egress_feedback = weights_egress_feedback,
	.ingress_init = weights_ingress_init,
	.ingress_tick = weights_ingress_tick,
	.ingress_feedback = weights_ingress_feedback,
};

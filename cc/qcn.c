/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qcn: Quantized Congestion Notification (IEEE 802.1Qau), the baseline of the ASM paper (2.3.1).
 *
 * Congestion point, each time about sample_frames have arrived:
 *
 *      Fb = (q - Qeq) + w (q - q_old), congested if > 0;  qF = Fb in 64 steps of Qeq (2 w + 1)
 *      if qF > 0: tell the source of the latest frame;  the next sample comes sooner the larger qF
 *
 * Reaction point, with current rate CR and target rate TR:
 *
 *      told             TR <- CR (not if told again before the first cycle ends: extra fast
 *                       recovery); CR <- CR max(1/2, 1 - Gd qF); both cycle counts to 0
 *      cycle            ends after bytes_frames sent, and, on its own count, after timer_us; the
 *                       first 5 are fast recovery, later ones are half as long
 *        fast recovery  CR <- (CR + TR) / 2
 *        active incr.   one count past 5: TR <- TR + Rai, then as above
 *        hyper-active   both counts past 5: TR <- TR + k Rhai, k = cycles past 5, then as above
 *        target rate reduction: in a first cycle, TR > 10 CR becomes TR / 8
 *
 * Changed from the standard, with the reason:
 *   - the source told is drawn by shares of all that arrived since the previous sample of the
 *     standard's kind, because messages bring frames in batches: between a sample of the timer and
 *     the next one that is due there may be frames of the same source each time;
 *   - sizes are in full-size frames, so that they hold for ports counted in packets;
 *   - Rai and Rhai are shares of the capacity: 5 and 50 Mb/s of the 10 Gb/s for which the standard
 *     chose them. The paper's runs at 100 and 400 Gb/s keep 5 Mb/s: set 50000 and 12500 ppb;
 *   - a source whose rate is the line's has no limiter; the least rate is the floor common to all
 *     controllers;
 *   - every source gets a record with qF = 0 each T, which the reaction point ignores: without it
 *     the common rules would take silence for a lost fabric. Recovery goes by bytes and timer, as
 *     in the standard;
 *   - a weight multiplies Rai and Rhai.
 *
 * Record: signal is qF, 0..63; addressed is 1 for the sampled source when qF > 0.
 */
#include <errno.h>
#include <string.h>

#include "cc/arith.h"

enum {
	QCN_TARGET_FRAMES = CC_COMMON_PARAMS,
	QCN_W,
	QCN_SAMPLE_FRAMES,
	QCN_GD,
	QCN_BYTES_FRAMES,
	QCN_TIMER,
	QCN_RAI,
	QCN_RHAI,
	QCN_PARAMS
};

static const struct cc_param qcn_params[QCN_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[QCN_TARGET_FRAMES] = { "target_frames", "frames", 22, 1, 65535, "Qeq: 33 KB, 802.1Qau" },
	[QCN_W] = { "w", "", 2, 0, 64, "w, 802.1Qau" },
	[QCN_SAMPLE_FRAMES] = { "sample_frames", "frames", 100, 8, 65535,
				"150 KB between samples, 802.1Qau" },
	[QCN_GD] = { "gd_ppb", "1e-9", 7812500, 1, CC_ONE_PPB, "Gd = 1/128, 802.1Qau" },
	[QCN_BYTES_FRAMES] = { "bytes_frames", "frames", 100, 1, 1000000,
			       "BC_LIMIT: 150 KB, 802.1Qau" },
	[QCN_TIMER] = { "timer_us", "us", 15000, 1, 10000000, "15 ms, 802.1Qau" },
	[QCN_RAI] = { "rai_ppb", "1e-9 of capacity", 500000, 1, CC_ONE_PPB,
		      "5 Mb/s of 10 Gb/s, 802.1Qau" },
	[QCN_RHAI] = { "rhai_ppb", "1e-9 of capacity", 5000000, 1, CC_ONE_PPB,
		       "50 Mb/s of 10 Gb/s, 802.1Qau" },
};

#define QCN_FAST_CYCLES 5u
#define QCN_CYCLES_MAX	1000000u
/* Cycles that one call may end, and draws of one sample: more would change little. */
#define QCN_CYCLES_AT_ONCE 16
#define QCN_DRAWS_MAX	   16

struct qcn_gains {
	int64_t target_units;	    /* Qeq */
	int64_t full_scale_units;   /* Qeq (2 w + 1): Fb of qF = 64 */
	uint64_t rai_q16, rhai_q16; /* units/s with 16 fraction bits */
	uint64_t gd_q32;
	uint32_t sample_units;
	uint32_t bytes_units;
	uint64_t timer_ns;
};

struct qcn_egress {
	int64_t credit_units; /* still to arrive before the next sample; below 0: due */
	int64_t old_units;    /* backlog at the previous sample */
	uint32_t random;      /* of the sampling jitter, never 0 */
	uint32_t level;	      /* qF of the sample just taken, 0 if none was due */
	uint64_t seen_units;  /* arrived since the latest sample that was due */
	uint16_t drawn;	      /* source drawn by its share of these, or CC_NO_SOURCE */
	uint64_t chosen[CC_SOURCES_MAX / 64]; /* bit i: source i is to be told */
};

struct qcn_ingress {
	uint64_t target_q16;	/* TR; CR is the rate of struct cc_ingress */
	int64_t cycle_units;	/* still to be sent in this byte cycle */
	uint64_t cycle_left_ns; /* of this timer cycle */
	uint32_t byte_cycles;	/* since told, up to QCN_CYCLES_MAX */
	uint32_t timer_cycles;	/* the same by the timer */
	uint32_t random;	/* of the cycle lengths, never 0 */
};

_Static_assert(sizeof(struct qcn_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct qcn_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct qcn_ingress) <= CC_INGRESS_BYTES, "ingress state");

/*
 * sample_units / (1 + 8 qF / 64), as the table of the pseudo-code: 150 KB down to 18.5 KB, per
 * mille.
 */
static const uint16_t qcn_sample_permille[8] = { 1000, 500, 333, 250, 200, 167, 143, 123 };

static int qcn_prepare(struct cc_config *cfg, const char **why)
{
	struct qcn_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint32_t frame = cc_frame_units(port);

	g->target_units = cfg->param[QCN_TARGET_FRAMES] * frame;
	g->full_scale_units = g->target_units * (2 * cfg->param[QCN_W] + 1);
	g->rai_q16 = cc_ppb(port->capacity_ups << 16, cfg->param[QCN_RAI]);
	g->rhai_q16 = cc_ppb(port->capacity_ups << 16, cfg->param[QCN_RHAI]);
	g->gd_q32 = cc_ppb_to_q(cfg->param[QCN_GD], 32);
	g->sample_units =
		(uint32_t)cc_min((uint64_t)cfg->param[QCN_SAMPLE_FRAMES] * frame, CC_UNITS_MAX);
	g->bytes_units =
		(uint32_t)cc_min((uint64_t)cfg->param[QCN_BYTES_FRAMES] * frame, CC_UNITS_MAX);
	g->timer_ns = (uint64_t)cfg->param[QCN_TIMER] * 1000;
	if (g->target_units > CC_UNITS_MAX) {
		*why = "target_frames: above the largest queue";
		return -EINVAL;
	}
	return 0;
}

static void qcn_egress_init(void *priv, const struct cc_config *cfg)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_egress *e = priv;

	e->random = cfg->port.seed + 1u;
	e->credit_units = g->sample_units;
	e->drawn = CC_NO_SOURCE;
}

/* Each sample's source replaces the one drawn before with the chance of its part of all units. */
static void qcn_draw(struct qcn_egress *e, const struct cc_sample *s, uint64_t arrived_units)
{
	e->seen_units += arrived_units;
	if ((uint64_t)((cc_u128)e->seen_units * cc_random(&e->random) >> 32) < arrived_units)
		e->drawn = s->last_source;
}

static void qcn_choose(struct qcn_egress *e, uint16_t id)
{
	if (id < CC_SOURCES_MAX)
		e->chosen[id / 64] |= UINT64_C(1) << (id % 64);
}

/* A source by its share of this sample's arrivals, which are not 0. */
static uint16_t qcn_any(struct qcn_egress *e, const struct cc_sample *s, uint64_t arrived_units)
{
	uint64_t pick = (uint64_t)((cc_u128)arrived_units * cc_random(&e->random) >> 32);

	for (uint32_t i = 0; i < s->n_sources; i++) {
		if (pick < s->sources[i].arrived_units)
			return s->sources[i].id;
		pick -= s->sources[i].arrived_units;
	}
	return CC_NO_SOURCE;
}

/*
 * Tell the source drawn, and draw as many more as further samples were due, if the caller samples
 * so rarely.
 */
static void qcn_choose_all(struct qcn_egress *e, const struct cc_sample *s, uint64_t arrived_units,
			   uint32_t every_units)
{
	int64_t due = e->credit_units + every_units;

	qcn_choose(e, e->drawn);
	for (uint32_t i = 1; i < QCN_DRAWS_MAX && due < 0; i++, due += every_units)
		qcn_choose(e, qcn_any(e, s, arrived_units));
}

static uint32_t qcn_egress_sample(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_egress *e = priv;
	int64_t backlog = (int64_t)cc_min(s->backlog_units, CC_UNITS_MAX), excess;
	uint64_t arrived_units = 0;
	uint32_t every_units;

	e->level = 0;
	memset(e->chosen, 0, sizeof(e->chosen));
	for (uint32_t i = 0; i < s->n_sources; i++)
		arrived_units += s->sources[i].arrived_units;
	qcn_draw(e, s, arrived_units);
	e->credit_units -= (int64_t)arrived_units;
	if (e->credit_units >= 0)
		return (uint32_t)cc_max((uint64_t)e->credit_units, 1);
	excess = backlog - g->target_units + cfg->param[QCN_W] * (backlog - e->old_units);
	if (excess > 0)
		e->level =
			(uint32_t)cc_min((uint64_t)excess * 64 / (uint64_t)g->full_scale_units, 63);
	every_units = (uint32_t)cc_max(
		(uint64_t)g->sample_units * qcn_sample_permille[e->level >> 3] / 1000, 1);
	if (e->level)
		qcn_choose_all(e, s, arrived_units, every_units);
	e->seen_units = 0;
	e->drawn = CC_NO_SOURCE;
	e->old_units = backlog;
	e->credit_units = cc_jitter(&e->random, every_units);
	return (uint32_t)e->credit_units;
}

static bool qcn_egress_feedback(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
				const struct cc_source *source, struct cc_feedback *out)
{
	const struct qcn_egress *e = priv;

	(void)cfg;
	out->addressed = e->chosen[source->id / 64] >> (source->id % 64) & 1;
	out->signal = out->addressed ? e->level : 0;
	return s->timer || out->addressed;
}

static void qcn_byte_cycle(struct qcn_ingress *q, const struct qcn_gains *g)
{
	uint32_t mean = q->byte_cycles < QCN_FAST_CYCLES ? g->bytes_units : g->bytes_units / 2;

	q->cycle_units = cc_jitter(&q->random, mean);
}

static void qcn_timer_cycle(struct qcn_ingress *q, const struct qcn_gains *g)
{
	uint64_t mean_us = g->timer_ns / (q->timer_cycles < QCN_FAST_CYCLES ? 1000 : 2000);

	q->cycle_left_ns = cc_jitter(&q->random, (uint32_t)mean_us) * UINT64_C(1000);
}

static void qcn_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_ingress *q = (void *)in->priv;

	q->random = cfg->port.seed + 1u;
	q->target_q16 = in->rate_q16;
	qcn_byte_cycle(q, g);
	qcn_timer_cycle(q, g);
}

static bool qcn_limited(const struct cc_ingress *in, const struct cc_config *cfg)
{
	return in->rate_q16 < cfg->port.line_ups << 16;
}

static void qcn_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				 const struct cc_feedback *fb)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_ingress *q = (void *)in->priv;
	uint64_t cut_q32;

	if (!fb->addressed || fb->signal == 0)
		return;
	if (!qcn_limited(in, cfg) || q->byte_cycles != 0) {
		q->target_q16 = in->rate_q16;
		q->byte_cycles = 0;
		qcn_byte_cycle(q, g);
	}
	q->byte_cycles = 0;
	q->timer_cycles = 0;
	qcn_timer_cycle(q, g);
	cut_q32 = cc_min(g->gd_q32 * cc_min(fb->signal, 63), UINT64_C(1) << 31);
	in->rate_q16 -= (uint64_t)((cc_u128)in->rate_q16 * cut_q32 >> 32);
}

static void qcn_increase(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_ingress *q = (void *)in->priv;
	uint32_t low = (uint32_t)cc_min(q->byte_cycles, q->timer_cycles);
	uint32_t high = (uint32_t)cc_max(q->byte_cycles, q->timer_cycles);

	if (low >= QCN_FAST_CYCLES)
		q->target_q16 += g->rhai_q16 * in->weight * (low - QCN_FAST_CYCLES + 1);
	else if (high >= QCN_FAST_CYCLES)
		q->target_q16 += g->rai_q16 * in->weight;
	if ((q->byte_cycles == 1 || q->timer_cycles == 1) && q->target_q16 > 10 * in->rate_q16)
		q->target_q16 /= 8;
	q->target_q16 = cc_min(q->target_q16, cfg->port.line_ups << 16);
	in->rate_q16 = (in->rate_q16 + q->target_q16) / 2;
	/* Else the last unit would be halved for ever. */
	if (q->target_q16 - cc_min(in->rate_q16, q->target_q16) < 65536)
		in->rate_q16 = q->target_q16;
}

static void qcn_ingress_sent(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_ingress *q = (void *)in->priv;

	if (!qcn_limited(in, cfg))
		return;
	q->cycle_units -= units;
	for (int i = 0; i < QCN_CYCLES_AT_ONCE && q->cycle_units < 0 && qcn_limited(in, cfg); i++) {
		int64_t over = q->cycle_units;

		q->byte_cycles = (uint32_t)cc_min(q->byte_cycles + 1, QCN_CYCLES_MAX);
		qcn_increase(in, cfg);
		qcn_byte_cycle(q, g);
		q->cycle_units += over;
	}
	if (q->cycle_units < 0)
		q->cycle_units = 0;
}

static void qcn_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			     const struct cc_usage *u)
{
	const struct qcn_gains *g = (const void *)cfg->gains;
	struct qcn_ingress *q = (void *)in->priv;
	uint64_t left_ns = u->elapsed_ns;

	/* What is left of the interval counts for the next cycle, else each would be longer by half
	 * an interval on average. */
	for (int i = 0; i < QCN_CYCLES_AT_ONCE && qcn_limited(in, cfg); i++) {
		if (q->cycle_left_ns > left_ns)
			break;
		left_ns -= q->cycle_left_ns;
		q->timer_cycles = (uint32_t)cc_min(q->timer_cycles + 1, QCN_CYCLES_MAX);
		qcn_increase(in, cfg);
		qcn_timer_cycle(q, g);
	}
	if (qcn_limited(in, cfg))
		q->cycle_left_ns -= cc_min(left_ns, q->cycle_left_ns - 1);
}

const struct cc_ops cc_qcn_ops = {
	.name = "qcn",
	.algorithm = CC_QCN,
	.needs_feedback = true,
	.n_params = QCN_PARAMS,
	.params = qcn_params,
	.egress_bytes = sizeof(struct qcn_egress),
	.ingress_bytes = sizeof(struct qcn_ingress),
	.prepare = qcn_prepare,
	.egress_init = qcn_egress_init,
	.egress_sample = qcn_egress_sample,
	.egress_feedback = qcn_egress_feedback,
	.ingress_init = qcn_ingress_init,
	.ingress_tick = qcn_ingress_tick,
	.ingress_feedback = qcn_ingress_feedback,
	.ingress_sent = qcn_ingress_sent,
};

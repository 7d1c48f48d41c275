/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dcqcn: the baseline that users of RoCE have (Zhu et al.: Congestion Control for Large-Scale RDMA
 * Deployments, SIGCOMM 2015).
 *
 *      egress      a frame that arrives is marked with probability p(q): 0 up to Kmin, then a line
 *                  up to Pmax at Kmax, then 1 (RED of the queue as it is); a source of which frames
 *                  were marked in the interval is told once (CNP)
 *      told        Rt <- Rc;  Rc <- Rc (1 - a / 2);  a <- (1 - g) a + g;  all counters start again
 *      each time of the timer without: a <- (1 - g) a
 *      each time of the timer (t), and each byte_frames sent (b):
 *                  max(t, b) < F:  fast recovery                Rc <- (Rt + Rc) / 2
 *                  min(t, b) > F:  hyper increase   Rt <- Rt + (min(t, b) - F) Rhai w, then the
 * same else:           additive         Rt <- Rt + Rai w,                  then the same
 *
 * a begins at 1, w is the weight of the source. The paper's values are for 40 Gb/s, with a CNP each
 * 50 us at most: here that is T, and
 *      Kmin 5 KB, Kmax 200 KB     0.02 and 0.8 C T          Pmax    1 %
 *      both timers 55 us          1.1 T                     g       1/256, F 5
 *      byte counter 10 MB         40 C T                    Rai     40 Mb/s: C / 1000
 * The paper does not say Rhai: ten times Rai, as in QCN.
 *
 * What is different here
 *   - marks are drawn when the interval ends: of n frames one or more with 1 - (1 - p)^n;
 *   - timers are looked at once an interval; the rest of it counts for the next;
 *   - a source begins with C / N, the paper's at line rate.
 *
 * Record: addressed is 1 if the source is told; signal is the marks' probability p with 32 fraction
 * bits, for traces.
 */
#include <errno.h>
#include <string.h>

#include "cc/arith.h"

enum {
	DCQCN_KMIN = CC_COMMON_PARAMS,
	DCQCN_KMAX,
	DCQCN_PMAX,
	DCQCN_G,
	DCQCN_TIMER,
	DCQCN_BYTES,
	DCQCN_STEPS,
	DCQCN_RAI,
	DCQCN_RHAI,
	DCQCN_PARAMS
};

static const struct cc_param dcqcn_params[DCQCN_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[DCQCN_KMIN] = { "kmin_ppb", "1e-9 of capacity x T", 20000000, 0, 100 * CC_ONE_PPB,
			 "Kmin; paper: 5 KB at 40 Gb/s in 50 us" },
	[DCQCN_KMAX] = { "kmax_ppb", "1e-9 of capacity x T", 800000000, 1, 100 * CC_ONE_PPB,
			 "Kmax; paper: 200 KB" },
	[DCQCN_PMAX] = { "pmax_ppb", "1e-9", 10000000, 1, CC_ONE_PPB, "Pmax; paper" },
	[DCQCN_G] = { "g_ppb", "1e-9", 3906250, 1, CC_ONE_PPB, "g; paper: 1/256" },
	[DCQCN_TIMER] = { "timer_ppb", "1e-9 of T", 1100000000, 1000000, 1000 * CC_ONE_PPB,
			  "timer of increase and of a; paper: 55 us" },
	[DCQCN_BYTES] = { "bytes_ppb", "1e-9 of capacity x T", 40 * CC_ONE_PPB, 1000000,
			  1000 * CC_ONE_PPB, "B; paper: 10 MB" },
	[DCQCN_STEPS] = { "steps", "times", 5, 1, 1000, "F; paper" },
	[DCQCN_RAI] = { "rai_ppb", "1e-9 of capacity", 1000000, 1, CC_ONE_PPB,
			"Rai; paper: 40 Mb/s at 40 Gb/s" },
	[DCQCN_RHAI] = { "rhai_ppb", "1e-9 of capacity", 10000000, 1, CC_ONE_PPB,
			 "Rhai; ours: ten times Rai, as in QCN" },
};

#define DCQCN_ONE_Q32	(UINT64_C(1) << 32)
#define DCQCN_TIMES_MAX 2000 /* that timer and bytes are counted */
#define DCQCN_AT_ONCE	16   /* times in one call */

struct dcqcn_gains {
	uint64_t kmin_units, kmax_units;
	uint64_t pmax_q32, g_q32;
	uint64_t timer_ns;
	int64_t bytes_units;
	uint64_t rai_q16, rhai_q16; /* for weight 1, units/s with 16 fraction bits */
};

struct dcqcn_egress {
	uint64_t p_q32;
	uint32_t random; /* never 0 */
	uint32_t reserved;
	uint64_t told[CC_SOURCES_MAX / 64]; /* bit i: source i is to be told */
};

struct dcqcn_ingress {
	uint64_t target_q16; /* Rt; Rc is the rate of struct cc_ingress */
	uint64_t alpha_q32;  /* a */
	uint64_t timer_left_ns, alpha_left_ns;
	int64_t bytes_left_units;
	uint16_t times, bytes; /* t and b, up to DCQCN_TIMES_MAX */
};

_Static_assert(sizeof(struct dcqcn_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct dcqcn_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct dcqcn_ingress) <= CC_INGRESS_BYTES, "ingress state");

static int dcqcn_prepare(struct cc_config *cfg, const char **why)
{
	struct dcqcn_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint64_t drain = cc_units_in(port->capacity_ups, port->interval_ns);
	uint64_t frame = cc_frame_units(port);

	if (cfg->param[DCQCN_KMIN] >= cfg->param[DCQCN_KMAX]) {
		*why = "kmin_ppb: not below kmax_ppb";
		return -EINVAL;
	}
	g->kmin_units = cc_max(cc_ppb(drain, cfg->param[DCQCN_KMIN]), frame);
	g->kmax_units = cc_max(cc_ppb(drain, cfg->param[DCQCN_KMAX]), g->kmin_units + 4 * frame);
	g->pmax_q32 = cc_ppb_to_q(cfg->param[DCQCN_PMAX], 32);
	g->g_q32 = cc_ppb_to_q(cfg->param[DCQCN_G], 32);
	g->timer_ns = cc_max(cc_ppb(port->interval_ns, cfg->param[DCQCN_TIMER]), 1);
	g->bytes_units = (int64_t)cc_max(cc_ppb(drain, cfg->param[DCQCN_BYTES]), frame);
	g->rai_q16 = cc_ppb(port->capacity_ups << 16, cfg->param[DCQCN_RAI]);
	g->rhai_q16 = cc_ppb(port->capacity_ups << 16, cfg->param[DCQCN_RHAI]);
	return 0;
}

static void dcqcn_egress_init(void *priv, const struct cc_config *cfg)
{
	struct dcqcn_egress *e = priv;

	e->random = cfg->port.seed + 1u;
}

/* p(q), RED without an average. */
static uint64_t dcqcn_mark_q32(const struct dcqcn_gains *g, uint64_t queue_units)
{
	if (queue_units <= g->kmin_units)
		return 0;
	if (queue_units > g->kmax_units)
		return DCQCN_ONE_Q32;
	return cc_mul_div(g->pmax_q32, queue_units - g->kmin_units, g->kmax_units - g->kmin_units);
}

/* v to the power n, both v and the result with 32 fraction bits. */
static uint64_t dcqcn_power_q32(uint64_t v_q32, uint32_t n)
{
	uint64_t power = DCQCN_ONE_Q32;

	for (; n; n >>= 1) {
		if (n & 1)
			power = (uint64_t)((cc_u128)power * v_q32 >> 32);
		v_q32 = (uint64_t)((cc_u128)v_q32 * v_q32 >> 32);
	}
	return power;
}

static uint32_t dcqcn_egress_sample(void *priv, const struct cc_config *cfg,
				    const struct cc_sample *s)
{
	const struct dcqcn_gains *g = (const void *)cfg->gains;
	struct dcqcn_egress *e = priv;
	uint32_t frame = cc_frame_units(&cfg->port);

	if (!s->timer)
		return 0;
	memset(e->told, 0, sizeof(e->told));
	e->p_q32 = dcqcn_mark_q32(g, s->backlog_units);
	for (uint32_t i = 0; i < s->n_sources && e->p_q32 > 0; i++) {
		const struct cc_source *source = &s->sources[i];
		uint32_t frames =
			source->arrived_units / frame + (source->arrived_units % frame > 0);
		uint64_t none_q32 = dcqcn_power_q32(DCQCN_ONE_Q32 - e->p_q32, frames);

		if (source->id < CC_SOURCES_MAX && cc_random(&e->random) >= none_q32)
			e->told[source->id / 64] |= UINT64_C(1) << (source->id % 64);
	}
	return 0;
}

static bool dcqcn_egress_feedback(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s, const struct cc_source *source,
				  struct cc_feedback *out)
{
	const struct dcqcn_egress *e = priv;

	(void)cfg;
	out->addressed = e->told[source->id / 64] >> (source->id % 64) & 1;
	out->signal = (uint32_t)cc_min(e->p_q32, UINT32_MAX);
	return s->timer;
}

static void dcqcn_start(struct dcqcn_ingress *d, const struct dcqcn_gains *g)
{
	d->times = 0;
	d->bytes = 0;
	d->timer_left_ns = g->timer_ns;
	d->alpha_left_ns = g->timer_ns;
	d->bytes_left_units = g->bytes_units;
}

static void dcqcn_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct dcqcn_gains *g = (const void *)cfg->gains;
	struct dcqcn_ingress *d = (void *)in->priv;

	d->target_q16 = in->rate_q16;
	d->alpha_q32 = DCQCN_ONE_Q32;
	dcqcn_start(d, g);
}

static uint64_t dcqcn_decay(uint64_t alpha_q32, uint64_t g_q32)
{
	return alpha_q32 - (uint64_t)((cc_u128)alpha_q32 * g_q32 >> 32);
}

static void dcqcn_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				   const struct cc_feedback *fb)
{
	const struct dcqcn_gains *g = (const void *)cfg->gains;
	struct dcqcn_ingress *d = (void *)in->priv;

	if (!fb->addressed)
		return;
	d->target_q16 = in->rate_q16;
	in->rate_q16 -= (uint64_t)((cc_u128)in->rate_q16 * d->alpha_q32 >> 33);
	d->alpha_q32 = dcqcn_decay(d->alpha_q32, g->g_q32) + g->g_q32;
	dcqcn_start(d, g);
}

static void dcqcn_increase(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct dcqcn_gains *g = (const void *)cfg->gains;
	struct dcqcn_ingress *d = (void *)in->priv;
	uint64_t steps = (uint64_t)cfg->param[DCQCN_STEPS];
	uint64_t low = cc_min(d->times, d->bytes), high = cc_max(d->times, d->bytes);

	if (low > steps)
		d->target_q16 += g->rhai_q16 * in->weight * (low - steps);
	else if (high >= steps)
		d->target_q16 += g->rai_q16 * in->weight;
	d->target_q16 = cc_min(d->target_q16, cfg->port.line_ups << 16);
	in->rate_q16 = (d->target_q16 + in->rate_q16) / 2;
}

static void dcqcn_ingress_sent(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units)
{
	const struct dcqcn_gains *g = (const void *)cfg->gains;
	struct dcqcn_ingress *d = (void *)in->priv;

	d->bytes_left_units -= units;
	for (int i = 0; i < DCQCN_AT_ONCE && d->bytes_left_units <= 0; i++) {
		d->bytes_left_units += g->bytes_units;
		d->bytes = (uint16_t)cc_min(d->bytes + 1u, DCQCN_TIMES_MAX);
		dcqcn_increase(in, cfg);
	}
	if (d->bytes_left_units <= 0)
		d->bytes_left_units = g->bytes_units;
}

static void dcqcn_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			       const struct cc_usage *u)
{
	const struct dcqcn_gains *g = (const void *)cfg->gains;
	struct dcqcn_ingress *d = (void *)in->priv;
	uint64_t left_ns = u->elapsed_ns;

	for (int i = 0; i < DCQCN_AT_ONCE && d->alpha_left_ns <= left_ns; i++) {
		d->alpha_left_ns += g->timer_ns;
		d->alpha_q32 = dcqcn_decay(d->alpha_q32, g->g_q32);
	}
	d->alpha_left_ns -= cc_min(left_ns, d->alpha_left_ns - 1);
	for (int i = 0; i < DCQCN_AT_ONCE && d->timer_left_ns <= left_ns; i++) {
		d->timer_left_ns += g->timer_ns;
		d->times = (uint16_t)cc_min(d->times + 1u, DCQCN_TIMES_MAX);
		dcqcn_increase(in, cfg);
	}
	d->timer_left_ns -= cc_min(left_ns, d->timer_left_ns - 1);
}

const struct cc_ops cc_dcqcn_ops = {
	.name = "dcqcn",
	.algorithm = CC_DCQCN,
	.needs_feedback = true,
	.n_params = DCQCN_PARAMS,
	.params = dcqcn_params,
	.egress_bytes = sizeof(struct dcqcn_egress),
	.ingress_bytes = sizeof(struct dcqcn_ingress),
	.prepare = dcqcn_prepare,
	.egress_init = dcqcn_egress_init,
	.egress_sample = dcqcn_egress_sample,
	.egress_feedback = dcqcn_egress_feedback,
	.ingress_init = dcqcn_ingress_init,
	.ingress_tick = dcqcn_ingress_tick,
	.ingress_feedback = dcqcn_ingress_feedback,
	.ingress_sent = dcqcn_ingress_sent,
};

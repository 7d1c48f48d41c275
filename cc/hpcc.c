/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hpcc: the source computes its rate from queue and transmit rate of the port (Li et al.: HPCC:
 * High Precision Congestion Control, SIGCOMM 2019, Algorithm 1).
 *
 *      each record:    u   = min(q, q before) / (C rtt) + transmitted / C
 *                      tau = min(time since the record before, rtt)
 *                      U   <- (1 - tau / rtt) U + (tau / rtt) u
 *      rate:           U >= eta, or max_stage steps by addition:   x = Wc / (U / eta) + ai w
 *                      else:                                       x = Wc + ai w
 *      each rtt:       Wc <- x; the stage is 0 after a division, else one more
 *
 * w is the weight of the source. ai is what eta leaves, over the sources that may send (3.3): (1 -
 * eta) C / N.
 *
 * What is different here
 *   - windows are rates x = W / rtt, as the fabric has no acknowledgements: a source is not held
 *     back by what is under way. A record counts if the VOQ has sent since the one before;
 *   - the transmit rate is what left in the interval that the record tells of, and the egress
 *     divides, once for all sources;
 *   - a source begins with C / N, the paper's at line rate.
 *
 * Record: signal is q / (C rtt), share is transmitted / C, both with 24 fraction bits.
 */
#include "cc/arith.h"

enum { HPCC_ETA = CC_COMMON_PARAMS, HPCC_MAX_STAGE, HPCC_FLOWS, HPCC_RTT, HPCC_PARAMS };

static const struct cc_param hpcc_params[HPCC_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[HPCC_ETA] = { "eta_ppb", "1e-9 of capacity", 950000000, 100000000, 999999999,
		       "eta, what hpcc fills; paper" },
	[HPCC_MAX_STAGE] = { "max_stage", "steps", 5, 0, 1000, "maxStage; paper" },
	[HPCC_FLOWS] = { "flows", "sources", 0, 0, 1000000,
			 "N of ai = (1 - eta) C / N; 0: the sources of the port" },
	[HPCC_RTT] = { "rtt_intervals", "T", 2, 1, 64,
		       "ours: one interval until a record is made, one until it shows" },
};

#define HPCC_Q24   24
#define HPCC_U_MAX (UINT64_C(1) << 40) /* U with 24 fraction bits: 65536 */

struct hpcc_gains {
	uint64_t rtt_ns;
	uint64_t ai_q16; /* for weight 1, units/s with 16 fraction bits */
	uint64_t eta_q24;
};

struct hpcc_egress {
	uint32_t queue_q24;	  /* q / (C rtt) */
	uint32_t transmitted_q24; /* over C */
};

struct hpcc_ingress {
	uint64_t window_q16; /* Wc / rtt */
	uint64_t u_q24;	     /* U */
	uint64_t since_ns;   /* Wc was set */
	uint32_t queue_q24;  /* of the latest record */
	uint16_t stage;
	uint8_t known; /* a record has come */
	uint8_t sent;  /* since that record */
};

_Static_assert(sizeof(struct hpcc_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct hpcc_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct hpcc_ingress) <= CC_INGRESS_BYTES, "ingress state");

static int hpcc_prepare(struct cc_config *cfg, const char **why)
{
	struct hpcc_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	int64_t flows = cfg->param[HPCC_FLOWS] ? cfg->param[HPCC_FLOWS] : port->sources;

	(void)why;
	g->rtt_ns = (uint64_t)port->interval_ns * (uint64_t)cfg->param[HPCC_RTT];
	g->eta_q24 = cc_ppb_to_q(cfg->param[HPCC_ETA], HPCC_Q24);
	g->ai_q16 = cc_ppb(port->capacity_ups << 16, CC_ONE_PPB - cfg->param[HPCC_ETA]) /
		    (uint64_t)flows;
	return 0;
}

static uint32_t hpcc_egress_sample(void *priv, const struct cc_config *cfg,
				   const struct cc_sample *s)
{
	struct hpcc_egress *e = priv;
	uint64_t capacity = cc_clamp(s->capacity_ups, 1, CC_RATE_MAX);
	uint64_t drain = cc_max(cc_units_in(capacity, s->elapsed_ns), 1);
	uint64_t window = cc_max(cc_units_in(capacity, cfg->port.interval_ns), 1) *
			  (uint64_t)cfg->param[HPCC_RTT];

	if (!s->timer)
		return 0;
	e->queue_q24 =
		(uint32_t)cc_min(((uint64_t)s->backlog_units << HPCC_Q24) / window, UINT32_MAX);
	e->transmitted_q24 =
		(uint32_t)cc_min(((uint64_t)s->departed_units << HPCC_Q24) / drain, UINT32_MAX);
	return 0;
}

static bool hpcc_egress_feedback(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
				 const struct cc_source *source, struct cc_feedback *out)
{
	const struct hpcc_egress *e = priv;

	(void)cfg;
	(void)source;
	out->signal = e->queue_q24;
	out->share = e->transmitted_q24;
	out->addressed = 1;
	return s->timer;
}

static void hpcc_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	struct hpcc_ingress *h = (void *)in->priv;

	(void)cfg;
	h->window_q16 = in->rate_q16;
}

/* MeasureInflight of Algorithm 1. */
static void hpcc_measure(struct hpcc_ingress *h, const struct hpcc_gains *g, uint64_t age_ns,
			 const struct cc_feedback *fb)
{
	uint64_t queue = h->known ? cc_min(fb->signal, h->queue_q24) : fb->signal;
	uint64_t u_q24 = queue + fb->share;
	uint64_t part_q24 = (cc_min(age_ns, g->rtt_ns) << HPCC_Q24) / g->rtt_ns;

	if (!h->known)
		part_q24 = UINT64_C(1) << HPCC_Q24;
	h->u_q24 = h->u_q24 - (h->u_q24 * part_q24 >> HPCC_Q24) + (u_q24 * part_q24 >> HPCC_Q24);
	h->queue_q24 = fb->signal;
	h->known = 1;
}

static void hpcc_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				  const struct cc_feedback *fb)
{
	const struct hpcc_gains *g = (const void *)cfg->gains;
	struct hpcc_ingress *h = (void *)in->priv;
	uint64_t line_q16 = cfg->port.line_ups << 16,
		 stale = (uint64_t)cfg->param[CC_STALE_INTERVALS];
	bool divide;

	/* The rate has decayed in the silence. */
	if (in->age_ns > stale * cfg->port.interval_ns)
		h->window_q16 = in->rate_q16;
	hpcc_measure(h, g, in->age_ns, fb);
	if (!h->sent)
		return;
	h->sent = 0;
	divide = h->u_q24 >= g->eta_q24 || h->stage >= cfg->param[HPCC_MAX_STAGE];
	in->rate_q16 = h->window_q16;
	if (divide) {
		/* At most 2^24 times as much, which line_q16 bounds below 2^53. */
		uint64_t factor_q24 = (g->eta_q24 << HPCC_Q24) / cc_clamp(h->u_q24, 1, HPCC_U_MAX);
		cc_u128 rate_q16 = (cc_u128)h->window_q16 * factor_q24 >> HPCC_Q24;

		in->rate_q16 = rate_q16 < line_q16 ? (uint64_t)rate_q16 : line_q16;
	}
	in->rate_q16 = cc_clamp(in->rate_q16 + g->ai_q16 * in->weight, 1, line_q16);
	if (h->since_ns < g->rtt_ns)
		return;
	h->since_ns = 0;
	h->window_q16 = in->rate_q16;
	h->stage = divide ? 0 : (uint16_t)(h->stage + 1);
}

static void hpcc_ingress_sent(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units)
{
	struct hpcc_ingress *h = (void *)in->priv;

	(void)cfg;
	if (units > 0)
		h->sent = 1;
}

static void hpcc_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
			      const struct cc_usage *u)
{
	struct hpcc_ingress *h = (void *)in->priv;

	(void)cfg;
	h->since_ns = cc_min(h->since_ns + u->elapsed_ns, UINT64_C(1) << 40);
}

const struct cc_ops cc_hpcc_ops = {
	.name = "hpcc",
	.algorithm = CC_HPCC,
	.needs_feedback = true,
	.n_params = HPCC_PARAMS,
	.params = hpcc_params,
	.egress_bytes = sizeof(struct hpcc_egress),
	.ingress_bytes = sizeof(struct hpcc_ingress),
	.prepare = hpcc_prepare,
	.egress_sample = hpcc_egress_sample,
	.egress_feedback = hpcc_egress_feedback,
	.ingress_init = hpcc_ingress_init,
	.ingress_tick = hpcc_ingress_tick,
	.ingress_feedback = hpcc_ingress_feedback,
	.ingress_sent = hpcc_ingress_sent,
};

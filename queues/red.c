/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * red: Random Early Detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
 * Avoidance", 1993; the names and the steps are those of its figure 2).
 *
 * On each arrival, with q what waits before it:
 *
 *   avg <- (1 - w) avg + w q
 *   avg <- (1 - w)^m avg           after an idle time in which m frames could have been sent
 *   below min_th      pass, count = -1
 *   up to max_th      count <- count + 1
 *                     p_b = max_p (avg - min_th) / (max_th - min_th)
 *                     p_a = p_b / (1 - count p_b); with probability p_a: signal, count = -1
 *   from max_th on    discard, count = -1
 *
 * A signal marks a frame whose sender knows ECN, and discards any other. From max_th on even those
 * are discarded (RFC 3168, section 7).
 *
 * gentle (Floyd, "Recommendation on using the gentle variant of RED", 2000): from max_th to
 * 2 max_th, p_b rises from max_p to 1; only from there on each frame is discarded.
 *
 * Changed from the paper, with the reason:
 *
 *   - After a signal figure 2 sets count to 0, so that the next arrival has 1. Section 7 counts the
 *     arrivals between two signals, which makes the gap uniform from 1 to 1 / p_b; so does this.
 *   - The queue is counted in bytes, as the buffer is, and p_b does not depend on the size of the
 *     frame: RFC 7141 recommends so.
 *   - An arrival that does not fit into the buffer is discarded, whatever the average.
 *   - Defaults are those of Kuhns et al., table 3, which sets the thresholds by the buffer.
 *
 * Fixed point: avg has 16 fraction bits, below 2^46; probabilities have 32.
 */
#include <errno.h>

#include "cc/arith.h"
#include "queues/fq.h"

enum { RED_MAX_P, RED_WEIGHT, RED_MIN, RED_MAX, RED_GENTLE, RED_PARAMS };

static const struct fq_param red_params[RED_PARAMS] = {
	[RED_MAX_P] = { "max_p_ppb", "1e-9", 10000000, 1, FQ_ONE_PPB,
			"max_p; Kuhns et al., table 3 (Floyd recommends 0.1 today)" },
	[RED_WEIGHT] = { "weight_ppb", "1e-9", 1000000, 1, FQ_ONE_PPB,
			 "w of the average; Kuhns et al., table 3" },
	[RED_MIN] = { "min_ppb", "1e-9 of the buffer", 200000000, 0, FQ_ONE_PPB,
		      "min_th; Kuhns et al., table 3" },
	[RED_MAX] = { "max_ppb", "1e-9 of the buffer", FQ_ONE_PPB, 1, FQ_ONE_PPB,
		      "max_th; Kuhns et al., table 3" },
	[RED_GENTLE] = { "gentle", "0 or 1", 0, 0, 1,
			 "1: p_b rises on between max_th and twice it" },
};

enum { RED_KEEP_Q32, RED_MAX_P_Q32, RED_MIN_BYTES, RED_MAX_BYTES, RED_SLOPE_Q64, RED_RISE_Q64 };

#define RED_ONE_Q32 (UINT64_C(1) << 32)

struct red {
	uint64_t avg_q16; /* bytes */
	int64_t count;	  /* arrivals passed since the last signal, less 1; -1 below min_th, too */
};
_Static_assert(sizeof(struct red) <= FQ_PORT_WORDS * sizeof(uint64_t), "state of a port");

static int red_prepare(struct fq_config *cfg, const char **why)
{
	uint64_t *g = cfg->gains;

	g[RED_KEEP_Q32] = RED_ONE_Q32 - cc_ppb_to_q(cfg->param[RED_WEIGHT], 32);
	g[RED_MAX_P_Q32] = cc_ppb_to_q(cfg->param[RED_MAX_P], 32);
	g[RED_MIN_BYTES] = cc_ppb(cfg->shape.limit_bytes, cfg->param[RED_MIN]);
	g[RED_MAX_BYTES] = cc_ppb(cfg->shape.limit_bytes, cfg->param[RED_MAX]);
	if (g[RED_MAX_BYTES] <= g[RED_MIN_BYTES]) {
		*why = "max_ppb must be above min_ppb, by a byte of the buffer at least";
		return -EINVAL;
	}
	/* By how much p_b rises with each byte; the range is at least a byte, so 2^64 / range - 1
	 * fits where max_p is 1. */
	g[RED_SLOPE_Q64] =
		cc_mul_div(g[RED_MAX_P_Q32], RED_ONE_Q32, g[RED_MAX_BYTES] - g[RED_MIN_BYTES]);
	g[RED_RISE_Q64] = cc_mul_div(RED_ONE_Q32 - g[RED_MAX_P_Q32], RED_ONE_Q32, g[RED_MAX_BYTES]);
	return 0;
}

static void red_init(struct fq_port *port)
{
	struct red *r = (void *)port->priv;

	r->count = -1;
}

/* keep^m, by squaring: at most 64 steps. */
static uint64_t power_q32(uint64_t keep_q32, uint64_t m)
{
	uint64_t result = RED_ONE_Q32;

	for (; m > 0 && result > 0; m >>= 1) {
		if (m & 1)
			result = (uint64_t)((cc_u128)result * keep_q32 >> 32);
		keep_q32 = (uint64_t)((cc_u128)keep_q32 * keep_q32 >> 32);
	}
	return result;
}

static void average(struct fq_port *port, struct red *r, uint64_t now_ns)
{
	const struct fq_shape *shape = &port->config.shape;
	const uint64_t keep_q32 = port->config.gains[RED_KEEP_Q32];
	const uint64_t q_q16 = (uint64_t)port->n_bytes << 16;

	if (port->n_frames > 0) {
		r->avg_q16 = (uint64_t)(((cc_u128)r->avg_q16 * keep_q32 +
					 (cc_u128)q_q16 * (RED_ONE_Q32 - keep_q32)) >>
					32);
	} else {
		const uint64_t sent_bytes =
			cc_mul_div(now_ns - port->empty_since_ns, shape->rate_Bps, 1000000000u);
		const uint64_t keep = power_q32(keep_q32, sent_bytes / shape->quantum_bytes);

		r->avg_q16 = (uint64_t)((cc_u128)r->avg_q16 * keep >> 32);
	}
}

/* With probability p_b / (1 - count p_b), without a division. */
static bool is_hit(struct fq_port *port, const struct red *r, uint64_t p_b_q32)
{
	const uint64_t spent_q32 = (uint64_t)r->count * p_b_q32;

	if (spent_q32 >= RED_ONE_Q32 || p_b_q32 >= RED_ONE_Q32)
		return true;
	return cc_random(&port->random) * (RED_ONE_Q32 - spent_q32) < p_b_q32 << 32;
}

static enum fq_verdict red_arrive(struct fq_port *port, uint32_t queue,
				  const struct fq_frame *frame, uint64_t now_ns)
{
	const uint64_t *g = port->config.gains;
	struct red *r = (void *)port->priv;
	const uint64_t min_q16 = g[RED_MIN_BYTES] << 16, max_q16 = g[RED_MAX_BYTES] << 16;
	uint64_t p_b_q32;

	(void)queue;
	average(port, r, now_ns);
	if (r->avg_q16 < min_q16) {
		r->count = -1;
		return FQ_PASS;
	}
	if (r->avg_q16 < max_q16) {
		p_b_q32 = (uint64_t)((cc_u128)(r->avg_q16 - min_q16) * g[RED_SLOPE_Q64] >> 48);
	} else if (port->config.param[RED_GENTLE] && r->avg_q16 < 2 * max_q16) {
		p_b_q32 = g[RED_MAX_P_Q32] +
			  (uint64_t)((cc_u128)(r->avg_q16 - max_q16) * g[RED_RISE_Q64] >> 48);
	} else {
		p_b_q32 = RED_ONE_Q32;
	}
	if (r->count < UINT32_MAX)
		r->count++;
	if (!is_hit(port, r, p_b_q32))
		return FQ_PASS;
	r->count = -1;
	return frame->ect && r->avg_q16 < max_q16 ? FQ_MARK : FQ_DROP;
}

const struct fq_ops fq_red_ops = {
	.name = "red",
	.policy = FQ_RED,
	.n_params = RED_PARAMS,
	.params = red_params,
	.prepare = red_prepare,
	.init = red_init,
	.arrive = red_arrive,
};

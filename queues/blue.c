/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blue: a probability that rises when the buffer overflows and falls when the link is idle (Feng,
 * Kandlur, Saha and Shin, "BLUE: A New Class of Active Queue Management Algorithms", 1999):
 *
 *   on packet loss   if now - last_update >= freeze_time: p_m <- p_m + d1, last_update = now
 *   on link idle     if now - last_update >= freeze_time: p_m <- p_m - d2, last_update = now
 *
 * Each arrival is signalled with probability p_m: marked if its sender knows ECN, else discarded.
 * How long the queue is, as such, does not count.
 *
 * The paper's link-idle event comes as often as the caller looks. Here idle time is accounted for
 * when the next frame comes: as if the event came all the time while the port was empty, p_m falls
 * once for each freeze time of it.
 */
#include "cc/arith.h"
#include "queues/fq.h"

enum { BLUE_INCREASE, BLUE_DECREASE, BLUE_FREEZE, BLUE_PARAMS };

static const struct fq_param blue_params[BLUE_PARAMS] = {
	[BLUE_INCREASE] = { "increase_ppb", "1e-9", 2500000, 1, FQ_ONE_PPB,
			    "d1; set B2 of the paper's experiments" },
	[BLUE_DECREASE] = { "decrease_ppb", "1e-9", 250000, 1, FQ_ONE_PPB,
			    "d2; set B2 of the paper's experiments" },
	[BLUE_FREEZE] = { "freeze_us", "us", 100000, 1, 60000000,
			  "least time between two changes of p_m; set B2 of the paper's experiments" },
};

enum { BLUE_INCREASE_Q32, BLUE_DECREASE_Q32, BLUE_FREEZE_NS };

#define BLUE_ONE_Q32 (UINT64_C(1) << 32)

struct blue {
	uint64_t p_m_q32; /* 0..BLUE_ONE_Q32 */
	uint64_t update_ns;
};
_Static_assert(sizeof(struct blue) <= FQ_PORT_WORDS * sizeof(uint64_t), "state of a port");

static int blue_prepare(struct fq_config *cfg, const char **why)
{
	(void)why;
	cfg->gains[BLUE_INCREASE_Q32] = cc_ppb_to_q(cfg->param[BLUE_INCREASE], 32);
	cfg->gains[BLUE_DECREASE_Q32] = cc_ppb_to_q(cfg->param[BLUE_DECREASE], 32);
	cfg->gains[BLUE_FREEZE_NS] = (uint64_t)cfg->param[BLUE_FREEZE] * 1000;
	return 0;
}

/* The port was empty from empty_since_ns until now. */
static void idle(struct fq_port *port, struct blue *b, uint64_t now_ns)
{
	const uint64_t *g = port->config.gains;
	const uint64_t freeze_ns = g[BLUE_FREEZE_NS];
	uint64_t first_ns = port->empty_since_ns, falls;

	if (first_ns < b->update_ns + freeze_ns)
		first_ns = b->update_ns + freeze_ns;
	if (now_ns < first_ns)
		return;
	falls = 1 + (now_ns - first_ns) / freeze_ns;
	b->update_ns = first_ns + (falls - 1) * freeze_ns;
	falls = cc_min(falls, BLUE_ONE_Q32);
	b->p_m_q32 -= cc_min(b->p_m_q32, falls * g[BLUE_DECREASE_Q32]);
}

static enum fq_verdict blue_arrive(struct fq_port *port, uint32_t queue,
				   const struct fq_frame *frame, uint64_t now_ns)
{
	struct blue *b = (void *)port->priv;

	(void)queue;
	if (port->n_frames == 0)
		idle(port, b, now_ns);
	if (cc_random(&port->random) - UINT64_C(1) >= b->p_m_q32)
		return FQ_PASS;
	return frame->ect ? FQ_MARK : FQ_DROP;
}

static void blue_full(struct fq_port *port, uint64_t now_ns)
{
	const uint64_t *g = port->config.gains;
	struct blue *b = (void *)port->priv;

	if (now_ns - b->update_ns < g[BLUE_FREEZE_NS])
		return;
	b->p_m_q32 = cc_min(b->p_m_q32 + g[BLUE_INCREASE_Q32], BLUE_ONE_Q32);
	b->update_ns = now_ns;
}

const struct fq_ops fq_blue_ops = {
	.name = "blue",
	.policy = FQ_BLUE,
	.n_params = BLUE_PARAMS,
	.params = blue_params,
	.prepare = blue_prepare,
	.arrive = blue_arrive,
	.full = blue_full,
};

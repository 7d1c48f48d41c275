/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layers: video in layers, each of no use without those below it. Of a flow that sends more than
 * the scheduler grants it, the highest layers are discarded before they queue, so the lower ones
 * lose nothing (Kuhns et al., "Design and Evaluation of a High-Performance Dynamically Extensible
 * Router", section 5: the plugin there asks the packet scheduler, and drops high sub-bands).
 *
 * Once a period, with A what the scheduler grants the flow's queue and R_s the rate of layer s:
 *
 *   cut = the greatest c with R_0 + ... + R_c <= A, at least 0
 *
 * and until the next one, frames of layers above cut are discarded as they come. The paper says
 * neither how R_s is measured nor what becomes of frames that wait already. Here:
 *
 *   - A is the mean of the scheduler's answers to each frame of the period: a competitor that has
 *     frames during half of it counts half. What waits drains with what the layers leave of A.
 *   - R_s is a moving average over LAYERS_MEMORY periods, because a sender or the bridge may pause.
 *   - A period ends with the first frame behind it; rates are of the time that it has really taken.
 *   - A cut can come late by up to a period, and what is asked before a competitor comes counts in
 *     that period's mean: the paper's bound of 50 ms is kept with periods of 20.
 *
 * When the buffer is over its limit, the longest queue loses its head, as with `longest`.
 */
#include <string.h>

#include "cc/arith.h"
#include "queues/flow.h"
#include "queues/fq.h"

enum { LAYERS_AT, LAYERS_PORT, LAYERS_PERIOD, LAYERS_PARAMS };

static const struct fq_param layers_params[LAYERS_PARAMS] = {
	[LAYERS_AT] = { "layer_at", "byte", 0, 0, 1400,
			"ours: which byte of the UDP payload is the layer, 0 the base" },
	[LAYERS_PORT] = { "port", "", 0, 0, 65535,
			  "ours: the UDP destination port that has layers; 0: each" },
	[LAYERS_PERIOD] = { "period_us", "us", 20000, 1000, 1000000,
			    "ours: the paper's 50 ms would be a reaction within 100" },
};

#define LAYERS_N      33u /* 0..32; a byte above that is of layer 32 */
#define LAYERS_MEMORY 4u  /* periods that rates are averaged over */

#define PROTOCOL_UDP 17u
#define UDP_BYTES    8u
#define IPV6_BYTES   40u

#define ANSWERS_MAX (1u << 24) /* in a period; later ones do not count */
_Static_assert(FQ_RATE_MAX_BPS <= UINT64_MAX / ANSWERS_MAX, "their sum fits");

struct layers {
	uint64_t begin_ns;   /* of the period; valid if has_begun */
	uint64_t shares_Bps; /* sum of the answers of the period */
	uint32_t answers;
	uint32_t tag; /* of the flow that all this is of */
	uint8_t has_begun, has_rates, cut, pad;
	uint32_t bytes[LAYERS_N]; /* that came in the period */
	uint32_t rate[LAYERS_N];  /* bytes in a period, averaged */
	uint8_t pad2[4];
};
_Static_assert(sizeof(struct layers) == 296, "states are a multiple of 8 bytes");

static uint16_t load16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint8_t layers_layer(const struct fq_config *cfg, const uint8_t *frame, uint32_t bytes,
			    const struct fq_flow *flow)
{
	const uint32_t address_bytes = flow->ip_version == 4 ? 8 : 32;
	const uint8_t *ip = frame + flow->l3_offset, *udp;
	const uint32_t layer_at = UDP_BYTES + (uint32_t)cfg->param[LAYERS_AT];

	/* The key of a flow with ports: version, protocol, addresses, ports (queues/flow.c). */
	if (flow->ip_version == 0 || flow->key[1] != PROTOCOL_UDP ||
	    flow->key_bytes != 2 + address_bytes + 4)
		return FQ_NO_LAYER;
	udp = ip + (flow->ip_version == 4 ? (ip[0] & 15) * 4u : IPV6_BYTES);
	if ((uint32_t)(udp - frame) + layer_at >= bytes || load16(udp + 4) <= layer_at)
		return FQ_NO_LAYER;
	if (cfg->param[LAYERS_PORT] && load16(udp + 2) != cfg->param[LAYERS_PORT])
		return FQ_NO_LAYER;
	return (uint8_t)cc_min(udp[layer_at], LAYERS_N - 1);
}

/* The period has taken elapsed_ns, at least period_ns. */
static void choose(struct layers *s, uint64_t period_ns, uint64_t elapsed_ns)
{
	const uint64_t granted = /* bytes in a period */
		cc_mul_div(s->shares_Bps / s->answers, period_ns, 1000000000);
	const bool is_fresh = !s->has_rates || elapsed_ns >= LAYERS_MEMORY * period_ns;
	uint64_t sum = 0;

	for (uint32_t layer = 0; layer < LAYERS_N; layer++) {
		const uint64_t now = cc_mul_div(s->bytes[layer], period_ns, elapsed_ns);
		const uint64_t past = s->rate[layer];

		s->rate[layer] = (uint32_t)(is_fresh ? now
						     : (past * (LAYERS_MEMORY - 1) + now +
							LAYERS_MEMORY / 2) /
							       LAYERS_MEMORY);
		sum += s->rate[layer];
		if (layer == 0 || (sum <= granted && s->cut == layer - 1))
			s->cut = (uint8_t)layer;
	}
	s->has_rates = true;
}

/* A period begins. */
static void begin(struct layers *s, uint64_t now_ns)
{
	s->has_begun = true;
	s->begin_ns = now_ns;
	s->shares_Bps = 0;
	s->answers = 0;
	memset(s->bytes, 0, sizeof(s->bytes));
}

static enum fq_verdict layers_arrive(struct fq_port *port, uint32_t queue,
				     const struct fq_frame *frame, uint64_t now_ns)
{
	const uint64_t period_ns = (uint64_t)port->config.param[LAYERS_PERIOD] * 1000;
	struct layers *s = fq_state(port, queue);

	if (frame->layer >= LAYERS_N)
		return FQ_PASS;
	if (!s->has_begun || s->tag != port->queue[queue].tag) {
		begin(s, now_ns);
		s->tag = port->queue[queue].tag;
		s->has_rates = false;
		s->cut = LAYERS_N - 1;
	} else if (now_ns - s->begin_ns >= period_ns) {
		choose(s, period_ns, now_ns - s->begin_ns);
		begin(s, now_ns);
	}
	s->bytes[frame->layer] =
		(uint32_t)cc_min((uint64_t)s->bytes[frame->layer] + frame->len_bytes, UINT32_MAX);
	if (s->answers < ANSWERS_MAX) {
		s->shares_Bps += fq_share_Bps(port, queue);
		s->answers++;
	}
	return frame->layer > s->cut ? FQ_DROP : FQ_PASS;
}

static struct fq_victim layers_victim(struct fq_port *port)
{
	return (struct fq_victim){ .queue = fq_rank_first(&port->rank[0]), .frames = 1 };
}

static void layers_changed(struct fq_port *port, uint32_t queue)
{
	fq_rank_set(&port->rank[0], queue, port->queue[queue].n_bytes);
}

const struct fq_ops fq_layers_ops = {
	.name = "layers",
	.policy = FQ_LAYERS,
	.asks_share = true,
	.n_ranks = 1,
	.n_params = LAYERS_PARAMS,
	.state_bytes = sizeof(struct layers),
	.params = layers_params,
	.layer = layers_layer,
	.arrive = layers_arrive,
	.victim = layers_victim,
	.changed = layers_changed,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tdrr: Throughput Deficit Round Robin (Kuhns et al., "Design and Evaluation of a High-Performance
 * Dynamically Extensible Router", section 7): when the buffer is over its limit, the active queue
 * with the highest throughput loses its head.
 *
 * The throughput of a queue is what it has sent, older bytes counting less. The paper does not say
 * how fast they fade; here they count half after half_life. With h the half-life, the throughput
 * times a constant is
 *
 *   S(t) / w(t)      S(t) = sum of bytes_i w(t_i) over frames sent,  w(t) = 2^floor(t/h) (1 +
 * frac(t/h))
 *
 * w doubles with each half-life and is linear in between. As w(t) is common to all queues, their
 * order is that of S, which changes only when a queue sends: the rank needs no timer.
 *
 * S is a number with an exponent: `sum` times 2^`epoch`, where sum holds 16 fraction bits of w and
 * stays below 2^63, because what a port sends in a half-life is below 2^43 bytes. A key of the rank
 * is S rounded down to 27 bits behind its leading one, under its exponent.
 */
#include "cc/arith.h"
#include "queues/fq.h"

enum { TDRR_HALF_LIFE, TDRR_PARAMS };

static const struct fq_param tdrr_params[TDRR_PARAMS] = {
	[TDRR_HALF_LIFE] = { "half_life_us", "us", 100000, 10000, 60000000,
			     "ours: a round trip of the wide area; bytes count half after it" },
};

#define KEY_FRACTION_BITS 27

struct tdrr {
	uint64_t start_ns; /* of epoch 0: the first frame sent */
	uint64_t started;
};
_Static_assert(sizeof(struct tdrr) <= FQ_PORT_WORDS * sizeof(uint64_t), "state of a port");

struct tdrr_queue {
	uint64_t sum_q16, epoch;
};

static struct fq_victim tdrr_victim(struct fq_port *port)
{
	return (struct fq_victim){ .queue = fq_rank_first(&port->rank[0]), .frames = 1 };
}

static void tdrr_sent(struct fq_port *port, uint32_t queue, uint32_t len_bytes, uint64_t now_ns)
{
	const uint64_t half_life_ns = (uint64_t)port->config.param[TDRR_HALF_LIFE] * 1000;
	struct tdrr_queue *s = fq_state(port, queue);
	struct tdrr *t = (void *)port->priv;
	uint64_t epoch, past_ns;

	if (!t->started)
		t->start_ns = now_ns;
	t->started = true;
	epoch = (now_ns - t->start_ns) / half_life_ns;
	past_ns = (now_ns - t->start_ns) % half_life_ns;
	if (s->epoch < epoch) {
		const uint64_t by = epoch - s->epoch;

		s->sum_q16 = by < 64 ? s->sum_q16 >> by : 0;
		s->epoch = epoch;
	}
	s->sum_q16 += len_bytes * (65536 + past_ns * 65536 / half_life_ns);
}

static uint64_t key_of(const struct tdrr_queue *s)
{
	uint64_t top;

	if (s->sum_q16 == 0)
		return 0;
	top = 63 - (uint64_t)__builtin_clzll(s->sum_q16);
	/* The leading one becomes the lowest bit of the exponent: as if the exponent were 1 higher.
	 */
	return ((s->epoch + top) << KEY_FRACTION_BITS) +
	       (top > KEY_FRACTION_BITS ? s->sum_q16 >> (top - KEY_FRACTION_BITS)
					: s->sum_q16 << (KEY_FRACTION_BITS - top));
}

static void tdrr_changed(struct fq_port *port, uint32_t queue)
{
	const struct fq_queue *q = &port->queue[queue];

	/* An active queue that has sent nothing yet ranks before those that are empty. */
	fq_rank_set(&port->rank[0], queue, q->n_frames > 0 ? 1 + key_of(fq_state(port, queue)) : 0);
}

const struct fq_ops fq_tdrr_ops = {
	.name = "tdrr",
	.policy = FQ_TDRR,
	.n_ranks = 1,
	.state_bytes = sizeof(struct tdrr_queue),
	.n_params = TDRR_PARAMS,
	.params = tdrr_params,
	.victim = tdrr_victim,
	.sent = tdrr_sent,
	.changed = tdrr_changed,
};
